/* SPDX-License-Identifier: Apache-2.0
 *
 * What is dear to make of a reservation: made once, for as long as there is room. A reservation never changes (a new state
 * is a new one), so facts go by its address; a reference sees to it that the address stays its own. */
#include <string.h>

#include <lauxlib.h>

#include "engine/base/json.h"
#include "lua/objects.h"
#include "lua/reserve_priv.h"

/* About what a table and a field in it take. */
#define TABLE_BYTES 120
#define FIELD_BYTES 80

struct facts {
	struct neap_policy *policy;
	const struct neap_reserve *reserve;
	const json_t *annotations; /* NULL: none are needed */
	bool is_kept;
};

/* --- owners --- */

static void set_text(lua_State *L, const char *name, const char *text)
{
	if (!text)
		return;
	lua_pushstring(L, text);
	lua_setfield(L, -2, name);
}

static void push_ref(lua_State *L, const struct neap_reserve_ref *ref)
{
	lua_createtable(L, 0, 4);
	set_text(L, "namespace", ref->ns);
	set_text(L, "uid", ref->uid);
	set_text(L, "name", ref->name);
	set_text(L, "kind", ref->kind);
	set_text(L, "apiVersion", ref->api_version);
	if (ref->controller != NEAP_REF_NOT_SAID) {
		lua_pushboolean(L, ref->controller == NEAP_REF_TRUE);
		lua_setfield(L, -2, "controller");
	}
}

static void push_owner(lua_State *L, const struct neap_reserve_owner *owner)
{
	lua_createtable(L, 0, 2);
	if (owner->has_object) {
		push_ref(L, &owner->object);
		lua_setfield(L, -2, "object");
	}
	if (owner->has_controller) {
		push_ref(L, &owner->controller);
		lua_setfield(L, -2, "controller");
	}
	if (owner->selector) {
		neap_lua_push_selector_copy(L, owner->selector);
		lua_setfield(L, -2, "labelSelector");
	}
}

static void push_owners(lua_State *L, const struct neap_reserve *reserve)
{
	lua_createtable(L, (int)reserve->owner_count, 0);
	for (size_t i = 0; i < reserve->owner_count; i++) {
		push_owner(L, &reserve->owners[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

static size_t owners_size(const struct neap_reserve *reserve)
{
	size_t size = TABLE_BYTES;

	for (size_t i = 0; i < reserve->owner_count; i++) {
		const struct neap_reserve_owner *owner = &reserve->owners[i];
		const struct neap_reserve_ref *refs[] = {&owner->object,
							 &owner->controller};

		size += TABLE_BYTES;
		if (owner->selector)
			size += FIELD_BYTES + neap_selector_size(owner->selector);
		for (size_t n = 0; n < NEAP_ARRAY_LEN(refs); n++) {
			const char *const texts[] = {refs[n]->ns, refs[n]->uid,
						     refs[n]->name, refs[n]->kind,
						     refs[n]->api_version};

			size += TABLE_BYTES;
			for (size_t k = 0; k < NEAP_ARRAY_LEN(texts); k++)
				if (texts[k])
					size += FIELD_BYTES + strlen(texts[k]);
		}
	}
	return size;
}

/* --- all of them --- */

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

		if (need->field == NEAP_PLACE_RESV_OWNERS)
			size += owners_size(facts->reserve);
		else if (need->field == NEAP_PLACE_RESV_LABELS)
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

		if (need->field == NEAP_PLACE_RESV_OWNERS)
			push_owners(L, facts->reserve);
		else if (need->field == NEAP_PLACE_RESV_LABELS &&
			 !neap_place_has_key(need))
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
	/* Lua looks whether a collection is due when it makes something: here, and not within the call of the script, which
	 * would pay for it. */
	lua_pushliteral(L, "");
	return 0;
}

/* Collected at once: what comes next would otherwise lie beside it, until the state is full within a call of the
 * script, which pays for the collection then. */
static int forget_protected(lua_State *L)
{
	const struct neap_policy *policy = lua_touserdata(L, 1);

	lua_newtable(L);
	neap_policy_keep(L, policy, NEAP_REF_FACTS);
	(void)lua_gc(L, LUA_GCCOLLECT);
	return 0;
}

/* Between decisions alone: within one, more reservations than there is room for would push each other out for good. */
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
			"skipped: owners and annotations of %.80s are larger "
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
