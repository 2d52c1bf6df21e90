/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between loop and hand, in both directions. There is one way only to write a
 * message: what is taken gives the same bytes again. */
#include <string.h>

#include "hw/hand/wire.h"
#include "t/fuzz/lib/fuzz.h"

static unsigned char again[NEAP_WIRE_MAX];

static void check_request(const void *msg, size_t len)
{
	struct neap_hand_request request;
	struct neap_error err = {0};
	size_t again_len = 0;

	if (neap_wire_parse_request(msg, len, &request, &err) < 0) {
		FUZZ_CHECK(err.code == NEAP_EINVAL && *err.msg);
		return;
	}
	FUZZ_CHECK(request.fd == -1);
	FUZZ_CHECK(neap_wire_format_request(&request, again, sizeof(again), &again_len,
					    &err) == 0);
	FUZZ_CHECK(again_len == len && memcmp(again, msg, len) == 0);
}

static void check_answer(const void *msg, size_t len)
{
	struct neap_hand_answer answer;
	struct neap_error err = {0};
	size_t again_len = 0;

	if (neap_wire_parse_answer(msg, len, &answer, &err) < 0) {
		FUZZ_CHECK(err.code == NEAP_EINVAL && *err.msg);
		return;
	}
	FUZZ_CHECK(answer.fd == -1);
	FUZZ_CHECK(neap_wire_format_answer(&answer, again, sizeof(again), &again_len,
					   &err) == 0);
	FUZZ_CHECK(again_len == len && memcmp(again, msg, len) == 0);
}

/* A packet of one or more messages. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in;
	size_t len, part, all;
	const char *packet;

	fuzz_in_init(&in, data, size);
	packet = fuzz_rest(&in, &all);
	for (size_t at = 0; at < all; at += part) {
		enum neap_hand_op op;
		uint64_t id;

		len = all - at;
		part = neap_wire_length(packet + at, len);
		FUZZ_CHECK(part > 0 && part <= len);
		neap_wire_guess(packet + at, part, &id, &op);
		FUZZ_CHECK((unsigned)op < NEAP_HAND_OP_COUNT);
		check_request(packet + at, part);
		check_answer(packet + at, part);
	}
	fuzz_in_done(&in);
	return 0;
}
