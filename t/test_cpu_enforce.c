/* SPDX-License-Identifier: Apache-2.0
 *
 * Which CPUs a pod may use: the annotation as it may come, who gets what on a machine of
 * two sockets, what becomes of CPUs that are not there, and many random nodes against
 * rules that always hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/base.h"
#include "engine/base/mem.h"
#include "engine/numa/cpu_enforce.h"
#include "t/lib/patience.h"

#define PODS 6

static struct neap_cpuset set_of(const char *text)
{
	struct neap_cpuset set;

	assert_int_equal(neap_cpuset_parse(&set, text, NULL), 0);
	return set;
}

static void is_set(const struct neap_cpuset *set, const char *want)
{
	char text[512];

	(void)neap_cpuset_format(set, text, sizeof(text));
	assert_string_equal(text, want);
}

/* CPUs on nodes of eight, a socket each. */
static struct neap_topology *machine(const char *online)
{
	const struct neap_cpuset set = set_of(online);
	struct neap_processor rows[64];
	struct neap_topology *topology;
	struct neap_error err;
	size_t count = 0;

	for (int cpu = -1; (cpu = neap_cpuset_next(&set, cpu)) >= 0;)
		rows[count++] = (struct neap_processor){cpu, cpu / 2, cpu / 8, cpu / 8};
	assert_int_equal(neap_topology_new_from_processors(rows, count, &topology, &err),
			 0);
	return topology;
}

/* --- the annotation --- */

static void an_annotation_is_read(void **state)
{
	static const struct {
		const char *text, *cpus, *numa;
	} rows[] = {
		{NULL, "", ""},
		{"", "", ""},
		{"{}", "", ""},
		{"{\"cpuset\":\"0-3,8\"}", "0-3,8", ""},
		{"{\"cpuset\":null,\"numaNodeResources\":null}", "", ""},
		{"{\"cpuset\":\"\",\"numaNodeResources\":[{\"node\":1,\"resources\":"
		 "{\"cpu\":\"4\"}}]}",
		 "", "1"},
		{"{\"numaNodeResources\":[{\"resources\":{\"cpu\":2}},{\"node\":3,"
		 "\"resources\":{\"kubernetes.io/batch-cpu\":\"500\"}}]}",
		 "", "0,3"},
		{"{\"numaNodeResources\":[{\"node\":1,\"resources\":{\"memory\":\"8Gi\","
		 "\"cpu\":\"0\"}}]}",
		 "", ""},
	};
	struct neap_cpu_said said;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		memset(&said, 0xff, sizeof(said));
		assert_int_equal(neap_cpu_said_read(rows[i].text, &said, NULL), 0);
		is_set(&said.cpus, rows[i].cpus);
		is_set(&said.numa, rows[i].numa);
	}
}

static void one_that_cannot_be_read_gives_nothing(void **state)
{
	static const char *const rows[][2] = {
		{"{", "JSON"},
		{"[]", "object"},
		{"{\"cpuset\":3}", "cpuset"},
		{"{\"cpuset\":\"0-\"}", "cpuset"},
		{"{\"cpuset\":\"0-9999\"}", "cpuset"},
		{"{\"cpuset\":\"1\",\"numaNodeResources\":{}}", "numaNodeResources"},
		{"{\"cpuset\":\"1\",\"numaNodeResources\":[{\"node\":-1}]}",
		 "numaNodeResources[0].node"},
		{"{\"cpuset\":\"1\",\"numaNodeResources\":[{\"node\":99999}]}",
		 "numaNodeResources[0].node"},
		{"{\"cpuset\":\"1\",\"numaNodeResources\":[{\"node\":\"1\"}]}",
		 "numaNodeResources[0].node"},
	};
	struct neap_cpu_said said;
	struct neap_error err;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		memset(&said, 0xff, sizeof(said));
		assert_int_equal(neap_cpu_said_read(rows[i][0], &said, &err),
				 -NEAP_EINVAL);
		assert_non_null(strstr(err.msg, rows[i][1]));
		is_set(&said.cpus, "");
		is_set(&said.numa, "");
	}
}

/* --- who gets what --- */

struct row {
	enum neap_qos qos;
	enum neap_kube_qos kube;
	const char *cpus, *numa;
	enum neap_cpu_kind kind;
	const char *want;
};

static void check_rows(const struct neap_cpu_rooms *rooms, const struct row *rows,
		       size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct neap_cpu_said said = {.qos = rows[i].qos,
					     .kube_qos = rows[i].kube,
					     .cpus = set_of(rows[i].cpus),
					     .numa = set_of(rows[i].numa)};
		struct neap_cpu_given given;

		memset(&given, 0xff, sizeof(given));
		neap_cpu_give(rooms, &said, &given);
		if (given.kind != rows[i].kind)
			print_message("row %zu\n", i);
		assert_int_equal(given.kind, rows[i].kind);
		is_set(&given.cpus, rows[i].want);
		is_set(&given.missing, "");
	}
}

#define GUARANTEED NEAP_KUBE_GUARANTEED
#define BURSTABLE  NEAP_KUBE_BURSTABLE
#define BESTEFFORT NEAP_KUBE_BESTEFFORT

static void each_class_gets_its_cpus(void **state)
{
	static const struct row rows[] = {
		{NEAP_QOS_LSE, GUARANTEED, "2-3", "", NEAP_CPUS_OWN, "2-3"},
		{NEAP_QOS_LSR, GUARANTEED, "8-9", "1", NEAP_CPUS_OWN, "8-9"},
		{NEAP_QOS_NONE, BESTEFFORT, "8-9", "", NEAP_CPUS_OWN, "8-9"},
		{NEAP_QOS_LSR, GUARANTEED, "", "", NEAP_CPUS_LS, "4-5,10-13"},
		{NEAP_QOS_LS, BURSTABLE, "", "", NEAP_CPUS_LS, "4-5,10-13"},
		{NEAP_QOS_LS, BESTEFFORT, "", "", NEAP_CPUS_LS, "4-5,10-13"},
		{NEAP_QOS_NONE, GUARANTEED, "", "", NEAP_CPUS_LS, "4-5,10-13"},
		{NEAP_QOS_NONE, BURSTABLE, "", "", NEAP_CPUS_LS, "4-5,10-13"},
		{NEAP_QOS_LS, BURSTABLE, "", "1", NEAP_CPUS_NUMA, "10-13"},
		{NEAP_QOS_LS, BURSTABLE, "", "7", NEAP_CPUS_LS, "4-5,10-13"},
		{NEAP_QOS_BE, BESTEFFORT, "", "", NEAP_CPUS_BE, "4-5,8-13"},
		{NEAP_QOS_BE, BURSTABLE, "", "1", NEAP_CPUS_BE, "4-5,8-13"},
		{NEAP_QOS_NONE, BESTEFFORT, "", "", NEAP_CPUS_BE, "4-5,8-13"},
		{NEAP_QOS_SYSTEM, BURSTABLE, "", "", NEAP_CPUS_SYSTEM, "0-1"},
	};
	struct neap_topology *topology = machine("0-15");
	const struct neap_cpuset lse = set_of("2-3"), lsr = set_of("8-9");
	const struct neap_cpu_pool_pod pods[] = {{NEAP_QOS_LSE, &lse},
						 {NEAP_QOS_LSR, &lsr}};
	const struct neap_cpu_node node = {.topology = topology,
					   .kubelet = set_of("6-7"),
					   .reserved = set_of("14-15"),
					   .system = set_of("0-1")};
	struct neap_cpu_rooms rooms;

	(void)state;
	neap_cpu_rooms_make(&node, pods, NEAP_ARRAY_LEN(pods), &rooms);
	check_rows(&rooms, rows, NEAP_ARRAY_LEN(rows));
	(void)neap_topology_unref(topology);
}

static void nothing_is_held_where_nothing_was_given_out(void **state)
{
	static const struct row rows[] = {
		{NEAP_QOS_LS, BURSTABLE, "", "", NEAP_CPUS_ANY, ""},
		{NEAP_QOS_LSR, GUARANTEED, "", "", NEAP_CPUS_ANY, ""},
		{NEAP_QOS_BE, BESTEFFORT, "", "", NEAP_CPUS_ANY, ""},
		{NEAP_QOS_SYSTEM, BURSTABLE, "", "", NEAP_CPUS_ANY, ""},
		{NEAP_QOS_LS, BURSTABLE, "", "0-1", NEAP_CPUS_ANY, ""},
		{NEAP_QOS_LS, BURSTABLE, "", "0", NEAP_CPUS_NUMA, "0-7"},
	};
	struct neap_topology *topology = machine("0-15");
	const struct neap_cpu_node node = {.topology = topology};
	struct neap_cpu_rooms rooms;

	(void)state;
	neap_cpu_rooms_make(&node, NULL, 0, &rooms);
	check_rows(&rooms, rows, NEAP_ARRAY_LEN(rows));
	(void)neap_topology_unref(topology);
}

static void cpus_of_system_pods_may_be_shared(void **state)
{
	struct neap_topology *topology = machine("0-3");
	const struct neap_cpu_node node = {
		.topology = topology, .system = set_of("0"), .is_system_shared = true};
	static const struct row rows[] = {
		{NEAP_QOS_LS, BURSTABLE, "", "", NEAP_CPUS_ANY, ""},
		{NEAP_QOS_SYSTEM, BURSTABLE, "", "", NEAP_CPUS_SYSTEM, "0"},
	};
	struct neap_cpu_rooms rooms;

	(void)state;
	neap_cpu_rooms_make(&node, NULL, 0, &rooms);
	check_rows(&rooms, rows, NEAP_ARRAY_LEN(rows));
	(void)neap_topology_unref(topology);
}

/* --- what is not there --- */

static void cpus_that_are_not_online_are_left_out(void **state)
{
	struct neap_topology *topology = machine("0-2");
	const struct neap_cpuset own = set_of("2-3"), gone = set_of("3-5");
	const struct neap_cpu_pool_pod pods[] = {{NEAP_QOS_LSR, &own},
						 {NEAP_QOS_LSR, &gone}};
	const struct neap_cpu_node node = {.topology = topology};
	struct neap_cpu_said said = {.qos = NEAP_QOS_LSR, .cpus = own};
	struct neap_cpu_given given;
	struct neap_cpu_rooms rooms;

	(void)state;
	neap_cpu_rooms_make(&node, pods, 2, &rooms);
	neap_cpu_give(&rooms, &said, &given);
	assert_int_equal(given.kind, NEAP_CPUS_OWN);
	is_set(&given.cpus, "2");
	is_set(&given.missing, "3");

	said.cpus = gone;
	said.kube_qos = GUARANTEED;
	neap_cpu_give(&rooms, &said, &given);
	assert_int_equal(given.kind, NEAP_CPUS_LS);
	is_set(&given.cpus, "0-1");
	is_set(&given.missing, "3-5");
	(void)neap_topology_unref(topology);
}

static void a_pool_without_cpus_is_that_of_the_next(void **state)
{
	static const struct {
		const char *lse, *lsr, *reserved, *system, *ls, *be;
	} rows[] = {
		{"", "0-3", "", "", "0-3", "0-3"},    /* LS shares with LSR, as BE */
		{"0-1", "2-3", "", "", "2-3", "2-3"}, /* but not with LSE */
		{"0-1", "", "2", "3", "2", "2"},      /* what is reserved gives way */
		{"0-1", "", "", "2-3", "2-3", "2-3"}, /* then SYSTEM's */
		{"0-3", "", "", "", "0-3", "0-3"},    /* then all */
		{"0", "", "1-3", "", "1-3", "1-3"},
	};
	struct neap_topology *topology = machine("0-3");

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const struct neap_cpuset lse = set_of(rows[i].lse),
					 lsr = set_of(rows[i].lsr);
		const struct neap_cpu_pool_pod pods[] = {{NEAP_QOS_LSE, &lse},
							 {NEAP_QOS_LSR, &lsr}};
		const struct neap_cpu_node node = {.topology = topology,
						   .reserved = set_of(rows[i].reserved),
						   .system = set_of(rows[i].system)};
		struct neap_cpu_rooms rooms;

		neap_cpu_rooms_make(&node, pods, 2, &rooms);
		is_set(&rooms.ls, rows[i].ls);
		is_set(&rooms.be, rows[i].be);
	}
	(void)neap_topology_unref(topology);
}

/* --- always --- */

static struct neap_cpuset some(unsigned *seed, int of)
{
	struct neap_cpuset set = {0};

	for (int count = rand_r(seed) % 5; count > 0; count--)
		(void)neap_cpuset_add(&set, rand_r(seed) % of);
	return set;
}

static void check_given(const struct neap_cpu_rooms *rooms,
			const struct neap_cpu_said *said, const struct neap_cpuset *lse)
{
	const struct neap_cpuset *online = &rooms->topology->online;
	struct neap_cpu_given given;

	neap_cpu_give(rooms, said, &given);
	assert_true(neap_cpuset_is_subset(&given.cpus, online));
	assert_int_equal(neap_cpuset_is_empty(&given.cpus), given.kind == NEAP_CPUS_ANY);
	assert_false(neap_cpuset_intersects(&given.missing, online));
	if (neap_cpuset_intersects(&said->cpus, online)) {
		assert_int_equal(given.kind, NEAP_CPUS_OWN);
		assert_true(neap_cpuset_is_subset(&given.cpus, &said->cpus));
	} else if (given.kind != NEAP_CPUS_ANY && given.kind != NEAP_CPUS_SYSTEM &&
		   !neap_cpuset_is_subset(online, lse)) {
		/* Whatever is short, what LSE pods have is the last that is shared. */
		assert_false(neap_cpuset_intersects(&given.cpus, lse));
	}
}

static void whatever_is_given_out_nobody_is_left_without_cpus(void **state)
{
	unsigned seed = 7;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		struct neap_cpuset online = some(&seed, 16), sets[PODS], lse = {0};
		struct neap_cpu_pool_pod pods[PODS];
		struct neap_cpu_rooms rooms;
		struct neap_cpu_node node;
		char text[256];

		(void)neap_cpuset_add(&online, rand_r(&seed) % 16);
		(void)neap_cpuset_format(&online, text, sizeof(text));
		node = (struct neap_cpu_node){.topology = machine(text),
					      .reserved = some(&seed, 20),
					      .system = some(&seed, 20),
					      .is_system_shared = rand_r(&seed) % 2};
		for (size_t i = 0; i < PODS; i++) {
			sets[i] = some(&seed, 20);
			pods[i].qos = (enum neap_qos)(rand_r(&seed) % 6);
			pods[i].cpus = &sets[i];
			if (pods[i].qos == NEAP_QOS_LSE)
				neap_cpuset_or(&lse, &lse, &sets[i]);
		}
		neap_cpu_rooms_make(&node, pods, PODS, &rooms);
		assert_true(neap_cpuset_is_subset(&rooms.ls, &rooms.be));
		for (size_t i = 0; i < PODS; i++) {
			const struct neap_cpu_said said = {
				.qos = pods[i].qos,
				.kube_qos = (enum neap_kube_qos)(rand_r(&seed) % 3),
				.cpus = sets[i],
				.numa = some(&seed, 3)};

			check_given(&rooms, &said, &lse);
		}
		(void)neap_topology_unref(
			(struct neap_topology *)(uintptr_t)node.topology);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_annotation_is_read),
		cmocka_unit_test(one_that_cannot_be_read_gives_nothing),
		cmocka_unit_test(each_class_gets_its_cpus),
		cmocka_unit_test(nothing_is_held_where_nothing_was_given_out),
		cmocka_unit_test(cpus_of_system_pods_may_be_shared),
		cmocka_unit_test(cpus_that_are_not_online_are_left_out),
		cmocka_unit_test(a_pool_without_cpus_is_that_of_the_next),
		cmocka_unit_test(whatever_is_given_out_nobody_is_left_without_cpus),
	};

	patience_with_scripts();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
