/* SPDX-License-Identifier: Apache-2.0
 *
 * `triggers` of a policy: what is read and refused; and the set that is kept open: who is
 * asked for, what an answer, an event, a vanished group do. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/run/triggers.h"
#include "engine/base/mem.h"
#include "t/lib/hand_rig.h"

#define POLICY(triggers)                                                                 \
	"return { api = 1, kind = \"qos\", name = \"x\",\n triggers = " triggers         \
	",\n needs = { \"trigger?\" },\n tick = function(ctx, node) ctx.memo.t = "       \
	"node.trigger return {} end,\n examples = { { name = \"a\", node = { trigger = " \
	"\"s\" }, want = {} } } }"
#define ONE "name = \"s\", pressure = \"cpu\", of = \"critical\", stall_usec = 20000"

/* clang-format off */
static const struct {
	/* want: NULL when it loads, else a part of the error */
	const char *name, *text, *want;
	size_t count;
} loads[] = {
	{"one", POLICY("{ { " ONE " } }"), NULL, 1},
	{"two", POLICY("{ { " ONE " }, { name = \"io\", pressure = \"io\", of = \"node\", stall_usec = 1, window_usec = 10000000, full = true } }"), NULL, 2},
	{"none", POLICY("nil"), NULL, 0},
	{"whole float", POLICY("{ { name = \"s\", pressure = \"memory\", of = \"besteffort\", stall_usec = 1e5, window_usec = 5e5 } }"), NULL, 1},
	{"empty", POLICY("{}"), "p.lua:2: field 'triggers': a list of 1 to 8", 0},
	{"no list", POLICY("5"), "field 'triggers': a list", 0},
	{"nine", POLICY("{ {}, {}, {}, {}, {}, {}, {}, {}, {} }"), "a list of 1 to 8", 0},
	{"no table", POLICY("{ 5 }"), "field 'triggers[1]': a table", 0},
	{"misspelt", POLICY("{ { " ONE ", widow_usec = 1 } }"), "there is no 'widow_usec' in a trigger; known: name", 0},
	{"no name", POLICY("{ { pressure = \"cpu\" } }"), "field 'triggers[1].name'", 0},
	{"bad name", POLICY("{ { name = \"A b\" } }"), "field 'triggers[1].name'", 0},
	{"twice", POLICY("{ { " ONE " }, { " ONE " } }"), "field 'triggers[2].name': another trigger", 0},
	{"pressure", POLICY("{ { name = \"s\", pressure = \"irq\" } }"), "triggers[1].pressure': \"cpu\", \"memory\" or \"io\"", 0},
	{"of", POLICY("{ { name = \"s\", pressure = \"cpu\", of = \"pods\" } }"), "triggers[1].of': \"node\"", 0},
	{"no stall", POLICY("{ { name = \"s\", pressure = \"cpu\", of = \"node\" } }"), "triggers[1].stall_usec'", 0},
	{"stall 0", POLICY("{ { name = \"s\", pressure = \"cpu\", of = \"node\", stall_usec = 0 } }"), "triggers[1].stall_usec'", 0},
	{"stall over the window", POLICY("{ { name = \"s\", pressure = \"cpu\", of = \"node\", stall_usec = 500001 } }"), "at most the window", 0},
	{"fraction", POLICY("{ { name = \"s\", pressure = \"cpu\", of = \"node\", stall_usec = 1.5 } }"), "triggers[1].stall_usec'", 0},
	{"text", POLICY("{ { name = \"s\", pressure = \"cpu\", of = \"node\", stall_usec = \"9\" } }"), "triggers[1].stall_usec'", 0},
	{"short window", POLICY("{ { " ONE ", window_usec = 499999 } }"), "triggers[1].window_usec': whole microseconds of 500000 to 10000000", 0},
	{"long window", POLICY("{ { " ONE ", window_usec = 10000001 } }"), "triggers[1].window_usec'", 0},
	{"full", POLICY("{ { " ONE ", full = 1 } }"), "triggers[1].full'", 0},
	{"hidden", POLICY("{ setmetatable({}, { __index = function() while true do end end }) }"), "triggers[1].name'", 0},
};
/* clang-format on */

static void test_load(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(loads); i++) {
		struct neap_policy *policy = NULL;
		struct neap_policy_info info;
		struct neap_error err = {0};
		int rc = neap_policy_load(loads[i].text, strlen(loads[i].text), "p.lua",
					  &policy, &err);

		if ((rc == 0) != !loads[i].want)
			fail_msg("%s: %d, %s", loads[i].name, rc, err.msg);
		if (rc < 0 && !strstr(err.msg, loads[i].want))
			fail_msg("%s: \"%s\"", loads[i].name, err.msg);
		if (rc < 0)
			continue;
		neap_policy_get_info(policy, &info);
		if (info.trigger_count != loads[i].count)
			fail_msg("%s: another number", loads[i].name);
		if (neap_policy_run_examples(policy, NULL, NULL, &err) != 0)
			fail_msg("%s: %s", loads[i].name, err.msg);
		if (loads[i].count == 2) {
			assert_string_equal(info.triggers[0].of, "critical");
			assert_int_equal(info.triggers[0].window_usec, 500000);
			assert_false(info.triggers[0].is_full);
			assert_string_equal(info.triggers[1].pressure, "io");
			assert_int_equal(info.triggers[1].stall_usec, 1);
			assert_true(info.triggers[1].is_full);
		}
		neap_policy_free(policy);
	}
}

/* --- the set --- */

#define WATCHES_MAX 512

static struct fake {
	struct neap_triggers *set;
	struct {
		int fd;
		void (*ready)(void *arg);
		void *arg;
		bool is_used;
	} watches[WATCHES_MAX];
	int watched, asked, fired;
	uint64_t ids[WATCHES_MAX];
	char groups[WATCHES_MAX][64], value[64];
	bool refuses;
} fake;

static void *watch(void *arg, int fd, void (*ready)(void *ready_arg), void *ready_arg)
{
	struct fake *f = arg;
	int i = 0;

	while (i < WATCHES_MAX - 1 && f->watches[i].is_used)
		i++;
	assert_false(f->watches[i].is_used);
	f->watches[i].fd = fd;
	f->watches[i].ready = ready;
	f->watches[i].arg = ready_arg;
	f->watches[i].is_used = true;
	f->watched++;
	return &f->watches[i];
}

static void unwatch(void *arg, void *handle)
{
	struct fake *f = arg;

	for (int i = 0; i < WATCHES_MAX; i++)
		if (handle == &f->watches[i])
			f->watches[i].is_used = false;
	f->watched--;
}

static int open_fake(void *arg, uint64_t id, const char *group, const char *value,
		     struct neap_error *err)
{
	struct fake *f = arg;

	if (f->refuses)
		return neap_error_set(err, NEAP_EUNAVAILABLE, "it only watches");
	assert_true(f->asked < WATCHES_MAX);
	f->ids[f->asked] = id;
	(void)neap_strcopy(f->groups[f->asked], sizeof(f->groups[0]), group);
	(void)neap_strcopy(f->value, sizeof(f->value), value);
	f->asked++;
	return 0;
}

static void fired_fake(void *arg)
{
	((struct fake *)arg)->fired++;
}

static int set_up(void **state)
{
	const struct neap_triggers_config config = {
		.loop = {&fake, watch, unwatch, NULL},
		.open = open_fake,
		.fired = fired_fake,
		.arg = &fake,
	};

	(void)state;
	memset(&fake, 0, sizeof(fake));
	fake.set = neap_triggers_new(&config);
	return fake.set ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	neap_triggers_free(fake.set);
	return fake.watched;
}

static const struct neap_policy_trigger stall = {.name = "stall",
						 .pressure = "cpu",
						 .of = "critical",
						 .stall_usec = 20000,
						 .window_usec = 500000};
static const struct neap_policy_trigger full = {.name = "full",
						.pressure = "memory",
						.of = "node",
						.is_full = true,
						.stall_usec = 5,
						.window_usec = 1000000};

/* One round of a policy p with both triggers; groups by one letter each. */
static void round_of(const char *policy, const char *groups)
{
	neap_triggers_begin(fake.set);
	if (policy) {
		neap_triggers_want(fake.set, policy, &stall, NULL);
		for (const char *g = groups; *g; g++) {
			const char group[] = {*g, '\0'};

			neap_triggers_want(fake.set, policy, &stall, group);
		}
		neap_triggers_want(fake.set, policy, &full, "");
	}
	neap_triggers_end(fake.set);
}

/* The hand answers question i with a descriptor that is never ready for EPOLLPRI. */
static void answer(int i, const char *text)
{
	int fd = eventfd(0, EFD_CLOEXEC);

	assert_true(fd >= 0);
	neap_triggers_opened(fake.set, fake.ids[i], fd, 0, text);
}

static json_t *report_row(const char *policy, size_t index)
{
	static json_t *kept;

	json_decref(kept);
	kept = neap_triggers_report(fake.set, policy);
	return json_array_get(kept, index);
}

static const char *state_of(const char *policy, size_t index)
{
	return json_string_value(json_object_get(report_row(policy, index), "state"));
}

static void test_in_step(void **state)
{
	(void)state;
	round_of("p@1", "");
	assert_int_equal(fake.asked, 1);
	assert_string_equal(fake.groups[0], "");
	assert_string_equal(fake.value, "memory full 5 1000000");
	assert_string_equal(state_of("p@1", 0), "no group");
	assert_string_equal(state_of("p@1", 1), "opening");
	answer(0, "");
	assert_string_equal(state_of("p@1", 1), "armed");

	round_of("p@1", "abc");
	assert_int_equal(fake.asked, 4);
	assert_string_equal(fake.groups[3], "c");
	assert_string_equal(fake.value, "cpu some 20000 500000");
	for (int i = 1; i < 4; i++)
		answer(i, i == 2 ? "coarse: why" : "");
	assert_int_equal(fake.watched, 4);
	assert_string_equal(state_of("p@1", 0), "coarse: why");

	/* Nothing changed: nothing is asked; in another order neither. */
	round_of("p@1", "abc");
	round_of("p@1", "cab");
	assert_int_equal(fake.asked, 4);
	/* One went, another came. */
	round_of("p@1", "acd");
	assert_int_equal(fake.asked, 5);
	assert_int_equal(fake.watched, 3);
	assert_string_equal(fake.groups[4], "d");
	/* Gone before the answer came: its descriptor is closed, nothing else happens. */
	round_of("p@1", "ac");
	answer(4, "");
	assert_int_equal(fake.watched, 3);
	/* Another version starts anew, and so does the report. */
	round_of("p@2", "ac");
	assert_int_equal(fake.asked, 8);
	assert_int_equal(fake.watched, 0);
	assert_null(report_row("p@1", 0));
	round_of(NULL, "");
	assert_null(report_row("p@2", 0));
}

static void test_refused(void **state)
{
	(void)state;
	round_of("p", "a");
	neap_triggers_opened(fake.set, fake.ids[0], -1, EOPNOTSUPP,
			     "cpu.pressure of a: not on this kernel");
	neap_triggers_opened(fake.set, fake.ids[1], -1, ENOENT, "");
	assert_string_equal(state_of("p", 0), "cpu.pressure of a: not on this kernel");
	assert_string_equal(state_of("p", 1), strerror(ENOENT));
	/* Asked again after a while, not in each round. */
	for (int i = 0; i < 59; i++)
		round_of("p", "a");
	assert_int_equal(fake.asked, 2);
	round_of("p", "a");
	assert_int_equal(fake.asked, 4);
	/* An answer to the first question is none to the second. */
	answer(0, "");
	assert_int_equal(fake.watched, 0);
	fake.refuses = true;
	neap_triggers_opened(fake.set, fake.ids[2], -1, EMFILE, "");
	assert_string_equal(state_of("p", 0), strerror(EMFILE));
	round_of("q", "a");
	assert_string_equal(state_of("q", 0), "it only watches");
}

static void fire(int i)
{
	assert_true(fake.watches[i].is_used);
	fake.watches[i].ready(fake.watches[i].arg);
}

static void test_fires(void **state)
{
	int64_t usec = 0;

	(void)state;
	round_of("p", "ab");
	for (int i = 0; i < 3; i++)
		answer(i, "");
	assert_false(neap_triggers_has_fired(fake.set));
	assert_null(neap_triggers_fired(fake.set, "p", &usec));
	/* Two groups of one trigger, and another trigger. */
	fire(0);
	fire(1);
	assert_int_equal(fake.fired, 1);
	fire(2);
	assert_int_equal(fake.fired, 2);
	assert_true(neap_triggers_has_fired(fake.set));
	assert_null(neap_triggers_fired(fake.set, "q", &usec));
	assert_string_equal(neap_triggers_fired(fake.set, "p", &usec), "stall");
	assert_true(usec > 0);
	assert_string_equal(neap_triggers_fired(fake.set, "p", &usec), "full");
	assert_null(neap_triggers_fired(fake.set, "p", &usec));
	/* Just told: the same event. A while later it is another. */
	fire(1);
	assert_false(neap_triggers_has_fired(fake.set));
	rig_sleep_ms(NEAP_TRIGGER_SAME_USEC / 1000 + 1);
	fire(1);
	assert_true(neap_triggers_has_fired(fake.set));
	assert_int_equal(json_integer_value(json_object_get(report_row("p", 0), "fired")),
			 4);
	assert_int_equal(json_integer_value(json_object_get(report_row("p", 1), "fired")),
			 1);
	/* Fired, and gone before anybody asked. */
	round_of(NULL, "");
	assert_false(neap_triggers_has_fired(fake.set));
}

/* The end of a group is an error on the descriptor: it is let go and asked for again
 * later. */
static void test_group_goes(void **state)
{
	int pair[2];

	(void)state;
	round_of("p", "a");
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	neap_triggers_opened(fake.set, fake.ids[0], pair[0], 0, "");
	assert_int_equal(fake.watched, 1);
	close(pair[1]); /* EPOLLHUP */
	fire(0);
	assert_int_equal(fake.watched, 0);
	assert_int_equal(fake.fired, 0);
	assert_string_equal(state_of("p", 0), "the group is gone");
}

static void test_bounds(void **state)
{
	char group[16], name[16];
	json_t *row;

	(void)state;
	neap_triggers_begin(fake.set);
	for (int p = 0; p < 6; p++) {
		snprintf(name, sizeof(name), "p%d", p);
		for (int i = 0; i < 70; i++) {
			snprintf(group, sizeof(group), "g%d", i);
			neap_triggers_want(fake.set, name, &stall, group);
		}
	}
	neap_triggers_end(fake.set);
	assert_int_equal(fake.asked, NEAP_TRIGGERS_OPEN_MAX);
	row = report_row("p0", 0);
	assert_int_equal(json_integer_value(json_object_get(row, "groups")),
			 NEAP_TRIGGER_GROUPS_MAX);
	assert_int_equal(json_integer_value(json_object_get(row, "left_out")), 6);
	row = report_row("p5", 0);
	assert_int_equal(json_integer_value(json_object_get(row, "left_out")), 70);
	assert_string_equal(state_of("p5", 0), "no group");
	(void)report_row("none", 0);
	/* The same ones again, in another order: whoever has an arm keeps it, the others
	 * are left out. */
	neap_triggers_begin(fake.set);
	for (int i = 69; i >= 0; i--) {
		snprintf(group, sizeof(group), "g%d", i);
		neap_triggers_want(fake.set, "p0", &stall, group);
	}
	neap_triggers_end(fake.set);
	row = report_row("p0", 0);
	assert_int_equal(json_integer_value(json_object_get(row, "groups")),
			 NEAP_TRIGGER_GROUPS_MAX);
	assert_int_equal(json_integer_value(json_object_get(row, "left_out")), 6);
	assert_int_equal(fake.asked, NEAP_TRIGGERS_OPEN_MAX);
}

/* Every allocation fails once; nothing is lost for good. */
static void test_no_memory(void **state)
{
	(void)state;
	for (uint64_t n = 1; n < 12; n++) {
		int before = fake.asked;

		neap_mem_fail_at(n);
		round_of("p", "ab");
		neap_mem_fail_at(0);
		round_of("p", "ab");
		assert_int_equal(fake.asked - before, 3);
		round_of(NULL, "");
	}
	(void)report_row("none", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_load),
		cmocka_unit_test_setup_teardown(test_in_step, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_fires, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_group_goes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bounds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_memory, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("triggers", tests, NULL, NULL);
}
