/* SPDX-License-Identifier: Apache-2.0
 *
 * Conflicts of an apply patch, with the messages of a kube-apiserver. The exception:
 * kubectl takes over fields set by its own client-side apply. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/apply/apply.h"
#include "api/kube/base/meta.h"
#include "api/kube/request/slow.h"
#include "api/kube/rules/rules.h"
#include "engine/base/buf.h"
#include "engine/json/json.h"

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"
#define WHO_SIZE     512

struct conflicts {
	struct neap_causes *causes;
	struct neap_buf text;
	char who[WHO_SIZE];
	size_t count;
	char first[WHO_SIZE]; /* the path of the first */
};

static const json_t *annotations_of(const json_t *object)
{
	return neap_json_at(object, "metadata.annotations");
}

/* --- kubectl's client-side apply --- */

int apply_annotate(const struct call *call, json_t *object)
{
	json_t *annotations = (json_t *)(uintptr_t)annotations_of(object);

	if (!call->apply->annotation || !json_object_get(annotations, LAST_APPLIED))
		return 0;
	return json_object_set_new(annotations, LAST_APPLIED,
				   json_string(call->apply->annotation));
}

/* The configuration in the form in which client-side apply stores it. */
int apply_annotation(const json_t *config, char **ret)
{
	json_auto_t *copy = neap_json_deep_copy(config);
	neap_auto_free char *text = NULL;

	(void)json_object_del((json_t *)(uintptr_t)annotations_of(copy), LAST_APPLIED);
	text = copy ? neap_json_dump(copy, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	*ret = text ? neap_asprintf("%s\n", text) : NULL;
	return *ret ? 0 : -1;
}

/* The fields that client-side apply set and that are unchanged since. {} when unknown;
 * NULL without memory. */
static json_t *allowed_of(const struct call *call, const json_t *before)
{
	const struct neap_schema *schema = call->target.kind->schema;
	const char *text =
		json_string_value(json_object_get(annotations_of(before), LAST_APPLIED));
	json_auto_t *last = NULL, *set = NULL, *changed = NULL, *removed = NULL;
	struct neap_error err = {0};
	json_error_t where;
	int rc = -NEAP_EINVAL;

	if (text && neap_json_values_of_text(text, strlen(text)) <= NEAP_KUBE_VALUES_MAX)
		rc = neap_json_parse(text, strlen(text), 0, &last, &where);
	if (rc == 0 &&
	    (!json_is_object(last) ||
	     strcmp(neap_json_text(last, "apiVersion"), call->api_version) != 0))
		rc = -NEAP_EINVAL;
	if (rc == 0)
		rc = apply_set_of(schema, last, APPLY_NAMED, &set, &err);
	if (rc == 0)
		rc = apply_compare(schema, last, before, &changed, &removed, &err);
	if (rc < 0)
		return rc == -NEAP_ENOMEM ? NULL : json_object();
	apply_set_drop(set, changed);
	apply_set_drop_trees(set, removed);
	return neap_steal(set);
}

/* --- telling --- */

static void name_manager(const json_t *entry, char *buf, size_t size)
{
	const char *part = neap_json_text(entry, "subresource");
	bool is_update = neap_json_is_text(entry, "operation", "Update");

	(void)snprintf(buf, size, "\"%.128s\"%s%.32s%s%s%.128s",
		       neap_json_text(entry, "manager"),
		       *part ? " with subresource \"" : "", part, *part ? "\"" : "",
		       is_update ? " using " : "",
		       is_update ? neap_json_text(entry, "apiVersion") : "");
}

static void tell(void *arg, const char *path)
{
	struct conflicts *conflicts = arg;

	if (conflicts->count++ == 0)
		(void)neap_strcopy(conflicts->first, sizeof(conflicts->first), path);
	neap_causes_add(conflicts->causes, "FieldManagerConflict", path,
			"conflict with %s", conflicts->who);
	neap_buf_addf(&conflicts->text, "\n- %s", path);
}

static int refuse(struct call *call, const struct conflicts *conflicts)
{
	if (conflicts->count == 1)
		(void)call_refuse(call, NEAP_CLIENT_CONFLICT,
				  "Apply failed with 1 conflict: conflict with %s: %s",
				  conflicts->who, conflicts->first);
	else
		(void)call_refuse(call, NEAP_CLIENT_CONFLICT,
				  "Apply failed with %zu conflicts: %s", conflicts->count,
				  conflicts->text.data + 1);
	call->failure.causes = conflicts->causes;
	return -1;
}

/* Adds the fields that one other manager would lose. */
static int look_at(const json_t *entry, const json_t *changed, const json_t *allowed,
		   struct conflicts *conflicts)
{
	json_auto_t *lost = NULL;

	if (apply_set_meet(json_object_get(entry, "fieldsV1"), changed, &lost) < 0)
		return -1;
	if (allowed)
		apply_set_drop(lost, allowed);
	if (json_object_size(lost) == 0)
		return 0;
	name_manager(entry, conflicts->who, sizeof(conflicts->who));
	neap_buf_addf(&conflicts->text, "\nconflicts with %s:", conflicts->who);
	return apply_set_tell(lost, tell, conflicts);
}

static int by_name(const void *a, const void *b)
{
	static const char *const members[] = {"manager", "operation", "apiVersion",
					      "subresource"};

	return apply_entries_compare(a, b, members, NEAP_ARRAY_LEN(members));
}

static int look_at_all(const json_t *list, const json_t *self, const json_t *changed,
		       const json_t *allowed, struct conflicts *conflicts)
{
	size_t count = json_array_size(list), i;
	const json_t **entries = neap_alloc_array(count + 1, sizeof(*entries));
	int rc = entries ? 0 : -1;

	for (i = 0; i < count && entries; i++)
		entries[i] = json_array_get(list, i);
	if (count > 1 && entries)
		qsort(entries, count, sizeof(*entries), by_name);
	for (i = 0; i < count && rc == 0; i++)
		if (entries[i] != self)
			rc = look_at(entries[i], changed, allowed, conflicts);
	free(entries);
	return rc;
}

int apply_conflicts(struct call *call, const json_t *before, const json_t *list,
		    const json_t *self, const json_t *changed)
{
	struct conflicts conflicts = {.causes = &call->kube->causes};
	json_auto_t *allowed = NULL;
	bool is_short = false;
	int rc = 0;

	if (call->apply->annotation) {
		allowed = allowed_of(call, before);
		is_short = !allowed;
	}
	neap_causes_clear(conflicts.causes);
	neap_buf_init(&conflicts.text, NEAP_BUF_LINE);
	if (!is_short)
		is_short = look_at_all(list, self, changed, allowed, &conflicts) < 0;
	if (is_short) {
		rc = call_nomem(call);
	} else if (conflicts.count) {
		rc = refuse(call, &conflicts);
	}
	neap_buf_done(&conflicts.text);
	return rc;
}
