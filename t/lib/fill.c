/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/fill.h"
#include "api/store/write.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/kube.h"
#include "api/store/sqlite/sqlite.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

#define TIME       "2026-11-01T00:00:00Z"
#define WRITES_MAX 256

struct filler {
	struct neap_store *store;
	size_t waiting;
	int next; /* number of the next uid */
};

static void stop(const char *what, const struct neap_error *err)
{
	(void)fprintf(stderr, "fill: %s: %s\n", what, err->msg);
	exit(1);
}

static void done(void *arg, struct neap_object *object, const struct neap_error *err)
{
	struct filler *filler = arg;

	if (!object)
		stop("a write", err);
	filler->waiting--;
}

static void wait_below(struct filler *filler, size_t count)
{
	while (filler->waiting > count) {
		struct pollfd ready = {.fd = neap_store_fd(filler->store),
				       .events = POLLIN};

		(void)poll(&ready, 1, -1);
		neap_store_hear(filler->store);
	}
}

/* What selectors may name, as neapd stores it; of a kind that is declared nothing. */
static const char *const *fields_of(const char *resource)
{
	static const struct neap_kube_kind *const *const tables[] = {
		neap_kube_core_kinds, neap_kube_apps_kinds, neap_kube_other_kinds};
	char name[NEAP_STORE_RESOURCE];

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (size_t k = 0; tables[i][k]; k++) {
			neap_kube_kind_resource(tables[i][k], name, sizeof(name));
			if (strcmp(name, resource) == 0)
				return tables[i][k]->fields;
		}
	return NULL;
}

void filler_put(struct filler *filler, const char *resource, json_t *object)
{
	json_t *meta = json_object_get(object, "metadata");
	char ns[NEAP_OBJECT_NAMESPACE] = "", name[NEAP_OBJECT_NAME];
	const char *text = json_string_value(json_object_get(meta, "namespace"));
	struct neap_store_write write = {.verb = NEAP_STORE_CREATE,
					 .resource = resource,
					 .ns = ns,
					 .name = name,
					 .object = object,
					 .fields = fields_of(resource),
					 .done = done,
					 .arg = filler};
	char uid[40];
	struct neap_error err = {0};

	if (text)
		(void)neap_strcopy(ns, sizeof(ns), text);
	(void)neap_strcopy(name, sizeof(name),
			   json_string_value(json_object_get(meta, "name")));
	(void)snprintf(uid, sizeof(uid), "00000000-0000-4000-9000-%012x", filler->next++);
	if (!object ||
	    json_object_set_new(meta, "creationTimestamp", json_string(TIME)) < 0 ||
	    (!json_object_get(meta, "uid") &&
	     json_object_set_new(meta, "uid", json_string(uid)) < 0))
		stop("an object", &err);
	wait_below(filler, WRITES_MAX);
	filler->waiting++;
	if (neap_store_write_take(filler->store, &write, &err) < 0)
		stop(resource, &err);
}

void filler_put_namespace(struct filler *filler, const char *name)
{
	filler_put(filler, "namespaces",
		   json_pack("{s:{s:s, s:{s:s}}, s:{s:[s]}, s:{s:s}}", "metadata", "name",
			     name, "labels", "kubernetes.io/metadata.name", name, "spec",
			     "finalizers", "kubernetes", "status", "phase", "Active"));
}

/* Bytes of a variable, as it is stored. */
#define VARIABLE (sizeof("{\"name\":\"V00000\",\"value\":\"v\"},") - 1)

json_t *filler_variables_new(size_t bytes)
{
	json_t *list = json_array();
	char name[16];

	for (size_t i = 0; i < bytes / VARIABLE; i++) {
		(void)snprintf(name, sizeof(name), "V%05zu", i);
		(void)json_array_append_new(
			list, json_pack("{s:s, s:s}", "name", name, "value", "v"));
	}
	return list;
}

struct filler *filler_open(const char *file)
{
	struct neap_store_sqlite_config config = {.file = file};
	struct filler *filler = neap_alloc(sizeof(*filler));
	struct neap_error err = {0};

	neap_json_setup();
	if (!filler || neap_store_sqlite_open(&config, &filler->store, &err) < 0)
		stop(file, &err);
	return filler;
}

void filler_close(struct filler *filler)
{
	wait_below(filler, 0);
	neap_store_free(filler->store);
	free(filler);
}
