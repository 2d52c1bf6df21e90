/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a Reservation's owners, and a pod's owner references. */
#include <string.h>

#include "engine/reserve/reserve_priv.h"

static void read_ref(struct neap_arena *arena, const json_t *json,
		     struct neap_reserve_ref *ret)
{
	const json_t *controller = json_object_get(json, "controller");
	const struct {
		const char *name, **to;
	} texts[] = {
		{"namespace", &ret->ns},
		{"uid", &ret->uid},
		{"name", &ret->name},
		{"kind", &ret->kind},
		{"apiVersion", &ret->api_version},
	};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(texts); i++) {
		const char *text = neap_reserve_text(arena, json, texts[i].name);

		*texts[i].to = text && *text ? text : NULL;
	}
	ret->controller = json_is_true(controller)    ? NEAP_REF_TRUE
			  : json_is_false(controller) ? NEAP_REF_FALSE
						      : NEAP_REF_NOT_SAID;
}

int neap_reserve_refs_read(struct neap_arena *arena, const json_t *list,
			   const struct neap_reserve_ref **ret, size_t *ret_count,
			   struct neap_error *err)
{
	size_t count = json_array_size(list);
	struct neap_reserve_ref *refs;

	*ret_count = 0;
	if (count > NEAP_POD_ITEMS_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "more than %d",
				      NEAP_POD_ITEMS_MAX);
	refs = neap_arena_array(arena, count, sizeof(*refs));
	if (!refs)
		return neap_error_nomem(err);
	for (size_t i = 0; i < count; i++)
		read_ref(arena, json_array_get(list, i), &refs[i]);
	*ret = refs;
	*ret_count = count;
	return arena->failed ? neap_error_nomem(err) : 0;
}

/* Any one label that the selector demands with values; matchLabels are asked first. */
static void find_label(struct neap_arena *arena, const json_t *json,
		       struct neap_reserve_owner *ret)
{
	const json_t *values = NULL, *one;
	const char *label = NULL, *text;
	size_t i;

	json_object_foreach ((json_t *)(uintptr_t)json_object_get(json, "matchLabels"),
			     text, one) {
		label = text;
		values = one;
		break;
	}
	json_array_foreach (json_object_get(json, "matchExpressions"), i, one) {
		const char *operator= json_string_value(json_object_get(one, "operator"));

		if (!label && operator&& strcmp(operator, "In") == 0) {
			label = json_string_value(json_object_get(one, "key"));
			values = json_object_get(one, "values");
		}
	}
	if (!label)
		return;
	ret->value_count = json_is_array(values) ? json_array_size(values) : 1;
	ret->values = neap_arena_array(arena, ret->value_count, sizeof(*ret->values));
	for (i = 0; ret->values && i < ret->value_count; i++) {
		text = json_string_value(json_is_array(values) ? json_array_get(values, i)
							       : values);
		ret->values[i] = neap_arena_strdup(arena, text ? text : "");
	}
	ret->label = neap_arena_strdup(arena, label);
}

static int read_owner(struct neap_arena *arena, const json_t *json,
		      struct neap_reserve_owner *ret, struct neap_error *err)
{
	const json_t *object = json_object_get(json, "object");
	const json_t *controller = json_object_get(json, "controller");
	const json_t *selector = json_object_get(json, "labelSelector");
	int rc = 0;

	if (!json_is_object(json))
		return neap_error_set(err, NEAP_EINVAL, "is not an object");
	ret->has_object = json_is_object(object);
	ret->has_controller = json_is_object(controller);
	read_ref(arena, object, &ret->object);
	read_ref(arena, controller, &ret->controller);
	if (json_is_object(selector)) {
		rc = neap_selector_parse_into(arena, selector, &ret->selector, err);
		if (rc < 0)
			(void)neap_error_infield(err, "labelSelector");
		find_label(arena, selector, ret);
	}
	return rc < 0 || !arena->failed ? rc : neap_error_nomem(err);
}

int neap_reserve_owners_read(struct neap_reserve *reserve, const json_t *list,
			     struct neap_error *err)
{
	size_t count = json_array_size(list);
	struct neap_reserve_owner *owners;

	if (count > NEAP_POD_ITEMS_MAX)
		return neap_error_field(err, NEAP_ETOOLARGE, "spec.owners",
					"more than %d", NEAP_POD_ITEMS_MAX);
	owners = neap_arena_array(&reserve->arena, count, sizeof(*owners));
	if (!owners)
		return neap_error_nomem(err);
	for (size_t i = 0; i < count; i++) {
		int rc = read_owner(&reserve->arena, json_array_get(list, i), &owners[i],
				    err);

		if (rc < 0) {
			(void)neap_error_infield(err, "spec.owners[%zu]", i);
			return rc;
		}
	}
	reserve->owners = owners;
	reserve->owner_count = count;
	return 0;
}
