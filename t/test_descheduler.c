/* SPDX-License-Identifier: Apache-2.0
 *
 * The descheduler's loop over the embedded server: when rounds are, what they do to pods,
 * what is told. The strategies are texts of the test. */
#include "api/deschedule/descheduler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/deschedule/strategies.h"
#include "api/task/task.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/log/log.h"
#include "lua/run/registry.h"
#include "t/lib/kube_rig.h"
#include "t/lib/patience.h"

#define PODS   "/api/v1/namespaces/default/pods"
#define MAP    "/api/v1/namespaces/koordinator-system/configmaps/koord-descheduler-config"
#define SECOND 1000000

/* --- strategies --- */

static const char move_all[] =
	"return { api = 1, kind = 'deschedule', name = 'move-all', plugin = 'MoveAll',\n"
	"  point = 'balance',\n"
	"  params = { from = { type = 'string', default = 'n1', doc = 'node' } },\n"
	"  triggers = { { event = 'node-taint', key = 'go' },\n"
	"               { event = 'pod-pending', bound = 60 } },\n"
	"  run = function(ctx, round)\n"
	"    for _, pod in ipairs(round:pods()) do\n"
	"      if pod.node and pod.node.name == ctx.params.from then\n"
	"        round:evict(pod, 'it is on ' .. pod.node.name)\n"
	"      end\n"
	"    end\n"
	"  end }\n";
static const char raises[] =
	"return { api = 1, kind = 'deschedule', name = 'raises', plugin = 'Raises',\n"
	"  point = 'deschedule', run = function() error('it is broken') end }\n";
static const char endless[] =
	"return { api = 1, kind = 'deschedule', name = 'endless', plugin = 'Endless',\n"
	"  point = 'deschedule', run = function() while true do end end }\n";
static const char keep_b[] = "return { api = 1, kind = 'evict', name = 'keep-b',\n"
			     "  allow = function(ctx, pod)\n"
			     "    if pod.name == 'b' then return false, 'b stays' end\n"
			     "    return true\n"
			     "  end }\n";

#define POLICY(filter, plugins)                                                          \
	"apiVersion: descheduler/v1alpha2\n"                                             \
	"kind: DeschedulerPolicy\n"                                                      \
	"profiles:\n"                                                                    \
	"- name: p\n"                                                                    \
	"  pluginConfig: [{name: DefaultEvictor}, {name: MoveAll}]\n"                    \
	"  plugins:\n"                                                                   \
	"    filter: {enabled: [" filter "]}\n"                                          \
	"    " plugins "\n"
#define MOVE POLICY("", "balance: {enabled: [MoveAll]}")

/* --- the rig --- */

struct rig {
	struct kube_rig *kube;
	char dir[64];
	struct neap_tasks *tasks;
	struct neap_strategies *strategies;
	struct neap_descheduler_config config;
	struct neap_descheduler *descheduler;
	char owner[64];
	/* Of the last simulation. */
	json_t *record;
	struct neap_error err;
	bool is_done;
	char wished[256]; /* names of pods that were to be migrated */
};

static int64_t now_usec;

static int64_t now(void)
{
	return now_usec;
}

static void write_policy(const struct rig *rig, const char *kind, const char *name,
			 const char *text)
{
	char path[256];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", rig->dir, kind);
	(void)mkdir(path, 0755);
	(void)snprintf(path, sizeof(path), "%s/%s/%s.lua", rig->dir, kind, name);
	file = fopen(path, "w");
	assert_non_null(file);
	(void)fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void must(struct rig *rig, const char *ask, const char *body, int status)
{
	int got = kube_ask(rig->kube, ask, body);

	if (got != status)
		fail_msg("%s: %d %s", ask, got, kube_text(rig->kube->body, "message"));
}

static void make_node(struct rig *rig, const char *name, int cpus)
{
	char body[512], ask[128];

	(void)snprintf(body, sizeof(body), "{'metadata':{'name':'%s'}}", name);
	must(rig, "POST /api/v1/nodes", body, 201);
	(void)snprintf(ask, sizeof(ask), "MERGE /api/v1/nodes/%s/status", name);
	(void)snprintf(body, sizeof(body),
		       "{'status':{'allocatable':{'cpu':'%d','memory':'8Gi','pods':'20'},"
		       "'conditions':[{'type':'Ready','status':'True'}]}}",
		       cpus);
	must(rig, ask, body, 200);
}

static void make_pod(struct rig *rig, const char *name, const char *node)
{
	char body[1024], ask[128];

	(void)snprintf(
		body, sizeof(body),
		"{'metadata':{'name':'%s','labels':{'app':'a'},'ownerReferences':[{"
		"'apiVersion':'apps/v1','kind':'ReplicaSet','name':'r','uid':'%s',"
		"'controller':true}]},'spec':{'terminationGracePeriodSeconds':0,%s%s%s"
		"'containers':[{'name':'c','image':'i','resources':{'requests':{'cpu':'1'"
		"}}}]}}",
		name, rig->owner, *node ? "'nodeName':'" : "", node, *node ? "'," : "");
	must(rig, "POST " PODS, body, 201);
	if (!*node)
		return;
	(void)snprintf(ask, sizeof(ask), "MERGE " PODS "/%s/status", name);
	must(rig, ask, "{'status':{'phase':'Running'}}", 200);
}

static void migrate(void *arg, const struct neap_deschedule_wish *wish,
		    void (*told)(void *told_arg, const char *trouble), void *told_arg)
{
	struct rig *rig = arg;
	size_t len = strlen(rig->wished);

	assert_non_null(wish->args);
	(void)snprintf(rig->wished + len, sizeof(rig->wished) - len, "%s:%s ", wish->name,
		       wish->strategy);
	told(told_arg, strcmp(wish->name, "b") == 0 ? "there is a job already" : NULL);
}

static const struct neap_log quiet = {.fd = -1, .program = "test"};

static int setup(void **state)
{
	struct rig *rig = neap_alloc(sizeof(*rig));
	void *kube = NULL;
	struct neap_error err = {0};

	neap_json_setup();
	now_usec = INT64_C(1767225600) * SECOND; /* 2026-01-01 00:00 UTC */
	(void)kube_rig_setup(&kube);
	rig->kube = kube;
	(void)snprintf(rig->dir, sizeof(rig->dir), "/tmp/neap-deschedule-XXXXXX");
	assert_non_null(mkdtemp(rig->dir));
	write_policy(rig, "deschedule", "move-all", move_all);
	write_policy(rig, "deschedule", "raises", raises);
	write_policy(rig, "deschedule", "endless", endless);
	write_policy(rig, "evict", "keep-b", keep_b);
	if (neap_strategies_new(rig->dir, NULL, &rig->strategies, &err) < 0)
		fail_msg("%s", err.msg);
	rig->tasks = neap_tasks_new(rig->kube->base);
	rig->config = (struct neap_descheduler_config){.base = rig->kube->base,
						       .tasks = rig->tasks,
						       .client = rig->kube->client,
						       .strategies = rig->strategies,
						       .log = &quiet,
						       .now = now,
						       .interval_usec = 60 * SECOND,
						       .per_node = -1,
						       .per_namespace = -1,
						       .total = -1,
						       .migrate = migrate,
						       .migrate_arg = rig};
	must(rig, "POST /apis/apps/v1/namespaces/default/replicasets",
	     "{'metadata':{'name':'r'},'spec':{'replicas':0,'selector':{'matchLabels':{"
	     "'app':'a'}},'template':{'metadata':{'labels':{'app':'a'}},'spec':{"
	     "'containers':[{'name':'c','image':'i'}]}}}}",
	     201);
	(void)snprintf(rig->owner, sizeof(rig->owner), "%s",
		       kube_text(rig->kube->body, "metadata.uid"));
	make_node(rig, "n1", 4);
	make_node(rig, "n2", 4);
	/* So that what leaves it goes to the other one. */
	must(rig, "MERGE /api/v1/nodes/n1", "{'spec':{'unschedulable':true}}", 200);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;
	void *kube = rig->kube;
	char line[128];

	neap_descheduler_free(rig->descheduler);
	neap_strategies_free(rig->strategies);
	neap_tasks_free(rig->tasks);
	(void)kube_rig_teardown(&kube);
	(void)snprintf(line, sizeof(line), "rm -r %s", rig->dir);
	assert_int_equal(system(line), 0);
	json_decref(rig->record);
	free(rig);
	return 0;
}

static void begin(struct rig *rig)
{
	struct neap_error err = {0};

	if (neap_descheduler_new(&rig->config, &rig->descheduler, &err) < 0)
		fail_msg("%s", err.msg);
}

static void use(struct rig *rig, const char *text)
{
	struct neap_deschedule_lines lines = {0};
	struct neap_deschedule_config *config = NULL;
	struct neap_error err = {0};

	if (neap_deschedule_config_parse(text, strlen(text), "f.yaml",
					 neap_strategies_plugins(rig->strategies),
					 &config, &lines, &err) < 0)
		fail_msg("%s", err.msg);
	neap_deschedule_lines_done(&lines);
	neap_descheduler_set_file(rig->descheduler, config, "f.yaml");
	(void)neap_deschedule_config_unref(config);
}

/* Turns the loop until so many rounds are over, and all is written. Returns the status
 * with the last record; a new reference. */
static json_t *rounds(struct rig *rig, int count)
{
	json_t *status = NULL;

	for (int ms = 0; ms < PATIENCE_MS; ms += 5) {
		const json_t *last;

		kube_run(rig->kube, 5);
		json_decref(status);
		status = neap_descheduler_status(rig->descheduler, true);
		last = kube_at(status, "round.round");
		if (json_integer_value(last) >= count) {
			while (!kube_is_at_rest(rig->kube)) {
			}
			json_decref(status);
			return neap_descheduler_status(rig->descheduler, true);
		}
	}
	fail_msg("no round %d: %s", count, json_dumps(status, 0));
	return NULL;
}

static void wants(json_t *json, const char *const *want)
{
	for (; *want; want++) {
		const char *differs = kube_differs(json, *want);

		if (differs)
			fail_msg("%s: %s\n%s", *want, differs,
				 json_dumps(json, JSON_INDENT(1)));
	}
}

#define WANTS(json, ...) wants(json, (const char *const[]){__VA_ARGS__, NULL})

/* Names of the pods there are, in order. */
static const char *pods(struct rig *rig)
{
	static char names[256];
	const json_t *items;
	size_t i;
	json_t *pod;

	must(rig, "GET " PODS, NULL, 200);
	names[0] = '\0';
	items = kube_at(rig->kube->body, "items");
	json_array_foreach (items, i, pod)
		(void)snprintf(names + strlen(names), sizeof(names) - strlen(names),
			       "%s%s", i ? " " : "", kube_text(pod, "metadata.name"));
	return names;
}

/* --- rounds --- */

static void test_nothing_without_configuration(void **state)
{
	struct rig *rig = *state;
	struct neap_error err = {0};
	json_t *status;

	make_pod(rig, "a", "n1");
	begin(rig);
	kube_run(rig->kube, 50);
	status = neap_descheduler_status(rig->descheduler, true);
	WANTS(status, "state=unconfigured", "rounds=0");
	json_decref(status);
	assert_int_equal(neap_descheduler_run(rig->descheduler, "x", &err),
			 -NEAP_ECONFLICT);
	assert_string_equal(pods(rig), "a");
}

static void test_evicts(void **state)
{
	struct rig *rig = *state;
	neap_auto_buf struct neap_buf metrics = {0};
	json_t *status;

	make_pod(rig, "a", "n1");
	make_pod(rig, "b", "n1");
	make_pod(rig, "c", "n2");
	begin(rig);
	use(rig, POLICY("keep-b", "balance: {enabled: [MoveAll]}"));
	status = rounds(rig, 1);
	WANTS(status, "state=waiting", "source=f.yaml", "form=DeschedulerPolicy",
	      "interval=1m", "#round.evicted=1", "round.evicted.0.pod=a",
	      "round.evicted.0.to=n2", "round.evicted.0.why=it is on n1",
	      "round.evicted.0.result=evicted", "#round.stayed=1", "round.stayed.0.pod=b",
	      "round.stayed.0.outcome=kept", "round.stayed.0.reason=b stays",
	      "round.strategies.0.strategy=MoveAll", "round.strategies.0.result=ok",
	      "round.because=interval", "round.nodes=2", "round.pods=3");
	assert_string_equal(pods(rig), "b c");
	json_decref(status);
	must(rig, "GET /api/v1/namespaces/default/events", NULL, 200);
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
	make_pod(rig, "d", "n1");
	now_usec += 59 * SECOND;
	kube_run(rig->kube, 100);
	assert_string_equal(pods(rig), "b c d");
	now_usec += SECOND;
	assert_int_equal(
		neap_descheduler_run(rig->descheduler, "nobody", &(struct neap_error){0}),
		0);
	status = rounds(rig, 2);
	WANTS(status, "round.because=asked for by nobody", "round.evicted.0.pod=d");
	json_decref(status);
}

static void test_no_place(void **state)
{
	struct rig *rig = *state;
	json_t *status;

	make_pod(rig, "a", "n1");
	make_pod(rig, "b", "n1");
	for (int i = 0; i < 3; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "c%d", i);
		make_pod(rig, name, "n2");
	}
	begin(rig);
	use(rig, MOVE);
	/* There is room for one of the two. */
	status = rounds(rig, 1);
	WANTS(status, "#round.evicted=1", "#round.stayed=1",
	      "round.stayed.0.outcome=no-place",
	      "round.stayed.0.reason~0/2 nodes are available");
	json_decref(status);
	/* What was tried is undone: the second is found in the same state. */
	now_usec += 60 * SECOND;
	make_pod(rig, "c3", "n2");
	assert_int_equal(
		neap_descheduler_run(rig->descheduler, "x", &(struct neap_error){0}), 0);
	status = rounds(rig, 2);
	WANTS(status, "#round.evicted=0", "#round.stayed=1",
	      "round.stayed.0.outcome=no-place");
	json_decref(status);
}

static void test_same_node(void **state)
{
	struct rig *rig = *state;
	json_t *status;

	must(rig, "MERGE /api/v1/nodes/n1", "{'spec':{'unschedulable':null}}", 200);
	make_pod(rig, "a", "n1");
	for (int i = 0; i < 4; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "c%d", i);
		make_pod(rig, name, "n2");
	}
	begin(rig);
	use(rig, MOVE);
	status = rounds(rig, 1);
	WANTS(status, "#round.evicted=0", "round.stayed.0.outcome=no-place",
	      "round.stayed.0.reason~would land on the same node");
	json_decref(status);
}

static void test_budgets_and_limits(void **state)
{
	struct rig *rig = *state;
	json_t *status;

	for (int i = 0; i < 3; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "a%d", i);
		make_pod(rig, name, "n1");
	}
	rig->config.per_node = 1;
	begin(rig);
	use(rig, MOVE);
	status = rounds(rig, 1);
	WANTS(status, "#round.evicted=1", "#round.stayed=2",
	      "round.stayed.0.outcome=node-limit", "limits.node=1");
	json_decref(status);
}

static void test_failing_strategies(void **state)
{
	struct rig *rig = *state;
	json_t *status;

	make_pod(rig, "a", "n1");
	begin(rig);
	use(rig, POLICY("", "deschedule: {enabled: [Raises, Endless]}\n    "
			    "balance: {enabled: [MoveAll]}"));
	status = rounds(rig, 1);
	WANTS(status, "round.strategies.0.strategy=MoveAll",
	      "round.strategies.0.result=ok", "round.strategies.1.result=failed",
	      "round.strategies.1.error~it is broken",
	      "round.strategies.2.result=stopped", "#round.evicted=1");
	json_decref(status);
	assert_string_equal(pods(rig), "");
}

static void test_dry(void **state)
{
	struct rig *rig = *state;
	json_t *status;

	make_pod(rig, "a", "n1");
	begin(rig);
	use(rig, MOVE "neap: {dryRunPlugins: [MoveAll]}\n");
	status = rounds(rig, 1);
	WANTS(status, "round.evicted.0.dry_run=true", "!round.evicted.0.result");
	json_decref(status);
	assert_string_equal(pods(rig), "a");
	neap_descheduler_free(rig->descheduler);
	rig->config.dry_run = true;
	begin(rig);
	use(rig, MOVE);
	status = rounds(rig, 1);
	WANTS(status, "dry_run=true", "round.dry_run=true", "round.evicted.0.pod=a");
	json_decref(status);
	assert_string_equal(pods(rig), "a");
}

static void test_pause_and_window(void **state)
{
	struct rig *rig = *state;
	json_t *status;

	make_pod(rig, "a", "n1");
	begin(rig);
	neap_descheduler_pause(rig->descheduler, "eve");
	use(rig, MOVE "neap: {window: {begin: '22:00', end: '23:30'}}\n");
	kube_run(rig->kube, 100);
	status = neap_descheduler_status(rig->descheduler, true);
	WANTS(status, "state=paused", "paused_by=eve", "rounds=0",
	      "opens=2026-01-01T22:00:00Z");
	json_decref(status);
	/* It is midnight, and closed. */
	neap_descheduler_resume(rig->descheduler);
	kube_run(rig->kube, 100);
	assert_string_equal(pods(rig), "a");
	now_usec += INT64_C(23) * 3600 * SECOND;
	neap_descheduler_resume(rig->descheduler);
	status = rounds(rig, 1);
	WANTS(status, "#round.evicted=1", "!opens");
	json_decref(status);
}

static void test_migrates(void **state)
{
	struct rig *rig = *state;
	json_t *status;

	/* One replica, which the filter of the migration would keep. */
	make_pod(rig, "a", "n1");
	make_pod(rig, "b", "n1");
	begin(rig);
	use(rig, "apiVersion: descheduler/v1alpha2\n"
		 "kind: DeschedulerConfiguration\n"
		 "deschedulingInterval: 10s\n"
		 "profiles:\n"
		 "- name: k\n"
		 "  plugins:\n"
		 "    balance: {enabled: [{name: MoveAll}]}\n"
		 "    filter: {disabled: [{name: '*'}], enabled: [{name: keep-b}]}\n");
	status = rounds(rig, 1);
	WANTS(status, "form=DeschedulerConfiguration", "interval=10s", "#round.evicted=1",
	      "round.evicted.0.result=migrating", "#round.stayed=1");
	json_decref(status);
	assert_string_equal(rig->wished, "a:MoveAll ");
	assert_string_equal(pods(rig), "a b");
}

/* --- events --- */

static void test_by_event(void **state)
{
	struct rig *rig = *state;
	json_t *status;

	begin(rig);
	use(rig, MOVE);
	json_decref(rounds(rig, 1));
	make_pod(rig, "a", "n1");
	/* Another key than the strategy names. */
	must(rig, "MERGE /api/v1/nodes/n1",
	     "{'spec':{'taints':[{'key':'stay','effect':'NoSchedule'}]}}", 200);
	kube_run(rig->kube, 50);
	status = neap_descheduler_status(rig->descheduler, false);
	WANTS(status, "events=0");
	json_decref(status);
	must(rig, "MERGE /api/v1/nodes/n1",
	     "{'spec':{'taints':[{'key':'go','effect':'NoSchedule'}]}}", 200);
	kube_run(rig->kube, 50);
	now_usec += 3 * SECOND;
	neap_descheduler_resume(rig->descheduler);
	status = rounds(rig, 2);
	WANTS(status, "round.because=event: a taint of n1", "rounds_by_event=1",
	      "events=1", "round.evicted.0.pod=a");
	json_decref(status);
	/* At once again: it waits for a while. */
	must(rig, "MERGE /api/v1/nodes/n1", "{'spec':{'taints':null}}", 200);
	kube_run(rig->kube, 50);
	now_usec += 1 * SECOND;
	neap_descheduler_resume(rig->descheduler);
	kube_run(rig->kube, 50);
	status = neap_descheduler_status(rig->descheduler, false);
	WANTS(status, "events=2", "rounds=2");
	json_decref(status);
	now_usec += 5 * SECOND;
	neap_descheduler_resume(rig->descheduler);
	json_decref(rounds(rig, 3));
}

/* --- the ConfigMap --- */

static void put_map(struct rig *rig, bool is_new, const char *text)
{
	json_t *map = json_pack("{s:{s:s},s:{s:s}}", "metadata", "name",
				"koord-descheduler-config", "data", "c", text);
	char *body = json_dumps(map, 0);

	assert_int_equal(
		kube_ask_with(rig->kube,
			      is_new ? "POST /api/v1/namespaces/koordinator-system/"
				       "configmaps"
				     : "PUT " MAP,
			      "Content-Type: application/json\r\n", body, strlen(body)),
		is_new ? 201 : 200);
	free(body);
	json_decref(map);
}

static void test_config_map(void **state)
{
	struct rig *rig = *state;
	json_t *status;

	must(rig, "POST /api/v1/namespaces", "{'metadata':{'name':'koordinator-system'}}",
	     201);
	begin(rig);
	put_map(rig, true, MOVE "neap: {dryRunPlugins: [MoveAll]}\n");
	make_pod(rig, "a", "n1");
	status = rounds(rig, 1);
	WANTS(status, "source~ConfigMap koordinator-system/koord-descheduler-config",
	      "!error");
	json_decref(status);
	/* A wrong one changes nothing, and is told. */
	put_map(rig, false, MOVE "strategies: {}\n");
	for (int ms = 0; ms < PATIENCE_MS; ms += 5) {
		kube_run(rig->kube, 5);
		must(rig, "GET /api/v1/namespaces/koordinator-system/events", NULL, 200);
		if (json_array_size(kube_at(rig->kube->body, "items")))
			break;
	}
	WANTS(rig->kube->body, "items.0.reason=InvalidConfiguration",
	      "items.0.message~strategies: belongs to descheduler/v1alpha1");
	status = neap_descheduler_status(rig->descheduler, false);
	WANTS(status, "state=waiting", "error~belongs to descheduler/v1alpha1");
	json_decref(status);
	/* The right one acts at once. */
	put_map(rig, false, MOVE);
	status = rounds(rig, 2);
	WANTS(status, "!error", "round.evicted.0.pod=a");
	json_decref(status);
	must(rig, "DELETE " MAP, NULL, 200);
	for (int ms = 0; ms < PATIENCE_MS; ms += 5) {
		kube_run(rig->kube, 5);
		status = neap_descheduler_status(rig->descheduler, false);
		if (!kube_differs(status, "state=unconfigured"))
			break;
		json_decref(status);
	}
	json_decref(status);
}

/* --- simulations --- */

static void simulated(void *arg, json_t *record, const struct neap_error *err)
{
	struct rig *rig = arg;

	json_decref(rig->record);
	rig->record = record;
	rig->err = err ? *err : (struct neap_error){0};
	rig->is_done = true;
}

static void simulate(struct rig *rig, const struct neap_simulation *simulation)
{
	rig->is_done = false;
	neap_descheduler_simulate(rig->descheduler, simulation, simulated, rig);
	for (int ms = 0; ms < PATIENCE_MS && !rig->is_done; ms += 5)
		kube_run(rig->kube, 5);
	assert_true(rig->is_done);
}

static void test_simulations(void **state)
{
	struct rig *rig = *state;
	const struct neap_simulation of_policy = {.policy = move_all,
						  .policy_len = sizeof(move_all) - 1};
	const struct neap_simulation of_config = {.config = MOVE,
						  .config_len = sizeof(MOVE) - 1};
	const struct neap_simulation of_one = {.plugin = "Raises"};
	const struct neap_simulation of_bad = {.policy = "return 1", .policy_len = 8};

	make_pod(rig, "a", "n1");
	make_pod(rig, "b", "n1");
	begin(rig);
	simulate(rig, &of_one);
	assert_int_equal(rig->err.code, NEAP_ECONFLICT);
	simulate(rig, &of_bad);
	assert_int_equal(rig->err.code, NEAP_EINVAL);
	simulate(rig, &of_policy);
	assert_int_equal(rig->err.code, NEAP_OK);
	WANTS(rig->record, "#evicted=2", "evicted.0.to=n2", "dry_run=true");
	/* Two on one node, none on the other; then the other way round. */
	assert_true(json_real_value(kube_at(rig->record, "spread.cpu.before")) == 25);
	simulate(rig, &of_config);
	WANTS(rig->record, "#evicted=2");
	assert_string_equal(pods(rig), "a b");
	use(rig, POLICY("", "deschedule: {enabled: [Raises]}"));
	json_decref(rounds(rig, 1));
	simulate(rig, &of_one);
	WANTS(rig->record, "#evicted=0", "strategies.0.result=failed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_without_configuration, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_evicts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_place, setup, teardown),
		cmocka_unit_test_setup_teardown(test_same_node, setup, teardown),
		cmocka_unit_test_setup_teardown(test_budgets_and_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failing_strategies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dry, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pause_and_window, setup, teardown),
		cmocka_unit_test_setup_teardown(test_migrates, setup, teardown),
		cmocka_unit_test_setup_teardown(test_by_event, setup, teardown),
		cmocka_unit_test_setup_teardown(test_config_map, setup, teardown),
		cmocka_unit_test_setup_teardown(test_simulations, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
