/* SPDX-License-Identifier: Apache-2.0
 *
 * Expensive facts of a reservation, computed once and cached while there is room. A
 * reservation is immutable (a new state is a new one), so facts are keyed by its address;
 * a reference keeps the address from being reused. */
#include <string.h>

#include <lauxlib.h>

#include "engine/json/json.h"
#include "lua/reserve/reserve_priv.h"
#include "lua/value/objects.h"

/* About what a table and a field in it take. */
#define TABLE_BYTES 120
#define FIELD_BYTES 80

struct facts {
	struct neap_policy *policy;
	const struct neap_reserve *reserve;
	const json_t *annotations; /* NULL: none are needed */
	bool is_kept;
};

static const char *annotation_of(const struct facts *facts,
				 const struct neap_place_need *need)
{
	return json_string_value(json_object_get(facts->annotations, need->column.key));
}

static size_t facts_size(const struct facts *facts)
{
	const struct neap_place_needs *needs = facts->policy->place;
	const struct neap_object *object = facts->reserve->object;
	size_t size = TABLE_BYTES + needs->count * sizeof(lua_Integer) * 2;

	for (size_t i = 0; i < needs->count; i++) {
		const struct neap_place_need *need = &needs->rows[i];

		if (need->field == NEAP_PLACE_RESV_LABELS)
			size += (size_t)object->label_count * FIELD_BYTES +
				object->meta_len;
		else if (need->field == NEAP_PLACE_RESV_ANNOTATIONS &&
			 annotation_of(facts, need))
			size += FIELD_BYTES + strlen(annotation_of(facts, need));
	}
	return size;
}

static int make_protected(lua_State *L)
{
	const struct facts *facts = lua_touserdata(L, 1);
	const struct neap_place_needs *needs = facts->policy->place;

	luaL_checkstack(L, 16, NULL);
	neap_policy_push(L, facts->policy, NEAP_REF_FACTS);
	lua_createtable(L, (int)needs->count, 0);
	for (size_t i = 0; i < needs->count; i++) {
		const struct neap_place_need *need = &needs->rows[i];

		if (need->field == NEAP_PLACE_RESV_LABELS && !neap_place_has_key(need))
			neap_place_push_labels(L, facts->reserve->object);
		else if (need->field == NEAP_PLACE_RESV_ANNOTATIONS)
			neap_place_push_text(L, annotation_of(facts, need));
		else
			continue;
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	if (facts->is_kept)
		lua_rawsetp(L, -2, facts->reserve);
	else
		neap_policy_keep(L, facts->policy, NEAP_REF_PASSING);
	/* Lua looks whether a collection is due when it makes something: here, and not
	 * within the call of the script, which would pay for it. */
	lua_pushliteral(L, "");
	return 0;
}

/* Collected at once: what comes next would otherwise lie beside it, until the state is
 * full within a call of the script, which pays for the collection then. */
static int forget_protected(lua_State *L)
{
	const struct neap_policy *policy = lua_touserdata(L, 1);

	lua_newtable(L);
	neap_policy_keep(L, policy, NEAP_REF_FACTS);
	(void)lua_gc(L, LUA_GCCOLLECT);
	return 0;
}

/* Between decisions alone: within one, more reservations than there is room for would
 * push each other out for good. */
int neap_reserve_tidy(struct neap_policy *policy, struct neap_error *err)
{
	struct neap_reserve_own *own = policy->reserve;
	bool is_of_use = own->found >= own->passing;
	int rc;

	own->found = own->passing = 0;
	if (is_of_use)
		return 0;
	/* Nothing that is not in the table may be held, and the other way round. */
	rc = neap_vm_protect(policy->vm, forget_protected, policy, 0, err);
	if (rc < 0)
		return rc;
	while (own->held_count)
		(void)neap_reserve_unref(own->held[--own->held_count]);
	own->held_bytes = 0;
	return 0;
}

static enum neap_tick_verdict make(struct facts *facts, struct neap_error *err)
{
	struct neap_reserve_own *own = facts->policy->reserve;
	/* Counted, for others it does not change. */
	struct neap_reserve *reserve = (struct neap_reserve *)(uintptr_t)facts->reserve;
	size_t size = facts_size(facts);
	int rc;

	if (size > NEAP_FACTS_BYTES_ONE) {
		(void)neap_error_set(
			err, NEAP_EUNAVAILABLE,
			"skipped: labels and annotations of %.80s are larger "
			"than a policy can look at",
			reserve->object->name);
		return NEAP_TICK_SKIPPED;
	}
	facts->is_kept = own->held_count < NEAP_FACTS_MAX &&
			 own->held_bytes + size <= NEAP_FACTS_BYTES;
	rc = neap_vm_protect(facts->policy->vm, make_protected, facts, 0, err);
	if (rc < 0)
		return neap_policy_verdict_of(rc);
	own->passing += !facts->is_kept;
	if (!facts->is_kept)
		return NEAP_TICK_WISHES;
	own->held[own->held_count++] = neap_reserve_ref(reserve);
	own->held_bytes += size;
	return NEAP_TICK_WISHES;
}

void neap_reserve_push_facts(lua_State *L, const struct neap_policy *policy,
			     const struct neap_reserve *reserve)
{
	neap_policy_push(L, policy, NEAP_REF_FACTS);
	if (lua_rawgetp(L, -1, reserve) == LUA_TNIL) {
		lua_pop(L, 1);
		neap_policy_push(L, policy, NEAP_REF_PASSING);
	}
	lua_remove(L, -2);
}

static bool is_kept(const struct neap_policy *policy, const struct neap_reserve *reserve)
{
	lua_State *L = neap_vm_state(policy->vm);
	bool is;

	neap_policy_push(L, policy, NEAP_REF_FACTS);
	is = lua_rawgetp(L, -1, reserve) != LUA_TNIL;
	lua_pop(L, 2);
	return is;
}

static bool needs_annotations(const struct neap_place_needs *needs)
{
	for (size_t i = 0; i < needs->count; i++)
		if (needs->rows[i].field == NEAP_PLACE_RESV_ANNOTATIONS)
			return true;
	return false;
}

enum neap_tick_verdict neap_reserve_know(struct neap_policy *policy,
					 const struct neap_reserve *reserve,
					 struct neap_error *err)
{
	struct facts facts = {.policy = policy, .reserve = reserve};
	enum neap_tick_verdict verdict;
	json_t *tree = NULL;

	if (policy->place->has_owners && !neap_reserve_owners_are_small(reserve)) {
		(void)neap_error_set(
			err, NEAP_EUNAVAILABLE,
			"skipped: owners of %.80s are larger than a policy can look at",
			reserve->object->name);
		return NEAP_TICK_SKIPPED;
	}
	if (!policy->place->has_facts)
		return NEAP_TICK_WISHES;
	if (is_kept(policy, reserve)) {
		policy->reserve->found++;
		return NEAP_TICK_WISHES;
	}
	if (needs_annotations(policy->place)) {
		tree = neap_object_tree(reserve->object);
		if (!tree) {
			(void)neap_error_nomem(err);
			return NEAP_TICK_STARVED;
		}
		facts.annotations =
			json_object_get(json_object_get(tree, "metadata"), "annotations");
	}
	verdict = make(&facts, err);
	json_decref(tree);
	return verdict;
}
