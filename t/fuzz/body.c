/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies of JSON: what jansson takes is taken and means the same, also where a member
 * stands twice, which is told then and only then; what only numbers kept out comes in as
 * a real one. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/request/call.h"
#include "t/fuzz/lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of its own size, so that one byte too many is seen. */
	char *text = malloc(size ? size : 1), path[BODY_PATH];
	json_t *got = NULL, *wanted, *strict;
	json_error_t where;
	bool is_twice;
	int code;

	FUZZ_CHECK(text != NULL);
	memcpy(text, data, size);
	wanted = json_loadb(text, size, 0, &where);
	strict = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
	code = body_json_read(text, size, &got, &is_twice, path, &where);
	FUZZ_CHECK(strlen(path) < sizeof(path));
	if (wanted) {
		FUZZ_CHECK(code == 0 && json_equal(got, wanted));
		FUZZ_CHECK(is_twice == !strict);
	}
	if (code == 0)
		json_decref(got);
	json_decref(wanted);
	json_decref(strict);
	free(text);
	return 0;
}
