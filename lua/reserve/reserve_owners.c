/* SPDX-License-Identifier: Apache-2.0
 *
 * spec.owners as policies see them: tables created once that show one reservation after
 * the other, so that a new one costs no more than a known one. Scripts cannot write to
 * them, so fields that C knows to be unchanged are not set again. Selectors are C
 * objects. */
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "engine/base/mem.h"
#include "lua/reserve/reserve_priv.h"
#include "lua/value/objects.h"
#include "lua/vm/sandbox.h"
#include "lua/vm/vm.h"
#include "lua/vm/vm_priv.h"

/* About what a table of an entry takes, and what a text in it. */
#define TABLE_BYTES 256
#define TEXT_BYTES  80
/* Entries that are kept for further decisions: more are rare. */
#define SLOTS_KEPT 64

/* What is in NEAP_REF_OWNERS: the list, then so much for each entry. */
enum { LIST = 1, LIST_BEHIND, LIST_VALUES };
enum {
	ENTRY = 1,
	ENTRY_BEHIND,
	OBJECT,
	OBJECT_BEHIND,
	OWNER,
	OWNER_BEHIND,
	SELECTOR,
	ENTRY_VALUES = SELECTOR
};

enum { HAS_OBJECT = 1, HAS_CONTROLLER = 2, HAS_SELECTOR = 4 };

struct neap_owner_slot {
	unsigned made, shown;                  /* HAS_* */
	unsigned object, controller;           /* what is in them, see set_ref */
	const struct neap_selector **selector; /* in Lua's memory: the list keeps it */
};

/* --- how large --- */

static size_t ref_size(const struct neap_reserve_ref *ref)
{
	const char *const texts[] = {ref->ns, ref->uid, ref->name, ref->kind,
				     ref->api_version};
	size_t size = TABLE_BYTES;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(texts); i++)
		if (texts[i])
			size += TEXT_BYTES + strlen(texts[i]);
	return size;
}

bool neap_reserve_owners_are_small(const struct neap_reserve *reserve)
{
	size_t size = 0;

	for (size_t i = 0; i < reserve->owner_count; i++) {
		const struct neap_reserve_owner *owner = &reserve->owners[i];

		size += TABLE_BYTES;
		if (owner->has_object)
			size += ref_size(&owner->object);
		if (owner->has_controller)
			size += ref_size(&owner->controller);
		if (owner->selector)
			size += neap_selector_size(owner->selector);
		if (size > NEAP_FACTS_BYTES_ONE)
			return false;
	}
	return true;
}

/* --- making --- */

static lua_Integer place_of(size_t slot, int what)
{
	return LIST_VALUES - 1 + (lua_Integer)slot * ENTRY_VALUES + what;
}

/* A table and the read-only one in front of it. */
static void make_table(lua_State *L, int kept, lua_Integer front, lua_Integer behind)
{
	lua_createtable(L, 0, 3);
	lua_pushvalue(L, -1);
	lua_rawseti(L, kept, behind);
	neap_sandbox_freeze(L);
	lua_rawseti(L, kept, front);
}

/* Empties the owner tables, so that no selector stays borrowed. The state must exist. */
static void reserve_hide_owners(struct neap_reserve_own *own)
{
	for (size_t i = 0; i < own->slot_count; i++)
		if (own->slots[i].selector)
			*own->slots[i].selector = NULL;
	own->shown = neap_reserve_unref(own->shown);
}

/* Whatever was made before is left to scripts that hold it, and shows no selector any
 * more. */
static void make_list(lua_State *L, struct neap_policy *policy)
{
	struct neap_reserve_own *own = policy->reserve;

	lua_newtable(L);
	make_table(L, lua_gettop(L), LIST, LIST_BEHIND);
	reserve_hide_owners(own);
	neap_policy_keep(L, policy, NEAP_REF_OWNERS);
	own->slot_count = own->slots_shown = 0;
	own->is_torn = false;
}

static void make_slots(lua_State *L, struct neap_reserve_own *own, int kept, size_t count)
{
	struct neap_owner_slot *slots;

	if (count > own->slot_size) {
		slots = neap_realloc_array(own->slots, count, sizeof(*slots));
		if (!slots)
			neap_vm_raise_nomem(L);
		own->slots = slots;
		own->slot_size = count;
	}
	while (own->slot_count < count) {
		make_table(L, kept, place_of(own->slot_count, ENTRY),
			   place_of(own->slot_count, ENTRY_BEHIND));
		own->slots[own->slot_count++] = (struct neap_owner_slot){0};
	}
}

static unsigned shape_of(const struct neap_reserve_owner *owner)
{
	return (owner->has_object ? HAS_OBJECT : 0u) |
	       (owner->has_controller ? HAS_CONTROLLER : 0u) |
	       (owner->selector ? HAS_SELECTOR : 0u);
}

static void make_parts(lua_State *L, struct neap_reserve_own *own, int kept, size_t i,
		       unsigned missing)
{
	struct neap_owner_slot *slot = &own->slots[i];

	if (missing & HAS_OBJECT)
		make_table(L, kept, place_of(i, OBJECT), place_of(i, OBJECT_BEHIND));
	if (missing & HAS_CONTROLLER)
		make_table(L, kept, place_of(i, OWNER), place_of(i, OWNER_BEHIND));
	if (missing & HAS_SELECTOR) {
		const struct neap_selector **selector = neap_lua_new_selector(L);

		lua_rawseti(L, kept, place_of(i, SELECTOR));
		slot->selector = selector;
	}
	slot->made |= missing;
}

/* --- showing --- */

/* shown: bits of what is in the table, by field. What neither is there nor was is not
 * touched. */
static void set_ref(lua_State *L, int kept, lua_Integer behind,
		    const struct neap_reserve_ref *ref, unsigned *shown)
{
	static const char *const names[] = {"namespace", "uid", "name", "kind",
					    "apiVersion"};
	const char *const texts[] = {ref->ns, ref->uid, ref->name, ref->kind,
				     ref->api_version};
	const unsigned controller = 1u << NEAP_ARRAY_LEN(texts);
	bool says = ref->controller != NEAP_REF_NOT_SAID;
	unsigned before = *shown;

	*shown = says ? controller : 0;
	lua_rawgeti(L, kept, behind);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(texts); i++) {
		*shown |= (texts[i] ? 1u : 0u) << i;
		if (!texts[i] && !(before >> i & 1))
			continue;
		neap_place_push_text(L, texts[i]);
		lua_setfield(L, -2, names[i]);
	}
	if (says || (before & controller)) {
		if (says)
			lua_pushboolean(L, ref->controller == NEAP_REF_TRUE);
		else
			lua_pushnil(L);
		lua_setfield(L, -2, "controller");
	}
	lua_pop(L, 1);
}

static void set_part(lua_State *L, int kept, bool is_there, lua_Integer part,
		     const char *name)
{
	if (is_there)
		lua_rawgeti(L, kept, part);
	else
		lua_pushnil(L);
	lua_setfield(L, -2, name);
}

static void set_shape(lua_State *L, int kept, size_t i, unsigned shape)
{
	lua_rawgeti(L, kept, place_of(i, ENTRY_BEHIND));
	set_part(L, kept, shape & HAS_OBJECT, place_of(i, OBJECT), "object");
	set_part(L, kept, shape & HAS_CONTROLLER, place_of(i, OWNER), "controller");
	set_part(L, kept, shape & HAS_SELECTOR, place_of(i, SELECTOR), "labelSelector");
	lua_pop(L, 1);
}

static void set_count(lua_State *L, struct neap_reserve_own *own, int kept, size_t count)
{
	if (own->slots_shown == count)
		return;
	lua_rawgeti(L, kept, LIST_BEHIND);
	for (size_t i = own->slots_shown; i < count; i++) {
		lua_rawgeti(L, kept, place_of(i, ENTRY));
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	for (size_t i = own->slots_shown; i > count; i--) {
		lua_pushnil(L);
		lua_rawseti(L, -2, (lua_Integer)i);
	}
	lua_pop(L, 1);
	own->slots_shown = count;
}

/* Raises nothing: no selector is ever shown of a reservation that is not held. */
static void point(struct neap_reserve_own *own, const struct neap_reserve *reserve)
{
	/* Counted, for others it does not change. */
	struct neap_reserve *held =
		neap_reserve_ref((struct neap_reserve *)(uintptr_t)reserve);

	for (size_t i = 0; i < own->slot_count; i++)
		if (own->slots[i].selector)
			*own->slots[i].selector = i < reserve->owner_count
							  ? reserve->owners[i].selector
							  : NULL;
	(void)neap_reserve_unref(own->shown);
	own->shown = held;
}

static void show(lua_State *L, struct neap_policy *policy,
		 const struct neap_reserve *reserve)
{
	struct neap_reserve_own *own = policy->reserve;
	size_t count = reserve->owner_count;
	int kept = lua_gettop(L);

	make_slots(L, own, kept, count);
	for (size_t i = 0; i < count; i++) {
		unsigned missing = shape_of(&reserve->owners[i]) & ~own->slots[i].made;

		if (missing)
			make_parts(L, own, kept, i, missing);
	}
	point(own, reserve);
	/* Where memory ends in the middle of this it is not known any more what the
	 * tables have. */
	own->is_torn = true;
	for (size_t i = 0; i < count; i++) {
		const struct neap_reserve_owner *owner = &reserve->owners[i];
		struct neap_owner_slot *slot = &own->slots[i];
		unsigned shape = shape_of(owner);

		if (slot->shown != shape)
			set_shape(L, kept, i, shape);
		slot->shown = shape;
		if (owner->has_object)
			set_ref(L, kept, place_of(i, OBJECT_BEHIND), &owner->object,
				&slot->object);
		if (owner->has_controller)
			set_ref(L, kept, place_of(i, OWNER_BEHIND), &owner->controller,
				&slot->controller);
	}
	set_count(L, own, kept, count);
	own->is_torn = false;
}

void neap_reserve_push_owners(lua_State *L, struct neap_policy *policy,
			      const struct neap_reserve *reserve)
{
	struct neap_reserve_own *own = policy->reserve;

	neap_policy_push(L, policy, NEAP_REF_OWNERS);
	if (!lua_istable(L, -1) || own->is_torn ||
	    (own->slot_count > SLOTS_KEPT && reserve->owner_count <= SLOTS_KEPT)) {
		lua_pop(L, 1);
		make_list(L, policy);
		neap_policy_push(L, policy, NEAP_REF_OWNERS);
	}
	if (own->shown != reserve)
		show(L, policy, reserve);
	lua_rawgeti(L, -1, LIST);
	lua_remove(L, -2);
}
