/* SPDX-License-Identifier: Apache-2.0
 *
 * ReplicaSets beside very many pods, labels and other sets: what takes long comes in
 * pieces, counted in the steps of a turn of the loop, and what is done in the end is the
 * same. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/patience.h"
#include "t/lib/sets_rig.h"

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, sets_setup, sets_teardown)

#define LABELS 1000
#define RULES  60 /* of a selector, and one or two more */

/* filling: of each pod, in an annotation; -1: in labels, as many as there may be. */
static void add_strays(struct sets_rig *rig, int count, int filling)
{
	neap_auto_buf struct neap_buf body = {0};

	for (int i = 0; i < count; i++) {
		neap_buf_init(&body, 1024 * 1024);
		neap_buf_addf(&body, "{'metadata':{'name':'p-%d','annotations':{'x':'",
			      i);
		for (int k = 0; k < filling; k++)
			neap_buf_addc(&body, 'x');
		neap_buf_adds(&body, "'},'labels':{'a':'b'");
		for (int k = 0; filling < 0 && k < LABELS; k++)
			neap_buf_addf(&body, ",'l%04d':''", k);
		neap_buf_adds(&body,
			      "}},'spec':{'containers':[{'name':'c','image':'i'}]}}");
		assert_false(neap_buf_failed(&body));
		sets_must(rig, "POST " PODS, body.data, 201);
		neap_buf_done(&body);
	}
}

/* Each look asks for the time once. */
static int looks;

static int64_t count_look(void)
{
	looks++;
	return kube_now;
}

/* A set finds so many pods that it may adopt when its loop starts. */
static void start_beside(struct sets_rig *rig, int pods, int filling)
{
	struct neap_workload_config config = workload_config(rig->kube);
	char set[512];

	config.now = count_look;
	neap_replicasets_free(rig->sets);
	add_strays(rig, pods, filling);
	(void)snprintf(set, sizeof(set), SET("web", % d), pods);
	sets_must(rig, "POST " SETS, set, 201);
	looks = 0;
	assert_int_equal(neap_replicasets_new(&config, &rig->sets, NULL), 0);
}

static void ends_well(struct sets_rig *rig, int pods)
{
	char want[32];

	(void)snprintf(want, sizeof(want), "status.replicas=%d", pods);
	sets_until(rig, (struct kube_step){"GET " SETS "/web", NULL, 200, {want}});
	assert_int_equal(sets_count_pods(rig), pods);
	assert_int_equal(sets_count_owned(rig), pods);
}

/* Pods are adopted in pieces, too, and nothing is made or deleted before all are. */
static void test_adopt_many(void **state)
{
	const int pods = NEAP_REPLICASET_PIECE * 5 / 4;
	struct sets_rig *rig = *state;

	start_beside(rig, pods, 0);
	for (int before = 0, owned; before < pods; before = owned) {
		assert_true(comes_true_in(rig->kube->base,
					  (owned = sets_count_owned(rig)) > before));
		assert_in_range(owned, 1, looks * NEAP_REPLICASET_PIECE);
	}
	ends_well(rig, pods);
}

/* The most steps that a turn may take: what it did last was no more than half as much as
 * all it may. */
#define MOST (NEAP_STEPS * 3 / 2)

/* No turn reads so many pods that others wait for it; the next one knows them. */
static void test_read_many(void **state)
{
	enum { FILLING = 20000, PODS_READ = NEAP_STEPS / (FILLING / 4) + 10 };
	struct sets_rig *rig = *state;

	start_beside(rig, PODS_READ, FILLING);
	assert_true(comes_true_in(rig->kube->base, sets_count_owned(rig) > 0));
	assert_in_range(looks, 2, INT_MAX);
	ends_well(rig, PODS_READ);
	assert_in_range(neap_feed_most_steps(rig->sets->feed), 1, MOST);
}

/* A selector of as many rules as there may be, over pods of as many labels: the first
 * found pods wait for the last ones. The last rule alone fails, of all pods but one. */
static void test_select_many(void **state)
{
	enum { MANY = NEAP_STEPS / (RULES * 10) + 20 };
	neap_auto_buf struct neap_buf set = {0};
	struct sets_rig *rig = *state;
	struct neap_workload_config config = workload_config(rig->kube);

	config.now = count_look;
	neap_replicasets_free(rig->sets);
	add_strays(rig, MANY, -1);
	sets_must(rig, "MERGE " PODS "/p-7", "{'metadata':{'labels':{'last':''}}}", 200);
	neap_buf_init(&set, 1024 * 1024);
	neap_buf_adds(&set, "{'metadata':{'name':'web'},'spec':{'replicas':1,'selector':{"
			    "'matchExpressions':[");
	for (int i = 0; i < RULES; i++)
		neap_buf_addf(&set, "{'key':'l%04d','operator':'Exists'},", i);
	neap_buf_adds(&set,
		      "{'key':'last','operator':'Exists'}]},'template':{'metadata':{"
		      "'labels':{'last':''");
	for (int i = 0; i < RULES; i++)
		neap_buf_addf(&set, ",'l%04d':''", i);
	neap_buf_adds(&set, "}},'spec':{'containers':[{'name':'c','image':'i'}]}}}}");
	sets_must(rig, "POST " SETS, set.data, 201);
	looks = 0;
	assert_int_equal(neap_replicasets_new(&config, &rig->sets, NULL), 0);
	sets_until(rig, (struct kube_step){
				"GET " SETS "/web",
				NULL,
				200,
				{"status.replicas=1", "status.fullyLabeledReplicas=1"}});
	assert_int_equal(sets_count_owned(rig), 1);
	assert_int_equal(sets_count_pods(rig), MANY);
	assert_in_range(looks, 3, INT_MAX);
	assert_in_range(neap_feed_most_steps(rig->sets->feed), 1, MOST);
}

static void add_rules(struct neap_buf *body, const char *format)
{
	for (int i = 0; i < RULES; i++)
		neap_buf_addf(body, format, i);
}

/* Whose a pod may be is asked of so many sets that it takes several turns; none is left
 * out. */
static void test_many_sets_ask(void **state)
{
	enum { SETS_MANY = NEAP_STEPS / (RULES * 10) + 20, PODS_MANY = 3 };
	struct sets_rig *rig = *state;

	for (int i = 0; i < SETS_MANY; i++) {
		neap_auto_buf struct neap_buf body = {0};

		neap_buf_init(&body, 1024 * 1024);
		neap_buf_addf(&body,
			      "{'metadata':{'name':'s-%d'},'spec':{'replicas':0,"
			      "'selector':{'matchLabels':{'s':'%d'},'matchExpressions':[",
			      i, i);
		add_rules(&body, "{'key':'l%04d','operator':'Exists'},");
		neap_buf_addf(&body,
			      "{'key':'s','operator':'Exists'}]},'template':{'metadata':{"
			      "'labels':{'s':'%d'",
			      i);
		add_rules(&body, ",'l%04d':''");
		neap_buf_adds(&body,
			      "}},'spec':{'containers':[{'name':'c','image':'i'}]}}}}");
		sets_must(rig, "POST " SETS, body.data, 201);
	}
	workload_settle(rig->kube, NULL, NULL);
	for (int i = 0; i < PODS_MANY; i++) {
		neap_auto_buf struct neap_buf pod = {0};

		neap_buf_init(&pod, 1024 * 1024);
		neap_buf_addf(&pod, "{'metadata':{'name':'p-%d','labels':{'s':'%d'", i,
			      i * (SETS_MANY - 1) / (PODS_MANY - 1));
		for (int k = 0; k < LABELS; k++)
			neap_buf_addf(&pod, ",'l%04d':''", k);
		neap_buf_adds(&pod,
			      "}},'spec':{'containers':[{'name':'c','image':'i'}]}}");
		sets_must(rig, "POST " PODS, pod.data, 201);
	}
	/* Each set takes its own, and deletes it, as it wants none. */
	assert_true(comes_true_in(rig->kube->base, sets_count_pods(rig) == 0));
	assert_in_range(neap_feed_most_steps(rig->sets->feed), 1, MOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(adopt_many),
		TEST(read_many),
		TEST(select_many),
		TEST(many_sets_ask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
