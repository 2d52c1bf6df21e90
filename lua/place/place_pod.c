/* SPDX-License-Identifier: Apache-2.0
 *
 * The pod of a decision as policies see it: a new table in each decision. */
#include <string.h>

#include <lauxlib.h>

#include "engine/json/json.h"
#include "lua/place/place_priv.h"
#include "lua/value/convert.h"

void neap_place_push_text(lua_State *L, const char *text)
{
	if (text)
		lua_pushstring(L, text);
	else
		lua_pushnil(L);
}

void neap_place_push_labels(lua_State *L, const struct neap_object *object)
{
	const char *at = object->labels;

	lua_createtable(L, 0, object->label_count);
	for (unsigned i = 0; i < object->label_count; i++) {
		const char *value = at + strlen(at) + 1;

		lua_pushstring(L, at);
		lua_pushstring(L, value);
		lua_rawset(L, -3);
		at = value + strlen(value) + 1;
	}
}

/* 0 without one: that is what counts. */
static int64_t request_of(const struct neap_place_pod *of, const char *name)
{
	uint32_t resource = neap_resources_find(of->resources, name);

	for (size_t i = 0; i < of->pod->request_count; i++)
		if (of->pod->requests[i].resource == resource)
			return of->pod->requests[i].amount;
	for (size_t i = 0; i < of->pod->unknown_count; i++)
		if (strcmp(of->pod->unknown[i].name, name) == 0)
			return of->pod->unknown[i].amount;
	return 0;
}

static void push_images(lua_State *L, const struct neap_pod *pod)
{
	lua_createtable(L, (int)pod->container_count, 0);
	for (size_t i = 0; i < pod->container_count; i++) {
		lua_pushstring(L, pod->images[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

static void push_references(lua_State *L, const json_t *list)
{
	static const char *const names[] = {"apiVersion", "kind", "name", "uid"};

	lua_createtable(L, (int)json_array_size(list), 0);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		const json_t *controller = json_object_get(one, "controller");

		lua_createtable(L, 0, 5);
		for (size_t n = 0; n < NEAP_ARRAY_LEN(names); n++) {
			const char *text =
				json_string_value(json_object_get(one, names[n]));

			neap_place_push_text(L, text && *text ? text : NULL);
			lua_setfield(L, -2, names[n]);
		}
		if (json_is_boolean(controller)) {
			lua_pushboolean(L, json_is_true(controller));
			lua_setfield(L, -2, "controller");
		}
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

static const char *annotation_of(const json_t *metadata, const char *key)
{
	return json_string_value(
		json_object_get(json_object_get(metadata, "annotations"), key));
}

/* metadata: where a field stands there alone. */
static void push_pod_field(lua_State *L, const struct neap_place_need *need,
			   const struct neap_place_pod *of, const json_t *metadata)
{
	static const char *const classes[NEAP_BAND_COUNT] = {"", "prod", "mid", "batch",
							     "free"};
	const struct neap_pod *pod = of->pod;

	switch (need->field) {
	case NEAP_PLACE_POD_NAME:
		neap_place_push_text(L, pod->object->name);
		break;
	case NEAP_PLACE_POD_NAMESPACE:
		neap_place_push_text(L, pod->object->ns);
		break;
	case NEAP_PLACE_POD_UID:
		neap_place_push_text(L, pod->object->uid);
		break;
	case NEAP_PLACE_POD_CLASS:
		neap_place_push_text(L, classes[pod->load.band]);
		break;
	case NEAP_PLACE_POD_PRIORITY:
		lua_pushinteger(L, pod->priority);
		break;
	case NEAP_PLACE_POD_IS_DAEMON:
		lua_pushboolean(L, pod->load.is_daemon);
		break;
	case NEAP_PLACE_POD_LABELS:
		if (neap_place_has_key(need))
			neap_place_push_text(
				L, neap_object_label(pod->object, need->column.key));
		else
			neap_place_push_labels(L, pod->object);
		break;
	case NEAP_PLACE_POD_ANNOTATIONS:
		neap_place_push_text(L, annotation_of(metadata, need->column.key));
		break;
	case NEAP_PLACE_POD_IMAGES:
		push_images(L, pod);
		break;
	case NEAP_PLACE_POD_REFERENCES:
		push_references(L, json_object_get(metadata, "ownerReferences"));
		break;
	default:
		lua_pushinteger(L, request_of(of, need->column.key));
		break;
	}
}

/* Makes the table of the pod, which the policy keeps as NEAP_REF_POD. */
static void push_pod(lua_State *L, const struct neap_policy *policy,
		     const struct neap_place_pod *of, const json_t *metadata)
{
	const struct neap_place_needs *needs = policy->place;
	int table;

	neap_place_push_main(L, needs, NEAP_OF_POD);
	table = lua_gettop(L);
	for (size_t i = 0; i < needs->count; i++) {
		const struct neap_place_need *need = &needs->rows[i];
		bool has_key = neap_place_has_key(need);

		if (neap_place_owner(need) != NEAP_OF_POD)
			continue;
		if (has_key)
			neap_lua_get(L, table, neap_place_field_name(need));
		else
			lua_pushvalue(L, table);
		lua_pushstring(L,
			       has_key ? need->column.key : neap_place_field_name(need));
		push_pod_field(L, need, of, metadata);
		lua_rawset(L, -3);
		lua_pop(L, 1);
	}
	neap_policy_keep(L, policy, NEAP_REF_POD);
}

/* Everything else of a pod is always there. */
static const struct neap_place_need *find_missing(const struct neap_place_needs *needs,
						  const struct neap_pod *pod,
						  const json_t *metadata)
{
	for (size_t i = 0; i < needs->count; i++) {
		const struct neap_place_need *need = &needs->rows[i];

		if (need->is_optional || !neap_place_has_key(need))
			continue;
		if (need->field == NEAP_PLACE_POD_LABELS &&
		    !neap_object_label(pod->object, need->column.key))
			return need;
		if (need->field == NEAP_PLACE_POD_ANNOTATIONS &&
		    !annotation_of(metadata, need->column.key))
			return need;
	}
	return NULL;
}

struct open {
	struct neap_policy *policy;
	const struct neap_place_pod *pod;
	const json_t *metadata;
};

static int open_protected(lua_State *L)
{
	struct open *open = lua_touserdata(L, 1);

	neap_ctx_set_now(L, open->policy, open->pod->now_usec / 1000000);
	push_pod(L, open->policy, open->pod, open->metadata);
	return 0;
}

static enum neap_tick_verdict check(const struct neap_policy *policy,
				    const struct neap_pod *pod, const json_t *tree,
				    struct neap_error *err)
{
	const struct neap_place_need *missing =
		find_missing(policy->place, pod, json_object_get(tree, "metadata"));

	if (!missing)
		return NEAP_TICK_WISHES;
	(void)neap_error_set(err, NEAP_EUNAVAILABLE, "skipped: %.200s is missing",
			     missing->name);
	return NEAP_TICK_SKIPPED;
}

enum neap_tick_verdict neap_place_check(const struct neap_policy *policy,
					const struct neap_pod *pod,
					struct neap_error *err)
{
	enum neap_tick_verdict verdict;
	json_t *tree = NULL;

	if (policy->place->must_have_annotations) {
		tree = neap_object_tree(pod->object);
		if (!tree) {
			(void)neap_error_nomem(err);
			return NEAP_TICK_STARVED;
		}
	}
	verdict = check(policy, pod, tree, err);
	json_decref(tree);
	return verdict;
}

enum neap_tick_verdict neap_place_open(struct neap_policy *policy,
				       const struct neap_place_pod *pod,
				       struct neap_error *err)
{
	struct open open = {.policy = policy, .pod = pod};
	enum neap_tick_verdict verdict;
	json_t *tree = NULL;
	int rc = 0;

	if (policy->place->has_tree) {
		tree = neap_object_tree(pod->pod->object);
		if (!tree) {
			(void)neap_error_nomem(err);
			return NEAP_TICK_STARVED;
		}
		open.metadata = json_object_get(tree, "metadata");
	}
	verdict = check(policy, pod->pod, tree, err);
	if (verdict == NEAP_TICK_WISHES)
		rc = neap_vm_protect(policy->vm, open_protected, &open, 0, err);
	json_decref(tree);
	return rc < 0 ? neap_policy_verdict_of(rc) : verdict;
}
