/* SPDX-License-Identifier: Apache-2.0
 *
 * What controllers are made of: which keys are looked at, when, and how often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <event2/event.h>

#include "api/kube/kube.h"
#include "api/kube/serve/client_local.h"
#include "api/workload/loop/feed.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "t/lib/store_rig.h"

#define LOOKS     4096
#define LIMIT_US  (30 * 1000000LL)
#define QUIET_US  60000
#define SECOND_US 1000000LL

struct feed_rig {
	struct store_rig store;
	struct event_base *base;
	struct event *heard;
	struct neap_kube *kube; /* without kinds: only read through */
	struct neap_client *client;
	struct neap_feed *feed;
	/* What was looked at. */
	char looks[LOOKS][48];
	int64_t times[LOOKS];
	int count;
	int to_fail;   /* so many looks */
	int64_t again; /* what a look that does not fail says, once */
	int told;      /* objects, since it began anew; -1: nothing is kept */
	int begun;     /* how often it did */
};

static int64_t now(void)
{
	return neap_clock_usec(CLOCK_MONOTONIC);
}

static void hear(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	neap_store_hear(arg);
}

static void heard(void *arg, const char *resource, const struct neap_client_event *event)
{
	struct feed_rig *rig = arg;

	assert_string_equal(resource, "pods");
	rig->told += rig->begun > 0 && event->what == NEAP_CLIENT_ADDED;
	neap_feed_due(rig->feed, event->object->ns, event->object->name, 0);
}

static int64_t look(void *arg, const char *ns, const char *name)
{
	struct feed_rig *rig = arg;
	int64_t again = rig->again;

	assert_true(rig->count < LOOKS);
	(void)snprintf(rig->looks[rig->count], sizeof(rig->looks[0]), "%s/%s", ns, name);
	rig->times[rig->count++] = now();
	if (rig->to_fail > 0) {
		rig->to_fail--;
		return -1;
	}
	rig->again = 0;
	return again;
}

/* Objects of test_anew: more than are told in one turn. */
#define ALL 1200

static int64_t look_when_told(void *arg, const char *ns, const char *name)
{
	struct feed_rig *rig = arg;

	assert_int_equal(rig->told, ALL);
	return look(arg, ns, name);
}

static int setup(void **state)
{
	struct feed_rig *rig = neap_alloc(sizeof(*rig));

	assert_non_null(rig);
	store_rig_init(&rig->store);
	rig->store.config.history_bytes = 4096;
	store_rig_open(&rig->store);
	rig->base = event_base_new();
	assert_non_null(rig->base);
	assert_int_equal(
		neap_kube_new(&(struct neap_kube_config){.base = rig->base,
							 .store = rig->store.store},
			      &rig->kube, NULL),
		0);
	rig->client = neap_kube_client(rig->kube);
	rig->heard = event_new(rig->base, neap_store_fd(rig->store.store),
			       EV_READ | EV_PERSIST, hear, rig->store.store);
	assert_non_null(rig->heard);
	assert_int_equal(event_add(rig->heard, NULL), 0);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct feed_rig *rig = *state;

	neap_feed_free(rig->feed);
	event_free(rig->heard);
	neap_kube_free(rig->kube);
	store_rig_done(&rig->store);
	event_base_free(rig->base);
	free(rig);
	return 0;
}

static void start(struct feed_rig *rig)
{
	const struct neap_feed_config config = {.tasks = neap_kube_tasks(rig->kube),
						.client = rig->client,
						.arg = rig,
						.resources = {"pods"},
						.heard = heard,
						.look = look};
	struct neap_error err = {0};

	assert_int_equal(neap_feed_new(&config, &rig->feed, &err), 0);
}

static void turn(struct feed_rig *rig)
{
	struct timeval soon = {.tv_usec = 2000};

	assert_int_equal(event_base_loopexit(rig->base, &soon), 0);
	assert_int_equal(event_base_loop(rig->base, 0), 0);
}

static void until(struct feed_rig *rig, int count)
{
	int64_t end = now() + LIMIT_US;

	while (rig->count < count && now() < end)
		turn(rig);
	assert_true(rig->count >= count);
}

/* So many looks, and no more. */
static void until_just(struct feed_rig *rig, int count)
{
	int64_t end;

	until(rig, count);
	for (end = now() + QUIET_US; now() < end;)
		turn(rig);
	assert_int_equal(rig->count, count);
}

static int looks_at(const struct feed_rig *rig, const char *key)
{
	int n = 0;

	for (int i = 0; i < rig->count; i++)
		n += strcmp(rig->looks[i], key) == 0;
	return n;
}

static void test_start_and_changes(void **state)
{
	struct feed_rig *rig = *state;

	store_rig_put(&rig->store, NEAP_STORE_CREATE, "a", "x", 1);
	store_rig_put(&rig->store, NEAP_STORE_CREATE, "b", "x", 1);
	start(rig);
	until_just(rig, 2);
	assert_int_equal(looks_at(rig, "a/x"), 1);
	assert_int_equal(looks_at(rig, "b/x"), 1);
	/* Many changes, one look; a deletion is a change. */
	for (int i = 2; i < 9; i++)
		store_rig_put(&rig->store, NEAP_STORE_UPDATE, "a", "x", i);
	store_rig_put(&rig->store, NEAP_STORE_DELETE, "b", "x", 0);
	until_just(rig, 4);
	assert_int_equal(looks_at(rig, "a/x"), 2);
	assert_int_equal(looks_at(rig, "b/x"), 2);
}

static void test_failures(void **state)
{
	struct feed_rig *rig = *state;
	int64_t pause = 20000;

	store_rig_put(&rig->store, NEAP_STORE_CREATE, "a", "x", 1);
	rig->to_fail = 4;
	start(rig);
	until_just(rig, 5);
	for (int i = 1; i < 5; i++, pause *= 2)
		if (rig->times[i] - rig->times[i - 1] < pause)
			fail_msg("pause %d: %lld us", i,
				 (long long)(rig->times[i] - rig->times[i - 1]));
	/* One that was fine again begins anew; a change does not wait for the end of a
	 * pause. */
	rig->to_fail = 1;
	neap_feed_due(rig->feed, "a", "x", 0);
	until_just(rig, 7);
	rig->to_fail = 1000;
	neap_feed_due(rig->feed, "a", "x", 0);
	until(rig, 13);
	rig->to_fail = 0;
	store_rig_put(&rig->store, NEAP_STORE_UPDATE, "a", "x", 2);
	until_just(rig, 14);
}

static void test_times(void **state)
{
	static const struct {
		const char *name;
		int64_t first, second;
	} rows[] = {
		{"later first", 3600 * SECOND_US, 0},
		{"sooner first", 0, 3600 * SECOND_US},
		{"twice", 1000, 1000},
	};
	struct feed_rig *rig = *state;
	int64_t began;

	start(rig);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		neap_feed_due(rig->feed, "t", rows[i].name, rows[i].first);
		neap_feed_due(rig->feed, "t", rows[i].name, rows[i].second);
		until_just(rig, (int)i + 1);
	}
	/* What a look asks for. */
	rig->again = 50000;
	began = now();
	neap_feed_due(rig->feed, "", "again", 0);
	until_just(rig, (int)NEAP_ARRAY_LEN(rows) + 2);
	assert_true(rig->times[rig->count - 1] - began >= 50000);
	assert_string_equal(rig->looks[rig->count - 1], "/again");
}

/* In the order in which they are due, whatever the order in which they were said; several
 * pieces. */
static void test_order(void **state)
{
	struct feed_rig *rig = *state;
	enum { COUNT = 600 };
	static int64_t first[COUNT], last[COUNT]; /* between these it is due */
	unsigned at = 0, before, name;

	start(rig);
	for (int i = 0; i < COUNT; i++) {
		char text[16];

		at = (at + 377) % COUNT;
		(void)snprintf(text, sizeof(text), "%u", at);
		neap_feed_due(rig->feed, "o", text, SECOND_US + at * 1000);
		first[at] = now() + at * 1000;
		neap_feed_due(rig->feed, "o", text, at * 1000);
		last[at] = now() + at * 1000;
		neap_feed_due(rig->feed, "o", text, at * 3000);
	}
	until_just(rig, COUNT);
	for (int i = 1; i < COUNT; i++) {
		assert_int_equal(sscanf(rig->looks[i - 1], "o/%u", &before), 1);
		assert_int_equal(sscanf(rig->looks[i], "o/%u", &name), 1);
		if (first[before] > last[name])
			fail_msg("%u before %u", before, name);
	}
}

/* A watch that was too slow: all are looked at, those that were not changed, too. */
static void test_lost(void **state)
{
	struct feed_rig *rig = *state;

	store_rig_put(&rig->store, NEAP_STORE_CREATE, "a", "still", 1);
	store_rig_put(&rig->store, NEAP_STORE_CREATE, "a", "x", 1);
	start(rig);
	until_just(rig, 2);
	for (int i = 2; i < 200; i++)
		store_rig_put(&rig->store, NEAP_STORE_UPDATE, "a", "x", i);
	until(rig, 4);
	assert_int_equal(looks_at(rig, "a/still"), 2);
}

static void anew(void *arg)
{
	struct feed_rig *rig = arg;

	rig->told = 0;
	rig->begun++;
}

/* Who keeps what was heard is told everything, before any look and as often as changes
 * were missed. */
static void test_anew(void **state)
{
	struct feed_rig *rig = *state;
	const struct neap_feed_config config = {.tasks = neap_kube_tasks(rig->kube),
						.client = rig->client,
						.arg = rig,
						.resources = {"pods"},
						.heard = heard,
						.anew = anew,
						.look = look_when_told};
	struct neap_error err = {0};
	char name[16];

	for (int i = 0; i < ALL; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		store_rig_put(&rig->store, NEAP_STORE_CREATE, "a", name, 1);
	}
	assert_int_equal(neap_feed_new(&config, &rig->feed, &err), 0);
	/* What happens while it is told. */
	turn(rig);
	store_rig_put(&rig->store, NEAP_STORE_UPDATE, "a", "p0", 2);
	until_just(rig, ALL);
	assert_int_equal(rig->begun, 1);
	assert_int_equal(rig->told, ALL);
	neap_feed_restart(rig->feed);
	until(rig, 2 * ALL);
	assert_int_equal(rig->begun, 2);
	for (int i = 2; i < 200; i++)
		store_rig_put(&rig->store, NEAP_STORE_UPDATE, "a", "p0", i);
	until(rig, 3 * ALL);
	assert_int_equal(rig->begun, 3);
	assert_int_equal(rig->told, ALL);
}

/* --- steps --- */

/* A look that takes all steps of its turn, twice; nobody else is looked at before it is
 * over. */
static int64_t look_twice(void *arg, const char *ns, const char *name)
{
	struct feed_rig *rig = arg;

	(void)look(arg, ns, name);
	assert_true(neap_feed_has_steps(rig->feed));
	neap_feed_spend(rig->feed, NEAP_STEPS);
	assert_false(neap_feed_has_steps(rig->feed));
	return rig->count % 2 ? NEAP_FEED_GOES_ON : 0;
}

static void test_goes_on(void **state)
{
	struct feed_rig *rig = *state;
	const struct neap_feed_config config = {.tasks = neap_kube_tasks(rig->kube),
						.client = rig->client,
						.arg = rig,
						.resources = {"pods"},
						.heard = heard,
						.look = look_twice};

	store_rig_put(&rig->store, NEAP_STORE_CREATE, "a", "x", 1);
	store_rig_put(&rig->store, NEAP_STORE_CREATE, "b", "x", 1);
	assert_int_equal(neap_feed_new(&config, &rig->feed, NULL), 0);
	until_just(rig, 4);
	for (int i = 0; i < 4; i += 2)
		assert_string_equal(rig->looks[i], rig->looks[i + 1]);
	assert_string_not_equal(rig->looks[0], rig->looks[2]);
	assert_int_equal(neap_feed_most_steps(rig->feed) / NEAP_STEPS, 1);
}

/* Each event leaves something that takes all steps of three turns. What follows is heard
 * when that is done, and looked at then. */
static int rests, left;

static void heard_rest(void *arg, const char *resource,
		       const struct neap_client_event *event)
{
	assert_int_equal(left, 0);
	left = 3;
	heard(arg, resource, event);
}

static bool rest(void *arg)
{
	struct feed_rig *rig = arg;

	if (!left)
		return true;
	rests++;
	neap_feed_spend(rig->feed, NEAP_STEPS);
	return --left == 0;
}

static int64_t look_rested(void *arg, const char *ns, const char *name)
{
	assert_int_equal(left, 0);
	return look(arg, ns, name);
}

static void test_rest(void **state)
{
	struct feed_rig *rig = *state;
	const struct neap_feed_config config = {.tasks = neap_kube_tasks(rig->kube),
						.client = rig->client,
						.arg = rig,
						.resources = {"pods"},
						.heard = heard_rest,
						.rest = rest,
						.look = look_rested};

	rests = left = 0;
	assert_int_equal(neap_feed_new(&config, &rig->feed, NULL), 0);
	turn(rig);
	store_rig_put(&rig->store, NEAP_STORE_CREATE, "a", "x", 1);
	for (int i = 0; i < 5; i++)
		store_rig_put(&rig->store, i % 2 ? NEAP_STORE_CREATE : NEAP_STORE_DELETE,
			      "a", "x", i);
	until(rig, 1);
	assert_int_equal(rests, 3 * 6);
	assert_in_range(neap_feed_most_steps(rig->feed), NEAP_STEPS,
			NEAP_STEPS * 11 / 10);
}

/* Short of memory: nothing is forgotten. */
static void test_nomem(void **state)
{
	struct feed_rig *rig = *state;
	const struct neap_feed_config config = {.tasks = neap_kube_tasks(rig->kube),
						.client = rig->client,
						.arg = rig,
						.resources = {"pods"},
						.heard = heard,
						.look = look};
	struct neap_error err = {0};
	struct neap_feed *feed;
	int fails = 0;

	store_rig_put(&rig->store, NEAP_STORE_CREATE, "a", "x", 1);
	for (int n = 1;; n++, fails++) {
		neap_mem_fail_at((uint64_t)n);
		if (neap_feed_new(&config, &feed, &err) == 0)
			break;
		assert_int_equal(err.code, NEAP_ENOMEM);
		assert_null(feed);
	}
	neap_mem_fail_at(0);
	assert_true(fails >= 2);
	rig->feed = feed;
	until_just(rig, 1);
	neap_mem_fail_at(1);
	neap_feed_due(rig->feed, "a", "x", 0);
	neap_mem_fail_at(0);
	until_just(rig, 2);
	assert_int_equal(looks_at(rig, "a/x"), 2);
	/* Of the restart itself. */
	for (int n = 1; n < 6; n++) {
		int before = rig->count;

		neap_mem_fail_at(1);
		neap_feed_due(rig->feed, "a", "x", 0);
		neap_mem_fail_at((uint64_t)n);
		until(rig, before + 1);
		neap_mem_fail_at(0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(start_and_changes),
		TEST(failures),
		TEST(times),
		TEST(order),
		TEST(lost),
		TEST(anew),
		TEST(goes_on),
		TEST(rest),
		TEST(nomem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
