/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "t/lib/strange_priv.h"

#define OPS_MAX 1024

/* What discovery says can be done. */
struct op {
	char base[160]; /* "/apis/apps/v1" */
	char plural[96], sub[32], kind[96], verb[24], version[96];
	bool is_namespaced;
};

static struct op ops[OPS_MAX];
static size_t op_count;
struct mutate strange_rng;
strange_get *strange_ask;
static const char *header = "";

/* --- what there is --- */

static json_t *seeds; /* by kind, a list of bodies */

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

static void add_seed(const char *kind, json_t *body)
{
	if (!json_object_get(seeds, kind))
		json_object_set_new(seeds, kind, json_array());
	json_array_append_new(json_object_get(seeds, kind), body);
}

static void load_seeds(void)
{
	DIR *dir = opendir("t/cases/manifests");
	const struct dirent *entry;
	const char *kind;
	json_t *more, *list;

	seeds = json_load_file("t/attack/requests.json", 0, NULL);
	if (!seeds || !dir) {
		fputs("requests: run it in the root of the tree\n", stderr);
		exit(2);
	}
	while ((entry = readdir(dir)) != NULL) {
		char path[512];

		(void)snprintf(path, sizeof(path), "t/cases/manifests/%s/input.json",
			       entry->d_name);
		more = json_load_file(path, 0, NULL);
		if (more)
			add_seed(text_of(more, "kind"), more);
	}
	(void)closedir(dir);
	json_object_foreach (seeds, kind, list)
		if (json_array_size(list) == 0)
			exit(2);
	strange_rng.others = seeds;
}

/* False: a kind that no body is known of. */
static bool add_resource(const char *base, const char *version, const json_t *resource)
{
	const char *name = text_of(resource, "name"), *slash = strchr(name, '/');
	const json_t *verb;
	size_t i;

	json_array_foreach (json_object_get(resource, "verbs"), i, verb) {
		struct op *op = &ops[op_count];

		if (op_count == OPS_MAX)
			return false;
		(void)neap_strcopy(op->base, sizeof(op->base), base);
		(void)neap_strcopy(op->version, sizeof(op->version), version);
		(void)snprintf(op->plural, sizeof(op->plural), "%.*s",
			       (int)strcspn(name, "/"), name);
		(void)neap_strcopy(op->sub, sizeof(op->sub), slash ? slash + 1 : "");
		(void)neap_strcopy(op->kind, sizeof(op->kind), text_of(resource, "kind"));
		(void)neap_strcopy(op->verb, sizeof(op->verb), json_string_value(verb));
		op->is_namespaced = json_is_true(json_object_get(resource, "namespaced"));
		op_count++;
	}
	if (json_object_get(seeds, text_of(resource, "kind")))
		return true;
	printf("no body of kind %s is known: t/attack/requests.json needs one\n",
	       text_of(resource, "kind"));
	return false;
}

static bool add_version(const char *base, const char *version)
{
	json_t *list = strange_ask(base);
	const json_t *resource;
	bool is_whole = list != NULL;
	size_t i;

	json_array_foreach (json_object_get(list, "resources"), i, resource)
		is_whole &= add_resource(base, version, resource);
	json_decref(list);
	return is_whole;
}

static bool discover(void)
{
	json_t *groups = strange_ask("/apis");
	const json_t *group, *version;
	bool is_whole = groups != NULL && add_version("/api/v1", "v1");
	size_t i, k;

	json_array_foreach (json_object_get(groups, "groups"), i, group) {
		json_array_foreach (json_object_get(group, "versions"), k, version) {
			char base[160];

			(void)snprintf(base, sizeof(base), "/apis/%s",
				       text_of(version, "groupVersion"));
			is_whole &= add_version(base, text_of(version, "groupVersion"));
		}
	}
	json_decref(groups);
	return is_whole;
}

/* --- requests --- */

static const char *const names[] = {"a", "a", "b", "default"};
static const char *const odd_names[] = {"",    ".",     "..",  "A_B", "%2e%2e%2f",
					"%00", "a%2fb", "%zz", "{}",  "\xc3\xa9",
					"-",   "a?b",   "*"};
static const char *const namespaces[] = {"default", "default", "default", "a"};
static const char *const accepts[] = {
	"application/json",
	"*/*",
	"application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
	"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
	"application/vnd.kubernetes.protobuf",
	"application/yaml",
	";;;,,,",
};
static const char *const queries[] = {
	"limit=1",
	"limit=-1",
	"limit=99999999999999999999",
	"continue=e30",
	"continue=AAAA",
	"resourceVersion=0",
	"resourceVersion=1",
	"resourceVersion=99999999",
	"resourceVersion=x",
	"resourceVersionMatch=Exact",
	"labelSelector=a%20in%20(b,c),!d,e%3Df",
	"labelSelector=a%20in%20(",
	"fieldSelector=metadata.name%3Da",
	"fieldSelector=status.phase%21%3DRunning,spec.nodeName%3D",
	"fieldSelector=no.such%3Dx",
	"watch=true&timeoutSeconds=1",
	"watch=maybe",
	"allowWatchBookmarks=true&sendInitialEvents=true&watch=1&timeoutSeconds=1",
	"timeoutSeconds=-1",
	"dryRun=All",
	"dryRun=None",
	"fieldManager=x&fieldValidation=Strict",
	"fieldValidation=Ignore",
	"propagationPolicy=Orphan",
	"propagationPolicy=Foreground",
	"gracePeriodSeconds=0",
	"gracePeriodSeconds=-5",
	"pretty=true",
	"force=true",
	"tailLines=5&follow=true&sinceSeconds=1",
	"a=b&a=c&&=&%",
};

const char *strange_name(void)
{
	if (mutate_draw(&strange_rng, 20) == 0)
		return mutate_pick(&strange_rng, odd_names, NEAP_ARRAY_LEN(odd_names));
	return mutate_pick(&strange_rng, names, NEAP_ARRAY_LEN(names));
}

static const char *draw_name_of(const struct op *op)
{
	const char *name = strange_name();

	if (strcmp(op->plural, "customresourcedefinitions") == 0)
		return "widgets.example.com";
	/* The namespace that all are in stays. */
	return strcmp(op->plural, "namespaces") == 0 && strcmp(name, "default") == 0 &&
			       strncmp(op->verb, "delete", 6) == 0
		       ? "a"
		       : name;
}

json_t *strange_seed(const char *kind)
{
	const json_t *list = json_object_get(seeds, kind);

	if (!list)
		return json_object();
	return json_deep_copy(json_array_get(
		list, mutate_draw(&strange_rng, (uint32_t)json_array_size(list))));
}

/* A valid body for this name, as far as the kind allows any. */
static json_t *make_body(const struct op *op, const char *name, const char *ns)
{
	json_t *body = strange_seed(op->kind), *meta = json_object_get(body, "metadata");

	json_object_set_new(body, "kind", json_string(op->kind));
	if (strcmp(op->kind, "Scale") == 0)
		json_object_set_new(body, "apiVersion", json_string("autoscaling/v1"));
	else if (strcmp(op->kind, "Eviction") == 0)
		json_object_set_new(body, "apiVersion", json_string("policy/v1"));
	else
		json_object_set_new(body, "apiVersion", json_string(op->version));
	if (!json_is_object(meta)) {
		meta = json_object();
		json_object_set_new(body, "metadata", meta);
	}
	if (mutate_draw(&strange_rng, 12) == 0)
		json_object_set_new(meta, "generateName", json_string("g-"));
	else
		json_object_set_new(meta, "name", json_string(name));
	if (op->is_namespaced)
		json_object_set_new(meta, "namespace", json_string(ns));
	else
		(void)json_object_del(meta, "namespace");
	(void)json_object_del(meta, "resourceVersion");
	(void)json_object_del(meta, "uid");
	return body;
}

void strange_add_text(char *path, size_t size, const char *text)
{
	size_t len = strlen(path);

	(void)snprintf(path + len, size - len, "%s", text);
}

void strange_add_query(char *path, size_t size)
{
	uint32_t left = mutate_draw(&strange_rng, 3);
	const char *sign = strchr(path, '?') ? "&" : "?";

	for (; left > 0; left--, sign = "&") {
		size_t len = strlen(path);

		(void)snprintf(
			path + len, size - len, "%s%s", sign,
			mutate_pick(&strange_rng, queries, NEAP_ARRAY_LEN(queries)));
	}
}

/* Method, path, type and body as one; body NULL: none. It is changed here and there. */
void strange_fill(struct strange_request *request, const char *method, char *path,
		  const char *type, char *body, size_t len, size_t size)
{
	if (body && mutate_draw(&strange_rng, 12) == 0)
		len = mutate_bytes(&strange_rng, body, len, size);
	(void)snprintf(request->what, sizeof(request->what), "%s %s", method, path);
	neap_buf_addf(&request->bytes, "%s %s HTTP/1.1\r\nHost: %s\r\n%s", method, path,
		      request->is_extender ? "127.0.0.1" : "x", header);
	if (mutate_draw(&strange_rng, 10) == 0)
		neap_buf_addf(
			&request->bytes, "Accept: %s\r\n",
			mutate_pick(&strange_rng, accepts, NEAP_ARRAY_LEN(accepts)));
	if (body)
		neap_buf_addf(&request->bytes,
			      "Content-Type: %s\r\nContent-Length: %zu\r\n", type, len);
	neap_buf_addf(&request->bytes, "\r\n");
	if (mutate_draw(&strange_rng, 40) == 0) { /* the head, too */
		size_t head = request->bytes.len;
		neap_auto_free char *text = neap_alloc(head + 257);

		memcpy(text, request->bytes.data, head);
		head = mutate_bytes(&strange_rng, text, head, head + 256);
		neap_buf_clear(&request->bytes);
		neap_buf_add(&request->bytes, text, head);
		request->is_raw = true;
	}
	if (body)
		neap_buf_add(&request->bytes, body, len);
	if (neap_buf_failed(
		    &request->bytes)) /* more than a buffer holds: its end is missing */
		request->is_raw = true;
}

void strange_fill_json(struct strange_request *request, const char *method, char *path,
		       const char *type, json_t *body)
{
	size_t len = body ? json_dumpb(body, NULL, 0, JSON_ENCODE_ANY) : 0;
	neap_auto_free char *text = body ? neap_alloc(len + 257) : NULL;

	if (body)
		(void)json_dumpb(body, text, len, JSON_ENCODE_ANY);
	strange_fill(request, method, path, type, text, len, len + 256);
	json_decref(body);
}

static const char *draw_type(void)
{
	static const char *const types[] = {"application/yaml", "text/plain", "",
					    "application/vnd.kubernetes.protobuf",
					    "application/json; charset=utf-8"};

	return mutate_draw(&strange_rng, 30)
		       ? "application/json"
		       : mutate_pick(&strange_rng, types, NEAP_ARRAY_LEN(types));
}

static void make_patch(struct strange_request *request, const struct op *op, char *path,
		       const char *name, const char *ns)
{
	json_t *body = make_body(op, name, ns), *patch;

	switch (mutate_draw(&strange_rng, 7)) {
	case 0:
	case 1:
		patch = mutate_json_patch(&strange_rng, body);
		json_decref(body);
		strange_fill_json(request, "PATCH", path, "application/json-patch+json",
				  patch);
		return;
	case 2:
		strange_fill_json(request, "PATCH", path, "application/apply-patch+yaml",
				  body);
		return;
	default:
		mutate_object(&strange_rng, body, 4);
		strange_fill_json(request, "PATCH", path,
				  mutate_draw(&strange_rng, 2)
					  ? "application/merge-patch+json"
					  : "application/strategic-merge-patch+json",
				  body);
	}
}

/* Every third creates, so that there is something; reading is half as likely as its
 * share. Definitions are not taken away together, as their kinds go with them. */
static const struct op *draw_op(void)
{
	bool is_creating = mutate_draw(&strange_rng, 3) == 0;

	for (;;) {
		const struct op *op = &ops[mutate_draw(&strange_rng, (uint32_t)op_count)];
		bool is_reading = strcmp(op->verb, "get") == 0 ||
				  strcmp(op->verb, "list") == 0 ||
				  strcmp(op->verb, "watch") == 0;

		if (is_creating && strcmp(op->verb, "create") != 0)
			continue;
		if (is_reading && mutate_draw(&strange_rng, 2))
			continue;
		if (strcmp(op->verb, "deletecollection") == 0 &&
		    (strcmp(op->plural, "customresourcedefinitions") == 0 ||
		     mutate_draw(&strange_rng, 4)))
			continue;
		return op;
	}
}

static void make_kube(struct strange_request *request)
{
	const struct op *op = draw_op();
	const char *name = draw_name_of(op);
	const char *ns =
		mutate_pick(&strange_rng, namespaces, NEAP_ARRAY_LEN(namespaces));
	bool is_review = strstr(op->kind, "Review") != NULL, is_all;
	bool is_create = strcmp(op->verb, "create") == 0;
	char path[4096], place[2048] = "";
	json_t *body;

	is_all = is_review || strcmp(op->verb, "list") == 0 ||
		 strcmp(op->verb, "watch") == 0 ||
		 strcmp(op->verb, "deletecollection") == 0 || (is_create && !*op->sub);
	if (op->is_namespaced && !(is_all && !is_create && mutate_draw(&strange_rng, 2)))
		(void)snprintf(place, sizeof(place), "/namespaces/%s",
			       mutate_draw(&strange_rng, 20) ? ns : strange_name());
	(void)snprintf(path, sizeof(path), "%s%s/%s%s%s%s%s", op->base, place, op->plural,
		       is_all ? "" : "/", is_all ? "" : name, *op->sub ? "/" : "",
		       op->sub);
	if (strcmp(op->verb, "watch") == 0)
		strange_add_text(path, sizeof(path), "?watch=true&timeoutSeconds=1");
	if (mutate_draw(&strange_rng, 4) == 0)
		strange_add_query(path, sizeof(path));
	if (strcmp(op->verb, "patch") == 0) {
		make_patch(request, op, path, name, ns);
		return;
	}
	if (is_create || strcmp(op->verb, "update") == 0) {
		/* An update of what is there goes further than one of what is not. */
		body = is_create || mutate_draw(&strange_rng, 3) == 0 ? NULL
								      : strange_ask(path);
		if (!json_is_object(body)) {
			json_decref(body);
			body = make_body(op, name, ns);
		}
		mutate_object(&strange_rng, body, mutate_draw(&strange_rng, 3) ? 4 : 0);
		strange_fill_json(request, is_create ? "POST" : "PUT", path, draw_type(),
				  body);
		return;
	}
	if (strncmp(op->verb, "delete", 6) == 0) {
		body = mutate_draw(&strange_rng, 2) ? strange_seed("DeleteOptions")
						    : NULL;
		if (body)
			mutate_object(&strange_rng, body, 2);
		strange_fill_json(request, "DELETE", path, draw_type(), body);
		return;
	}
	strange_fill_json(request, "GET", path, NULL, NULL);
}

/* --- for all of it --- */

bool strange_init(strange_get *get)
{
	strange_ask = get;
	load_seeds();
	return discover() && strange_load_extender();
}

void strange_done(void)
{
	json_decref(seeds);
	strange_drop_extender();
}

size_t strange_verbs(void)
{
	return op_count;
}

bool strange_list(size_t index, char *path, size_t size)
{
	for (size_t i = 0; i < op_count; i++)
		if (strcmp(ops[i].verb, "list") == 0 && index-- == 0) {
			(void)snprintf(path, size, "%s/%s", ops[i].base, ops[i].plural);
			return true;
		}
	return false;
}

void strange_make(unsigned seed, size_t number, const char *head,
		  struct strange_request *ret)
{
	*ret = (struct strange_request){0};
	header = head;
	neap_buf_init(&ret->bytes, (size_t)64 * 1024 * 1024);
	strange_rng.state = ((uint64_t)seed << 32) + number * 0x9e3779b97f4a7c15u;
	(void)mutate_draw(&strange_rng, 2);
	switch (mutate_draw(&strange_rng, 8)) {
	case 0:
		strange_make_control(ret);
		break;
	case 1:
		strange_make_extender(ret);
		break;
	default:
		make_kube(ret);
	}
}
