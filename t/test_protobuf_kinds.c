/* SPDX-License-Identifier: Apache-2.0
 *
 * Protobuf bodies by the schemas of their kinds: what lies on the wire otherwise than in
 * JSON, and that each field has a number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/kube/base/kind.h"
#include "api/kube/openapi/proto.h"
#include "api/kube/openapi/protobuf.h"
#include "api/kube/types/bodies.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/proto_out.h"

/* Parts of an object that are messages, amounts, lists of numbers. */
static void write_pod(struct proto_out *body)
{
	struct proto_out raw = {0}, spec = {0}, container = {0}, probe = {0};
	struct proto_out handler = {0}, get = {0}, resources = {0}, entry = {0};
	struct proto_out amount = {0}, volume = {0}, source = {0}, map = {0};
	struct proto_out reference = {0}, port = {0}, context = {0}, state = {0},
			 status = {0};

	proto_put_name(&raw, 1, "p");
	proto_put_text(&reference, 1, "settings");
	proto_put_message(&map, 1, &reference);
	proto_put_message(&source, 19, &map);
	proto_put_text(&volume, 1, "v");
	proto_put_message(&volume, 2, &source);
	proto_put_message(&spec, 1, &volume);
	proto_put_text(&container, 1, "c");
	proto_put_text(&amount, 1, "500m");
	proto_put_text(&entry, 1, "cpu");
	proto_put_message(&entry, 2, &amount);
	proto_put_message(&resources, 2, &entry);
	proto_put_message(&container, 8, &resources);
	proto_put_number(&port, 2, 80);
	proto_put_message(&get, 2, &port);
	proto_put_message(&handler, 2, &get);
	proto_put_message(&probe, 1, &handler);
	proto_put_number(&probe, 4, 5);
	proto_put_message(&container, 10, &probe);
	proto_put_message(&spec, 2, &container);
	proto_put_text(&spec, 3, "Always");
	proto_put_number(&spec, 4, 0);
	proto_put_number(&context, 4, 7);
	proto_put_bytes(&context, 4, "\x08\x81\x01", 3);
	proto_put_message(&spec, 14, &context);
	proto_put_message(&raw, 2, &spec);
	proto_put_text(&state, 1, "c");
	proto_put_number(&state, 4, 0);
	proto_put_number(&state, 5, 0);
	proto_put_message(&status, 8, &state);
	proto_put_message(&raw, 3, &status);
	proto_put_body(body, "v1", "Pod", &raw);
}

static void write_revision(struct proto_out *body)
{
	struct proto_out raw = {0}, data = {0};

	proto_put_name(&raw, 1, "r");
	proto_put_text(&data, 1, "{\"spec\":{\"replicas\":2}}");
	proto_put_message(&raw, 2, &data);
	proto_put_number(&raw, 3, 1);
	proto_put_body(body, "apps/v1", "ControllerRevision", &raw);
}

static void write_review(struct proto_out *body)
{
	struct proto_out raw = {0}, spec = {0}, entry = {0}, values = {0};

	proto_put_text(&spec, 3, "alice");
	proto_put_text(&values, 1, "a");
	proto_put_text(&values, 1, "b");
	proto_put_text(&entry, 1, "scopes");
	proto_put_message(&entry, 2, &values);
	proto_put_message(&spec, 5, &entry);
	proto_put_message(&raw, 2, &spec);
	proto_put_body(body, "authorization.k8s.io/v1", "SubjectAccessReview", &raw);
}

/* Of a preemption by a stock kube-scheduler. */
static void write_options(struct proto_out *body)
{
	struct proto_out raw = {0}, conditions = {0};

	proto_put_number(&raw, 1, 0);
	proto_put_text(&conditions, 1, "0f");
	proto_put_message(&raw, 2, &conditions);
	proto_put_text(&raw, 4, "Background");
	proto_put_text(&raw, 5, "All");
	proto_put_body(body, "apps/v1", "DeleteOptions", &raw);
}

static const struct {
	const char *name;
	void (*write)(struct proto_out *body);
	const char *want;
} good[] = {
	{"pod", write_pod,
	 "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\"},\"spec\":{"
	 "\"volumes\":[{\"name\":\"v\",\"configMap\":{\"name\":\"settings\"}}],"
	 "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"500m\"}},"
	 "\"livenessProbe\":{\"httpGet\":{\"port\":80},\"periodSeconds\":5}}],"
	 "\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":0,"
	 "\"securityContext\":{\"supplementalGroups\":[7,8,129]}},\"status\":{"
	 "\"containerStatuses\":[{\"name\":\"c\",\"ready\":false,\"restartCount\":0}]}}"},
	{"revision", write_revision,
	 "{\"kind\":\"ControllerRevision\",\"apiVersion\":\"apps/v1\",\"metadata\":{\"name\":"
	 "\"r\"},\"data\":{\"spec\":{\"replicas\":2}},\"revision\":1}"},
	{"review of another", write_review,
	 "{\"kind\":\"SubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\","
	 "\"spec\":{\"user\":\"alice\",\"extra\":{\"scopes\":[\"a\",\"b\"]}}}"},
	{"options of a deletion", write_options,
	 "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"apps/v1\",\"gracePeriodSeconds\":0,"
	 "\"preconditions\":{\"uid\":\"0f\"},\"propagationPolicy\":\"Background\","
	 "\"dryRun\":[\"All\"]}"},
};

/* Whole, and with each allocation failing in turn: the parser of JSON does without some
 * of its memory. */
static void test_shapes(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(good); i++) {
		json_t *want = json_loads(good[i].want, 0, NULL), *json;
		struct proto_out body = {0};
		uint64_t failures = 1;

		assert_non_null(want);
		good[i].write(&body);
		for (uint64_t n = 1; failures > 0; n++) {
			struct neap_error err = {0};
			int rc;

			json = NULL;
			failures = neap_mem_failures();
			neap_mem_fail_at(n);
			rc = neap_protobuf_decode(body.data, body.len, &json, &err);
			neap_mem_fail_at(0);
			failures = neap_mem_failures() - failures;
			if (rc != 0 && (rc != -NEAP_ENOMEM || failures == 0))
				fail_msg("%s: %d %s %s", good[i].name, rc, err.field,
					 err.msg);
			if (rc == 0 && !json_equal(json, want))
				fail_msg("%s: %s", good[i].name, json_dumps(json, 0));
			json_decref(json);
		}
		json_decref(want);
	}
}

/* --- the table of numbers --- */

static bool is_whole(const char *field)
{
	return strcmp(field, "kind") == 0 || strcmp(field, "apiVersion") == 0;
}

/* Which of its fields a message names, those of its parts among them; each is a field of
 * the schema, or skipped. */
static size_t check_names(const struct neap_schema *schema, const char *name)
{
	const struct proto_numbers *numbers = neap_proto_numbers_find(name);
	size_t named = 0;

	if (numbers == NULL)
		fail_msg("%s has no numbers", name);
	for (size_t i = 0; i < numbers->count; i++) {
		const char *field = numbers->fields[i];

		if (field == NULL)
			continue;
		if (*field == '>') {
			named += check_names(schema, field + 1);
			continue;
		}
		if (neap_schema_field_find(schema,
					   field + (*field == '*' || *field == '~')))
			named++;
		else if (*field != '~')
			fail_msg("%s has no field %s", name, field);
	}
	return named;
}

static void check_schema(const struct neap_schema *schema, unsigned depth)
{
	size_t want = 0;

	assert_true(depth < 32); /* a body may be as deep */
	while (schema->items != NULL)
		schema = schema->items;
	if (schema->type != NEAP_SCHEMA_OBJECT)
		return;
	for (size_t i = 0; i < schema->field_count; i++) {
		const char *name = schema->fields[i].name;

		want += !is_whole(name) ||
			neap_schema_field_find(schema, "metadata") == NULL;
		if (strcmp(name, "managedFields") != 0)
			check_schema(schema->fields[i].schema, depth + 1);
	}
	if (strstr(schema->name, ".DeleteOptions"))
		want -= 2;
	if (check_names(schema, schema->name) != want)
		fail_msg("%s has fields without a number", schema->name);
}

/* Each field that JSON can have has a number, too. */
static void test_numbers(void **state)
{
	static const struct neap_kube_kind *const *const kinds[] = {
		neap_kube_core_kinds, neap_kube_apps_kinds, neap_kube_other_kinds};
	static const struct neap_kube_body *const bodies[] = {
		&neap_kube_body_binding,
		&neap_kube_body_eviction,
		&neap_kube_body_scale,
		&neap_kube_body_delete_options,
		&neap_kube_body_self_review,
		&neap_kube_body_self_access_review,
		&neap_kube_body_self_rules_review,
		&neap_kube_body_access_review,
		&neap_kube_body_token_review};
	const struct proto_table *table = &neap_kube_proto_numbers;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(kinds); i++)
		for (const struct neap_kube_kind *const *kind = kinds[i]; *kind; kind++)
			if (!(*kind)->is_named_only && !(*kind)->make &&
			    strcmp((*kind)->group, "apiextensions.k8s.io") != 0)
				check_schema((*kind)->schema, 0);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(bodies); i++)
		check_schema(bodies[i]->schema, 0);
	for (size_t i = 1; i < table->count; i++)
		if (strcmp(table->rows[i - 1].name, table->rows[i].name) >= 0)
			fail_msg("%s stands too early", table->rows[i - 1].name);
}

static int setup(void **state)
{
	(void)state;
	neap_json_setup();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests_name("protobuf_kinds", tests, setup, NULL);
}
