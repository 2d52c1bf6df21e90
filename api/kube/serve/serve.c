/* SPDX-License-Identifier: Apache-2.0
 *
 * Maps requests to verbs. */
#include <event2/event.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/kube/base/meta.h"
#include "api/kube/log/log.h"
#include "api/kube/read/read.h"
#include "api/kube/request/slow.h"
#include "api/kube/serve/client_local.h"
#include "api/kube/write/write.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"

/* Free memory is returned when it exceeds this size, and a part of the used memory. */
#define TIDY_S         5
#define TIDY_MIN_BYTES ((size_t)2 * 1024 * 1024)
#define TIDY_PART      20

/* The verbs of collections, objects and subresources. Discovery lists only verbs that are
 * here. */
static const struct {
	const char *method;
	const char *sub; /* NULL: the object itself; "status" */
	bool is_collection;
	call_fn *fn;
} verbs[] = {
	{"GET", NULL, true, call_list},
	{"POST", NULL, true, call_create},
	{"DELETE", NULL, true, call_delete_collection},
	{"GET", NULL, false, call_get},
	{"PUT", NULL, false, call_update},
	{"PATCH", NULL, false, call_patch},
	{"DELETE", NULL, false, call_delete},
	{"GET", "status", false, call_get},
	{"PUT", "status", false, call_update},
	{"PATCH", "status", false, call_patch},
	{"POST", "binding", false, call_bind},
	{"POST", "eviction", false, call_evict},
	{"PUT", "finalize", false, call_finalize},
	{"GET", "scale", false, call_scale_get},
	{"PUT", "scale", false, call_scale_set},
	{"PATCH", "scale", false, call_scale_set},
	{"GET", "log", false, call_log},
};

static call_fn *find_verb(struct call *call, const char *method)
{
	bool is_collection = !call->target.name[0];
	const char *sub = call->target.sub;

	if (call->target.is_watch)
		return strcmp(method, "GET") == 0 && !call->target.kind->make ? call_watch
									      : NULL;
	if (call->target.kind->is_named_only && strcmp(method, "GET") != 0)
		return NULL;
	if (call->target.kind->make &&
	    (strcmp(method, "GET") != 0 || call_flag(call, "watch")))
		return NULL;
	if (is_collection && call->target.kind->is_deleted_singly &&
	    strcmp(method, "DELETE") == 0)
		return NULL;
	/* Across all namespaces there is only reading. */
	if (is_collection && call->target.kind->is_namespaced && !call->target.ns[0] &&
	    strcmp(method, "GET") != 0)
		return NULL;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(verbs); i++)
		if (strcmp(verbs[i].method, method) == 0 &&
		    verbs[i].is_collection == is_collection &&
		    strcmp(verbs[i].sub ? verbs[i].sub : "", sub) == 0)
			return verbs[i].fn;
	return NULL;
}

static void name_target(struct call *call)
{
	const struct neap_kube_target *target = &call->target;

	neap_kube_kind_resource(neap_kube_kind_stored(target->kind), call->resource,
				sizeof(call->resource));
	(void)snprintf(call->api_version, sizeof(call->api_version), "%s%s%s",
		       target->group, target->group[0] ? "/" : "", target->version);
}

static int not_found(struct call *call)
{
	return call_refuse(call, NEAP_CLIENT_NOT_FOUND,
			   "the server could not find the requested resource");
}

static int not_allowed(struct call *call)
{
	return call_refuse(call, NEAP_CLIENT_METHOD_NOT_ALLOWED,
			   "the server does not allow this method on the requested "
			   "resource");
}

/* Warns of a deprecated version. */
static void warn(const struct call *call)
{
	const struct neap_kube_kind *kind = call->target.kind;
	const char *text = NULL;
	char warning[1024] = "299 - \"";
	size_t len = strlen(warning);

	for (size_t i = 0; kind->warnings && kind->versions[i]; i++)
		if (strcmp(kind->versions[i], call->target.version) == 0)
			text = kind->warnings[i];
	if (!text)
		return;
	for (; *text && len + 4 < sizeof(warning); text++) {
		if (*text == '"' || *text == '\\')
			warning[len++] = '\\';
		warning[len++] = *text;
	}
	warning[len++] = '"';
	warning[len] = '\0';
	/* Without memory the warning is lost. */
	(void)neap_http_header_add(call->request, "Warning", warning);
}

static int serve_target(struct call *call)
{
	struct neap_http_request *request = call->request;
	const char *method = neap_http_method_get(request);
	const char *rest = neap_http_rest_get(request);
	bool is_core = strncmp(neap_http_path_get(request), "/api/", 5) == 0, is_get;
	struct neap_error err;
	call_fn *verb;

	/* The server leaves out the body. */
	if (strcmp(method, "HEAD") == 0)
		method = "GET";
	is_get = strcmp(method, "GET") == 0;
	if (call_refuse_impersonation(call) < 0)
		return -1;
	if (neap_kube_target_parse(call->kube->registry, is_core, rest, &call->target,
				   &err) < 0)
		/* Correct requests for reviews have routes of their own. */
		return !is_core && neap_kube_is_review(rest)
			       ? not_allowed(call)
			       : call_refuse(call, NEAP_CLIENT_NOT_FOUND, "%s", err.msg);
	if (!call->target.kind && !is_get)
		return not_allowed(call);
	if (!call->target.kind) {
		neap_kube_discover(call->kube->registry, request, call->target.group,
				   call->target.version);
		return 0;
	}
	name_target(call);
	verb = find_verb(call, method);
	call->is_patch = strcmp(method, "PATCH") == 0;
	if (call->target.sub[0] &&
	    !neap_kube_has_part(call->target.kind, call->target.sub))
		return not_found(call);
	if (!verb)
		return not_allowed(call);
	/* Logs are text, whatever the client accepts. */
	if (call_permit_request(call, method) < 0 ||
	    (verb != call_log && shape_parse(call) < 0) ||
	    (!is_get && call_parse_options(call) < 0))
		return -1;
	warn(call);
	if (verb == call_list && call_flag(call, "watch"))
		verb = call_watch;
	if (verb == call_patch && call_is_apply(call))
		verb = call_apply;
	if (verb == call_list && call->target.kind->make)
		verb = call_make;
	return verb(call);
}

static void serve(void *arg, struct neap_http_request *request)
{
	struct call call = {.kube = arg, .request = request};

	call_end(&call, serve_target(&call));
}

static void serve_versions(void *arg, struct neap_http_request *request)
{
	struct neap_kube *kube = arg;

	neap_kube_discover_versions(kube->registry, request);
}

static void serve_groups(void *arg, struct neap_http_request *request)
{
	struct neap_kube *kube = arg;

	neap_kube_discover_groups(kube->registry, request);
}

static void serve_document(void *arg, struct neap_http_request *request)
{
	kube_document(arg, request);
}

static void serve_paths(void *arg, struct neap_http_request *request)
{
	struct neap_kube *kube = arg;

	neap_kube_discover_paths(kube->registry, request);
}

/* The older form of POST pods/NAME/binding. The body names the pod. */
static int bind_target(struct call *call)
{
	struct neap_kube_target *target = &call->target;
	json_auto_t *binding = NULL;

	target->kind = neap_kube_registry_find(call->kube->registry, "", "v1", "pods");
	(void)neap_strcopy(target->version, sizeof(target->version), "v1");
	(void)neap_strcopy(target->plural, sizeof(target->plural), "pods");
	(void)neap_strcopy(target->sub, sizeof(target->sub), "binding");
	if (!target->kind || !neap_strcopy(target->ns, sizeof(target->ns),
					   neap_http_segment_get(call->request, 0)))
		return not_found(call);
	name_target(call);
	if (call_refuse_impersonation(call) < 0 || shape_parse(call) < 0 ||
	    body_part(call, &neap_kube_body_binding, &binding) < 0)
		return -1;
	if (!neap_strcopy(target->name, sizeof(target->name),
			  neap_kube_meta_text(binding, "name")) ||
	    !target->name[0])
		(void)call_bad(call, "metadata.name: the pod has to be named");
	if (!target->name[0] || call_permit_request(call, "POST") < 0 ||
	    call_parse_options(call) < 0)
		return -1;
	return call_bind_with(call, binding);
}

static void bind_by_body(void *arg, struct neap_http_request *request)
{
	struct call call = {.kube = arg, .request = request};

	call_end(&call, bind_target(&call));
}

/* Any authenticated user passes; authorize.c checks the rights when the target is
 * known. */
static const struct neap_http_route routes[] = {
	{"GET", "/api", NEAP_HTTP_READER, serve_versions},
	{"GET", "/apis", NEAP_HTTP_READER, serve_groups},
	{"GET", "/", NEAP_HTTP_READER, serve_paths},
	{"GET", "/api/", NEAP_HTTP_READER, serve_versions},
	{"GET", "/apis/", NEAP_HTTP_READER, serve_groups},
	{"GET", "/openapi/v2", NEAP_HTTP_READER, serve_document},
	{"POST", "/api/v1/namespaces/{namespace}/bindings", NEAP_HTTP_READER,
	 bind_by_body},
	{"GET", "/api/*", NEAP_HTTP_READER, serve},
	{"POST", "/api/*", NEAP_HTTP_READER, serve},
	{"PUT", "/api/*", NEAP_HTTP_READER, serve},
	{"PATCH", "/api/*", NEAP_HTTP_READER, serve},
	{"DELETE", "/api/*", NEAP_HTTP_READER, serve},
	{"GET", "/apis/*", NEAP_HTTP_READER, serve},
	{"POST", "/apis/*", NEAP_HTTP_READER, serve},
	{"PUT", "/apis/*", NEAP_HTTP_READER, serve},
	{"PATCH", "/apis/*", NEAP_HTTP_READER, serve},
	{"DELETE", "/apis/*", NEAP_HTTP_READER, serve},
	{NULL, NULL, NEAP_HTTP_UNSET, NULL},
};

static const char *const tree_paths[] = {"/api", "/apis", "/openapi", "/version", NULL};

/* A kube-apiserver takes bodies of 3 MiB. */
static const struct neap_http_tree tree = {
	.paths = tree_paths,
	.body_max = (size_t)3 * 1024 * 1024,
	.streams_max = NEAP_KUBE_WATCHES_MAX,
	.refusal = neap_kube_refusal,
};

/* The freed memory of many watchers lies between used memory, and the allocator keeps
 * it. */
static void tidy(evutil_socket_t fd NEAP_UNUSED, short what NEAP_UNUSED,
		 void *arg NEAP_UNUSED)
{
	struct mallinfo2 info = mallinfo2();

	if (info.fordblks > TIDY_MIN_BYTES && info.fordblks > info.uordblks / TIDY_PART)
		(void)malloc_trim(0); /* failing is harmless */
}

void kube_tidy_later(struct neap_kube *kube)
{
	static const struct timeval later = {.tv_sec = TIDY_S};

	if (!event_pending(kube->tidy, EV_TIMEOUT, NULL))
		(void)event_add(kube->tidy, &later); /* without memory: later */
}

int neap_kube_new(const struct neap_kube_config *config, struct neap_kube **ret,
		  struct neap_error *err)
{
	struct neap_kube *kube = neap_alloc(sizeof(*kube));

	*ret = kube;
	if (!kube)
		return neap_error_nomem(err);
	kube->base = config->base;
	kube->store = config->store;
	kube->registry = config->registry;
	kube->now = config->now ? config->now : neap_clock_unix;
	kube_client_init(kube);
	kube->runs_pods = config->runs_pods;
	kube->cpu_refs_max = config->cpu_refs_max > 1 ? config->cpu_refs_max : 1;
	kube->tidy = event_new(kube->base, -1, 0, tidy, kube);
	kube->tasks = neap_tasks_new(kube->base);
	if (kube->tidy && kube->tasks)
		return 0;
	if (kube->tidy)
		event_free(kube->tidy);
	neap_tasks_free(kube->tasks);
	free(kube);
	*ret = NULL;
	return neap_error_nomem(err);
}

void neap_kube_free(struct neap_kube *kube)
{
	if (!kube)
		return;
	while (kube->watchers)
		call_watch_end(kube->watchers);
	while (kube->slow)
		kube->slow->end(kube->slow);
	kube_logs_free(kube->logs);
	if (kube->tidy)
		event_free(kube->tidy);
	free(kube->document.text);
	neap_kube_shown_done(&kube->shown);
	neap_client_done(&kube->client.of.client);
	kube_cpus_free(kube->cpus);
	kube_trash_free(kube);
	neap_tasks_free(kube->tasks);
	free(kube);
}

void neap_kube_announce(struct neap_http *http)
{
	neap_http_set_tree(http, &tree, false);
}

int neap_kube_serve(struct neap_kube *kube, struct neap_http *http,
		    struct neap_error *err)
{
	kube->http = http;
	neap_http_set_tree(http, &tree, true);
	if (neap_kube_reviews_serve(kube, http, err) < 0)
		return -(int)err->code;
	return neap_http_add_routes(http, routes, kube, err);
}
