/* SPDX-License-Identifier: Apache-2.0 */

#include <stdlib.h>
#include <string.h>

#include "api/http/users/grants.h"
#include "api/kube/base/meta.h"
#include "api/kube/read/read.h"
#include "api/kube/request/call.h"
#include "api/kube/request/rights.h"
#include "api/kube/request/trail.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

#define AUTHORIZATION  "authorization.k8s.io"
#define AUTHENTICATION "authentication.k8s.io"
/* In a SubjectAccessReview. */
#define GROUPS_MAX NEAP_USER_GROUPS_MAX

const struct neap_kube_review neap_kube_reviews[NEAP_KUBE_REVIEWS] = {
	{AUTHENTICATION, "v1", "selfsubjectreviews", "selfsubjectreview",
	 "SelfSubjectReview", &neap_kube_body_self_review},
	{AUTHORIZATION, "v1", "selfsubjectaccessreviews", "selfsubjectaccessreview",
	 "SelfSubjectAccessReview", &neap_kube_body_self_access_review},
	{AUTHORIZATION, "v1", "selfsubjectrulesreviews", "selfsubjectrulesreview",
	 "SelfSubjectRulesReview", &neap_kube_body_self_rules_review},
	{AUTHORIZATION, "v1", "subjectaccessreviews", "subjectaccessreview",
	 "SubjectAccessReview", &neap_kube_body_access_review},
	{AUTHORIZATION, "v1", "localsubjectaccessreviews", "localsubjectaccessreview",
	 "LocalSubjectAccessReview", &neap_kube_body_local_access_review, true},
	{AUTHENTICATION, "v1", "tokenreviews", "tokenreview", "TokenReview",
	 &neap_kube_body_token_review},
};

/* The user that the review is about. */
struct subject {
	enum neap_http_role role;
	const char *user;
	bool runs_pods; /* here */
};

/* --- may somebody --- */

static bool may(const struct subject *subject, const struct neap_access_ask *what,
		const char **ret_why)
{
	struct neap_access_ask ask = *what;

	ask.role = subject->role;
	ask.user = subject->user;
	ask.runs_pods = subject->runs_pods;
	return neap_kube_may(&ask, ret_why);
}

/* The rights of a node depend on the present object. */
static json_t *find_before(struct neap_kube *kube, const struct neap_access_ask *ask)
{
	const struct neap_kube_kind *kind =
		neap_kube_registry_find(kube->registry, ask->group, NULL, ask->resource);
	const struct neap_object *newest = NULL;
	char resource[NEAP_STORE_RESOURCE];

	if (!kind || !*ask->name)
		return NULL;
	neap_kube_kind_resource(neap_kube_kind_stored(kind), resource, sizeof(resource));
	newest = neap_store_newest(kube->store, resource, ask->ns, ask->name);
	return newest ? neap_object_tree(newest) : NULL;
}

static bool may_resource(struct neap_kube *kube, const struct subject *subject,
			 const json_t *attributes, const char **ret_why)
{
	struct neap_access_ask ask = {
		.verb = neap_json_text(attributes, "verb"),
		.group = neap_json_text(attributes, "group"),
		.resource = neap_json_text(attributes, "resource"),
		.sub = neap_json_text(attributes, "subresource"),
		.ns = neap_json_text(attributes, "namespace"),
		.name = neap_json_text(attributes, "name"),
	};
	json_t *before = subject->role == NEAP_HTTP_NODE ? find_before(kube, &ask) : NULL;
	bool is_allowed;

	ask.before = before;
	is_allowed = may(subject, &ask, ret_why);
	json_decref(before);
	return is_allowed;
}

static bool may_path(struct neap_kube *kube, const struct subject *subject,
		     const json_t *attributes, const char **ret_why)
{
	static const struct {
		const char *verb, *method;
	} verbs[] = {{"get", "GET"}, {"head", "HEAD"},   {"post", "POST"},
		     {"put", "PUT"}, {"patch", "PATCH"}, {"delete", "DELETE"}};
	const char *verb = neap_json_text(attributes, "verb");
	enum neap_http_role needed = NEAP_HTTP_ADMIN;

	*ret_why = "";
	for (size_t i = 0; i < NEAP_ARRAY_LEN(verbs); i++)
		if (strcmp(verb, verbs[i].verb) == 0)
			needed = neap_http_needs(kube->http, verbs[i].method,
						 neap_json_text(attributes, "path"));
	return subject->role >= needed;
}

static json_t *access_status(struct neap_kube *kube, const struct subject *subject,
			     const json_t *spec)
{
	const json_t *resource = json_object_get(spec, "resourceAttributes");
	const json_t *path = json_object_get(spec, "nonResourceAttributes");
	const char *why = "";
	bool is_allowed = json_is_object(resource)
				  ? may_resource(kube, subject, resource, &why)
				  : may_path(kube, subject, path, &why);

	return *why ? json_pack("{s:b, s:s}", "allowed", is_allowed, "reason", why)
		    : json_pack("{s:b}", "allowed", is_allowed);
}

/* Exactly one of the two must be set, as in a kube-apiserver. */
static int check_spec(struct call *call, const char *kind, const json_t *spec)
{
	bool has_resource = json_is_object(json_object_get(spec, "resourceAttributes"));
	bool has_path = json_is_object(json_object_get(spec, "nonResourceAttributes"));

	if (has_resource != has_path)
		return 0;
	return call_refuse(
		call, NEAP_CLIENT_INVALID,
		"%s." AUTHORIZATION " \"\" is invalid: spec.%s", kind,
		has_path ? "nonResourceAttributes: Invalid value: cannot be specified in "
			   "combination with resourceAttributes"
			 : "resourceAttributes: Invalid value: exactly one of "
			   "nonResourceAttributes or resourceAttributes must be "
			   "specified");
}

/* --- what somebody may --- */

static const char *const verbs[] = {"create", "update", "patch", "delete",
				    "deletecollection"};

static json_t *rule(json_t *verb_list, const char *group, json_t *resources)
{
	return json_pack("{s:o, s:[s], s:o}", "verbs", verb_list, "apiGroups", group,
			 "resources", resources);
}

/* The verbs that subject may use on a part of a kind, for the object with the name. */
static json_t *find_verbs(const struct subject *subject,
			  const struct neap_kube_kind *kind, const char *part,
			  const char *ns, const char *name)
{
	json_t *list = json_array();

	for (size_t i = 0; i < NEAP_ARRAY_LEN(verbs); i++) {
		const struct neap_access_ask ask = {
			.verb = verbs[i],
			.group = kind->group,
			.resource = kind->plural,
			.sub = part,
			.ns = kind->is_namespaced ? ns : "",
			.name = name,
		};

		if (may(subject, &ask, NULL))
			(void)json_array_append_new(list, json_string(verbs[i]));
	}
	return list;
}

static void add_part(json_t *rules, const struct subject *subject,
		     const struct neap_kube_kind *kind, const char *part, const char *ns)
{
	const char *own = neap_kube_node_of(subject->user);
	bool is_node = subject->role == NEAP_HTTP_NODE;
	json_t *any = find_verbs(subject, kind, part, ns, "");
	json_t *named = is_node ? find_verbs(subject, kind, part, ns, own) : NULL;
	json_t *list = json_array_size(any) ? any : named;
	char name[160];

	(void)snprintf(name, sizeof(name), "%s%s%s", kind->plural, *part ? "/" : "",
		       part);
	if (json_array_size(list) > 0) {
		json_t *row =
			rule(json_incref(list), kind->group, json_pack("[s]", name));

		if (list == named)
			(void)json_object_set_new(row, "resourceNames",
						  json_pack("[s]", own));
		(void)json_array_append_new(rules, row);
	}
	json_decref(any);
	json_decref(named);
}

static json_t *resource_rules(struct neap_kube *kube, const struct subject *subject,
			      const char *ns)
{
	static const char *const parts[] = {"status", "finalize", "scale", "binding",
					    "eviction"};
	json_t *rules = json_array();

	if (subject->role == NEAP_HTTP_ADMIN) {
		(void)json_array_append_new(
			rules, rule(json_pack("[s]", "*"), "*", json_pack("[s]", "*")));
		return rules;
	}
	for (size_t i = 0; i < NEAP_KUBE_REVIEWS_FREE; i++)
		(void)json_array_append_new(
			rules,
			rule(json_pack("[s]", "create"), neap_kube_reviews[i].group,
			     json_pack("[s]", neap_kube_reviews[i].plural)));
	(void)json_array_append_new(rules,
				    rule(json_pack("[s, s, s]", "get", "list", "watch"),
					 "*", json_pack("[s]", "*")));
	if (subject->role == NEAP_HTTP_READER)
		return rules;
	for (size_t i = 0; i < neap_kube_registry_count(kube->registry); i++) {
		const struct neap_kube_kind *kind =
			neap_kube_registry_at(kube->registry, i);

		add_part(rules, subject, kind, "", ns);
		for (size_t k = 0; k < NEAP_ARRAY_LEN(parts); k++)
			if (neap_kube_has_part(kind, parts[k]))
				add_part(rules, subject, kind, parts[k], ns);
	}
	return rules;
}

static json_t *path_rules(const struct subject *subject)
{
	if (subject->role == NEAP_HTTP_ADMIN)
		return json_pack("[{s:[s], s:[s]}]", "verbs", "*", "nonResourceURLs",
				 "*");
	return json_pack("[{s:[s], s:[s,s,s,s,s,s,s,s,s,s,s]}]", "verbs", "get",
			 "nonResourceURLs", "/api", "/api/*", "/apis", "/apis/*",
			 "/control/*", "/healthz", "/livez", "/metrics", "/openapi/*",
			 "/readyz", "/version");
}

static json_t *rules_status(struct neap_kube *kube, const struct subject *subject,
			    const char *ns)
{
	bool is_node = subject->role == NEAP_HTTP_NODE;
	json_t *status = json_pack("{s:o, s:o, s:b}", "resourceRules",
				   resource_rules(kube, subject, ns), "nonResourceRules",
				   path_rules(subject), "incomplete", is_node);

	if (is_node)
		(void)json_object_set_new(
			status, "evaluationError",
			json_string("what a node may do with a pod depends on "
				    "spec.nodeName, with an event on its source"));
	return status;
}

/* --- who --- */

/* The role here of a user with the name and groups, however authenticated. */
static enum neap_http_role role_of(struct neap_kube *kube, const json_t *spec)
{
	const struct neap_grants *grants = neap_http_grants_get(kube->http);
	const json_t *list = json_object_get(spec, "groups"), *group;
	const char *groups[GROUPS_MAX];
	struct neap_http_user user = {neap_json_text(spec, "user"), groups, 0};
	enum neap_http_role role;
	int64_t uid;
	size_t i;

	json_array_foreach (list, i, group)
		if (json_is_string(group) && user.group_count < GROUPS_MAX)
			groups[user.group_count++] = json_string_value(group);
	if (strcmp(user.name, "neap:admin") == 0 || strcmp(user.name, "unix:0") == 0)
		return NEAP_HTTP_ADMIN;
	if (strcmp(user.name, neap_http_anonymous.name) == 0)
		return neap_grants_find_anonymous(grants);
	if (strncmp(user.name, "unix:", 5) == 0 &&
	    neap_int_parse(user.name + 5, &uid, NULL) == 0)
		role = neap_grants_find_unix(grants, (uid_t)uid);
	else
		role = neap_grants_find_user(grants, &user);
	return role == NEAP_HTTP_ANYBODY ? neap_grants_find_anonymous(grants) : role;
}

/* --- requests --- */

/* Answers with the review and its status; object NULL: the status alone. lost: the
 * failures of memory before it was made. */
static int answer(struct call *call, const struct neap_kube_review *review,
		  const json_t *object, json_t *status, uint64_t lost)
{
	json_t *spec = json_object_get(object, "spec");
	json_t *sent = json_object_get(object, "metadata");
	char version[64];
	json_t *body, *meta;

	(void)snprintf(version, sizeof(version), "%s/%s", review->group, review->version);
	meta = json_pack("{s:n}", "creationTimestamp");
	if (sent)
		(void)json_object_update(meta, sent); /* a failure of memory is counted */
	body = json_pack("{s:s, s:s, s:o, s:O*, s:o}", "kind", review->kind, "apiVersion",
			 version, "metadata", meta, "spec", spec, "status", status);
	if (neap_json_failures() != lost) {
		json_decref(body);
		body = NULL;
	}
	return call_answer_take(call, 201, body);
}

static int review_self(struct call *call, const struct neap_kube_review *review,
		       const json_t *object NEAP_UNUSED)
{
	uint64_t lost = neap_json_failures();
	const struct neap_http_peer *peer = neap_http_peer_get(call->request);

	return answer(call, review, NULL,
		      json_pack("{s:o}", "userInfo", neap_kube_trail_user(peer->user)),
		      lost);
}

static int review_rules(struct call *call, const struct neap_kube_review *review,
			const json_t *object)
{
	const char *ns = neap_json_text(json_object_get(object, "spec"), "namespace");
	uint64_t lost = neap_json_failures();
	const struct neap_http_peer *peer = neap_http_peer_get(call->request);
	const struct subject subject = {peer->role, peer->user->name,
					call->kube->runs_pods};

	if (!*ns)
		return call_bad(call, "no namespace on request");
	return answer(call, review, NULL, rules_status(call->kube, &subject, ns), lost);
}

static int review_access(struct call *call, const struct neap_kube_review *review,
			 const json_t *object)
{
	const json_t *spec = json_object_get(object, "spec");
	uint64_t lost = neap_json_failures();
	const struct neap_http_peer *peer = neap_http_peer_get(call->request);
	const struct subject subject = {peer->role, peer->user->name,
					call->kube->runs_pods};

	if (check_spec(call, review->kind, spec) < 0)
		return -1;
	return answer(call, review, object, access_status(call->kube, &subject, spec),
		      lost);
}

static int need_admin(struct call *call, const struct neap_kube_review *review)
{
	const struct neap_http_peer *peer = neap_http_peer_get(call->request);

	if (peer->role == NEAP_HTTP_ADMIN)
		return 0;
	return call_refuse(
		call, NEAP_CLIENT_FORBIDDEN,
		"%s.%s is forbidden: User \"%s\" cannot create resource \"%s\" in "
		"API group \"%s\" at the cluster scope",
		review->plural, review->group, peer->user->name, review->plural,
		review->group);
}

static int check_subject(struct call *call, const char *kind, const json_t *spec)
{
	if (*neap_json_text(spec, "user") ||
	    json_array_size(json_object_get(spec, "groups")))
		return 0;
	return call_refuse(call, NEAP_CLIENT_INVALID,
			   "%s." AUTHORIZATION
			   " \"\" is invalid: spec.user: Invalid value: \"\": at least "
			   "one of user or group must be specified",
			   kind);
}

static int review_other(struct call *call, const struct neap_kube_review *review,
			const json_t *object)
{
	const json_t *spec = json_object_get(object, "spec");
	uint64_t lost = neap_json_failures();
	const struct subject subject = {role_of(call->kube, spec),
					neap_json_text(spec, "user"),
					call->kube->runs_pods};

	if (need_admin(call, review) < 0 || check_spec(call, review->kind, spec) < 0 ||
	    check_subject(call, review->kind, spec) < 0)
		return -1;
	return answer(call, review, object, access_status(call->kube, &subject, spec),
		      lost);
}

/* The same, limited to the namespace of the path. The body has to have it too. */
static int review_local(struct call *call, const struct neap_kube_review *review,
			const json_t *object)
{
	const json_t *spec = json_object_get(object, "spec");
	const json_t *resource = json_object_get(spec, "resourceAttributes");
	const char *ns = neap_kube_meta_text(object, "namespace");

	if (need_admin(call, review) < 0)
		return -1;
	if (json_object_get(spec, "nonResourceAttributes") ||
	    strcmp(ns, neap_http_segment_get(call->request, 1)) != 0 ||
	    strcmp(neap_json_text(resource, "namespace"), ns) != 0)
		return call_refuse(call, NEAP_CLIENT_INVALID,
				   "%s." AUTHORIZATION " \"\" is invalid: "
				   "spec.resourceAttributes.namespace: Invalid value: "
				   "\"%.63s\": must match metadata.namespace",
				   review->kind, neap_json_text(resource, "namespace"));
	return review_other(call, review, object);
}

/* The answer to a wrong token says only that it is wrong. */
static int review_token(struct call *call, const struct neap_kube_review *review,
			const json_t *object)
{
	const json_t *spec = json_object_get(object, "spec");
	uint64_t lost = neap_json_failures();
	const char *token = neap_json_text(spec, "token");
	const struct neap_http_user *user;

	if (need_admin(call, review) < 0)
		return -1;
	if (!*token)
		return call_bad(call, "token is required for TokenReview in "
				      "authentication");
	user = neap_http_token_find(call->request, token);
	return answer(
		call, review, object,
		user ? json_pack("{s:b, s:o}", "authenticated", 1, "user",
				 neap_kube_trail_user(user))
		     : json_pack("{s:{}, s:s}", "user", "error", "invalid bearer token"),
		lost);
}

/* In the order of neap_kube_reviews. */
static int (*const answers[NEAP_KUBE_REVIEWS])(struct call *call,
					       const struct neap_kube_review *review,
					       const json_t *object) = {
	review_self,  review_access, review_rules,
	review_other, review_local,  review_token};

static int serve_review(struct call *call)
{
	const char *plural = strrchr(neap_http_path_get(call->request), '/') + 1;
	const struct neap_kube_review *review = neap_kube_reviews;
	json_auto_t *object = NULL;

	while (strcmp(review->plural, plural) != 0)
		review++; /* there is one: each has a route */
	if (strcmp(neap_http_segment_get(call->request, 0), review->version) != 0)
		return call_refuse(call, NEAP_CLIENT_NOT_FOUND,
				   "the server could not find the requested resource");
	if (call_refuse_impersonation(call) < 0 || call_parse_options(call) < 0 ||
	    body_part(call, review->body, &object) < 0)
		return -1;
	return answers[review - neap_kube_reviews](call, review, object);
}

static void serve(void *arg, struct neap_http_request *request)
{
	struct call call = {.kube = arg, .request = request};

	call_end(&call, serve_review(&call));
}

#define PATH(group, plural) "/apis/" group "/{version}/" plural

static const struct neap_http_route routes[] = {
	{"POST", PATH(AUTHENTICATION, "selfsubjectreviews"), NEAP_HTTP_READER, serve},
	{"POST", PATH(AUTHORIZATION, "selfsubjectaccessreviews"), NEAP_HTTP_READER,
	 serve},
	{"POST", PATH(AUTHORIZATION, "selfsubjectrulesreviews"), NEAP_HTTP_READER, serve},
	{"POST", PATH(AUTHORIZATION, "subjectaccessreviews"), NEAP_HTTP_READER, serve},
	{"POST", PATH(AUTHORIZATION, "namespaces/{namespace}/localsubjectaccessreviews"),
	 NEAP_HTTP_READER, serve},
	{"POST", PATH(AUTHENTICATION, "tokenreviews"), NEAP_HTTP_READER, serve},
	{NULL, NULL, NEAP_HTTP_UNSET, NULL},
};

bool neap_kube_is_review(const char *rest)
{
	const char *plural = strrchr(rest, '/');

	for (size_t i = 0; plural && i < NEAP_KUBE_REVIEWS; i++) {
		const struct neap_kube_review *review = &neap_kube_reviews[i];
		size_t len = strlen(review->group);

		if (strncmp(rest, review->group, len) == 0 && rest[len] == '/' &&
		    strcmp(plural + 1, review->plural) == 0)
			return true;
	}
	return false;
}

int neap_kube_reviews_serve(struct neap_kube *kube, struct neap_http *http,
			    struct neap_error *err)
{
	return neap_http_add_routes(http, routes, kube, err);
}
