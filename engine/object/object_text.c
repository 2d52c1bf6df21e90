/* SPDX-License-Identifier: Apache-2.0
 *
 * Single members of an object, read directly from its text, which is JSON without
 * spaces. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/object/object.h"

static const char *skip_string(const char *at)
{
	for (at++; *at != '"'; at++)
		at += *at == '\\';
	return at + 1;
}

static const char *skip_value(const char *at)
{
	int depth = 0;

	do {
		if (*at == '"') {
			at = skip_string(at);
			continue;
		}
		depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
		at++;
	} while (depth || (*at != ',' && *at != '}' && *at != ']'));
	return at;
}

/* Returns where the member's value starts; NULL: not an object, or no such member. */
static const char *find_member(const char *at, const char *name)
{
	size_t len = strlen(name);

	if (!at || *at != '{')
		return NULL;
	for (at++; *at == '"'; at += *at == ',') {
		const char *text = at + 1;

		at = skip_string(at) + 1;
		if ((size_t)(at - 2 - text) == len && memcmp(text, name, len) == 0)
			return at;
		at = skip_value(at);
	}
	return NULL;
}

int neap_object_annotation(const struct neap_object *object, const char *key, char **ret,
			   struct neap_error *err)
{
	const char *at = find_member(object->text, "metadata");
	json_t *value = NULL;
	json_error_t where;
	int failed;

	*ret = NULL;
	at = find_member(find_member(at, "annotations"), key);
	if (!at || *at != '"')
		return 0;
	failed = neap_json_parse(at, (size_t)(skip_string(at) - at), JSON_DECODE_ANY,
				 &value, &where);
	if (failed == 0)
		*ret = neap_strdup(json_string_value(value));
	json_decref(value);
	/* It was written by a dump, so reading can fail only for lack of memory. */
	return *ret ? 0 : neap_error_nomem(err);
}

const char *neap_object_resource_version(const struct neap_object *object,
					 char buf[NEAP_OBJECT_VERSION])
{
	const char *at =
		find_member(find_member(object->text, "metadata"), "resourceVersion");
	size_t len = at && *at == '"' ? strcspn(++at, "\"\\") : 0;

	(void)snprintf(buf, NEAP_OBJECT_VERSION, "%.*s",
		       len < NEAP_OBJECT_VERSION ? (int)len : 0, at ? at : "");
	return buf;
}
