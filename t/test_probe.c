/* SPDX-License-Identifier: Apache-2.0
 *
 * Probes: thresholds, what becomes of commands, and when they are asked. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/probe_rig.h"

static void hear(enum neap_keeper_what what, int exit_code, bool is_timeout,
		 const char *text)
{
	struct neap_keeper_event event = {.id = probe_world.id,
					  .what = what,
					  .exit_code = exit_code,
					  .is_timeout = is_timeout,
					  .text = text,
					  .fd = -1};

	if (what == NEAP_KEEPER_WAITING) {
		event.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_true(event.fd >= 0);
	}
	if (probe_world.probe)
		neap_probe_hear(probe_world.probe, &event);
	/* It was taken over. */
	assert_true(event.fd < 0 || fcntl(event.fd, F_GETFD) < 0);
}

static void command_waits(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	hear(NEAP_KEEPER_WAITING, 0, false, "");
}

/* What becomes of the attempts: s ends with 0, f with 1, t for its time, x cannot be
 * started, l is lost, m cannot be moved, g cannot go, w waits for its move, r runs
 * without an end, k there is no keeper. */
static char attempt_now(void)
{
	return probe_world.script[probe_world.attempts - 1];
}

static int run_order(struct neap_keeper *keeper, uint64_t id,
		     const struct neap_keeper_order *order, struct neap_error *err)
{
	static const struct timeval soon = {0};

	assert_ptr_equal(keeper, &probe_world);
	assert_int_equal(id, probe_world.id);
	assert_string_equal(order->pod_uid, "uid");
	assert_string_equal(order->container, "main");
	assert_string_equal(order->envp[0], "A=b");
	assert_true(order->probe_usec > 0);
	assert_null(order->cwd);
	(void)snprintf(probe_world.argv, sizeof(probe_world.argv), "%s %s",
		       order->argv[0], order->argv[1]);
	probe_rig_call("run");
	if (probe_world.attempts == strlen(probe_world.script))
		return 0; /* the script is over: nothing comes any more */
	probe_world.attempts++;
	if (attempt_now() == 'k')
		return neap_error_set(err, NEAP_EUNAVAILABLE, "the keeper is gone");
	assert_int_equal(event_base_once(probe_world.base, -1, EV_TIMEOUT, command_waits,
					 NULL, &soon),
			 0);
	return 0;
}

static void command_ends(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	hear(NEAP_KEEPER_STARTED, 0, false, "");
	switch (attempt_now()) {
	case 's':
		hear(NEAP_KEEPER_ENDED, 0, false, "fine");
		break;
	case 'f':
		hear(NEAP_KEEPER_ENDED, 1, false, "bad \xff \xc3\xa4 \xc3");
		break;
	case 't':
		hear(NEAP_KEEPER_ENDED, 137, true, "half");
		break;
	case 'x':
		hear(NEAP_KEEPER_FAILED, 0, false, "no such file: sh");
		break;
	case 'l':
		hear(NEAP_KEEPER_LOST, 0, false, "");
		break;
	default:
		break;
	}
}

static int go_order(struct neap_keeper *keeper, uint64_t id, struct neap_error *err)
{
	static const struct timeval soon = {0};

	(void)keeper;
	assert_int_equal(id, probe_world.id);
	probe_rig_call("go");
	if (attempt_now() == 'g')
		return neap_error_set(err, NEAP_EUNAVAILABLE, "cannot go");
	assert_int_equal(event_base_once(probe_world.base, -1, EV_TIMEOUT, command_ends,
					 NULL, &soon),
			 0);
	return 0;
}

static int kill_order(struct neap_keeper *keeper, uint64_t id, int signo,
		      struct neap_error *err)
{
	(void)keeper;
	(void)err;
	assert_int_equal(id, probe_world.id);
	assert_int_equal(signo, SIGKILL);
	probe_rig_call("kill");
	return 0;
}

static void forget_order(struct neap_keeper *keeper, uint64_t id)
{
	(void)keeper;
	assert_int_equal(id, probe_world.id);
	probe_rig_call("forget");
}

static void move_order(struct neap_node *node, const char *uid, const char *container,
		       int peer_fd, neap_node_pod_done *done, void *arg)
{
	struct neap_error err;

	assert_ptr_equal(node, &probe_world);
	assert_string_equal(uid, "uid");
	assert_string_equal(container, "main");
	assert_true(fcntl(peer_fd, F_GETFD) >= 0);
	probe_rig_call("move");
	if (attempt_now() == 'm') {
		(void)neap_error_set(&err, NEAP_EUNAVAILABLE, "no group");
		done(arg, &err);
	} else if (attempt_now() == 'w') {
		probe_world.moved = done;
		probe_world.moved_arg = arg;
	} else {
		done(arg, NULL);
	}
}

static const struct probe_orders orders = {run_order, go_order, kill_order, forget_order,
					   move_order};

#define COMMAND "'exec':{'command':['sh','x']},'periodSeconds':1"

static const struct {
	const char *name;
	enum neap_probe_kind kind;
	int success, failure;
	const char *script, *told;
	bool is_over;
} thresholds[] = {
	{"ready at once", NEAP_PROBE_READINESS, 1, 3, "s", "S", false},
	{"ready is told of once", NEAP_PROBE_READINESS, 1, 3, "sss", "S", false},
	{"ready after two", NEAP_PROBE_READINESS, 2, 3, "sfssff", "FSSS", false},
	{"unready after three", NEAP_PROBE_READINESS, 1, 3, "sffsffff", "SSSSSFF", false},
	{"ready again", NEAP_PROBE_READINESS, 1, 1, "sfs", "SFS", false},
	{"what cannot be asked does not count", NEAP_PROBE_READINESS, 1, 2, "sfxkf",
	 "SSSSF", false},
	{"alive", NEAP_PROBE_LIVENESS, 1, 3, "ssss", "", false},
	{"alive no more", NEAP_PROBE_LIVENESS, 1, 2, "sfsff", "SSF", true},
	{"dead at once", NEAP_PROBE_LIVENESS, 1, 1, "t", "F", true},
	{"up", NEAP_PROBE_STARTUP, 1, 3, "ffs", "UUS", true},
	{"not up", NEAP_PROBE_STARTUP, 1, 3, "fff", "UUF", true},
};

/* How often it was asked; what asks on after the script waits for ever. */
static size_t runs(void)
{
	size_t count = 0;

	for (const char *at = probe_world.calls; (at = strstr(at, "run")); at += 3)
		count++;
	return count;
}

static void each_threshold(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(thresholds); i++) {
		char spec[256];

		probe_rig_init(&orders, thresholds[i].script);
		(void)snprintf(spec, sizeof(spec),
			       "{" COMMAND ",'timeoutSeconds':2000,"
			       "'successThreshold':%d,'failureThreshold':%d}",
			       thresholds[i].success, thresholds[i].failure);
		probe_rig_begin(thresholds[i].kind, probe_rig_json(spec));
		assert_int_equal(neap_probe_kind_get(probe_world.probe),
				 thresholds[i].kind);
		UNTIL(runs() > strlen(thresholds[i].script) ||
		      (thresholds[i].is_over &&
		       probe_world.count >= strlen(thresholds[i].told)));
		probe_rig_run(25);
		if (strcmp(probe_world.told, thresholds[i].told) != 0)
			fail_msg("%s: %s", thresholds[i].name, probe_world.told);
		if (thresholds[i].is_over != (runs() == strlen(thresholds[i].script)))
			fail_msg("%s: asked %zu times", thresholds[i].name, runs());
		probe_rig_done();
	}
}

static const struct {
	const char *name, *script, *calls, *text;
} ways[] = {
	{"well", "s", "run move go drop", ""},
	{"bad", "f", "run move go drop", "Readiness probe failed: bad ? \xc3\xa4 ?"},
	{"slow", "t", "run move go drop",
	 "Readiness probe failed: command \"sh x\" timed out"},
	{"cannot be started", "x", "run move go drop",
	 "Readiness probe errored: no such file: sh"},
	{"lost", "l", "run move go drop",
	 "Readiness probe errored: it is not known how the command ended"},
	{"cannot be moved", "m", "run move kill forget drop",
	 "Readiness probe errored: no group"},
	{"cannot go", "g", "run move go kill forget drop",
	 "Readiness probe errored: cannot go"},
	{"no keeper", "k", "run drop", "Readiness probe errored: the keeper is gone"},
};

/* And the same with a probe that is freed while it tells. */
static void each_way(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * NEAP_ARRAY_LEN(ways); i++) {
		size_t row = i / 2;

		probe_rig_init(&orders, ways[row].script);
		probe_world.frees = i % 2;
		probe_rig_begin(
			NEAP_PROBE_READINESS,
			probe_rig_json(
				"{'exec':{'command':['sh','x']},'periodSeconds':1000000,"
				"'timeoutSeconds':2000}"));
		UNTIL(probe_world.count == 1);
		if (strcmp(probe_world.calls, ways[row].calls) != 0 ||
		    strcmp(probe_world.text, ways[row].text) != 0)
			fail_msg("%s: '%s' '%s'", ways[row].name, probe_world.calls,
				 probe_world.text);
		assert_string_equal(probe_world.argv, "sh x");
		probe_rig_done();
	}
}

/* It goes while a command is moved, or runs; what comes later is nobody's. */
static void freed_meanwhile(void **state)
{
	static const struct {
		const char *script, *calls;
	} cases[] = {
		{"w", "run move kill forget drop"},
		{"r", "run move go kill forget drop"},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(cases); i++) {
		probe_rig_init(&orders, cases[i].script);
		probe_rig_begin(NEAP_PROBE_LIVENESS,
				probe_rig_json("{" COMMAND ",'timeoutSeconds':2000}"));
		UNTIL(probe_world.moved || strstr(probe_world.calls, "go"));
		neap_probe_free(probe_world.probe);
		probe_world.probe = NULL;
		if (probe_world.moved)
			probe_world.moved(probe_world.moved_arg, NULL);
		probe_rig_run(5);
		assert_string_equal(probe_world.calls, cases[i].calls);
		assert_int_equal(probe_world.count, 0);
		probe_rig_done();
	}
}

/* An event of another attempt changes nothing, and leaves nothing open. */
static void foreign_events(void **state)
{
	struct neap_keeper_event event = {
		.id = 77, .what = NEAP_KEEPER_WAITING, .text = ""};

	(void)state;
	probe_rig_init(&orders, "r");
	probe_rig_begin(NEAP_PROBE_LIVENESS,
			probe_rig_json("{" COMMAND ",'timeoutSeconds':2000}"));
	UNTIL(strstr(probe_world.calls, "go"));
	event.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	neap_probe_hear(probe_world.probe, &event);
	assert_true(fcntl(event.fd, F_GETFD) < 0);
	event.fd = -1;
	event.what = NEAP_KEEPER_ENDED;
	neap_probe_hear(probe_world.probe, &event);
	assert_int_equal(probe_world.count, 0);
	probe_rig_done();
}

/* Nothing is asked before its time; what has passed before a restart counts. */
static void delay(void **state)
{
	(void)state;
	probe_rig_init(&orders, "s");
	probe_rig_begin(NEAP_PROBE_READINESS,
			probe_rig_json("{" COMMAND ",'initialDelaySeconds':100000}"));
	probe_rig_run(30);
	assert_string_equal(probe_world.calls, "");
	probe_rig_done();
	probe_rig_init(&orders, "s");
	probe_rig_begin(NEAP_PROBE_READINESS,
			probe_rig_json("{" COMMAND ",'initialDelaySeconds':3}"));
	UNTIL(probe_world.count == 1);
	probe_rig_done();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_threshold),  cmocka_unit_test(each_way),
		cmocka_unit_test(freed_meanwhile), cmocka_unit_test(foreign_events),
		cmocka_unit_test(delay),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
