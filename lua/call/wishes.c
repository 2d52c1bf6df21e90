/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of writes, as tick returns them and as examples expect them: { target =, key =,
 * value =, why = }. Everything is checked except whether the target exists now. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "engine/base/mem.h"
#include "engine/machine/path.h"
#include "lua/call/policy_priv.h"
#include "lua/value/objects.h"

#define KEYS_TEXT 200

/* Names of the keys that policies may write. */
static void print_keys(char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (int key = 0; key < NEAP_KEY_COUNT && len < size; key++) {
		const struct neap_key_info *info = neap_key_get((enum neap_key)key);

		if (info->is_for_policies)
			len += (size_t)snprintf(buf + len, size - len, "%s%s",
						len ? ", " : "", info->name);
	}
}

/* "write 2 (besteffort.pods cpu.idle)", as far as it is known. */
static int in_row(size_t index, const struct neap_policy_wish *wish, bool has_key,
		  struct neap_error *err)
{
	if (has_key)
		return neap_error_wrap(err, "write %zu (%.60s %s)", index + 1,
				       wish->target, neap_key_get(wish->key)->name);
	return neap_error_wrap(err, "write %zu", index + 1);
}

static int check_names(lua_State *L, int row, struct neap_error *err)
{
	static const char *const names[] = {"target", "key", "value", "why"};

	lua_pushnil(L);
	while (lua_next(L, row)) {
		const char *name = neap_lua_name(L, -2);
		int rc = neap_vm_spend_step(L, err);
		size_t i = 0;

		if (rc < 0)
			return rc;
		while (i < NEAP_ARRAY_LEN(names) && strcmp(names[i], name) != 0)
			i++;
		if (i == NEAP_ARRAY_LEN(names))
			return neap_error_set(
				err, NEAP_EINVAL,
				"there is no field '%.40s'; known: target, key, value, why",
				name);
		lua_pop(L, 1);
	}
	return 0;
}

/* The text of row[name], pushed; NULL when it is none, empty, too long, or has a control
 * character. Its bytes are taken off *left. */
static const char *get_text(lua_State *L, int row, const char *name, int64_t *left)
{
	const char *text;

	lua_pushstring(L, name);
	if (lua_rawget(L, row) != LUA_TSTRING)
		return NULL;
	*left -= (int64_t)lua_rawlen(L, -1);
	if (lua_rawlen(L, -1) > NEAP_RESULT_TEXT_MAX)
		return NULL;
	text = neap_lua_text(L, -1);
	for (const char *c = text; c && *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			return NULL;
	return text && text[0] ? text : NULL;
}

static int read_number(lua_State *L, struct neap_policy_wish *wish,
		       struct neap_error *err)
{
	int ok = 0;

	if (lua_type(L, -1) != LUA_TNUMBER)
		return neap_error_set(err, NEAP_EINVAL,
				      "value: a whole number is wanted, this is a %s",
				      luaL_typename(L, -1));
	wish->value.number = lua_tointegerx(L, -1, &ok);
	if (!ok)
		return neap_error_set(
			err, NEAP_EINVAL,
			"value: %.14g is not a whole number; use // or math.floor",
			lua_tonumber(L, -1));
	return 0;
}

static int too_long(struct neap_error *err)
{
	return neap_error_set(err, NEAP_ETOOLARGE,
			      "all texts together have over %d bytes",
			      NEAP_RESULT_TEXTS_MAX);
}

static int read_cpus(lua_State *L, struct neap_policy_wish *wish, int64_t *left,
		     struct neap_error *err)
{
	int rc;

	if (neap_lua_to_cpuset(L, -1, &wish->value.cpus))
		return 0;
	if (lua_type(L, -1) != LUA_TSTRING)
		return neap_error_set(
			err, NEAP_EINVAL,
			"value: a cpu set or a list such as \"0-3\" is wanted, this is a %s",
			luaL_typename(L, -1));
	*left -= (int64_t)lua_rawlen(L, -1);
	if (*left < 0)
		return too_long(err);
	rc = neap_cpuset_parse(&wish->value.cpus, neap_lua_name(L, -1), err);
	return rc < 0 ? neap_error_wrap(err, "value") : 0;
}

static int read_value(lua_State *L, int row, struct neap_policy_wish *wish, int64_t *left,
		      struct neap_error *err)
{
	int rc;

	lua_pushliteral(L, "value");
	lua_rawget(L, row);
	wish->value.form = neap_key_get(wish->key)->form;
	if (wish->value.form == NEAP_FORM_CPUSET)
		rc = read_cpus(L, wish, left, err);
	else
		rc = read_number(L, wish, err);
	return rc < 0 ? rc : neap_value_check(wish->key, &wish->value, err);
}

static int read_target(lua_State *L, int row, size_t index, struct neap_policy_wish *wish,
		       int64_t *left, struct neap_error *err)
{
	const char *text = get_text(L, row, "target", left);
	struct neap_target target;

	if (!text || !neap_strcopy(wish->target, sizeof(wish->target), text))
		return neap_error_set(
			err, NEAP_EINVAL,
			"write %zu: target: a text such as \"besteffort.pods\" is wanted",
			index + 1);
	if (!neap_target_parse(text, &target, err))
		return neap_error_wrap(err, "write %zu: target", index + 1);
	return 0;
}

static int read_row(lua_State *L, int row, bool needs_why, size_t index,
		    struct neap_policy_wish *wish, int64_t *left, struct neap_error *err)
{
	char keys[KEYS_TEXT];
	const char *text;
	int rc;

	if (!lua_istable(L, row))
		return neap_error_set(
			err, NEAP_EINVAL,
			"write %zu: a table { target =, key =, value =, why = } is "
			"wanted, this is a %s",
			index + 1, luaL_typename(L, row));
	rc = check_names(L, row, err);
	if (rc < 0)
		return in_row(index, wish, false, err);

	rc = read_target(L, row, index, wish, left, err);
	if (rc < 0)
		return rc;
	text = get_text(L, row, "key", left);
	wish->key = text ? neap_key_find(text) : NEAP_KEY_COUNT;
	if (wish->key == NEAP_KEY_COUNT || !neap_key_get(wish->key)->is_for_policies) {
		print_keys(keys, sizeof(keys));
		return neap_error_set(
			err, NEAP_EINVAL,
			"write %zu: key: '%.40s' is no key for policies; known: %s",
			index + 1, text ? text : luaL_typename(L, -1), keys);
	}
	rc = read_value(L, row, wish, left, err);
	if (rc < 0)
		return in_row(index, wish, true, err);

	text = get_text(L, row, "why", left);
	if (text)
		(void)neap_strcopy(wish->why, sizeof(wish->why), text); /* cut is fine */
	else if (needs_why || !lua_isnil(L, -1))
		return neap_error_set(
			err, NEAP_EINVAL,
			"write %zu (%.60s %s): why: one line that tells the reason, of "
			"at most %d bytes, is wanted",
			index + 1, wish->target, neap_key_get(wish->key)->name,
			NEAP_RESULT_TEXT_MAX);
	if (*left < 0)
		return too_long(err) < 0 ? in_row(index, wish, true, err) : 0;
	return 0;
}

/* --- twice the same --- */

struct place {
	uint64_t hash; /* of target and key */
	const struct neap_policy_wish *wish;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *left = a, *right = b;
	int order = (left->hash > right->hash) - (left->hash < right->hash);

	if (!order)
		order = strcmp(left->wish->target, right->wish->target);
	return order ? order : (int)left->wish->key - (int)right->wish->key;
}

static uint64_t hash_of(const struct neap_policy_wish *wish)
{
	uint64_t hash = (uint64_t)wish->key + 1;

	for (const char *at = wish->target; *at; at++)
		hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
	return hash;
}

static int check_twice(const struct neap_policy_wish *wishes, size_t count,
		       struct neap_error *err)
{
	neap_auto_free struct place *places =
		neap_alloc_array(count + 1, sizeof(*places));

	if (!places)
		return neap_error_nomem(err);
	for (size_t i = 0; i < count; i++)
		places[i] = (struct place){hash_of(&wishes[i]), &wishes[i]};
	qsort(places, count, sizeof(*places), compare_places);
	for (size_t i = 1; i < count; i++) {
		const struct neap_policy_wish *wish = places[i].wish;
		size_t first = (size_t)(places[i - 1].wish - wishes);
		size_t second = (size_t)(wish - wishes);

		if (compare_places(&places[i - 1], &places[i]) == 0)
			return neap_error_set(
				err, NEAP_EINVAL,
				"writes %zu and %zu are both about %.60s %s: one is "
				"wanted",
				(first < second ? first : second) + 1,
				(first < second ? second : first) + 1, wish->target,
				neap_key_get(wish->key)->name);
	}
	return 0;
}

int neap_wishes_read(lua_State *L, int index, bool needs_why,
		     struct neap_policy_wish **ret, size_t *ret_count,
		     struct neap_error *err)
{
	int64_t left = NEAP_RESULT_TEXTS_MAX;
	int top = lua_gettop(L);
	size_t count;

	luaL_checkstack(L, 16, NULL);
	if (!lua_istable(L, index))
		return neap_error_set(
			err, NEAP_EINVAL,
			"a list of writes is wanted ({} gives all back, ctx.hold keeps "
			"it), this is a %s",
			luaL_typename(L, index));
	count = lua_rawlen(L, index);
	if (!count) {
		bool has_others;

		lua_pushnil(L);
		has_others = lua_next(L, index) != 0;
		lua_settop(L, top);
		if (has_others)
			return neap_error_set(
				err, NEAP_EINVAL,
				"a list of writes is wanted: { { target = ... }, ... }");
	}
	if (count > NEAP_RESULT_ROWS_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "%zu writes; at most %d are allowed", count,
				      NEAP_RESULT_ROWS_MAX);

	*ret_count = 0;
	*ret = neap_alloc_array(count ? count : 1, sizeof(**ret));
	if (!*ret)
		return neap_error_nomem(err);
	for (size_t i = 0; i < count; i++) {
		int rc;

		lua_rawgeti(L, index, (lua_Integer)i + 1);
		rc = read_row(L, top + 1, needs_why, i, &(*ret)[i], &left, err);
		lua_settop(L, top);
		if (rc < 0)
			return rc;
		*ret_count = i + 1;
	}
	return check_twice(*ret, count, err);
}
