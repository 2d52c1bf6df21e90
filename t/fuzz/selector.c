/* SPDX-License-Identifier: Apache-2.0
 *
 * Label selectors and maps of labels as JSON, and what they match. A selector is a block
 * without pointers: a copy of its bytes must answer the same. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/selector.h"
#include "t/fuzz/lib/fuzz.h"

static void check(const json_t *json, const json_t *labels,
		  int (*parse)(const json_t *json, struct neap_selector **ret,
			       struct neap_error *err))
{
	struct neap_selector *selector = NULL, *copy;
	struct neap_error err = {0};
	int rc = parse(json, &selector, &err);

	if (rc < 0) {
		FUZZ_CHECK(!selector && *err.msg &&
			   (err.code == NEAP_EINVAL || err.code == NEAP_ETOOLARGE));
		return;
	}
	copy = malloc(neap_selector_size(selector));
	FUZZ_CHECK(copy != NULL);
	memcpy(copy, selector, neap_selector_size(selector));
	FUZZ_CHECK(neap_selector_matches(selector, labels) ==
		   neap_selector_matches(copy, labels));
	free(copy);
	/* All labels that must be there are. */
	if (parse == neap_selector_parse_map)
		FUZZ_CHECK(neap_selector_matches(selector, json));
	neap_selector_free(selector);
}

/* A list of two: the selector and the labels; anything else is a selector. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in;
	json_t *json, *selector, *labels = NULL;

	fuzz_in_init(&in, data, size);
	json = fuzz_rest_json(&in);
	selector = json_is_array(json) ? json_array_get(json, 0) : json;
	if (json_is_array(json) && json_is_object(json_array_get(json, 1)))
		labels = json_array_get(json, 1);
	if (selector) {
		check(selector, labels, neap_selector_parse);
		check(selector, labels, neap_selector_parse_map);
	}
	json_decref(json);
	fuzz_in_done(&in);
	return 0;
}
