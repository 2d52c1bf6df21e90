/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules that hold for every kind, with the messages of Kubernetes: metadata, names, and
 * the bounds of lists and maps. */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/rules/check_priv.h"
#include "api/kube/rules/rules.h"
#include "engine/base/mem.h"
#include "engine/base/selector.h"
#include "engine/base/text.h"
#include "engine/json/json.h"

#define LABEL_MAX     63
#define SUBDOMAIN_MAX 253
#define FIELD_SIZE    256
/* The length with the prefix; anything longer is invalid. */
#define ANNOTATION_KEY_MAX (SUBDOMAIN_MAX + 1 + LABEL_MAX)

#define LABEL_RULE                                                                          \
	"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or " \
	"'-', and must start and end with an alphanumeric character (e.g. 'my-name',  or "  \
	"'123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
#define SUBDOMAIN_RULE                                                                        \
	"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, " \
	"'-' or '.', and must start and end with an alphanumeric character (e.g. "            \
	"'example.com', regex used for validation is "                                        \
	"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_label(const char *name, size_t len)
{
	if (!len || !is_alnum(name[0]) || !is_alnum(name[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_alnum(name[i]) && name[i] != '-')
			return false;
	return true;
}

const char *neap_kube_dns_label_fault(const char *name)
{
	size_t len = strlen(name);

	if (len > LABEL_MAX)
		return "must be no more than 63 characters";
	return is_label(name, len) ? NULL : LABEL_RULE;
}

const char *neap_kube_dns_subdomain_fault(const char *name)
{
	if (strlen(name) > SUBDOMAIN_MAX)
		return "must be no more than 253 characters";
	for (;;) {
		size_t len = strcspn(name, ".");

		if (!is_label(name, len))
			return SUBDOMAIN_RULE;
		if (!name[len])
			return NULL;
		name += len + 1;
	}
}

static void check_name(const struct neap_kube_kind *kind, const json_t *object,
		       struct neap_causes *causes)
{
	const char *name = neap_kube_meta_text(object, "name");
	const char *prefix = neap_kube_meta_text(object, "generateName");
	const json_t *value = neap_json_at(object, "metadata.name");
	bool is_label_kind = strcmp(kind->plural, "namespaces") == 0 && !kind->group[0];
	const char *fault;

	if (!*name) {
		neap_causes_required(causes,
				     *prefix ? "metadata.generateName" : "metadata.name",
				     "name or generateName is required");
		return;
	}
	fault = is_label_kind ? neap_kube_dns_label_fault(name)
			      : neap_kube_dns_subdomain_fault(name);
	if (fault)
		neap_causes_invalid(causes, "metadata.name", value, "%s", fault);
}

/* A map of texts: labels, or annotations, whose keys may be in either case. */
static void check_map(const json_t *map, const char *field, bool is_labels,
		      struct neap_causes *causes)
{
	const json_t *value;
	const char *key;

	if (map && !json_is_object(map)) {
		neap_causes_invalid(causes, field, map, "must be a map of strings");
		return;
	}
	json_object_foreach ((json_t *)(uintptr_t)map, key, value) {
		char lower[ANNOTATION_KEY_MAX + 1];
		bool fits = neap_strcopy(lower, sizeof(lower), key);
		struct neap_error err;

		for (char *at = lower; fits && !is_labels && *at; at++)
			*at = *at >= 'A' && *at <= 'Z' ? *at | 0x20 : *at;
		if (neap_label_check_key(fits ? lower : key, &err) < 0)
			rule_invalid_text(causes, field, key, err.msg);
		if (!json_is_string(value))
			neap_causes_invalid(causes, field, value, "must be a string");
		else if (is_labels &&
			 neap_label_check_value(json_string_value(value), &err) < 0)
			neap_causes_invalid(causes, field, value, "%s", err.msg);
	}
}

void rule_annotations_size(json_t *annotations, const char *field,
			   struct neap_causes *causes)
{
	const json_t *value;
	const char *key;
	size_t bytes = 0;

	json_object_foreach (annotations, key, value)
		bytes += strlen(key) + json_string_length(value);
	if (bytes > NEAP_KUBE_ANNOTATIONS_MAX)
		neap_causes_add(causes, "FieldValueTooLong", field,
				"Too long: may not be more than %d bytes",
				NEAP_KUBE_ANNOTATIONS_MAX);
}

/* Kubernetes' own finalizers are single words; all others need a domain. Not so for
 * definitions, declared kinds, core events and leases. */
static bool is_finalizer_word(const struct neap_kube_kind *kind, const char *text)
{
	static const char *const known[] = {"kubernetes", "orphan", "foregroundDeletion",
					    NULL};
	static const char *const free_groups[] = {"apiextensions.k8s.io",
						  "coordination.k8s.io", NULL};

	return kind->is_custom ||
	       (strcmp(kind->plural, "events") == 0 && !kind->group[0]) ||
	       strchr(text, '/') || neap_text_is_in(kind->group, free_groups) ||
	       neap_text_is_in(text, known);
}

static void check_finalizers(const struct neap_kube_kind *kind, const json_t *list,
			     const json_t *before, struct neap_causes *causes)
{
	bool is_deleting = before && neap_kube_meta_is_deleting(before);
	const json_t *old = neap_json_at(before, "metadata.finalizers");
	struct rule_seen seen = {0};
	size_t i;
	const json_t *value;

	json_array_foreach (old, i, value)
		if (json_is_string(value))
			(void)rule_seen_add(&seen, json_string_value(value), causes);
	json_array_foreach (list, i, value) {
		const char *text = json_string_value(value);
		char field[FIELD_SIZE];
		struct neap_error err;

		(void)snprintf(field, sizeof(field), "metadata.finalizers[%zu]", i);
		if (!text || neap_label_check_key(text, &err) < 0) {
			neap_causes_invalid(causes, field, value, "%s",
					    text ? err.msg : "must be a string");
			continue;
		}
		/* Existing finalizers may stay. */
		if (!is_finalizer_word(kind, text) && !rule_seen_has(&seen, text))
			neap_causes_invalid(causes, field, value,
					    "name is neither a standard finalizer name "
					    "nor is it fully qualified");
		if (is_deleting && !rule_seen_has(&seen, text))
			neap_causes_forbidden(
				causes, "metadata.finalizers",
				"no new finalizers can be added if the object is "
				"being deleted, found new finalizers: \"%s\"",
				text);
	}
	rule_seen_done(&seen);
}

/* An apiVersion has at most one slash; an event cannot be an owner. */
static void check_owner_type(const json_t *owner, const json_t *list,
			     struct neap_causes *causes)
{
	const char *version = json_string_value(json_object_get(owner, "apiVersion"));
	const char *kind = json_string_value(json_object_get(owner, "kind"));
	const char *slash = version ? strchr(version, '/') : NULL;

	if (slash && (!slash[1] || strchr(slash + 1, '/')))
		neap_causes_invalid(causes, "metadata.ownerReferences.apiVersion",
				    json_object_get(owner, "apiVersion"),
				    "version must not be empty");
	if (version && kind && strcmp(version, "v1") == 0 && strcmp(kind, "Event") == 0)
		neap_causes_invalid(causes, "metadata.ownerReferences", list,
				    "an Event is disallowed from being an owner");
}

static void check_owners(const json_t *list, struct neap_causes *causes)
{
	static const char *const members[] = {"apiVersion", "kind", "name", "uid"};
	bool has_controller = false;
	size_t i;
	const json_t *owner;

	json_array_foreach (list, i, owner) {
		char field[FIELD_SIZE];

		for (size_t m = 0; m < NEAP_ARRAY_LEN(members); m++) {
			const char *text =
				json_string_value(json_object_get(owner, members[m]));

			(void)snprintf(field, sizeof(field),
				       "metadata.ownerReferences[%zu].%s", i, members[m]);
			if (!text || !*text)
				neap_causes_required(causes, field, "must not be empty");
		}
		check_owner_type(owner, list, causes);
		if (!json_is_true(json_object_get(owner, "controller")))
			continue;
		if (has_controller)
			neap_causes_invalid(
				causes, "metadata.ownerReferences", list,
				"Only one reference can have Controller set to true");
		has_controller = true;
	}
}

static void check_same(const json_t *object, const json_t *before, const char *member,
		       struct neap_causes *causes)
{
	const char *now = neap_kube_meta_text(object, member);
	const char *was = neap_kube_meta_text(before, member);
	char field[FIELD_SIZE];

	if (strcmp(now, was) == 0)
		return;
	(void)snprintf(field, sizeof(field), "metadata.%s", member);
	neap_causes_invalid(causes, field,
			    json_object_get(json_object_get(object, "metadata"), member),
			    "field is immutable");
}

void neap_kube_meta_check(const struct neap_kube_kind *kind, const json_t *object,
			  const json_t *before, struct neap_causes *causes)
{
	const json_t *meta = json_object_get(object, "metadata");
	json_t *annotations = json_object_get(meta, "annotations");

	if (before) {
		check_same(object, before, "name", causes);
		check_same(object, before, "namespace", causes);
	} else {
		check_name(kind, object, causes);
	}
	check_map(json_object_get(meta, "labels"), "metadata.labels", true, causes);
	check_map(annotations, "metadata.annotations", false, causes);
	rule_annotations_size(annotations, "metadata.annotations", causes);
	check_finalizers(kind, json_object_get(meta, "finalizers"), before, causes);
	check_owners(json_object_get(meta, "ownerReferences"), causes);
}

/* --- names and addresses ---
 *
 * Rules for names and addresses that only some kinds have. */

#define PORT_NAME_MAX 15
#define KEY_MAX       253

static bool is_made_of(const char *text, const char *others)
{
	for (; *text != '\0'; text++)
		if (!isascii(*text) || (!isalnum(*text) && !strchr(others, *text)))
			return false;
	return true;
}

const char *rule_port_name_fault(const char *text)
{
	size_t len = strlen(text);

	if (len > PORT_NAME_MAX)
		return "must be no more than 15 characters";
	if (strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") != len || len == 0)
		return "must contain only alpha-numeric characters (a-z, 0-9), and "
		       "hyphens (-)";
	if (!strpbrk(text, "abcdefghijklmnopqrstuvwxyz"))
		return "must contain at least one letter (a-z)";
	if (strstr(text, "--"))
		return "must not contain consecutive hyphens";
	if (text[0] == '-' || text[len - 1] == '-')
		return "must not begin or end with a hyphen";
	return NULL;
}

/* A file with this name could lie outside its folder. */
static const char *folder_fault(const char *text)
{
	if (strcmp(text, ".") == 0)
		return "must not be '.'";
	if (strcmp(text, "..") == 0)
		return "must not be '..'";
	return strncmp(text, "..", 2) == 0 ? "must not start with '..'" : NULL;
}

const char *rule_env_name_fault(const char *text)
{
	if (text[0] == '\0' || isdigit((unsigned char)text[0]) ||
	    !is_made_of(text, "-._"))
		return "a valid environment variable name must consist of alphabetic "
		       "characters, digits, '_', '-', or '.', and must not start with a "
		       "digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', "
		       "regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')";
	return folder_fault(text);
}

const char *rule_config_key_fault(const char *text)
{
	if (strlen(text) > KEY_MAX)
		return "must be no more than 253 characters";
	if (text[0] == '\0' || !is_made_of(text, "-._"))
		return "a valid config key must consist of alphanumeric characters, '-', "
		       "'_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', "
		       "regex used for validation is '[-._a-zA-Z0-9]+')";
	return folder_fault(text);
}

const char *rule_percent_fault(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	if (digits > 0 && strcmp(text + digits, "%") == 0)
		return NULL;
	return "a valid percent string must be a numeric string followed by an ending "
	       "'%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
}

const char *rule_service_name_fault(const char *text)
{
	size_t len = strlen(text);

	if (len > LABEL_MAX)
		return "must be no more than 63 characters";
	if (len > 0 && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == len &&
	    islower((unsigned char)text[0]) && text[len - 1] != '-')
		return NULL;
	return "a DNS-1035 label must consist of lower case alphanumeric characters or "
	       "'-', start with an alphabetic character, and end with an alphanumeric "
	       "character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
	       "'[a-z]([-a-z0-9]*[a-z0-9])?')";
}

bool rule_path_has_parent(const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && strncmp(path, "..", 2) == 0)
			return true;
		path += len + (path[len] == '/');
	}
	return false;
}

const char *rule_path_fault(const char *text)
{
	if (*text == '/')
		return "must be a relative path";
	return rule_path_has_parent(text) ? "must not contain '..'" : NULL;
}

static int family(const char *text)
{
	unsigned char raw[16];

	if (inet_pton(AF_INET, text, raw) == 1)
		return 4;
	return inet_pton(AF_INET6, text, raw) == 1 ? 6 : 0;
}

const char *rule_ip_fault(const char *text)
{
	return family(text) ? NULL : RULE_IP;
}

int rule_cidr_family(const char *text)
{
	char address[INET6_ADDRSTRLEN];
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : 0, digits;
	int found, bits;

	if (len == 0 || len >= sizeof(address))
		return 0;
	memcpy(address, text, len);
	address[len] = '\0';
	digits = strspn(slash + 1, "0123456789");
	if (digits == 0 || digits > 3 || slash[1 + digits] != '\0' ||
	    (digits > 1 && slash[1] == '0'))
		return 0;
	found = family(address);
	bits = (int)strtol(slash + 1, NULL, 10);
	return bits <= (found == 4 ? 32 : 128) ? found : 0;
}

/* --- bounds --- */

#define SMALL 20 /* the smallest bound */

/* Kubernetes' own bounds where it has some; else several times the largest size known in
 * use. Sorted by name. t/test_kube_wide.c sends each list of each kind over its bound. */
static const struct neap_schema_bound rows[] = {
	{"add", 64}, /* capabilities */
	{"additionalPrinterColumns", 64},
	{"addresses", 256},
	{"annotations", 8192}, /* 256 KiB in total */
	{"args", 4096},
	{"binaryData", 16384},
	{"command", 4096},
	{"conditions", 256},
	{"containerStatuses", 256},
	{"containers", 256},
	{"data", 16384},
	{"disruptedPods", 16384},
	{"drop", 64},
	{"enum", 20000},
	{"env", 4096},
	{"envFrom", 256},
	{"ephemeralContainerStatuses", 256},
	{"ephemeralContainers", 256},
	{"failed", 16384},
	{"finalizers", 256},
	{"hostnames", 256},
	{"imagePullSecrets", 256},
	{"images", 4096},
	{"initContainerStatuses", 256},
	{"initContainers", 256},
	{"labels", 1024},
	{"matchExpressions", 256},
	{"matchFields", 256},
	{"matchLabels", 256},
	{"nodeSelector", 256},
	{"nodeSelectorTerms", 256},
	{"onPodConditions", 20},
	{"options", 64},
	{"parameters", 512}, /* StorageClass */
	{"ports", 4096},
	{"preferredDuringSchedulingIgnoredDuringExecution", 256},
	{"properties", 20000},
	{"readinessGates", 64},
	{"required", 20000},
	{"requiredDuringSchedulingIgnoredDuringExecution", 256},
	{"resourceClaims", 256},
	{"rules", 20}, /* policies of a Job */
	{"schedulingGates", 64},
	{"searches", 32},
	{"succeeded", 16384},
	{"taints", 256},
	{"tolerations", 256},
	{"topologySpreadConstraints", 64},
	{"values", 4096},
	{"volumeMounts", 1024},
	{"volumes", 1024},
	{"volumesAttached", 4096},
	{"volumesInUse", 4096},
};

static const struct neap_schema_bounds bounds = {
	.rows = rows,
	.count = NEAP_ARRAY_LEN(rows),
	.other = 1024,
	.least = SMALL,
};

size_t neap_kube_check_bounds(const struct neap_kube_kind *kind, const json_t *object,
			      const json_t *before, struct neap_causes *causes)
{
	size_t from = causes->count;

	if (!kind->is_custom)
		return neap_schema_check_bounds(&bounds, object, before, causes);
	(void)neap_schema_check_bounds(&bounds, json_object_get(object, "metadata"),
				       json_object_get(before, "metadata"), causes);
	neap_causes_infield(causes, from, "metadata");
	return neap_schema_values(object);
}
