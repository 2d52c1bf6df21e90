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
#define NODES_MAX        64

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

#define LITTLE_USED 0.4 /* as in the arguments of the days that pack */

static double amount(const struct neap_amounts *amounts)
{
	return (double)neap_amounts_get(amounts, NEAP_RESOURCE_CPU);
}

static double share_of(const struct neap_world_node *node)
{
	double most = amount(&node->allocatable);

	return most > 0 ? amount(&node->requested) / most : 0;
}

static int by_requested(const void *one, const void *other)
{
	double a = amount(&(*(struct neap_world_node *const *)one)->requested);
	double b = amount(&(*(struct neap_world_node *const *)other)->requested);

	return (a > b) - (a < b);
}

/* Packing in numbers. */
struct use {
	size_t nodes; /* with pods */
	/* of those that are little used, as many as the CPU of the others has room for */
	size_t spare;
};

static struct use use_of(struct sim_rig *rig)
{
	const struct neap_world *world = rig->sim->world;
	const struct neap_world_node *little[NODES_MAX] = {NULL};
	struct neap_error err;
	struct use use = {0};
	size_t count = 0;
	double room = 0;

	assert_int_equal(neap_sim_settle(rig->sim, &err), 0);
	assert_true(world->node_count <= NODES_MAX);
	for (size_t i = 0; i < world->node_count; i++) {
		const struct neap_world_node *node = world->nodes[i];

		if (node->pod_count == 0)
			continue;
		use.nodes++;
		if (share_of(node) <= LITTLE_USED)
			little[count++] = node;
		else if (node->taint_count == 0)
			room += amount(&node->allocatable) - amount(&node->requested);
	}
	qsort(little, count, sizeof(struct neap_world_node *), by_requested);
	for (; use.spare < count; use.spare++) {
		room -= amount(&little[use.spare]->requested);
		if (room < 0)
			break;
	}
	return use;
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

static void lose_a_node(struct sim_rig *rig)
{
	neap_generate_lose(rig->generate);
	sim_rig_run(rig, 20 * NEAP_SIM_MINUTE + NEAP_SIM_SECOND);
}

/* Scales every second workload down to a quarter, or all up again. Where the day's wave
 * scales them it does so within ten minutes. */
static void scale(struct sim_rig *rig, bool is_down)
{
	struct neap_sim *sim = rig->sim;

	for (size_t i = 0; i < sim->workload_count; i++) {
		struct neap_sim_workload *workload = sim->workloads[i];

		workload->base =
			is_down && i % 2 ? (workload->base + 3) / 4 : workload->most;
		if (workload->is_ordered || workload->wave <= 0)
			neap_sim_scale(sim, workload, workload->base);
	}
	sim_rig_run(rig, 11 * NEAP_SIM_MINUTE);
}

static void play_hour(struct sim_rig *rig, struct neap_policy *policy)
{
	for (int i = 0; i < 12; i++) {
		sim_rig_round(rig, &policy, 1);
		sim_rig_run(rig, INTERVAL);
	}
}

struct day {
	const char *name;
	struct neap_policy *policy;
	struct sim_rig rig;
};

static void begin_day(struct day *day, const char *file, const char *params,
		      const struct neap_sim_args *args,
		      const struct neap_generate_args *load)
{
	print_load(load, args->seed);
	day->policy = sim_rig_policy(file, params);
	sim_rig_open(&day->rig, args, load);
	day->rig.moved = neap_moved_new(NEAP_SIM_HOUR);
	day->rig.limits.per_node = 5;
}

static void close_day(struct day *day)
{
	sim_rig_close(&day->rig);
	neap_policy_free(day->policy);
}

/* When the load stands still the moves end. What moved did so once, and did not wait. */
static void end_day(struct day *day)
{
	struct sim_rig *rig = &day->rig;
	struct sums sums = {0};
	size_t last = 0;

	neap_generate_hold(rig->generate, true);
	for (int hour = 0; hour < 3; hour++) {
		last = moves_of(rig);
		play_hour(rig, day->policy);
		print_message("# %s still hour %d: %zu moves\n", day->name, hour,
			      moves_of(rig) - last);
	}
	sum_up(rig, false, &sums);
	print_message("# %s: %zu moves, %zu twice within an hour; longest wait %.1f s\n",
		      day->name, moves_of(rig), twice_of(rig),
		      (double)sums.longest_usec / NEAP_SIM_SECOND);
	assert_int_equal(moves_of(rig), last);
	assert_int_equal(twice_of(rig), 0);
	assert_int_equal(sums.slow, 0);
	assert_true(last > 20);
	close_day(day);
}

static int hours_wanted(void)
{
	return rounds_wanted() > 1000 ? 24 : 10;
}

static void day_init(struct neap_sim_args *args, struct neap_generate_args *load)
{
	neap_sim_args_init(args);
	neap_generate_args_init(load);
	args->seed = 7;
	load->nodes = 24;
	load->fill = 0.6;
	load->wave = 0.3;
	load->deploys = 6;
	load->bursts = 1;
	load->losses = 0;
}

static void test_day_of_balancing(void **state)
{
	struct day day = {.name = "low"};
	struct neap_generate_args load;
	struct neap_sim_args args;

	(void)state;
	day_init(&args, &load);
	begin_day(&day, "policies/deschedule/low-node-utilization.lua",
		  "{\"thresholds\":{\"cpu\":5},\"targetThresholds\":{\"cpu\":5},"
		  "\"useDeviationThresholds\":true}",
		  &args, &load);
	for (int hour = 0; hour < hours_wanted(); hour++) {
		bool is_shift = hour % 6 == 3;
		double before, after;
		size_t moves;

		if (is_shift)
			lose_a_node(&day.rig);
		moves = moves_of(&day.rig);
		before = sim_rig_spread(&day.rig);
		play_hour(&day.rig, day.policy);
		after = sim_rig_spread(&day.rig);
		print_message("# low hour %d%s: %.3f -> %.3f, %zu moves\n", hour,
			      is_shift ? " (shifted)" : "", before, after,
			      moves_of(&day.rig) - moves);
		if (is_shift)
			assert_true(after <= before / 2);
	}
	end_day(&day);
}

static const char high[] = "policies/deschedule/high-node-utilization.lua";
static const char high_params[] = "{\"thresholds\":{\"cpu\":40}}";
static const char fast_jobs[] =
	"{\"skipCheckExpectedReplicas\":true,\"maxMigratingPerNode\":8}";

/* In the hour after a shift the load stands still: nothing else empties or fills a
 * node. */
static void test_day_of_packing(void **state)
{
	struct day day = {.name = "high"};
	struct neap_generate_args load;
	struct neap_sim_args args;

	(void)state;
	day_init(&args, &load);
	args.packs = true;
	load.losses = 0.25;
	/* Pods that stay apart need a node each. */
	load.apart = 0;
	begin_day(&day, high, high_params, &args, &load);
	sim_rig_migrate(&day.rig, fast_jobs);
	for (int hour = 0; hour < hours_wanted(); hour++) {
		bool is_shift = hour % 6 == 3;
		struct use before, after;
		size_t moves;

		if (hour % 3 == 0)
			scale(&day.rig, is_shift);
		neap_generate_hold(day.rig.generate, is_shift);
		moves = moves_of(&day.rig);
		before = use_of(&day.rig);
		play_hour(&day.rig, day.policy);
		after = use_of(&day.rig);
		neap_generate_hold(day.rig.generate, false);
		print_message("# high hour %d%s: %zu nodes in use, %zu to spare -> %zu, "
			      "%zu moves\n",
			      hour, is_shift ? " (shifted)" : "", before.nodes,
			      before.spare, after.nodes, moves_of(&day.rig) - moves);
		if (!is_shift)
			continue;
		assert_true(before.spare > 0);
		assert_true(before.nodes - after.nodes >= before.spare * 3 / 4);
	}
	end_day(&day);
}

/* Where the other nodes have room for some of the little used ones, these are emptied:
 * not all of them a little. */
static void test_little_room(void **state)
{
	static const struct {
		uint64_t seed;
		double fill;
	} rows[] = {{3, 0.4}, {8, 0.4}, {1, 0.45}, {8, 0.45}};
	size_t spare = 0, emptied = 0;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct day day = {.name = "little room"};
		struct neap_generate_args load;
		struct neap_sim_args args;
		struct use before, after;

		day_init(&args, &load);
		args.seed = rows[i].seed;
		args.packs = true;
		load.fill = rows[i].fill;
		load.apart = 0;
		begin_day(&day, high, high_params, &args, &load);
		sim_rig_migrate(&day.rig, fast_jobs);
		sim_rig_run(&day.rig, 3 * NEAP_SIM_HOUR);
		scale(&day.rig, true);
		neap_generate_hold(day.rig.generate, true);
		before = use_of(&day.rig);
		play_hour(&day.rig, day.policy);
		after = use_of(&day.rig);
		print_message("# little room: %zu nodes in use, %zu to spare -> %zu, "
			      "%zu moves\n",
			      before.nodes, before.spare, after.nodes,
			      moves_of(&day.rig));
		spare += before.spare;
		emptied += before.nodes - after.nodes;
		close_day(&day);
	}
	assert_true(emptied * 2 >= spare);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_safety),
		cmocka_unit_test(test_day_of_balancing),
		cmocka_unit_test(test_day_of_packing),
		cmocka_unit_test(test_little_room),
	};

	cmocka_set_test_filter(getenv("CASE"));
	return cmocka_run_group_tests_name("sim", tests, NULL, NULL);
}
