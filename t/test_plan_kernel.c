/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans against a small model of a cgroup v1 kernel: whenever the present and the wanted
 * state are valid, no step between them is refused. */
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

#define GROUPS 14
#define KEYS   5

static const enum neap_key model_keys[KEYS] = {MAX, BURST, CPUS, IDLE, SHARES};

struct group {
	int parent; /* -1: below the root */
	char path[NEAP_PATH_MAX];
	int64_t max, burst, idle, shares;
	uint32_t cpus; /* 8 CPUs */
};

struct kernel {
	struct group group[GROUPS];
};

static uint32_t seed = 20240607;

static uint32_t any(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

/* The quota that holds a group: the nearest finite one at or above it. */
static int64_t finite_above(const struct kernel *k, int at)
{
	for (; at >= 0; at = k->group[at].parent)
		if (k->group[at].max >= 0)
			return k->group[at].max;
	return -1;
}

static const char *quota_refusal(const struct kernel *k)
{
	for (int i = 0; i < GROUPS; i++) {
		int64_t above = finite_above(k, k->group[i].parent);

		if (k->group[i].max >= 0 && above >= 0 && k->group[i].max > above)
			return "EINVAL: quota above the parent's";
		if (k->group[i].max >= 0 && k->group[i].burst > k->group[i].max * 100)
			return "EINVAL: burst above the quota";
	}
	return NULL;
}

static const char *cpus_refusal(const struct kernel *k)
{
	for (int i = 0; i < GROUPS; i++) {
		uint32_t above =
			k->group[i].parent < 0 ? 0xff : k->group[k->group[i].parent].cpus;

		if (k->group[i].cpus & ~above)
			return "EACCES or EBUSY: CPUs outside the parent";
		if (k->group[i].cpus == 0)
			return "ENOSPC: no CPUs";
	}
	return NULL;
}

static const char *kernel_write(struct kernel *k, int at, enum neap_key key,
				const struct neap_value *value)
{
	struct group *g = &k->group[at];

	switch (key) {
	case NEAP_KEY_CPU_MAX_MILLI:
		g->max = value->number;
		return quota_refusal(k);
	case NEAP_KEY_CPU_BURST_USEC:
		g->burst = value->number;
		return quota_refusal(k);
	case NEAP_KEY_CPUSET_CPUS:
		g->cpus = 0;
		for (int cpu = -1; (cpu = neap_cpuset_next(&value->cpus, cpu)) >= 0;)
			g->cpus |= 1u << cpu;
		return cpus_refusal(k);
	case NEAP_KEY_CPU_IDLE:
		if (g->idle != value->number)
			g->shares = value->number == 1 ? 3 : 1024;
		g->idle = value->number;
		return NULL;
	default:
		if (g->idle == 1)
			return "EINVAL: shares of an idle group";
		g->shares = value->number;
		return NULL;
	}
}

static struct neap_value kernel_value(const struct kernel *k, int at, enum neap_key key)
{
	const struct group *g = &k->group[at];
	struct neap_value value = {.form = neap_key_get(key)->form};

	switch (key) {
	case NEAP_KEY_CPU_MAX_MILLI:
		value.number = g->max;
		break;
	case NEAP_KEY_CPU_BURST_USEC:
		value.number = g->burst;
		break;
	case NEAP_KEY_CPU_IDLE:
		value.number = g->idle;
		break;
	case NEAP_KEY_CPU_SHARES:
		value.number = g->shares;
		break;
	default:
		for (int cpu = 0; cpu < 8; cpu++)
			if (g->cpus & (1u << cpu))
				(void)neap_cpuset_add(&value.cpus, cpu);
	}
	return value;
}

static int kernel_find(const struct kernel *k, const char *path)
{
	for (int i = 0; i < GROUPS; i++)
		if (strcmp(k->group[i].path, path) == 0)
			return i;
	return -1;
}

static int kernel_read(void *arg, const char *path, enum neap_key key,
		       struct neap_value *ret, struct neap_error *err)
{
	const struct kernel *k = arg;
	int at = kernel_find(k, path);

	(void)err;
	assert_true(at >= 0);
	*ret = kernel_value(k, at, key);
	return 1;
}

/* Groups have their parents before them. */
static void any_shape(struct kernel *k)
{
	for (int i = 0; i < GROUPS; i++) {
		struct group *g = &k->group[i];

		g->parent = (int)any((uint32_t)i + 1) - 1;
		(void)snprintf(g->path, sizeof(g->path), "%.400s%sg%u",
			       g->parent < 0 ? "" : k->group[g->parent].path,
			       g->parent < 0 ? "" : "/", (unsigned)i * 5 % GROUPS);
	}
}

/* A valid state of the same shape; each group keeps what base has with some chance. */
static void any_values(struct kernel *k)
{
	for (int i = 0; i < GROUPS; i++) {
		struct group *g = &k->group[i];
		int64_t above = finite_above(k, g->parent);
		uint32_t cpus = g->parent < 0 ? 0xff : k->group[g->parent].cpus;

		g->max = any(3) == 0 ? -1 : 20 + (int64_t)any(8) * 10;
		if (g->max >= 0 && above >= 0 && g->max > above)
			g->max = above;
		g->burst = g->max < 0 ? (int64_t)any(5) * 2000
				      : (int64_t)any((uint32_t)g->max) * 100;
		g->cpus = cpus & any(256);
		if (g->cpus == 0)
			g->cpus = cpus;
		g->idle = any(2);
		g->shares = g->idle ? 3 : 2 + any(4);
	}
}

/* Two valid states, some groups wished for: all the others must be the same in both. */
static bool any_target(const struct kernel *now, struct kernel *target,
		       bool (*wished)[KEYS])
{
	struct kernel fresh = *now;

	any_values(&fresh);
	*target = *now;
	for (int i = 0; i < GROUPS; i++)
		for (int key = 0; key < KEYS; key++) {
			struct neap_value value =
				kernel_value(&fresh, i, model_keys[key]);

			wished[i][key] = any(4) != 0;
			if (!wished[i][key])
				continue;
			if (model_keys[key] == SHARES && target->group[i].idle == 1)
				continue;
			(void)kernel_write(target, i, model_keys[key], &value);
		}
	return quota_refusal(target) == NULL && cpus_refusal(target) == NULL;
}

static void run_plan(struct neap_plan *plan, struct kernel *k,
		     const struct kernel *target, bool (*wished)[KEYS], int round)
{
	struct neap_plan_bounds limits = {.online.len = 0};
	struct neap_error err;

	neap_plan_clear(plan);
	for (int i = 0; i < GROUPS; i++)
		for (int key = 0; key < KEYS; key++) {
			struct neap_wish wish = {.key = model_keys[key], .policy = "p"};

			if (!wished[i][key])
				continue;
			wish.value = kernel_value(target, i, wish.key);
			(void)neap_strcopy(wish.group, sizeof(wish.group),
					   k->group[i].path);
			assert_int_equal(neap_plan_add(plan, &wish, &err), 0);
		}
	assert_int_equal(neap_plan_build(plan, &limits, kernel_read, k, &err), 0);
	for (size_t i = 0; i < neap_plan_write_count(plan); i++) {
		const struct neap_write *write = neap_plan_write_get(plan, i);
		int at = kernel_find(k, write->group);
		struct neap_value before = kernel_value(k, at, write->key);
		const char *refusal;

		if (write->key != SHARES &&
		    !neap_value_is_equal(write->key, &before, &write->old_value))
			fail_msg("round %d: believes the wrong old value", round);
		refusal = kernel_write(k, at, write->key, &write->value);
		if (refusal != NULL)
			fail_msg("round %d, write %zu, %s of %s: %s", round, i,
				 neap_key_get(write->key)->name, write->group, refusal);
	}
}

static void kernel_accepts_every_step(void **state)
{
	struct neap_plan *plan = neap_plan_new();
	int tried = 0;

	(void)state;
	for (int round = 0; tried < 3000; round++) {
		static struct kernel k, target;
		bool wished[GROUPS][KEYS];

		assert_true(round < 200000);
		if (round % 8 == 0)
			any_shape(&k);
		any_values(&k);
		assert_null(quota_refusal(&k));
		assert_null(cpus_refusal(&k));
		if (!any_target(&k, &target, wished))
			continue;
		tried++;
		run_plan(plan, &k, &target, wished, round);
		for (int i = 0; i < GROUPS; i++)
			if (k.group[i].max != target.group[i].max ||
			    k.group[i].burst != target.group[i].burst ||
			    k.group[i].cpus != target.group[i].cpus ||
			    k.group[i].idle != target.group[i].idle ||
			    k.group[i].shares != target.group[i].shares)
				fail_msg("round %d: %s is not as wished", round,
					 k.group[i].path);
	}
	neap_plan_free(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_accepts_every_step),
	};

	return cmocka_run_group_tests_name("plan_kernel", tests, NULL, NULL);
}
