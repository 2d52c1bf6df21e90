/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies in the protobuf of Kubernetes: an error with its word, or an object that JSON
 * can tell. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/openapi/protobuf.h"
#include "t/fuzz/lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in;
	struct neap_error err = {0};
	json_t *object = NULL, *again;
	const char *body;
	char *text;
	size_t len;
	int rc;

	fuzz_in_init(&in, data, size);
	body = fuzz_rest(&in, &len);
	rc = neap_protobuf_decode(body, len, &object, &err);
	if (rc < 0) {
		FUZZ_CHECK(!object && *err.msg);
		FUZZ_CHECK(err.code == NEAP_EINVAL || err.code == NEAP_EUNSUPPORTED);
	} else {
		FUZZ_CHECK(json_is_string(json_object_get(object, "kind")));
		text = json_dumps(object, 0);
		FUZZ_CHECK(text != NULL);
		again = json_loads(text, 0, NULL);
		FUZZ_CHECK(json_equal(again, object));
		json_decref(again);
		free(text);
	}
	json_decref(object);
	fuzz_in_done(&in);
	return 0;
}
