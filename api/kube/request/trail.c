/* SPDX-License-Identifier: Apache-2.0 */
#include "api/kube/request/trail.h"

#include <stdio.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/base/registry.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

/* Texts that clients choose are cut here. */
#define URI_MAX   2048
#define AGENT_MAX 256

static bool is_reading(const char *method)
{
	return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

static bool starts(const char *text, const char *with)
{
	return text && strncmp(text, with, strlen(with)) == 0;
}

static bool is_review(const char *path)
{
	return starts(path, "/apis/authorization.k8s.io/") ||
	       starts(path, "/apis/authentication.k8s.io/");
}

bool neap_kube_trail_wants(struct neap_http_request *request, int status)
{
	if (status == 401 || status == 403)
		return true;
	return !is_reading(neap_http_method_get(request)) &&
	       !is_review(neap_http_path_get(request));
}

/* A client's text, in ASCII and cut. */
static json_t *clean(const char *text, size_t max)
{
	char buf[URI_MAX + 1];
	size_t len = 0;

	for (; len < max && len < URI_MAX && text[len]; len++)
		buf[len] = text[len] >= ' ' && text[len] <= '~' ? text[len] : '?';
	buf[len] = '\0';
	return json_string(buf);
}

static const char *verb_of(const char *method, bool is_resource, bool is_collection,
			   bool is_watch)
{
	static const struct {
		const char *method, *one, *all, *plain;
	} verbs[] = {
		{"GET", "get", "list", "get"},
		{"HEAD", "get", "list", "head"},
		{"POST", "create", "create", "post"},
		{"PUT", "update", "update", "put"},
		{"PATCH", "patch", "patch", "patch"},
		{"DELETE", "delete", "deletecollection", "delete"},
	};

	if (is_watch)
		return "watch";
	for (size_t i = 0; i < NEAP_ARRAY_LEN(verbs); i++)
		if (strcmp(verbs[i].method, method) == 0)
			return !is_resource    ? verbs[i].plain
			       : is_collection ? verbs[i].all
					       : verbs[i].one;
	return "";
}

/* False: the path does not name an object. */
static bool find_target(const struct neap_kube_registry *registry, const char *path,
			struct neap_kube_target *ret)
{
	bool is_core = starts(path, "/api/");

	if (!registry || (!is_core && !starts(path, "/apis/")))
		return false;
	return neap_kube_target_parse(registry, is_core,
				      path + strlen(is_core ? "/api/" : "/apis/"), ret,
				      NULL) == 0 &&
	       ret->kind;
}

static json_t *object_ref(const struct neap_kube_target *target, const char *note)
{
	json_t *ref = json_pack("{s:s}", "resource", target->plural);
	const char *name = target->name[0] ? target->name : note;

	neap_json_set_text(ref, "namespace", target->ns);
	neap_json_set_text(ref, "name", name);
	neap_json_set_text(ref, "apiGroup", target->group);
	neap_json_set_text(ref, "apiVersion", target->version);
	neap_json_set_text(ref, "subresource", target->sub);
	return ref;
}

json_t *neap_kube_trail_user(const struct neap_http_user *user)
{
	json_t *groups = json_array();

	for (int i = 0; i < user->group_count; i++)
		(void)json_array_append_new(groups, json_string(user->groups[i]));
	if (user != &neap_http_anonymous)
		(void)json_array_append_new(groups,
					    json_string(neap_http_user_standing(user)));
	return json_pack("{s:s, s:o}", "username", user->name, "groups", groups);
}

static void add_response(json_t *event, int status)
{
	json_t *response = json_pack("{s:{}, s:i}", "metadata", "code", status);

	if (status >= 400)
		neap_json_set_text(response, "status", "Failure");
	(void)json_object_set_new(event, "responseStatus", response);
	(void)json_object_set_new(
		event, "annotations",
		json_pack("{s:s}", "authorization.k8s.io/decision",
			  status == 401 || status == 403 ? "forbid" : "allow"));
}

json_t *neap_kube_trail_event(const struct neap_kube_registry *registry,
			      struct neap_http_request *request, int status,
			      int64_t now_usec)
{
	uint64_t lost = neap_json_failures();
	const char *path = neap_http_path_get(request);
	const char *agent = neap_http_header_find(request, "User-Agent");
	const char *watch = path ? neap_http_query_find(request, "watch") : NULL;
	struct neap_kube_target target;
	bool has_target = path && find_target(registry, path, &target);
	char source[64], received[40], now[40], id[NEAP_KUBE_UUID_SIZE];
	json_t *event;

	neap_kube_uuid(id);
	neap_http_address_get(request, source, sizeof(source));
	event = json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:o, s:s, s:o, s:[s], s:s, s:s}", "kind",
		"Event", "apiVersion", "audit.k8s.io/v1", "level", "Metadata", "auditID",
		id, "stage", status ? "ResponseComplete" : "RequestReceived",
		"requestURI", clean(neap_http_uri_get(request), URI_MAX), "verb",
		verb_of(neap_http_method_get(request), has_target,
			has_target && !target.name[0],
			has_target && watch &&
				(strcmp(watch, "true") == 0 || strcmp(watch, "1") == 0)),
		"user", neap_kube_trail_user(neap_http_peer_get(request)->user),
		"sourceIPs", source, "requestReceivedTimestamp",
		neap_time_format(neap_http_received_get(request), 6, received,
				 sizeof(received)),
		"stageTimestamp", neap_time_format(now_usec, 6, now, sizeof(now)));
	if (agent)
		(void)json_object_set_new(event, "userAgent", clean(agent, AGENT_MAX));
	if (has_target)
		(void)json_object_set_new(
			event, "objectRef",
			object_ref(&target, neap_http_note_get(request)));
	if (status)
		add_response(event, status);
	if (event && neap_json_failures() == lost)
		return event;
	json_decref(event);
	return NULL;
}
