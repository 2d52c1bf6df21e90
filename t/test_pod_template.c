/* SPDX-License-Identifier: Apache-2.0
 *
 * Templates of pods: which are the same, and the texts that tell them apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/workload/loop/pod_template.h"
#include "engine/base/base.h"

static void test_templates(void **state)
{
	static const struct {
		const char *a, *b;
		bool is_same;
	} rows[] = {
		{"{\"spec\":{\"x\":1}}", "{\"spec\":{\"x\":1}}", true},
		{"{\"spec\":{\"x\":1}}", "{\"spec\":{\"x\":2}}", false},
		{"{\"metadata\":{\"labels\":{\"a\":\"b\"}}}",
		 "{\"metadata\":{\"labels\":{\"a\":\"b\",\"pod-template-hash\":\"x\"},"
		 "\"creationTimestamp\":null}}",
		 true},
		{"{\"spec\":{\"x\":1}}",
		 "{\"metadata\":{\"labels\":{\"pod-template-hash\":\"x\"}},\"spec\":{\"x\":"
		 "1,\"y\":[],\"nodeSelector\":{},\"c\":[{\"resources\":{}}]}}",
		 false},
		{"{\"spec\":{\"c\":[{}]}}",
		 "{\"metadata\":{\"annotations\":{}},\"spec\":{\"c\":[{\"resources\":{"
		 "\"limits\":{}}}],\"y\":null}}",
		 true},
		{"{\"spec\":{\"labelSelector\":{}}}", "{\"spec\":{}}", false},
		/* An amount by what it is. */
		{"{\"spec\":{\"c\":[{\"resources\":{\"limits\":{\"cpu\":1,\"m\":\"1024Mi\"}}}]}}",
		 "{\"spec\":{\"c\":[{\"resources\":{\"limits\":{\"cpu\":\"1000m\",\"m\":"
		 "\"1Gi\"}}}]}}",
		 true},
		{"{\"spec\":{\"c\":[{\"resources\":{\"limits\":{\"cpu\":1}}}]}}",
		 "{\"spec\":{\"c\":[{\"resources\":{\"limits\":{\"cpu\":2}}}]}}", false},
		{"{\"spec\":{\"args\":[\"1\"]}}", "{\"spec\":{\"args\":[\"1000m\"]}}",
		 false},
		{"{\"spec\":{\"c\":[1,2]}}", "{\"spec\":{\"c\":[2,1]}}", false},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *a = json_loads(rows[i].a, 0, NULL);
		json_t *b = json_loads(rows[i].b, 0, NULL);
		char x[NEAP_TEMPLATE_HASH_MAX], y[NEAP_TEMPLATE_HASH_MAX];
		char z[NEAP_TEMPLATE_HASH_MAX];
		uint8_t left[NEAP_SHA256_BYTES], right[NEAP_SHA256_BYTES];

		assert_non_null(a);
		assert_non_null(b);
		assert_true(neap_template_hash(a, 0, x));
		assert_true(neap_template_hash(b, 0, y));
		assert_true(neap_template_hash(a, 1, z));
		assert_true(neap_template_digest(a, left));
		assert_true(neap_template_digest(b, right));
		if ((memcmp(left, right, sizeof(left)) == 0) != rows[i].is_same ||
		    (strcmp(x, y) == 0) != rows[i].is_same || strcmp(x, z) == 0)
			fail_msg("%s and %s: %s, %s", rows[i].a, rows[i].b, x, y);
		assert_int_equal(strspn(x, "bcdfghjklmnpqrstvwxz2456789"), strlen(x));
		json_decref(a);
		json_decref(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_templates)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
