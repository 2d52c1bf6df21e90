/* SPDX-License-Identifier: Apache-2.0
 *
 * `needs`: the fields of the sample that a policy sees. Only these become Lua values, and
 * reading another one raises, so that a policy cannot depend on undeclared fields. */
#include <string.h>

#include <lauxlib.h>

#include "engine/base/mem.h"
#include "lua/call/policy_priv.h"
#include "lua/value/convert.h"

static int bad_need(size_t index, struct neap_error *err, const char *what,
		    const char *name, const char *rest)
{
	return neap_error_set(err, NEAP_EINVAL, "field 'needs[%zu]': %s'%.48s'%s",
			      index + 1, what, name, rest);
}

static int unknown_need(size_t index, const struct neap_need *need,
			struct neap_error *err)
{
	const struct neap_field *fields = neap_sample_fields;
	const char *wrong = need->name, *dot = strchr(need->name, '.');
	char known[200], rest[200 + 32];

	if (dot) {
		char head[64];
		const struct neap_field *parent;

		(void)neap_strcopy(head, sizeof(head),
				   need->name); /* no longer than that */
		head[dot - need->name] = '\0';
		parent = neap_sample_field_find(head);
		if (parent && parent->fields) {
			fields = parent->fields;
			wrong = dot + 1;
		}
	}
	neap_field_print_known(fields, wrong, known, sizeof(known));
	(void)neap_strcopy(rest, sizeof(rest), " in a node sample; "); /* fits */
	(void)neap_strcopy(rest + strlen(rest), sizeof(rest) - strlen(rest), known);
	return bad_need(index, err, "there is no field ", need->name, rest);
}

/* The row of a name and of the struct or list before its dot. */
static void find_field(struct neap_need *need)
{
	const char *dot = strchr(need->name, '.');
	size_t len = dot ? (size_t)(dot - need->name) : strlen(need->name);
	const struct neap_field *row = neap_sample_fields;

	while (row->name && (strncmp(row->name, need->name, len) != 0 || row->name[len]))
		row++;
	if (!row->name)
		return;
	if (!dot) {
		need->field = row;
		return;
	}
	for (const struct neap_field *f = row->fields; f && f->name; f++)
		if (strcmp(f->name, dot + 1) == 0)
			need->field = f;
	if (!need->field)
		return;
	need->parent = row;
	need->siblings = (struct neap_known){neap_field_known, row->fields};
}

/* True when one of the two includes the other. */
static bool overlaps(const char *a, const char *b)
{
	size_t a_len = strlen(a), b_len = strlen(b);
	size_t len = a_len < b_len ? a_len : b_len;

	return strncmp(a, b, len) == 0 &&
	       (a_len == b_len || (a_len < b_len ? b : a)[len] == '.');
}

static int read_need(lua_State *L, struct neap_policy *policy, size_t index,
		     struct neap_error *err)
{
	struct neap_need *need = &policy->needs[index];
	size_t len;

	if (!neap_lua_text(L, -1) ||
	    !neap_strcopy(need->name, sizeof(need->name), neap_lua_text(L, -1)))
		return bad_need(index, err, "a name such as ", "critical_used_milli",
				" is wanted, with ? behind it when it may be missing");
	len = strlen(need->name);
	need->is_optional = len && need->name[len - 1] == '?';
	if (need->is_optional)
		need->name[len - 1] = '\0';

	find_field(need);
	if (!need->field)
		return unknown_need(index, need, err);
	for (size_t i = 0; i < index; i++)
		if (overlaps(policy->needs[i].name, need->name))
			return bad_need(index, err, "", need->name, " is there twice");
	return 0;
}

static const struct neap_known sample_known = {neap_field_known, neap_sample_fields};

/* Makes the metatables "node" and one for each struct of which only some fields were
 * asked for. */
static void make_metas(lua_State *L, struct neap_policy *policy)
{
	neap_policy_push(L, policy, NEAP_REF_METAS);
	lua_newtable(L); /* the names below "node" */
	lua_newtable(L); /* something to hang the metatable on */
	neap_lua_set_strict_of(L, -2, "node.%s is not declared: add it to needs",
			       &sample_known);
	lua_getmetatable(L, -1);
	lua_setfield(L, -4, "node");
	lua_pop(L, 1);

	for (size_t i = 0; i < policy->need_count; i++) {
		const struct neap_need *need = &policy->needs[i];
		const char *top = need->parent ? need->parent->name : need->name;
		const char *message;
		bool has_meta;

		lua_pushboolean(L, 1);
		lua_setfield(L, -2, top);
		if (!need->parent)
			continue;
		has_meta = lua_getfield(L, -2, top) != LUA_TNIL;
		lua_pop(L, 1);
		if (has_meta)
			continue;
		message = lua_pushfstring(
			L, "node.%s.%%s is not declared: add it to needs", top);
		lua_newtable(L);
		for (size_t k = 0; k < policy->need_count; k++) {
			if (policy->needs[k].parent != need->parent)
				continue;
			lua_pushboolean(L, 1);
			lua_setfield(L, -2, policy->needs[k].field->name);
		}
		lua_newtable(L);
		neap_lua_set_strict_of(L, -2, message, &need->siblings);
		lua_getmetatable(L, -1);
		lua_setfield(L, -6, top);
		lua_pop(L, 3);
	}
}

int neap_needs_count(lua_State *L, int index, size_t *ret, struct neap_error *err)
{
	*ret = lua_istable(L, index) ? lua_rawlen(L, index) : NEAP_NEEDS_MAX + 1;
	if (lua_isnil(L, index))
		*ret = 0;
	if (*ret <= NEAP_NEEDS_MAX)
		return 0;
	return neap_error_set(err, NEAP_EINVAL,
			      "field 'needs': a list of at most %d names is wanted",
			      NEAP_NEEDS_MAX);
}

int neap_needs_read(lua_State *L, int index, struct neap_policy *policy,
		    struct neap_error *err)
{
	int top = lua_gettop(L);
	size_t count;

	luaL_checkstack(L, 16 + NEAP_NEEDS_MAX, NULL);
	if (neap_needs_count(L, index, &count, err) < 0)
		return -NEAP_EINVAL;
	policy->needs = neap_alloc_array(count ? count : 1, sizeof(*policy->needs));
	if (!policy->needs)
		return neap_error_nomem(err);
	for (size_t i = 0; i < count; i++) {
		int rc;

		lua_rawgeti(L, index, (lua_Integer)i + 1);
		rc = read_need(L, policy, i, err);
		if (rc < 0)
			return rc;
		lua_pop(L, 1);
		policy->need_count = i + 1;
	}
	make_metas(L, policy);
	lua_settop(L, top);
	return 0;
}

/* A field of a list's elements is missing here and there, but never as a whole. */
static bool is_missing(const struct neap_need *need, const struct neap_sample *sample)
{
	if (need->parent && need->parent->type == NEAP_FIELD_LIST)
		return false;
	return neap_sample_field_is_missing(sample, need->name);
}

const struct neap_need *neap_needs_find_missing(const struct neap_policy *policy,
						const struct neap_sample *sample)
{
	for (size_t i = 0; i < policy->need_count; i++)
		if (!policy->needs[i].is_optional &&
		    is_missing(&policy->needs[i], sample))
			return &policy->needs[i];
	return NULL;
}

/* Sets what was asked for of the struct at base, below parent, in the table at the
 * top. */
static void set_members(lua_State *L, const struct neap_policy *policy,
			const struct neap_field *parent, const void *base)
{
	for (size_t i = 0; i < policy->need_count; i++) {
		if (policy->needs[i].parent != parent)
			continue;
		neap_lua_push_field(L, policy->needs[i].field, base);
		lua_setfield(L, -2, policy->needs[i].field->name);
	}
}

/* The elements of a list, each with the fields that were asked for. */
static void push_elements(lua_State *L, const struct neap_policy *policy,
			  const struct neap_field *list, const struct neap_sample *sample,
			  int metas)
{
	const char *base = (const char *)sample;
	const char *element = *(const char *const *)(const void *)(base + list->offset);
	size_t count = *(const size_t *)(const void *)(base + list->count_offset);
	int members = 0;

	for (size_t i = 0; i < policy->need_count; i++)
		members += policy->needs[i].parent == list;
	lua_createtable(L, (int)count, 0);
	lua_getfield(L, metas, list->name);
	for (size_t i = 0; i < count; i++, element += list->element_size) {
		lua_createtable(L, 0, members);
		set_members(L, policy, list, element);
		lua_pushvalue(L, -2);
		lua_setmetatable(L, -2);
		lua_rawseti(L, -3, (lua_Integer)i + 1);
	}
	lua_pop(L, 1);
}

/* A struct of which only some fields were asked for. */
static void push_part(lua_State *L, const struct neap_policy *policy,
		      const struct neap_field *parent, const struct neap_sample *sample,
		      int metas)
{
	lua_newtable(L);
	if (!neap_sample_field_is_missing(sample, parent->name))
		set_members(L, policy, parent, (const char *)sample + parent->offset);
	lua_getfield(L, metas, parent->name);
	lua_setmetatable(L, -2);
}

/* The first need below this parent does the work for all of them. */
static bool is_first_below(const struct neap_policy *policy, const struct neap_need *need)
{
	const struct neap_need *n = policy->needs;

	while (n->parent != need->parent)
		n++;
	return n == need;
}

void neap_needs_push(lua_State *L, const struct neap_policy *policy,
		     const struct neap_sample *sample)
{
	int metas;

	luaL_checkstack(L, 16, NULL);
	neap_policy_push(L, policy, NEAP_REF_METAS);
	metas = lua_gettop(L);
	lua_createtable(L, 0, (int)policy->need_count);
	for (size_t i = 0; i < policy->need_count; i++) {
		const struct neap_need *need = &policy->needs[i];

		if (!need->parent) {
			if (is_missing(need, sample))
				continue;
			neap_lua_push_field(L, need->field, sample);
			lua_setfield(L, -2, need->name);
			continue;
		}
		if (!is_first_below(policy, need))
			continue;
		if (need->parent->type == NEAP_FIELD_LIST)
			push_elements(L, policy, need->parent, sample, metas);
		else
			push_part(L, policy, need->parent, sample, metas);
		lua_setfield(L, -2, need->parent->name);
	}
	lua_getfield(L, metas, "node");
	lua_setmetatable(L, -2);
	lua_remove(L, metas);
}
