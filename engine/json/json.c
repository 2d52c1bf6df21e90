/* SPDX-License-Identifier: Apache-2.0
 *
 * Members of reports, and JSON text. */
#include "engine/json/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/json/json_fast.h"

/* The lexer of jansson takes it for granted that the text of a token can grow, and
 * asserts it. That text has a power of two bytes, the smallest 16 when it cannot be short
 * yet. While a text is parsed such blocks come out of a reserve when there is no other
 * memory, and nothing else does: so the parser ends soon after the first one, and what it
 * made is thrown away. */
#define TOKEN_MIN     32
#define RESERVE_LEAST 4096
#define RESERVE_TIMES 4 /* as long as the text: a block and all smaller ones, twice */

static _Thread_local struct {
	char *base;
	size_t size, used;
	bool is_short; /* an allocation failed since the parser began */
} reserve;
static _Thread_local uint64_t failures;

static void *take_reserve(size_t size)
{
	char *block = reserve.base + reserve.used;

	if (size < TOKEN_MIN || (size & (size - 1)) != 0 ||
	    size > reserve.size - reserve.used)
		return NULL;
	reserve.used += size;
	return block;
}

static void *counting_alloc(size_t size)
{
	void *block = neap_realloc_array(NULL, size, 1);

	if (block)
		return block;
	failures++;
	reserve.is_short = true;
	return reserve.base ? take_reserve(size) : NULL;
}

/* Else it is of malloc(3), as those from before the setup are. */
static void counting_free(void *block)
{
	if (reserve.base && (uintptr_t)block - (uintptr_t)reserve.base < reserve.size)
		return;
	free(block);
}

void neap_json_setup(void)
{
	json_set_alloc_funcs(counting_alloc, counting_free);
	/* Now, and not with the first object, when /dev/urandom may be out of reach and
	 * the time would have to do: names that meet in one place of a map must not be
	 * known. */
	json_object_seed(0);
}

int neap_json_parse(const char *text, size_t len, size_t flags, json_t **ret,
		    json_error_t *ret_where)
{
	json_t *json = neap_json_parse_fast(text, len, flags);
	bool is_short;

	if (json) {
		*ret = json;
		return 0;
	}
	if (len > SIZE_MAX / RESERVE_TIMES - RESERVE_LEAST)
		return -NEAP_ENOMEM;
	reserve.used = 0;
	reserve.is_short = false;
	reserve.size = len * RESERVE_TIMES + RESERVE_LEAST;
	reserve.base = neap_realloc_array(NULL, reserve.size, 1);
	if (!reserve.base)
		return -NEAP_ENOMEM;
	json = json_loadb(text, len, flags, ret_where);
	is_short = reserve.is_short;
	if (is_short) {
		json_decref(json);
		json = NULL;
	}
	free(reserve.base);
	reserve.base = NULL;
	if (!json)
		return is_short ? -NEAP_ENOMEM : -NEAP_EINVAL;
	*ret = json;
	return 0;
}

int neap_json_parse_note(const char *text, json_t **ret, json_error_t *ret_where)
{
	size_t len = strspn(text, " \t\r\n");

	if (strncmp(text + len, "null", 4) == 0) {
		len += 4;
		if (text[len + strspn(text + len, " \t\r\n")] == '\0')
			text = "{}";
	}
	return neap_json_parse(text, strlen(text), 0, ret, ret_where);
}

size_t neap_json_values_of_text(const char *text, size_t len)
{
	const char *end = text + len;
	size_t count = 1;
	bool is_inside = false; /* a text */
	char last = ' ';

	for (; text < end; text++) {
		if (is_inside && *text == '\\') {
			text++;
		} else if (*text == '"') {
			is_inside = !is_inside;
			last = '"';
		} else if (!is_inside && (unsigned char)*text > ' ') {
			/* One more after each comma, and the first of a list that is not
			 * empty. */
			count += *text == ',' || *text == '[' || *text == '{';
			count -= (*text == ']' && last == '[') ||
				 (*text == '}' && last == '{');
			last = *text;
		}
	}
	return count;
}

uint64_t neap_json_failures(void)
{
	return failures;
}

static json_t *whole_or_none(json_t *copy, uint64_t lost)
{
	if (failures == lost)
		return copy;
	json_decref(copy);
	return NULL;
}

json_t *neap_json_deep_copy(const json_t *json)
{
	uint64_t lost = failures;

	return whole_or_none(json_deep_copy(json), lost);
}

json_t *neap_json_copy(const json_t *json)
{
	uint64_t lost = failures;

	return whole_or_none(json_copy((json_t *)(uintptr_t)json), lost);
}

static int add_piece(const char *text, size_t len, void *arg)
{
	neap_buf_add(arg, text, len);
	return neap_buf_failed(arg) ? -1 : 0;
}

char *neap_json_dump(const json_t *json, size_t flags)
{
	neap_auto_buf struct neap_buf buf = {0};

	neap_buf_init(&buf, NEAP_BUF_REPLY);
	if (neap_json_dump_fast(json, flags, &buf))
		return neap_buf_take(&buf);
	neap_buf_clear(&buf);
	/* It goes on after a piece that was not taken, so the buffer is asked, too. */
	if (json_dump_callback(json, add_piece, &buf, flags) < 0)
		return NULL;
	return neap_buf_take(&buf);
}

void neap_json_set_text(json_t *object, const char *name, const char *text)
{
	if (text && *text)
		(void)json_object_set_new(object, name, json_string(text));
}

void neap_json_set_int(json_t *object, const char *name, int64_t value)
{
	if (value != NEAP_MISSING)
		(void)json_object_set_new(object, name, json_integer(value));
}

void neap_json_set_real(json_t *object, const char *name, double value)
{
	if (isfinite(value))
		(void)json_object_set_new(object, name, json_real(value));
}

json_t *neap_json_at(const json_t *object, const char *path)
{
	json_t *value = (json_t *)(uintptr_t)object;

	path += *path == '.';
	while (value && *path) {
		size_t len = strcspn(path, ".");

		value = json_object_getn(value, path, len);
		path += len + (path[len] == '.');
	}
	return value;
}

json_t *neap_json_need_take(json_t *object, const char *name, json_t *fresh)
{
	json_t *value = json_object_get(object, name);

	if (!value || !fresh || json_typeof(value) != json_typeof(fresh))
		return json_object_set_new(object, name, fresh) == 0 ? fresh : NULL;
	json_decref(fresh);
	return value;
}

const char *neap_json_text_or(const json_t *object, const char *name,
			      const char *otherwise)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : otherwise;
}

const char *neap_json_text(const json_t *object, const char *name)
{
	return neap_json_text_or(object, name, "");
}

const char *neap_json_text_at(const json_t *object, const char *path)
{
	const char *text = json_string_value(neap_json_at(object, path));

	return text ? text : "";
}

void neap_cleanup_json(json_t **value)
{
	json_decref(*value);
}

json_t *neap_json_made(bool is_complete, json_t *value)
{
	if (is_complete)
		return value;
	json_decref(value);
	return NULL;
}

bool neap_json_is_text(const json_t *object, const char *name, const char *text)
{
	const char *value = json_string_value(json_object_get(object, name));

	return value && strcmp(value, text) == 0;
}

json_t *neap_json_find(const json_t *list, const char *name, const char *text)
{
	json_t *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (neap_json_is_text(one, name, text))
			return one;
	return NULL;
}

json_t *neap_json_condition(const json_t *status, const char *type)
{
	return neap_json_find(json_object_get(status, "conditions"), "type", type);
}

void neap_json_push_new(json_t **list, json_t *item)
{
	if (json_array_append_new(*list, item) == 0)
		return;
	json_decref(*list);
	*list = NULL;
}

/* --- members --- */

static void list(const char *const *names, char *buf, size_t size)
{
	size_t len = 0;

	for (buf[0] = '\0'; *names && len < size; names++) {
		int n = snprintf(buf + len, size - len, "%s%s", len ? ", " : "", *names);

		len += n > 0 ? (size_t)n : 0;
	}
}

static bool is_among(const char *const *names, const char *name)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names != NULL;
}

int neap_members_check(const json_t *json, const char *const *names,
		       struct neap_error *err)
{
	const char *name;
	char all[160];
	json_t *value;

	if (!json_is_object(json))
		return neap_error_field(err, NEAP_EINVAL, "", "must be an object");
	json_object_foreach ((json_t *)(uintptr_t)json, name, value) {
		if (is_among(names, name))
			continue;
		list(names, all, sizeof(all));
		return neap_error_field(err, NEAP_EINVAL, name,
					"unknown field; there are %s", all);
	}
	return 0;
}

static const json_t *find(const json_t *json, const char *name)
{
	const json_t *value = json_object_get(json, name);

	return json_is_null(value) ? NULL : value;
}

int neap_members_int(const json_t *json, const char *name, int64_t min, int64_t max,
		     int64_t *ret, struct neap_error *err)
{
	const json_t *value = find(json, name);
	json_int_t number = json_integer_value(value);

	if (!value)
		return 0;
	if (!json_is_integer(value) || number < min || number > max)
		return neap_error_field(
			err, NEAP_EINVAL, name,
			"must be a whole number from %" PRId64 " to %" PRId64, min, max);
	*ret = number;
	return 0;
}

int neap_members_bool(const json_t *json, const char *name, bool *ret,
		      struct neap_error *err)
{
	const json_t *value = find(json, name);

	if (!value)
		return 0;
	if (!json_is_boolean(value))
		return neap_error_field(err, NEAP_EINVAL, name, "must be true or false");
	*ret = json_is_true(value);
	return 0;
}

int neap_members_text(const json_t *json, const char *name, const char **ret,
		      struct neap_error *err)
{
	const json_t *value = find(json, name);

	if (!value)
		return 0;
	if (!json_is_string(value) ||
	    strlen(json_string_value(value)) != json_string_length(value))
		return neap_error_field(err, NEAP_EINVAL, name, "must be a text");
	*ret = json_string_value(value);
	return 0;
}

int neap_members_choice(const json_t *json, const char *name, const char *const *choices,
			int *ret, struct neap_error *err)
{
	const char *text = NULL;
	char all[160];
	int failed = neap_members_text(json, name, &text, err);

	if (failed < 0 || !text)
		return failed;
	for (int i = 0; choices[i]; i++)
		if (strcmp(choices[i], text) == 0) {
			*ret = i;
			return 0;
		}
	list(choices, all, sizeof(all));
	return neap_error_field(err, NEAP_EINVAL, name,
				"'%.40s' is unknown: there are %s", text, all);
}

int neap_members_list(const json_t *json, const char *name, size_t max,
		      const json_t **ret, struct neap_error *err)
{
	const json_t *value = find(json, name);

	if (!value)
		return 0;
	if (!json_is_array(value))
		return neap_error_field(err, NEAP_EINVAL, name, "must be a list");
	if (json_array_size(value) > max)
		return neap_error_field(err, NEAP_EINVAL, name, "has more than %zu items",
					max);
	*ret = value;
	return 0;
}

int neap_members_object(const json_t *json, const char *name, const json_t **ret,
			struct neap_error *err)
{
	const json_t *value = find(json, name);

	if (!value)
		return 0;
	if (!json_is_object(value))
		return neap_error_field(err, NEAP_EINVAL, name, "must be an object");
	*ret = value;
	return 0;
}

/* Of one table. */
#define ROWS_MAX 32

static int take_one(const json_t *json, const struct neap_member *row,
		    struct neap_error *err)
{
	switch (row->type) {
	case NEAP_MEMBER_INT:
		return neap_members_int(json, row->name, row->min, row->max, row->ret,
					err);
	case NEAP_MEMBER_BOOL:
		return neap_members_bool(json, row->name, row->ret, err);
	case NEAP_MEMBER_TEXT:
		return neap_members_text(json, row->name, row->ret, err);
	case NEAP_MEMBER_CHOICE:
		return neap_members_choice(json, row->name, row->choices, row->ret, err);
	case NEAP_MEMBER_LIST:
		return neap_members_list(json, row->name, (size_t)row->max, row->ret,
					 err);
	case NEAP_MEMBER_OBJECT:
		return neap_members_object(json, row->name, row->ret, err);
	}
	return 0;
}

int neap_members_take(const json_t *json, const struct neap_member *rows,
		      struct neap_error *err)
{
	int failed = 0;

	for (; failed == 0 && rows->name; rows++)
		failed = take_one(json, rows, err);
	return failed;
}

int neap_members_read(const json_t *json, const struct neap_member *rows,
		      struct neap_error *err)
{
	const char *names[ROWS_MAX + 1];
	size_t count = 0;
	int failed;

	for (; count < ROWS_MAX && rows[count].name; count++)
		names[count] = rows[count].name;
	names[count] = NULL;
	failed = neap_members_check(json, names, err);
	return failed < 0 ? failed : neap_members_take(json, rows, err);
}
