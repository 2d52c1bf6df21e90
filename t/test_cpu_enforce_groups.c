/* SPDX-License-Identifier: Apache-2.0
 *
 * CPUs that were given out, and policies that wish for others, over the groups of this
 * machine: nobody gets beyond what is its own, no write is refused, another neapd holds
 * the same, and at the end all is as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/run/pins.h"
#include "engine/base/mem.h"
#include "t/lib/patience.h"
#include "t/lib/pods_rig.h"

#define NONE NEAP_MISSING

static const char *why;
static struct neap_cpuset all, first, second, not_first, not_second;

static int setup(void **state)
{
	*state = pods_rig_new(PODS_MACHINE, &why);
	return 0;
}

static int teardown(void **state)
{
	if (*state)
		pods_rig_free(*state);
	return 0;
}

static struct pods_rig *rig_of(void **state)
{
	struct pods_rig *rig = *state;
	int cpu;

	if (rig) {
		neap_cpuset_copy(&all, &neap_node_topology(rig->node)->online);
		cpu = neap_cpuset_next(&all, -1);
		neap_cpuset_clear(&first);
		neap_cpuset_clear(&second);
		(void)neap_cpuset_add(&first, cpu);
		(void)neap_cpuset_add(&second, neap_cpuset_next(&all, cpu));
		neap_cpuset_minus(&not_first, &all, &first);
		neap_cpuset_minus(&not_second, &all, &second);
		if (neap_cpuset_is_empty(&second))
			why = "this machine has one CPU";
	}
	if (!rig || neap_cpuset_is_empty(&second)) {
		print_message("SKIP %s\n", why);
		skip();
	}
	return rig;
}

/* --- pods --- */

static const struct neap_node_container plain[] = {
	{"main", NONE, NONE, NONE, NONE, .is_init = false}};
static const struct neap_node_container limited[] = {
	{"main", 500, 500, NONE, NONE, .is_init = false}};

#define POD(uid, qos, kube, list)                                                        \
	{                                                                                \
		uid, "default", "the-" uid, qos, NEAP_KUBE_##kube, list,                 \
			NEAP_ARRAY_LEN(list)                                             \
	}

static const struct neap_node_pod pods[] = {
	POD("u-r", NEAP_QOS_LSR, GUARANTEED, limited),
	POD("u-l", NEAP_QOS_LS, BURSTABLE, plain),
	POD("u-e", NEAP_QOS_BE, BESTEFFORT, plain),
	POD("u-x", NEAP_QOS_LSE, BESTEFFORT, plain),
};

static void pin(struct pods_rig *rig, const char *uid, enum neap_qos qos,
		enum neap_kube_qos kube_qos, const struct neap_cpuset *cpus)
{
	const struct neap_node_pin_of pod = {uid, "default", uid};
	struct neap_cpu_said said = {.qos = qos, .kube_qos = kube_qos};

	if (cpus)
		neap_cpuset_copy(&said.cpus, cpus);
	assert_int_equal(neap_node_pin(rig->node, &pod, &said, NULL), 0);
}

static void pin_all(struct pods_rig *rig, const struct neap_cpuset *lsr,
		    const struct neap_cpuset *lse)
{
	pin(rig, "u-r", NEAP_QOS_LSR, NEAP_KUBE_GUARANTEED, lsr);
	pin(rig, "u-l", NEAP_QOS_LS, NEAP_KUBE_BURSTABLE, NULL);
	pin(rig, "u-e", NEAP_QOS_BE, NEAP_KUBE_BESTEFFORT, NULL);
	pin(rig, "u-x", NEAP_QOS_LSE, NEAP_KUBE_BESTEFFORT, lse);
}

static void add_all(struct pods_rig *rig)
{
	struct pods_outcome outcome;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(pods); i++)
		if (pods_add(rig, &pods[i], &outcome) != NEAP_OK)
			fail_msg("%s: %s", pods[i].uid, outcome.err.msg);
}

/* --- what is in force --- */

/* What the group and all above it have; on v2 a group without a set has that of the one
 * above. */
static void in_force(struct pods_rig *rig, const char *group, struct neap_cpuset *ret)
{
	char path[256];
	char *slash;

	neap_cpuset_copy(ret, &all);
	(void)snprintf(path, sizeof(path), "%s", group);
	for (;;) {
		struct neap_cpuset cpus;
		const char *text =
			rig_read(rig->hand, pods_path(rig, path), NEAP_KEY_CPUSET_CPUS);

		assert_int_equal(neap_cpuset_parse_kernel(&cpus, text, NULL), 0);
		if (!neap_cpuset_is_empty(&cpus))
			neap_cpuset_and(ret, ret, &cpus);
		slash = strrchr(path, '/');
		if (!slash)
			return;
		*slash = '\0';
	}
}

static void tick(struct pods_rig *rig)
{
	for (int i = 0; i < 3; i++) {
		pods_tick(rig, 1);
		pods_hear(rig);
	}
}

static void is_on(struct pods_rig *rig, const char *group, const struct neap_cpuset *want)
{
	struct neap_cpuset is;
	char texts[2][256];

	for (int i = 0; i < 20; i++) {
		in_force(rig, group, &is);
		if (neap_cpuset_is_equal(&is, want))
			return;
		tick(rig);
	}
	(void)neap_cpuset_format(&is, texts[0], sizeof(texts[0]));
	(void)neap_cpuset_format(want, texts[1], sizeof(texts[1]));
	fail_msg("%s is on %s, not on %s", group, texts[0], texts[1]);
}

static void are_on(struct pods_rig *rig, const struct neap_cpuset *lsr,
		   const struct neap_cpuset *ls, const struct neap_cpuset *be,
		   const struct neap_cpuset *lse)
{
	is_on(rig, "podu-r/main", lsr);
	is_on(rig, "burstable/podu-l/main", ls);
	is_on(rig, "besteffort/podu-e/main", be);
	is_on(rig, "besteffort/podu-x/main", lse);
}

static void nothing_was_refused(struct pods_rig *rig)
{
	json_t *status = neap_node_status(rig->node);

	assert_int_equal(json_integer_value(json_object_get(status, "writes_refused")),
			 0);
	json_decref(status);
	assert_int_equal(pods_log_count(rig, "cpuset.cpus"), 0);
}

/* --- policies --- */

static void policy(struct pods_rig *rig)
{
	static const char text[] =
		"return { api = 1, kind = 'qos', name = 'p', tick = function(ctx) return ctx.hold end }";
	struct neap_policy *loaded = NULL;
	struct neap_error err;

	if (neap_policy_load(text, strlen(text), "p.lua", &loaded, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(neap_registry_put_take(rig->registry, loaded, 0, 0, NULL), 0);
}

/* target NULL: nothing any more. */
static void wish(struct pods_rig *rig, const char *target, const struct neap_cpuset *cpus)
{
	struct neap_policy_wish *one = calloc(1, sizeof(*one));

	assert_non_null(one);
	one->key = NEAP_KEY_CPUSET_CPUS;
	one->value.form = NEAP_FORM_CPUSET;
	if (target && cpus) {
		(void)snprintf(one->target, sizeof(one->target), "%s", target);
		neap_cpuset_copy(&one->value.cpus, cpus);
	}
	neap_registry_hold_take(neap_registry_get(rig->registry, 0), one, target != NULL);
	tick(rig);
}

static void policies_count_within_what_was_given_out(void **state)
{
	struct pods_rig *rig = rig_of(state);

	assert_int_equal(neap_node_pins_begin(rig->node, 0, NULL, NULL, NULL), 0);
	policy(rig);
	pin_all(rig, &second, NULL);
	add_all(rig);
	are_on(rig, &second, &not_second, &all, &all);

	wish(rig, "besteffort", &second); /* an LSR pod's CPU may be shared */
	are_on(rig, &second, &not_second, &second, &second);
	wish(rig, "besteffort", &first);
	are_on(rig, &second, &not_second, &first, &first);
	wish(rig, "workload:u-r", &first);
	are_on(rig, &second, &not_second, &all, &all);
	wish(rig, "burstable", &second);
	are_on(rig, &second, &not_second, &all, &all);
	wish(rig, "burstable.containers", &second);
	are_on(rig, &second, &not_second, &all, &all);
	wish(rig, "workload:u-l", &first);
	are_on(rig, &second, &first, &all, &all);

	/* An LSE pod among best-effort ones. */
	wish(rig, NULL, NULL);
	pin_all(rig, NULL, &first);
	are_on(rig, &not_first, &not_first, &not_first, &first);
	wish(rig, "besteffort", &first);
	are_on(rig, &not_first, &not_first, &not_first, &first);
	wish(rig, "besteffort.pods", &first);
	are_on(rig, &not_first, &not_first, &not_first, &first);
	wish(rig, "besteffort", &second);
	are_on(rig, &not_first, &not_first, &second, &first);
	nothing_was_refused(rig);
}

static void all_is_as_it_was_at_the_end(void **state)
{
	struct pods_rig *rig = rig_of(state);
	char before[4][256];
	static const char *const groups[] = {"podu-r/main", "burstable/podu-l",
					     "besteffort", "besteffort/podu-x/main"};

	assert_int_equal(neap_node_pins_begin(rig->node, 0, NULL, NULL, NULL), 0);
	pin_all(rig, NULL, NULL);
	add_all(rig);
	tick(rig);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(groups); i++)
		(void)snprintf(before[i], sizeof(before[i]), "%s",
			       rig_read(rig->hand, pods_path(rig, groups[i]),
					NEAP_KEY_CPUSET_CPUS));
	pin_all(rig, &second, &first);
	is_on(rig, "podu-r/main", &second);
	is_on(rig, "besteffort/podu-x/main", &first);
	is_on(rig, "besteffort/podu-e/main", &not_first);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(pods); i++)
		neap_node_unpin(rig->node, pods[i].uid);
	are_on(rig, &all, &all, &all, &all);
	tick(rig);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(groups); i++)
		assert_string_equal(rig_read(rig->hand, pods_path(rig, groups[i]),
					     NEAP_KEY_CPUSET_CPUS),
				    before[i]);
	nothing_was_refused(rig);
}

static void a_pod_with_its_own_cpus_has_no_quota(void **state)
{
	struct pods_rig *rig = rig_of(state);

	assert_int_equal(neap_node_pins_begin(rig->node, 0, NULL, NULL, NULL), 0);
	pin_all(rig, NULL, NULL);
	add_all(rig);
	assert_true(pods_has(rig, "podu-r/main", NEAP_KEY_CPU_MAX_MILLI, 500, NULL));
	pin_all(rig, &second, NULL);
	is_on(rig, "podu-r/main", &second);
	tick(rig);
	assert_true(pods_has(rig, "podu-r/main", NEAP_KEY_CPU_MAX_MILLI, -1, NULL));
	assert_true(pods_has(rig, "podu-r", NEAP_KEY_CPU_MAX_MILLI, -1, NULL));
	pin_all(rig, NULL, NULL);
	is_on(rig, "podu-r/main", &all);
	tick(rig);
	assert_true(pods_has(rig, "podu-r/main", NEAP_KEY_CPU_MAX_MILLI, 500, NULL));
}

static void another_neapd_holds_the_same(void **state)
{
	struct pods_rig *rig = rig_of(state);

	assert_int_equal(neap_node_pins_begin(rig->node, 0, NULL, NULL, NULL), 0);
	pin_all(rig, &second, &first);
	add_all(rig);
	is_on(rig, "podu-r/main", &second);
	is_on(rig, "besteffort/podu-e/main", &not_first);
	pods_rig_restart(rig);
	assert_int_equal(neap_node_pins_begin(rig->node, 0, NULL, NULL, NULL), 0);
	pin_all(rig, &second, &first);
	pods_rig_open(rig);
	for (int i = 0; i < 15; i++) { /* until nothing is held that nobody asked for */
		struct neap_cpuset is;

		tick(rig);
		in_force(rig, "podu-r/main", &is);
		assert_true(neap_cpuset_is_equal(&is, &second));
		in_force(rig, "besteffort/podu-e/main", &is);
		assert_true(neap_cpuset_is_equal(&is, &not_first));
	}
}

/* --- what is told --- */

struct told {
	int calls;
	struct neap_cpuset missing;
	bool is_all;
};

static void take_told(void *arg, const char *uid, const struct neap_cpuset *missing,
		      bool is_all)
{
	struct told *told = arg;

	assert_string_equal(uid, "u-r");
	told->calls++;
	neap_cpuset_copy(&told->missing, missing);
	told->is_all = is_all;
}

static void cpus_that_are_missing_are_told_once(void **state)
{
	struct pods_rig *rig = rig_of(state);
	struct neap_cpuset gone = {0}, both;
	struct told told = {0};

	(void)neap_cpuset_add(&gone, NEAP_CPU_MAX - 1);
	neap_cpuset_or(&both, &gone, &second);
	assert_int_equal(neap_node_pins_begin(rig->node, 0, take_told, &told, NULL), 0);
	pin_all(rig, &both, NULL);
	add_all(rig);
	is_on(rig, "podu-r/main", &second);
	tick(rig);
	assert_int_equal(told.calls, 1);
	assert_true(neap_cpuset_is_equal(&told.missing, &gone));
	assert_false(told.is_all);

	pin_all(rig, &second, NULL);
	tick(rig);
	assert_int_equal(told.calls, 2);
	assert_true(neap_cpuset_is_empty(&told.missing));

	pin_all(rig, &gone, NULL);
	is_on(rig, "podu-r/main", &all);
	assert_int_equal(told.calls, 3);
	assert_true(told.is_all);
	neap_node_pins_end(rig->node);
	pin_all(rig, &second, NULL);
	is_on(rig, "podu-r/main", &second);
	assert_int_equal(told.calls, 3);
	nothing_was_refused(rig);
}

static int refused(struct pods_rig *rig, const char *uid, const struct neap_cpuset *cpus,
		   struct neap_error *err)
{
	const struct neap_node_pin_of pod = {uid, "default", uid};
	struct neap_cpu_said said = {.qos = NEAP_QOS_LSE,
				     .kube_qos = NEAP_KUBE_BESTEFFORT};

	neap_cpuset_copy(&said.cpus, cpus);
	return neap_node_pin(rig->node, &pod, &said, err);
}

static void a_cpu_is_of_one_pod(void **state)
{
	struct pods_rig *rig = rig_of(state);
	struct neap_error err = {0};

	assert_int_equal(neap_node_pins_begin(rig->node, 0, NULL, NULL, NULL), 0);
	pin_all(rig, &second, NULL);
	add_all(rig);
	is_on(rig, "podu-r/main", &second);
	assert_int_equal(refused(rig, "u-x", &second, &err), -NEAP_ECONFLICT);
	assert_non_null(strstr(err.msg, " belongs to pod default/u-r"));
	is_on(rig, "podu-r/main", &second);
	is_on(rig, "besteffort/podu-x/main", &all);
	neap_node_unpin(rig->node, "u-r");
	assert_int_equal(refused(rig, "u-x", &second, &err), 0);
	is_on(rig, "besteffort/podu-x/main", &second);
	nothing_was_refused(rig);
}

static void a_cpu_is_of_as_many_as_may_share_it(void **state)
{
	struct pods_rig *rig = rig_of(state);
	struct neap_error err = {0};

	assert_int_equal(neap_node_pins_begin(rig->node, 2, NULL, NULL, NULL), 0);
	assert_int_equal(refused(rig, "u-r", &second, &err), 0);
	assert_int_equal(refused(rig, "u-x", &all, &err), 0);
	assert_int_equal(refused(rig, "u-l", &second, &err), -NEAP_ECONFLICT);
	neap_node_unpin(rig->node, "u-x");
	assert_int_equal(refused(rig, "u-l", &second, &err), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(policies_count_within_what_was_given_out),
		TEST(all_is_as_it_was_at_the_end),
		TEST(a_pod_with_its_own_cpus_has_no_quota),
		TEST(another_neapd_holds_the_same),
		TEST(cpus_that_are_missing_are_told_once),
		TEST(a_cpu_is_of_one_pod),
		TEST(a_cpu_is_of_as_many_as_may_share_it),
	};

	patience_with_scripts();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
