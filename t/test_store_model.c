/* SPDX-License-Identifier: Apache-2.0
 *
 * The embedded store against a model: random writes by several writers at once, a disk
 * that takes nothing at times, new starts; and what every watch was told, and every list
 * of a state that has passed, must be the model's. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/store_rig.h"

#define NAMES   40
#define TURNS   3000
#define WATCHES 5
#define STATES  64

/* One state of the world: spec.n by name, -1 nothing. */
struct world {
	int64_t version;
	int n[NAMES];
};

struct watcher {
	struct neap_store_watch *watch;
	struct world world;
	bool is_ready;
};

struct pending {
	struct store_answer answer;
	int name, n; /* -1: deleted */
};

struct model {
	struct store_rig rig;
	uint32_t seed;
	struct world now;          /* of what was answered */
	struct world past[STATES]; /* some states that have passed, a ring */
	size_t past_count;
	struct watcher watchers[WATCHES];
	struct pending *open[256];
	size_t open_count;
	size_t failed, written, expired;
};

static uint32_t draw(struct model *model, uint32_t below)
{
	model->seed = model->seed * 1664525 + 1013904223;
	return (model->seed >> 8) % below;
}

static void name_of(int i, char *ns, char *name)
{
	(void)snprintf(ns, 8, "ns-%d", i % 4);
	(void)snprintf(name, 16, "pod-%d", i / 4);
}

static int index_of(const struct neap_object *object)
{
	int number, ns;

	assert_int_equal(sscanf(object->name, "pod-%d", &number), 1);
	assert_int_equal(sscanf(object->ns, "ns-%d", &ns), 1);
	return number * 4 + ns;
}

static void world_empty(struct world *world)
{
	size_t i;

	world->version = 0;
	for (i = 0; i < NAMES; i++)
		world->n[i] = -1;
}

/* --- watches --- */

static void become_ready(void *arg)
{
	((struct watcher *)arg)->is_ready = true;
}

static void watcher_end(struct watcher *watcher)
{
	neap_store_watch_free(watcher->watch);
	watcher->watch = NULL;
}

/* As an informer does: a list, then everything after it. */
static bool add_listed(void *arg, struct neap_object *object)
{
	struct world *world = arg;

	assert_int_equal(world->n[index_of(object)], -1);
	world->n[index_of(object)] = store_rig_n(object);
	return true;
}

static void watcher_start(struct model *model, struct watcher *watcher)
{
	struct neap_store_place place = {0};
	struct neap_error err = {0};

	world_empty(&watcher->world);
	assert_int_equal(neap_store_list(model->rig.store, "pods", NULL, &place,
					 add_listed, &watcher->world, &err),
			 0);
	watcher->world.version = place.version;
	assert_int_equal(neap_store_watch_new(model->rig.store, "pods", place.version,
					      become_ready, watcher, &watcher->watch,
					      &err),
			 0);
	watcher->is_ready = true;
}

static void take_event(struct watcher *watcher, const struct neap_store_event *event)
{
	int i = index_of(event->object), before = watcher->world.n[i];

	assert_true(event->version > watcher->world.version);
	assert_int_equal(event->what == NEAP_STORE_ADDED, before == -1);
	if (event->before != NULL)
		assert_int_equal(store_rig_n(event->before), before);
	else
		assert_int_equal(before, -1);
	watcher->world.n[i] =
		event->what == NEAP_STORE_DELETED ? -1 : store_rig_n(event->object);
	watcher->world.version = event->version;
}

static void watcher_take(struct model *model, struct watcher *watcher)
{
	struct neap_store_event *event = NULL;
	struct neap_error err;
	int r;

	while ((r = neap_store_watch_next(watcher->watch, &event, &err)) == 1)
		take_event(watcher, event);
	watcher->is_ready = false;
	if (r == 0) {
		assert_memory_equal(watcher->world.n, model->now.n, sizeof(model->now.n));
		return;
	}
	assert_int_equal(r, -NEAP_EGONE);
	model->expired++;
	watcher_end(watcher);
	watcher_start(model, watcher);
}

/* --- writes --- */

static void keep_past(struct model *model)
{
	if (model->now.version > 0)
		model->past[model->past_count++ % STATES] = model->now;
}

/* In the order in which they were accepted, as answers come. */
static void collect(struct model *model)
{
	size_t i, kept = 0;

	for (i = 0; i < model->open_count; i++) {
		struct pending *pending = model->open[i];

		if (!pending->answer.is_done) {
			model->open[kept++] = pending;
			continue;
		}
		assert_int_equal(kept, 0);
		if (pending->answer.code == NEAP_OK) {
			if (pending->answer.version > model->now.version) {
				if (draw(model, 20) == 0)
					keep_past(model);
				model->now.version = pending->answer.version;
			}
			model->now.n[pending->name] = pending->n;
			model->written++;
		} else {
			assert_int_equal(pending->answer.code, NEAP_EUNAVAILABLE);
			model->failed++;
		}
		free(pending);
	}
	model->open_count = kept;
	assert_int_equal(neap_store_version(model->rig.store), model->now.version);
}

static void write_one(struct model *model)
{
	struct pending *pending = neap_alloc(sizeof(*pending));
	enum neap_store_verb verb;
	struct neap_object *newest;
	struct neap_error err;
	char ns[8], name[16];
	int r;

	assert_non_null(pending);
	pending->name = (int)draw(model, NAMES);
	pending->n = (int)draw(model, 3);
	name_of(pending->name, ns, name);
	newest = neap_store_newest(model->rig.store, "pods", ns, name);
	verb = newest == NULL        ? NEAP_STORE_CREATE
	       : draw(model, 4) == 0 ? NEAP_STORE_DELETE
				     : NEAP_STORE_UPDATE;
	if (verb == NEAP_STORE_DELETE)
		pending->n = -1;
	r = store_rig_write(&model->rig, verb, ns, name, pending->n,
			    newest != NULL && draw(model, 2) ? newest->version : 0,
			    &pending->answer, &err);
	if (r < 0)
		fail_msg("%s", err.msg);
	model->open[model->open_count++] = pending;
}

/* --- lists of the past --- */

struct walk {
	struct world world;
	unsigned left;
	char last[300];
};

static bool take_page(void *arg, struct neap_object *object)
{
	struct walk *walk = arg;
	char key[300];

	if (walk->left == 0)
		return false;
	walk->left--;
	(void)snprintf(key, sizeof(key), "%s/%s", object->ns, object->name);
	assert_true(strcmp(key, walk->last) > 0);
	memcpy(walk->last, key, sizeof(key));
	return add_listed(&walk->world, object);
}

/* In pages, with the store going on between them. */
static void list_past(struct model *model)
{
	const struct world *past;
	struct neap_store_place place = {0};
	struct walk walk = {.last = ""};
	struct neap_error err;
	const char *ns = draw(model, 3) == 0 ? "ns-2" : NULL;
	int r = 1, i;

	if (model->past_count == 0)
		return;
	past = &model->past[draw(
		model,
		(uint32_t)(model->past_count < STATES ? model->past_count : STATES))];
	world_empty(&walk.world);
	place.version = past->version;
	while (r == 1) {
		walk.left = draw(model, 7) + 1;
		r = neap_store_list(model->rig.store, "pods", ns, &place, take_page,
				    &walk, &err);
	}
	if (r == -NEAP_EGONE) {
		model->expired++;
		return;
	}
	assert_int_equal(r, 0);
	for (i = 0; i < NAMES; i++)
		assert_int_equal(walk.world.n[i],
				 ns == NULL || i % 4 == 2 ? past->n[i] : -1);
}

/* --- the disk --- */

static void limit_file(const struct model *model, bool is_limited)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
	struct stat st;
	char wal[128];

	(void)snprintf(wal, sizeof(wal), "%s-wal", model->rig.file);
	if (is_limited && stat(wal, &st) == 0)
		limit.rlim_cur = (rlim_t)st.st_size;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void start(struct model *model)
{
	size_t i;

	store_rig_open(&model->rig);
	assert_int_equal(neap_store_version(model->rig.store), model->now.version);
	for (i = 0; i < WATCHES; i++) {
		watcher_start(model, &model->watchers[i]);
		assert_memory_equal(model->watchers[i].world.n, model->now.n,
				    sizeof(model->now.n));
	}
}

static void end(struct model *model)
{
	size_t i;

	while (model->open_count > 0) {
		store_rig_wait(&model->rig, &model->open[model->open_count - 1]->answer);
		collect(model);
	}
	for (i = 0; i < WATCHES; i++)
		watcher_end(&model->watchers[i]);
	store_rig_close(&model->rig);
	model->past_count = 0; /* forgotten by a new start */
}

static void turn(struct model *model)
{
	unsigned writes = draw(model, 6), i;

	for (i = 0; i < writes && model->open_count < NEAP_ARRAY_LEN(model->open); i++)
		write_one(model);
	if (draw(model, 3) == 0 && model->open_count > 0)
		store_rig_wait(
			&model->rig,
			&model->open[draw(model, (uint32_t)model->open_count)]->answer);
	else
		neap_store_hear(model->rig.store);
	collect(model);
	for (i = 0; i < WATCHES; i++)
		/* Some are slow. */
		if (model->watchers[i].is_ready && draw(model, i * 40 + 1) == 0)
			watcher_take(model, &model->watchers[i]);
	if (draw(model, 10) == 0)
		list_past(model);
}

static void test_model(void **state)
{
	static struct model model;
	unsigned i;

	(void)state;
	(void)signal(SIGXFSZ, SIG_IGN);
	model.seed = 20;
	world_empty(&model.now);
	store_rig_init(&model.rig);
	model.rig.config.history_bytes = 20000;
	start(&model);
	for (i = 0; i < TURNS; i++) {
		if (i % 100 == 60)
			limit_file(&model, true);
		if (i % 100 == 70)
			limit_file(&model, false);
		turn(&model);
		if (i % 500 == 499) {
			end(&model);
			start(&model);
		}
	}
	print_message("# %zu written, %zu failed, %zu expired, %d problems said\n",
		      model.written, model.failed, model.expired, model.rig.problems);
	assert_true(model.written > 1000 && model.failed > 10 && model.expired > 3);
	end(&model);
	store_rig_done(&model.rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_model)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
