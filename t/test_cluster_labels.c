/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "t/lib/cluster_rig.h"

/* More labels than columns are kept of, and more values than are remembered. */
static void test_many_labels(void **state)
{
	struct neap_cluster *cluster = cluster_new();
	char key[16], meta[96];

	(void)state;
	for (int i = 0; i < 3 * NEAP_CLUSTER_LABELS_MAX; i++) {
		const struct neap_label_column *column;

		(void)snprintf(key, sizeof(key), "k%d", i);
		(void)snprintf(meta, sizeof(meta), "'labels':{'k%d':'v','t':'t%d'}", i,
			       i);
		(void)cluster_set_node(cluster, "n", meta, "{}", "'pods':'1'");
		column = neap_cluster_label(cluster, key);
		assert_non_null(column);
		assert_int_equal(column->at[0], 1);
		column = neap_cluster_label(cluster, "t");
		assert_non_null(column);
		assert_true(column->at[0] > 0 && column->at[0] < column->end);
		assert_true(column->end < 80);
		neap_cluster_trim_labels(cluster);
	}
	neap_cluster_remove_node(cluster, "n");
	(void)cluster_set_node(cluster, "m", "", "{}", "'pods':'1'");
	assert_int_equal(neap_cluster_label(cluster, "t")->at[0], 0);
	neap_cluster_free(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
