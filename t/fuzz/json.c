/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON as it is read and written without jansson: what is taken is what jansson takes,
 * and means and reads the same. */
#include <stdlib.h>
#include <string.h>

#include "engine/json/json.h"
#include "engine/json/json_fast.h"
#include "t/fuzz/lib/fuzz.h"

static void compare(const char *text, size_t len, size_t flags)
{
	json_error_t where;
	json_t *fast = neap_json_parse_fast(text, len, flags);
	json_t *wanted = json_loadb(text, len, flags, &where);
	neap_auto_buf struct neap_buf out = {0};
	char *dumped = wanted ? json_dumps(wanted, JSON_COMPACT) : NULL;

	neap_buf_init(&out, NEAP_BUF_REPLY);
	FUZZ_CHECK(!fast || wanted);
	FUZZ_CHECK(!fast || json_equal(fast, wanted));
	if (wanted && neap_json_dump_fast(wanted, JSON_COMPACT, &out))
		FUZZ_CHECK(dumped && strcmp(out.data, dumped) == 0);
	neap_buf_clear(&out);
	if (fast && neap_json_dump_fast(fast, JSON_COMPACT, &out))
		FUZZ_CHECK(dumped && strcmp(out.data, dumped) == 0);
	free(dumped);
	json_decref(fast);
	json_decref(wanted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of its own size, so that one byte too many is seen. */
	char *text = malloc(size ? size : 1);

	FUZZ_CHECK(text != NULL);
	memcpy(text, data, size);
	compare(text, size, 0);
	compare(text, size, JSON_REJECT_DUPLICATES);
	free(text);
	return 0;
}
