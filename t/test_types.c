/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of the built-in kinds: every row and every field is walked, what Kubernetes
 * users rely on is listed here once more, and manifests as people write them go
 * through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/kube/base/kind.h"
#include "engine/json/json.h"

/* Schemas that the tables have at most. */
#define SCHEMAS 2000
#define KINDS   64

static const struct neap_kube_kind *kinds[KINDS];
static size_t kind_count;

static const struct neap_schema *seen[SCHEMAS];
static size_t seen_count, field_total;

static int collect(void **state)
{
	static const struct neap_kube_kind *const *const tables[] = {
		neap_kube_core_kinds,
		neap_kube_apps_kinds,
		neap_kube_other_kinds,
	};

	(void)state;
	for (size_t t = 0; t < NEAP_ARRAY_LEN(tables); t++)
		for (size_t i = 0; tables[t][i] != NULL; i++) {
			assert_true(kind_count < KINDS);
			kinds[kind_count++] = tables[t][i];
		}
	return 0;
}

static const struct neap_kube_kind *kind_find(const char *group, const char *plural)
{
	for (size_t i = 0; i < kind_count; i++)
		if (strcmp(kinds[i]->group, group) == 0 &&
		    strcmp(kinds[i]->plural, plural) == 0)
			return kinds[i];
	return NULL;
}

/* --- looking, without the code that is looked at elsewhere --- */

static const struct neap_schema_field *field_of(const struct neap_schema *schema,
						const char *name, size_t len)
{
	for (size_t i = 0; i < schema->field_count; i++)
		if (strlen(schema->fields[i].name) == len &&
		    memcmp(schema->fields[i].name, name, len) == 0)
			return &schema->fields[i];
	return NULL;
}

/* The field that a path as "spec.containers.name" leads to; lists and maps are stepped
 * into. */
static const struct neap_schema_field *find(const struct neap_schema *schema,
					    const char *path)
{
	const struct neap_schema_field *field = NULL;

	while (*path != '\0') {
		size_t len = strcspn(path, ".");

		while (schema->type == NEAP_SCHEMA_LIST ||
		       schema->type == NEAP_SCHEMA_MAP)
			schema = schema->items;
		field = field_of(schema, path, len);
		if (field == NULL)
			return NULL;
		schema = field->schema;
		path += len + (path[len] == '.');
	}
	return field;
}

/* --- rows --- */

static bool is_one_of(const char *text, const char *const *list)
{
	for (; *list != NULL; list++)
		if (strcmp(text, *list) == 0)
			return true;
	return false;
}

static void check_columns(const struct neap_kube_kind *kind)
{
	static const char *const types[] = {"string",  "integer", "number",
					    "boolean", "date",    NULL};
	size_t named = 0;

	assert_true(kind->column_count > 0);
	for (size_t i = 0; i < kind->column_count; i++) {
		const struct neap_kube_column *column = &kind->columns[i];

		if (column->name == NULL || column->format == NULL ||
		    column->doc == NULL || !is_one_of(column->type, types))
			fail_msg("%s: column %zu", kind->plural, i);
		if (strcmp(column->format, "name") == 0)
			named++;
		if (!kind->cells && !column->path == !column->put)
			fail_msg("%s: not one fills %s", kind->plural, column->name);
		if (!kind->cells && !column->put != !kind->columns[0].put)
			fail_msg("%s: %s is made otherwise", kind->plural, column->name);
		for (size_t k = 0; k < i; k++)
			if (strcmp(column->name, kind->columns[k].name) == 0)
				fail_msg("%s: %s twice", kind->plural, column->name);
	}
	if (named != 1)
		fail_msg("%s: %zu columns are the name", kind->plural, named);
}

static void check_paths(const struct neap_kube_kind *kind)
{
	const char *const paths[] = {kind->replicas_path, kind->status_replicas_path,
				     kind->selector_path};
	size_t scale = 0;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(paths); i++) {
		if (paths[i] == NULL)
			continue;
		scale++;
		if (paths[i][0] != '.' || find(kind->schema, paths[i] + 1) == NULL)
			fail_msg("%s: %s", kind->plural, paths[i]);
	}
	if (scale != 0 && scale != NEAP_ARRAY_LEN(paths))
		fail_msg("%s: half a /scale", kind->plural);
	for (size_t i = 0; kind->fields != NULL && kind->fields[i] != NULL; i++) {
		const char *at = strchr(kind->fields[i], '=');
		char path[128];

		/* "name=path|path" */
		for (at = at ? at + 1 : kind->fields[i]; *at;
		     at += strcspn(at, "|") + (at[strcspn(at, "|")] == '|')) {
			(void)snprintf(path, sizeof(path), "%.*s", (int)strcspn(at, "|"),
				       at);
			if (find(kind->schema, path) == NULL)
				fail_msg("%s: %s", kind->plural, path);
		}
	}
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < kind_count; i++) {
		const struct neap_kube_kind *kind = kinds[i];
		char text[128];

		if (kind->group == NULL || kind->versions == NULL ||
		    kind->versions[0] == NULL || kind->plural == NULL ||
		    kind->schema == NULL)
			fail_msg("row %zu", i);
		snprintf(text, sizeof(text), "%sList", kind->kind);
		assert_string_equal(kind->list_kind, text);
		if (kind->make == NULL)
			assert_int_equal(strcasecmp(kind->singular, kind->kind), 0);
		for (const char *p = kind->singular; *p != '\0'; p++)
			assert_true(*p >= 'a' && *p <= 'z');
		for (size_t k = 0; k < i; k++)
			if (strcmp(kind->plural, kinds[k]->plural) == 0 &&
			    strcmp(kind->group, kinds[k]->group) == 0)
				fail_msg("%s twice", kind->plural);
		if (find(kind->schema, "kind") == NULL ||
		    find(kind->schema, "apiVersion") == NULL ||
		    find(kind->schema, "metadata.name") == NULL)
			fail_msg("%s: no whole object", kind->plural);
		if (kind->has_status != (find(kind->schema, "status") != NULL))
			fail_msg("%s: status", kind->plural);
		check_columns(kind);
		check_paths(kind);
	}
}

/* --- fields --- */

static bool is_scalar(const struct neap_schema *schema)
{
	return schema->type != NEAP_SCHEMA_OBJECT && schema->type != NEAP_SCHEMA_MAP &&
	       schema->type != NEAP_SCHEMA_LIST && schema->type != NEAP_SCHEMA_ANY;
}

/* Whether a default is of the type that it is for; inner fields too. */
static bool fits(const struct neap_schema *schema, const json_t *value)
{
	const struct neap_schema_field *field;
	const char *name;
	const json_t *member;

	switch (schema->type) {
	case NEAP_SCHEMA_ANY:
		return true;
	case NEAP_SCHEMA_OBJECT:
		json_object_foreach ((json_t *)value, name, member) {
			field = field_of(schema, name, strlen(name));
			if (field == NULL || !fits(field->schema, member))
				return false;
		}
		return json_is_object(value);
	case NEAP_SCHEMA_MAP:
		return json_is_object(value);
	case NEAP_SCHEMA_LIST:
		return json_is_array(value);
	case NEAP_SCHEMA_STRING:
		return json_is_string(value) &&
		       (schema->values == NULL ||
			is_one_of(json_string_value(value), schema->values));
	case NEAP_SCHEMA_INTEGER:
		return json_is_integer(value);
	case NEAP_SCHEMA_NUMBER:
		return json_is_number(value);
	case NEAP_SCHEMA_BOOLEAN:
		return json_is_boolean(value);
	case NEAP_SCHEMA_INT_OR_STRING:
	case NEAP_SCHEMA_QUANTITY:
		return json_is_integer(value) || json_is_string(value);
	}
	return false;
}

static void check_merge(const struct neap_schema *schema,
			const struct neap_schema_field *field)
{
	const struct neap_schema *items = field->schema->items;
	const struct neap_schema_field *key;

	if (field->merge == NEAP_LIST_ATOMIC) {
		if (field->merge_key != NULL)
			fail_msg("%s.%s: a key and no merge", schema->name, field->name);
		return;
	}
	if (field->schema->type != NEAP_SCHEMA_LIST)
		fail_msg("%s.%s: merged, and no list", schema->name, field->name);
	if (field->merge == NEAP_LIST_SET) {
		if (field->merge_key != NULL || !is_scalar(items))
			fail_msg("%s.%s: no set", schema->name, field->name);
		return;
	}
	key = field->merge_key == NULL
		      ? NULL
		      : field_of(items, field->merge_key, strlen(field->merge_key));
	if (key == NULL || !is_scalar(key->schema))
		fail_msg("%s.%s: no key", schema->name, field->name);
}

static void check_field(const struct neap_schema *schema,
			const struct neap_schema_field *field)
{
	json_t *value = NULL;
	json_error_t where;

	if (field->name == NULL || field->schema == NULL)
		fail_msg("%s: a field without name or type", schema->name);
	if (field->doc == NULL && field->schema->doc == NULL)
		fail_msg("%s.%s: no word about it", schema->name, field->name);
	check_merge(schema, field);
	if (field->fallback == NULL)
		return;
	if (neap_json_parse(field->fallback, strlen(field->fallback), JSON_DECODE_ANY,
			    &value, &where) < 0)
		fail_msg("%s.%s: default: %s", schema->name, field->name, where.text);
	if (!fits(field->schema, value))
		fail_msg("%s.%s: its default does not fit", schema->name, field->name);
	json_decref(value);
}

static void walk(const struct neap_schema *schema)
{
	for (size_t i = 0; i < seen_count; i++) {
		if (seen[i] == schema)
			return;
		if (schema->name != NULL && seen[i]->name != NULL &&
		    strcmp(schema->name, seen[i]->name) == 0)
			fail_msg("%s: two schemas", schema->name);
	}
	assert_true(seen_count < SCHEMAS);
	seen[seen_count++] = schema;
	if ((schema->type == NEAP_SCHEMA_LIST || schema->type == NEAP_SCHEMA_MAP)) {
		assert_non_null(schema->items);
		walk(schema->items);
		return;
	}
	if (schema->values != NULL && schema->type != NEAP_SCHEMA_STRING)
		fail_msg("an enum that is no string");
	if (schema->type != NEAP_SCHEMA_OBJECT)
		return;
	if (schema->name == NULL || schema->doc == NULL)
		fail_msg("an object without name or doc");
	for (size_t i = 0; i < schema->field_count; i++) {
		check_field(schema, &schema->fields[i]);
		for (size_t k = 0; k < i; k++)
			if (strcmp(schema->fields[k].name, schema->fields[i].name) == 0)
				fail_msg("%s.%s twice", schema->name,
					 schema->fields[i].name);
		walk(schema->fields[i].schema);
	}
	field_total += schema->field_count;
}

static void test_fields(void **state)
{
	(void)state;
	for (size_t i = 0; i < kind_count; i++)
		walk(kinds[i]->schema);
	print_message("# %zu schemas, %zu fields\n", seen_count, field_total);
	assert_true(seen_count > 200 && field_total > 1000);
}

/* --- what users rely on --- */

/* Columns of kubectl get, those of -o wide behind a bar. */
static const struct {
	const char *group, *plural, *columns;
} columns[] = {
	{"", "pods",
	 "Name,Ready,Status,Restarts,Age|IP,Node,Nominated Node,Readiness Gates"},
	{"", "nodes",
	 "Name,Status,Roles,Age,Version|Internal-IP,External-IP,OS-Image,Kernel-Version,Container-"
	 "Runtime"},
	{"", "namespaces", "Name,Status,Age"},
	{"", "events",
	 "Last Seen,Type,Reason,Object,Message|Subobject,Source,First Seen,Count,Name"},
	{"events.k8s.io", "events",
	 "Last Seen,Type,Reason,Object,Message|Subobject,Source,First Seen,Count,Name"},
	{"", "configmaps", "Name,Data,Age"},
	{"", "services", "Name,Type,Cluster-IP,External-IP,Port(s),Age|Selector"},
	{"coordination.k8s.io", "leases", "Name,Holder,Age"},
	{"", "podtemplates", "Name,Containers,Images,Pod Labels"},
	{"apps", "controllerrevisions", "Name,Controller,Revision,Age"},
	{"apps", "deployments",
	 "Name,Ready,Up-to-date,Available,Age|Containers,Images,Selector"},
	{"apps", "replicasets",
	 "Name,Desired,Current,Ready,Age|Containers,Images,Selector"},
	{"apps", "statefulsets", "Name,Ready,Age|Containers,Images"},
	{"apps", "daemonsets",
	 "Name,Desired,Current,Ready,Up-to-date,Available,Node Selector,Age|Containers,Images,"
	 "Selector"},
	{"policy", "poddisruptionbudgets",
	 "Name,Min Available,Max Unavailable,Allowed Disruptions,Age"},
	{"scheduling.k8s.io", "priorityclasses", "Name,Value,Global-Default,Age"},
	{"storage.k8s.io", "storageclasses",
	 "Name,Provisioner,ReclaimPolicy,VolumeBindingMode,AllowVolumeExpansion,Age"},
	{"apiextensions.k8s.io", "customresourcedefinitions", "Name,Created At"},
};

static void test_columns(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(columns); i++) {
		const struct neap_kube_kind *kind =
			kind_find(columns[i].group, columns[i].plural);
		char text[512] = "";
		size_t len = 0;

		assert_non_null(kind);
		for (int wide = 0; wide < 2; wide++)
			for (size_t c = 0; c < kind->column_count; c++)
				if ((kind->columns[c].priority > 0) == (wide == 1))
					len += (size_t)snprintf(
						text + len, sizeof(text) - len, "%s%s",
						len == 0 ? ""
						: strchr(text, '|') == NULL && wide == 1
							? "|"
							: ",",
						kind->columns[c].name);
		assert_string_equal(text, columns[i].columns);
	}
}

/* What strategic patches and clients go by: the key of a list ("+": a set), a default,
 * required. */
static const struct {
	const char *group, *plural, *path, *key, *fallback;
	bool is_required;
} fields[] = {
	{"", "pods", "metadata.ownerReferences", "uid", NULL, false},
	{"", "pods", "metadata.finalizers", "+", NULL, false},
	{"", "pods", "spec.containers", "name", NULL, true},
	{"", "pods", "spec.initContainers", "name", NULL, false},
	{"", "pods", "spec.ephemeralContainers", "name", NULL, false},
	{"", "pods", "spec.volumes", "name", NULL, false},
	{"", "pods", "spec.imagePullSecrets", "name", NULL, false},
	{"", "pods", "spec.tolerations", NULL, NULL, false},
	{"", "pods", "spec.topologySpreadConstraints", "topologyKey", NULL, false},
	{"", "pods", "spec.hostAliases", "ip", NULL, false},
	{"", "pods", "spec.schedulingGates", "name", NULL, false},
	{"", "pods", "spec.containers.env", "name", NULL, false},
	{"", "pods", "spec.containers.ports", "containerPort", NULL, false},
	{"", "pods", "spec.containers.ports.protocol", NULL, "\"TCP\"", false},
	{"", "pods", "spec.containers.volumeMounts", "mountPath", NULL, false},
	{"", "pods", "spec.containers.volumeDevices", "devicePath", NULL, false},
	{"", "pods", "spec.containers.imagePullPolicy", NULL, NULL, false},
	{"", "pods", "spec.containers.terminationMessagePath", NULL,
	 "\"/dev/termination-log\"", false},
	{"", "pods", "spec.containers.livenessProbe.httpGet.scheme", NULL, "\"HTTP\"",
	 false},
	{"", "pods", "spec.containers.livenessProbe.periodSeconds", NULL, "10", false},
	{"", "pods", "spec.restartPolicy", NULL, "\"Always\"", false},
	{"", "pods", "spec.dnsPolicy", NULL, "\"ClusterFirst\"", false},
	{"", "pods", "spec.schedulerName", NULL, "\"default-scheduler\"", false},
	{"", "pods", "spec.terminationGracePeriodSeconds", NULL, "30", false},
	{"", "pods", "spec.volumes.secret.defaultMode", NULL, "420", false},
	{"", "pods", "status.conditions", "type", NULL, false},
	{"", "pods", "status.podIPs", "ip", NULL, false},
	{"", "nodes", "spec.taints", NULL, NULL, false},
	{"", "nodes", "spec.podCIDRs", "+", NULL, false},
	{"", "nodes", "status.addresses", "type", NULL, false},
	{"", "nodes", "status.conditions", "type", NULL, false},
	{"", "services", "spec.ports", "port", NULL, false},
	{"", "services", "spec.type", NULL, "\"ClusterIP\"", false},
	{"", "serviceaccounts", "secrets", "name", NULL, false},
	{"", "serviceaccounts", "imagePullSecrets", NULL, NULL, false},
	{"", "persistentvolumes", "spec.persistentVolumeReclaimPolicy", NULL,
	 "\"Retain\"", false},
	{"", "replicationcontrollers", "spec.replicas", NULL, "1", false},
	{"apps", "deployments", "spec.template", NULL, NULL, true},
	{"apps", "deployments", "spec.selector", NULL, NULL, true},
	{"apps", "deployments", "spec.template.spec.containers.env", "name", NULL, false},
	{"apps", "deployments", "spec.revisionHistoryLimit", NULL, "10", false},
	{"apps", "deployments", "spec.progressDeadlineSeconds", NULL, "600", false},
	{"apps", "statefulsets", "spec.podManagementPolicy", NULL, "\"OrderedReady\"",
	 false},
	{"apps", "statefulsets", "spec.volumeClaimTemplates", NULL, NULL, false},
	{"batch", "jobs", "spec.completionMode", NULL, "\"NonIndexed\"", false},
	{"batch", "jobs", "spec.selector", NULL, NULL, false},
	{"policy", "poddisruptionbudgets", "status.conditions", "type", NULL, false},
	{"scheduling.k8s.io", "priorityclasses", "preemptionPolicy", NULL,
	 "\"PreemptLowerPriority\"", false},
	{"storage.k8s.io", "csinodes", "spec.drivers", "name", NULL, true},
	{"storage.k8s.io", "storageclasses", "reclaimPolicy", NULL, "\"Delete\"", false},
};

static void test_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(fields); i++) {
		const struct neap_kube_kind *kind =
			kind_find(fields[i].group, fields[i].plural);
		const struct neap_schema_field *field;
		const char *key;

		assert_non_null(kind);
		field = find(kind->schema, fields[i].path);
		if (field == NULL)
			fail_msg("%s: no %s", fields[i].plural, fields[i].path);
		key = field->merge == NEAP_LIST_SET ? "+" : field->merge_key;
		if ((key == NULL) != (fields[i].key == NULL) ||
		    (key != NULL && strcmp(key, fields[i].key) != 0) ||
		    (field->fallback == NULL) != (fields[i].fallback == NULL) ||
		    (field->fallback != NULL &&
		     strcmp(field->fallback, fields[i].fallback) != 0) ||
		    field->is_required != fields[i].is_required)
			fail_msg("%s: %s", fields[i].plural, fields[i].path);
	}
}

static void test_resource(void **state)
{
	static const struct {
		const char *group, *plural, *resource;
	} names[] = {
		{"", "pods", "pods"},
		{"apps", "deployments", "deployments.apps"},
		{"scheduling.k8s.io", "priorityclasses",
		 "priorityclasses.scheduling.k8s.io"},
	};
	char text[256], cut[8];

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		neap_kube_kind_resource(kind_find(names[i].group, names[i].plural), text,
					sizeof(text));
		assert_string_equal(text, names[i].resource);
	}
	neap_kube_kind_resource(kind_find("apps", "deployments"), cut, sizeof(cut));
	assert_string_equal(cut, "deploym");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),     cmocka_unit_test(test_fields),
		cmocka_unit_test(test_columns),  cmocka_unit_test(test_known),
		cmocka_unit_test(test_resource),
	};

	return cmocka_run_group_tests(tests, collect, NULL);
}
