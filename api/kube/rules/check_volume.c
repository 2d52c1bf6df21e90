/* SPDX-License-Identifier: Apache-2.0
 *
 * Volumes of pods: names, one source each, and what the common sources need. */
#include <stdio.h>
#include <string.h>

#include "api/kube/rules/check_priv.h"
#include "engine/base/text.h"
#include "engine/json/json.h"

/* --- PersistentVolumes ---
 *
 * Rules for PersistentVolumes and PersistentVolumeClaims. */

#define PARAMETERS_MAX 512

/* --- what volumes and claims share --- */

/* arg: set to true when the mode is there. */
static void check_access_mode(const json_t *mode, void *arg, struct neap_causes *causes)
{
	static const char *const known[] = {"ReadOnlyMany", "ReadWriteMany",
					    "ReadWriteOnce", "ReadWriteOncePod", NULL};
	const char *text = json_string_value(mode);
	bool *has_single = arg;

	if (text && !neap_text_is_in(text, known))
		neap_causes_unsupported(causes, "", mode, known);
	*has_single = *has_single || (text && strcmp(text, "ReadWriteOncePod") == 0);
}

static void check_access_modes(const json_t *spec, const char *detail,
			       struct neap_causes *causes)
{
	size_t count = json_array_size(json_object_get(spec, "accessModes"));
	bool has_single = false;

	if (count == 0)
		neap_causes_required(causes, "accessModes", detail);
	rule_each(spec, "accessModes", check_access_mode, &has_single, causes);
	if (has_single && count > 1)
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

static void check_capacity(const json_t *spec, struct neap_causes *causes)
{
	static const char *const names[] = {"storage", NULL};
	const json_t *capacity = json_object_get(spec, "capacity");

	if (json_object_size(capacity) == 0)
		neap_causes_required(causes, "capacity", "");
	else if (json_object_size(capacity) > 1 || !json_object_get(capacity, names[0]))
		neap_causes_unsupported(causes, "capacity", capacity, names);
	if (json_object_get(capacity, names[0]))
		check_storage(capacity, "capacity[storage]", causes);
}

static void check_csi_volume(const json_t *source, struct neap_causes *causes)
{
	(void)rule_need(source, "driver", causes);
	(void)rule_need(source, "volumeHandle", causes);
}

static void check_volume_source(json_t *spec, struct neap_causes *causes)
{
	size_t count = 0;
	const char *name;
	json_t *source;

	json_object_foreach (spec, name, source) {
		size_t from = causes->count;

		if (neap_text_is_in(name, volume_members) || json_is_null(source))
			continue;
		if (count++ > 0)
			neap_causes_forbidden(causes, "",
					      "may not specify more than 1 volume type");
		else if (strcmp(name, "hostPath") == 0 || strcmp(name, "local") == 0)
			(void)rule_need(source, "path", causes);
		else if (strcmp(name, "csi") == 0)
			check_csi_volume(source, causes);
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

	if (required)
		rule_node_selector(required, causes);
	else if (affinity)
		neap_causes_required(causes, "",
				     "must specify required node constraints");
	neap_causes_infield(causes, from, "nodeAffinity.required");
	if (!affinity && json_object_get(spec, "local"))
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
	if (json_object_get(before, "nodeAffinity"))
		rule_immutable(spec, before, "nodeAffinity", causes);
}

void neap_kube_check_persistentvolume(const json_t *object, const json_t *before,
				      struct neap_causes *causes)
{
	json_t *spec = json_object_get(object, "spec");
	size_t from = causes->count;

	check_access_modes(spec, "", causes);
	check_capacity(spec, causes);
	check_volume_source(spec, causes);
	check_node_affinity(spec, causes);
	rule_subdomain(spec, "storageClassName", causes);
	if (before)
		keep_volume(spec, json_object_get(before, "spec"), causes);
	neap_causes_infield(causes, from, "spec");
}

/* --- claims --- */

/* spec of a claim. */
static void rule_claim_spec(const json_t *spec, struct neap_causes *causes)
{
	const json_t *requests = neap_json_at(spec, "resources.requests");

	check_access_modes(spec, "at least 1 access mode is required", causes);
	rule_selector(json_object_get(spec, "selector"), "selector", NULL, causes);
	if (!json_object_get(requests, "storage"))
		neap_causes_required(causes, "resources[storage]", "");
	else
		check_storage(requests, "resources[storage]", causes);
	rule_subdomain(spec, "storageClassName", causes);
}

/* Whether a missing member is now set. That is allowed once. */
static bool is_set_once(const json_t *spec, const json_t *before, const char *name)
{
	return !json_object_get(before, name) && json_object_get(spec, name);
}

/* The storage of a bound claim may grow, or shrink down to its capacity. */
static void keep_storage(const json_t *object, const json_t *before, bool *is_kept,
			 struct neap_causes *causes)
{
	const json_t *resources = neap_json_at(object, "spec.resources");
	const json_t *old = neap_json_at(before, "spec.resources");
	const json_t *status = json_object_get(before, "status");
	const json_t *storage = neap_json_at(resources, "requests.storage");
	const json_t *capacity = neap_json_at(status, "capacity.storage");

	if (rule_same(resources, old))
		return;
	if (!neap_json_is_text(status, "phase", "Bound"))
		*is_kept = false;
	else if (capacity && rule_quantity_compare(storage, capacity) < 0)
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
	if (!before)
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

	if (rule_need(object, "provisioner", causes))
		rule_qualified(object, "provisioner", causes);
	check_parameters(json_object_get(object, "parameters"), causes);
	rule_topologies(json_object_get(object, "allowedTopologies"), causes);
	if (!before)
		return;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(kept); i++)
		if (!rule_same(json_object_get(object, kept[i]),
			       json_object_get(before, kept[i])))
			neap_causes_forbidden(causes, kept[i],
					      "updates to %s are forbidden.", kept[i]);
	rule_immutable(object, before, "volumeBindingMode", causes);
}

/* --- sources --- */

static void check_path(const json_t *item, const char *name, struct neap_causes *causes)
{
	(void)rule_need(item, name, causes);
	rule_text(item, name, rule_path_fault, causes);
}

static void check_mode(const json_t *object, const char *name, struct neap_causes *causes)
{
	rule_range(object, name, 0, 0777,
		   "must be a number between 0 and 0777 (octal), both inclusive", causes);
}

/* Keys, and their file names. */
static void check_item(const json_t *item, void *arg NEAP_UNUSED,
		       struct neap_causes *causes)
{
	(void)rule_need(item, "key", causes);
	check_path(item, "path", causes);
	check_mode(item, "mode", causes);
}

static void check_items(const json_t *source, struct neap_causes *causes)
{
	check_mode(source, "defaultMode", causes);
	rule_each(source, "items", check_item, NULL, causes);
}

static void check_configmap(const json_t *source, struct neap_causes *causes)
{
	(void)rule_need_always(source, "name", causes);
	check_items(source, causes);
}

static void check_secret(const json_t *source, struct neap_causes *causes)
{
	(void)rule_need_always(source, "secretName", causes);
	check_items(source, causes);
}

static void check_claim(const json_t *source, struct neap_causes *causes)
{
	(void)rule_need(source, "claimName", causes);
}

static void check_host_path(const json_t *source, struct neap_causes *causes)
{
	const char *path = rule_need(source, "path", causes);

	if (path && rule_path_has_parent(path))
		rule_invalid(source, "path", "must not contain '..'", causes);
}

static void check_empty_dir(const json_t *source, struct neap_causes *causes)
{
	if (rule_quantity_sign(json_object_get(source, "sizeLimit")) < 0)
		neap_causes_forbidden(
			causes, "sizeLimit",
			"SizeLimit field must be a valid resource quantity");
}

static void check_nfs(const json_t *source, struct neap_causes *causes)
{
	const char *path = rule_need(source, "path", causes);

	(void)rule_need(source, "server", causes);
	if (path && path[0] != '/')
		rule_invalid(source, "path", "must be an absolute path", causes);
}

static void check_csi(const json_t *source, struct neap_causes *causes)
{
	(void)rule_need(source, "driver", causes);
}

static void check_field(const json_t *ref, struct neap_causes *causes)
{
	(void)rule_need(ref, "fieldPath", causes);
}

static void check_resource(const json_t *ref, struct neap_causes *causes)
{
	rule_resource_field_ref(ref, true, causes);
}

static void check_downward_item(const json_t *item, void *arg NEAP_UNUSED,
				struct neap_causes *causes)
{
	bool has_field = json_object_get(item, "fieldRef");
	bool has_resource = json_object_get(item, "resourceFieldRef");

	check_path(item, "path", causes);
	check_mode(item, "mode", causes);
	rule_in(item, "fieldRef", check_field, causes);
	rule_in(item, "resourceFieldRef", check_resource, causes);
	if (has_field && has_resource)
		rule_invalid_text(causes, "", "resource",
				  "fieldRef and resourceFieldRef can not be specified "
				  "simultaneously");
	else if (!has_field && !has_resource)
		neap_causes_required(causes, "",
				     "one of fieldRef and resourceFieldRef is required");
}

static void check_downward(const json_t *source, struct neap_causes *causes)
{
	check_mode(source, "defaultMode", causes);
	rule_each(source, "items", check_downward_item, NULL, causes);
}

static void check_ephemeral(const json_t *source, struct neap_causes *causes)
{
	size_t from = causes->count;

	if (!json_object_get(source, "volumeClaimTemplate")) {
		neap_causes_required(causes, "volumeClaimTemplate", "");
		return;
	}
	rule_claim_spec(neap_json_at(source, "volumeClaimTemplate.spec"), causes);
	neap_causes_infield(causes, from, "volumeClaimTemplate.spec");
}

static const struct source {
	const char *name;
	void (*check)(const json_t *source, struct neap_causes *causes);
} sources[] = {
	{"configMap", check_configmap},
	{"csi", check_csi},
	{"downwardAPI", check_downward},
	{"emptyDir", check_empty_dir},
	{"ephemeral", check_ephemeral},
	{"hostPath", check_host_path},
	{"nfs", check_nfs},
	{"persistentVolumeClaim", check_claim},
	{"secret", check_secret},
};

/* --- volumes --- */

static void check_source(const char *name, const json_t *source,
			 struct neap_causes *causes)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(sources); i++)
		if (strcmp(sources[i].name, name) == 0)
			sources[i].check(source, causes);
}

static void check_sources(json_t *volume, struct neap_causes *causes)
{
	size_t count = 0;
	const char *name;
	json_t *source;

	json_object_foreach (volume, name, source) {
		size_t from = causes->count;

		if (strcmp(name, "name") == 0)
			continue;
		if (count++ > 0)
			neap_causes_forbidden(causes, "",
					      "may not specify more than 1 volume type");
		else
			check_source(name, source, causes);
		neap_causes_infield(causes, from, "%s", name);
	}
	if (count == 0)
		neap_causes_required(causes, "", "must specify a volume type");
}

static void check_volume(const json_t *volume, void *arg, struct neap_causes *causes)
{
	check_sources((json_t *)(uintptr_t)volume, causes);
	(void)rule_need(volume, "name", causes);
	rule_label(volume, "name", causes);
	rule_unique(arg, volume, "name", causes);
}

void rule_volumes(struct rule_pod *pod, struct neap_causes *causes)
{
	rule_each(pod->spec, "volumes", check_volume, &pod->volumes, causes);
}

void rule_claims(struct rule_pod *pod, const json_t *claims, struct neap_causes *causes)
{
	size_t i;
	json_t *claim;

	json_array_foreach (claims, i, claim) {
		const char *name =
			json_string_value(neap_json_at(claim, "metadata.name"));

		if (name)
			(void)rule_seen_add(&pod->volumes, name, causes); /* hides one */
	}
}
