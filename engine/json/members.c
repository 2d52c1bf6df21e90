/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/json/members.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
