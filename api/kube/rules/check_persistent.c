/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules for PersistentVolumes and PersistentVolumeClaims. */
#include <string.h>

#include "api/kube/rules/check_priv.h"
#include "engine/base/selector.h"

#define PARAMETERS_MAX 512

/* --- what volumes and claims share --- */

static void check_modes(const json_t *spec, const char *detail,
			struct neap_causes *causes)
{
	static const char *const known[] = {"ReadOnlyMany", "ReadWriteMany",
					    "ReadWriteOnce", "ReadWriteOncePod", NULL};
	const json_t *modes = json_object_get(spec, "accessModes");
	char field[64];
	bool has_single = false;
	size_t i;
	const json_t *mode;

	if (json_array_size(modes) == 0)
		neap_causes_required(causes, "accessModes", detail);
	json_array_foreach (modes, i, mode) {
		const char *const *at = known;

		if (!json_is_string(mode))
			continue;
		while (*at != NULL && strcmp(*at, json_string_value(mode)) != 0)
			at++;
		(void)snprintf(field, sizeof(field), "accessModes[%zu]", i);
		if (*at == NULL)
			neap_causes_unsupported(causes, field, mode, known);
		has_single = has_single ||
			     strcmp(json_string_value(mode), "ReadWriteOncePod") == 0;
	}
	if (has_single && json_array_size(modes) > 1)
		neap_causes_forbidden(
			causes, "accessModes",
			"may not use ReadWriteOncePod with other access modes");
}

static void check_storage(const json_t *amounts, const char *field,
			  struct neap_causes *causes)
{
	const json_t *storage = json_object_get(amounts, "storage");

	if (rule_quantity_sign(storage) <= 0)
		neap_causes_invalid(causes, field, storage, "%s", RULE_POSITIVE);
}

/* --- volumes --- */

/* Members of a spec that are not sources. */
static const char *const volume_members[] = {
	"accessModes",      "capacity",
	"claimRef",         "mountOptions",
	"nodeAffinity",     "persistentVolumeReclaimPolicy",
	"storageClassName", "volumeAttributesClassName",
	"volumeMode",       NULL};

static bool is_source(const char *name)
{
	for (size_t i = 0; volume_members[i] != NULL; i++)
		if (strcmp(volume_members[i], name) == 0)
			return false;
	return true;
}

static void check_capacity(const json_t *spec, struct neap_causes *causes)
{
	static const char *const names[] = {"storage", NULL};
	const json_t *capacity = json_object_get(spec, "capacity");

	if (json_object_size(capacity) == 0)
		neap_causes_required(causes, "capacity", "");
	else if (json_object_size(capacity) > 1 ||
		 json_object_get(capacity, names[0]) == NULL)
		neap_causes_unsupported(causes, "capacity", capacity, names);
	if (json_object_get(capacity, names[0]) != NULL)
		check_storage(capacity, "capacity[storage]", causes);
}

static void check_csi(const json_t *source, struct neap_causes *causes)
{
	(void)rule_need(source, "driver", causes);
	(void)rule_need(source, "volumeHandle", causes);
}

static void check_sources(json_t *spec, struct neap_causes *causes)
{
	size_t count = 0;
	const char *name;
	json_t *source;

	json_object_foreach (spec, name, source) {
		size_t from = causes->count;

		if (!is_source(name) || json_is_null(source))
			continue;
		if (count++ > 0)
			neap_causes_forbidden(causes, "",
					      "may not specify more than 1 volume type");
		else if (strcmp(name, "hostPath") == 0 || strcmp(name, "local") == 0)
			(void)rule_need(source, "path", causes);
		else if (strcmp(name, "csi") == 0)
			check_csi(source, causes);
		neap_causes_infield(causes, from, "%s", name);
	}
	if (count == 0)
		neap_causes_required(causes, "", "must specify a volume type");
}

static void check_node_affinity(const json_t *spec, struct neap_causes *causes)
{
	const json_t *affinity = json_object_get(spec, "nodeAffinity");
	const json_t *required = json_object_get(affinity, "required");
	size_t from = causes->count;

	if (required != NULL)
		rule_node_selector(required, causes);
	else if (affinity != NULL)
		neap_causes_required(causes, "",
				     "must specify required node constraints");
	neap_causes_infield(causes, from, "nodeAffinity.required");
	if (affinity == NULL && json_object_get(spec, "local") != NULL)
		neap_causes_required(causes, "nodeAffinity",
				     "Local volume requires node affinity");
}

static void keep_volume(const json_t *spec, const json_t *before,
			struct neap_causes *causes)
{
	const char *changed = NULL;

	if (!rule_same_but(spec, before, volume_members, &changed))
		neap_causes_forbidden(causes, "persistentvolumesource",
				      "spec.persistentvolumesource is immutable after "
				      "creation\nspec.%.100s has changed",
				      changed);
	rule_immutable(spec, before, "volumeMode", causes);
	if (json_object_get(before, "nodeAffinity") != NULL)
		rule_immutable(spec, before, "nodeAffinity", causes);
}

void neap_kube_check_persistentvolume(const json_t *object, const json_t *before,
				      struct neap_causes *causes)
{
	json_t *spec = json_object_get(object, "spec");
	size_t from = causes->count;

	check_modes(spec, "", causes);
	check_capacity(spec, causes);
	check_sources(spec, causes);
	check_node_affinity(spec, causes);
	rule_subdomain(spec, "storageClassName", causes);
	if (before != NULL)
		keep_volume(spec, json_object_get(before, "spec"), causes);
	neap_causes_infield(causes, from, "spec");
}

/* --- claims --- */

void rule_claim_spec(const json_t *spec, struct neap_causes *causes)
{
	const json_t *requests =
		json_object_get(json_object_get(spec, "resources"), "requests");

	check_modes(spec, "at least 1 access mode is required", causes);
	rule_selector(json_object_get(spec, "selector"), "selector", NULL, causes);
	if (json_object_get(requests, "storage") == NULL)
		neap_causes_required(causes, "resources[storage]", "");
	else
		check_storage(requests, "resources[storage]", causes);
	rule_subdomain(spec, "storageClassName", causes);
}

/* Whether a missing member is now set. That is allowed once. */
static bool is_set_once(const json_t *spec, const json_t *before, const char *name)
{
	return json_object_get(before, name) == NULL &&
	       json_object_get(spec, name) != NULL;
}

/* The storage of a bound claim may grow, or shrink down to its capacity. */
static void keep_storage(const json_t *object, const json_t *before, bool *is_kept,
			 struct neap_causes *causes)
{
	const json_t *resources =
		json_object_get(json_object_get(object, "spec"), "resources");
	const json_t *old = json_object_get(json_object_get(before, "spec"), "resources");
	const json_t *status = json_object_get(before, "status");
	const json_t *storage =
		json_object_get(json_object_get(resources, "requests"), "storage");
	const json_t *capacity =
		json_object_get(json_object_get(status, "capacity"), "storage");

	if (rule_same(resources, old))
		return;
	if (strcmp(neap_kube_text(status, "phase"), "Bound") != 0)
		*is_kept = false;
	else if (capacity != NULL && rule_quantity_compare(storage, capacity) < 0)
		neap_causes_forbidden(causes, "spec.resources.requests.storage",
				      "field can not be less than status.capacity");
}

void neap_kube_check_persistentvolumeclaim(const json_t *object, const json_t *before,
					   struct neap_causes *causes)
{
	static const char *const apart[] = {"resources", "volumeName", "storageClassName",
					    "volumeAttributesClassName", NULL};
	static const char *const once[] = {"volumeName", "storageClassName"};
	const json_t *spec = json_object_get(object, "spec");
	const json_t *old = json_object_get(before, "spec");
	size_t from = causes->count;
	bool is_kept = true;

	rule_claim_spec(spec, causes);
	neap_causes_infield(causes, from, "spec");
	if (before == NULL)
		return;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(once); i++)
		is_kept = is_kept && (is_set_once(spec, old, once[i]) ||
				      rule_same(json_object_get(spec, once[i]),
						json_object_get(old, once[i])));
	is_kept = is_kept && rule_same_but(spec, old, apart, NULL);
	keep_storage(object, before, &is_kept, causes);
	if (!is_kept)
		neap_causes_forbidden(
			causes, "spec",
			"spec is immutable after creation except resources.requests and "
			"volumeAttributesClassName for bound claims");
}

/* --- classes --- */

static void check_parameters(json_t *parameters, struct neap_causes *causes)
{
	const char *key;
	const json_t *value;

	if (json_object_size(parameters) > PARAMETERS_MAX)
		neap_causes_add(causes, "FieldValueTooLong", "parameters",
				"Too long: may not be more than %d bytes",
				PARAMETERS_MAX); /* Kubernetes writes entries */
	json_object_foreach (parameters, key, value)
		if (key[0] == '\0')
			rule_invalid_text(causes, "parameters", key,
					  "field can not be empty.");
}

void neap_kube_check_storageclass(const json_t *object, const json_t *before,
				  struct neap_causes *causes)
{
	static const char *const kept[] = {"parameters", "provisioner", "reclaimPolicy"};

	if (rule_need(object, "provisioner", causes) != NULL)
		rule_qualified(object, "provisioner", causes);
	check_parameters(json_object_get(object, "parameters"), causes);
	rule_topologies(json_object_get(object, "allowedTopologies"), causes);
	if (before == NULL)
		return;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(kept); i++)
		if (!rule_same(json_object_get(object, kept[i]),
			       json_object_get(before, kept[i])))
			neap_causes_forbidden(causes, kept[i],
					      "updates to %s are forbidden.", kept[i]);
	rule_immutable(object, before, "volumeBindingMode", causes);
}
