/* SPDX-License-Identifier: Apache-2.0
 *
 * Schemas of CustomResourceDefinitions and objects of such kinds. What was brought into
 * shape once is in shape, and what the schema says of an object does not depend on what
 * was asked before. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/openapi/openapi.h"
#include "engine/base/mem.h"
#include "engine/schema/schema.h"
#include "t/fuzz/lib/fuzz.h"

static void count(void *arg, const char *path)
{
	(void)path;
	++*(size_t *)arg;
}

static size_t faults(const struct neap_schema *schema, const json_t *object)
{
	struct neap_causes *causes = neap_alloc(sizeof(*causes));
	size_t sum;

	FUZZ_CHECK(causes != NULL);
	FUZZ_CHECK(neap_schema_check(schema, object, causes));
	FUZZ_CHECK(causes->count <= NEAP_SCHEMA_CAUSES_MAX);
	sum = causes->count + causes->more;
	free(causes);
	return sum;
}

static void check_object(const struct neap_schema *schema, json_t *object)
{
	size_t unknown = 0, before;
	json_t *copy;

	(void)neap_schema_decode(schema, object, NULL);
	(void)faults(schema, object);
	FUZZ_CHECK(neap_schema_prune(schema, object, NULL, NULL));
	FUZZ_CHECK(neap_schema_prune(schema, object, count, &unknown));
	FUZZ_CHECK(unknown == 0);
	if (!neap_schema_default(schema, object))
		return;
	before = faults(schema, object);
	copy = json_deep_copy(object);
	FUZZ_CHECK(neap_schema_default(schema, copy));
	FUZZ_CHECK(json_equal(copy, object));
	FUZZ_CHECK(faults(schema, copy) == before);
	json_decref(copy);
}

static void check_document(const struct neap_schema *schema)
{
	static const char *const versions[] = {"v1", NULL};
	const struct neap_kube_kind kind = {.group = "a.b",
					    .versions = versions,
					    .kind = "K",
					    .plural = "ks",
					    .is_custom = true,
					    .schema = schema};
	const struct neap_kube_kind *const kinds[] = {&kind};
	char *text = NULL;
	size_t len = 0;

	FUZZ_CHECK(neap_kube_openapi(kinds, 1, "t", "v", &text, &len, NULL) == 0);
	FUZZ_CHECK(text != NULL && len > 0);
	free(text);
}

/* A list of two: the schema and an object; anything else is a schema. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct neap_causes *causes = neap_alloc(sizeof(*causes));
	struct neap_schema *schema = NULL;
	struct neap_error err = {0};
	struct fuzz_in in;
	json_t *json, *source;

	FUZZ_CHECK(causes != NULL);
	fuzz_in_init(&in, data, size);
	json = fuzz_rest_json(&in);
	source = json_is_array(json) ? json_array_get(json, 0) : json;
	if (source != NULL) {
		int rc = neap_schema_parse(source, &schema, causes, &err);

		FUZZ_CHECK((rc == 0) == (schema != NULL));
		FUZZ_CHECK(rc == 0 ? causes->count == 0
				   : rc == -NEAP_ETOOLARGE || causes->count > 0);
		FUZZ_CHECK(rc == 0 || *err.msg != '\0');
	}
	if (schema != NULL) {
		(void)neap_schema_rules(schema, NULL, NULL);
		if (json_is_array(json) && json_array_size(json) > 1)
			check_object(schema, json_array_get(json, 1));
		check_document(schema);
	}
	neap_schema_free(schema);
	json_decref(json);
	free(causes);
	fuzz_in_done(&in);
	return 0;
}
