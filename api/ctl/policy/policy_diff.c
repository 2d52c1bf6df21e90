/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl policy diff`: compares two versions of a policy by diff(1) on two private
 * files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/ctl/base/files.h"
#include "api/ctl/draw/text.h"
#include "api/ctl/policy/policy_priv.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

#define DIFF_TROUBLE 2

struct diff_values {
	const char *file;
};

/* A text with the name that diff puts above it. */
struct side {
	struct neap_buf text;
	char label[160];
};

static const struct neap_option options[] = {
	{"file", 0, NEAP_OPTION_TEXT, offsetof(struct diff_values, file), "FILE",
	 "compare the live version with this file"},
	{""},
};

static int side_fetch(struct neap_client *client, const char *name, const char *version,
		      struct side *ret)
{
	char etag[NEAP_CLIENT_ETAG] = "";
	struct neap_buf clean;
	int r = neap_ctl_policy_fetch(client, name, version, &ret->text, etag);

	if (r != 0)
		return r;
	neap_buf_init(&clean, NEAP_BUF_LINE);
	neap_text_add_clean(&clean, version != NULL ? version : etag, false);
	(void)snprintf(ret->label, sizeof(ret->label), "%s%s%s", name,
		       *clean.data ? "@" : "", clean.data);
	neap_buf_done(&clean);
	return 0;
}

/* The text in force, and what was live before it. */
static int both_fetch(struct neap_client *client, const char *name, struct side *older,
		      struct side *newer)
{
	neap_auto_json json_t *reply = NULL;
	const char *before;
	int r = side_fetch(client, name, NULL, newer);

	if (r == 0)
		r = neap_ctl_policy_get(client, name, "/versions", &reply);
	if (r != 0)
		return r;
	before = json_string_value(json_object_get(reply, "before"));
	if (before == NULL)
		r = neap_ctl_complainf(DIFF_TROUBLE,
				       "%s has no version before the one in force", name);
	else
		r = side_fetch(client, name, before, older);
	return r;
}

static int file_read(const char *file, struct side *ret)
{
	struct neap_error err = {0};

	if (neap_file_read(file, &ret->text, &err) < 0)
		return neap_ctl_complain(DIFF_TROUBLE, &err);
	(void)neap_strcopy(ret->label, sizeof(ret->label),
			   strcmp(file, "-") == 0 ? "stdin" : file);
	return 0;
}

static int sides_get(struct neap_ctl *ctl, const struct diff_values *values, int argc,
		     char **argv, struct side *older, struct side *newer)
{
	struct neap_client *client = NULL;
	struct neap_error err = {0};
	int r;

	if (neap_client_new(ctl, &client, &err) < 0)
		return neap_ctl_fail(&err);
	if (values->file != NULL) {
		r = side_fetch(client, argv[0], NULL, older);
		if (r == 0)
			r = file_read(values->file, newer);
	} else if (argc == 1) {
		r = both_fetch(client, argv[0], older, newer);
	} else {
		r = side_fetch(client, argv[0], argv[1], older);
		if (r == 0)
			r = side_fetch(client, argv[0], argc > 2 ? argv[2] : NULL, newer);
	}
	neap_client_free(client);
	return r;
}

/* Line by line with colours of our own, and nothing in it that acts on the terminal. */
static void add_colored(char *text, struct neap_buf *out)
{
	const char *color;
	char *line;

	while ((line = strsep(&text, "\n")) != NULL) {
		if (text == NULL && !*line)
			break;
		color = *line == '+'   ? neap_ctl_green()
			: *line == '-' ? neap_ctl_red()
			: *line == '@' ? neap_ctl_cyan()
				       : "";
		neap_buf_adds(out, color);
		neap_text_add_source(out, line);
		neap_buf_addf(out, "%s\n", *color ? neap_ctl_plain() : "");
	}
}

static int print_as(enum neap_output output, const struct side *older,
		    const struct side *newer, bool differs, const struct neap_buf *text)
{
	json_t *reply = json_pack("{s:s, s:s, s:b, s:s}", "older", older->label, "newer",
				  newer->label, "differs", differs, "diff", text->data);

	if (reply == NULL)
		return neap_ctl_complainf(DIFF_TROUBLE,
					  "the texts are no UTF-8, or memory is short");
	return neap_ctl_print_take(output, reply);
}

static int print(struct neap_buf *text)
{
	struct neap_buf out;

	if (text->len == 0)
		return 0;
	if (!isatty(STDOUT_FILENO))
		return neap_ctl_print(text);
	neap_buf_init(&out, NEAP_BUF_REPLY);
	add_colored(text->data, &out);
	return neap_ctl_print_done(&out);
}

/* Both as files, then diff(1). */
static int compare(const struct neap_scratch *scratch, const struct side *older,
		   const struct side *newer, struct neap_buf *out, struct neap_error *err)
{
	char a[PATH_MAX], b[PATH_MAX];
	const char *args[] = {"diff",    "-u",         "--label", older->label,
			      "--label", newer->label, "--",      a,
			      b,         NULL};
	int r;

	r = neap_scratch_add(scratch, "older.lua", older->text.data, older->text.len, a,
			     err);
	if (r == 0)
		r = neap_scratch_add(scratch, "newer.lua", newer->text.data,
				     newer->text.len, b, err);
	if (r == 0)
		r = neap_program_run(args, out, err);
	return r;
}

static int sides_print(const struct side *older, const struct side *newer,
		       enum neap_output output)
{
	struct neap_scratch scratch = {""};
	struct neap_error err = {0};
	struct neap_buf out;
	int r, status;

	neap_buf_init(&out, NEAP_BUF_REPLY);
	r = neap_scratch_open(&scratch, &err);
	if (r == 0)
		r = compare(&scratch, older, newer, &out, &err);
	neap_scratch_close(&scratch);
	if (r < 0)
		status = neap_ctl_complain(DIFF_TROUBLE, &err);
	else
		status = r <= 1 ? r : DIFF_TROUBLE; /* diff reported the reason itself */
	if (status != DIFF_TROUBLE &&
	    (output ? print_as(output, older, newer, r == 1, &out) : print(&out)) != 0)
		status = DIFF_TROUBLE;
	neap_buf_done(&out);
	return status;
}

static int diff(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct diff_values *values = arg;
	struct side older = {.label = ""}, newer = {.label = ""};
	int i, r = neap_ctl_policy_path(argv[0], "", (char[NEAP_POLICY_PATH]){0});

	for (i = 1; i < argc && r == 0; i++)
		r = neap_ctl_policy_check_version(argv[i], false, "policy diff");
	if (r == 0 && values->file != NULL && argc > 1)
		r = neap_ctl_complainf(NEAP_CTL_USAGE, "versions or --file, not both");
	if (r != 0)
		return r;
	neap_buf_init(&older.text, NEAP_BUF_REPLY);
	neap_buf_init(&newer.text, NEAP_BUF_REPLY);
	r = sides_get(ctl, values, argc, argv, &older, &newer);
	if (r == 0)
		r = sides_print(&older, &newer, ctl->output);
	else if (r == NEAP_CTL_FAILED)
		r = DIFF_TROUBLE;
	neap_buf_done(&newer.text);
	neap_buf_done(&older.text);
	return r;
}

const struct neap_command neap_command_policy_diff = {
	.name = "policy diff",
	.usage = "[-o json|yaml] KIND/NAME [VERSION [VERSION]|--file FILE]",
	.example = "policy diff qos/cpu-share --file mine.lua",
	.summary = "differences between two versions",
	.text = "Without a version: the previous version and the live one. With one version: that version\n"
		"and the live one. With --file: the live version and the file ('-': standard input).\n"
		"Status 0: no difference, 1: they differ, 2: an error, 3: no daemon answers.\n",
	.options = options,
	.output = "print names and differences as JSON or YAML",
	.values_size = sizeof(struct diff_values),
	.args_min = 1,
	.args_max = 3,
	.run = diff,
};
