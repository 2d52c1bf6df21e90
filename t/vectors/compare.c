/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparing answers, and knowing inputs. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/machine/cpuset.h"
#include "t/vectors/vectors.h"

#define PATH_SIZE 256

int vector_bad(struct neap_error *err, const char *fmt, ...)
{
	char text[200];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args); /* cut is fine */
	va_end(args);
	return neap_error_set(err, NEAP_EINTERNAL, "%s", text);
}

const char *vector_text(const json_t *given, const char *key)
{
	return json_string_value(json_object_get(given, key));
}

int vector_answer_new(json_t *object, json_t **ret, struct neap_error *err)
{
	if (object == NULL)
		return neap_error_nomem(err);
	*ret = object;
	return 0;
}

bool vector_cpus_are_equal(const char *a, const char *b)
{
	struct neap_cpuset left, right;

	return neap_cpuset_parse(&left, a, NULL) == 0 &&
	       neap_cpuset_parse(&right, b, NULL) == 0 &&
	       neap_cpuset_is_equal(&left, &right);
}

static bool is_listed(const char *const *list, const char *name)
{
	for (; list != NULL && *list != NULL; list++)
		if (strcmp(*list, name) == 0)
			return true;
	return false;
}

/* Notes the first difference. */
static bool differ(char *why, size_t size, const char *at, const json_t *want,
		   const json_t *got)
{
	char *want_text =
		json_dumps(want, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
	char *got_text = json_dumps(got, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);

	(void)snprintf(why, size, "%s: wanted %.160s, got %.160s", at,
		       want_text == NULL ? "?" : want_text,
		       got == NULL        ? "nothing"
		       : got_text == NULL ? "?"
					  : got_text);
	neap_cleanup_free(&want_text);
	neap_cleanup_free(&got_text);
	return false;
}

/* An empty Lua table is neither list nor map. */
static bool is_empty(const json_t *value)
{
	return (json_is_array(value) && json_array_size(value) == 0) ||
	       (json_is_object(value) && json_object_size(value) == 0);
}

static bool is_same(const json_t *want, const json_t *got, const char *at, char *why,
		    size_t size)
{
	char path[PATH_SIZE];
	const char *key;
	json_t *value;

	if (json_is_null(want) || got == NULL || json_is_null(got))
		return (json_is_null(want) && (got == NULL || json_is_null(got))) ||
		       differ(why, size, at, want, got);
	if (json_is_number(want) && json_is_number(got)) {
		bool same = json_is_integer(want) && json_is_integer(got)
				    ? json_integer_value(want) == json_integer_value(got)
				    : json_number_value(want) == json_number_value(got);

		return same || differ(why, size, at, want, got);
	}
	if (is_empty(want) && is_empty(got))
		return true;
	if (json_is_array(want) && json_is_array(got)) {
		if (json_array_size(want) != json_array_size(got))
			return differ(why, size, at, want, got);
		for (size_t i = 0; i < json_array_size(want); i++) {
			(void)snprintf(path, sizeof(path), "%.200s[%zu]", at, i);
			if (!is_same(json_array_get(want, i), json_array_get(got, i),
				     path, why, size))
				return false;
		}
		return true;
	}
	if (json_is_object(want) && json_is_object(got)) {
		json_object_foreach ((json_t *)want, key, value) {
			(void)snprintf(path, sizeof(path), "%.120s.%.120s", at, key);
			if (!is_same(value, json_object_get(got, key), path, why, size))
				return false;
		}
		json_object_foreach ((json_t *)got, key, value) {
			if (!json_is_null(value) && json_object_get(want, key) == NULL)
				return differ(why, size, at, want, got);
		}
		return true;
	}
	return json_equal(want, got) || differ(why, size, at, want, got);
}

/* The same where only what is wanted is compared. */
static bool is_part(const json_t *want, const json_t *got, const char *at, char *why,
		    size_t size)
{
	char path[PATH_SIZE];
	const char *key;
	json_t *value;

	if (json_is_null(want))
		return true;
	if (json_is_array(want) && json_array_size(want) == json_array_size(got)) {
		for (size_t i = 0; i < json_array_size(want); i++) {
			(void)snprintf(path, sizeof(path), "%.200s[%zu]", at, i);
			if (!is_part(json_array_get(want, i), json_array_get(got, i),
				     path, why, size))
				return false;
		}
		return true;
	}
	if (!json_is_object(want) || !json_is_object(got))
		return is_same(want, got, at, why, size);
	json_object_foreach ((json_t *)(uintptr_t)want, key, value) {
		(void)snprintf(path, sizeof(path), "%.120s.%.120s", at, key);
		if (!is_part(value, json_object_get(got, key), path, why, size))
			return false;
	}
	return true;
}

bool vector_matches(const struct vector_row *row, const json_t *want, const json_t *got,
		    char *why, size_t size)
{
	const char *key;
	json_t *value;

	/* Nothing wanted is an answer of its own, not a wildcard. */
	if (!json_is_object(want) || !json_is_object(got) || json_object_size(want) == 0)
		return is_same(want, got, "answer", why, size);
	json_object_foreach ((json_t *)want, key, value) {
		const json_t *answer = json_object_get(got, key);

		if (json_is_null(value) && row->null_is_any)
			continue;
		/* It must fail, with whatever text. */
		if (strcmp(key, "want_error") == 0 && json_is_string(answer) &&
		    json_is_string(value) && strcmp(json_string_value(value), "any") == 0)
			continue;
		if (is_listed(row->cpu_fields, key) && json_is_string(value) &&
		    json_is_string(answer) &&
		    vector_cpus_are_equal(json_string_value(value),
					  json_string_value(answer)))
			continue;
		if (is_listed(row->part_fields, key)
			    ? !is_part(value, answer, key, why, size)
			    : !is_same(value, answer, key, why, size))
			return false;
	}
	return true;
}

/* path names the value; the keys of an object in it are listed by name, or all of them by
 * "*". */
static bool are_known(const char *const *keys, const json_t *value, const char *path,
		      char *ret_path, size_t size)
{
	char below[PATH_SIZE];
	const char *key;
	json_t *member;

	if (json_is_array(value)) {
		(void)snprintf(below, sizeof(below), "%.250s[]", path);
		for (size_t i = 0; i < json_array_size(value); i++)
			if (!are_known(keys, json_array_get(value, i), below, ret_path,
				       size))
				return false;
		return true;
	}
	if (!json_is_object(value))
		return true;
	json_object_foreach ((json_t *)value, key, member) {
		const char *dot = path[0] == '\0' ? "" : ".";

		(void)snprintf(below, sizeof(below), "%.120s%s%.120s:any", path, dot,
			       key);
		if (is_listed(keys, below))
			continue;
		below[strlen(below) - strlen(":any")] = '\0';
		if (!is_listed(keys, below)) {
			(void)snprintf(ret_path, size, "%s", below);
			(void)snprintf(below, sizeof(below), "%.120s%s*", path, dot);
			if (!is_listed(keys, below))
				return false;
		}
		if (!are_known(keys, member, below, ret_path, size))
			return false;
	}
	return true;
}

bool vector_keys_are_known(const char *const *keys, const json_t *given, char *ret_path,
			   size_t size)
{
	return are_known(keys, given, "", ret_path, size);
}
