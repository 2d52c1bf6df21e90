/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds of writes: nobody looks at a key while something of it is on its way, whoever
 * asked for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <event2/event.h>

#include "api/workload/loop/rounds.h"
#include "engine/base/mem.h"
#include "t/lib/kube_rig.h"

#define MAPS "/api/v1/namespaces/default/configmaps"

struct rounds_rig {
	struct kube_rig *kube;
	struct neap_feed *feed;
	struct neap_rounds *rounds;
	int looks, told, failed;
};

static void heard(void *arg, const char *resource, const struct neap_client_event *event)
{
	(void)arg;
	(void)resource;
	(void)event;
}

static int64_t look(void *arg, const char *ns, const char *name)
{
	struct rounds_rig *rig = arg;

	assert_string_equal(ns, "default");
	rig->looks += strcmp(name, "key") == 0;
	return 0;
}

static void told(void *arg, const struct neap_round_told *what)
{
	struct rounds_rig *rig = arg;

	assert_int_equal(what->what, 7);
	assert_string_equal(what->key, "key");
	assert_string_equal(what->uid, "uid");
	rig->told++;
	rig->failed += what->object == NULL;
}

static void start(struct rounds_rig *rig)
{
	struct neap_feed_config feed = {.tasks = neap_kube_tasks(rig->kube->kube),
					.client = rig->kube->client,
					.arg = rig,
					.resources = {"configmaps"},
					.heard = heard,
					.look = look};
	struct neap_rounds_config rounds = {.client = rig->kube->client,
					    .resource = "configmaps",
					    .arg = rig,
					    .told = told};
	struct neap_error err = {0};

	assert_int_equal(neap_feed_new(&feed, &rig->feed, &err), 0);
	rounds.feed = rig->feed;
	assert_int_equal(neap_rounds_new(&rounds, &rig->rounds, &err), 0);
}

static void stop(struct rounds_rig *rig)
{
	neap_rounds_free(rig->rounds);
	neap_feed_free(rig->feed);
}

static int setup(void **state)
{
	struct rounds_rig *rig = neap_alloc(sizeof(*rig));

	assert_non_null(rig);
	assert_int_equal(kube_rig_setup((void **)&rig->kube), 0);
	assert_int_equal(kube_ask(rig->kube, "POST " MAPS, "{'metadata':{'name':'key'}}"),
			 201);
	start(rig);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rounds_rig *rig = *state;

	stop(rig);
	(void)kube_rig_teardown((void **)&rig->kube);
	free(rig);
	return 0;
}

static bool begin(struct rounds_rig *rig)
{
	int64_t again;

	return neap_rounds_begin(rig->rounds, "default", "key", &again);
}

static void begin_in_time(struct rounds_rig *rig)
{
	for (int left = 30000; !begin(rig) && left > 0; left -= 2)
		kube_run(rig->kube, 2);
	assert_true(begin(rig));
}

/* While it is held nothing that is written becomes visible, or is told. */
static void hold(struct rounds_rig *rig, bool is_held)
{
	if (is_held)
		assert_int_equal(event_del(rig->kube->heard), 0);
	else
		assert_int_equal(event_add(rig->kube->heard, NULL), 0);
}

static void ask_create(struct rounds_rig *rig, const char *name)
{
	struct neap_round_ask what = {7, "configmaps", "default", NULL, "uid"};
	struct neap_client_ask ask;

	assert_true(neap_rounds_ask(rig->rounds, &what, &ask));
	neap_client_create_take(rig->kube->client, &ask,
				json_pack("{s:{s:s}}", "metadata", "name", name));
}

static bool is_there(struct rounds_rig *rig, const char *name)
{
	return neap_store_find(rig->kube->store.store, "configmaps", "default", name);
}

static void test_on_its_way(void **state)
{
	struct rounds_rig *rig = *state;
	int looks;

	begin_in_time(rig);
	looks = rig->looks;
	hold(rig, true);
	ask_create(rig, "a");
	ask_create(rig, "b");
	assert_int_equal(neap_rounds_asked(rig->rounds), 2);
	assert_int_equal(neap_rounds_refused(rig->rounds, NULL), 0);
	assert_int_equal(neap_rounds_end(rig->rounds, 0), 0);
	for (int i = 0; i < 20; i++) {
		kube_run(rig->kube, 2);
		assert_false(begin(rig));
	}
	assert_int_equal(rig->told, 0);
	hold(rig, false);
	begin_in_time(rig);
	assert_int_equal(rig->told, 2);
	assert_true(is_there(rig, "a") && is_there(rig, "b"));
	(void)neap_rounds_end(rig->rounds, 0);
	for (int left = 30000; rig->looks == looks && left > 0; left -= 2)
		kube_run(rig->kube, 2);
	assert_true(rig->looks > looks);
}

static void test_refused(void **state)
{
	struct rounds_rig *rig = *state;
	const char *why;

	begin_in_time(rig);
	ask_create(rig, "key");
	assert_int_equal(neap_rounds_refused(rig->rounds, &why), 1);
	assert_non_null(strstr(why, "already exists"));
	assert_int_equal(neap_rounds_asked(rig->rounds), 0);
	assert_int_equal(rig->failed, 1);
	assert_int_equal(neap_rounds_end(rig->rounds, 0), -1);
	assert_true(begin(rig));
	assert_int_equal(neap_rounds_refused(rig->rounds, NULL), 0);
	assert_int_equal(neap_rounds_end(rig->rounds, 5), 5);
}

/* What another life has asked for is there before this one looks; that one hears of
 * nothing any more. */
static void test_another_life(void **state)
{
	struct rounds_rig *rig = *state;

	begin_in_time(rig);
	hold(rig, true);
	ask_create(rig, "a");
	(void)neap_rounds_end(rig->rounds, 0);
	stop(rig);
	start(rig);
	for (int i = 0; i < 20; i++) {
		kube_run(rig->kube, 2);
		assert_false(begin(rig));
	}
	hold(rig, false);
	begin_in_time(rig);
	assert_true(is_there(rig, "a"));
	assert_int_equal(rig->told, 0);
	(void)neap_rounds_end(rig->rounds, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(on_its_way),
		TEST(refused),
		TEST(another_life),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
