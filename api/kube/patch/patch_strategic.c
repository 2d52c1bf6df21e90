/* SPDX-License-Identifier: Apache-2.0
 *
 * Strategic merge patches: maps, and the directives in them. Behaviour and error messages
 * are those of a kube-apiserver, except for its bugs: it keeps directives and nulls in
 * new parts, and crashes on keys that are not scalars. A directive is a member of the
 * patch:
 *
 *   $patch: replace | delete | merge     what to do with this map; merge is the default
 *   $retainKeys: [...]                   deletes all other members of the object
 *   $setElementOrder/<field>: [...]      the order of the list
 *   $deleteFromPrimitiveList/<field>: [...]   scalars to delete from the list
 *
 * The result is a new object, built member by member: first those of the old object, in
 * their order. */
#include <string.h>

#include "api/kube/patch/patch_priv.h"
#include "engine/base/mem.h"

#define DIRECTIVE   "$patch"
#define RETAIN_KEYS "$retainKeys"
#define SET_ORDER   "$setElementOrder"
#define DELETE_FROM "$deleteFromPrimitiveList"
#define PRINTED     120 /* bytes of a value in messages */

/* What the patch has for one member of a map; NULL: none. */
struct change {
	const json_t *value;
	const json_t *order, *gone; /* lists */
};

/* A map of the object, and the map of the patch that changes it. */
struct maps {
	struct neap_patch_run *run;
	const struct neap_schema *schema; /* NULL: unknown */
	const json_t *object, *patch;
	bool has_lists; /* the patch has SET_ORDER or DELETE_FROM */
	bool has_kept;  /* the patch has RETAIN_KEYS */
	struct neap_patch_keys kept;
};

static bool has_prefix(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool is_directive(const char *name)
{
	return name[0] == '$' &&
	       (strcmp(name, DIRECTIVE) == 0 || strcmp(name, RETAIN_KEYS) == 0 ||
		has_prefix(name, SET_ORDER) || has_prefix(name, DELETE_FROM));
}

int neap_patch_directive_get(struct neap_patch_run *run, const json_t *map,
			     enum neap_patch_directive *ret)
{
	static const char *const names[] = {
		[NEAP_DIRECTIVE_REPLACE] = "replace",
		[NEAP_DIRECTIVE_DELETE] = "delete",
		[NEAP_DIRECTIVE_MERGE] = "merge",
	};
	const json_t *value = json_object_get(map, DIRECTIVE);
	char shown[PRINTED], shown_map[PRINTED];

	*ret = NEAP_DIRECTIVE_NONE;
	if (!value)
		return 0;
	for (size_t i = NEAP_DIRECTIVE_REPLACE; i < NEAP_ARRAY_LEN(names); i++)
		if (json_is_string(value) &&
		    strcmp(json_string_value(value), names[i]) == 0) {
			*ret = (enum neap_patch_directive)i;
			return 0;
		}
	neap_patch_print(value, shown, sizeof(shown));
	neap_patch_print(map, shown_map, sizeof(shown_map));
	return neap_error_set(run->err, NEAP_EINVAL, "unknown patch type: %s in map: %s",
			      shown, shown_map);
}

/* --- what is new --- */

/* Copies a map without its directives and nulls. */
static int adopt_map(struct neap_patch_run *run, const json_t *map, json_t **ret)
{
	json_auto_t *result = json_object();
	const char *name;
	json_t *value;

	if (!result)
		return neap_error_nomem(run->err);
	json_object_foreach ((json_t *)map, name, value) {
		json_t *made = NULL;
		int rc = 0;

		if (!is_directive(name) && !json_is_null(value))
			rc = neap_patch_adopt(run, value, &made);
		if (rc < 0)
			return neap_patch_at(run, rc, name);
		if (made && json_object_set_new_nocheck(result, name, made) < 0)
			return neap_error_nomem(run->err);
	}
	*ret = neap_steal(result);
	return 0;
}

/* Skips an item that is only a directive, or is to be deleted. */
static int adopt_item(struct neap_patch_run *run, const json_t *item, json_t **ret)
{
	enum neap_patch_directive directive = NEAP_DIRECTIVE_NONE;
	int rc = neap_patch_directive_get(run, item, &directive);

	if (rc < 0)
		return rc;
	if (directive == NEAP_DIRECTIVE_REPLACE ||
	    (directive == NEAP_DIRECTIVE_MERGE && json_object_size(item) == 1))
		return 0;
	return neap_patch_adopt(run, item, ret);
}

static int adopt_list(struct neap_patch_run *run, const json_t *list, json_t **ret)
{
	json_auto_t *result = json_array();
	json_t *item;
	size_t i;

	if (!result)
		return neap_error_nomem(run->err);
	json_array_foreach (list, i, item) {
		json_t *made = NULL;
		int rc = adopt_item(run, item, &made);

		if (rc < 0)
			return neap_patch_at_index(run, rc, i);
		if (made && json_array_append_new(result, made) < 0)
			return neap_error_nomem(run->err);
	}
	*ret = neap_steal(result);
	return 0;
}

int neap_patch_adopt(struct neap_patch_run *run, const json_t *value, json_t **ret)
{
	enum neap_patch_directive directive = NEAP_DIRECTIVE_NONE;
	int rc;

	*ret = NULL;
	if (neap_patch_is_scalar(value))
		return neap_patch_copy(run, value, ret);
	rc = neap_patch_spend(run, 1);
	if (rc < 0)
		return rc;
	if (json_is_array(value))
		return adopt_list(run, value, ret);
	rc = neap_patch_directive_get(run, value, &directive);
	if (rc < 0 || directive == NEAP_DIRECTIVE_DELETE)
		return rc;
	return adopt_map(run, value, ret);
}

/* --- directives of a map --- */

static int retain_refuse(struct neap_patch_run *run)
{
	return neap_error_field(run->err, NEAP_EINVAL, RETAIN_KEYS,
				"invalid patch format of retainKeys");
}

/* Reads $retainKeys, which must list all that the patch sets. */
static int kept_read(struct maps *maps)
{
	const json_t *list = json_object_get(maps->patch, RETAIN_KEYS);
	const char *name;
	json_t *value;
	size_t i;
	int rc;

	if (!list)
		return 0;
	if (!json_is_array(list))
		return retain_refuse(maps->run);
	maps->has_kept = true;
	rc = neap_patch_spend(maps->run, json_array_size(list));
	if (rc == 0)
		rc = neap_patch_keys_init(maps->run, &maps->kept, json_array_size(list));
	if (rc < 0)
		return rc;
	json_array_foreach (list, i, value) {
		if (!json_is_string(value))
			return retain_refuse(maps->run);
		maps->kept.keys[i] = value;
	}
	neap_patch_keys_sort(&maps->kept);
	json_object_foreach ((json_t *)maps->patch, name, value)
		if (!is_directive(name) && !json_is_null(value) &&
		    !neap_patch_keys_has_text(&maps->kept, name))
			return retain_refuse(maps->run);
	return 0;
}

/* Finds and checks directives about lists. */
static int lists_check(struct maps *maps)
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)maps->patch, name, value) {
		bool is_order = has_prefix(name, SET_ORDER);
		const char *rest;

		if (!is_order && !has_prefix(name, DELETE_FROM))
			continue;
		maps->has_lists = true;
		rest = name + strlen(is_order ? SET_ORDER : DELETE_FROM);
		if (is_order && *rest != '/')
			return neap_error_field(
				maps->run->err, NEAP_EINVAL, name,
				"invalid patch format of setElementOrder list");
		if (!is_order && (*rest != '/' || !json_is_array(value)))
			return neap_error_field(maps->run->err, NEAP_EINVAL, name,
						"invalid patch format of primitive list");
		if (!json_is_array(value))
			return neap_error_field(
				maps->run->err, NEAP_EINVAL, name,
				"expected a []interface {}, but received a %s",
				neap_patch_type_name(value));
	}
	return 0;
}

/* "<prefix>/<name>" in the patch; NULL: none. */
static int list_find(const struct maps *maps, const char *prefix, const char *name,
		     const json_t **ret)
{
	neap_auto_free char *full = neap_asprintf("%s/%s", prefix, name);

	if (!full)
		return neap_error_nomem(maps->run->err);
	*ret = json_object_get(maps->patch, full);
	return 0;
}

/* --- members --- */

static int change_find(const struct maps *maps, const char *name, struct change *ret)
{
	int rc = 0;

	*ret = (struct change){0};
	if (is_directive(name))
		return 0; /* an ordinary member of the object that has this name */
	ret->value = json_object_get(maps->patch, name);
	if (maps->has_lists)
		rc = list_find(maps, SET_ORDER, name, &ret->order);
	if (rc == 0 && maps->has_lists)
		rc = list_find(maps, DELETE_FROM, name, &ret->gone);
	return rc;
}

static int list_wanted(struct neap_patch_run *run, enum neap_code code,
		       const json_t *value)
{
	return neap_error_set(run->err, code,
			      "expected a []interface {}, but received a %s",
			      neap_patch_type_name(value));
}

/* The merged member, before items are deleted from its list. old NULL: the object has
 * none. */
static int member_merge(const struct maps *maps, const struct neap_schema_field *field,
			const json_t *old, const struct change *change, json_t **ret)
{
	const struct neap_schema *schema = field ? field->schema : NULL;
	const json_t *value = change->value;

	if (change->order && value && !json_is_array(value))
		return list_wanted(maps->run, NEAP_EINVAL, value);
	if (change->order && old && !json_is_array(old))
		return list_wanted(maps->run, NEAP_ECONFLICT, old);
	if (!value && !old)
		return 0;
	if (change->order || (json_is_array(old) && json_is_array(value)))
		return neap_patch_merge_list(maps->run, field, old, value, change->order,
					     ret);
	if (!value)
		return neap_patch_copy(maps->run, old, ret);
	if (json_is_null(value))
		return 0;
	if (json_is_object(old) && json_is_object(value)) {
		if (!field && maps->schema && maps->schema->type == NEAP_SCHEMA_MAP)
			schema = maps->schema->items;
		return neap_patch_merge_map(maps->run, schema, old, value, ret);
	}
	return neap_patch_adopt(maps->run, value, ret);
}

/* Adds the member to the result, if it stays. */
static int member_add(const struct maps *maps, const char *name, const json_t *old,
		      json_t *result)
{
	const struct neap_schema_field *field = NULL;
	json_t *made = NULL;
	struct change change;
	int rc = change_find(maps, name, &change);

	if (rc < 0)
		return rc;
	if (maps->schema && maps->schema->type == NEAP_SCHEMA_OBJECT)
		field = neap_schema_field_find(maps->schema, name);
	rc = member_merge(maps, field, old, &change, &made);
	if (rc == 0 && change.gone && json_is_array(made))
		rc = neap_patch_list_subtract(maps->run, &made, change.gone);
	if (rc < 0) {
		json_decref(made);
		return neap_patch_at(maps->run, rc, name);
	}
	if (made && json_object_set_new_nocheck(result, name, made) < 0)
		return neap_error_nomem(maps->run->err);
	return 0;
}

static int members_add(struct maps *maps, json_t *result)
{
	const char *name;
	json_t *value;
	int rc = kept_read(maps);

	if (rc == 0)
		rc = lists_check(maps);
	if (rc < 0)
		return rc;
	json_object_foreach ((json_t *)maps->object, name, value) {
		if (maps->has_kept && !neap_patch_keys_has_text(&maps->kept, name))
			continue;
		rc = member_add(maps, name, value, result);
		if (rc < 0)
			return rc;
	}
	json_object_foreach ((json_t *)maps->patch, name, value) {
		if (is_directive(name) || json_object_get(maps->object, name))
			continue;
		rc = member_add(maps, name, NULL, result);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int neap_patch_merge_map(struct neap_patch_run *run, const struct neap_schema *schema,
			 const json_t *object, const json_t *patch, json_t **ret)
{
	struct maps maps = {run, schema, object, patch, .has_lists = false};
	enum neap_patch_directive directive = NEAP_DIRECTIVE_NONE;
	json_t *result;
	int rc = neap_patch_directive_get(run, patch, &directive);

	if (rc == 0)
		rc = neap_patch_spend(run, 1);
	if (rc < 0)
		return rc;
	if (directive == NEAP_DIRECTIVE_REPLACE)
		return adopt_map(run, patch, ret);
	result = json_object();
	if (!result)
		return neap_error_nomem(run->err);
	if (directive != NEAP_DIRECTIVE_DELETE)
		rc = members_add(&maps, result);
	neap_patch_keys_done(&maps.kept);
	if (rc < 0) {
		json_decref(result);
		return rc;
	}
	*ret = result;
	return 0;
}

int neap_patch_strategic(struct neap_patch_run *run, const struct neap_schema *schema,
			 const json_t *object, const json_t *patch, json_t **ret)
{
	if (!json_is_object(object))
		return neap_error_set(run->err, NEAP_ECONFLICT, "invalid JSON document");
	if (!json_is_object(patch))
		return neap_error_set(run->err, NEAP_EINVAL,
				      "expected a map[string]interface {}, but received "
				      "a %s",
				      neap_patch_type_name(patch));
	return neap_patch_merge_map(run, schema, object, patch, ret);
}
