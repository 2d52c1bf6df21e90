/* SPDX-License-Identifier: Apache-2.0
 *
 * The OpenAPI document, read back by a small protobuf reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/kube/openapi/openapi.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/openapi_messages.h"

/* --- kinds --- */

static const struct neap_schema_field meta_fields[] = {
	{.name = "name", .schema = &neap_schema_string, .doc = "Name of the object."},
	{.name = "labels", .schema = &neap_schema_string_map},
	{.name = "finalizers", .schema = &neap_schema_strings, .merge = NEAP_LIST_SET},
	{.name = "creationTimestamp", .schema = &neap_schema_time},
};
static const struct neap_schema meta = {
	.name = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
	.doc = "What every object has.",
	NEAP_SCHEMA_FIELDS(meta_fields)};

static const char *const policies[] = {"Always", "Never", NULL};
static const struct neap_schema policy = {.type = NEAP_SCHEMA_STRING, .values = policies};
static const struct neap_schema_field container_fields[] = {
	{.name = "name", .schema = &neap_schema_string, .is_required = true},
	{.name = "limits", .schema = &neap_schema_quantity_map},
	{.name = "port", .schema = &neap_schema_int_or_string},
	{.name = "number", .schema = &neap_schema_int32},
	{.name = "policy",
	 .schema = &policy,
	 .is_required = true,
	 .fallback = "\"Always\""},
};
static const struct neap_schema container = {.name = "io.k8s.api.core.v1.Container",
					     NEAP_SCHEMA_FIELDS(container_fields)};
static const struct neap_schema containers = {.type = NEAP_SCHEMA_LIST,
					      .items = &container};
static const struct neap_schema pod_spec;
/* By way of it a circle. */
static const struct neap_schema_field strategy_fields[] = {
	{.name = "type", .schema = &neap_schema_string},
	{.name = "inner", .schema = &pod_spec},
};
static const struct neap_schema strategy = {NEAP_SCHEMA_FIELDS(strategy_fields)};
static const struct neap_schema_field spec_fields[] = {
	{.name = "containers",
	 .schema = &containers,
	 .doc = "What runs in the pod.",
	 .is_required = true,
	 .merge = NEAP_LIST_MAP,
	 .merge_key = "name"},
	{.name = "volumes",
	 .schema = &containers,
	 .merge = NEAP_LIST_MAP,
	 .merge_key = "name",
	 .retains_keys = true},
	{.name = "strategy", .schema = &strategy, .retains_keys = true},
	{.name = "raw", .schema = &neap_schema_any},
	{.name = "flag", .schema = &neap_schema_boolean},
};
static const struct neap_schema pod_spec = {.name = "io.k8s.api.core.v1.PodSpec",
					    .doc = "What a pod is to be.",
					    NEAP_SCHEMA_FIELDS(spec_fields)};
static const struct neap_schema_field pod_fields[] = {
	{.name = "apiVersion", .schema = &neap_schema_string},
	{.name = "kind", .schema = &neap_schema_string},
	{.name = "metadata", .schema = &meta, .doc = "Of this pod."},
	{.name = "spec", .schema = &pod_spec},
};
static const struct neap_schema pod = {.name = "io.k8s.api.core.v1.Pod",
				       .doc = "A pod.",
				       NEAP_SCHEMA_FIELDS(pod_fields)};
static const struct neap_schema_field set_fields[] = {
	{.name = "metadata", .schema = &meta},
	{.name = "template", .schema = &pod},
};
static const struct neap_schema set = {NEAP_SCHEMA_FIELDS(set_fields)};

static const char *const v1[] = {"v1", NULL};
static const char *const both[] = {"v1", "v1beta1", NULL};
static const char *const alpha[] = {"v1alpha1", NULL};
static const struct neap_kube_kind pods = {.group = "",
					   .versions = v1,
					   .kind = "Pod",
					   .plural = "pods",
					   .is_namespaced = true,
					   .has_status = true,
					   .schema = &pod};
static const struct neap_kube_kind sets = {.group = "apps",
					   .versions = both,
					   .kind = "Set",
					   .plural = "sets",
					   .is_namespaced = true,
					   .replicas_path = ".spec.replicas",
					   .schema = &set};

/* The kinds and one that is declared; *ret_schema is freed by the caller. */
static void kinds_init(struct neap_kube_kind *custom, struct neap_schema **ret_schema)
{
	static const char text[] =
		"{\"type\": \"object\", \"description\": \"Keeps \\\"room\\\".\", \"properties\": {"
		" \"spec\": {\"type\": \"object\", \"required\": [\"ttl\", \"list\"], \"properties\": {"
		"  \"ttl\": {\"type\": \"string\", \"default\": \"24h\"},"
		"  \"open\": {\"type\": \"object\", \"x-kubernetes-preserve-unknown-fields\": true, \"properties\":"
		"   {\"a\": {\"type\": \"string\"}}},"
		"  \"list\": {\"type\": \"array\", \"items\": {\"type\": \"object\", \"required\": [\"n\"], \"properties\":"
		"   {\"n\": {\"type\": \"string\"}, \"o\\\"\": {\"type\": \"string\", \"default\": \"\"}}},"
		"   \"x-kubernetes-list-type\": \"map\", \"x-kubernetes-list-map-keys\": [\"n\", \"o\\\"\"]}}}}}";
	struct neap_causes causes = {0};
	struct neap_error err;
	json_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	if (neap_schema_parse(json, ret_schema, &causes, &err) < 0)
		fail_msg("%s: %s", err.field, err.msg);
	json_decref(json);
	neap_schema_set_metadata(*ret_schema, &meta);
	*custom = (struct neap_kube_kind){.group = "scheduling.koordinator.sh",
					  .versions = alpha,
					  .kind = "Reservation",
					  .plural = "reservations",
					  .is_custom = true,
					  .has_status = true,
					  .schema = *ret_schema};
}

static json_t *document_of(const struct neap_kube_kind *const *kinds, size_t count)
{
	struct neap_error err;
	char *text = NULL;
	struct proto_span in;
	json_t *json;
	size_t len = 0;

	if (neap_kube_openapi(kinds, count, "neap", "0.1", &text, &len, &err) < 0)
		fail_msg("%s", err.msg);
	in = (struct proto_span){(unsigned char *)text, (unsigned char *)text + len};
	json = proto_message(in, openapi_document);
	free(text);
	return json;
}

/* What lies at names in turn; NULL ends. */
#define at(json, ...) find_at(json, (const char *const[]){__VA_ARGS__})

static json_t *find_at(json_t *json, const char *const *names)
{
	for (; *names != NULL; names++) {
		if (json_object_get(json, *names) == NULL)
			fail_msg("there is no %s in %s", *names, json_dumps(json, 0));
		json = json_object_get(json, *names);
	}
	return json;
}

/* JSON with ' in place of ". */
static void assert_json(const json_t *json, const char *want)
{
	char *copy = strdup(want), *c,
	     *have = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
	json_t *wanted;

	assert_non_null(copy);
	for (c = copy; *c != '\0'; c++)
		if (*c == '\'')
			*c = '"';
	wanted = json_loads(copy, 0, NULL);
	assert_non_null(wanted);
	if (!json_equal(json, wanted))
		fail_msg("%s\nnot\n%s", have, copy);
	json_decref(wanted);
	free(copy);
	free(have);
}

static void test_definitions(void **state)
{
	struct neap_kube_kind custom;
	struct neap_schema *schema = NULL;
	const struct neap_kube_kind *const kinds[] = {&sets, &pods, &custom};
	json_t *json, *definitions;

	(void)state;
	kinds_init(&custom, &schema);
	json = document_of(kinds, NEAP_ARRAY_LEN(kinds));
	assert_json(json_object_get(json, "info"), "{'title': 'neap', 'version': '0.1'}");
	assert_string_equal(json_string_value(json_object_get(json, "swagger")), "2.0");
	definitions = at(json, "definitions", "all", NULL);
	assert_int_equal(json_object_size(definitions), 9);

	/* A kind that another refers to is still a kind. */
	assert_json(
		at(definitions, "io.k8s.api.core.v1.Pod", NULL),
		"{'description': 'A pod.', 'type': {'value': ['object']}, 'properties': {'all': {"
		"'apiVersion': {'type': {'value': ['string']}},"
		"'kind': {'type': {'value': ['string']}},"
		"'metadata': {'$ref': '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta',"
		" 'description': 'Of this pod.'},"
		"'spec': {'$ref': '#/definitions/io.k8s.api.core.v1.PodSpec', 'description': 'What a pod is to be.'}}},"
		"'x': {'x-kubernetes-group-version-kind': {'yaml':"
		" '[{\\'group\\':\\'\\',\\'kind\\':\\'Pod\\',\\'version\\':\\'v1\\'}]'}}}");
	assert_json(
		at(definitions, "apps.v1.Set", "x", NULL),
		"{'x-kubernetes-group-version-kind': {'yaml': '["
		"{\\'group\\':\\'apps\\',\\'kind\\':\\'Set\\',\\'version\\':\\'v1\\'},"
		"{\\'group\\':\\'apps\\',\\'kind\\':\\'Set\\',\\'version\\':\\'v1beta1\\'}]'}}");
	assert_json(
		at(definitions, "io.k8s.api.core.v1.PodSpec", NULL),
		"{'description': 'What a pod is to be.', 'required': ['containers'], 'type': {'value': ['object']},"
		"'properties': {'all': {"
		"'containers': {'description': 'What runs in the pod.', 'type': {'value': ['array']},"
		" 'items': {'schema': [{'$ref': '#/definitions/io.k8s.api.core.v1.Container'}]},"
		" 'x': {'x-kubernetes-patch-strategy': {'yaml': '\\'merge\\''},"
		"  'x-kubernetes-patch-merge-key': {'yaml': '\\'name\\''}}},"
		"'volumes': {'type': {'value': ['array']},"
		" 'items': {'schema': [{'$ref': '#/definitions/io.k8s.api.core.v1.Container'}]},"
		" 'x': {'x-kubernetes-patch-strategy': {'yaml': '\\'merge,retainKeys\\''},"
		"  'x-kubernetes-patch-merge-key': {'yaml': '\\'name\\''}}},"
		"'strategy': {'type': {'value': ['object']}, 'properties': {'all': {"
		"  'type': {'type': {'value': ['string']}},"
		"  'inner': {'$ref': '#/definitions/io.k8s.api.core.v1.PodSpec', 'description': 'What a pod is to be.'}}},"
		" 'x': {'x-kubernetes-patch-strategy': {'yaml': '\\'retainKeys\\''}}},"
		"'raw': {'x': {'x-kubernetes-preserve-unknown-fields': {'yaml': 'true'}}},"
		"'flag': {'type': {'value': ['boolean']}}}}}");
	assert_json(
		at(definitions, "io.k8s.api.core.v1.Container", NULL),
		"{'required': ['name'], 'type': {'value': ['object']}, 'properties': {'all': {"
		"'name': {'type': {'value': ['string']}},"
		"'limits': {'type': {'value': ['object']}, 'additionalProperties': {'schema':"
		" {'$ref': '#/definitions/io.k8s.apimachinery.pkg.api.resource.Quantity'}}},"
		"'port': {'$ref': '#/definitions/io.k8s.apimachinery.pkg.util.intstr.IntOrString',"
		" 'description': 'A whole number, or a string such as a percentage (\\'25%\\') or the name of a port.'},"
		"'number': {'format': 'int32', 'type': {'value': ['integer']}},"
		"'policy': {'type': {'value': ['string']}, 'enum': [{'yaml': '\\'Always\\''}, {'yaml': '\\'Never\\''}]}}}}");
	assert_json(at(definitions, "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
		       "type", NULL),
		    "{'value': ['string']}");
	assert_string_equal(
		json_string_value(at(definitions,
				     "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
				     "format", NULL)),
		"int-or-string");
	assert_json(
		at(definitions, "io.k8s.apimachinery.pkg.apis.meta.v1.Time", NULL),
		"{'description': 'A time in RFC 3339, such as 2026-01-02T03:04:05Z.', 'format': 'date-time',"
		" 'type': {'value': ['string']}}");
	assert_json(at(definitions, "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
		       "properties", "all", "finalizers", "x", NULL),
		    "{'x-kubernetes-patch-strategy': {'yaml': '\\'merge\\''}}");
	/* Declared. */
	assert_json(
		at(definitions, "sh.koordinator.scheduling.v1alpha1.Reservation",
		   "properties", "all", "spec", NULL),
		"{'required': ['list'], 'type': {'value': ['object']}, 'properties': {'all': {"
		"'list': {'type': {'value': ['array']}, 'items': {'schema': [{'required': ['n'], 'type': {'value': ['object']},"
		"  'properties': {'all': {'n': {'type': {'value': ['string']}}, 'o\\'': {'type': {'value': ['string']}}}}}]},"
		" 'x': {'x-kubernetes-list-type': {'yaml': '\\'map\\''}, 'x-kubernetes-list-map-keys': {'yaml': '[\\'n\\',\\'o\\\\\\'\\']'}}},"
		"'open': {'type': {'value': ['object']}, 'x': {'x-kubernetes-preserve-unknown-fields': {'yaml': 'true'}}},"
		"'ttl': {'type': {'value': ['string']}}}}}");
	assert_json(
		at(definitions, "sh.koordinator.scheduling.v1alpha1.Reservation",
		   "properties", "all", "metadata", NULL),
		"{'$ref': '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta',"
		" 'description': 'Name, labels and annotations, and what the server knows of the object.'}");
	assert_string_equal(
		json_string_value(at(definitions,
				     "sh.koordinator.scheduling.v1alpha1.Reservation",
				     "description", NULL)),
		"Keeps \"room\".");
	json_decref(json);
	neap_schema_free(schema);
}

static void test_bodies(void **state)
{
	static const struct neap_schema old = {.name = "Old"}, *const bodies[] = {NULL,
										  &old};
	struct neap_kube_kind kind = sets, *one = &kind;
	json_t *json;

	(void)state;
	kind.bodies = bodies;
	json = document_of((const struct neap_kube_kind *const *)&one, 1);
	assert_json(at(json, "definitions", "all", "Old", "x",
		       "x-kubernetes-group-version-kind", NULL),
		    "{'yaml': '[{\\'group\\':\\'apps\\',\\'kind\\':\\'Set\\',"
		    "\\'version\\':\\'v1beta1\\'}]'}");
	json_decref(json);
}

/* Whether an operation takes a query parameter. */
static bool has_query(json_t *operation, const char *name)
{
	json_t *parameter;
	size_t i;

	json_array_foreach (json_object_get(operation, "parameters"), i, parameter) {
		json_t *query = at(parameter, "parameter", "nonBody", "query", NULL);

		assert_string_equal(json_string_value(json_object_get(query, "in")),
				    "query");
		if (strcmp(json_string_value(json_object_get(query, "name")), name) == 0)
			return true;
	}
	return false;
}

static void test_paths(void **state)
{
	/* methods of each path: g put post delete patch */
	static const struct {
		const char *path, *methods;
		const char *group, *kind, *version;
		const char *id; /* of the first method */
		size_t parameters;
	} rows[] = {
		{"/api/v1/pods", "get ", "", "Pod", "v1",
		 "listPodForAllNamespaces.v1.core", 0},
		{"/api/v1/namespaces/{namespace}/pods", "get post delete ", "", "Pod",
		 "v1", "listNamespacedPod.v1.core", 1},
		{"/api/v1/namespaces/{namespace}/pods/{name}", "get put delete patch ",
		 "", "Pod", "v1", "readNamespacedPod.v1.core", 2},
		{"/api/v1/namespaces/{namespace}/pods/{name}/status", "get put patch ",
		 "", "Pod", "v1", "readNamespacedPodStatus.v1.core", 2},
		{"/apis/apps/v1/sets", "get ", "apps", "Set", "v1",
		 "listSetForAllNamespaces.v1.apps", 0},
		{"/apis/apps/v1/namespaces/{namespace}/sets", "get post delete ", "apps",
		 "Set", "v1", "listNamespacedSet.v1.apps", 1},
		{"/apis/apps/v1/namespaces/{namespace}/sets/{name}",
		 "get put delete patch ", "apps", "Set", "v1",
		 "readNamespacedSet.v1.apps", 2},
		{"/apis/apps/v1/namespaces/{namespace}/sets/{name}/scale",
		 "get put patch ", "autoscaling", "Scale", "v1",
		 "readNamespacedSetScale.v1.autoscaling", 2},
		{"/apis/apps/v1beta1/sets", "get ", "apps", "Set", "v1beta1",
		 "listSetForAllNamespaces.v1beta1.apps", 0},
		{"/apis/apps/v1beta1/namespaces/{namespace}/sets", "get post delete ",
		 "apps", "Set", "v1beta1", "listNamespacedSet.v1beta1.apps", 1},
		{"/apis/apps/v1beta1/namespaces/{namespace}/sets/{name}",
		 "get put delete patch ", "apps", "Set", "v1beta1",
		 "readNamespacedSet.v1beta1.apps", 2},
		{"/apis/apps/v1beta1/namespaces/{namespace}/sets/{name}/scale",
		 "get put patch ", "autoscaling", "Scale", "v1",
		 "readNamespacedSetScale.v1.autoscaling", 2},
		{"/apis/scheduling.koordinator.sh/v1alpha1/reservations",
		 "get post delete ", "scheduling.koordinator.sh", "Reservation",
		 "v1alpha1", "listReservation.v1alpha1.scheduling.koordinator.sh", 0},
		{"/apis/scheduling.koordinator.sh/v1alpha1/reservations/{name}",
		 "get put delete patch ", "scheduling.koordinator.sh", "Reservation",
		 "v1alpha1", "readReservation.v1alpha1.scheduling.koordinator.sh", 1},
		{"/apis/scheduling.koordinator.sh/v1alpha1/reservations/{name}/status",
		 "get put patch ", "scheduling.koordinator.sh", "Reservation", "v1alpha1",
		 "readReservationStatus.v1alpha1.scheduling.koordinator.sh", 1},
	};
	static const char *const methods[] = {"get", "put", "post", "delete", "patch"};
	struct neap_kube_kind custom;
	struct neap_schema *schema = NULL;
	const struct neap_kube_kind *const kinds[] = {&pods, &sets, &custom};
	json_t *json, *paths;
	size_t i, j;

	(void)state;
	kinds_init(&custom, &schema);
	json = document_of(kinds, NEAP_ARRAY_LEN(kinds));
	paths = at(json, "paths", "all", NULL);
	assert_int_equal(json_object_size(paths), NEAP_ARRAY_LEN(rows));
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *item = at(paths, rows[i].path, NULL);
		char have[64] = "", want[256];

		assert_int_equal(json_array_size(json_object_get(item, "parameters")),
				 rows[i].parameters);
		(void)snprintf(want, sizeof(want),
			       "{\"group\":\"%s\",\"kind\":\"%s\",\"version\":\"%s\"}",
			       rows[i].group, rows[i].kind, rows[i].version);
		for (j = 0; j < NEAP_ARRAY_LEN(methods); j++) {
			json_t *operation = json_object_get(item, methods[j]);
			const char *m = methods[j];
			size_t len = strlen(have);
			bool is_write = strcmp(m, "get") && strcmp(m, "delete");

			if (operation == NULL)
				continue;
			if (len == 0)
				assert_string_equal(
					json_string_value(
						at(operation, "operationId", NULL)),
					rows[i].id);
			(void)snprintf(have + len, sizeof(have) - len, "%s ", m);
			assert_string_equal(
				json_string_value(at(operation, "x",
						     "x-kubernetes-group-version-kind",
						     "yaml", NULL)),
				want);
			assert_non_null(
				at(operation, "x", "x-kubernetes-action", "yaml", NULL));
			assert_non_null(at(operation, "responses", "codes", "200", NULL));
			if (has_query(operation, "dryRun") != (strcmp(m, "get") != 0) ||
			    has_query(operation, "fieldManager") != is_write ||
			    has_query(operation, "fieldValidation") != is_write)
				fail_msg("%s of %s", m, rows[i].path);
			/* JSON, merge, apply, and strategic but for declared kinds. */
			assert_int_equal(
				json_array_size(json_object_get(operation, "consumes")),
				strcmp(m, "patch") != 0                    ? 0
				: strcmp(rows[i].kind, "Reservation") == 0 ? 3
									   : 4);
		}
		assert_string_equal(have, rows[i].methods);
	}
	/* Of a path: name and namespace. */
	assert_json(
		json_array_get(at(paths, rows[2].path, "parameters", NULL), 1),
		"{'parameter': {'nonBody': {'path': {'required': true, 'in': 'path', 'name': 'namespace',"
		" 'description': 'Namespace of the object.', 'type': 'string'}}}}");
	json_decref(json);
	neap_schema_free(schema);
}

/* Every reference leads somewhere. */
static void check_refs(json_t *json, json_t *definitions)
{
	const char *name;
	json_t *value;
	size_t i;

	if (json_is_array(json)) {
		json_array_foreach (json, i, value) {
			check_refs(value, definitions);
		}
		return;
	}
	json_object_foreach (json, name, value) {
		static const char head[] = "#/definitions/";

		if (strcmp(name, "$ref") != 0) {
			check_refs(value, definitions);
			continue;
		}
		assert_memory_equal(json_string_value(value), head, strlen(head));
		assert_non_null(json_object_get(definitions,
						json_string_value(value) + strlen(head)));
	}
}

static void test_refs(void **state)
{
	struct neap_kube_kind custom, twin = pods;
	struct neap_schema *schema = NULL;
	const struct neap_kube_kind *const kinds[] = {&pods, &twin, &sets, &custom};
	json_t *json, *definitions;

	(void)state;
	kinds_init(&custom, &schema);
	/* Two kinds of one schema: each has its definition. */
	twin.group = "twins";
	twin.kind = "Twin";
	json = document_of(kinds, NEAP_ARRAY_LEN(kinds));
	definitions = at(json, "definitions", "all", NULL);
	check_refs(json, definitions);
	assert_non_null(at(definitions, "twins.v1.Twin", "properties", NULL));
	json_decref(json);
	json = document_of(NULL, 0);
	assert_json(json_object_get(json, "definitions"), "{}");
	json_decref(json);
	neap_schema_free(schema);
}

static const struct neap_schema circle;
static const struct neap_schema_field circle_fields[] = {
	{.name = "again", .schema = &circle}};
static const struct neap_schema circle = {NEAP_SCHEMA_FIELDS(circle_fields)};

static void test_limits(void **state)
{
	struct neap_kube_kind bad = pods, big = pods, *many;
	const struct neap_kube_kind *list[40];
	const struct neap_kube_kind *const one[] = {&bad}, *const other[] = {&big, &pods};
	struct neap_schema_field *fields = neap_alloc_array(20000, sizeof(*fields));
	struct neap_schema schema = {
		.type = NEAP_SCHEMA_OBJECT, .fields = fields, .field_count = 20000};
	struct neap_error err;
	char *text = NULL, (*names)[16] = neap_alloc_array(20000, sizeof(*names));
	char doc[401];
	size_t len = 0, i;
	json_t *json;

	(void)state;
	bad.schema = &circle;
	assert_int_equal(neap_kube_openapi(one, 1, "t", "v", &text, &len, &err),
			 -NEAP_EINTERNAL);
	assert_null(text);
	/* A declared kind that is far too long is open, and the others are there. */
	assert_non_null(fields);
	assert_non_null(names);
	memset(doc, 'd', sizeof(doc) - 1);
	doc[sizeof(doc) - 1] = '\0';
	for (i = 0; i < 20000; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "f%zu", i);
		fields[i] = (struct neap_schema_field){
			.name = names[i], .schema = &neap_schema_string, .doc = doc};
	}
	big.schema = &schema;
	big.is_custom = true;
	big.kind = "Big";
	big.plural = "bigs";
	json = document_of(other, 2);
	assert_json(
		at(json, "definitions", "all", "io.k8s.api.core.v1.Big", NULL),
		"{'type': {'value': ['object']}, 'x': {'x-kubernetes-preserve-unknown-fields': {'yaml': 'true'},"
		" 'x-kubernetes-group-version-kind': {'yaml':"
		" '[{\\'group\\':\\'\\',\\'kind\\':\\'Big\\',\\'version\\':\\'v1\\'}]'}}}");
	assert_non_null(at(json, "definitions", "all", "io.k8s.api.core.v1.Pod", NULL));
	json_decref(json);
	/* Forty just below the bound: later ones open; for built-in kinds an error. */
	schema.field_count = 2400;
	many = neap_alloc_array(NEAP_ARRAY_LEN(list), sizeof(*many));
	assert_non_null(many);
	for (i = 0; i < NEAP_ARRAY_LEN(list); i++) {
		many[i] = big;
		many[i].kind = many[i].plural = names[i];
		list[i] = &many[i];
	}
	json = document_of(list, NEAP_ARRAY_LEN(list));
	assert_non_null(at(json, "definitions", "all", "io.k8s.api.core.v1.f0",
			   "properties", NULL));
	assert_null(json_object_get(
		at(json, "definitions", "all", "io.k8s.api.core.v1.f39", NULL),
		"properties"));
	json_decref(json);
	for (i = 0; i < NEAP_ARRAY_LEN(list); i++)
		many[i].is_custom = false;
	assert_int_equal(neap_kube_openapi(list, NEAP_ARRAY_LEN(list), "t", "v", &text,
					   &len, &err),
			 -NEAP_ETOOLARGE);
	assert_null(text);
	free(many);
	free(names);
	free(fields);
}

static void test_memory(void **state)
{
	struct neap_kube_kind custom;
	struct neap_schema *schema = NULL;
	const struct neap_kube_kind *const kinds[] = {&sets, &pods, &custom};
	struct neap_error err;
	char *text = NULL, *again = NULL;
	size_t len = 0, again_len = 0;
	uint64_t n;
	int rc = -1;

	(void)state;
	kinds_init(&custom, &schema);
	for (n = 1; rc < 0; n++) {
		neap_mem_fail_at(n);
		rc = neap_kube_openapi(kinds, 3, "neap", "0.1", &text, &len, &err);
		neap_mem_fail_at(0);
		if (rc < 0 &&
		    (rc != -NEAP_ENOMEM || err.code != NEAP_ENOMEM || text != NULL))
			fail_msg("%d %s", rc, err.msg);
	}
	assert_true(n > 20);
	/* The same kinds, the same bytes. */
	assert_int_equal(
		neap_kube_openapi(kinds, 3, "neap", "0.1", &again, &again_len, &err), 0);
	assert_int_equal(len, again_len);
	assert_memory_equal(text, again, len);
	free(text);
	free(again);
	neap_schema_free(schema);
}

static int setup(void **state)
{
	(void)state;
	neap_json_setup();
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_definitions), cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_paths),       cmocka_unit_test(test_refs),
		cmocka_unit_test(test_limits),      cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
