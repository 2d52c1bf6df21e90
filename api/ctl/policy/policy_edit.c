/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl policy edit`: opens the live text in an editor and uploads it. Typed text is
 * never lost: unless it went live, the file is kept and named. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/ctl/base/files.h"
#include "api/ctl/draw/cells.h"
#include "api/ctl/draw/text.h"
#include "api/ctl/policy/policy_priv.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

#define HTTP_PRECONDITION_FAILED 412
#define HTTP_INVALID             422

struct edit {
	struct neap_client *client;
	enum neap_output output;
	const char *name; /* "qos/cpu-share" */
	struct neap_scratch scratch;
	char file[PATH_MAX];
	char version[NEAP_CLIENT_ETAG]; /* that was fetched */
	struct neap_buf before;         /* the text as the editor got it last */
	struct neap_buf now;            /* as it left it */
};

/* As git has it: the words of $VISUAL or $EDITOR are the shell's, the file is not. */
static int editor_run(const struct edit *edit)
{
	const char *editor = getenv("VISUAL");
	neap_auto_free char *script = NULL;
	const char *args[] = {"sh", "-c", NULL, NULL, edit->file, NULL};
	struct neap_error err = {0};
	int r;

	if (editor == NULL || !*editor)
		editor = getenv("EDITOR");
	if (editor == NULL || !*editor)
		editor = "vi";
	script = neap_asprintf("%s \"$@\"", editor);
	if (script == NULL)
		return neap_ctl_complainf(NEAP_CTL_FAILED, "out of memory");
	args[2] = script;
	args[3] = editor;
	r = neap_program_run(args, NULL, &err);
	if (r < 0)
		return neap_ctl_complain(NEAP_CTL_FAILED, &err);
	if (r > 0)
		return neap_ctl_complainf(
			NEAP_CTL_FAILED,
			"the editor '%.64s' ended with status %d; nothing "
			"was sent",
			editor, r);
	return 0;
}

static int text_read(struct edit *edit)
{
	struct neap_error err = {0};

	if (neap_file_read(edit->file, &edit->now, &err) < 0)
		return neap_ctl_complain(NEAP_CTL_FAILED, &err);
	return 0;
}

static bool is_changed(const struct edit *edit)
{
	return edit->now.len != edit->before.len ||
	       memcmp(edit->now.data, edit->before.data, edit->now.len) != 0;
}

/* The file stays; says where. */
static int keep(struct edit *edit, const char *why)
{
	edit->scratch.dir[0] = '\0';
	(void)fprintf(stderr, "neapctl: %s%syour text is kept in %s\n", why,
		      *why ? "; " : "", edit->file);
	return NEAP_CTL_FAILED;
}

static bool wants_again(void)
{
	char answer[16];

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return false;
	(void)fputs("edit again? [Y/n] ", stderr);
	if (fgets(answer, sizeof(answer), stdin) == NULL)
		return false;
	return strchr("\nyY", answer[0]) != NULL;
}

/* 0: it went live; 1: the user wants to try again; negative: over, reported, and the text
 * kept. */
static int offer(struct edit *edit, int *ret_status)
{
	char path[NEAP_POLICY_PATH];
	struct neap_client_request request = {.method = "PUT",
					      .path = path,
					      .body = edit->now.data,
					      .body_len = edit->now.len,
					      .type = NEAP_POLICY_SOURCE,
					      .if_match = edit->version[0] ? edit->version
									   : "*"};
	struct neap_client_reply reply;
	struct neap_error err = {0};
	int r = -1;

	*ret_status = neap_ctl_policy_path(edit->name, "", path);
	if (*ret_status != 0)
		return -1;
	if (neap_client_send(edit->client, &request, &reply, &err) == 0) {
		*ret_status = neap_ctl_policy_print_result(&reply, edit->output);
		r = 0;
	} else if (reply.status == HTTP_PRECONDITION_FAILED) {
		*ret_status =
			keep(edit, "somebody else changed it meanwhile; nothing was "
				   "replaced");
	} else {
		*ret_status = neap_ctl_policy_print_refusal(&reply, &err, edit->file,
							    edit->output);
		if (reply.status == HTTP_INVALID && wants_again())
			r = 1;
		else
			(void)keep(edit, "");
	}
	neap_client_reply_done(&reply);
	return r;
}

static int edit_loop(struct edit *edit)
{
	bool is_first = true;
	int r, status;

	for (;; is_first = false) {
		r = editor_run(edit);
		status = text_read(edit);
		if (r != 0 && (status != 0 || !is_changed(edit)) && is_first)
			return r;
		if (r != 0 || status != 0)
			return keep(edit, "");
		if (!is_changed(edit) && is_first) {
			(void)fputs("unchanged; nothing was sent\n", stderr);
			return 0;
		}
		if (!is_changed(edit))
			return keep(edit, "still as it was refused; nothing was sent");
		if (edit->now.data[strspn(edit->now.data, " \t\r\n")] == '\0')
			return keep(edit, "it is empty; nothing was sent");
		r = offer(edit, &status);
		if (r <= 0)
			return status;
		neap_buf_clear(&edit->before);
		neap_buf_add(&edit->before, edit->now.data, edit->now.len);
	}
}

/* A policy that a watched directory owns is edited there. */
static int owner_check(struct edit *edit)
{
	struct neap_buf owner;
	neap_auto_json json_t *row = NULL;
	int r = neap_ctl_policy_get(edit->client, edit->name, "", &row);

	if (r != 0)
		return r;
	if (json_object_get(row, "owner_file") != NULL) {
		neap_buf_init(&owner, NEAP_BUF_LINE);
		neap_text_add_clean(&owner, neap_cell_text(row, "owner_file"), false);
		r = neap_ctl_complainf(NEAP_CTL_FAILED,
				       "%s belongs to %.160s: edit that file", edit->name,
				       owner.data);
		neap_buf_done(&owner);
	}
	return r;
}

static int file_make(struct edit *edit)
{
	struct neap_error err = {0};
	char name[96];

	(void)snprintf(name, sizeof(name), "%s.lua", strchr(edit->name, '/') + 1);
	if (neap_scratch_open(&edit->scratch, &err) < 0 ||
	    neap_scratch_add(&edit->scratch, name, edit->before.data, edit->before.len,
			     edit->file, &err) < 0)
		return neap_ctl_complain(NEAP_CTL_FAILED, &err);
	return 0;
}

static int edit_policy(struct neap_ctl *ctl, void *values, int argc, char **argv)
{
	struct edit edit = {.name = argv[0], .output = ctl->output};
	struct neap_error err = {0};
	int r;

	(void)values, (void)argc;
	r = neap_ctl_policy_path(argv[0], "", (char[NEAP_POLICY_PATH]){0});
	if (r != 0)
		return r;
	if (neap_client_new(ctl, &edit.client, &err) < 0)
		return neap_ctl_fail(&err);
	neap_buf_init(&edit.before, NEAP_BUF_FILE);
	neap_buf_init(&edit.now, NEAP_BUF_FILE);
	r = owner_check(&edit);
	if (r == 0)
		r = neap_ctl_policy_fetch(edit.client, edit.name, NULL, &edit.before,
					  edit.version);
	if (r == 0)
		r = file_make(&edit);
	if (r == 0)
		r = edit_loop(&edit);
	neap_scratch_close(&edit.scratch);
	neap_buf_done(&edit.now);
	neap_buf_done(&edit.before);
	neap_client_free(edit.client);
	return r;
}

const struct neap_command neap_command_policy_edit = {
	.name = "policy edit",
	.usage = "[-o json|yaml] KIND/NAME",
	.example = "policy edit qos/cpu-share",
	.summary = "change the text of a policy in an editor",
	.text = "$VISUAL, $EDITOR or vi opens the live text. The saved text is uploaded as by\n"
		"'policy put', unless somebody else changed the policy meanwhile. A text that did not\n"
		"go live is kept in a file, whose name is printed.\n",
	.output = NEAP_OUTPUT_OF_ANSWER,
	.args_min = 1,
	.args_max = 1,
	.run = edit_policy,
};
