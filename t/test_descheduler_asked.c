/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds by event, the ConfigMap with the configuration, and simulations. */
#include "t/lib/descheduler_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/client/client_ops.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "lua/run/registry.h"
#include "t/lib/patience.h"

/* --- events --- */

static void test_by_event(void **state)
{
	struct descheduler_rig *rig = *state;
	json_t *status;

	descheduler_begin(rig);
	descheduler_use(rig, MOVE);
	json_decref(descheduler_rounds(rig, 1));
	descheduler_pod(rig, "a", "n1");
	/* Another key than the strategy names. */
	descheduler_must(rig, "MERGE /api/v1/nodes/n1",
			 "{'spec':{'taints':[{'key':'stay','effect':'NoSchedule'}]}}",
			 200);
	kube_run(rig->kube, 50);
	status = neap_descheduler_status(rig->descheduler, false);
	WANTS(status, "events=0");
	json_decref(status);
	descheduler_must(rig, "MERGE /api/v1/nodes/n1",
			 "{'spec':{'taints':[{'key':'go','effect':'NoSchedule'}]}}", 200);
	kube_run(rig->kube, 50);
	descheduler_now += 3 * SECOND;
	neap_descheduler_resume(rig->descheduler);
	status = descheduler_rounds(rig, 2);
	WANTS(status, "round.because=event: a taint of n1", "rounds_by_event=1",
	      "events=1", "round.evicted.0.pod=a");
	json_decref(status);
	/* At once again: it waits for a while. */
	descheduler_must(rig, "MERGE /api/v1/nodes/n1", "{'spec':{'taints':null}}", 200);
	kube_run(rig->kube, 50);
	descheduler_now += 1 * SECOND;
	neap_descheduler_resume(rig->descheduler);
	kube_run(rig->kube, 50);
	status = neap_descheduler_status(rig->descheduler, false);
	WANTS(status, "events=2", "rounds=2");
	json_decref(status);
	descheduler_now += 5 * SECOND;
	neap_descheduler_resume(rig->descheduler);
	json_decref(descheduler_rounds(rig, 3));
}

/* A version that goes live between two rounds is heard for its own triggers. */
static void test_by_new_trigger(void **state)
{
	static const char newer[] =
		"return { api = 1, kind = 'deschedule', name = 'later',\n"
		"  plugin = 'MoveAll', point = 'balance',\n"
		"  triggers = { { event = 'node-label', key = 'tier' } },\n"
		"  run = function() end }\n";
	struct descheduler_rig *rig = *state;
	json_t *status;

	descheduler_begin(rig);
	descheduler_use(rig, MOVE);
	json_decref(descheduler_rounds(rig, 1));
	descheduler_upload(rig, newer);
	descheduler_wait(rig, "profiles.0.plugins.1.policy~deschedule/later@");
	descheduler_must(rig, "MERGE /api/v1/nodes/n1",
			 "{'metadata':{'labels':{'tier':'x'}}}", 200);
	descheduler_wait(rig, "events=1");
	/* With a clock that is set back the next round is an interval away at most. */
	descheduler_now -= INT64_C(3600) * SECOND;
	neap_descheduler_resume(rig->descheduler);
	status = neap_descheduler_status(rig->descheduler, false);
	WANTS(status, "next=2025-12-31T23:01:00Z");
	json_decref(status);
}

/* Each strategy hears of a pod that waits for as long as it says. */
static void test_by_pending(void **state)
{
	static const char patient[] =
		"return { api = 1, kind = 'deschedule', name = 'patient',\n"
		"  plugin = 'Patient', point = 'balance',\n"
		"  triggers = { { event = 'pod-pending', bound = 300 } },\n"
		"  run = function() end }\n";
	struct descheduler_rig *rig = *state;

	descheduler_begin(rig);
	descheduler_upload(rig, patient);
	descheduler_use(rig, POLICY("", "balance: {enabled: [MoveAll, Patient]}"));
	json_decref(descheduler_rounds(rig, 1));
	descheduler_pod(rig, "w", "");
	kube_run(rig->kube, 100);
	descheduler_now += INT64_C(100) * SECOND;
	descheduler_wait(rig, "events=1");
	descheduler_now += INT64_C(300) * SECOND;
	descheduler_wait(rig, "events=2");
}

/* --- reading again --- */

static const struct neap_client_ops *served;
static int to_lose, to_refuse;

static int lose_next(struct neap_client_watch *watch,
		     const struct neap_client_event **ret, struct neap_error *err)
{
	if (to_lose && to_lose-- > 0)
		return neap_error_set(err, NEAP_EGONE, "events were missed");
	return served->watch_next(watch, ret, err);
}

static int refuse_new(struct neap_client *client, const char *resource, int64_t version,
		      void (*ready)(void *arg), void *arg, struct neap_client_watch **ret,
		      struct neap_error *err)
{
	if (to_refuse && strcmp(resource, "deployments.apps") == 0) {
		to_refuse--;
		return neap_error_nomem(err);
	}
	return served->watch_new(client, resource, version, ready, arg, ret, err);
}

/* The second time that it reads everything fails in its middle. */
static void test_reads_again(void **state)
{
	struct descheduler_rig *rig = *state;
	struct neap_client_ops ops;
	json_t *status;

	descheduler_begin(rig);
	descheduler_use(rig, MOVE);
	json_decref(descheduler_rounds(rig, 1));
	served = rig->kube->client->ops;
	ops = *served;
	ops.watch_next = lose_next;
	ops.watch_new = refuse_new;
	rig->kube->client->ops = &ops;
	to_lose = to_refuse = 1;
	descheduler_pod(rig, "a", "n1");
	for (int ms = 0; ms < PATIENCE_MS && to_refuse; ms += 5)
		kube_run(rig->kube, 5);
	assert_int_equal(to_lose, 0);
	assert_int_equal(to_refuse, 0);
	status = descheduler_run(rig, 2);
	WANTS(status, "round.evicted.0.pod=a");
	json_decref(status);
	rig->kube->client->ops = served;
}

/* --- the ConfigMap --- */

#define KOORD(interval)                                                                  \
	"apiVersion: descheduler/v1alpha2\n"                                             \
	"kind: DeschedulerConfiguration\n"                                               \
	"deschedulingInterval: " interval "\n"                                           \
	"profiles:\n"                                                                    \
	"- name: k\n"                                                                    \
	"  plugins:\n"                                                                   \
	"    balance: {enabled: [{name: MoveAll}]}\n"                                    \
	"    filter: {disabled: [{name: '*'}], enabled: [{name: DefaultEvictor}]}\n"

static void test_config_map(void **state)
{
	struct descheduler_rig *rig = *state;
	json_t *status;

	descheduler_must(rig, "POST /api/v1/namespaces",
			 "{'metadata':{'name':'koordinator-system'}}", 201);
	descheduler_begin(rig);
	descheduler_put_map(rig, true, MOVE "neap: {dryRunPlugins: [MoveAll]}\n");
	descheduler_pod(rig, "a", "n1");
	status = descheduler_rounds(rig, 1);
	WANTS(status, "source~ConfigMap koordinator-system/koord-descheduler-config",
	      "!error");
	json_decref(status);
	/* A wrong one changes nothing, and is told. */
	descheduler_put_map(rig, false, MOVE "strategies: {}\n");
	for (int ms = 0; ms < PATIENCE_MS; ms += 5) {
		kube_run(rig->kube, 5);
		descheduler_must(rig, "GET /api/v1/namespaces/koordinator-system/events",
				 NULL, 200);
		if (json_array_size(kube_at(rig->kube->body, "items")))
			break;
	}
	WANTS(rig->kube->body, "items.0.reason=InvalidConfiguration",
	      "items.0.message~strategies: belongs to descheduler/v1alpha1");
	status = neap_descheduler_status(rig->descheduler, false);
	WANTS(status, "state=waiting", "error~belongs to descheduler/v1alpha1");
	json_decref(status);
	/* The right one acts, and brings no round forward: each has its limits anew. */
	descheduler_put_map(rig, false, MOVE);
	descheduler_wait(rig, "!profiles.0.plugins.1.dry_run");
	kube_run(rig->kube, 200);
	status = neap_descheduler_status(rig->descheduler, true);
	WANTS(status, "!error", "rounds=1", "next=2026-01-01T00:01:00Z");
	json_decref(status);
	descheduler_now += 60 * SECOND;
	neap_descheduler_resume(rig->descheduler);
	status = descheduler_rounds(rig, 2);
	WANTS(status, "!error", "round.evicted.0.pod=a");
	json_decref(status);
	/* A shorter interval holds at once. */
	descheduler_put_map(rig, false, KOORD("10s"));
	descheduler_wait(rig, "next=2026-01-01T00:01:10Z");
	status = neap_descheduler_status(rig->descheduler, true);
	WANTS(status, "!error", "rounds=2", "next=2026-01-01T00:01:10Z");
	json_decref(status);
	descheduler_put_map(rig, false, KOORD("0s"));
	json_decref(descheduler_rounds(rig, 3));
	/* The same text is no change. */
	descheduler_must(rig, "MERGE " CONFIG_MAP,
			 "{'metadata':{'annotations':{'a':'b'}}}", 200);
	kube_run(rig->kube, 200);
	status = neap_descheduler_status(rig->descheduler, true);
	WANTS(status, "rounds=3");
	json_decref(status);
	descheduler_must(rig, "DELETE " CONFIG_MAP, NULL, 200);
	for (int ms = 0; ms < PATIENCE_MS; ms += 5) {
		kube_run(rig->kube, 5);
		status = neap_descheduler_status(rig->descheduler, false);
		if (!kube_differs(status, "state=unconfigured"))
			break;
		json_decref(status);
	}
	json_decref(status);
}

/* What a configuration names may come after it. */
static void test_named_before(void **state)
{
	static const char later[] =
		"return { api = 1, kind = 'deschedule', name = 'later', plugin = 'Later',\n"
		"  point = 'balance', run = function() end }\n";
	struct descheduler_rig *rig = *state;
	json_t *status = NULL;

	descheduler_must(rig, "POST /api/v1/namespaces",
			 "{'metadata':{'name':'koordinator-system'}}", 201);
	descheduler_begin(rig);
	descheduler_put_map(rig, true, POLICY("", "balance: {enabled: [Later]}"));
	for (int ms = 0; ms < PATIENCE_MS; ms += 5) {
		json_decref(status);
		kube_run(rig->kube, 5);
		status = neap_descheduler_status(rig->descheduler, false);
		if (!kube_differs(status, "error~Later"))
			break;
	}
	WANTS(status, "state=unconfigured", "error~Later");
	json_decref(status);
	descheduler_upload(rig, later);
	status = descheduler_rounds(rig, 1);
	WANTS(status, "!error", "round.strategies.0.strategy=Later");
	json_decref(status);
	descheduler_use(rig, "apiVersion: descheduler/v1alpha2\n"
			     "kind: DeschedulerPolicy\n"
			     "profiles:\n"
			     "- name: p\n"
			     "  pluginConfig:\n"
			     "  - name: DefaultEvictor\n"
			     "    args: {priorityThreshold: {name: high}}\n"
			     "  - name: MoveAll\n"
			     "  plugins: {balance: {enabled: [MoveAll]}}\n");
	status = neap_descheduler_status(rig->descheduler, false);
	WANTS(status, "error~there is no PriorityClass 'high'");
	json_decref(status);
	descheduler_must(rig, "POST /apis/scheduling.k8s.io/v1/priorityclasses",
			 "{'metadata':{'name':'high'},'value':100}", 201);
	status = NULL;
	for (int ms = 0; ms < PATIENCE_MS; ms += 5) {
		json_decref(status);
		kube_run(rig->kube, 5);
		status = neap_descheduler_status(rig->descheduler, false);
		if (!kube_differs(status, "!error"))
			break;
	}
	WANTS(status, "!error", "source=f.yaml");
	json_decref(status);
}

/* A file that cannot be used yet is waited for: the ConfigMap does not act in its
 * place. */
static void test_file_waits(void **state)
{
	struct descheduler_rig *rig = *state;
	struct neap_error err = {0};
	json_t *status;

	descheduler_must(rig, "POST /api/v1/namespaces",
			 "{'metadata':{'name':'koordinator-system'}}", 201);
	descheduler_pod(rig, "a", "n1");
	descheduler_begin(rig);
	neap_descheduler_set_file_trouble(rig->descheduler, "f.yaml", "f.yaml:7: no 'X'");
	descheduler_put_map(rig, true, MOVE);
	kube_run(rig->kube, 200);
	status = neap_descheduler_status(rig->descheduler, false);
	WANTS(status, "state=unconfigured", "error=f.yaml:7: no 'X'", "rounds=0");
	json_decref(status);
	assert_int_equal(neap_descheduler_run(rig->descheduler, "x", &err),
			 -NEAP_ECONFLICT);
	assert_non_null(strstr(err.msg, "f.yaml:7: no 'X'"));
	assert_string_equal(descheduler_pods(rig), "a");
	descheduler_use(rig, MOVE);
	status = descheduler_rounds(rig, 1);
	WANTS(status, "!error", "source=f.yaml", "#round.evicted=1");
	json_decref(status);
	/* One that was good goes on. */
	neap_descheduler_set_file_trouble(rig->descheduler, "f.yaml", "f.yaml:9: wrong");
	status = descheduler_run(rig, 2);
	WANTS(status, "error=f.yaml:9: wrong", "source=f.yaml");
	json_decref(status);
}

static int told; /* how often who migrates was told */

static void configured(void *arg, const struct neap_migrate_args *args)
{
	(void)arg;
	told += args != NULL;
}

/* Jobs wait while there is a configuration that cannot be used yet, and go by a new one
 * at once. */
static void test_settled(void **state)
{
	static const char migrates[] =
		"apiVersion: descheduler/v1alpha2\n"
		"kind: DeschedulerConfiguration\n"
		"profiles:\n"
		"- name: k\n"
		"  plugins:\n"
		"    balance: {enabled: [{name: MoveAll}]}\n"
		"    evict: {enabled: [{name: MigrationController}]}\n";
	struct descheduler_rig *rig = *state;

	descheduler_must(rig, "POST /api/v1/namespaces",
			 "{'metadata':{'name':'koordinator-system'}}", 201);
	rig->config.configured = configured;
	descheduler_begin(rig);
	assert_true(neap_descheduler_is_settled(rig->descheduler));
	descheduler_put_map(rig, true, "kind: DeschedulerPolicy\nprofiles: 1\n");
	assert_false(neap_descheduler_is_settled(rig->descheduler));
	descheduler_wait(rig, "error~apiVersion");
	assert_false(neap_descheduler_is_settled(rig->descheduler));
	descheduler_put_map(rig, false, MOVE);
	descheduler_wait(rig, "rounds=1");
	assert_true(neap_descheduler_is_settled(rig->descheduler));
	/* One that was good goes on. */
	descheduler_put_map(rig, false, "kind: DeschedulerPolicy\nprofiles: 1\n");
	descheduler_wait(rig, "error~apiVersion");
	assert_true(neap_descheduler_is_settled(rig->descheduler));
	neap_descheduler_set_file_trouble(rig->descheduler, "f.yaml", "f.yaml:7: no 'X'");
	assert_false(neap_descheduler_is_settled(rig->descheduler));
	assert_int_equal(told, 0);
	descheduler_use(rig, migrates);
	assert_int_equal(told, 1);
	assert_true(neap_descheduler_is_settled(rig->descheduler));
}

/* A policy that is deleted evicts nobody any more, until it comes again. */
static void test_deleted(void **state)
{
	static const char half[] =
		"return { api = 1, kind = 'deschedule', name = 'half', plugin = 'Half',\n"
		"  point = 'balance', run = function(ctx, round)\n"
		"    for _, pod in ipairs(round:pods()) do round:evict(pod, 'x') end\n"
		"  end }\n";
	struct descheduler_rig *rig = *state;
	json_t *status;

	descheduler_pod(rig, "a0", "n1");
	descheduler_begin(rig);
	descheduler_upload(rig, half);
	descheduler_use(rig, POLICY("", "balance: {enabled: [Half]}"));
	json_decref(descheduler_rounds(rig, 1));
	assert_string_equal(descheduler_pods(rig), "");
	descheduler_pod(rig, "a1", "n1");
	neap_registry_remove(rig->registry, "deschedule", "half");
	neap_descheduler_policies_changed(rig->descheduler);
	status = descheduler_run(rig, 2);
	WANTS(status, "#round.evicted=0", "round.strategies.0.result=failed",
	      "round.strategies.0.error=there is no policy of Half");
	json_decref(status);
	descheduler_upload(rig, half);
	status = descheduler_run(rig, 3);
	WANTS(status, "#round.evicted=1", "round.strategies.0.result=ok");
	json_decref(status);
}

/* --- simulations --- */

static void test_simulations(void **state)
{
	struct descheduler_rig *rig = *state;
	const struct neap_simulation of_policy = {.policy = descheduler_move_all};
	const struct neap_simulation of_config = {.config = MOVE};
	const struct neap_simulation of_one = {.plugin = "Raises"};
	const struct neap_simulation of_bad = {.policy = "return 1"};

	descheduler_pod(rig, "a", "n1");
	descheduler_pod(rig, "b", "n1");
	descheduler_begin(rig);
	descheduler_simulate(rig, &of_one);
	assert_int_equal(rig->err.code, NEAP_ECONFLICT);
	descheduler_simulate(rig, &of_bad);
	assert_int_equal(rig->err.code, NEAP_EINVAL);
	descheduler_simulate(rig, &of_policy);
	assert_int_equal(rig->err.code, NEAP_OK);
	WANTS(rig->record, "#evicted=2", "evicted.0.to=n2", "dry_run=true");
	/* Two on one node, none on the other; then the other way round. */
	assert_true(json_real_value(kube_at(rig->record, "spread.cpu.before")) == 25);
	descheduler_simulate(rig, &of_config);
	WANTS(rig->record, "#evicted=2");
	assert_string_equal(descheduler_pods(rig), "a b");
	descheduler_use(rig, POLICY("", "deschedule: {enabled: [Raises]}"));
	json_decref(descheduler_rounds(rig, 1));
	descheduler_simulate(rig, &of_one);
	WANTS(rig->record, "#evicted=0", "strategies.0.result=failed");
}

#define BY_JOB                                                                           \
	"apiVersion: descheduler/v1alpha2\n"                                             \
	"kind: DeschedulerConfiguration\n"                                               \
	"deschedulingInterval: 2m\n"                                                     \
	"profiles:\n"                                                                    \
	"- name: k\n"                                                                    \
	"  pluginConfig:\n"                                                              \
	"  - name: MigrationController\n"                                                \
	"    args: {skipCheckExpectedReplicas: true, maxMigratingPerWorkload: 2,\n"      \
	"      maxUnavailablePerWorkload: 2, schedulerNames: [default-scheduler]}\n"     \
	"  plugins:\n"                                                                   \
	"    balance: {enabled: [{name: MoveAll}]}\n"

/* Rounds on a copy: by evictions and by jobs; the cluster stays as it is. */
static void test_simulated_rounds(void **state)
{
	struct descheduler_rig *rig = *state;
	struct neap_simulation by_eviction = {.config = MOVE, .rounds = 3};
	struct neap_simulation by_job = {.config = BY_JOB, .rounds = 2};

	descheduler_pod(rig, "a", "n1");
	descheduler_pod(rig, "b", "n1");
	descheduler_begin(rig);
	descheduler_simulate(rig, &by_eviction);
	assert_int_equal(rig->err.code, NEAP_OK);
	WANTS(rig->record, "#rounds=3", "rounds.0.evicted_count=2",
	      "rounds.1.evicted_count=0", "#evicted=2", "evicted.0.round=1",
	      "evicted.0.node=n1", "evicted.0.to=n2", "evicted.0.landed=n2",
	      "evicted.0.result=landed", "results.as_told=2", "interval=1m",
	      "dry_run=true");
	/* Two on one node, none on the other; then the other way round. */
	assert_true(json_real_value(kube_at(rig->record, "spread.cpu.before")) == 25);
	assert_true(json_real_value(kube_at(rig->record, "spread.cpu.after")) == 25);
	descheduler_simulate(rig, &by_job);
	assert_int_equal(rig->err.code, NEAP_OK);
	/* At first they are not ready, and count as unavailable. */
	WANTS(rig->record, "#rounds=2", "interval=2m", "rounds.0.evicted_count=0",
	      "rounds.1.evicted_count=2", "results.landed=2", "results.as_told=2");
	by_job.rounds = 101;
	descheduler_simulate(rig, &by_job);
	assert_int_equal(rig->err.code, NEAP_EINVAL);
	assert_string_equal(rig->err.field, "rounds");
	assert_string_equal(descheduler_pods(rig), "a b");
	assert_string_equal(rig->wished, "");
}

/* --- pauses --- */

static void begin_again(struct descheduler_rig *rig, const char *want)
{
	json_t *status;

	neap_descheduler_free(rig->descheduler);
	descheduler_begin(rig);
	status = neap_descheduler_status(rig->descheduler, false);
	WANTS(status, want);
	json_decref(status);
}

/* A pause outlives neapd; what ends it is resume alone. */
static void test_pause_is_kept(void **state)
{
	struct descheduler_rig *rig = *state;
	char path[128];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/paused", rig->dir);
	rig->config.pause_file = path;
	begin_again(rig, "state=unconfigured");
	neap_descheduler_pause(rig->descheduler, "eve the first");
	descheduler_now += SECOND;
	begin_again(rig, "paused_by=eve the first");
	begin_again(rig, "paused_since=2026-01-01T00:00:00Z");
	neap_descheduler_resume(rig->descheduler);
	begin_again(rig, "!paused_by");
	/* A file that nobody can read was not put there for nothing. */
	file = fopen(path, "w");
	assert_non_null(file);
	(void)fclose(file);
	begin_again(rig, "paused_by=somebody");
	neap_descheduler_resume(rig->descheduler);
}

static void wants(const struct descheduler_rig *rig, const char *want)
{
	json_t *status = neap_descheduler_status(rig->descheduler, false);

	WANTS(status, want);
	json_decref(status);
}

/* A folder that is not there stands for a full disk. */
static void test_pause_is_not_kept(void **state)
{
	struct descheduler_rig *rig = *state;
	char path[128], folder[128];

	(void)snprintf(folder, sizeof(folder), "%s/data", rig->dir);
	(void)snprintf(path, sizeof(path), "%s/data/paused", rig->dir);
	rig->config.pause_file = path;
	descheduler_begin(rig);
	neap_descheduler_pause(rig->descheduler, "eve");
	wants(rig, "paused_by=eve");
	wants(rig, "pause_error=a new start of neapd will not know that it is paused: No "
		   "such file or directory");
	assert_int_equal(mkdir(folder, 0755), 0);
	neap_descheduler_pause(rig->descheduler, "eve");
	wants(rig, "!pause_error");
	/* It cannot be taken away. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0755), 0);
	neap_descheduler_resume(rig->descheduler);
	wants(rig, "!paused_by");
	wants(rig, "pause_error=a new start of neapd will not know that it is resumed: "
		   "Is a directory");
	assert_int_equal(rmdir(path), 0);
	neap_descheduler_resume(rig->descheduler);
	wants(rig, "!pause_error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_by_event, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_by_new_trigger, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_by_pending, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_reads_again, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_config_map, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_named_before, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_deleted, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_settled, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_file_waits, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_simulated_rounds, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_simulations, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_pause_is_kept, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_pause_is_not_kept, descheduler_setup,
						descheduler_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
