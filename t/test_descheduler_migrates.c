/* SPDX-License-Identifier: Apache-2.0
 *
 * What the filter of MigrationController answers in a round: the jobs that the round asks
 * for count for the pods behind them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/base.h"
#include "engine/migrate/limiter.h"
#include "t/lib/descheduler_rig.h"

#define MIGRATION(gates, plugins, more)                                                  \
	"apiVersion: descheduler/v1alpha2\n"                                             \
	"kind: DeschedulerConfiguration\n"                                               \
	"profiles:\n"                                                                    \
	"- name: k\n"                                                                    \
	"  pluginConfig:\n"                                                              \
	"  - name: MigrationController\n"                                                \
	"    args: {skipCheckExpectedReplicas: true, skipEvictionGates: "                \
	"[MaxUnavailablePerWorkload" gates "]}\n"                                        \
	"  plugins:\n"                                                                   \
	"    balance: {enabled: [" plugins "]}\n" more
#define ANY_OF_WORKLOAD ", MaxMigratingPerWorkload"
/* So long after an eviction nothing rests. */
#define REST (INT64_C(2) * 3600 * SECOND)

static const char *const served[] = {"default-scheduler", NULL};

static struct descheduler_rig *begin(void **state)
{
	struct descheduler_rig *rig = *state;

	for (int i = 0; i < 4; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "p%d", i);
		descheduler_pod(rig, name, "n1");
	}
	rig->config.schedulers = served;
	descheduler_begin(rig);
	return rig;
}

/* Two jobs a node are the default. */
static void test_per_node(void **state)
{
	struct descheduler_rig *rig = begin(state);
	json_t *status;

	descheduler_use(rig, MIGRATION(ANY_OF_WORKLOAD, "{name: MoveAll}", ""));
	for (int i = 1; i <= 2; i++) {
		status = i == 1 ? descheduler_rounds(rig, 1) : descheduler_run(rig, i);
		WANTS(status, "#round.evicted=2", "round.evicted.0.pod=p0",
		      "round.evicted.1.pod=p1", "#round.stayed=2",
		      "round.stayed.0.outcome=kept",
		      "round.stayed.0.reason=MigrationController: MaxMigratingPerNode",
		      "round.stayed.1.pod=p3");
		json_decref(status);
		/* Nobody made jobs of what the round asked for. */
		descheduler_now += REST;
	}
}

static void test_per_workload(void **state)
{
	struct descheduler_rig *rig = begin(state);
	json_t *status;

	descheduler_must(rig, "MERGE /apis/apps/v1/namespaces/default/replicasets/r",
			 "{'spec':{'replicas':1}}", 200);
	descheduler_use(rig, MIGRATION("", "{name: MoveAll}", ""));
	status = descheduler_rounds(rig, 1);
	WANTS(status, "#round.evicted=1",
	      "round.stayed.0.reason=MigrationController: MaxMigratingPerWorkload");
	json_decref(status);
}

/* What only tells leaves the limits to those that act. */
static void test_dry_plugin(void **state)
{
	static const char tells[] =
		"return { api = 1, kind = 'deschedule', name = 'tells', plugin = 'Tells',\n"
		"  point = 'balance', run = function(ctx, round)\n"
		"    for _, pod in ipairs(round:pods()) do round:evict(pod, 'x') end\n"
		"  end }\n";
	struct descheduler_rig *rig = begin(state);
	json_t *status;

	descheduler_upload(rig, tells);
	descheduler_use(rig, MIGRATION(ANY_OF_WORKLOAD, "{name: Tells}, {name: MoveAll}",
				       "neap: {dryRunPlugins: [Tells]}\n"));
	status = descheduler_rounds(rig, 1);
	WANTS(status, "#round.evicted=4", "round.evicted.1.strategy=Tells",
	      "round.evicted.2.strategy=MoveAll", "round.evicted.2.pod=p0");
	json_decref(status);
	assert_string_equal(rig->wished, "p0:MoveAll p1:MoveAll ");
}

static struct neap_limiter *used_up(void *arg)
{
	const struct descheduler_rig *rig = arg;
	struct neap_limiter *limiter = neap_limiter_new();

	neap_limiter_take(limiter, rig->owner, 1, INT64_C(300) * SECOND, 1,
			  descheduler_now);
	return limiter;
}

static void test_limiter(void **state)
{
	struct descheduler_rig *rig = *state;
	json_t *status;

	descheduler_must(rig, "MERGE /apis/apps/v1/namespaces/default/replicasets/r",
			 "{'spec':{'replicas':1}}", 200);
	rig->config.limiter = used_up;
	(void)begin(state);
	descheduler_use(rig, MIGRATION("", "{name: MoveAll}", ""));
	status = descheduler_rounds(rig, 1);
	WANTS(status, "#round.evicted=0", "#round.stayed=4",
	      "round.stayed.0.reason=MigrationController: ObjectLimiter");
	json_decref(status);
}

/* --- nodeFit of jobs --- */

static void wants_elsewhere(struct descheduler_rig *rig, const char *selector,
			    enum neap_elsewhere want)
{
	json_t *json = *selector ? json_pack("{s:s}", "nodeSelector", selector) : NULL;
	struct neap_migrate_args args = {0};
	struct neap_error err = {0};

	if (neap_migrate_args_init(&args, json, &err) < 0)
		fail_msg("%s", err.msg);
	while (!kube_is_at_rest(rig->kube)) {
	}
	assert_int_equal(
		neap_descheduler_fits_elsewhere(rig->descheduler, &args, "default", "p0"),
		want);
	neap_migrate_args_done(&args);
	json_decref(json);
}

/* Of what the snapshot has taken so far, between rounds; while one runs nobody knows. */
static void test_elsewhere(void **state)
{
	struct descheduler_rig *rig = begin(state);
	struct neap_error err = {0};

	wants_elsewhere(rig, "", NEAP_ELSEWHERE_UNKNOWN); /* begins to read */
	wants_elsewhere(rig, "", NEAP_ELSEWHERE_FITS);
	wants_elsewhere(rig, "tier=x", NEAP_ELSEWHERE_NO);
	descheduler_must(rig, "MERGE /api/v1/nodes/n2",
			 "{'metadata':{'labels':{'tier':'x'}}}", 200);
	wants_elsewhere(rig, "tier=x", NEAP_ELSEWHERE_FITS);
	/* It has four CPUs. */
	for (int i = 0; i < 4; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "q%d", i);
		descheduler_pod(rig, name, "n2");
		wants_elsewhere(rig, "", i < 3 ? NEAP_ELSEWHERE_FITS : NEAP_ELSEWHERE_NO);
	}
	descheduler_must(rig, "DELETE " PODS "/q0", NULL, 200);
	wants_elsewhere(rig, "", NEAP_ELSEWHERE_FITS);
	descheduler_use(rig, MIGRATION(ANY_OF_WORKLOAD, "", ""));
	json_decref(descheduler_rounds(rig, 1));
	wants_elsewhere(rig, "", NEAP_ELSEWHERE_FITS);
	assert_int_equal(neap_descheduler_run(rig->descheduler, "nobody", &err), 0);
	assert_int_equal(neap_descheduler_fits_elsewhere(rig->descheduler,
							 &(struct neap_migrate_args){0},
							 "default", "p0"),
			 NEAP_ELSEWHERE_UNKNOWN);
	json_decref(descheduler_rounds(rig, 2));
	descheduler_must(rig, "MERGE /api/v1/nodes/n2/status",
			 "{'status':{'conditions':[{'type':'Ready','status':'False'}]}}",
			 200);
	wants_elsewhere(rig, "", NEAP_ELSEWHERE_NO);
	descheduler_must(rig, "DELETE /api/v1/nodes/n2", NULL, 200);
	wants_elsewhere(rig, "", NEAP_ELSEWHERE_NO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_per_node, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_per_workload, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_dry_plugin, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_limiter, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_elsewhere, descheduler_setup,
						descheduler_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
