/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers of a Prometheus. Either a message says what is wrong, or there are nodes with
 * names and figures from 0 to 1. */
#include <string.h>

#include "api/deschedule/play/samples.h"
#include "t/fuzz/lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct neap_samples *samples = NULL;
	struct neap_error err = {0};
	struct fuzz_in in;
	const char *text;
	size_t len;
	int r;

	fuzz_in_init(&in, data, size);
	text = fuzz_rest(&in, &len);
	r = neap_samples_parse(text, len, &samples, &err);
	if (r < 0) {
		FUZZ_CHECK(samples == NULL && (int)err.code == -r);
		FUZZ_CHECK(r == -NEAP_EINVAL || r == -NEAP_ETOOLARGE);
		FUZZ_CHECK(*err.msg);
	} else {
		for (size_t i = 0; i < samples->count; i++)
			FUZZ_CHECK(*samples->list[i].node &&
				   samples->list[i].value >= 0 &&
				   samples->list[i].value <= 1);
	}
	neap_samples_free(samples);
	fuzz_in_done(&in);
	return 0;
}
