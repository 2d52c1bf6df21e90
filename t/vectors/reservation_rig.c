/* SPDX-License-Identifier: Apache-2.0 */
#include "t/vectors/reservation_rig.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "t/vectors/vectors.h"

#define DOMAIN "example.com/"

static json_t *named(const json_t *map, bool back)
{
	json_t *ret = json_object(), *value;
	const char *name;
	char full[128];

	json_object_foreach ((json_t *)(uintptr_t)map, name, value) {
		const char *as = name;

		if (back && strncmp(name, DOMAIN, strlen(DOMAIN)) == 0)
			as = name + strlen(DOMAIN);
		if (!back && !neap_resource_is_counted(name)) {
			(void)snprintf(full, sizeof(full), DOMAIN "%s", name);
			as = full;
		}
		(void)json_object_set(ret, as, value);
	}
	return ret;
}

int reservation_amounts(const json_t *map, struct neap_resources *resources,
			struct neap_amounts *ret, struct neap_error *err)
{
	json_t *plain = json_object(), *full = named(map, false), *value;
	const char *name, *text;
	int rc;

	ret->count = 0;
	/* An amount may be below zero here, where the API has none. */
	json_object_foreach (full, name, value) {
		text = json_string_value(value);
		(void)json_object_set_new(
			plain, name, json_string(text && *text == '-' ? text + 1 : text));
	}
	rc = neap_amounts_read(ret, plain, resources, err);
	for (size_t i = 0; i < ret->count; i++) {
		text = json_string_value(json_object_get(
			full, neap_resources_name(resources, ret->of[i].resource)));
		if (text && *text == '-')
			ret->of[i].amount = -ret->of[i].amount;
	}
	json_decref(plain);
	json_decref(full);
	return rc;
}

json_t *reservation_amounts_json(const struct neap_amounts *amounts,
				 const struct neap_resources *resources)
{
	json_t *map = neap_reserve_amounts_json(amounts, resources);
	json_t *ret = named(map, true);

	json_decref(map);
	return ret;
}

static json_t *containers_of(const json_t *list)
{
	json_t *containers = json_array(), *requests;
	size_t i;
	char name[16];

	json_array_foreach (list, i, requests) {
		(void)snprintf(name, sizeof(name), "c%zu", i);
		(void)json_array_append_new(
			containers, json_pack("{s:s, s:{s:o}}", "name", name, "resources",
					      "requests", named(requests, false)));
	}
	return containers;
}

static void copy(json_t *to, const json_t *from, const char *name)
{
	json_t *value = json_object_get(from, name);

	if (value && !json_is_null(value))
		(void)json_object_set(to, name, value);
}

static void set_time(json_t *object, const char *name, int64_t usec)
{
	char text[32];

	(void)json_object_set_new(
		object, name, json_string(neap_time_format(usec, 6, text, sizeof(text))));
}

/* Amounts by name, or as the annotation has them. */
static void add_resize(json_t *meta, const json_t *resize)
{
	const json_t *amounts = json_object_get(resize, "resources");
	json_t *note =
		json_pack("{s:o}", "resources",
			  named(json_is_object(amounts) ? amounts : resize, false));
	char *text = json_dumps(note, JSON_COMPACT);

	(void)json_object_set_new(json_object_get(meta, "annotations"),
				  NEAP_KEY_RESERVATION_RESIZE,
				  json_string(text ? text : ""));
	neap_cleanup_free(&text);
	json_decref(note);
}

json_t *reservation_tree(const json_t *brief, int64_t age_s)
{
	static const char *const spec_fields[] = {"owners",        "ttl",
						  "allocateOnce",  "allocatePolicy",
						  "unschedulable", "taints"};
	static const char *const status_fields[] = {"phase", "nodeName", "conditions"};
	static const char *const amount_fields[] = {"allocatable", "allocated"};
	json_t *template = json_object_get(brief, "template");
	json_t *expires = json_object_get(brief, "expires_in_seconds");
	json_t *name = json_object_get(brief, "name"),
	       *uid = json_object_get(brief, "uid");
	json_t *tree = json_pack(
		"{s:{s:s, s:s, s:{}, s:{}}, s:{s:{s:o}}, s:{}}", "metadata", "name", "r",
		"uid", "u", "labels", "annotations", "spec", "template", "spec",
		json_is_object(template) ? json_deep_copy(template) : json_object(),
		"status");
	json_t *meta = json_object_get(tree, "metadata");
	json_t *spec = json_object_get(tree, "spec"),
	       *status = json_object_get(tree, "status");
	json_t *pod = json_object_get(json_object_get(spec, "template"), "spec");

	set_time(meta, "creationTimestamp", RESERVATION_NOW - age_s * 1000000);
	if (json_string_length(name))
		(void)json_object_set(meta, "name", name);
	if (json_string_length(uid))
		(void)json_object_set(meta, "uid", uid);
	copy(meta, brief, "labels");
	if (json_is_true(json_object_get(brief, "deletionTimestamp")))
		set_time(meta, "deletionTimestamp", RESERVATION_NOW);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(spec_fields); i++)
		copy(spec, brief, spec_fields[i]);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(status_fields); i++)
		copy(status, brief, status_fields[i]);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(amount_fields); i++)
		if (json_object_get(brief, amount_fields[i]))
			(void)json_object_set_new(
				status, amount_fields[i],
				named(json_object_get(brief, amount_fields[i]), false));
	if (json_is_integer(expires))
		set_time(spec, "expires",
			 RESERVATION_NOW + json_integer_value(expires) * 1000000);
	if (json_is_object(json_object_get(brief, "resize")))
		add_resize(meta, json_object_get(brief, "resize"));
	if (json_object_get(brief, "containers"))
		(void)json_object_set_new(
			pod, "containers",
			containers_of(json_object_get(brief, "containers")));
	if (json_object_get(brief, "init_containers"))
		(void)json_object_set_new(
			pod, "initContainers",
			containers_of(json_object_get(brief, "init_containers")));
	if (json_object_get(brief, "overhead"))
		(void)json_object_set_new(
			pod, "overhead",
			named(json_object_get(brief, "overhead"), false));
	return tree;
}

int reservation_new(json_t *tree_taken, struct neap_resources *resources,
		    struct neap_reserve **ret, struct neap_error *err)
{
	struct neap_object *object;
	int rc = neap_object_new_take(tree_taken, NULL, 1, &object, err);

	if (rc < 0)
		return rc;
	rc = neap_reserve_new(object, resources, ret, err);
	(void)neap_object_unref(object);
	return rc;
}

int reservation_pod(const json_t *brief, const json_t *annotations,
		    struct neap_resources *resources, struct reservation_pod *ret,
		    struct neap_error *err)
{
	static const char *const fields[] = {"name", "namespace", "uid", "labels",
					     "ownerReferences"};
	json_t *notes = json_object(), *value, *tree, *owner;
	struct neap_object *object;
	const char *key;
	char *text;
	size_t i;
	int rc;

	*ret = (struct reservation_pod){0};
	json_object_foreach ((json_t *)(uintptr_t)annotations, key, value) {
		text = json_is_null(value) ? NULL : json_dumps(value, 0);
		if (text)
			(void)json_object_set_new(notes, key, json_string(text));
		neap_cleanup_free(&text);
	}
	tree = json_pack("{s:{s:s, s:s, s:s, s:o}, s:{s:[{s:s, s:{s:o}}]}}", "metadata",
			 "name", "p", "namespace", "default", "uid", "p", "annotations",
			 notes, "spec", "containers", "name", "c", "resources",
			 "requests", named(json_object_get(brief, "requests"), false));
	for (i = 0; i < NEAP_ARRAY_LEN(fields); i++)
		copy(json_object_get(tree, "metadata"), brief, fields[i]);
	/* Cases leave out what the API needs. */
	json_array_foreach (
		json_object_get(json_object_get(tree, "metadata"), "ownerReferences"), i,
		owner)
		if (!json_object_get(owner, "uid"))
			(void)json_object_set_new(owner, "uid", json_string("unknown"));
	rc = neap_object_new_take(json_incref(tree), NULL, 1, &object, err);
	if (rc == 0) {
		rc = neap_pod_new(object, resources, &ret->pod, err);
		(void)neap_object_unref(object);
	}
	if (rc == 0)
		rc = neap_reserve_ask_read(ret->pod, tree, resources, &ret->arena,
					   &ret->ask, err);
	json_decref(tree);
	return rc;
}

void reservation_pod_done(struct reservation_pod *pod)
{
	(void)neap_pod_unref(pod->pod);
	neap_arena_done(&pod->arena);
}

int reservation_begin(struct reservation_rig *rig, struct neap_error *err)
{
	*rig = (struct reservation_rig){.resources = neap_resources_new()};
	return rig->resources ? 0 : neap_error_nomem(err);
}

int reservation_done(struct reservation_rig *rig, int rc)
{
	(void)neap_reserve_unref(rig->reserve);
	reservation_pod_done(&rig->pod);
	(void)neap_object_unref(rig->node);
	neap_resources_free(rig->resources);
	return rc;
}

int reservation_make(struct reservation_rig *rig, const json_t *brief, int64_t age_s,
		     struct neap_error *err)
{
	return reservation_new(reservation_tree(brief, age_s), rig->resources,
			       &rig->reserve, err);
}

int reservation_answer(json_t **ret, const char *name, bool is_it, struct neap_error *err)
{
	return vector_answer_new(json_pack("{s:b}", name, is_it), ret, err);
}
