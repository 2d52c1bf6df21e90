/* SPDX-License-Identifier: Apache-2.0 */
#include "api/workload/loop/tree.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/quantity.h"
#include "engine/json/json.h"

json_t *neap_tree_at(const json_t *tree, const char *path)
{
	while (tree && *path) {
		size_t len = strcspn(path, ".");

		tree = json_object_getn(tree, path, len);
		path += len + (path[len] == '.');
	}
	return (json_t *)(uintptr_t)tree;
}

const char *neap_tree_text(const json_t *tree, const char *path)
{
	const char *text = json_string_value(neap_tree_at(tree, path));

	return text ? text : "";
}

int64_t neap_tree_int(const json_t *tree, const char *path, int64_t fallback)
{
	const json_t *value = neap_tree_at(tree, path);

	return json_is_integer(value) ? json_integer_value(value) : fallback;
}

const char *neap_tree_entry(const json_t *tree, const char *path, const char *key)
{
	const char *text =
		json_string_value(json_object_get(neap_tree_at(tree, path), key));

	return text ? text : "";
}

int64_t neap_tree_time(const json_t *tree, const char *path)
{
	const char *text = neap_tree_text(tree, path);
	int64_t usec;

	return *text && neap_time_parse(text, &usec, NULL) == 0 ? usec : NEAP_MISSING;
}

json_t *neap_tree_time_new(int64_t unix_usec)
{
	char text[32];

	return json_string(neap_time_format(unix_usec, 0, text, sizeof(text)));
}

/* Higher percentages make no sense. */
#define PERCENT_MAX 1000000

int64_t neap_tree_part(const json_t *value, int64_t whole, bool rounds_up)
{
	const char *text = json_string_value(value);
	int64_t percent, part;

	if (json_is_integer(value))
		return json_integer_value(value);
	if (!text)
		return 0;
	percent = strtoll(text, NULL, 10); /* checked before: digits and a percent sign */
	if (percent > PERCENT_MAX)
		percent = PERCENT_MAX;
	part = (percent * whole + (rounds_up ? 99 : 0)) / 100;
	return part < INT32_MAX ? part : INT32_MAX;
}

/* --- conditions --- */

json_t *neap_tree_condition(const json_t *tree, const char *type)
{
	return neap_json_condition(json_object_get(tree, "status"), type);
}

/* --- owners --- */

const json_t *neap_tree_controller(const json_t *tree)
{
	const json_t *list = neap_tree_at(tree, "metadata.ownerReferences");
	const json_t *owner;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)list, i, owner) {
		if (json_is_true(json_object_get(owner, "controller")))
			return owner;
	}
	return NULL;
}

json_t *neap_tree_owner_new(const json_t *tree, const char *api_version, const char *kind)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:b, s:b}", "apiVersion", api_version,
			 "kind", kind, "name", neap_tree_text(tree, "metadata.name"),
			 "uid", neap_tree_text(tree, "metadata.uid"), "controller", 1,
			 "blockOwnerDeletion", 1);
}

/* Takes list. */
static json_t *patch_owners_take(const json_t *child, json_t *list)
{
	return json_pack("{s:{s:s, s:s, s:o}}", "metadata", "uid",
			 neap_tree_text(child, "metadata.uid"), "resourceVersion",
			 neap_tree_text(child, "metadata.resourceVersion"),
			 "ownerReferences", list);
}

/* The owners of child without uid; NULL without memory. */
static json_t *owners_but(const json_t *child, const char *uid)
{
	const json_t *list = neap_tree_at(child, "metadata.ownerReferences");
	json_t *owner, *others = json_array();
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)list, i, owner) {
		if (strcmp(neap_tree_text(owner, "uid"), uid) != 0 &&
		    json_array_append(others, owner) < 0) {
			json_decref(others);
			return NULL;
		}
	}
	return others;
}

json_t *neap_tree_adopt_new(const json_t *child, const json_t *tree,
			    const char *api_version, const char *kind)
{
	json_t *list = owners_but(child, neap_tree_text(tree, "metadata.uid"));

	if (list && json_array_append_new(
			    list, neap_tree_owner_new(tree, api_version, kind)) < 0) {
		json_decref(list);
		list = NULL;
	}
	return patch_owners_take(child, list);
}

json_t *neap_tree_release_new(const json_t *child, const char *uid)
{
	json_t *list = owners_but(child, uid);

	if (list && !json_array_size(list)) {
		json_decref(list);
		list = json_null();
	}
	return patch_owners_take(child, list);
}

bool neap_tree_is_so(const json_t *is, const json_t *patch)
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)patch, name, value) {
		const json_t *has = json_object_get(is, name);

		if (json_is_null(value) ? has != NULL : !json_equal(has, value))
			return false;
	}
	return true;
}
