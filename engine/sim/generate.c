/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/sim/generate.h"

#include <math.h>
#include <stdlib.h>

#include "engine/sim/sim_priv.h"

#define MIB        (INT64_C(1) << 20)
#define GIB        (INT64_C(1) << 30)
#define DAY        (24 * NEAP_SIM_HOUR)
#define WAVE_EVERY (10 * NEAP_SIM_MINUTE)
#define PI         3.14159265358979323846

struct lost {
	int node; /* -1: none */
	int64_t back_usec;
};

struct neap_generate {
	struct neap_sim *sim;
	struct neap_generate_args args;
	bool is_held;
	int64_t wave_usec, deploy_usec, burst_usec, lose_usec;
	struct lost lost;
	uint64_t made; /* for names */
};

void neap_generate_args_init(struct neap_generate_args *args)
{
	*args = (struct neap_generate_args){
		.nodes = 12,
		.zones = 3,
		.fill = 0.7,
		.tainted = 0.1,
		.tolerant = 0.3,
		.spread = 0.2,
		.budgeted = 0.3,
		.apart = 0.1,
		.ordered = 0.15,
		.burst_pods = 20,
		.burst_life_usec = 10 * NEAP_SIM_MINUTE,
		.repair_usec = 20 * NEAP_SIM_MINUTE,
	};
}

void neap_generate_tell(const struct neap_generate_args *args, uint64_t seed,
			struct neap_buf *out)
{
	neap_buf_addf(
		out,
		"seed %llu: %d nodes in %d zones, %.0f %% full; tainted %.0f %%, "
		"tolerant %.0f %%, spread %.0f %%, budgeted %.0f %%, apart %.0f %%, "
		"ordered %.0f %%; ",
		(unsigned long long)seed, args->nodes, args->zones, 100 * args->fill,
		100 * args->tainted, 100 * args->tolerant, 100 * args->spread,
		100 * args->budgeted, 100 * args->apart, 100 * args->ordered);
	neap_buf_addf(out,
		      "wave %.0f %%; an hour: %g deploys, %g bursts of up to %d pods for "
		      "%lld min, %g losses of a node for %lld min%s",
		      100 * args->wave, args->deploys, args->bursts, args->burst_pods,
		      (long long)(args->burst_life_usec / NEAP_SIM_MINUTE), args->losses,
		      (long long)(args->repair_usec / NEAP_SIM_MINUTE),
		      args->is_packed ? "; no room at all" : "");
}

static bool is_so(struct neap_sim *sim, double share)
{
	return neap_sim_chance(sim) < share;
}

/* The time of the next of so many an hour. */
static int64_t after(struct neap_sim *sim, double an_hour)
{
	if (an_hour <= 0)
		return NEAP_SIM_NEVER;
	return sim->now_usec + (int64_t)(-log(1 - neap_sim_chance(sim)) / an_hour *
					 (double)NEAP_SIM_HOUR);
}

static void set_amounts(json_t *object, const char *name, int64_t cpu_milli,
			int64_t bytes, const char *pods)
{
	char cpu[32], memory[32];
	json_t *map;

	(void)snprintf(cpu, sizeof(cpu), "%lldm", (long long)cpu_milli);
	(void)snprintf(memory, sizeof(memory), "%lldMi", (long long)(bytes / MIB));
	map = json_pack("{s:s, s:s}", "cpu", cpu, "memory", memory);
	if (pods)
		(void)json_object_set_new(map, "pods", json_string(pods));
	(void)json_object_set_new(object, name, map);
}

/* --- nodes --- */

/* A node is the same whenever it is made. */
static int add_node(struct neap_generate *generate, int i, struct neap_error *err)
{
	static const int64_t cpus[] = {16, 32, 32, 32, 64};
	const struct neap_generate_args *args = &generate->args;
	uint64_t kind =
		(uint64_t)i * UINT64_C(0x9e3779b97f4a7c15) + generate->sim->args.seed;
	int64_t count = cpus[(kind >> 20) % NEAP_ARRAY_LEN(cpus)];
	char name[32], zone[32];
	json_t *node, *status;
	int rc;

	(void)snprintf(name, sizeof(name), "node-%05d", i);
	(void)snprintf(zone, sizeof(zone), "zone-%d", i % args->zones);
	node = json_pack("{s:{s:s, s:{s:s, s:s}}, s:{}, s:{s:[{s:s, s:s}]}}", "metadata",
			 "name", name, "labels", "kubernetes.io/hostname", name,
			 "topology.kubernetes.io/zone", zone, "spec", "status",
			 "conditions", "type", "Ready", "status", "True");
	status = json_object_get(node, "status");
	set_amounts(status, "capacity", count * 1000, count * 4 * GIB, "110");
	/* What the system keeps for itself. */
	set_amounts(status, "allocatable", count * 1000 - 100 - count * 5,
		    count * 4 * GIB - 2 * GIB - count * 100 * MIB, "110");
	if ((double)((kind >> 40) % 1000) < 1000 * args->tainted)
		(void)json_object_set_new(json_object_get(node, "spec"), "taints",
					  json_pack("[{s:s, s:s, s:s}]", "key",
						    "dedicated", "value", "special",
						    "effect", "NoSchedule"));
	if (!sim_is_made(generate->sim, status)) {
		json_decref(node);
		return neap_error_nomem(err);
	}
	rc = neap_sim_add(generate->sim, "nodes", node, err);
	json_decref(node);
	return rc;
}

/* --- pods --- */

struct size {
	int64_t cpu_milli, mib;
	unsigned weight;
};

static const struct size sizes[] = {
	{100, 128, 20},  {250, 256, 15},   {250, 512, 15},  {500, 1024, 18},
	{500, 2048, 8},  {1000, 2048, 8},  {1000, 4096, 8}, {2000, 4096, 4},
	{2000, 8192, 2}, {4000, 16384, 2},
};

static const struct size *pick_size(struct neap_sim *sim)
{
	uint64_t roll = neap_sim_roll(sim, 100);

	for (size_t i = 0; i < NEAP_ARRAY_LEN(sizes); i++) {
		if (roll < sizes[i].weight)
			return &sizes[i];
		roll -= sizes[i].weight;
	}
	return &sizes[0];
}

static json_t *pod_new(const char *app, const struct size *size, int priority)
{
	json_t *pod = json_pack(
		"{s:{s:{s:s}}, s:{s:s, s:i, s:[{s:s, s:s, s:{}}]}, s:{s:s}}", "metadata",
		"labels", "app", app, "spec", "schedulerName", "koord-scheduler",
		"priority", priority, "containers", "name", "main", "image",
		"example.com/main:1", "resources", "status", "phase", "Pending");
	json_t *container = json_array_get(
		json_object_get(json_object_get(pod, "spec"), "containers"), 0);

	set_amounts(json_object_get(container, "resources"), "requests", size->cpu_milli,
		    size->mib * MIB, NULL);
	return pod;
}

static void decorate(struct neap_generate *generate, json_t *pod, const char *app)
{
	const struct neap_generate_args *args = &generate->args;
	json_t *spec = json_object_get(pod, "spec");

	if (is_so(generate->sim, args->tolerant))
		(void)json_object_set_new(spec, "tolerations",
					  json_pack("[{s:s, s:s}]", "key", "dedicated",
						    "operator", "Exists"));
	if (is_so(generate->sim, args->spread))
		(void)json_object_set_new(
			spec, "topologySpreadConstraints",
			json_pack("[{s:i, s:s, s:s, s:{s:{s:s}}}]", "maxSkew", 1,
				  "topologyKey", "topology.kubernetes.io/zone",
				  "whenUnsatisfiable",
				  is_so(generate->sim, 0.5) ? "DoNotSchedule"
							    : "ScheduleAnyway",
				  "labelSelector", "matchLabels", "app", app));
	if (is_so(generate->sim, args->apart))
		(void)json_object_set_new(
			spec, "affinity",
			json_pack("{s:{s:[{s:s, s:{s:{s:s}}}]}}", "podAntiAffinity",
				  "requiredDuringSchedulingIgnoredDuringExecution",
				  "topologyKey", "kubernetes.io/hostname",
				  "labelSelector", "matchLabels", "app", app));
}

static int add_budget(struct neap_generate *generate, const char *ns, const char *app,
		      int64_t replicas, struct neap_error *err)
{
	json_t *budget = json_pack("{s:{s:s, s:s}, s:{s:I, s:{s:{s:s}}}}", "metadata",
				   "name", app, "namespace", ns, "spec", "maxUnavailable",
				   (json_int_t)(replicas > 10 ? replicas / 10 : 1),
				   "selector", "matchLabels", "app", app);
	int rc = budget ? neap_sim_add(generate->sim, "poddisruptionbudgets", budget, err)
			: neap_error_nomem(err);

	json_decref(budget);
	return rc;
}

static const char *const namespaces[] = {"shop", "search", "pay", "batch"};

/* Adds a workload; what it requests. */
static int add_workload(struct neap_generate *generate, int64_t *ret_milli,
			struct neap_error *err)
{
	static const int64_t counts[] = {1, 2, 2, 3, 3, 4, 5, 6, 8, 10, 12, 20};
	static const int priorities[] = {0, 0, 0, 5500, 9100};
	struct neap_sim *sim = generate->sim;
	const struct size *size = pick_size(sim);
	int64_t replicas = counts[neap_sim_roll(sim, NEAP_ARRAY_LEN(counts))];
	const char *ns = namespaces[neap_sim_roll(sim, NEAP_ARRAY_LEN(namespaces))];
	struct neap_sim_workload *workload;
	bool is_ordered = is_so(sim, generate->args.ordered);
	char name[32];
	json_t *pod;
	int rc = 0;

	(void)snprintf(name, sizeof(name), "app-%llu",
		       (unsigned long long)++generate->made);
	pod = pod_new(name, size,
		      priorities[neap_sim_roll(sim, NEAP_ARRAY_LEN(priorities))]);
	decorate(generate, pod, name);
	workload = neap_sim_new_workload(sim, is_ordered ? "StatefulSet" : "ReplicaSet",
					 ns, name, pod, replicas);
	json_decref(pod);
	if (!workload) {
		*err = sim->err;
		return sim->rc;
	}
	workload->base = workload->most = replicas;
	workload->use = 0.3 + 0.5 * neap_sim_chance(sim);
	workload->phase = 0.2 * neap_sim_chance(sim);
	workload->wave = generate->args.wave;
	*ret_milli = replicas * size->cpu_milli;
	if (replicas > 1 && is_so(sim, generate->args.budgeted))
		rc = add_budget(generate, ns, name, replicas, err);
	return rc;
}

/* A pod without an owner on each node, as large as what is free there. */
static int pack(struct neap_generate *generate, struct neap_error *err)
{
	struct neap_sim *sim = generate->sim;
	size_t rows = neap_cluster_settle(sim->cluster)->rows;

	for (uint32_t row = 0; row < rows; row++) {
		const struct neap_columns *columns = neap_cluster_settle(sim->cluster);
		int64_t left = columns->allocatable[NEAP_RESOURCE_CPU][row] -
			       columns->used[NEAP_RESOURCE_CPU][row];
		const char *node = columns->nodes[row] ? columns->nodes[row]->name : NULL;
		char name[64];
		json_t *pod;

		if (!node || left <= 0)
			continue;
		pod = pod_new("filler", &(struct size){left, 1, 0}, 9100);
		(void)snprintf(name, sizeof(name), "filler-%u", row);
		(void)json_object_set_new(json_object_get(pod, "metadata"), "name",
					  json_string(name));
		(void)json_object_set_new(json_object_get(pod, "metadata"), "namespace",
					  json_string("batch"));
		(void)json_object_set_new(json_object_get(pod, "spec"), "nodeName",
					  json_string(node));
		(void)neap_sim_new_pod_take(sim, pod, NEAP_SIM_NEVER);
	}
	*err = sim->err;
	return sim->rc;
}

static int fill(struct neap_generate *generate, struct neap_error *err)
{
	struct neap_sim *sim = generate->sim;
	const struct neap_columns *columns;
	double all = 0, wanted = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < NEAP_ARRAY_LEN(namespaces); i++) {
		json_t *ns = json_pack("{s:{s:s}}", "metadata", "name", namespaces[i]);

		rc = ns ? neap_sim_add(sim, "namespaces", ns, err)
			: neap_error_nomem(err);
		json_decref(ns);
	}
	for (int i = 0; rc == 0 && i < generate->args.nodes; i++)
		rc = add_node(generate, i, err);
	columns = neap_cluster_settle(sim->cluster);
	for (size_t i = 0; rc == 0 && i < columns->rows; i++)
		all += (double)columns->allocatable[NEAP_RESOURCE_CPU][i];
	while (rc == 0 && wanted < generate->args.fill * all) {
		int64_t milli = 0;

		rc = add_workload(generate, &milli, err);
		wanted += (double)milli;
	}
	if (rc == 0)
		rc = neap_sim_advance(sim, sim->now_usec + 2 * NEAP_SIM_MINUTE, err);
	if (rc == 0 && generate->args.is_packed)
		rc = pack(generate, err);
	return rc;
}

int neap_generate_new(struct neap_sim *sim, const struct neap_generate_args *args,
		      struct neap_generate **ret, struct neap_error *err)
{
	struct neap_generate *generate = neap_alloc(sizeof(*generate));
	int rc;

	if (!generate)
		return neap_error_nomem(err);
	generate->sim = sim;
	generate->args = *args;
	generate->lost.node = -1;
	rc = fill(generate, err);
	if (rc < 0) {
		free(generate);
		return rc;
	}
	generate->wave_usec = args->wave > 0 ? sim->now_usec : NEAP_SIM_NEVER;
	generate->deploy_usec = after(sim, args->deploys);
	generate->burst_usec = after(sim, args->bursts);
	generate->lose_usec = after(sim, args->losses);
	*ret = generate;
	return 0;
}

void neap_generate_free(struct neap_generate *generate)
{
	free(generate);
}

void neap_generate_hold(struct neap_generate *generate, bool is_held)
{
	generate->is_held = is_held;
}

/* --- what moves --- */

static void follow_wave(struct neap_generate *generate)
{
	struct neap_sim *sim = generate->sim;
	double day = (double)(sim->now_usec % DAY) / (double)DAY;

	for (size_t i = 0; i < sim->workload_count; i++) {
		struct neap_sim_workload *workload = sim->workloads[i];
		double now = sin(2 * PI * (day + workload->phase));
		int64_t want = (int64_t)((double)workload->base *
						 (1 + generate->args.wave * now) +
					 0.5);

		/* Ordered ones are not scaled by the hour. */
		if (!workload->is_ordered && want > 0 && want != workload->replicas)
			neap_sim_scale(sim, workload, want);
	}
	generate->wave_usec = sim->now_usec + WAVE_EVERY;
}

/* A new version: half as many pods more or less from now on. */
static void deploy(struct neap_generate *generate)
{
	struct neap_sim *sim = generate->sim;
	struct neap_sim_workload *workload =
		sim->workloads[neap_sim_roll(sim, sim->workload_count)];
	int64_t most = workload->base + (workload->base + 1) / 2;

	neap_sim_scale(sim, workload, 1 + (int64_t)neap_sim_roll(sim, (uint64_t)most));
	generate->deploy_usec = after(sim, generate->args.deploys);
}

void neap_generate_burst(struct neap_generate *generate, int pods)
{
	struct neap_sim *sim = generate->sim;
	const struct size *size = pick_size(sim);

	for (int i = 0; i < pods; i++) {
		json_t *pod = pod_new("batch", size, 0);
		json_t *meta = json_object_get(pod, "metadata");
		char name[32];

		(void)snprintf(name, sizeof(name), "batch-%llu",
			       (unsigned long long)++generate->made);
		(void)json_object_set_new(meta, "name", json_string(name));
		(void)json_object_set_new(meta, "namespace", json_string("batch"));
		(void)neap_sim_new_pod_take(
			sim, pod,
			generate->args.burst_life_usec / 2 +
				(int64_t)neap_sim_roll(
					sim, (uint64_t)generate->args.burst_life_usec));
	}
}

void neap_generate_lose(struct neap_generate *generate)
{
	struct neap_sim *sim = generate->sim;
	char name[32];

	if (generate->lost.node >= 0)
		return;
	generate->lost.node = (int)neap_sim_roll(sim, (uint64_t)generate->args.nodes);
	generate->lost.back_usec = sim->now_usec + generate->args.repair_usec;
	(void)snprintf(name, sizeof(name), "node-%05d", generate->lost.node);
	neap_sim_lose_node(sim, name);
}

static int64_t next_of(const struct neap_generate *generate)
{
	const int64_t times[] = {generate->wave_usec, generate->deploy_usec,
				 generate->burst_usec, generate->lose_usec};
	int64_t due =
		generate->lost.node >= 0 ? generate->lost.back_usec : NEAP_SIM_NEVER;

	for (size_t i = 0; !generate->is_held && i < NEAP_ARRAY_LEN(times); i++)
		due = times[i] < due ? times[i] : due;
	return due;
}

static int move(struct neap_generate *generate, struct neap_error *err)
{
	struct neap_sim *sim = generate->sim;
	int64_t now = sim->now_usec;
	int rc = 0;

	if (generate->lost.node >= 0 && generate->lost.back_usec <= now) {
		rc = add_node(generate, generate->lost.node, err);
		generate->lost.node = -1;
	}
	if (rc < 0 || generate->is_held)
		return rc;
	if (generate->wave_usec <= now)
		follow_wave(generate);
	if (generate->deploy_usec <= now)
		deploy(generate);
	if (generate->burst_usec <= now) {
		neap_generate_burst(
			generate,
			1 + (int)neap_sim_roll(sim, (uint64_t)generate->args.burst_pods));
		generate->burst_usec = after(sim, generate->args.bursts);
	}
	if (generate->lose_usec <= now) {
		neap_generate_lose(generate);
		generate->lose_usec = after(sim, generate->args.losses);
	}
	return 0;
}

int neap_generate_run(struct neap_generate *generate, int64_t until_usec,
		      struct neap_error *err)
{
	int rc = 0;

	while (rc == 0) {
		int64_t due = next_of(generate);

		if (due > until_usec)
			return neap_sim_advance(generate->sim, until_usec, err);
		rc = neap_sim_advance(generate->sim, due, err);
		if (rc == 0)
			rc = move(generate, err);
	}
	return rc;
}
