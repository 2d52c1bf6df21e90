/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl policy recording`: what neapd has recorded for policies of a kind, as one JSON
 * object for `neapctl policy check --replay`. Frames are fetched one by one. */
#include <stdio.h>
#include <string.h>

#include "api/ctl/draw/cells.h"
#include "api/ctl/policy/policy_priv.h"
#include "engine/json/json.h"
#include "lua/replay/replay.h"

/* Writes the frame of that number, with a comma before it unless it is the first. One
 * that has gone meanwhile is left out. */
static int write_frame(struct neap_client *client, const char *of, int64_t number,
		       bool *is_first, struct neap_error *err)
{
	char path[NEAP_POLICY_PATH];
	struct neap_client_request request = {.method = "GET", .path = path};
	struct neap_client_reply reply;
	int rc;

	(void)snprintf(path, sizeof(path), "/control/v1/recordings/%s/%lld", of,
		       (long long)number);
	rc = neap_client_send(client, &request, &reply, err);
	if (rc == 0) {
		(void)printf("%s\n", *is_first ? "" : ",");
		(void)fwrite(reply.text, 1, reply.len, stdout);
		*is_first = false;
	}
	if (rc < 0 && reply.status == 404)
		rc = 0;
	neap_client_reply_done(&reply);
	return rc;
}

/* Appends the policy with its text and parameters, as of now. One that has gone meanwhile
 * is left out. */
static int add_policy(struct neap_client *client, const json_t *row, json_t **list,
		      struct neap_error *err)
{
	char path[NEAP_POLICY_PATH];
	struct neap_client_request request = {.method = "GET", .path = path};
	struct neap_client_reply reply;
	int rc;

	(void)snprintf(path, sizeof(path), "/control/v1/policies/%.40s/%.60s",
		       neap_json_text(row, "kind"), neap_json_text(row, "name"));
	rc = neap_client_send(client, &request, &reply, err);
	if (rc == 0 && json_object_get(reply.json, "text"))
		neap_json_push_new(
			list, json_pack("{s:O, s:O, s:O, s:O, s:O}", "kind",
					json_object_get(row, "kind"), "name",
					json_object_get(row, "name"), "version",
					json_object_get(reply.json, "version"), "text",
					json_object_get(reply.json, "text"), "params",
					json_object_get(reply.json, "params")));
	if (rc < 0 && reply.status == 404)
		rc = 0;
	neap_client_reply_done(&reply);
	return rc;
}

/* Those in service, with which a new version is compared; rounds have them. */
static int write_policies(struct neap_client *client, const json_t *policies,
			  struct neap_error *err)
{
	neap_auto_json json_t *list = json_array();
	neap_auto_free char *text = NULL;
	const json_t *row;
	size_t i;
	int rc = 0;

	if (!policies)
		return 0;
	json_array_foreach (policies, i, row)
		if (rc == 0)
			rc = add_policy(client, row, &list, err);
	if (rc < 0)
		return rc;
	text = list ? neap_json_dump(list, JSON_COMPACT) : NULL;
	if (!text)
		return neap_error_nomem(err);
	(void)printf("\"policies\":%s,\n", text);
	return 0;
}

static int write_all(struct neap_client *client, const char *of, struct neap_error *err)
{
	char path[NEAP_POLICY_PATH];
	json_t *list = NULL;
	const json_t *row;
	bool is_first = true;
	size_t i;
	int rc;

	(void)snprintf(path, sizeof(path), "/control/v1/recordings/%s", of);
	rc = neap_client_call(client, "GET", path, NULL, &list, err);
	if (rc < 0)
		return rc;
	(void)printf("{\"of\":\"%s\",", of);
	rc = write_policies(client, json_object_get(list, "policies"), err);
	(void)printf("\"frames\":[");
	json_array_foreach (json_object_get(list, "frames"), i, row)
		if (rc == 0)
			rc = write_frame(client, of,
					 neap_member_integer(row, "number", 0), &is_first,
					 err);
	(void)printf("]}\n");
	json_decref(list);
	return rc;
}

static int recording(struct neap_ctl *ctl, void *values, int argc, char **argv)
{
	const char *name = argc > 0 ? argv[0] : "deschedule";
	const struct neap_kind *kind = neap_kind_find(name);
	struct neap_client *client = NULL;
	struct neap_error err = {0};
	int rc;

	(void)values;
	if (!kind || !neap_replay_of(kind) || !neap_inputs_are_of(neap_replay_of(kind)))
		return neap_ctl_complainf(
			NEAP_CTL_USAGE,
			"nothing that can be fetched is recorded for kind "
			"'%.40s'; there are %s",
			name, neap_kind_names());
	if (neap_client_new(ctl, &client, &err) < 0)
		return neap_ctl_fail(&err);
	rc = write_all(client, neap_replay_of(kind), &err);
	neap_client_free(client);
	if (rc < 0)
		return neap_ctl_fail(&err);
	return fflush(stdout) == 0 ? 0 : NEAP_CTL_FAILED;
}

const struct neap_command neap_command_policy_recording = {
	.name = "policy recording",
	.usage = "[KIND]",
	.example = "policy recording deschedule > rounds.json",
	.summary = "write what was recorded for policies of a kind",
	.text = "The last rounds of the descheduler (deschedule, evict) or decisions of the scheduler\n"
		"(score, filter, reservation), with what policies could see of the cluster, as one JSON\n"
		"object for 'neapctl policy check --replay'. KIND is a kind of policies [deschedule].\n",
	.args_min = 0,
	.args_max = 1,
	.run = recording,
};
