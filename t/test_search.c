/* SPDX-License-Identifier: Apache-2.0
 *
 * Searches in pieces: what is found is as it is at the end, whatever changed before and
 * behind the place on the way. */
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
#include "api/workload/loop/search.h"
#include "engine/base/mem.h"
#include "t/lib/patience.h"
#include "t/lib/store_rig.h"

struct search_rig {
	struct store_rig store;
	struct event_base *base;
	struct event *heard;
	struct neap_kube *kube; /* without kinds: only read through */
	struct neap_client *client;
	struct neap_feed *feed;
	struct neap_search *search;
	int pieces, at; /* before which piece something happens; 0 */
	const char *uid;
	char found[256];
};

static void hear(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	neap_store_hear(arg);
}

static void heard(void *arg, const char *resource, const struct neap_client_event *event)
{
	struct search_rig *rig = arg;

	(void)resource;
	neap_search_hear(rig->search, event);
}

/* All that a turn may do for one object; the number of its spec is what it is wanted
 * for. */
static unsigned wants(void *arg, const char *uid, const struct neap_object *object)
{
	struct search_rig *rig = arg;

	assert_string_equal(uid, rig->uid);
	neap_feed_spend(rig->feed, NEAP_STEPS);
	return (unsigned)store_rig_n(object);
}

static void happen(struct search_rig *rig)
{
	static const struct {
		enum neap_store_verb verb;
		const char *ns, *name;
		int n;
	} rows[] = {
		/* Where it has been. */
		{NEAP_STORE_DELETE, "a", "b", 0},
		{NEAP_STORE_UPDATE, "a", "c", 0},
		{NEAP_STORE_UPDATE, "a", "d", 2},
		{NEAP_STORE_CREATE, "a", "aa", 3},
		{NEAP_STORE_CREATE, "a", "ab", 0},
		{NEAP_STORE_CREATE, "b", "aa", 4},
		{NEAP_STORE_CREATE, "a", "ac", 5},
		{NEAP_STORE_DELETE, "a", "ac", 0},
		/* Where it comes to. */
		{NEAP_STORE_DELETE, "a", "h", 0},
		{NEAP_STORE_UPDATE, "a", "i", 0},
		{NEAP_STORE_UPDATE, "a", "j", 6},
		{NEAP_STORE_CREATE, "a", "z", 7},
	};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		store_rig_put(&rig->store, rows[i].verb, rows[i].ns, rows[i].name,
			      rows[i].n);
}

static int64_t look(void *arg, const char *ns, const char *name)
{
	struct search_rig *rig = arg;
	const struct neap_found *found;
	size_t count, len = 0;
	int more;

	if (strcmp(ns, "look") != 0)
		return 0;
	rig->uid = name;
	more = neap_search_go(rig->search, "a", name);
	assert_in_range(more, 0, 1);
	if (++rig->pieces == rig->at) {
		happen(rig);
		return NEAP_FEED_GOES_ON; /* also where that was the last piece */
	}
	if (more)
		return NEAP_FEED_GOES_ON;
	found = neap_search_found(rig->search, &count);
	for (size_t i = 0; i < count; i++)
		len += (size_t)snprintf(rig->found + len, sizeof(rig->found) - len,
					"%s%u ", found[i].object->name, found[i].wanted);
	neap_search_end(rig->search);
	return 0;
}

static int setup(void **state)
{
	struct search_rig *rig = neap_alloc(sizeof(*rig));
	struct neap_feed_config feed = {
		.arg = rig, .resources = {"pods"}, .heard = heard, .look = look};
	struct neap_search_config search = {
		.resource = "pods", .arg = rig, .wants = wants};

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
	feed.tasks = neap_kube_tasks(rig->kube);
	feed.client = search.client = rig->client;
	rig->heard = event_new(rig->base, neap_store_fd(rig->store.store),
			       EV_READ | EV_PERSIST, hear, rig->store.store);
	assert_int_equal(event_add(rig->heard, NULL), 0);
	for (char name[] = "a"; *name <= 'j'; (*name)++)
		store_rig_put(&rig->store, NEAP_STORE_CREATE, "a", name, 1);
	assert_int_equal(neap_feed_new(&feed, &rig->feed, NULL), 0);
	search.feed = rig->feed;
	rig->search = neap_search_new(&search);
	assert_non_null(rig->search);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct search_rig *rig = *state;

	neap_search_free(rig->search);
	neap_feed_free(rig->feed);
	event_free(rig->heard);
	neap_kube_free(rig->kube);
	store_rig_done(&rig->store);
	event_base_free(rig->base);
	free(rig);
	return 0;
}

static void finds(struct search_rig *rig, const char *uid, const char *want)
{
	rig->found[0] = '\0';
	rig->pieces = 0;
	neap_feed_due(rig->feed, "look", uid, 0);
	assert_true(comes_true_in(rig->base, rig->found[0] != '\0'));
	assert_string_equal(rig->found, want);
}

static void test_pieces(void **state)
{
	struct search_rig *rig = *state;

	finds(rig, "u1", "a1 b1 c1 d1 e1 f1 g1 h1 i1 j1 ");
	/* One each, and none that finds the end alone. */
	assert_int_equal(rig->pieces, 10);
	assert_in_range(neap_feed_most_steps(rig->feed), NEAP_STEPS,
			NEAP_STEPS * 11 / 10);
	finds(rig, "u2", "a1 b1 c1 d1 e1 f1 g1 h1 i1 j1 ");
}

static void test_changes(void **state)
{
	struct search_rig *rig = *state;

	rig->at = 5;
	finds(rig, "u1", "a1 aa3 d2 e1 f1 g1 j6 z7 ");
}

/* Found is what there is when the look takes it, not when the search had come to its
 * end. */
static void test_changes_at_the_end(void **state)
{
	struct search_rig *rig = *state;

	rig->at = 10;
	finds(rig, "u1", "a1 aa3 d2 e1 f1 g1 j6 z7 ");
}

/* One that is given up is forgotten; the next begins anew. */
static void test_another(void **state)
{
	struct search_rig *rig = *state;
	int more = 1;

	rig->uid = "u1";
	more = neap_search_go(rig->search, "a", "u1");
	assert_int_equal(more, 1);
	finds(rig, "u2", "a1 b1 c1 d1 e1 f1 g1 h1 i1 j1 ");
	rig->uid = "u3";
	assert_int_equal(neap_search_go(rig->search, "none", "u3"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pieces),
		TEST(changes),
		TEST(changes_at_the_end),
		TEST(another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
