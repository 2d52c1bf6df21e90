/* SPDX-License-Identifier: Apache-2.0
 *
 * Environment variables of containers: valid names, and a single source for each
 * value. */
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/rules/check_priv.h"

static bool is_listed(const char *const *names, const char *name)
{
	for (; *names != NULL; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

static bool starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* metadata.labels['key'], metadata.annotations['key'] */
static bool is_subscript(const char *path)
{
	size_t len = strlen(path);

	return (starts(path, "metadata.labels['") ||
		starts(path, "metadata.annotations['")) &&
	       len > 2 && strcmp(path + len - 2, "']") == 0;
}

void rule_field_ref(const json_t *ref, struct neap_causes *causes)
{
	static const char *const paths[] = {
		"metadata.name",
		"metadata.namespace",
		"metadata.uid",
		"spec.nodeName",
		"spec.serviceAccountName",
		"status.hostIP",
		"status.hostIPs",
		"status.podIP",
		"status.podIPs",
		NULL,
	};
	const char *path = rule_need(ref, "fieldPath", causes);

	(void)rule_need(ref, "apiVersion", causes);
	if (path != NULL && !is_listed(paths, path) && !is_subscript(path))
		neap_causes_unsupported(causes, "fieldPath",
					json_object_get(ref, "fieldPath"), paths);
}

void rule_resource_field_ref(const json_t *ref, bool needs_container,
			     struct neap_causes *causes)
{
	static const char *const names[] = {
		"limits.cpu",   "limits.ephemeral-storage",   "limits.memory",
		"requests.cpu", "requests.ephemeral-storage", "requests.memory",
		NULL,
	};
	const char *name = rule_need(ref, "resource", causes);

	if (needs_container)
		(void)rule_need_always(ref, "containerName", causes);
	if (name != NULL && !is_listed(names, name) &&
	    !starts(name, "limits.hugepages-") && !starts(name, "requests.hugepages-"))
		neap_causes_unsupported(causes, "resource",
					json_object_get(ref, "resource"), names);
}

/* A key of a ConfigMap or Secret. */
static void check_key_ref(const json_t *ref, struct neap_causes *causes)
{
	const char *key = rule_need(ref, "key", causes);
	const char *name = neap_kube_text(ref, "name");
	const char *fault = neap_kube_dns_subdomain_fault(name);

	if (fault != NULL)
		rule_invalid_text(causes, "name", name, fault);
	fault = key != NULL ? rule_config_key_fault(key) : NULL;
	if (fault != NULL)
		neap_causes_invalid(causes, "key", json_object_get(ref, "key"), "%s",
				    fault);
}

static void check_source(const json_t *source, const json_t *value,
			 struct neap_causes *causes)
{
	static const char *const names[] = {"fieldRef", "resourceFieldRef",
					    "configMapKeyRef", "secretKeyRef"};
	size_t count = 0, from;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		const json_t *ref = json_object_get(source, names[i]);

		if (ref == NULL)
			continue;
		count++;
		from = causes->count;
		if (i == 0)
			rule_field_ref(ref, causes);
		else if (i == 1)
			rule_resource_field_ref(ref, false, causes);
		else
			check_key_ref(ref, causes);
		neap_causes_infield(causes, from, "%s", names[i]);
	}
	if (json_string_length(value) > 0) {
		if (count > 0)
			rule_invalid_text(causes, "", "",
					  "may not be specified when `value` is not "
					  "empty");
	} else if (count == 0) {
		rule_invalid_text(causes, "", "",
				  "must specify one of: `fieldRef`, `resourceFieldRef`, "
				  "`configMapKeyRef` or `secretKeyRef`");
	} else if (count > 1) {
		rule_invalid_text(causes, "", "",
				  "may not have more than one field specified at a time");
	}
}

static void check_variable(const json_t *variable, struct neap_causes *causes)
{
	const char *name = rule_need(variable, "name", causes);
	const char *fault = name != NULL ? rule_env_name_fault(name) : NULL;
	const json_t *source = json_object_get(variable, "valueFrom");
	size_t from;

	if (fault != NULL)
		neap_causes_invalid(causes, "name", json_object_get(variable, "name"),
				    "%s", fault);
	if (source == NULL)
		return;
	from = causes->count;
	check_source(source, json_object_get(variable, "value"), causes);
	neap_causes_infield(causes, from, "valueFrom");
}

static void check_env_from(const json_t *item, struct neap_causes *causes)
{
	static const char *const names[] = {"configMapRef", "secretRef"};
	const char *prefix = neap_kube_text(item, "prefix");
	const char *fault = prefix[0] != '\0' ? rule_env_name_fault(prefix) : NULL;
	size_t count = 0;

	if (fault != NULL)
		neap_causes_invalid(causes, "prefix", json_object_get(item, "prefix"),
				    "%s", fault);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		const json_t *ref = json_object_get(item, names[i]);
		size_t from = causes->count;

		if (ref == NULL)
			continue;
		count++;
		(void)rule_need_always(ref, "name", causes);
		rule_subdomain(ref, "name", causes);
		neap_causes_infield(causes, from, "%s", names[i]);
	}
	if (count == 0)
		rule_invalid_text(causes, "", "",
				  "must specify one of: `configMapRef` or `secretRef`");
	else if (count > 1)
		rule_invalid_text(causes, "", "",
				  "may not have more than one field specified at a time");
}

void rule_env(const json_t *container, struct neap_causes *causes)
{
	size_t i, from;
	const json_t *item;

	json_array_foreach (json_object_get(container, "env"), i, item) {
		from = causes->count;
		check_variable(item, causes);
		neap_causes_infield(causes, from, "env[%zu]", i);
	}
	json_array_foreach (json_object_get(container, "envFrom"), i, item) {
		from = causes->count;
		check_env_from(item, causes);
		neap_causes_infield(causes, from, "envFrom[%zu]", i);
	}
}
