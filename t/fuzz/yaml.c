/* SPDX-License-Identifier: Apache-2.0
 *
 * YAML of manifests. Either a message names the file, or there are documents within all
 * bounds, which come back from their own JSON: JSON in ASCII is YAML, but for pairs of
 * surrogates, DEL and very long keys. */
#include <stdlib.h>
#include <string.h>

#include "api/yaml/yaml.h"
#include "engine/json/json.h"
#include "t/fuzz/lib/fuzz.h"

/* How deep a value is; counts what is in it. */
static size_t depth_of(json_t *value, size_t *count)
{
	size_t deepest = 0, one, i;
	const char *key;
	json_t *item;

	++*count;
	json_array_foreach (value, i, item) {
		one = depth_of(item, count);
		deepest = one > deepest ? one : deepest;
	}
	json_object_foreach (value, key, item) {
		one = depth_of(item, count);
		deepest = one > deepest ? one : deepest;
	}
	return json_is_array(value) || json_is_object(value) ? deepest + 1 : 0;
}

static void check_again(const json_t *documents)
{
	char *text = neap_json_dump(documents, JSON_COMPACT | JSON_ENSURE_ASCII);
	struct neap_error err = {0};
	json_t *again = NULL;

	FUZZ_CHECK(text != NULL);
	/* One document, as deep by one. */
	if (neap_yaml_parse(text, strlen(text), "again", &again, &err) == 0)
		FUZZ_CHECK(json_array_size(again) == 1 &&
			   json_equal(json_array_get(again, 0), documents));
	json_decref(again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct neap_error err = {0};
	json_t *documents = NULL, *document;
	struct fuzz_in in;
	const char *text;
	size_t len, count, i;
	int r;

	fuzz_in_init(&in, data, size);
	text = fuzz_rest(&in, &len);
	r = neap_yaml_parse(text, len, "fuzz.yaml", &documents, &err);
	if (r < 0) {
		FUZZ_CHECK(documents == NULL && (int)err.code == -r);
		FUZZ_CHECK(r == -NEAP_EINVAL || r == -NEAP_ETOOLARGE);
		FUZZ_CHECK(strncmp(err.msg, "fuzz.yaml:", 10) == 0);
	} else {
		FUZZ_CHECK(json_array_size(documents) <= NEAP_YAML_DOCUMENTS);
		count = 0;
		json_array_foreach (documents, i, document) {
			FUZZ_CHECK(!json_is_null(document));
			FUZZ_CHECK(depth_of(document, &count) <= NEAP_YAML_DEPTH);
		}
		FUZZ_CHECK(count <= NEAP_YAML_VALUES);
		check_again(documents);
	}
	json_decref(documents);
	fuzz_in_done(&in);
	return 0;
}
