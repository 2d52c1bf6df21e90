/* SPDX-License-Identifier: Apache-2.0
 *
 * The detector of LowNodeLoad: which marks make a node anomalous, and how long it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/deschedule/anomaly.h"

static void test_anomalies(void **state)
{
	const struct neap_anomaly_rule rule = {2, 2, 10};
	struct neap_anomalies *anomalies = neap_anomalies_new();
	struct neap_error err;
	bool is;

	(void)state;
	/* A good mark between two bad ones ends the row. */
	assert_int_equal(neap_anomalies_mark(anomalies, "n", &rule, false, 1, &is, &err),
			 0);
	assert_int_equal(neap_anomalies_mark(anomalies, "n", &rule, true, 2, &is, &err),
			 0);
	assert_int_equal(neap_anomalies_mark(anomalies, "n", &rule, false, 3, &is, &err),
			 0);
	assert_false(is);
	assert_int_equal(neap_anomalies_mark(anomalies, "n", &rule, false, 4, &is, &err),
			 0);
	assert_true(is);
	assert_int_equal(neap_anomalies_mark(anomalies, "m", &rule, true, 4, &is, &err),
			 0);
	assert_int_equal(neap_anomalies_count(anomalies), 1);
	assert_true(neap_anomalies_is(anomalies, "n", 13));
	assert_false(neap_anomalies_is(anomalies, "n", 14));
	neap_anomalies_forget(anomalies, 4);
	assert_int_equal(neap_anomalies_count(anomalies), 1);
	neap_anomalies_forget(anomalies, 5);
	assert_int_equal(neap_anomalies_count(anomalies), 0);
	neap_anomalies_free(anomalies);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_anomalies),
	};

	return cmocka_run_group_tests_name("anomaly", tests, NULL, NULL);
}
