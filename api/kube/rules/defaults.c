/* SPDX-License-Identifier: Apache-2.0
 *
 * Helpers that set defaults. */
#include <string.h>

#include "api/kube/rules/defaults_priv.h"
#include "engine/json/json.h"

const char *neap_kube_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text == NULL ? "" : text;
}

bool neap_kube_is_empty(const json_t *value)
{
	return json_object_size(value) == 0 && json_array_size(value) == 0 &&
	       json_string_length(value) == 0;
}

bool neap_kube_member_take(json_t *object, const char *name, json_t *value)
{
	if (!json_is_object(object)) {
		json_decref(value);
		return true;
	}
	return json_object_set_new(object, name, value) == 0;
}

bool neap_kube_default_take(json_t *object, const char *name, json_t *value)
{
	if (json_object_get(object, name) != NULL) {
		json_decref(value);
		return true;
	}
	return neap_kube_member_take(object, name, value);
}

bool neap_kube_default_copy(json_t *object, const char *name, const json_t *value)
{
	if (value == NULL || json_object_get(object, name) != NULL)
		return true;
	return neap_kube_member_take(object, name, neap_json_deep_copy(value));
}

bool neap_kube_child(json_t *object, const char *name, json_t **ret_child)
{
	json_t *child;

	*ret_child = NULL;
	if (!json_is_object(object))
		return true;
	child = json_object_get(object, name);
	if (child == NULL) {
		child = json_object();
		if (json_object_set_new(object, name, child) < 0)
			return false;
	}
	*ret_child = json_is_object(child) ? child : NULL;
	return true;
}

/* A list with one item. */
static json_t *list_of(const char *key, const char *text)
{
	json_t *list = json_array(), *item = json_string(text), *outer;

	if (key != NULL) {
		outer = json_object();
		if (json_object_set_new(outer, key, item) < 0) {
			json_decref(outer);
			json_decref(list);
			return NULL;
		}
		item = outer;
	}
	if (json_array_append_new(list, item) < 0) {
		json_decref(list);
		return NULL;
	}
	return list;
}

bool neap_kube_first_of(json_t *object, const char *one, const char *many,
			const char *key)
{
	const char *text = neap_kube_text(object, one), *first_text;
	json_t *first = json_array_get(json_object_get(object, many), 0);

	if (key != NULL)
		first = json_object_get(first, key);
	first_text = json_string_value(first);
	if (text[0] == '\0')
		return first_text == NULL || first_text[0] == '\0' ||
		       neap_kube_member_take(object, one, neap_json_copy(first));
	if (first_text != NULL && strcmp(first_text, text) == 0)
		return true;
	return neap_kube_member_take(object, many, list_of(key, text));
}
