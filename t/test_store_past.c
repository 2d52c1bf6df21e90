/* SPDX-License-Identifier: Apache-2.0
 *
 * What the store remembers of the past: watches, and lists of a state that has passed. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/store_rig.h"

static void ignore_call(void *arg)
{
	(void)arg;
}

static void count_call(void *arg)
{
	(*(int *)arg)++;
}

static void test_watch(void **state)
{
	static const enum neap_store_what wanted[] = {
		NEAP_STORE_ADDED, NEAP_STORE_MODIFIED, NEAP_STORE_DELETED};
	struct store_rig *rig = *state;
	struct neap_store_watch *watch = NULL;
	struct neap_store_event *event = NULL;
	struct neap_error err = {0};
	int64_t from = store_rig_put(rig, NEAP_STORE_CREATE, "n", "before", 1), last;
	int calls = 0;
	size_t i;

	assert_int_equal(neap_store_watch_new(rig->store, "pods", from, count_call,
					      &calls, &watch, &err),
			 0);
	assert_int_equal(neap_store_watch_next(watch, &event, &err), 0);
	(void)store_rig_put(rig, NEAP_STORE_CREATE, "n", "a", 1);
	(void)store_rig_put(rig, NEAP_STORE_UPDATE, "n", "a", 1); /* nothing */
	(void)store_rig_put(rig, NEAP_STORE_UPDATE, "n", "a", 2);
	last = store_rig_put(rig, NEAP_STORE_DELETE, "n", "a", 0);
	assert_int_equal(calls, 1); /* until it has taken everything */
	for (i = 0; i < 3; i++) {
		assert_int_equal(neap_store_watch_next(watch, &event, &err), 1);
		assert_int_equal(event->what, wanted[i]);
		assert_string_equal(event->object->name, "a");
		assert_int_equal(event->before != NULL, i > 0);
		assert_int_equal(event->object->version, event->version);
	}
	assert_int_equal(event->version, last);
	assert_int_equal(store_rig_n(event->object), 2);
	assert_int_equal(neap_store_watch_next(watch, &event, &err), 0);
	assert_int_equal(neap_store_watch_version(watch), last);
	(void)store_rig_put(rig, NEAP_STORE_CREATE, "n", "b", 1);
	assert_int_equal(calls, 2);
	neap_store_watch_free(watch);
	/* From any version that is remembered. */
	assert_int_equal(neap_store_watch_new(rig->store, "pods", last - 1, count_call,
					      &calls, &watch, &err),
			 0);
	assert_int_equal(neap_store_watch_next(watch, &event, &err), 1);
	assert_int_equal(event->version, last);
	neap_store_watch_free(watch);
}

static void test_forgotten(void **state)
{
	struct store_rig *rig = *state;
	struct neap_store_watch *slow = NULL, *late = NULL;
	struct neap_store_place place = {0};
	struct neap_store_event *event = NULL;
	struct neap_error err = {0};
	int64_t from;
	int calls = 0, i;

	store_rig_close(rig);
	rig->config.history_bytes = 4096;
	store_rig_open(rig);
	from = store_rig_put(rig, NEAP_STORE_CREATE, "n", "a", 1);
	assert_int_equal(neap_store_watch_new(rig->store, "pods", from, count_call,
					      &calls, &slow, &err),
			 0);
	place.version = from;
	for (i = 0; i < 100; i++)
		(void)store_rig_put(rig, NEAP_STORE_UPDATE, "n", "a", 100 + i);
	assert_int_equal(neap_store_watch_next(slow, &event, &err), -NEAP_EGONE);
	neap_store_watch_free(slow);
	assert_int_equal(neap_store_watch_new(rig->store, "pods", from, count_call,
					      &calls, &late, &err),
			 -NEAP_EGONE);
	assert_int_equal(
		neap_store_list(rig->store, "pods", NULL, &place, NULL, NULL, &err),
		-NEAP_EGONE);
	/* What was before a start is not known either, also of what is not there any
	 * more. */
	from = neap_store_version(rig->store);
	(void)store_rig_put(rig, NEAP_STORE_DELETE, "n", "a", 0);
	store_rig_close(rig);
	store_rig_open(rig);
	assert_int_equal(neap_store_watch_new(rig->store, "pods", from, count_call,
					      &calls, &late, &err),
			 -NEAP_EGONE);
	assert_int_equal(neap_store_watch_new(rig->store, "pods", from + 1, count_call,
					      &calls, &late, &err),
			 0);
	neap_store_watch_free(late);
}

/* What is too old goes by itself, also when nothing is written. */
static void test_age(void **state)
{
	struct store_rig *rig = *state;
	struct neap_store_watch *watch = NULL;
	struct neap_error err = {0};
	int64_t from;

	store_rig_close(rig);
	rig->config.history_usec = 20000;
	store_rig_open(rig);
	from = store_rig_put(rig, NEAP_STORE_CREATE, "n", "a", 1);
	(void)store_rig_put(rig, NEAP_STORE_DELETE, "n", "a", 1);
	(void)store_rig_put(rig, NEAP_STORE_CREATE, "n", "b", 1);
	(void)usleep(30000);
	neap_store_hear(rig->store);
	assert_int_equal(neap_store_watch_new(rig->store, "pods", from, ignore_call, NULL,
					      &watch, &err),
			 -NEAP_EGONE);
	from = neap_store_version(rig->store);
	assert_int_equal(neap_store_watch_new(rig->store, "pods", from, ignore_call, NULL,
					      &watch, &err),
			 0);
	neap_store_watch_free(watch);
	assert_int_equal(neap_store_count(rig->store, "pods"), 1);
}

struct paged {
	int taken, most;
};

static bool take_paged(void *arg, struct neap_object *object)
{
	struct paged *paged = arg;

	(void)object;
	if (paged->taken == paged->most)
		return false;
	paged->taken++;
	return true;
}

/* One object a page, while thousands of changes are remembered: each page costs what
 * stands on it. */
static void test_many_pages(void **state)
{
	enum { COUNT = 10000 };
	struct store_rig *rig = *state;
	struct neap_store_place place = {0};
	struct paged paged = {0};
	struct neap_error err = {0};
	struct store_answer answer = {0};
	char name[16];
	int i, r = 1, total = 0;

	for (i = 0; i < 2 * COUNT; i++) {
		bool is_last = i % 5000 == 4999;

		memset(&answer, 0, sizeof(answer));
		(void)snprintf(name, sizeof(name), "p-%d", i % COUNT);
		assert_int_equal(store_rig_write(rig,
						 i < COUNT ? NEAP_STORE_CREATE
						 : i % 2   ? NEAP_STORE_UPDATE
							   : NEAP_STORE_DELETE,
						 "n", name, i, 0,
						 is_last ? &answer : NULL, &err),
				 0);
		if (is_last)
			store_rig_wait(rig, &answer);
		if (i == COUNT - 1)
			place.version = neap_store_version(rig->store);
	}
	paged.most = 0;
	while (r == 1) {
		paged.most++;
		r = neap_store_list(rig->store, "pods", NULL, &place, take_paged, &paged,
				    &err);
		total++;
	}
	assert_int_equal(r, 0);
	assert_int_equal(paged.taken, COUNT);
	assert_int_equal(total, COUNT);
	assert_int_equal(neap_store_count(rig->store, "pods"), COUNT / 2);
}

static void count_one(void *arg)
{
	(*(int *)arg)++;
}

/* Many watches are not called all at once, but all are called, also when what they were
 * called for has been taken together with what came later. */
static void test_many_watches(void **state)
{
	struct store_rig *rig = *state;
	struct neap_store_watch *watches[300];
	struct pollfd ready = {.fd = neap_store_fd(rig->store), .events = POLLIN};
	int calls[300] = {0}, called = 0;
	struct neap_store_event *event;
	struct neap_error err;
	int64_t first;

	first = store_rig_put(rig, NEAP_STORE_CREATE, "n", "a", 1);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(watches); i++) {
		assert_int_equal(neap_store_watch_new(rig->store, "pods", first,
						      count_one, &calls[i], &watches[i],
						      &err),
				 0);
		assert_int_equal(neap_store_watch_next(watches[i], &event, &err), 0);
	}
	(void)store_rig_put(rig, NEAP_STORE_UPDATE, "n", "a", 2);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(watches); i++)
		called += calls[i];
	assert_true(called > 0 && called < 300);
	while (poll(&ready, 1, 0) == 1)
		neap_store_hear(rig->store);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(watches); i++) {
		assert_int_equal(calls[i], 1);
		assert_int_equal(neap_store_watch_next(watches[i], &event, &err), 1);
		assert_int_equal(store_rig_n(event->object), 2);
		assert_int_equal(neap_store_watch_next(watches[i], &event, &err), 0);
		neap_store_watch_free(watches[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_watch, store_rig_setup,
						store_rig_teardown),
		cmocka_unit_test_setup_teardown(test_many_watches, store_rig_setup,
						store_rig_teardown),
		cmocka_unit_test_setup_teardown(test_forgotten, store_rig_setup,
						store_rig_teardown),
		cmocka_unit_test_setup_teardown(test_age, store_rig_setup,
						store_rig_teardown),
		cmocka_unit_test_setup_teardown(test_many_pages, store_rig_setup,
						store_rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
