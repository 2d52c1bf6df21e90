/* SPDX-License-Identifier: Apache-2.0
 *
 * A row of `examples` of the kinds called within decisions: reads it, builds the pod and
 * amounts, and sets its parameters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "lua/place/place_priv.h"
#include "lua/value/convert.h"
#include "lua/vm/budget.h"

#define VALUES_MAX 4096
#define ROW_BYTES  (64 * 1024)

int neap_place_row_fail(const struct neap_place_row *row, const char *field,
			const char *what)
{
	return neap_error_set(row->err, NEAP_EINVAL, "%s: %s", field, what);
}

int neap_place_row_check(const struct neap_place_row *row, const json_t *object,
			 const char *what, const char *const *names)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)object, key, value) {
		const char *const *name = names;

		while (*name && strcmp(*name, key) != 0)
			name++;
		if (!*name)
			return neap_error_set(row->err, NEAP_EINVAL,
					      "%s has no field '%.40s'", what, key);
	}
	return 0;
}

int neap_place_row_amounts(const struct neap_place_row *row, const json_t *from,
			   const char *what, json_t *ret)
{
	const char *key;
	json_t *value;
	int rc = 0;

	json_object_foreach ((json_t *)from, key, value) {
		if (!json_is_integer(value) || json_integer_value(value) < 0)
			return neap_error_set(
				row->err, NEAP_EINVAL,
				"%s.%.60s: a whole number is wanted, cpu in "
				"thousandths",
				what, key);
		if (json_object_set_new(
			    ret, key,
			    json_sprintf("%lld%s", (long long)json_integer_value(value),
					 strcmp(key, "cpu") == 0 ? "m" : "")) < 0)
			rc = neap_error_nomem(row->err);
	}
	return rc;
}

int neap_place_row_object(const struct neap_place_row *row, json_t *tree,
			  struct neap_object **ret)
{
	static const char *const fields[] = {"spec.nodeName", NULL};

	if (!tree)
		return neap_error_nomem(row->err);
	return neap_object_new_take(tree, fields, 1, ret, row->err);
}

json_t *neap_place_row_map(const json_t *object)
{
	return json_is_object(object) ? neap_json_deep_copy(object) : json_object();
}

/* The requests are those of the first. */
static json_t *containers_of(const json_t *images, json_t *requests)
{
	json_t *list = json_pack("[{s:s, s:{s:o}}]", "name", "c0", "resources",
				 "requests", requests);
	size_t i;

	for (i = 0; list && i < json_array_size(images); i++) {
		const char *image = json_string_value(json_array_get(images, i));
		json_t *one = json_array_get(list, i);
		char name[16];

		(void)snprintf(name, sizeof(name), "c%zu", i);
		if (!one &&
		    json_array_append_new(list, json_pack("{s:s}", "name", name)) < 0)
			break;
		if (json_object_set_new(json_array_get(list, i), "image",
					json_string(image ? image : "")) < 0)
			break;
	}
	return neap_json_made(i == json_array_size(images), list);
}

static json_t *list_of(const json_t *list)
{
	return json_is_array(list) ? neap_json_deep_copy(list) : json_array();
}

static json_t *pod_tree(const json_t *pod, json_t *requests)
{
	return json_pack(
		"{s:{s:s, s:s, s:s, s:o, s:o, s:o}, s:{s:I, s:o}, s:{}}", "metadata",
		"name", neap_json_text_or(pod, "name", "pod"), "namespace",
		neap_json_text_or(pod, "namespace", "default"), "uid",
		neap_json_text_or(pod, "uid", "pod"), "labels",
		neap_place_row_map(json_object_get(pod, "labels")), "annotations",
		neap_place_row_map(json_object_get(pod, "annotations")),
		"ownerReferences", list_of(json_object_get(pod, "ownerReferences")),
		"spec", "priority",
		(json_int_t)json_integer_value(json_object_get(pod, "priority")),
		"containers", containers_of(json_object_get(pod, "images"), requests),
		"status");
}

int neap_place_row_pod(const struct neap_place_row *row, struct neap_resources *resources,
		       struct neap_pod **ret)
{
	static const char *const names[] = {
		"name",     "namespace", "uid",    "labels",          "annotations",
		"priority", "requests",  "images", "ownerReferences", NULL};
	const json_t *pod = json_object_get(row->json, "pod");
	json_t *requests = json_object();
	struct neap_object *object = NULL;
	int rc = requests ? neap_place_row_check(row, pod, "a pod", names)
			  : neap_error_nomem(row->err);

	if (rc == 0)
		rc = neap_place_row_amounts(row, json_object_get(pod, "requests"),
					    "requests", requests);
	if (rc < 0) {
		json_decref(requests);
		return rc;
	}
	rc = neap_place_row_object(row, pod_tree(pod, requests), &object);
	if (rc == 0)
		rc = neap_pod_new(object, resources, ret, row->err);
	(void)neap_object_unref(object);
	if (rc == 0 && (*ret)->trouble)
		rc = neap_place_row_fail(row, "pod", (*ret)->trouble);
	return rc;
}

/* --- running --- */

/* The message of an example that fails says all. */
static int tell_field(const struct neap_place_row *row)
{
	char field[sizeof(row->err->field)];

	memcpy(field, row->err->field, sizeof(field));
	row->err->field[0] = '\0';
	return field[0] ? neap_error_wrap(row->err, "%s", field) : -(int)row->err->code;
}

static int read_row(lua_State *L, struct neap_place_row *row)
{
	int at, rc;

	neap_policy_push_row(L, row->policy, row->index);
	at = lua_gettop(L);
	(void)neap_lua_get(L, at, "name");
	if (neap_lua_text(L, -1))
		(void)neap_strcopy(row->name, sizeof(row->name),
				   neap_lua_text(L, -1)); /* cut */
	if (!row->name[0])
		return neap_place_row_fail(row, "name", "a text is wanted");
	rc = neap_lua_to_json_within(L, at, VALUES_MAX, ROW_BYTES, &row->json, row->err);
	if (rc < 0)
		return tell_field(row);
	rc = neap_place_row_check(row, row->json, "an example of this kind", row->fields);
	if (rc < 0)
		return rc;
	neap_params_reset(&row->policy->params);
	if (neap_lua_get(L, at, "params") == LUA_TNIL)
		return 0;
	return neap_params_set_lua(L, lua_gettop(L), &row->policy->params, row->err);
}

static int read_protected(lua_State *L)
{
	struct neap_place_row *row = lua_touserdata(L, 1);

	luaL_checkstack(L, 20, NULL);
	row->rc = read_row(L, row);
	return 0;
}

static int run_row(struct neap_place_row *row, neap_place_row_fn *run, void *arg)
{
	int64_t until = row->policy->row_until_usec;
	int rc;

	if (until && neap_budget_clock_usec() >= until)
		return neap_error_set(row->err, NEAP_EBUDGET,
				      "the CPU time of an upload is used up: fewer or "
				      "shorter examples are wanted");
	rc = neap_ctx_reset_memo(row->policy, row->err);
	if (rc == 0)
		rc = neap_vm_protect(row->policy->vm, read_protected, row, 0, row->err);
	if (rc == 0)
		rc = row->rc;
	if (rc == 0)
		rc = neap_ctx_refresh_params(row->policy, row->err);
	return rc < 0 ? rc : run(row, arg);
}

/* The row's own parameters go, those in force come back. */
static int restore(struct neap_place_row *row, struct neap_error *err)
{
	int rc;

	neap_params_done(&row->policy->params);
	row->policy->params = row->params;
	if (neap_vm_is_dead(row->policy->vm))
		return 0;
	rc = neap_ctx_refresh_params(row->policy, err);
	return rc < 0 ? rc : neap_ctx_reset_memo(row->policy, err);
}

int neap_place_row_run(struct neap_policy *policy, int index, const char *const *fields,
		       neap_place_row_fn *run, void *arg, struct neap_error *err)
{
	struct neap_error own = {0}, ignored;
	struct neap_place_row row = {.policy = policy,
				     .index = index,
				     .fields = fields,
				     .err = err ? err : &own};
	char where[300];
	int rc, restored;

	rc = neap_params_dup(&policy->params, &row.params, row.err);
	if (rc < 0)
		return rc;
	rc = run_row(&row, run, arg);
	restored = restore(&row, rc < 0 ? &ignored : row.err);
	if (rc < 0)
		(void)neap_error_wrap(row.err, "%s: example '%.60s'",
				      neap_policy_where(policy, "name",
							row.name[0] ? row.name : "?",
							where, sizeof(where)),
				      row.name[0] ? row.name : "?");
	json_decref(row.json);
	return rc < 0 ? rc : restored;
}
