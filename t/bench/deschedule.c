/* SPDX-License-Identifier: Apache-2.0
 *
 * For P22: deschedule ROOT. A round of LowNodeUtilization and one of topology spread, in
 * clusters of 1,000 to 20,000 nodes with twenty pods each: CPU time of the strategy, of
 * settling the world and of one pass over all pods, and memory; and whole rounds,
 * recorded and not. Then in outcome, in a cluster that is played: evictions for each
 * point of imbalance removed, beside a plain greedy strategy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "api/deschedule/play/play_open.h"
#include "api/deschedule/play/recording.h"
#include "api/deschedule/play/strategies.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "lua/deschedule/round_tape.h"
#include "t/lib/sim_rig.h"

#define PODS_A_NODE 20
#define ROUNDS      3

static void need(int rc, const struct neap_error *err, const char *what)
{
	if (rc >= 0)
		return;
	(void)fprintf(stderr, "%s: %s\n", what, err->msg);
	exit(1);
}

static int64_t cpu_now(void)
{
	return neap_clock_usec(CLOCK_THREAD_CPUTIME_ID);
}

static double resident_mib(void)
{
	long pages = 0, all;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%ld %ld", &all, &pages) != 2)
		exit(1);
	(void)fclose(file);
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static void add(struct neap_world *world, const char *resource, const char *text)
{
	struct neap_error err = {0};
	json_t *json = json_loads(text, 0, NULL);

	need(json ? neap_world_add(world, resource, json, &err) : -1, &err, text);
	json_decref(json);
}

/* One node in ten has twice as many pods, one in ten half as many. Workloads of ten, of
 * which one in five spreads over zones, in a namespace for each hundred nodes. */
static struct neap_world *fill(int nodes)
{
	struct neap_world *world = NULL;
	struct neap_error err = {0};
	int pod = 0, namespaces = nodes / 100;

	need(neap_world_new(NULL, &world, &err), &err, "world");
	for (int i = 0; i < nodes; i++) {
		int count = i % 10 == 0   ? 2 * PODS_A_NODE
			    : i % 10 == 1 ? PODS_A_NODE / 2
					  : PODS_A_NODE - PODS_A_NODE / 16;
		char text[2048];

		(void)snprintf(
			text, sizeof(text),
			"{\"metadata\":{\"name\":\"node-%05d\",\"labels\":{"
			"\"kubernetes.io/hostname\":\"node-%05d\","
			"\"topology.kubernetes.io/zone\":\"zone-%d\"}},\"spec\":{},"
			"\"status\":{\"allocatable\":{\"cpu\":\"31740m\",\"memory\":"
			"\"121Gi\",\"pods\":\"110\"},\"conditions\":[{\"type\":\"Ready\","
			"\"status\":\"True\"}]}}",
			i, i, i % 3);
		add(world, "nodes", text);
		for (int k = 0; k < count; k++, pod++) {
			int app = pod % (nodes * PODS_A_NODE / 10);
			int used = snprintf(
				text, sizeof(text),
				"{\"metadata\":{\"name\":\"app-%d-%d\",\"namespace\":"
				"\"ns-%d\",\"uid\":\"p%d\",\"creationTimestamp\":"
				"\"2026-01-01T00:00:00Z\",\"labels\":{\"app\":\"app-%d\"},"
				"\"ownerReferences\":[{\"apiVersion\":\"apps/v1\","
				"\"kind\":\"ReplicaSet\",\"name\":\"app-%d\",\"uid\":"
				"\"u%d\",\"controller\":true}]},\"spec\":{\"nodeName\":"
				"\"node-%05d\",",
				app, pod, app % namespaces, pod, app, app, app, i);

			if (app % 5 == 0)
				used += snprintf(
					text + used, sizeof(text) - (size_t)used,
					"\"topologySpreadConstraints\":[{\"maxSkew\":1,"
					"\"topologyKey\":\"topology.kubernetes.io/zone\","
					"\"whenUnsatisfiable\":\"DoNotSchedule\","
					"\"labelSelector\":{\"matchLabels\":{\"app\":"
					"\"app-%d\"}}}],",
					app);
			(void)snprintf(
				text + used, sizeof(text) - (size_t)used,
				"\"containers\":[{\"name\":\"main\",\"image\":"
				"\"example.com/main:1\",\"resources\":{\"requests\":"
				"{\"cpu\":\"800m\",\"memory\":\"2Gi\"}}}]},\"status\":{"
				"\"phase\":\"Running\",\"startTime\":"
				"\"2026-01-01T00:00:05Z\",\"conditions\":[{\"type\":"
				"\"Ready\",\"status\":\"True\"}],\"containerStatuses\":[{"
				"\"name\":\"main\",\"restartCount\":0}]}}");
			add(world, "pods", text);
		}
	}
	return world;
}

struct figures {
	int64_t cpu_usec;
	size_t asked, evicted;
	char failure[NEAP_ERROR_MSG]; /* "" */
};

static struct figures play(const struct neap_world *world, struct neap_policy *policy)
{
	struct neap_evictor evictor;
	struct neap_round_args args = {
		.world = world,
		.now_usec = INT64_C(1767229200) * 1000000,
		.evictor = &evictor,
		.limits = {5, NEAP_LIMITS_NONE, NEAP_LIMITS_NONE, NEAP_LIMITS_NONE,
			   false},
		.honors_budgets = true,
	};
	struct neap_round *round = NULL;
	struct figures ret = {0};
	struct neap_error err = {0};
	int64_t start;

	neap_evictor_init(&evictor);
	start = cpu_now();
	need(neap_round_new(&args, &round, &err), &err, "round");
	need(neap_round_set_nodes(round, NULL, true, &err), &err, "nodes");
	if (neap_policy_run_round(policy, round, "bench", &err) != NEAP_TICK_WISHES)
		(void)neap_strcopy(ret.failure, sizeof(ret.failure), err.msg);
	ret.cpu_usec = cpu_now() - start;
	ret.asked = round->said_count;
	ret.evicted = round->evicted_count;
	neap_round_free(round);
	neap_evictor_done(&evictor);
	return ret;
}

/* The limit: what every pod requests, once. */
static int64_t pass(const struct neap_world *world)
{
	int64_t start = cpu_now();
	volatile int64_t sum = 0;

	for (size_t i = 0; i < world->pod_count; i++)
		sum = sum + neap_pod_request(world->pods[i]->pod, NEAP_RESOURCE_CPU);
	return cpu_now() - start;
}

/* Whole rounds, recorded and not, in turn; and what is done after the round, without the
 * snapshot. */
static void record(struct neap_world *world, const char *plugin, const char *args)
{
	struct neap_strategies *strategies = NULL;
	struct neap_deschedule_config *config = NULL;
	struct neap_deschedule_lines lines = {0};
	struct neap_play_opening *opening = NULL;
	struct neap_play_set *set = NULL;
	struct neap_error err = {0};
	int64_t best[2] = {INT64_MAX, INT64_MAX}, written = INT64_MAX;
	size_t bytes = 0, cut = 0;
	char text[1024];

	(void)snprintf(text, sizeof(text),
		       "{\"apiVersion\":\"descheduler/v1alpha2\",\"kind\":"
		       "\"DeschedulerPolicy\",\"profiles\":[{\"name\":\"p\","
		       "\"pluginConfig\":[{\"name\":\"DefaultEvictor\",\"args\":{}},{"
		       "\"name\":\"%s\",\"args\":%s}],\"plugins\":{\"filter\":{"
		       "\"enabled\":[\"DefaultEvictor\"]},\"balance\":{\"enabled\":["
		       "\"%s\"]}}}]}",
		       plugin, args, plugin);
	need(neap_strategies_new("policies", NULL, &strategies, &err), &err, "policies");
	need(neap_deschedule_config_parse(text, strlen(text), "f.yaml",
					  neap_strategies_plugins(strategies), &config,
					  &lines, &err),
	     &err, "configuration");
	need(neap_play_set_new(config, NULL, NULL, NULL, &set, &err), &err, "set");
	need(neap_play_opening_new(set, strategies, &opening, &err), &err, "opening");
	neap_play_opening_work(opening);
	need(neap_play_opening_end(opening, &err), &err, "opening");
	for (int i = 0; i < 4 * ROUNDS; i++) {
		neap_auto_buf struct neap_buf out = {0};
		struct neap_play play = {
			.set = set,
			.world = world,
			.now_usec = INT64_C(1767229200) * 1000000,
			.limits = {5, NEAP_LIMITS_NONE, NEAP_LIMITS_NONE,
				   NEAP_LIMITS_NONE, false},
			.is_recorded = i % 2,
		};
		int64_t start = cpu_now();

		neap_play_run(&play);
		start = cpu_now() - start;
		best[i % 2] = start < best[i % 2] ? start : best[i % 2];
		if (play.recording) {
			start = cpu_now();
			neap_buf_init(&out, NEAP_ROUND_BYTES);
			need(neap_recording_write(play.recording, &out, &err), &err,
			     "write");
			start = cpu_now() - start;
			written = start < written ? start : written;
			bytes = out.len;
			cut = neap_recording_cut(play.recording);
		}
		neap_play_done(&play);
	}
	(void)printf("  %s, whole round: %.0f ms CPU, recorded %.0f ms (%.2f), then %.0f "
		     "ms for %.1f MB, %zu nodes left out\n",
		     plugin, (double)best[0] / 1000, (double)best[1] / 1000,
		     (double)best[1] / (double)best[0], (double)written / 1000,
		     (double)bytes / 1e6, cut);
	neap_play_set_free(set);
	(void)neap_deschedule_config_unref(config);
	neap_deschedule_lines_done(&lines);
	neap_strategies_free(strategies);
}

static void measure(int nodes)
{
	static const struct {
		const char *name, *file, *params;
	} rows[] = {
		{"LowNodeUtilization", "policies/deschedule/low-node-utilization.lua",
		 "{\"thresholds\":{\"cpu\":40},\"targetThresholds\":{\"cpu\":70}}"},
		{"topology spread",
		 "policies/deschedule/remove-pods-violating-topology-spread.lua", ""},
	};
	double before = resident_mib();
	struct neap_world *world = fill(nodes);
	struct neap_error err = {0};
	int64_t start = cpu_now();

	need(neap_world_settle(world, &err), &err, "settle");
	(void)printf(
		"%d nodes, %zu pods: settled in %.1f ms, one pass %.1f ms, %.0f MiB\n",
		nodes, world->pod_count, (double)(cpu_now() - start) / 1000,
		(double)pass(world) / 1000, resident_mib() - before);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_policy *policy = sim_rig_policy(rows[i].file, rows[i].params);
		struct figures best = {.cpu_usec = INT64_MAX};

		for (int k = 0; k < ROUNDS; k++) {
			struct figures now = play(world, policy);

			if (now.cpu_usec < best.cpu_usec)
				best = now;
		}
		if (*best.failure)
			(void)printf("  %s: failed: %s\n", rows[i].name, best.failure);
		else
			(void)printf("  %s: %.0f ms CPU, %zu asked, %zu evicted\n",
				     rows[i].name, (double)best.cpu_usec / 1000,
				     best.asked, best.evicted);
		neap_policy_free(policy);
	}
	record(world, "LowNodeUtilization",
	       "{\"thresholds\":{\"cpu\":40},\"targetThresholds\":{\"cpu\":70}}");
	record(world, "RemovePodsViolatingTopologySpreadConstraint", "{}");
	neap_world_free(world);
}

/* A node comes back empty; then rounds for two hours. */
static void outcome(const char *name, const char *file, const char *params, bool rests)
{
	struct neap_policy *policy = sim_rig_policy(file, params);
	double points = 0;
	size_t moves = 0, twice = 0;

	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct neap_generate_args load;
		struct neap_sim_args args;
		struct sim_rig rig;
		double before;

		neap_sim_args_init(&args);
		neap_generate_args_init(&load);
		args.seed = seed;
		load.nodes = 20;
		sim_rig_open(&rig, &args, &load);
		rig.moved = rests ? neap_moved_new(NEAP_SIM_HOUR) : NULL;
		neap_generate_lose(rig.generate);
		sim_rig_run(&rig, load.repair_usec + NEAP_SIM_SECOND);
		before = sim_rig_spread(&rig);
		for (int i = 0; i < 24; i++) {
			sim_rig_round(&rig, &policy, 1);
			sim_rig_run(&rig, 5 * NEAP_SIM_MINUTE);
		}
		points += 100 * (before - sim_rig_spread(&rig));
		for (size_t i = 0; i < rig.sim->leave_count; i++) {
			const struct neap_sim_leave *leave = rig.sim->leaves[i];

			moves += leave->left_usec > 0;
			twice += leave->before &&
				 leave->left_usec - leave->before->left_usec <
					 NEAP_SIM_HOUR;
		}
		sim_rig_close(&rig);
	}
	(void)printf("  %s: %zu evictions, %.1f points of imbalance removed: %.2f each; "
		     "%zu twice within an hour\n",
		     name, moves, points, points > 0 ? (double)moves / points : 0, twice);
	neap_policy_free(policy);
}

int main(int argc, char **argv)
{
	static const int sizes[] = {1000, 5000, 20000};
	int most = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 20000;

	if (argc < 2 || chdir(argv[1]) < 0) {
		(void)fprintf(stderr, "usage: deschedule ROOT [NODES-AT-MOST]\n");
		return 2;
	}
	neap_json_setup();
	for (size_t i = 0; i < NEAP_ARRAY_LEN(sizes); i++)
		if (sizes[i] <= most)
			measure(sizes[i]);
	(void)printf("in outcome, 20 nodes 70 %% full, five seeds, a node comes back:\n");
	outcome("LowNodeUtilization", "policies/deschedule/low-node-utilization.lua",
		"{\"thresholds\":{\"cpu\":5},\"targetThresholds\":{\"cpu\":5},"
		"\"useDeviationThresholds\":true}",
		true);
	outcome("greedy", "t/sim/greedy.lua", "", false);
	return 0;
}
