/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/descheduler_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/deschedule/play/strategies.h"
#include "api/task/task.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/log/log.h"
#include "lua/run/registry.h"
#include "t/lib/patience.h"

/* --- strategies --- */

const char descheduler_move_all[] =
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
/* The cost shows the interval. */
static const char changes[] =
	"return { api = 1, kind = 'deschedule', name = 'changes', plugin = 'Changes',\n"
	"  point = 'balance',\n"
	"  run = function(ctx, round)\n"
	"    for _, node in ipairs(round:nodes()) do\n"
	"      if node.is_cordoned and node.name == 'n1' then round:uncordon(node)\n"
	"      elseif node.name == 'n2' then round:cordon(node) end\n"
	"    end\n"
	"    for _, pod in ipairs(round:pods()) do\n"
	"      round:set_deletion_cost(pod, round.interval_s)\n"
	"    end\n"
	"  end }\n";
static const char keep_b[] = "return { api = 1, kind = 'evict', name = 'keep-b',\n"
			     "  allow = function(ctx, pod)\n"
			     "    if pod.name == 'b' then return false, 'b stays' end\n"
			     "    return true\n"
			     "  end }\n";

/* --- the rig --- */

int64_t descheduler_now;

static int64_t now(void)
{
	return descheduler_now;
}

static void write_policy(const struct descheduler_rig *rig, const char *kind,
			 const char *name, const char *text)
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

void descheduler_must(struct descheduler_rig *rig, const char *ask, const char *body,
		      int status)
{
	int got = kube_ask(rig->kube, ask, body);

	if (got != status)
		fail_msg("%s: %d %s", ask, got, kube_text(rig->kube->body, "message"));
}

static void make_node(struct descheduler_rig *rig, const char *name, int cpus)
{
	char body[512], ask[128];

	(void)snprintf(body, sizeof(body), "{'metadata':{'name':'%s'}}", name);
	descheduler_must(rig, "POST /api/v1/nodes", body, 201);
	(void)snprintf(ask, sizeof(ask), "MERGE /api/v1/nodes/%s/status", name);
	(void)snprintf(body, sizeof(body),
		       "{'status':{'allocatable':{'cpu':'%d','memory':'8Gi','pods':'20'},"
		       "'conditions':[{'type':'Ready','status':'True'}]}}",
		       cpus);
	descheduler_must(rig, ask, body, 200);
}

void descheduler_pod(struct descheduler_rig *rig, const char *name, const char *node)
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
	descheduler_must(rig, "POST " PODS, body, 201);
	if (!*node)
		return;
	(void)snprintf(ask, sizeof(ask), "MERGE " PODS "/%s/status", name);
	descheduler_must(rig, ask, "{'status':{'phase':'Running'}}", 200);
}

static void migrate(void *arg, const struct neap_deschedule_wish *wish,
		    void (*told)(void *told_arg, const char *trouble), void *told_arg)
{
	struct descheduler_rig *rig = arg;
	size_t len = strlen(rig->wished);

	assert_non_null(wish->args);
	(void)snprintf(rig->wished + len, sizeof(rig->wished) - len, "%s:%s ", wish->name,
		       wish->strategy);
	told(told_arg, strcmp(wish->name, "b") == 0 ? "there is a job already" : NULL);
}

static const struct neap_log quiet = {.fd = -1, .program = "test"};

int descheduler_setup(void **state)
{
	struct descheduler_rig *rig = neap_alloc(sizeof(*rig));
	void *kube = NULL;
	struct neap_error err = {0};

	neap_json_setup();
	descheduler_now = INT64_C(1767225600) * SECOND; /* 2026-01-01 00:00 UTC */
	(void)kube_rig_setup(&kube);
	rig->kube = kube;
	(void)snprintf(rig->dir, sizeof(rig->dir), "/tmp/neap-deschedule-XXXXXX");
	assert_non_null(mkdtemp(rig->dir));
	write_policy(rig, "deschedule", "move-all", descheduler_move_all);
	write_policy(rig, "deschedule", "raises", raises);
	write_policy(rig, "deschedule", "endless", endless);
	write_policy(rig, "deschedule", "changes", changes);
	write_policy(rig, "evict", "keep-b", keep_b);
	rig->registry = neap_registry_new();
	assert_non_null(rig->registry);
	if (neap_strategies_new(rig->dir, rig->registry, &rig->strategies, &err) < 0)
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
	descheduler_must(
		rig, "POST /apis/apps/v1/namespaces/default/replicasets",
		"{'metadata':{'name':'r'},'spec':{'replicas':0,'selector':{'matchLabels':{"
		"'app':'a'}},'template':{'metadata':{'labels':{'app':'a'}},'spec':{"
		"'containers':[{'name':'c','image':'i'}]}}}}",
		201);
	(void)snprintf(rig->owner, sizeof(rig->owner), "%s",
		       kube_text(rig->kube->body, "metadata.uid"));
	make_node(rig, "n1", 4);
	make_node(rig, "n2", 4);
	/* So that what leaves it goes to the other one. */
	descheduler_must(rig, "MERGE /api/v1/nodes/n1", "{'spec':{'unschedulable':true}}",
			 200);
	*state = rig;
	return 0;
}

int descheduler_teardown(void **state)
{
	struct descheduler_rig *rig = *state;
	void *kube = rig->kube;
	char line[128];

	neap_descheduler_free(rig->descheduler);
	neap_strategies_free(rig->strategies);
	neap_registry_free(rig->registry);
	neap_tasks_free(rig->tasks);
	(void)kube_rig_teardown(&kube);
	(void)snprintf(line, sizeof(line), "rm -r %s", rig->dir);
	assert_int_equal(system(line), 0);
	json_decref(rig->record);
	free(rig);
	return 0;
}

void descheduler_upload(struct descheduler_rig *rig, const char *text)
{
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};

	if (neap_policy_load(text, strlen(text), "uploaded.lua", &policy, &err) < 0 ||
	    neap_registry_put_take(rig->registry, policy, 0, 0, &err) < 0)
		fail_msg("%s", err.msg);
	if (rig->descheduler)
		neap_descheduler_policies_changed(rig->descheduler);
}

void descheduler_begin(struct descheduler_rig *rig)
{
	struct neap_error err = {0};

	if (neap_descheduler_new(&rig->config, &rig->descheduler, &err) < 0)
		fail_msg("%s", err.msg);
}

void descheduler_use(struct descheduler_rig *rig, const char *text)
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

json_t *descheduler_rounds(struct descheduler_rig *rig, int count)
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

void descheduler_wants(json_t *json, const char *const *want)
{
	for (; *want; want++) {
		const char *differs = kube_differs(json, *want);

		if (differs)
			fail_msg("%s: %s\n%s", *want, differs,
				 json_dumps(json, JSON_INDENT(1)));
	}
}

json_t *descheduler_run(struct descheduler_rig *rig, int count)
{
	struct neap_error err = {0};

	if (neap_descheduler_run(rig->descheduler, "nobody", &err) < 0)
		fail_msg("%s", err.msg);
	return descheduler_rounds(rig, count);
}

const char *descheduler_pods(struct descheduler_rig *rig)
{
	static char names[256];
	const json_t *items;
	size_t i;
	json_t *pod;

	descheduler_must(rig, "GET " PODS, NULL, 200);
	names[0] = '\0';
	items = kube_at(rig->kube->body, "items");
	json_array_foreach (items, i, pod)
		(void)snprintf(names + strlen(names), sizeof(names) - strlen(names),
			       "%s%s", i ? " " : "", kube_text(pod, "metadata.name"));
	return names;
}

void descheduler_wait(struct descheduler_rig *rig, const char *want)
{
	json_t *status = NULL;

	for (int ms = 0; ms < PATIENCE_MS; ms += 5) {
		json_decref(status);
		kube_run(rig->kube, 5);
		status = neap_descheduler_status(rig->descheduler, false);
		if (!kube_differs(status, want))
			break;
	}
	WANTS(status, want);
	json_decref(status);
}

void descheduler_put_map(struct descheduler_rig *rig, bool is_new, const char *text)
{
	json_t *map = json_pack("{s:{s:s},s:{s:s}}", "metadata", "name",
				"koord-descheduler-config", "data", "c", text);
	char *body = json_dumps(map, 0);

	assert_int_equal(
		kube_ask_with(rig->kube,
			      is_new ? "POST /api/v1/namespaces/koordinator-system/"
				       "configmaps"
				     : "PUT " CONFIG_MAP,
			      "Content-Type: application/json\r\n", body, strlen(body)),
		is_new ? 201 : 200);
	free(body);
	json_decref(map);
}

static void simulated(void *arg, json_t *record, const struct neap_error *err)
{
	struct descheduler_rig *rig = arg;

	json_decref(rig->record);
	rig->record = record;
	rig->err = err ? *err : (struct neap_error){0};
	rig->is_done = true;
}

void descheduler_simulate(struct descheduler_rig *rig,
			  const struct neap_simulation *simulation)
{
	rig->is_done = false;
	neap_descheduler_simulate(rig->descheduler, simulation, simulated, rig);
	for (int ms = 0; ms < PATIENCE_MS && !rig->is_done; ms += 5)
		kube_run(rig->kube, 5);
	assert_true(rig->is_done);
}
