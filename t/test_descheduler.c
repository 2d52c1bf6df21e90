/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds of the descheduler: when they are, what they do to pods, what is told. */
#include "t/lib/descheduler_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/log/log.h"
#include "lua/run/registry.h"
#include "t/lib/patience.h"

/* So long after an eviction nothing rests. */
#define REST (INT64_C(2) * 3600 * SECOND)

#define MIGRATION                                                                        \
	"apiVersion: descheduler/v1alpha2\n"                                             \
	"kind: DeschedulerConfiguration\n"                                               \
	"profiles:\n"                                                                    \
	"- name: k\n"                                                                    \
	"  pluginConfig:\n"                                                              \
	"  - name: MigrationController\n"                                                \
	"    args: {skipCheckExpectedReplicas: true, skipEvictionGates: "                \
	"[MaxUnavailablePerWorkload]}\n"                                                 \
	"  plugins:\n"                                                                   \
	"    balance: {enabled: [{name: MoveAll}]}\n"

/* --- rounds --- */

static void test_nothing_without_configuration(void **state)
{
	struct descheduler_rig *rig = *state;
	struct neap_error err = {0};
	json_t *status;

	descheduler_pod(rig, "a", "n1");
	descheduler_begin(rig);
	kube_run(rig->kube, 50);
	status = neap_descheduler_status(rig->descheduler, true);
	WANTS(status, "state=unconfigured", "rounds=0");
	json_decref(status);
	assert_int_equal(neap_descheduler_run(rig->descheduler, "x", &err),
			 -NEAP_ECONFLICT);
	assert_string_equal(descheduler_pods(rig), "a");
}

static void test_evicts(void **state)
{
	struct descheduler_rig *rig = *state;
	neap_auto_buf struct neap_buf metrics = {0};
	json_t *status;

	descheduler_pod(rig, "a", "n1");
	descheduler_pod(rig, "b", "n1");
	descheduler_pod(rig, "c", "n2");
	descheduler_begin(rig);
	descheduler_use(rig, POLICY("keep-b", "balance: {enabled: [MoveAll]}"));
	status = descheduler_rounds(rig, 1);
	WANTS(status, "state=waiting", "source=f.yaml", "form=DeschedulerPolicy",
	      "interval=1m", "#round.evicted=1", "round.evicted.0.pod=a",
	      "round.evicted.0.to=n2", "round.evicted.0.why=it is on n1",
	      "round.evicted.0.result=evicted", "#round.stayed=1", "round.stayed.0.pod=b",
	      "round.stayed.0.outcome=kept", "round.stayed.0.reason=b stays",
	      "round.strategies.0.strategy=MoveAll", "round.strategies.0.result=ok",
	      "round.because=interval", "round.nodes=2", "round.pods=3");
	assert_string_equal(descheduler_pods(rig), "b c");
	json_decref(status);
	descheduler_must(rig, "GET /api/v1/namespaces/default/events", NULL, 200);
	WANTS(rig->kube->body, "#items=1", "items.0.reason=MoveAll",
	      "items.0.involvedObject.name=a",
	      "items.0.message=pod eviction from n1 node by sigs.k8s.io/descheduler");
	neap_buf_init(&metrics, NEAP_BUF_REPLY);
	neap_descheduler_add_metrics(rig->descheduler, &metrics);
	assert_non_null(
		strstr(metrics.data,
		       "descheduler_pods_evicted_total{result=\"success\",strategy="
		       "\"MoveAll\",profile=\"p\",namespace=\"default\",node=\"n1\"} 1"));
	assert_non_null(
		strstr(metrics.data, "descheduler_loop_duration_seconds_count 1"));
	assert_non_null(strstr(metrics.data,
			       "descheduler_strategy_duration_seconds_count{strategy="
			       "\"MoveAll\",profile=\"p\"} 1"));
	/* The next one a minute later, and not before. */
	descheduler_pod(rig, "d", "n1");
	descheduler_now += 59 * SECOND;
	kube_run(rig->kube, 100);
	assert_string_equal(descheduler_pods(rig), "b c d");
	descheduler_now += SECOND;
	assert_int_equal(
		neap_descheduler_run(rig->descheduler, "nobody", &(struct neap_error){0}),
		0);
	status = descheduler_rounds(rig, 2);
	/* It may be what came in place of a; one that moves load lets it be. */
	WANTS(status, "round.because=asked for by nobody", "#round.evicted=0",
	      "round.stayed.1.pod=d",
	      "round.stayed.1.reason~in place of a pod that was evicted lately");
	json_decref(status);
	descheduler_now += REST;
	assert_int_equal(
		neap_descheduler_run(rig->descheduler, "nobody", &(struct neap_error){0}),
		0);
	status = descheduler_rounds(rig, 3);
	WANTS(status, "round.evicted.0.pod=d");
	json_decref(status);
}

static void test_changes(void **state)
{
	struct descheduler_rig *rig = *state;
	json_t *status;

	descheduler_pod(rig, "a", "n2");
	descheduler_begin(rig);
	descheduler_use(
		rig,
		POLICY("",
		       "balance: {enabled: [Changes]}") "neap: {dryRunPlugins: [Changes]}\n");
	status = descheduler_rounds(rig, 1);
	WANTS(status, "#round.changes=3", "round.changes.0.dry_run=true",
	      "!round.changes.0.result");
	json_decref(status);
	descheduler_must(rig, "GET /api/v1/nodes/n1", NULL, 200);
	WANTS(rig->kube->body, "spec.unschedulable=true");
	descheduler_use(rig, POLICY("", "balance: {enabled: [Changes]}"));
	status = descheduler_run(rig, 2);
	WANTS(status, "round.changes.0.change=uncordon", "round.changes.0.node=n1",
	      "round.changes.0.strategy=Changes", "round.changes.0.result=done",
	      "round.changes.1.change=cordon", "round.changes.1.node=n2",
	      "round.changes.2.change=deletion-cost", "round.changes.2.pod=a",
	      "round.changes.2.cost=60", "round.changes.2.result=done");
	json_decref(status);
	descheduler_must(rig, "GET /api/v1/nodes/n1", NULL, 200);
	WANTS(rig->kube->body, "!spec.unschedulable");
	descheduler_must(rig, "GET /api/v1/nodes/n2", NULL, 200);
	WANTS(rig->kube->body, "spec.unschedulable=true");
	descheduler_must(rig, "GET " PODS "/a", NULL, 200);
	assert_string_equal(json_string_value(json_object_get(
				    kube_at(rig->kube->body, "metadata.annotations"),
				    "controller.kubernetes.io/pod-deletion-cost")),
			    "60");
	/* Then there is nothing left to change. */
	assert_int_equal(
		neap_descheduler_run(rig->descheduler, "x", &(struct neap_error){0}), 0);
	status = descheduler_rounds(rig, 3);
	WANTS(status, "#round.changes=0");
	json_decref(status);
}

static void test_no_place(void **state)
{
	struct descheduler_rig *rig = *state;
	json_t *status;

	descheduler_pod(rig, "a", "n1");
	descheduler_pod(rig, "b", "n1");
	for (int i = 0; i < 3; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "c%d", i);
		descheduler_pod(rig, name, "n2");
	}
	descheduler_begin(rig);
	descheduler_use(rig, MOVE);
	/* There is room for one of the two. */
	status = descheduler_rounds(rig, 1);
	WANTS(status, "#round.evicted=1", "#round.stayed=1",
	      "round.stayed.0.outcome=no-place",
	      "round.stayed.0.reason~0/2 nodes are available");
	json_decref(status);
	/* What was tried is undone: the second is found in the same state. */
	descheduler_now += REST;
	descheduler_pod(rig, "c3", "n2");
	assert_int_equal(
		neap_descheduler_run(rig->descheduler, "x", &(struct neap_error){0}), 0);
	status = descheduler_rounds(rig, 2);
	WANTS(status, "#round.evicted=0", "#round.stayed=1",
	      "round.stayed.0.outcome=no-place");
	json_decref(status);
}

static void test_same_node(void **state)
{
	struct descheduler_rig *rig = *state;
	json_t *status;

	descheduler_must(rig, "MERGE /api/v1/nodes/n1", "{'spec':{'unschedulable':null}}",
			 200);
	descheduler_pod(rig, "a", "n1");
	for (int i = 0; i < 4; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "c%d", i);
		descheduler_pod(rig, name, "n2");
	}
	descheduler_begin(rig);
	descheduler_use(rig, MOVE);
	status = descheduler_rounds(rig, 1);
	WANTS(status, "#round.evicted=0", "round.stayed.0.outcome=no-place",
	      "round.stayed.0.reason~would land on the same node");
	json_decref(status);
}

static void test_budgets_and_limits(void **state)
{
	struct descheduler_rig *rig = *state;
	json_t *status;

	for (int i = 0; i < 3; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "a%d", i);
		descheduler_pod(rig, name, "n1");
	}
	rig->config.per_node = 1;
	descheduler_begin(rig);
	descheduler_use(rig, MOVE);
	status = descheduler_rounds(rig, 1);
	WANTS(status, "#round.evicted=1", "#round.stayed=2",
	      "round.stayed.0.outcome=node-limit", "limits.node=1");
	json_decref(status);
}

static void test_failing_strategies(void **state)
{
	struct descheduler_rig *rig = *state;
	json_t *status;

	descheduler_pod(rig, "a", "n1");
	descheduler_begin(rig);
	descheduler_use(rig, POLICY("", "deschedule: {enabled: [Raises, Endless]}\n    "
					"balance: {enabled: [MoveAll]}"));
	status = descheduler_rounds(rig, 1);
	WANTS(status, "round.strategies.0.strategy=MoveAll",
	      "round.strategies.0.result=ok", "round.strategies.1.result=failed",
	      "round.strategies.1.error~it is broken",
	      "round.strategies.2.result=stopped", "#round.evicted=1");
	json_decref(status);
	assert_string_equal(descheduler_pods(rig), "");
	/* One that was stopped runs again in the next round. */
	status = descheduler_run(rig, 2);
	WANTS(status, "round.strategies.2.strategy=Endless",
	      "round.strategies.2.result=stopped",
	      "round.strategies.2.error~stopped: its");
	json_decref(status);
}

static const char leaves_and_fails[] =
	"return { api = 1, kind = 'deschedule', name = 'half', plugin = 'Half',\n"
	"  point = 'balance', run = function(ctx, round)\n"
	"    for _, pod in ipairs(round:pods()) do\n"
	"      if round:evict(pod, 'x') then error('and then it fails') end\n"
	"    end\n"
	"  end }\n";

static void test_out_of_service(void **state)
{
	struct descheduler_rig *rig = *state;
	json_t *status;

	for (int i = 0; i < 4; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "a%d", i);
		descheduler_pod(rig, name, "n1");
	}
	rig->config.total = 1;
	descheduler_begin(rig);
	descheduler_upload(rig, leaves_and_fails);
	descheduler_use(rig, POLICY("", "balance: {enabled: [Half]}"));
	json_decref(descheduler_rounds(rig, 1));
	json_decref(descheduler_run(rig, 2));
	status = descheduler_run(rig, 3);
	WANTS(status, "#round.evicted=1", "round.strategies.0.error~and then it fails");
	json_decref(status);
	/* Three faults in a row ended its service. */
	status = descheduler_run(rig, 4);
	WANTS(status, "#round.evicted=0", "round.strategies.0.result=failed",
	      "round.strategies.0.error~is out of service",
	      "profiles.0.plugins.2.error~and then it fails");
	json_decref(status);
	assert_string_equal(descheduler_pods(rig), "a3");
	/* Loading it again puts it back. */
	descheduler_upload(rig, leaves_and_fails);
	status = descheduler_run(rig, 5);
	WANTS(status, "#round.evicted=1", "round.strategies.0.error~and then it fails");
	json_decref(status);
}

/* A rule that is out of service keeps all pods, as one that fails. */
static void test_rule_out_of_service(void **state)
{
	static const char raises[] = "return { api = 1, kind = 'evict', name = 'some',\n"
				     "  allow = function(ctx, pod) return true end }\n";
	struct descheduler_rig *rig = *state;
	json_t *status;

	descheduler_pod(rig, "a", "n1");
	descheduler_begin(rig);
	descheduler_upload(rig, raises);
	neap_registry_get(rig->registry, 0)->stats.is_failed = true;
	descheduler_use(rig, POLICY("some", "balance: {enabled: [MoveAll]}"));
	status = descheduler_rounds(rig, 1);
	WANTS(status, "#round.evicted=0", "round.stayed.0.outcome=kept",
	      "round.stayed.0.reason~is out of service");
	json_decref(status);
	neap_registry_get(rig->registry, 0)->stats.is_failed = false;
	neap_registry_get(rig->registry, 0)->is_elsewhere = true;
	status = descheduler_run(rig, 2);
	WANTS(status, "#round.evicted=0", "round.stayed.0.reason~not for this node");
	json_decref(status);
	neap_registry_get(rig->registry, 0)->is_elsewhere = false;
	status = descheduler_run(rig, 3);
	WANTS(status, "#round.evicted=1");
	json_decref(status);
}

static void test_rolled_back(void **state)
{
#define TAKES(params)                                                                    \
	"return { api = 1, kind = 'deschedule', name = 'move-all',\n"                    \
	"  plugin = 'MoveAll', point = 'balance', params = {" params "},\n"              \
	"  run = function(ctx, round)\n"                                                 \
	"    for _, pod in ipairs(round:pods()) do round:evict(pod, 'x') end end }\n"
	static const char older[] =
		TAKES("from = { type = 'string', default = 'n1', doc = 'node' } ");
	struct descheduler_rig *rig = *state;
	json_t *status;

	descheduler_pod(rig, "a", "n1");
	descheduler_begin(rig);
	descheduler_upload(rig, older);
	descheduler_use(rig, "apiVersion: descheduler/v1alpha2\n"
			     "kind: DeschedulerPolicy\n"
			     "profiles:\n"
			     "- name: p\n"
			     "  pluginConfig: [{name: DefaultEvictor}, {name: MoveAll,"
			     " args: {from: n1}}]\n"
			     "  plugins: {balance: {enabled: [MoveAll]}}\n");
	json_decref(descheduler_rounds(rig, 1));
	assert_string_equal(descheduler_pods(rig), "");
	descheduler_pod(rig, "b", "n1");
	/* A version that the arguments do not fit does nothing ... */
	descheduler_upload(rig, TAKES(""));
	status = descheduler_run(rig, 2);
	WANTS(status, "#round.evicted=0", "round.strategies.0.result=failed",
	      "round.strategies.0.error~from");
	json_decref(status);
	/* ... and none of it is left when the older one is back. */
	descheduler_upload(rig, older);
	status = descheduler_run(rig, 3);
	WANTS(status, "#round.evicted=1", "round.strategies.0.result=ok");
	json_decref(status);
#undef TAKES
}

static void test_dry(void **state)
{
	struct descheduler_rig *rig = *state;
	json_t *status;

	descheduler_pod(rig, "a", "n1");
	descheduler_begin(rig);
	descheduler_use(rig, MOVE "neap: {dryRunPlugins: [MoveAll]}\n");
	status = descheduler_rounds(rig, 1);
	WANTS(status, "round.evicted.0.dry_run=true", "!round.evicted.0.result");
	json_decref(status);
	assert_string_equal(descheduler_pods(rig), "a");
	neap_descheduler_free(rig->descheduler);
	rig->config.dry_run = true;
	descheduler_begin(rig);
	descheduler_use(rig, MOVE);
	status = descheduler_rounds(rig, 1);
	WANTS(status, "dry_run=true", "round.dry_run=true", "round.evicted.0.pod=a");
	json_decref(status);
	assert_string_equal(descheduler_pods(rig), "a");
}

/* A strategy that only tells takes nothing from those that act. */
static void test_dry_plugin_takes_nothing(void **state)
{
	static const char tells[] =
		"return { api = 1, kind = 'deschedule', name = 'tells', plugin = 'Tells',\n"
		"  point = 'balance', run = function(ctx, round)\n"
		"    for _, pod in ipairs(round:pods()) do round:evict(pod, 'x') end\n"
		"  end }\n";
	struct descheduler_rig *rig = *state;
	json_t *status;

	descheduler_pod(rig, "a", "n1");
	descheduler_pod(rig, "b", "n1");
	for (int i = 0; i < 3; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "c%d", i);
		descheduler_pod(rig, name, "n2");
	}
	rig->config.total = 1;
	descheduler_begin(rig);
	descheduler_upload(rig, tells);
	descheduler_use(rig, POLICY("", "balance: {enabled: [Tells, MoveAll]}") //
			"neap: {dryRunPlugins: [Tells]}\n");
	/* There is one eviction, and room for one pod. */
	status = descheduler_rounds(rig, 1);
	WANTS(status, "#round.evicted=2", "round.evicted.0.strategy=Tells",
	      "round.evicted.0.dry_run=true", "round.evicted.0.pod=a",
	      "round.evicted.0.to=n2", "round.evicted.1.strategy=MoveAll",
	      "round.evicted.1.pod=a", "round.evicted.1.to=n2",
	      "round.evicted.1.result=evicted");
	assert_true(json_real_value(kube_at(status, "round.spread.cpu.before")) == 12.5);
	assert_true(json_real_value(kube_at(status, "round.spread.cpu.after")) == 37.5);
	json_decref(status);
	assert_string_equal(descheduler_pods(rig), "b c0 c1 c2");
}

/* The argument dryRun of a strategy: the round tells who would leave, and what the
 * script logs is in the log. */
static void test_dry_argument(void **state)
{
	static const char shy[] =
		"return { api = 1, kind = 'deschedule', name = 'shy', plugin = 'Shy',\n"
		"  point = 'balance',\n"
		"  params = { dryRun = { type = 'boolean', default = false, doc = 'x' } },\n"
		"  run = function(ctx, round)\n"
		"    ctx.log('it looks')\n"
		"    for _, pod in ipairs(round:pods()) do\n"
		"      if not ctx.params.dryRun then round:evict(pod, 'x') end\n"
		"    end\n"
		"  end }\n";
	struct descheduler_rig *rig = *state;
	FILE *file = tmpfile();
	struct neap_log log = {.level = NEAP_LOG_INFO, .program = "test"};
	char text[4096];
	json_t *status;

	assert_non_null(file);
	log.fd = fileno(file);
	rig->config.log = &log;
	descheduler_pod(rig, "a", "n1");
	descheduler_begin(rig);
	descheduler_upload(rig, shy);
	descheduler_use(rig, "apiVersion: descheduler/v1alpha2\n"
			     "kind: DeschedulerPolicy\n"
			     "profiles:\n"
			     "- name: p\n"
			     "  pluginConfig: [{name: DefaultEvictor}, {name: Shy,"
			     " args: {dryRun: true}}]\n"
			     "  plugins: {balance: {enabled: [Shy]}}\n");
	status = descheduler_rounds(rig, 1);
	WANTS(status, "#round.evicted=1", "round.evicted.0.dry_run=true",
	      "round.evicted.0.to=n2", "profiles.0.plugins.1.dry_run=true");
	json_decref(status);
	assert_string_equal(descheduler_pods(rig), "a");
	rewind(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	if (!strstr(text, "it looks"))
		fail_msg("%s", text);
	neap_descheduler_free(rig->descheduler);
	rig->descheduler = NULL;
	(void)fclose(file);
}

static void test_pause_and_window(void **state)
{
	struct descheduler_rig *rig = *state;
	json_t *status;

	descheduler_pod(rig, "a", "n1");
	descheduler_begin(rig);
	neap_descheduler_pause(rig->descheduler, "eve");
	descheduler_use(rig, MOVE "neap: {window: {begin: '22:00', end: '23:30'}}\n");
	kube_run(rig->kube, 100);
	status = neap_descheduler_status(rig->descheduler, true);
	WANTS(status, "state=paused", "paused_by=eve", "rounds=0",
	      "opens=2026-01-01T22:00:00Z");
	json_decref(status);
	/* It is midnight, and closed. */
	neap_descheduler_resume(rig->descheduler);
	kube_run(rig->kube, 100);
	assert_string_equal(descheduler_pods(rig), "a");
	descheduler_now += INT64_C(23) * 3600 * SECOND;
	neap_descheduler_resume(rig->descheduler);
	status = descheduler_rounds(rig, 1);
	WANTS(status, "#round.evicted=1", "!opens");
	json_decref(status);
}

static void test_migrates(void **state)
{
	struct descheduler_rig *rig = *state;
	json_t *status;

	/* One replica, which the filter of the migration would keep. */
	descheduler_pod(rig, "a", "n1");
	descheduler_pod(rig, "b", "n1");
	descheduler_begin(rig);
	descheduler_use(
		rig,
		"apiVersion: descheduler/v1alpha2\n"
		"kind: DeschedulerConfiguration\n"
		"deschedulingInterval: 10s\n"
		"profiles:\n"
		"- name: k\n"
		"  plugins:\n"
		"    balance: {enabled: [{name: MoveAll}]}\n"
		"    filter: {disabled: [{name: '*'}], enabled: [{name: keep-b}]}\n");
	status = descheduler_rounds(rig, 1);
	WANTS(status, "form=DeschedulerConfiguration", "interval=10s", "#round.evicted=1",
	      "round.evicted.0.result=migrating", "#round.stayed=1");
	json_decref(status);
	assert_string_equal(rig->wished, "a:MoveAll ");
	assert_string_equal(descheduler_pods(rig), "a b");
}

/* The filter asks what the one who makes jobs asks: pods of schedulers that are served
 * besides those of the arguments may leave. */
static void test_migrates_served(void **state)
{
	static const char *const served[] = {"default-scheduler", NULL};
	struct descheduler_rig *rig = *state;
	json_t *status;

	descheduler_pod(rig, "a", "n1");
	descheduler_begin(rig);
	descheduler_use(rig, MIGRATION);
	status = descheduler_rounds(rig, 1);
	WANTS(status, "#round.evicted=0",
	      "round.stayed.0.reason=MigrationController: SchedulerName");
	json_decref(status);
	neap_descheduler_free(rig->descheduler);
	rig->config.schedulers = served;
	descheduler_begin(rig);
	descheduler_use(rig, MIGRATION);
	status = descheduler_rounds(rig, 1);
	WANTS(status, "#round.evicted=1", "round.evicted.0.result=migrating");
	json_decref(status);
	assert_string_equal(rig->wished, "a:MoveAll ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_without_configuration,
						descheduler_setup, descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_evicts, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_changes, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_no_place, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_same_node, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_budgets_and_limits,
						descheduler_setup, descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_failing_strategies,
						descheduler_setup, descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_out_of_service, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_rule_out_of_service,
						descheduler_setup, descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_rolled_back, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_dry, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_dry_plugin_takes_nothing,
						descheduler_setup, descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_dry_argument, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_pause_and_window, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_migrates, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_migrates_served, descheduler_setup,
						descheduler_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
