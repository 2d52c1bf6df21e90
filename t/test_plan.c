/* SPDX-License-Identifier: Apache-2.0
 *
 * Planned writes: merging, bounding, comparing and ordering. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/machine/plan.h"

#define MAX    NEAP_KEY_CPU_MAX_MILLI
#define BURST  NEAP_KEY_CPU_BURST_USEC
#define SHARES NEAP_KEY_CPU_SHARES
#define IDLE   NEAP_KEY_CPU_IDLE
#define CPUS   NEAP_KEY_CPUSET_CPUS
#define LIMIT  NEAP_KEY_MEMORY_MAX_BYTES
#define LOW    NEAP_KEY_MEMORY_LOW_BYTES

/* A file: "group key value", the value as neap_value_print gives it. */
struct file {
	const char *group;
	enum neap_key key;
	const char *value; /* NULL: cannot be read */
};

struct wish {
	const char *policy, *group;
	enum neap_key key;
	const char *value;
	int rank;
	bool is_restore, is_own;
};

#define FILES 8
struct row {
	const char *name;
	struct file files[FILES];
	struct wish wishes[FILES];
	const char *writes; /* "group key value" by ";" */
	const char *bounds; /* reasons by ";" */
	const char *own;    /* what groups have by themselves: "group key value" by ";" */
	int gone, unread;
};

static struct neap_value value_of(enum neap_key key, const char *text)
{
	struct neap_value value = {.form = neap_key_get(key)->form};

	if (value.form == NEAP_FORM_CPUSET)
		assert_int_equal(neap_cpuset_parse(&value.cpus, text, NULL), 0);
	else
		value.number = strcmp(text, "max") == 0 ? -1 : strtoll(text, NULL, 10);
	return value;
}

/* Also sees to it that no file is read twice. */
struct tree {
	const struct file *files;
	bool was_read[FILES];
};

static int read_file(void *arg, const char *group, enum neap_key key,
		     struct neap_value *ret, struct neap_error *err)
{
	struct tree *tree = arg;

	for (int i = 0; i < FILES && tree->files[i].group != NULL; i++) {
		if (tree->files[i].key != key || strcmp(tree->files[i].group, group) != 0)
			continue;
		assert_false(tree->was_read[i]);
		tree->was_read[i] = true;
		if (tree->files[i].value == NULL)
			return neap_error_set(err, NEAP_ESYS, "odd file");
		*ret = value_of(key, tree->files[i].value);
		return 1;
	}
	return 0;
}

static struct neap_plan_bounds bounds(void)
{
	struct neap_plan_bounds b = {
		.be_cpu_floor_milli = 20,
		.be_cpus_floor = 2,
		.memory_floor_bytes = 1048576,
	};

	neap_cpuset_add_range(&b.online, 0, 7);
	return b;
}

static struct neap_wish wish_of(const struct wish *from)
{
	struct neap_wish wish = {
		.key = from->key,
		.value = value_of(from->key, from->value),
		.rank = from->rank,
		.is_restore = from->is_restore,
		.is_own = from->is_own,
	};

	(void)neap_strcopy(wish.group, sizeof(wish.group), from->group);
	(void)neap_strcopy(wish.policy, sizeof(wish.policy), from->policy);
	return wish;
}

static void describe(const struct neap_plan *plan, char *writes, char *why, size_t size)
{
	size_t used = 0;
	const char *reason;

	writes[0] = why[0] = '\0';
	for (size_t i = 0; i < neap_plan_write_count(plan); i++) {
		const struct neap_write *write = neap_plan_write_get(plan, i);
		char value[64];

		(void)neap_value_print(write->key, &write->value, value, sizeof(value));
		used += (size_t)snprintf(writes + used, size - used, "%s%s %s %s",
					 used > 0 ? ";" : "", write->group,
					 neap_key_get(write->key)->name, value);
	}
	used = 0;
	for (size_t i = 0; i < neap_plan_wish_count(plan); i++)
		if (neap_plan_wish_was_bounded(plan, i, &reason))
			used += (size_t)snprintf(why + used, size - used, "%s%s",
						 used > 0 ? ";" : "", reason);
}

static void describe_own(const struct neap_plan *plan, char *own, size_t size)
{
	size_t used = 0;

	own[0] = '\0';
	for (size_t i = 0; i < neap_plan_wish_count(plan); i++) {
		const struct neap_wish *wish = neap_plan_wish_get(plan, i);
		struct neap_value value;
		char text[64];

		if (!neap_plan_wish_own(plan, i, &value))
			continue;
		(void)neap_value_print(wish->key, &value, text, sizeof(text));
		used += (size_t)snprintf(own + used, size - used, "%s%s %s %s",
					 used > 0 ? ";" : "", wish->group,
					 neap_key_get(wish->key)->name, text);
	}
}

static const struct row rows[] = {
	{.name = "nothing"},
	{.name = "already so",
	 .files = {{"a", MAX, "100"}, {"a", CPUS, "1-3"}},
	 .wishes = {{"p", "a", MAX, "100"}, {"p", "a", CPUS, "1,2,3"}}},
	{.name = "lowest quota wins, unlimited is the largest",
	 .files = {{"a", MAX, "max"}},
	 .wishes = {{"p", "a", MAX, "max", 0},
		    {"q", "a", MAX, "700", 1},
		    {"r", "a", MAX, "900", 2}},
	 .writes = "a cpu.max_milli 700"},
	{.name = "highest protection wins",
	 .files = {{"a", LOW, "0"}},
	 .wishes = {{"p", "a", LOW, "100", 0}, {"q", "a", LOW, "max", 1}},
	 .writes = "a memory.low_bytes max"},
	{.name = "first shares win",
	 .files = {{"a", SHARES, "1024"}},
	 .wishes = {{"p", "a", SHARES, "5", 2}, {"q", "a", SHARES, "7", 1}},
	 .writes = "a cpu.shares 7"},
	{.name = "what a group has by itself, beside a policy and alone",
	 .files = {{"a", SHARES, "5"}, {"a", MAX, "300"}, {"b", LIMIT, "max"}},
	 .wishes = {{"p", "a", SHARES, "7", 1},
		    {"neapd", "a", SHARES, "200", 9, false, true},
		    {"p", "a", MAX, "100", 1},
		    {"neapd", "a", MAX, "300", 9, false, true},
		    {"neapd", "b", LIMIT, "2097152", 9, false, true}},
	 .writes = "a cpu.shares 7;a cpu.max_milli 100;b memory.max_bytes 2097152",
	 .own = "a cpu.max_milli 300;a cpu.shares 200;b memory.max_bytes 2097152"},
	{.name = "it is bounded, and none of a group that is gone",
	 .files = {{"a", MAX, "300"}, {"b", MAX, NULL}},
	 .wishes = {{"p", "a", MAX, "100", 1},
		    {"neapd", "a", MAX, "10", 9, false, true},
		    {"neapd", "b", MAX, "50", 9, false, true},
		    {"neapd", "c", MAX, "50", 9, false, true}},
	 .writes = "a cpu.max_milli 20",
	 .bounds = "10 raised to the floor of 20",
	 .own = "a cpu.max_milli 20",
	 .gone = 1,
	 .unread = 1},
	{.name = "common CPUs",
	 .files = {{"a", CPUS, "0-7"}},
	 .wishes = {{"p", "a", CPUS, "0-4", 1},
		    {"q", "a", CPUS, "2-6", 0},
		    {"r", "a", CPUS, "3-7", 2}},
	 .writes = "a cpuset.cpus 3-4",
	 .bounds = "common CPUs of 3 wishes"},
	{.name = "no common CPUs",
	 .files = {{"a", CPUS, "0-7"}},
	 .wishes = {{"p", "a", CPUS, "0-1", 1}, {"q", "a", CPUS, "2-3", 0}},
	 .writes = "a cpuset.cpus 2-3",
	 .bounds = "no CPU in common with p"},
	{.name = "floor of the quota",
	 .files = {{"a", MAX, "max"}},
	 .wishes = {{"p", "a", MAX, "10"}},
	 .writes = "a cpu.max_milli 20",
	 .bounds = "10 raised to the floor of 20"},
	{.name = "floor of the CPU set, offline CPUs",
	 .files = {{"a", CPUS, "0-7"}},
	 .wishes = {{"p", "a", CPUS, "0,9"}},
	 .writes = "a cpuset.cpus 0-1",
	 .bounds =
		 "CPUs that are not online left out; widened from 1 to 2 CPUs, the floor is 2"},
	{.name = "an empty CPU set is never written",
	 .files = {{"a", CPUS, "0-7"}},
	 .wishes = {{"p", "a", CPUS, ""}},
	 .writes = "a cpuset.cpus 0-1",
	 .bounds = "widened from 0 to 2 CPUs, the floor is 2"},
	{.name = "but it is given back",
	 .files = {{"a", CPUS, "0-7"}, {"b", CPUS, "0-7"}, {"b", MAX, "50"}},
	 .wishes = {{"p", "a", CPUS, "", 0, true},
		    {"p", "b", CPUS, "1-2", 9},
		    {"p", "b", CPUS, "", 0, true},
		    {"p", "b", MAX, "10", 0, true}},
	 .writes = "a cpuset.cpus ;b cpuset.cpus 1-2;b cpu.max_milli 10"},
	{.name = "floor of memory",
	 .files = {{"a", LIMIT, "max"}},
	 .wishes = {{"p", "a", LIMIT, "0"}},
	 .writes = "a memory.max_bytes 1048576",
	 .bounds = "0 raised to the floor of 1048576"},
	{.name = "memory rounded to pages is so already",
	 .files = {{"a", LIMIT, "2097152"}},
	 .wishes = {{"p", "a", LIMIT, "2097153"}}},
	{.name = "gone and unreadable are left out",
	 .files = {{"b", MAX, NULL}, {"c", MAX, "max"}},
	 .wishes = {{"p", "a", MAX, "50"}, {"p", "b", MAX, "50"}, {"p", "c", MAX, "50"}},
	 .writes = "c cpu.max_milli 50",
	 .gone = 1,
	 .unread = 1},
	{.name = "growing goes down",
	 .files = {{"a", MAX, "100"}, {"a/b", MAX, "100"}, {"a/b/c", MAX, "100"}},
	 .wishes = {{"p", "a/b/c", MAX, "200"},
		    {"p", "a/b", MAX, "200"},
		    {"p", "a", MAX, "200"}},
	 .writes = "a cpu.max_milli 200;a/b cpu.max_milli 200;a/b/c cpu.max_milli 200"},
	{.name = "shrinking goes up",
	 .files = {{"a", MAX, "300"}, {"a/b", MAX, "300"}, {"a/b/c", MAX, "300"}},
	 .wishes = {{"p", "a/b/c", MAX, "200"},
		    {"p", "a/b", MAX, "200"},
		    {"p", "a", MAX, "200"}},
	 .writes = "a/b/c cpu.max_milli 200;a/b cpu.max_milli 200;a cpu.max_milli 200"},
	{.name = "a CPU set moves by its union",
	 .files = {{"a", CPUS, "0-3"}, {"a/b", CPUS, "0-3"}},
	 .wishes = {{"p", "a/b", CPUS, "2-5"}, {"p", "a", CPUS, "2-5"}},
	 .writes =
		 "a cpuset.cpus 0-5;a/b cpuset.cpus 0-5;a/b cpuset.cpus 2-5;a cpuset.cpus 2-5"},
	{.name = "siblings by name, parents by depth",
	 .files = {{"a", MAX, "10"}, {"b", MAX, "10"}, {"a-/x", MAX, "10"}},
	 .wishes = {{"p", "b", MAX, "50"},
		    {"p", "a-/x", MAX, "50"},
		    {"p", "a", MAX, "50"}},
	 .writes = "a cpu.max_milli 50;b cpu.max_milli 50;a-/x cpu.max_milli 50"},
	{.name = "burst leaves before the quota shrinks",
	 .files = {{"a", MAX, "1000"}, {"a", BURST, "100000"}},
	 .wishes = {{"p", "a", MAX, "500"}, {"p", "a", BURST, "50000"}},
	 .writes = "a cpu.burst_usec 50000;a cpu.max_milli 500"},
	{.name = "the quota grows before the burst",
	 .files = {{"a", MAX, "500"}, {"a", BURST, "50000"}},
	 .wishes = {{"p", "a", MAX, "1000"}, {"p", "a", BURST, "100000"}},
	 .writes = "a cpu.max_milli 1000;a cpu.burst_usec 100000"},
	{.name = "burst not above the wished quota",
	 .files = {{"a", MAX, "max"}, {"a", BURST, "0"}},
	 .wishes = {{"p", "a", MAX, "500"}, {"p", "a", BURST, "500000"}},
	 .writes = "a cpu.burst_usec 50000;a cpu.max_milli 500",
	 .bounds = "500000 lowered to the quota in force, 50000"},
	{.name = "burst not above the present quota",
	 .files = {{"a", MAX, "500"}, {"a", BURST, "0"}},
	 .wishes = {{"p", "a", BURST, "500000"}},
	 .writes = "a cpu.burst_usec 50000",
	 .bounds = "500000 lowered to the quota in force, 50000"},
	{.name = "shares of a group that gets idle",
	 .files = {{"a", SHARES, "1024"}, {"a", IDLE, "0"}},
	 .wishes = {{"p", "a", SHARES, "2"}, {"p", "a", IDLE, "1"}},
	 .writes = "a cpu.idle 1"},
	{.name = "shares of a group that is idle",
	 .files = {{"a", SHARES, "3"}, {"a", IDLE, "1"}},
	 .wishes = {{"p", "a", SHARES, "2"}}},
	{.name = "shares after idle ends",
	 .files = {{"a", SHARES, "3"}, {"a", IDLE, "1"}},
	 .wishes = {{"p", "a", SHARES, "2"}, {"p", "a", IDLE, "0"}},
	 .writes = "a cpu.idle 0;a cpu.shares 2"},
	{.name = "shares that the end of idle resets",
	 .files = {{"a", SHARES, "3"}, {"a", IDLE, "1"}},
	 .wishes = {{"p", "a", SHARES, "3"}, {"p", "a", IDLE, "0"}},
	 .writes = "a cpu.idle 0;a cpu.shares 3"},
	{.name = "no idle where a kubelet sets shares",
	 .files = {{"kubepods/besteffort", IDLE, "0"},
		   {"kubepods/besteffort/podx", IDLE, "0"}},
	 .wishes = {{"p", "kubepods/besteffort", IDLE, "1"},
		    {"p", "kubepods/besteffort/podx", IDLE, "1"}},
	 .writes = "kubepods/besteffort/podx cpu.idle 1",
	 .bounds = "a kubelet sets cpu.shares here, which fails on an idle group"},
};

static void tables(void **state)
{
	struct neap_plan *plan = neap_plan_new();

	(void)state;
	assert_non_null(plan);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		struct neap_plan_bounds limits = bounds();
		struct neap_error err;

		/* The order of adding must not matter. */
		for (int backward = 0; backward < 2; backward++) {
			struct tree tree = {.files = row->files};
			char writes[1024], why[1024], own[1024];
			const struct neap_error *first;

			neap_plan_clear(plan);
			for (int w = 0; w < FILES; w++) {
				const struct wish *from =
					&row->wishes[backward ? FILES - 1 - w : w];
				struct neap_wish wish;

				if (from->group == NULL)
					continue;
				wish = wish_of(from);
				assert_int_equal(neap_plan_add(plan, &wish, &err), 0);
			}
			assert_int_equal(
				neap_plan_build(plan, &limits, read_file, &tree, &err),
				0);
			describe(plan, writes, why, sizeof(writes));
			describe_own(plan, own, sizeof(own));
			if (strcmp(own, row->own == NULL ? "" : row->own) != 0)
				fail_msg("%s: own is '%s'", row->name, own);
			if (strcmp(writes, row->writes == NULL ? "" : row->writes) != 0 ||
			    strcmp(why, row->bounds == NULL ? "" : row->bounds) != 0 ||
			    (int)neap_plan_gone_count(plan) != row->gone ||
			    (int)neap_plan_unread_count(plan, &first) != row->unread)
				fail_msg("%s: '%s' because '%s', %zu gone", row->name,
					 writes, why, neap_plan_gone_count(plan));
			assert_int_equal(first != NULL, row->unread > 0);
		}
	}
	neap_plan_free(plan);
}

static void refused_wishes(void **state)
{
	static const struct {
		const char *name;
		struct neap_wish wish;
		int want;
	} bad[] = {
		{"no key", {.group = "a", .key = NEAP_KEY_COUNT}, -NEAP_EINVAL},
		{"group above",
		 {.group = "../a", .key = MAX, .value.number = 50},
		 -NEAP_EINVAL},
		{"no group", {.group = "", .key = MAX, .value.number = 50}, -NEAP_EINVAL},
		{"range", {.group = "a", .key = MAX, .value.number = 5}, -NEAP_EINVAL},
		{"form", {.group = "a", .key = CPUS, .value.number = 5}, -NEAP_EINVAL},
	};
	struct neap_plan *plan = neap_plan_new();
	struct neap_error err;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(bad); i++)
		if (neap_plan_add(plan, &bad[i].wish, &err) != bad[i].want)
			fail_msg("%s", bad[i].name);
	neap_plan_free(plan);
	neap_plan_free(NULL);
}

/* Weights: many shares are one weight on v2. */
static void weights(void **state)
{
	static const struct file files[FILES] = {{"a", SHARES, "999"}}; /* weight 39 */
	static const struct wish wish = {"p", "a", SHARES, "1000"};
	struct neap_plan *plan = neap_plan_new();
	struct neap_plan_bounds limits = bounds();
	struct neap_wish added = wish_of(&wish);

	(void)state;
	assert_int_equal(neap_plan_add(plan, &added, NULL), 0);
	for (int v2 = 0; v2 < 2; v2++) {
		struct tree tree = {.files = files};

		limits.cpu_is_v2 = v2;
		assert_int_equal(neap_plan_build(plan, &limits, read_file, &tree, NULL),
				 0);
		assert_int_equal(neap_plan_write_count(plan), !v2);
	}
	neap_plan_free(plan);
}

static void torture(void **state)
{
	bool done = false;

	(void)state;
	for (uint64_t n = 1; !done; n++) {
		const struct row *row = &rows[5];
		struct tree tree = {.files = row->files};
		struct neap_plan_bounds limits = bounds();
		struct neap_plan *plan;
		int rc = 0;

		assert_true(n < 100);
		neap_mem_fail_at(n);
		plan = neap_plan_new();
		for (int w = 0; w < FILES && plan != NULL && rc == 0; w++)
			if (row->wishes[w].group != NULL) {
				struct neap_wish wish = wish_of(&row->wishes[w]);

				rc = neap_plan_add(plan, &wish, NULL);
			}
		if (plan != NULL && rc == 0)
			rc = neap_plan_build(plan, &limits, read_file, &tree, NULL);
		done = plan != NULL && rc == 0;
		assert_true(done || plan == NULL || rc == -NEAP_ENOMEM);
		assert_true(done || plan == NULL || neap_plan_write_count(plan) == 0);
		neap_mem_fail_at(0);
		neap_plan_free(plan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables),
		cmocka_unit_test(refused_wishes),
		cmocka_unit_test(weights),
		cmocka_unit_test(torture),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
