/* SPDX-License-Identifier: Apache-2.0
 *
 * Descheduling in clusters that are played. In full with SIM_ROUNDS=10000 (make sim). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/sim_rig.h"

#define ROUNDS_A_CLUSTER 20
#define INTERVAL         (5 * NEAP_SIM_MINUTE)
#define PENDING_MAX      NEAP_SIM_MINUTE

static size_t rounds_wanted(void)
{
	const char *text = getenv("SIM_ROUNDS");

	return text && *text ? (size_t)strtoul(text, NULL, 10) : 200;
}

/* --- counterfactual safety --- */

static const struct {
	const char *file, *params;
} strategies[] = {
	{"low-node-utilization",
	 "{\"thresholds\":{\"cpu\":88},\"targetThresholds\":{\"cpu\":92}}"},
	{"high-node-utilization", "{\"thresholds\":{\"cpu\":80}}"},
	{"pod-life-time", "{\"maxPodLifeTimeSeconds\":2400}"},
	{"remove-duplicates", ""},
	{"remove-pods-violating-topology-spread",
	 "{\"constraints\":[\"DoNotSchedule\",\"ScheduleAnyway\"]}"},
	{"remove-pods-violating-inter-pod-anti-affinity", ""},
	{"remove-pods-violating-node-taints", ""},
	{"low-node-load",
	 "{\"lowThresholds\":{\"cpu\":45},\"highThresholds\":{\"cpu\":55},"
	 "\"anomalyCondition\":{\"consecutiveAbnormalities\":1}}"},
	{"fragmentation-aware", "{\"imbalanceThreshold\":0.1}"},
};

struct sums {
	size_t rounds, full_rounds, full_evicted, asked, gone, placed, unwanted, refused;
	size_t right, slow;
	int64_t longest_usec;
	size_t outcomes[NEAP_ROUND_OUTCOMES];
};

static void sum_up(const struct sim_rig *rig, bool is_packed, struct sums *sums)
{
	const struct neap_sim *sim = rig->sim;

	for (size_t i = 0; i < sim->leave_count; i++) {
		const struct neap_sim_leave *leave = sim->leaves[i];
		int64_t until = leave->placed_usec ? leave->placed_usec : sim->now_usec;
		int64_t waited = leave->made_usec ? until - leave->made_usec : 0;

		sums->asked++;
		sums->full_evicted += is_packed;
		sums->unwanted += leave->state == NEAP_LEAVE_UNWANTED;
		sums->refused += leave->state == NEAP_LEAVE_REFUSED;
		if (!leave->left_usec || leave->state == NEAP_LEAVE_UNWANTED)
			continue;
		sums->gone++;
		if (waited > sums->longest_usec)
			sums->longest_usec = waited;
		if (waited > PENDING_MAX) {
			struct neap_buf out;

			sums->slow++;
			neap_buf_init(&out, 2048);
			neap_sim_tell(leave, &out);
			print_message("# too long (%.0f s): %.*s\n",
				      (double)waited / NEAP_SIM_SECOND, (int)out.len,
				      out.data);
			neap_buf_done(&out);
		}
		if (leave->state != NEAP_LEAVE_PLACED)
			continue;
		sums->placed++;
		sums->right += strcmp(leave->told, leave->landed) == 0;
	}
	for (size_t i = 0; i < NEAP_ROUND_OUTCOMES; i++)
		sums->outcomes[i] += rig->refused[i];
}

static void play_cluster(size_t number, size_t rounds, struct neap_policy **policies,
			 struct sums *sums)
{
	struct neap_generate_args load;
	struct neap_sim_args args;
	struct sim_rig rig;

	neap_sim_args_init(&args);
	neap_generate_args_init(&load);
	args.seed = 1000 + number;
	load.nodes = 8 + (int)(number * 7 % 13);
	load.fill = 0.85 + 0.01 * (double)(number * 3 % 11);
	load.is_packed = number % 10 == 2 || number % 10 == 5 || number % 10 == 8;
	load.bursts = load.is_packed ? 0 : 2;
	load.burst_pods = 8;
	load.deploys = load.is_packed ? 0 : 4;
	load.losses = 0;
	sim_rig_open(&rig, &args, &load);
	if (number % 2)
		sim_rig_migrate(&rig, NULL);
	rig.limits.per_node = 3;
	rig.limits.per_namespace = 10;
	rig.limits.total = 12;
	for (size_t i = 0; i < rounds; i++) {
		size_t which = neap_sim_roll(rig.sim, NEAP_ARRAY_LEN(strategies));
		int64_t off = (int64_t)neap_sim_roll(rig.sim, (uint64_t)INTERVAL / 2);

		sim_rig_run(&rig, off);
		/* Others want room in the same moment. */
		if (neap_sim_roll(rig.sim, 3) == 0)
			neap_generate_burst(rig.generate,
					    1 + (int)neap_sim_roll(rig.sim, 4));
		sim_rig_round(&rig, &policies[which], 1);
		sums->rounds++;
		sums->full_rounds += load.is_packed;
		sim_rig_run(&rig, INTERVAL - off);
	}
	sim_rig_run(&rig, INTERVAL);
	sum_up(&rig, load.is_packed, sums);
	sim_rig_close(&rig);
}

static void test_safety(void **state)
{
	struct neap_policy *policies[NEAP_ARRAY_LEN(strategies)];
	size_t wanted = rounds_wanted();
	struct sums sums = {0};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(strategies); i++) {
		char file[256];

		(void)snprintf(file, sizeof(file), "policies/deschedule/%s.lua",
			       strategies[i].file);
		policies[i] = sim_rig_policy(file, strategies[i].params);
	}
	for (size_t i = 0; sums.rounds < wanted; i++) {
		size_t left = wanted - sums.rounds;

		play_cluster(i, left < ROUNDS_A_CLUSTER ? left : ROUNDS_A_CLUSTER,
			     policies, &sums);
	}
	print_message(
		"# %zu rounds, %zu without room; %zu evictions asked for, %zu "
		"refused later, %zu gone, %zu placed, %zu unwanted; %zu of %zu where "
		"told; longest wait %.1f s, %zu over 60 s\n",
		sums.rounds, sums.full_rounds, sums.asked, sums.refused, sums.gone,
		sums.placed, sums.unwanted, sums.right, sums.placed,
		(double)sums.longest_usec / NEAP_SIM_SECOND, sums.slow);
	for (size_t i = 0; i < NEAP_ROUND_OUTCOMES; i++)
		print_message("# %s: %zu\n", neap_round_outcome_name(i),
			      sums.outcomes[i]);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(strategies); i++)
		neap_policy_free(policies[i]);
	assert_int_equal(sums.full_evicted, 0);
	assert_int_equal(sums.slow, 0);
	assert_true(sums.placed > 0);
	assert_true(sums.right * 100 >= sums.placed * 95);
}

/* --- a day --- */

struct day {
	const char *name, *file, *params;
	bool packs;
};

static double share_of(const struct neap_world_node *node)
{
	int64_t most = neap_amounts_get(&node->allocatable, NEAP_RESOURCE_CPU);

	return most > 0 ? (double)neap_amounts_get(&node->requested, NEAP_RESOURCE_CPU) /
				  (double)most
			: 0;
}

/* What the strategy is to make less: how far nodes are apart; or where it packs, what
 * stands on nodes that are little used. */
static double imbalance(struct sim_rig *rig, bool packs)
{
	const struct neap_world *world = rig->sim->world;
	struct neap_error err;
	double sum = 0;

	assert_int_equal(neap_sim_settle(rig->sim, &err), 0);
	if (!packs)
		return neap_sim_spread(rig->sim, NEAP_RESOURCE_CPU, false);
	for (size_t i = 0; i < world->node_count; i++)
		if (share_of(world->nodes[i]) < 0.4)
			sum += share_of(world->nodes[i]);
	return sum;
}

static size_t moves_of(const struct sim_rig *rig)
{
	size_t count = 0;

	for (size_t i = 0; i < rig->sim->leave_count; i++)
		count += rig->sim->leaves[i]->left_usec > 0;
	return count;
}

static size_t twice_of(const struct sim_rig *rig)
{
	size_t count = 0;

	for (size_t i = 0; i < rig->sim->leave_count; i++) {
		const struct neap_sim_leave *leave = rig->sim->leaves[i];

		count += leave->left_usec && leave->before &&
			 leave->left_usec - leave->before->left_usec < NEAP_SIM_HOUR;
	}
	return count;
}

static void print_load(const struct neap_generate_args *load, uint64_t seed)
{
	struct neap_buf out;

	neap_buf_init(&out, 2048);
	neap_generate_tell(load, seed, &out);
	print_message("# %.*s\n", (int)out.len, out.data);
	neap_buf_done(&out);
}

/* What moves the balance at a stroke: a node comes back empty; or, where the strategy
 * packs, half of the workloads are scaled down, until the next hour but one. */
static void shift(struct sim_rig *rig, const struct day *day, int hour)
{
	struct neap_sim *sim = rig->sim;

	if (!day->packs && hour % 6 == 3) {
		neap_generate_lose(rig->generate);
		sim_rig_run(rig, 20 * NEAP_SIM_MINUTE + NEAP_SIM_SECOND);
	}
	for (size_t i = 0; day->packs && hour % 3 == 0 && i < sim->workload_count; i++) {
		struct neap_sim_workload *workload = sim->workloads[i];

		workload->base = hour % 6 == 3 && i % 2 ? (workload->base + 3) / 4
							: workload->most;
		neap_sim_scale(sim, workload, workload->base);
	}
	if (day->packs && hour % 3 == 0)
		sim_rig_run(rig, NEAP_SIM_MINUTE);
}

static void play_hour(struct sim_rig *rig, struct neap_policy *policy)
{
	for (int i = 0; i < 12; i++) {
		sim_rig_round(rig, &policy, 1);
		sim_rig_run(rig, INTERVAL);
	}
}

static void play_day(const struct day *day)
{
	struct neap_policy *policy = sim_rig_policy(day->file, day->params);
	struct neap_generate_args load;
	struct neap_sim_args args;
	struct sim_rig rig;
	int hours = rounds_wanted() > 1000 ? 24 : 10;
	size_t moves, last = 0;

	neap_sim_args_init(&args);
	neap_generate_args_init(&load);
	args.seed = 7;
	args.packs = day->packs;
	load.nodes = 24;
	load.fill = 0.6;
	load.wave = 0.3;
	load.deploys = 6;
	load.bursts = 1;
	load.losses = 0;
	print_load(&load, args.seed);
	sim_rig_open(&rig, &args, &load);
	rig.moved = neap_moved_new(NEAP_SIM_HOUR);
	rig.limits.per_node = 5;
	if (day->packs)
		sim_rig_migrate(&rig, "{\"skipCheckExpectedReplicas\":true,"
				      "\"maxMigratingPerNode\":8}");
	for (int hour = 0; hour < hours; hour++) {
		double before, after;
		bool is_shift = hour % 6 == 3;

		shift(&rig, day, hour);
		moves = moves_of(&rig);
		before = imbalance(&rig, day->packs);
		play_hour(&rig, policy);
		after = imbalance(&rig, day->packs);
		print_message("# %s hour %d%s: %.3f -> %.3f, %zu moves\n", day->name,
			      hour, is_shift ? " (shifted)" : "", before, after,
			      moves_of(&rig) - moves);
		/* What packing achieves depends on the room that fuller nodes have. */
		if (is_shift && !day->packs)
			assert_true(after <= before / 2);
	}
	neap_generate_hold(rig.generate, true);
	moves = moves_of(&rig);
	for (int hour = 0; hour < 3; hour++) {
		last = moves_of(&rig);
		play_hour(&rig, policy);
		print_message("# %s still hour %d: %.3f, %zu moves\n", day->name, hour,
			      imbalance(&rig, day->packs), moves_of(&rig) - last);
	}
	print_message("# %s: %zu moves, %zu twice within an hour\n", day->name,
		      moves_of(&rig), twice_of(&rig));
	assert_int_equal(moves_of(&rig), last);
	assert_int_equal(twice_of(&rig), 0);
	assert_true(last > 20);
	sim_rig_close(&rig);
	neap_policy_free(policy);
}

static void test_day(void **state)
{
	static const struct day days[] = {
		{"low", "policies/deschedule/low-node-utilization.lua",
		 "{\"thresholds\":{\"cpu\":5},\"targetThresholds\":{\"cpu\":5},"
		 "\"useDeviationThresholds\":true}",
		 false},
		{"high", "policies/deschedule/high-node-utilization.lua",
		 "{\"thresholds\":{\"cpu\":40}}", true},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(days); i++)
		play_day(&days[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_safety),
		cmocka_unit_test(test_day),
	};

	cmocka_set_test_filter(getenv("CASE"));
	return cmocka_run_group_tests_name("sim", tests, NULL, NULL);
}
