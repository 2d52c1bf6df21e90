/* SPDX-License-Identifier: Apache-2.0
 *
 * What reservations keep, counted: against a plain recount, while pods, owners and
 * reservations come, change, move, are lifted off and go at random. */
#include "engine/cluster/kept.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/numa/numa_node.h"
#include "t/lib/cpus_rig.h"
#include "t/lib/kept_rig.h"

#define NODES   3
#define KEPT    6
#define PODS    20
#define ZONES   2
#define CPUS    16 /* of a node */
#define STEPS   3000
#define NOWHERE (-1)
#define NOBODY  (-1)

/* A pod, or what a reservation keeps. */
struct thing {
	int node; /* NOWHERE */
	int uses; /* of a pod: the number of a reservation, or NOBODY */
	int cpu_milli, mib;
	unsigned cpus;    /* of its own, as bits */
	bool is_cpu_only; /* of a reservation: it holds its owners to CPUs alone */
	struct neap_pod *lifted;
	struct neap_cluster_node *from;
};

struct world {
	struct kept_rig *rig;
	unsigned seed;
	struct thing pods[PODS], kept[KEPT];
};

static unsigned draw(struct world *world, unsigned below)
{
	world->seed = world->seed * 1103515245U + 12345U;
	return (world->seed >> 16) % below;
}

static int bits(unsigned mask)
{
	return __builtin_popcount(mask);
}

static unsigned of_zone(unsigned cpus, int zone)
{
	return cpus >> (zone * CPUS / ZONES) & ((1U << CPUS / ZONES) - 1);
}

/* --- telling --- */

static size_t add_text(char *text, size_t len, size_t size, const char *more)
{
	return len + (size_t)snprintf(text + len, size - len, "%s", more);
}

/* Annotation resource-status, with what the CPUs are of each NUMA node; "" for none. */
static void write_status(unsigned cpus, char *ret, size_t size)
{
	size_t len = 0;
	char one[128];

	*ret = '\0';
	if (!cpus)
		return;
	len = add_text(ret, len, size,
		       "'" KEPT_KEY "resource-status':'{" QUOTE "cpuset" QUOTE ":" QUOTE);
	for (int i = 0, n = 0; i < CPUS; i++) {
		(void)snprintf(one, sizeof(one), "%s%d", n ? "," : "", i);
		if (cpus >> i & 1)
			n += (len = add_text(ret, len, size, one)) > 0;
	}
	len = add_text(ret, len, size, QUOTE "," QUOTE "numaNodeResources" QUOTE ":[");
	for (int zone = 0; zone < ZONES; zone++) {
		(void)snprintf(one, sizeof(one),
			       "%s{" QUOTE "node" QUOTE ":%d," QUOTE "resources" QUOTE
			       ":{" QUOTE "cpu" QUOTE ":" QUOTE "%d" QUOTE "}}",
			       zone ? "," : "", zone, bits(of_zone(cpus, zone)));
		len = add_text(ret, len, size, one);
	}
	(void)add_text(ret, len, size, "]}'");
}

static void name_it(char ret[16], char kind, int i)
{
	(void)snprintf(ret, 16, "%c%d", kind, i);
}

static void write_requests(const struct thing *thing, char *ret, size_t size)
{
	(void)snprintf(ret, size, "'cpu':'%dm','memory':'%dMi'", thing->cpu_milli,
		       thing->mib);
}

static void tell_pod(struct world *world, int i)
{
	const struct thing *pod = &world->pods[i];
	char name[16], node[16], requests[64], notes[1024], status[768];

	name_it(name, 'p', i);
	name_it(node, 'n', pod->node);
	write_requests(pod, requests, sizeof(requests));
	write_status(pod->cpus, status, sizeof(status));
	(void)snprintf(notes, sizeof(notes), "%s", status);
	if (pod->uses != NOBODY)
		(void)snprintf(notes, sizeof(notes),
			       KEPT_NOTE("reservation-allocated",
					 "{" QUOTE "uid" QUOTE ":" QUOTE "u-r%d" QUOTE
					 "}") "%s%s",
			       pod->uses, *status ? "," : "", status);
	if (pod->node == NOWHERE)
		(void)kept_remove_pod(world->rig, name);
	else
		(void)kept_set_pod(world->rig, &(struct kept_pod){.name = name,
								  .node = node,
								  .requests = requests,
								  .notes = notes});
}

static void tell_kept(struct world *world, int i)
{
	static const char *const only =
		KEPT_NOTE("reservation-restricted-options",
			  "{" QUOTE "resources" QUOTE ":[" QUOTE "cpu" QUOTE "]}");
	const struct thing *kept = &world->kept[i];
	char name[16], node[16], requests[64], notes[1024], status[768];

	name_it(name, 'r', i);
	name_it(node, 'n', kept->node);
	write_requests(kept, requests, sizeof(requests));
	write_status(kept->cpus, status, sizeof(status));
	(void)snprintf(notes, sizeof(notes), "%s%s%s", kept->is_cpu_only ? only : "",
		       kept->is_cpu_only && *status ? "," : "", status);
	if (kept->node == NOWHERE)
		kept_remove(world->rig, name);
	else
		(void)kept_set(world->rig,
			       &(struct kept_reservation){
				       .name = name,
				       .node = node,
				       .requests = requests,
				       .spec = kept->is_cpu_only ? RESTRICTED : "",
				       .notes = notes});
}

/* --- the recount --- */

static bool is_owner(const struct thing *pod, int node, int kept)
{
	return pod->node == node && !pod->lifted && pod->uses == kept;
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

static void check_sums(struct world *world, int node)
{
	int64_t cpu = 0, mib = 0;
	char name[16];

	for (int i = 0; i < PODS; i++) {
		if (world->pods[i].node != node || world->pods[i].lifted)
			continue;
		cpu += world->pods[i].cpu_milli;
		mib += world->pods[i].mib;
	}
	for (int k = 0; k < KEPT; k++) {
		const struct thing *kept = &world->kept[k];
		int given_cpu = 0, given_mib = 0;

		if (kept->node != node || kept->lifted)
			continue;
		for (int i = 0; i < PODS; i++)
			if (is_owner(&world->pods[i], node, k)) {
				given_cpu += world->pods[i].cpu_milli;
				given_mib += world->pods[i].mib;
			}
		cpu += kept->cpu_milli - least(given_cpu, kept->cpu_milli);
		mib += kept->mib - least(given_mib, kept->mib);
	}
	name_it(name, 'n', node);
	assert_int_equal(kept_used(world->rig, name, "cpu"), cpu);
	assert_int_equal(kept_used(world->rig, name, "memory"), mib << 20);
}

static void check_refs(struct world *world, int node)
{
	char name[16];

	name_it(name, 'n', node);
	for (int cpu = 0; cpu < CPUS; cpu++) {
		int refs = 0;

		for (int i = 0; i < PODS; i++)
			refs += world->pods[i].node == node && !world->pods[i].lifted &&
				(world->pods[i].cpus >> cpu & 1);
		for (int i = 0; i < KEPT; i++)
			refs += world->kept[i].node == node && !world->kept[i].lifted &&
				(world->kept[i].cpus >> cpu & 1);
		assert_int_equal(cpus_refs(world->rig->cluster, name, cpu), refs);
	}
}

/* What of a NUMA node is counted, less what is counted twice. */
static void check_cells(struct world *world, int node)
{
	const struct neap_numa_node *numa;
	char name[16];

	name_it(name, 'n', node);
	numa = neap_cluster_find_node(world->rig->cluster, name)->cpus->numa;
	for (int zone = 0; zone < ZONES; zone++) {
		int resource = neap_numa_node_resource(numa, NEAP_RESOURCE_CPU);
		int cell = zone * numa->resource_count + resource, sum = 0;

		for (int i = 0; i < PODS; i++)
			if (world->pods[i].node == node && !world->pods[i].lifted)
				sum += bits(of_zone(world->pods[i].cpus, zone));
		for (int k = 0; k < KEPT; k++) {
			const struct thing *kept = &world->kept[k];
			int has = bits(of_zone(kept->cpus, zone)), given = 0;

			if (kept->node != node || kept->lifted)
				continue;
			for (int i = 0; i < PODS; i++)
				if (is_owner(&world->pods[i], node, k))
					given += bits(of_zone(world->pods[i].cpus, zone));
			sum += has - least(given, has);
		}
		assert_int_equal(numa->used[cell] - (numa->twice ? numa->twice[cell] : 0),
				 1000 * sum);
	}
}

static void check_given(struct world *world, int k)
{
	const struct thing *kept = &world->kept[k];
	struct neap_amounts given;
	int cpu = 0, mib = 0, count = 0;
	const struct neap_pod *stand;
	char name[16];

	if (kept->node == NOWHERE || kept->lifted)
		return;
	for (int i = 0; i < PODS; i++)
		if (is_owner(&world->pods[i], kept->node, k)) {
			count++;
			cpu += world->pods[i].cpu_milli;
			mib += world->pods[i].mib;
		}
	name_it(name, 'r', k);
	stand = neap_cluster_find_stand(world->rig->cluster, name);
	assert_true(neap_pod_is_stand(stand));
	assert_int_equal(neap_kept_given(stand->seat.node, stand->keep, &given), count);
	assert_int_equal(neap_amounts_get(&given, NEAP_RESOURCE_CPU), cpu);
	assert_int_equal(neap_amounts_get(&given, NEAP_RESOURCE_MEMORY),
			 (int64_t)mib << 20);
	assert_int_equal(neap_kept_given(stand->seat.node, stand->keep, NULL), count);
}

static void check(struct world *world)
{
	(void)neap_cluster_settle(world->rig->cluster);
	for (int i = 0; i < NODES; i++) {
		check_sums(world, i);
		check_refs(world, i);
		check_cells(world, i);
	}
	for (int i = 0; i < KEPT; i++)
		check_given(world, i);
}

/* --- what happens --- */

static void make(struct world *world, struct thing *thing)
{
	*thing = (struct thing){.node = (int)draw(world, NODES),
				.uses = (int)draw(world, 2 * KEPT),
				.cpu_milli = (int)draw(world, 5000),
				.mib = (int)draw(world, 5000),
				.is_cpu_only = draw(world, 3) == 0};
	if (thing->uses >= KEPT)
		thing->uses = NOBODY;
	if (draw(world, 2)) {
		thing->cpus = draw(world, 1U << CPUS);
		thing->cpus &= draw(world, 1U << CPUS);
	}
	if (!draw(world, 4))
		thing->node = NOWHERE;
}

static void lift(struct world *world, struct thing *thing, struct neap_pod *pod)
{
	if (thing->node == NOWHERE || draw(world, 3))
		return;
	thing->lifted = pod;
	thing->from = neap_cluster_lift(world->rig->cluster, pod);
}

static void put_back(struct world *world, struct thing *thing)
{
	if (thing->lifted)
		neap_cluster_put_back(world->rig->cluster, thing->lifted, thing->from);
	thing->lifted = NULL;
}

/* As a decision does it, and making room. */
static void lift_some(struct world *world)
{
	char name[16];

	for (int i = 0; i < KEPT; i++) {
		name_it(name, 'r', i);
		lift(world, &world->kept[i],
		     neap_cluster_find_stand(world->rig->cluster, name));
	}
	for (int i = 0; i < PODS; i++) {
		name_it(name, 'p', i);
		lift(world, &world->pods[i],
		     neap_cluster_find_pod(world->rig->cluster, "default", name));
	}
	check(world);
	for (int i = PODS; i--;)
		put_back(world, &world->pods[i]);
	for (int i = KEPT; i--;)
		put_back(world, &world->kept[i]);
}

static void test_random(void **state)
{
	const struct cpus_machine machine = {ZONES, CPUS / ZONES / 2, 2, NULL, NULL};
	struct world world = {.rig = kept_new(), .seed = 5};

	(void)state;
	for (int i = 0; i < NODES; i++) {
		char name[16];

		name_it(name, 'n', i);
		(void)cpus_set_topology(world.rig->cluster, name, &machine);
		(void)cluster_set_node(world.rig->cluster, name, "", "{}",
				       "'cpu':'16','memory':'64Gi','pods':'110'");
	}
	for (int i = 0; i < PODS; i++)
		world.pods[i].node = NOWHERE;
	for (int i = 0; i < KEPT; i++)
		world.kept[i].node = NOWHERE;
	for (int step = 0; step < STEPS; step++) {
		int i = (int)draw(&world, PODS + KEPT);

		if (i < PODS) {
			make(&world, &world.pods[i]);
			tell_pod(&world, i);
		} else {
			make(&world, &world.kept[i - PODS]);
			tell_kept(&world, i - PODS);
		}
		check(&world);
		if (!draw(&world, 4)) {
			lift_some(&world);
			check(&world);
		}
	}
	kept_free(world.rig);
}

/* --- what a pod says --- */

static void test_uses(void **state)
{
	static const struct {
		const char *note, *uid;
	} rows[] = {
		{KEPT_USES("r"), "u-r"},
		{KEPT_NOTE("reservation-allocated", ""), ""},
		{KEPT_NOTE("reservation-allocated", "{}"), ""},
		{KEPT_NOTE("reservation-allocated", "no JSON"), ""},
		{KEPT_NOTE("reservation-allocated", "[]"), ""},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_resources *resources = neap_resources_new();
		char meta[256];
		struct neap_pod *pod;

		(void)snprintf(meta, sizeof(meta), "'annotations':{%s}", rows[i].note);
		pod = cluster_pod(resources, "p", meta, "{'nodeName':'a'}", "{}");
		assert_string_equal(neap_pod_reservation(pod), rows[i].uid);
		assert_false(neap_pod_is_stand(pod));
		(void)neap_pod_unref(pod);
		neap_resources_free(resources);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uses),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
