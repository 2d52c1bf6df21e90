/* SPDX-License-Identifier: Apache-2.0
 *
 * Columns of NUMA nodes: what they are, once more and slowly, and that the shipped policy
 * places by them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/decide/columns/column.h"
#include "lua/place/place.h"
#include "t/lib/cpus_rig.h"
#include "t/lib/patience.h"
#include "t/lib/place_rig.h"

#define GI (INT64_C(1) << 30)

static void set_node(struct neap_cluster *cluster, const char *name, const char *meta,
		     const struct cpus_machine *machine)
{
	if (machine)
		(void)cpus_set_topology(cluster, name, machine);
	(void)cluster_set_node(cluster, name, meta, "{}",
			       "'cpu':'64','memory':'64Gi','pods':'110'");
}

/* A pod there that has these CPUs, and, when it is not "", amounts of NUMA nodes. */
static void give(struct neap_cluster *cluster, const char *node, const char *cpus,
		 const char *amounts)
{
	char meta[1024], spec[100];

	(void)snprintf(meta, sizeof(meta),
		       "'annotations':{'scheduling.koordinator.sh/resource-status':"
		       "'{\\'cpuset\\':\\'%s\\',\\'numaNodeResources\\':[%s]}'}",
		       cpus, amounts);
	/* The rig makes " of every ', also of those that a text has behind a
	 * backslash. */
	(void)snprintf(spec, sizeof(spec), "{'nodeName':'%s','containers':[]}", node);
	(void)cluster_set_pod(cluster, "there", meta, spec, "{}");
}

static double column_of(struct neap_cluster *cluster, const char *name,
			const char *requests)
{
	struct neap_column column;
	struct neap_column_view view;
	struct neap_error err;
	struct neap_pod *pod;
	char spec[200];
	double ret;

	(void)snprintf(spec, sizeof(spec),
		       "{'containers':[{'resources':{'requests':{%s}}}]}", requests);
	pod = cluster_pod(neap_cluster_resources(cluster), "one", "", spec, "{}");
	assert_int_equal(neap_column_parse(name, &column, &err), 0);
	(void)neap_cluster_settle(cluster);
	neap_column_open(&view, &column, cluster, pod, 0);
	ret = neap_column_number(&view, 0);
	(void)neap_pod_unref(pod);
	return ret;
}

/* Two NUMA nodes of 4 cores, two CPUs each; the CPUs and Gi are 0-7 and 8-15. */
static const struct cpus_machine two = {.nodes = 2, .cores = 4, .threads = 2};
static const struct cpus_machine no_threads = {.nodes = 2, .cores = 8, .threads = 1};
static const struct cpus_machine reserved = {
	.nodes = 2,
	.cores = 4,
	.threads = 2,
	.notes = "'kubelet.koordinator.sh/cpu-manager-policy':"
		 "'{\\'policy\\':\\'static\\',\\'reservedCPUs\\':\\'0-3\\'}'"};

static const struct {
	const char *name;
	const struct cpus_machine *machine; /* NULL: none is told */
	const char *meta;                   /* of the node */
	const char *cpus, *amounts;         /* of a pod that is there; "": none */
	const char *column, *requests;
	double want;
} rows[] = {
	{"an empty one", &two, "", "", "", "numa_share.cpu", "'cpu':'2'", 2 / 8.0},
	{"the fuller one", &two, "", "0-3", "", "numa_share.cpu", "'cpu':'2'", 6 / 8.0},
	{"to the last", &two, "", "0-3", "", "numa_share.cpu", "'cpu':'4'", 1},
	{"the other one, as it is too large", &two, "", "0-3", "", "numa_share.cpu",
	 "'cpu':'5'", 5 / 8.0},
	{"too large for both", &two, "", "0-3", "", "numa_share.cpu", "'cpu':'9'", NAN},
	{"parts of a CPU", &two, "", "0-3", "", "numa_share.cpu", "'cpu':'100m'",
	 4.1 / 8},
	{"nothing is asked for", &two, "", "0-3", "", "numa_share.cpu", "", 4 / 8.0},
	{"amounts without CPUs", &two, "", "",
	 "{\\'node\\':1,\\'resources\\':{\\'cpu\\':\\'5\\'}}", "numa_share.cpu",
	 "'cpu':'1'", 6 / 8.0},
	{"memory", &two, "", "",
	 "{\\'node\\':1,\\'resources\\':{\\'memory\\':\\'6Gi\\'}}", "numa_share.memory",
	 "'memory':'1Gi'", 7 / 8.0},
	{"memory that is too much there", &two, "", "",
	 "{\\'node\\':1,\\'resources\\':{\\'memory\\':\\'6Gi\\'}}", "numa_share.memory",
	 "'memory':'3Gi'", 3 / 8.0},
	{"a resource of no NUMA node", &two, "", "", "", "numa_share.pods", "", NAN},
	{"a resource that nobody knows", &two, "", "", "", "numa_share.magic", "", NAN},
	{"none is told", NULL, "", "", "", "numa_share.cpu", "'cpu':'1'", NAN},
	{"none is told, by cores", NULL, "", "", "", "core_share", "'cpu':'1'", NAN},
	/* What is reserved is not there: 4 of the first NUMA node are left. */
	{"reserved ones", &reserved, "", "", "", "numa_share.cpu", "'cpu':'2'", 2 / 4.0},
	{"an amplified node", &two,
	 "'annotations':{'node.koordinator.sh/resource-amplification-ratio':"
	 "'{\\'cpu\\':2}'}",
	 "0-3", "", "numa_share.cpu", "'cpu':'2'", 10 / 16.0},

	{"whole cores", &two, "", "0-3", "", "core_share", "'cpu':'2'", 6 / 8.0},
	{"the half one does not count", &two, "", "0-2", "", "core_share", "'cpu':'2'",
	 6 / 8.0},
	{"half a core asked for is one", &two, "", "0-3", "", "core_share", "'cpu':'1'",
	 6 / 8.0},
	{"so is a part of a CPU", &two, "", "0-3", "", "core_share", "'cpu':'100m'",
	 6 / 8.0},
	{"cores that are half taken hold nothing", &two, "", "0,2,4,6", "", "core_share",
	 "'cpu':'2'", 2 / 8.0},
	{"too many cores", &two, "", "0,2,4,6,8,10", "", "core_share", "'cpu':'6'", NAN},
	{"one thread a core", &no_threads, "", "0-2", "", "core_share", "'cpu':'1'",
	 4 / 8.0},
	{"reserved cores", &reserved, "", "", "", "core_share", "'cpu':'2'", 6 / 8.0},
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_cluster *cluster = cluster_new();
		double got;

		set_node(cluster, "a", rows[i].meta, rows[i].machine);
		if (*rows[i].cpus || *rows[i].amounts)
			give(cluster, "a", rows[i].cpus, rows[i].amounts);
		got = column_of(cluster, rows[i].column, rows[i].requests);
		if (isnan(rows[i].want) ? !isnan(got)
					: !(fabs(got - rows[i].want) < 1e-9))
			fail_msg("%s: %g, wanted %g", rows[i].name, got, rows[i].want);
		neap_cluster_free(cluster);
	}
}

/* --- once more and slowly --- */

#define CPUS 32

static uint32_t draw(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % below;
}

/* From a table of CPUs: the fullest of those that hold it. */
static double slow(const struct cpus_machine *machine, const bool *taken, int need,
		   bool by_cores)
{
	int size = machine->cores * machine->threads;
	double best = NAN;

	for (int node = 0; node < machine->nodes; node++) {
		int left = 0;

		for (int core = 0; core < machine->cores; core++) {
			int at = node * size + core * machine->threads, count = 0;

			for (int i = 0; i < machine->threads; i++)
				count += !taken[at + i];
			if (!by_cores || count == machine->threads)
				left += count;
		}
		while (by_cores && need % machine->threads)
			need++;
		if (left < need)
			continue;
		if (isnan(best) || 1 - (double)(left - need) / size > best)
			best = 1 - (double)(left - need) / size;
	}
	return best;
}

static void test_random(void **state)
{
	static const struct cpus_machine machines[] = {
		{.nodes = 1, .cores = 16, .threads = 2},
		{.nodes = 2, .cores = 8, .threads = 2},
		{.nodes = 4, .cores = 8, .threads = 1},
		{.nodes = 4, .cores = 2, .threads = 4},
	};
	uint32_t seed = 20261124;

	(void)state;
	for (int round = 0; round < 400; round++) {
		const struct cpus_machine *machine = &machines[draw(&seed, 4)];
		struct neap_cluster *cluster = cluster_new();
		int need = (int)draw(&seed, 9), few = (int)draw(&seed, 10);
		bool taken[CPUS] = {false};
		char cpus[200] = "", requests[32];

		for (int i = 0; i < CPUS; i++) {
			size_t len = strlen(cpus);

			taken[i] = (int)draw(&seed, 10) < few;
			if (taken[i])
				(void)snprintf(cpus + len, sizeof(cpus) - len, "%s%d",
					       len ? "," : "", i);
		}
		set_node(cluster, "a", "", machine);
		give(cluster, "a", cpus, "");
		(void)snprintf(requests, sizeof(requests), "'cpu':'%d'", need);
		for (int by_cores = 0; by_cores < 2; by_cores++) {
			double want = slow(machine, taken, need, by_cores);
			double got = column_of(cluster,
					       by_cores ? "core_share" : "numa_share.cpu",
					       requests);

			if (isnan(want) ? !isnan(got) : !(fabs(got - want) < 1e-9))
				fail_msg("round %d, %s taken, %d of %s: %g, wanted %g",
					 round, cpus, need, by_cores ? "cores" : "CPUs",
					 got, want);
		}
		neap_cluster_free(cluster);
	}
}

/* --- the shipped policy --- */

static void test_shipped(void **state)
{
	struct place_rig *rig = place_new();
	struct neap_policy *policy = NULL;
	struct neap_error err;

	(void)state;
	set_node(rig->cluster, "empty", "", &two);
	set_node(rig->cluster, "tight", "", &two);
	give(rig->cluster, "tight", "0-6", "");
	assert_string_equal(place_decide(rig, ""), "empty");
	if (neap_policy_load_file("policies/score/numa-tight.lua", &policy, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(neap_registry_put_take(rig->registry, policy, 0, 0, &err), 0);
	assert_string_equal(place_decide(rig, ""), "tight");
	/* For a pod with CPUs of its own the free half of a core is no place; among
	 * others it has to be a whole one. */
	assert_string_equal(place_decide(rig, "'koordinator.sh/qosClass':'LSR'"),
			    "empty");
	give(rig->cluster, "tight", "0-5", "");
	assert_string_equal(place_decide(rig, "'koordinator.sh/qosClass':'LSR'"),
			    "tight");
	assert_int_equal(rig->failed, 0);
	place_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_shipped),
	};

	patience_with_scripts();
	return cmocka_run_group_tests_name("columns of NUMA nodes", tests, NULL, NULL);
}
