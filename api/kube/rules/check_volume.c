/* SPDX-License-Identifier: Apache-2.0
 *
 * Volumes of pods: names, one source each, and what the common sources need. */
#include <stdio.h>
#include <string.h>

#include "api/kube/rules/check_priv.h"

static bool has_parent(const char *path)
{
	while (*path != '\0') {
		size_t len = strcspn(path, "/");

		if (len == 2 && strncmp(path, "..", 2) == 0)
			return true;
		path += len + (path[len] == '/');
	}
	return false;
}

/* --- sources --- */

static void check_path(const json_t *item, const char *name, struct neap_causes *causes)
{
	const char *path = rule_need(item, name, causes);

	if (path == NULL)
		return;
	if (path[0] == '/')
		neap_causes_invalid(causes, name, json_object_get(item, name),
				    "must be a relative path");
	else if (has_parent(path))
		neap_causes_invalid(causes, name, json_object_get(item, name),
				    "must not contain '..'");
}

static void check_mode(const json_t *object, const char *name, struct neap_causes *causes)
{
	int64_t mode = rule_int(object, name);

	if (mode < 0 || mode > 0777)
		neap_causes_invalid(causes, name, json_object_get(object, name),
				    "must be a number between 0 and 0777 (octal), both "
				    "inclusive");
}

/* Keys, and their file names. */
static void check_items(const json_t *source, struct neap_causes *causes)
{
	size_t i;
	const json_t *item;

	check_mode(source, "defaultMode", causes);
	json_array_foreach (json_object_get(source, "items"), i, item) {
		size_t from = causes->count;

		(void)rule_need(item, "key", causes);
		check_path(item, "path", causes);
		check_mode(item, "mode", causes);
		neap_causes_infield(causes, from, "items[%zu]", i);
	}
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

	if (path != NULL && has_parent(path))
		neap_causes_invalid(causes, "path", json_object_get(source, "path"),
				    "must not contain '..'");
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
	if (path != NULL && path[0] != '/')
		neap_causes_invalid(causes, "path", json_object_get(source, "path"),
				    "must be an absolute path");
}

static void check_csi(const json_t *source, struct neap_causes *causes)
{
	(void)rule_need(source, "driver", causes);
}

static void check_downward(const json_t *source, struct neap_causes *causes)
{
	size_t i;
	const json_t *item;

	check_mode(source, "defaultMode", causes);
	json_array_foreach (json_object_get(source, "items"), i, item) {
		const json_t *field = json_object_get(item, "fieldRef");
		const json_t *resource = json_object_get(item, "resourceFieldRef");
		size_t whole = causes->count, from;

		check_path(item, "path", causes);
		check_mode(item, "mode", causes);
		from = causes->count;
		if (field != NULL)
			(void)rule_need(field, "fieldPath", causes);
		neap_causes_infield(causes, from, "fieldRef");
		from = causes->count;
		if (resource != NULL)
			rule_resource_field_ref(resource, true, causes);
		neap_causes_infield(causes, from, "resourceFieldRef");
		if (field != NULL && resource != NULL)
			rule_invalid_text(causes, "", "resource",
					  "fieldRef and resourceFieldRef can not be "
					  "specified simultaneously");
		else if (field == NULL && resource == NULL)
			neap_causes_required(
				causes, "",
				"one of fieldRef and resourceFieldRef is required");
		neap_causes_infield(causes, whole, "items[%zu]", i);
	}
}

static void check_ephemeral(const json_t *source, struct neap_causes *causes)
{
	const json_t *claim = json_object_get(source, "volumeClaimTemplate");
	size_t from = causes->count;

	if (claim == NULL) {
		neap_causes_required(causes, "volumeClaimTemplate", "");
		return;
	}
	rule_claim_spec(json_object_get(claim, "spec"), causes);
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

static void check_volume(json_t *volume, struct neap_causes *causes)
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

void rule_volumes(struct rule_pod *pod, struct neap_causes *causes)
{
	size_t i;
	json_t *volume;

	json_array_foreach (json_object_get(pod->spec, "volumes"), i, volume) {
		const char *name;
		size_t from = causes->count;

		check_volume(volume, causes);
		name = rule_need(volume, "name", causes);
		rule_label(volume, "name", causes);
		if (name != NULL && rule_seen_add(&pod->volumes, name, causes))
			neap_causes_duplicate(causes, "name",
					      json_object_get(volume, "name"));
		neap_causes_infield(causes, from, "volumes[%zu]", i);
	}
}

void rule_claims(struct rule_pod *pod, const json_t *claims, struct neap_causes *causes)
{
	size_t i;
	json_t *claim;

	json_array_foreach (claims, i, claim) {
		const char *name = json_string_value(
			json_object_get(json_object_get(claim, "metadata"), "name"));

		if (name != NULL)
			(void)rule_seen_add(&pod->volumes, name, causes); /* hides one */
	}
}
