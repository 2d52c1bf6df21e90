/* SPDX-License-Identifier: Apache-2.0
 *
 * Definitions of kinds with wrong types everywhere, with too much of everything, and
 * without memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/yaml/yaml.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/crd_rig.h"

/* What is no object at all, and members of every other type. */
static void test_types(void **state)
{
	static const char *const values[] = {"5",    "a",    "[]",  "{}",
					     "[[]]", "true", "1.5", "~"};
	static const char *const places[] = {"metadata",
					     "spec",
					     "spec.group",
					     "spec.names",
					     "spec.names.kind",
					     "spec.names.plural",
					     "spec.names.shortNames",
					     "spec.versions",
					     "spec.versions.0",
					     "spec.versions.0.name",
					     "spec.versions.0.schema",
					     "spec.versions.0.schema.openAPIV3Schema",
					     "spec.versions.0.subresources",
					     "spec.versions.0.additionalPrinterColumns",
					     "spec.versions.0.selectableFields",
					     "spec.conversion",
					     "spec.scope",
					     "metadata.name",
					     "metadata.annotations",
					     "kind"};
	static const char every[] = "[5, a, [], {}, [[]], true, 1.5, ~]";
	size_t i, j;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(values); i++) {
		struct neap_kube_kind *kind = NULL;
		struct neap_error err = {0};
		json_t *all = NULL;

		assert_int_equal(
			neap_yaml_parse(values[i], strlen(values[i]), "F", &all, &err),
			0);
		assert_int_equal(crd_parse(json_array_get(all, 0), &kind, &err),
				 -NEAP_EINVAL);
		json_decref(all);
		for (j = 0; j < NEAP_ARRAY_LEN(places); j++) {
			json_t *definition = crd_yaml(crd_base, "base"), *at = definition;
			json_t *value = NULL;
			char path[128], *part, *next;

			assert_int_equal(
				neap_yaml_parse(every, strlen(every), "F", &all, &err),
				0);
			value = json_array_get(json_array_get(all, 0), i);
			snprintf(path, sizeof(path), "%s", places[j]);
			for (part = strtok_r(path, ".", &next); part != NULL;) {
				char *behind = strtok_r(NULL, ".", &next);

				if (json_is_array(at) && behind == NULL)
					json_array_set(at, 0, value);
				else if (behind == NULL)
					json_object_set(at, part, value);
				at = json_is_array(at) ? json_array_get(at, 0)
						       : json_object_get(at, part);
				part = behind;
			}
			if (crd_parse(definition, &kind, &err) == 0)
				neap_kube_crd_free(kind);
			else
				assert_true(crd_causes.count > 0);
			json_decref(all);
			json_decref(definition);
		}
	}
}

static void test_bounds(void **state)
{
	json_t *definition = crd_yaml(crd_base, "base"),
	       *spec = json_object_get(definition, "spec");
	json_t *versions = json_object_get(spec, "versions"), *names;
	struct neap_kube_kind *kind = NULL;
	struct neap_error err = {0};
	size_t i;

	(void)state;
	names = json_array();
	for (i = 0; i < 65; i++)
		json_array_append_new(names, json_string("w"));
	json_object_set_new(json_object_get(spec, "names"), "shortNames", names);
	for (i = 0; i < 32; i++)
		json_array_append_new(versions, json_pack("{s:o, s:b, s:b}", "name",
							  json_sprintf("v%zu", i + 2),
							  "served", 1, "storage", 0));
	assert_int_equal(crd_parse(definition, &kind, &err), -NEAP_EINVAL);
	assert_string_equal(
		crd_causes_text(),
		"spec.names.shortNames: Too many: 65: must have at most 64 items | "
		"spec.versions: Too many: 33: must have at most 32 items");
	json_array_remove(names, 0);
	json_array_remove(versions, 32);
	if (crd_parse(definition, &kind, &err) < 0)
		fail_msg("%s", crd_causes_text());
	neap_kube_crd_free(kind);

	names = json_array();
	for (i = 0; i < 129; i++)
		json_array_append_new(names, json_object());
	json_object_set_new(json_array_get(versions, 0), "additionalPrinterColumns",
			    names);
	assert_int_equal(crd_parse(definition, &kind, &err), -NEAP_EINVAL);
	assert_string_equal(crd_causes_text(),
			    "spec.versions[0].additionalPrinterColumns: Too many: "
			    "129: must have at most 128 items");
	/* Three causes each: not all of them are told. */
	json_array_remove(names, 0);
	assert_int_equal(crd_parse(definition, &kind, &err), -NEAP_EINVAL);
	assert_int_equal(crd_causes.count, NEAP_SCHEMA_CAUSES_MAX);
	assert_int_equal(crd_causes.count + crd_causes.more, 3 * 128);
	json_decref(definition);
}

static void test_no_memory(void **state)
{
	static const struct crd_change changes[CRD_CHANGES] = {
		{"    storage: true\n",
		 "    storage: true\n    subresources: {status: {}, scale: {specReplicasPath: "
		 ".spec.size, statusReplicasPath: .status.size}}\n"
		 "    additionalPrinterColumns: [{name: A, type: string, jsonPath: .a}]\n"
		 "    selectableFields: [{jsonPath: .spec.size}]\n"},
		{"    plural: widgets\n", "    plural: widgets\n    shortNames: [w]\n"}};
	neap_auto_buf struct neap_buf text = {0};
	struct neap_kube_kind *kind = NULL;
	struct neap_error err = {0};
	json_t *definition;
	int r = -NEAP_ENOMEM, n;

	(void)state;
	neap_buf_init(&text, NEAP_BUF_LINE);
	crd_build("all", changes, &text);
	definition = crd_yaml(text.data, "all");
	for (n = 1; r == -NEAP_ENOMEM; n++) {
		neap_mem_fail_at((uint64_t)n);
		r = crd_parse(definition, &kind, &err);
		neap_mem_fail_at(0);
		if (r < 0 && r != -NEAP_ENOMEM)
			fail_msg("%d: %d: %s: %s", n, r, err.msg, crd_causes_text());
		assert_true(n < 10000);
	}
	assert_true(n > 10);
	neap_kube_crd_free(kind);
	json_decref(definition);
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
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
