/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl policy put`: uploads a text, which goes live if the daemon's checks pass. */
#include <stdio.h>
#include <string.h>

#include "api/ctl/base/files.h"
#include "api/ctl/draw/text.h"
#include "api/ctl/policy/policy_priv.h"
#include "lua/call/policy.h"

struct put_values {
	bool is_dry_run, is_shadow;
	const char *if_version;
};

static const struct neap_option options[] = {
	{"dry-run", 0, NEAP_OPTION_FLAG, offsetof(struct put_values, is_dry_run), NULL,
	 "let the daemon check it, with replay, and change nothing"},
	{"shadow", 0, NEAP_OPTION_FLAG, offsetof(struct put_values, is_shadow), NULL,
	 "run it beside the live version, and count differences"},
	{"if-version", 0, NEAP_OPTION_TEXT, offsetof(struct put_values, if_version),
	 "VERSION", "only if this version is live; *: if any version is"},
	{""},
};

/* "KIND/NAME" as the text itself says, by loading it here. */
static int name_find(const struct neap_buf *text, const char *file, char *name,
		     size_t size)
{
	struct neap_policy *policy = NULL;
	struct neap_policy_info info;
	struct neap_error err = {0};
	struct neap_buf line;

	if (neap_policy_load(text->data, text->len, file, &policy, &err) == 0) {
		neap_policy_get_info(policy, &info);
		(void)snprintf(name, size, "%s/%s", info.kind, info.name);
		neap_policy_free(policy);
		return 0;
	}
	neap_buf_init(&line, NEAP_BUF_LINE);
	neap_text_add_clean(&line, err.msg, true);
	(void)fprintf(stderr, "%s\nneapctl: refused here; nothing was sent\n", line.data);
	neap_buf_done(&line);
	return NEAP_CTL_FAILED;
}

static int send(struct neap_ctl *ctl, const struct put_values *values, const char *file,
		const char *name, const struct neap_buf *text)
{
	char path[NEAP_POLICY_PATH];
	struct neap_client_request request = {.method = "PUT",
					      .path = path,
					      .body = text->data,
					      .body_len = text->len,
					      .type = NEAP_POLICY_SOURCE,
					      .if_match = values->if_version};
	struct neap_client *client = NULL;
	struct neap_client_reply reply;
	struct neap_error err = {0};
	int r = neap_ctl_policy_path(name,
				     values->is_dry_run  ? "?dryRun=true"
				     : values->is_shadow ? "?shadow=true"
							 : "",
				     path);

	if (r != 0)
		return r;
	if (neap_client_new(ctl, &client, &err) < 0)
		return neap_ctl_fail(&err);
	if (neap_client_send(client, &request, &reply, &err) < 0)
		r = neap_ctl_policy_print_refusal(&reply, &err, file, ctl->output);
	else
		r = neap_ctl_policy_print_result(&reply, ctl->output);
	neap_client_reply_done(&reply);
	neap_client_free(client);
	return r;
}

static int put(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct put_values *values = arg;
	const char *file = strcmp(argv[0], "-") == 0 ? "stdin" : argv[0];
	struct neap_error err = {0};
	struct neap_buf text;
	char name[96];
	int r;

	r = neap_ctl_policy_check_version(values->if_version, true, "--if-version");
	if (r == 0 && values->is_dry_run && values->is_shadow)
		r = neap_ctl_complainf(NEAP_CTL_USAGE,
				       "--dry-run changes nothing, --shadow runs it: "
				       "choose one");
	if (r == 0 && argc > 1)
		r = neap_ctl_policy_path(argv[1], "", (char[NEAP_POLICY_PATH]){0});
	if (r != 0)
		return r;
	neap_buf_init(&text, NEAP_BUF_FILE);
	if (neap_file_read(argv[0], &text, &err) < 0)
		r = neap_ctl_complain(NEAP_CTL_FAILED, &err);
	else if (argc == 1)
		r = name_find(&text, file, name, sizeof(name));
	if (r == 0)
		r = send(ctl, values, file, argc > 1 ? argv[1] : name, &text);
	neap_buf_done(&text);
	return r;
}

const struct neap_command neap_command_policy_put = {
	.name = "policy put",
	.usage =
		"[--dry-run | --shadow] [--if-version VERSION] [-o json|yaml] FILE [KIND/NAME]",
	.example = "policy put mine.lua",
	.summary = "check a policy and make it live",
	.text = "FILE '-' is standard input. The file itself says its kind and name. The daemon compiles\n"
		"it, runs its examples, and tries it on recorded ticks; only then it replaces the live\n"
		"version. A problem is printed as FILE:LINE: TEXT, and the status is 1.\n",
	.options = options,
	.output = NEAP_OUTPUT_OF_ANSWER,
	.values_size = sizeof(struct put_values),
	.args_min = 1,
	.args_max = 2,
	.run = put,
};
