/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects of a row that describes a pod and a reservation: of an example, or of a
 * recorded decision. */
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "lua/reserve/reserve_priv.h"

#define UNIX_MAX INT64_C(253402300799)

/* --- the reservation --- */

/* {} of Lua is an empty list for JSON; in owners two members alone are lists. */
static int make_objects(json_t *json)
{
	const char *key;
	json_t *value;
	size_t i;
	void *next;

	json_array_foreach (json, i, value) {
		if (json_is_array(value) && !json_array_size(value) &&
		    json_array_set_new(json, i, json_object()) < 0)
			return -1;
		if (make_objects(json_array_get(json, i)) < 0)
			return -1;
	}
	json_object_foreach_safe(json, next, key, value)
	{
		bool is_list = strcmp(key, "values") == 0 ||
			       strcmp(key, "matchExpressions") == 0;

		if (json_is_array(value) && !json_array_size(value) && !is_list &&
		    json_object_set_new(json, key, json_object()) < 0)
			return -1;
		if (make_objects(json_object_get(json, key)) < 0)
			return -1;
	}
	return 0;
}

/* Without owners it is everybody's. */
static json_t *owners_of(const json_t *owners)
{
	json_t *copy = owners ? neap_json_deep_copy(owners) : json_pack("[{}]");

	return neap_json_made(copy && make_objects(copy) == 0, copy);
}

static int64_t number_of(const json_t *object, const char *name, int64_t otherwise)
{
	const json_t *number = json_object_get(object, name);

	return json_is_integer(number) ? json_integer_value(number) : otherwise;
}

static json_t *time_of(int64_t usec)
{
	char text[40];

	return json_string(neap_time_format(usec, 0, text, sizeof(text)));
}

static json_t *labels_of(const json_t *told)
{
	json_t *labels = neap_place_row_map(json_object_get(told, "labels"));
	int64_t order = number_of(told, "order", 0);

	if (order && json_object_set_new(labels, NEAP_KEY_RESERVATION_ORDER,
					 json_sprintf("%lld", (long long)order)) < 0) {
		json_decref(labels);
		return NULL;
	}
	return labels;
}

static json_t *spec_of(const json_t *told)
{
	const json_t *once = json_object_get(told, "is_once");
	int64_t expires = number_of(told, "expires_unix", -1);
	/* Its age is no matter then. */
	json_t *spec = json_pack("{s:{}, s:o, s:b, s:s}", "template", "owners",
				 owners_of(json_object_get(told, "owners")),
				 "allocateOnce", !once || json_is_true(once), "ttl",
				 expires < 0 ? "0" : "876000h");

	if (expires >= 0 &&
	    json_object_set_new(spec, "expires", time_of(expires * 1000000)) < 0) {
		json_decref(spec);
		return NULL;
	}
	return spec;
}

static json_t *tree_of(const struct neap_reserve_row *made, const json_t *told,
		       json_t *allocatable)
{
	int64_t created = made->pod.now_usec - number_of(told, "age_s", 0) * 1000000;

	return json_pack(
		"{s:{s:s, s:s, s:o, s:o, s:o}, s:o, s:{s:s, s:s, s:o}}", "metadata",
		"name", neap_json_text_or(told, "name", "reservation"), "uid",
		neap_json_text_or(told, "uid", "reservation"), "creationTimestamp",
		time_of(created), "labels", labels_of(told), "annotations",
		neap_place_row_map(json_object_get(told, "annotations")), "spec",
		spec_of(told), "status", "phase", "Available", "nodeName",
		neap_json_text_or(told, "node", "node"), "allocatable", allocatable);
}

static int read_allocated(struct neap_reserve_row *made, const json_t *told)
{
	json_t *map = json_object();
	int rc = map ? neap_place_row_amounts(made->row,
					      json_object_get(told, "allocated"),
					      "allocated", map)
		     : neap_error_nomem(made->row->err);

	if (rc == 0)
		rc = neap_amounts_read(&made->allocated, map, made->resources,
				       made->row->err);
	json_decref(map);
	return rc;
}

static int make_reserve(struct neap_reserve_row *made, const json_t *told)
{
	struct neap_object *object = NULL;
	json_t *allocatable = json_object();
	int rc = allocatable
			 ? neap_place_row_amounts(made->row,
						  json_object_get(told, "allocatable"),
						  "allocatable", allocatable)
			 : neap_error_nomem(made->row->err);

	if (rc < 0) {
		json_decref(allocatable);
		return rc;
	}
	rc = neap_place_row_object(made->row, tree_of(made, told, allocatable), &object);
	if (rc == 0)
		rc = neap_reserve_new(object, made->resources, &made->reserve,
				      made->row->err);
	(void)neap_object_unref(object);
	if (rc == 0 && made->reserve->trouble)
		rc = neap_place_row_fail(made->row, "reservation",
					 made->reserve->trouble);
	return rc;
}

static int make_node(struct neap_reserve_row *made, const json_t *told)
{
	const char *name = neap_json_text_or(told, "node", "node");

	return neap_place_row_object(
		made->row,
		json_pack("{s:{s:s, s:s, s:o}, s:{}}", "metadata", "name", name, "uid",
			  name, "labels",
			  neap_place_row_map(json_object_get(told, "node_labels")),
			  "status"),
		&made->node);
}

static int check_time(const struct neap_reserve_row *made, const json_t *object,
		      const char *name)
{
	const json_t *value = json_object_get(object, name);

	if (!value || (json_is_integer(value) && json_integer_value(value) >= 0 &&
		       json_integer_value(value) <= UNIX_MAX))
		return 0;
	return neap_place_row_fail(made->row, name,
				   "whole seconds, not below 0, are wanted");
}

static int read_is_owner(struct neap_reserve_row *made, bool *ret)
{
	struct neap_reserve_ask ask;
	json_t *tree = neap_object_tree(made->made_pod->object);
	int rc = tree ? neap_reserve_ask_read(made->made_pod, tree, made->resources,
					      &made->arena, &ask, made->row->err)
		      : neap_error_nomem(made->row->err);

	json_decref(tree);
	if (rc == 0)
		*ret = neap_reserve_owners_take(made->reserve, &ask);
	return rc;
}

int neap_reserve_row_pod(struct neap_reserve_row *made)
{
	int rc = check_time(made, made->row->json, "now_unix");

	if (rc < 0)
		return rc;
	made->pod.now_usec =
		number_of(made->row->json, "now_unix", NEAP_PLACE_ROW_UNIX) * 1000000;
	made->resources = neap_resources_new();
	rc = made->resources
		     ? neap_place_row_pod(made->row, made->resources, &made->made_pod)
		     : neap_error_nomem(made->row->err);
	made->pod.pod = made->made_pod;
	made->pod.resources = made->resources;
	return rc;
}

static void drop_offer(struct neap_reserve_row *made)
{
	made->reserve = neap_reserve_unref(made->reserve);
	made->node = neap_object_unref(made->node);
	made->allocated.count = 0;
}

int neap_reserve_row_offer(struct neap_reserve_row *made, const json_t *told)
{
	static const char *const names[] = {
		"name",  "uid",  "labels",       "annotations", "owners",
		"order", "pods", "allocatable",  "allocated",   "is_once",
		"age_s", "node", "expires_unix", "node_labels", NULL};
	bool is_owner = false;
	int rc = neap_place_row_check(made->row, told, "a reservation", names);

	drop_offer(made);
	if (rc == 0)
		rc = check_time(made, told, "age_s");
	if (rc == 0)
		rc = check_time(made, told, "expires_unix");
	if (rc == 0)
		rc = make_reserve(made, told);
	if (rc == 0)
		rc = make_node(made, told);
	if (rc == 0)
		rc = read_allocated(made, told);
	if (rc == 0)
		(void)neap_pod_resolve(made->made_pod, made->resources);
	if (rc == 0)
		rc = read_is_owner(made, &is_owner);
	made->offer = (struct neap_reserve_offer){made->reserve, made->node, is_owner,
						  &made->allocated,
						  (size_t)number_of(told, "pods", 0)};
	return rc;
}

void neap_reserve_row_done(struct neap_reserve_row *made)
{
	drop_offer(made);
	(void)neap_pod_unref(made->made_pod);
	neap_arena_done(&made->arena);
	neap_resources_free(made->resources);
}
