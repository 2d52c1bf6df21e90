/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of policies, and requests about them. */
#include <stdio.h>
#include <string.h>

#include "api/ctl/policy/policy_priv.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define DIGIT "0123456789"

/* Both parts are names as policies have them, so no character needs an escape in a
 * path. */
int neap_ctl_policy_path(const char *name, const char *suffix, char *path)
{
	size_t kind = strspn(name, LOWER), rest = 0;

	if (kind > 0 && name[kind] == '/')
		rest = strspn(name + kind + 1, LOWER DIGIT "-");
	if (rest == 0 || name[kind + 1 + rest] || kind + rest > 72)
		return neap_ctl_complainf(
			NEAP_CTL_USAGE,
			"'%.64s' is no policy: KIND/NAME is wanted, as in "
			"qos/cpu-share",
			name);
	(void)snprintf(path, NEAP_POLICY_PATH, "/control/v1/policies/%s%s", name, suffix);
	return 0;
}

int neap_ctl_policy_check_version(const char *version, bool or_any, const char *what)
{
	if (version == NULL || (or_any && strcmp(version, "*") == 0) ||
	    (strlen(version) == 8 && strspn(version, DIGIT "abcdef") == 8))
		return 0;
	return neap_ctl_complainf(
		NEAP_CTL_USAGE,
		"%s: '%.64s' is no version: 8 hex digits are wanted%s, as "
		"'policy history' shows them",
		what, version, or_any ? " or *" : "");
}

int neap_ctl_policy_show(struct neap_ctl *ctl, const char *name, const char *suffix,
			 void (*add)(const json_t *reply, const void *arg,
				     struct neap_buf *out),
			 const void *arg)
{
	char path[NEAP_POLICY_PATH];
	int r = neap_ctl_policy_path(name, suffix, path);

	return r != 0 ? r : neap_ctl_show(ctl, "GET", path, add, arg);
}

int neap_ctl_policy_get(struct neap_client *client, const char *name, const char *suffix,
			json_t **ret)
{
	char path[NEAP_POLICY_PATH];
	struct neap_error err = {0};
	int r = neap_ctl_policy_path(name, suffix, path);

	if (r != 0)
		return r;
	if (neap_client_call(client, "GET", path, NULL, ret, &err) < 0)
		return neap_ctl_fail(&err);
	return 0;
}

int neap_ctl_policy_fetch(struct neap_client *client, const char *name,
			  const char *version, struct neap_buf *ret, char *etag)
{
	char path[NEAP_POLICY_PATH], suffix[32] = "";
	struct neap_client_request request = {
		.method = "GET", .path = path, .accept = NEAP_POLICY_SOURCE};
	struct neap_client_reply reply;
	struct neap_error err = {0};
	int r;

	if (version != NULL)
		(void)snprintf(suffix, sizeof(suffix), "/versions/%.8s", version);
	r = neap_ctl_policy_path(name, suffix, path);
	if (r != 0)
		return r;
	if (neap_client_send(client, &request, &reply, &err) < 0) {
		r = neap_ctl_fail(&err);
	} else {
		neap_buf_clear(ret);
		neap_buf_add(ret, reply.text, reply.len);
		if (etag != NULL)
			memcpy(etag, reply.etag, NEAP_CLIENT_ETAG);
		if (neap_buf_failed(ret))
			r = neap_ctl_complainf(
				NEAP_CTL_FAILED,
				"%.64s: its text is too long, or memory is "
				"short",
				name);
	}
	neap_client_reply_done(&reply);
	return r;
}
