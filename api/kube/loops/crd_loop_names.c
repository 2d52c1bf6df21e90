/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides which of its names a definition gets: none of another kind in its group. A kind
 * keeps the names that it is served under. */
#include <stdio.h>
#include <string.h>

#include "api/kube/loops/crd_loop_priv.h"
#include "engine/json/json.h"

static bool is_in(const char *name, const char *const *list)
{
	for (; list && *list; list++)
		if (strcmp(name, *list) == 0)
			return true;
	return false;
}

/* Whether the kind has the name; is_kind: as a kind or list kind, else as a resource
 * name. */
static bool has_name(const struct neap_kube_kind *kind, const char *name, bool is_kind)
{
	if (is_kind)
		return strcmp(kind->kind, name) == 0 ||
		       strcmp(kind->list_kind, name) == 0;
	return strcmp(kind->plural, name) == 0 || strcmp(kind->singular, name) == 0 ||
	       is_in(name, kind->short_names);
}

static bool is_taken(const struct neap_kube_registry *registry, const char *group,
		     const struct neap_kube_kind *own, const char *name, bool is_kind)
{
	for (size_t i = 0; i < neap_kube_registry_count(registry); i++) {
		const struct neap_kube_kind *kind = neap_kube_registry_at(registry, i);

		if (kind != own && strcmp(kind->group, group) == 0 &&
		    has_name(kind, name, is_kind))
			return true;
	}
	return false;
}

struct names {
	const struct neap_kube_registry *registry;
	const struct neap_kube_kind *own;
	const char *group;
	char *reason, *why;
	size_t reason_size, why_size;
};

static bool is_refused(struct names *names, const json_t *name, bool is_kind,
		       const char *reason)
{
	const char *text = json_string_value(name);

	if (!text || !is_taken(names->registry, names->group, names->own, text, is_kind))
		return false;
	if (!names->reason[0]) {
		(void)snprintf(names->reason, names->reason_size, "%s", reason);
		(void)snprintf(names->why, names->why_size, "\"%.64s\" is already in use",
			       text);
	}
	return true;
}

json_t *declared_names(const struct neap_kube_registry *registry, const json_t *tree,
		       const struct neap_kube_kind *own, char *reason, size_t reason_size,
		       char *why, size_t why_size)
{
	static const struct {
		const char *member, *reason;
		bool is_kind;
	} single[] = {
		{"plural", "PluralConflict", false},
		{"singular", "SingularConflict", false},
		{"shortNames", "ShortNamesConflict", false},
		{"kind", "KindConflict", true},
		{"listKind", "ListKindConflict", true},
	};
	const json_t *spec = json_object_get(tree, "spec");
	const json_t *accepted =
		json_object_get(json_object_get(tree, "status"), "acceptedNames");
	const json_t *wants = json_object_get(spec, "names");
	json_t *ret = json_is_object(wants) ? neap_json_deep_copy(wants) : json_object();
	struct names names = {
		registry, own, json_string_value(json_object_get(spec, "group")),
		reason,   why, reason_size,
		why_size};

	*reason = *why = '\0';
	if (!names.group)
		names.group = "";
	for (size_t i = 0; ret && i < NEAP_ARRAY_LEN(single); i++) {
		const json_t *wanted = json_object_get(ret, single[i].member), *item;
		json_t *before = json_object_get(accepted, single[i].member);
		bool is = is_refused(&names, wanted, single[i].is_kind, single[i].reason);
		size_t k;

		json_array_foreach (wanted, k, item)
			is = is_refused(&names, item, false, single[i].reason) || is;
		if (!is)
			continue;
		if (!before)
			(void)json_object_del(ret, single[i].member);
		else if (json_object_set(ret, single[i].member, before) < 0) {
			json_decref(ret);
			return NULL;
		}
	}
	return ret;
}
