/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl policy rollback` and `delete`. */
#include <stdio.h>
#include <string.h>

#include "api/ctl/draw/cells.h"
#include "api/ctl/policy/policy_priv.h"

struct back_values {
	const char *if_version;
	bool is_shadow;
};

static const struct neap_option delete_options[] = {
	{"if-version", 0, NEAP_OPTION_TEXT, offsetof(struct back_values, if_version),
	 "VERSION", "only if this version is live"},
	{"shadow", 0, NEAP_OPTION_FLAG, offsetof(struct back_values, is_shadow), NULL,
	 "end the version that runs as a shadow, and print its result"},
	{""},
};

static int print_deleted(struct neap_client_reply *reply, enum neap_output output)
{
	const json_t *now = json_object_get(reply->json, "now");
	struct neap_buf out;

	if (output && reply->json != NULL)
		return neap_ctl_print_take(output, json_incref(reply->json));
	neap_buf_init(&out, NEAP_BUF_LINE);
	neap_cells_add(&out, reply->json, "{policy}@{version} is deleted; ");
	if (json_is_object(now))
		neap_cells_add(&out, now,
			       "what acts now is version {version} from {origin}\n");
	else
		neap_buf_adds(&out, "nothing acts in its place\n");
	return neap_ctl_print_done(&out);
}

static int print_shadow_ended(struct neap_client_reply *reply, enum neap_output output)
{
	struct neap_buf out;

	if (output && reply->json != NULL)
		return neap_ctl_print_take(output, json_incref(reply->json));
	neap_buf_init(&out, NEAP_BUF_REPLY);
	neap_cells_add(&out, reply->json, "{policy}: ");
	neap_ctl_policy_add_shadow(json_object_get(reply->json, "shadow"), &out);
	return neap_ctl_print_done(&out);
}

static int change(struct neap_ctl *ctl, const char *name,
		  const struct neap_client_request *request,
		  int (*print)(struct neap_client_reply *reply, enum neap_output output))
{
	struct neap_client *client = NULL;
	struct neap_client_reply reply;
	struct neap_error err = {0};
	int r;

	if (neap_client_new(ctl, &client, &err) < 0)
		return neap_ctl_fail(&err);
	if (neap_client_send(client, request, &reply, &err) < 0)
		r = neap_ctl_policy_print_refusal(&reply, &err, name, ctl->output);
	else
		r = print(&reply, ctl->output);
	neap_client_reply_done(&reply);
	neap_client_free(client);
	return r;
}

static int rollback(struct neap_ctl *ctl, void *values, int argc, char **argv)
{
	char path[NEAP_POLICY_PATH], body[64] = "";
	struct neap_client_request request = {
		.method = "POST", .path = path, .body = body};
	int r;

	(void)values;
	r = neap_ctl_policy_check_version(argc > 1 ? argv[1] : NULL, false,
					  "policy rollback");
	if (r == 0)
		r = neap_ctl_policy_path(argv[0], "/rollback", path);
	if (r != 0)
		return r;
	if (argc > 1)
		(void)snprintf(body, sizeof(body), "{\"to\":\"%s\"}", argv[1]);
	request.body_len = strlen(body);
	return change(ctl, argv[0], &request, neap_ctl_policy_print_result);
}

static int delete (struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct back_values *values = arg;
	char path[NEAP_POLICY_PATH];
	const struct neap_client_request request = {
		.method = "DELETE", .path = path, .if_match = values->if_version};
	int r;

	(void)argc;
	r = neap_ctl_policy_check_version(values->if_version, true, "--if-version");
	if (r == 0)
		r = neap_ctl_policy_path(argv[0], values->is_shadow ? "?shadow=true" : "",
					 path);
	if (r != 0)
		return r;
	return change(ctl, argv[0], &request,
		      values->is_shadow ? print_shadow_ended : print_deleted);
}

const struct neap_command neap_command_policy_rollback = {
	.name = "policy rollback",
	.usage = "[-o json|yaml] KIND/NAME [VERSION]",
	.example = "policy rollback qos/cpu-share",
	.summary = "make the previous version live again, or a named one",
	.text = "'neapctl policy history KIND/NAME' lists them.\n",
	.output = NEAP_OUTPUT_OF_ANSWER,
	.args_min = 1,
	.args_max = 2,
	.run = rollback,
};

const struct neap_command neap_command_policy_delete = {
	.name = "policy delete",
	.usage = "[--shadow] [--if-version VERSION] [-o json|yaml] KIND/NAME",
	.example = "policy delete qos/mine",
	.summary = "delete an uploaded policy",
	.text = "The policy of the configuration, if any, is live again. Versions and history are kept.\n",
	.options = delete_options,
	.output = NEAP_OUTPUT_OF_ANSWER,
	.values_size = sizeof(struct back_values),
	.args_min = 1,
	.args_max = 1,
	.run = delete,
};
