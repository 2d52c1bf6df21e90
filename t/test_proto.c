/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing protobuf: lengths of one, two and three bytes, and what does not fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/kube/openapi/proto.h"
#include "engine/base/mem.h"
#include "t/lib/proto.h"

static void test_lengths(void **state)
{
	static const size_t sizes[] = {0,   1,     124,   125,   126,   127,
				       128, 16000, 16380, 16381, 16390, 70000};
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(sizes); i++) {
		struct neap_buf buf;
		char *text = neap_alloc(sizes[i] + 1);
		struct proto_span in, inner;
		size_t outer, len;

		assert_non_null(text);
		memset(text, 'x', sizes[i]);
		neap_buf_init(&buf, NEAP_BUF_FILE);
		outer = neap_proto_begin(&buf, 31);
		neap_proto_text(&buf, 1, text);
		neap_proto_bool(&buf, 2, true);
		neap_proto_end(&buf, outer);
		in = (struct proto_span){(unsigned char *)buf.data,
					 (unsigned char *)buf.data + buf.len};
		assert_int_equal(proto_varint(&in), 31 << 3 | 2);
		len = proto_varint(&in);
		assert_int_equal(len, in.end - in.at);
		inner = in;
		assert_int_equal(proto_varint(&inner), 1 << 3 | 2);
		assert_int_equal(proto_varint(&inner), sizes[i]);
		assert_memory_equal(inner.at, text, sizes[i]);
		assert_int_equal(inner.end - inner.at, sizes[i] + 2);
		assert_int_equal(inner.at[sizes[i]], 2 << 3);
		assert_int_equal(inner.at[sizes[i] + 1], 1);
		free(text);
		neap_buf_done(&buf);
	}
}

/* A message that does not fit is lost as a whole, and so is what comes after. */
static void test_ceiling(void **state)
{
	struct neap_buf buf;
	size_t outer;

	(void)state;
	neap_buf_init(&buf, 8);
	outer = neap_proto_begin(&buf, 1);
	neap_proto_text(&buf, 1, "1234567");
	neap_proto_end(&buf, outer);
	assert_true(neap_buf_failed(&buf));
	neap_proto_text(&buf, 1, "");
	assert_true(neap_buf_failed(&buf));
	neap_buf_done(&buf);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
