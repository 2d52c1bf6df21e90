/* SPDX-License-Identifier: Apache-2.0
 *
 * What the extender answers of nodes that policies refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/extender/extender_priv.h"
#include "t/lib/extender_rig.h"
#include "t/lib/patience.h"
#include "t/lib/place_rig.h"

/* What filter says of nodes a, b, ... that are asked about in this order. */
static json_t *filter_rows(struct place_rig *rig, const struct neap_pod *pod,
			   const char *order)
{
	neap_auto_buf struct neap_buf out = {0};
	struct neap_extender extender = {0};
	struct question question = {
		.extender = &extender,
		.view = {.cluster = rig->cluster, .decide = rig->decide}};
	struct neap_text names[8];
	struct neap_verdict verdict;
	struct neap_error err;
	char body[64] = "";
	uint32_t rows[8];
	size_t count = strlen(order);
	json_t *json;

	for (size_t i = 0; i < count; i++) {
		(void)snprintf(body + 4 * i, 5, "\"%c\",", order[i]);
		names[i] = (struct neap_text){body + 4 * i + 1, 1};
		rows[i] = (uint32_t)(order[i] - 'a');
	}
	question.args.names = names;
	question.args.count = count;
	question.rows = rows;
	neap_buf_init(&out, NEAP_BUF_LINE);
	assert_int_equal(neap_decide_rows(rig->decide, pod, rows, count, &verdict, &err),
			 0);
	answer_filter(&question, &verdict, &out);
	likely_done(&extender.likely);
	json = json_loads(out.data, 0, NULL);
	assert_non_null(json);
	return json;
}

/* Of nodes that a policy refuses, and of those that a filter of neap's does, each is
 * told, whatever the order. */
static void test_policies(void **state)
{
	static const char *const orders[] = {"abcdef", "fedcba", "beadfc", "acfbed"};
	static const char *const want[] = {
		"#NodeNames=1",
		"NodeNames.0=c",
		"!FailedNodes.c",
		"FailedNodes.a=node(s) not allowed by policy no: not here",
		"FailedNodes.b=node(s) were unschedulable",
		"FailedNodes.d=node(s) not allowed by policy no: not here",
		"FailedNodes.e=Insufficient cpu, Too many pods",
		"FailedNodes.f=node(s) not allowed by policy no: not here",
		"!FailedAndUnresolvableNodes.a",
		"!FailedAndUnresolvableNodes.e",
		"FailedAndUnresolvableNodes.b=node(s) were unschedulable"};
	struct place_rig *rig = place_new();
	struct neap_pod *pod;

	(void)state;
	place_put(rig, "filter", "no", 0,
		  "needs = {'node.name'}, allow = function(ctx, pod, node) "
		  "return node.name == 'c', 'not here' end");
	for (int i = 0; i < 6; i++)
		(void)cluster_set_node(rig->cluster, (char[]){(char)('a' + i), '\0'}, "",
				       i == 1 ? "{'unschedulable':true}" : "{}",
				       i == 4 ? "'cpu':'1','pods':'0'"
					      : "'cpu':'10','pods':'110'");
	pod = cluster_pod(neap_cluster_resources(rig->cluster), "p", "",
			  "{'containers':[{'resources':{'requests':{'cpu':'6'}}}]}",
			  "{}");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(orders); i++) {
		json_t *json = filter_rows(rig, pod, orders[i]);

		for (size_t n = 0; n < NEAP_ARRAY_LEN(want); n++)
			if (kube_differs(json, want[n]))
				fail_msg("%s: %s", orders[i],
					 kube_differs(json, want[n]));
		json_decref(json);
	}
	(void)neap_pod_unref(pod);
	place_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_policies),
	};

	patience_with_scripts();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
