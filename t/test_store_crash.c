/* SPDX-License-Identifier: Apache-2.0
 *
 * The embedded store on a disk that loses power at any call, and on one whose calls fail.
 * After each cut the file opens and is the state after some number of the accepted
 * writes, not fewer than were answered. NEAP_STORE_CUTS (300) rounds, NEAP_STORE_SEED
 * (1). */
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/store/write.h"
#include "engine/base/mem.h"
#include "t/lib/crash_vfs.h"
#include "t/lib/store_rig.h"

#define NAMES  24
#define WRITES 400

/* What the store was asked to do, in the order in which it took it on. */
struct step {
	struct store_answer answer;
	int name, n; /* -1: deleted */
	int64_t version;
};

struct world {
	struct store_rig rig;
	struct crash_vfs *vfs;
	uint32_t seed;
	int before[NAMES]; /* when the store was opened; -1 nothing */
	int64_t before_version;
	struct step steps[WRITES];
	size_t count;
	size_t pad; /* bytes that an object has beside its number */
	/* Over all rounds. */
	size_t answered, unanswered, kept, opens_cut, newest;
};

static uint32_t draw(struct world *world, uint32_t below)
{
	world->seed = world->seed * 1664525 + 1013904223;
	return (world->seed >> 8) % below;
}

static long setting(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? strtol(text, NULL, 10) : otherwise;
}

static void world_clear(struct world *world)
{
	size_t i;

	crash_vfs_clear(world->vfs);
	for (i = 0; i < NAMES; i++)
		world->before[i] = -1;
	world->before_version = 0;
	world->count = 0;
}

static int setup(void **state)
{
	struct world *world = neap_alloc(sizeof(*world));

	assert_non_null(world);
	world->seed = (uint32_t)setting("NEAP_STORE_SEED", 1);
	world->vfs = crash_vfs_new(world->seed);
	store_rig_init(&world->rig);
	world_clear(world);
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	store_rig_done(&world->rig);
	crash_vfs_free(world->vfs);
	free(world);
	return 0;
}

/* --- writes --- */

static void answered(void *arg, struct neap_object *object, const struct neap_error *err)
{
	struct step *step = arg;

	assert_false(step->answer.is_done);
	assert_true((object == NULL) == (err != NULL));
	step->answer.is_done = true;
	step->answer.version = object != NULL ? object->version : 0;
	step->answer.code = err != NULL ? err->code : NEAP_OK;
}

/* Most bytes differ from object to object, so that a torn one cannot look whole. */
static json_t *object_of(const char *name, int n, size_t pad)
{
	char *text = neap_alloc(pad + 1);
	json_t *object;
	size_t i;

	assert_non_null(text);
	for (i = 0; i < pad; i++)
		text[i] = (char)('a' + (i * 7 + (size_t)n * 13 + i / 26) % 26);
	object = json_pack("{s:{s:s,s:s},s:{s:i,s:s}}", "metadata", "name", name,
			   "namespace", "n", "spec", "n", n, "pad", text);
	free(text);
	return object;
}

/* 0, or what it was refused with at once. */
static int write_one(struct world *world)
{
	struct step *step = &world->steps[world->count];
	struct neap_store_write write = {.resource = "pods", .ns = "n", .done = answered};
	const struct neap_object *newest;
	struct neap_error err;
	char name[16];
	int r;

	*step = (struct step){.name = (int)draw(world, NAMES),
			      .n = (int)draw(world, 1000000)};
	(void)snprintf(name, sizeof(name), "pod-%d", step->name);
	newest = neap_store_newest(world->rig.store, "pods", "n", name);
	write.verb = newest == NULL        ? NEAP_STORE_CREATE
		     : draw(world, 4) == 0 ? NEAP_STORE_DELETE
					   : NEAP_STORE_UPDATE;
	write.name = name;
	write.arg = step;
	if (write.verb == NEAP_STORE_DELETE)
		step->n = -1;
	else
		write.object =
			object_of(name, step->n,
				  world->pad > 0 ? draw(world, (uint32_t)world->pad) : 0);
	r = neap_store_write_take(world->rig.store, &write, &err);
	if (r == 0)
		world->count++;
	return r;
}

static bool has_failed(const struct world *world)
{
	size_t i;

	for (i = 0; i < world->count; i++)
		if (world->steps[i].answer.is_done &&
		    world->steps[i].answer.code != NEAP_OK)
			return true;
	return false;
}

/* Until the power is cut, or there were enough. */
static void write_until_cut(struct world *world)
{
	size_t most = 20 + draw(world, WRITES - 20);

	while (world->count < most && !crash_vfs_is_cut(world->vfs) &&
	       !has_failed(world)) {
		if (write_one(world) < 0)
			break;
		if (draw(world, 8) == 0)
			store_rig_wait(&world->rig,
				       &world->steps[world->count - 1].answer);
		else if (draw(world, 4) == 0)
			neap_store_hear(world->rig.store);
	}
}

/* --- what is there --- */

struct found {
	int n[NAMES];
};

static bool take(void *arg, struct neap_object *object)
{
	struct found *found = arg;
	json_t *tree = neap_object_tree(object), *wanted;
	const char *pad =
		json_string_value(json_object_get(json_object_get(tree, "spec"), "pad"));
	int name, n = store_rig_n(object);

	assert_int_equal(sscanf(object->name, "pod-%d", &name), 1);
	assert_int_equal(found->n[name], -1);
	assert_non_null(pad);
	wanted = object_of(object->name, n, strlen(pad));
	(void)json_object_set(
		json_object_get(wanted, "metadata"), "resourceVersion",
		json_object_get(json_object_get(tree, "metadata"), "resourceVersion"));
	assert_true(json_equal(tree, wanted));
	json_decref(wanted);
	json_decref(tree);
	found->n[name] = n;
	return true;
}

static void look(struct world *world, struct found *found)
{
	struct neap_store_place place = {0};
	struct neap_error err;
	size_t i;

	for (i = 0; i < NAMES; i++)
		found->n[i] = -1;
	assert_int_equal(neap_store_list(world->rig.store, "pods", NULL, &place, take,
					 found, &err),
			 0);
	assert_int_equal(place.version, neap_store_version(world->rig.store));
}

/* How many of the steps are there: the first so many, and no fewer than were answered.
 * -1: none fits. */
static int fits(struct world *world, const struct found *found)
{
	struct found state;
	size_t i, least = 0, best = SIZE_MAX;

	memcpy(state.n, world->before, sizeof(state.n));
	for (i = 0; i < world->count; i++)
		if (world->steps[i].answer.is_done &&
		    world->steps[i].answer.code == NEAP_OK)
			least = i + 1;
	for (i = 0; i <= world->count; i++) {
		if (i > 0)
			state.n[world->steps[i - 1].name] = world->steps[i - 1].n;
		if (i >= least && memcmp(&state, found, sizeof(state)) == 0 &&
		    neap_store_version(world->rig.store) ==
			    world->before_version + (int64_t)i) {
			best = i;
			break;
		}
	}
	if (best == SIZE_MAX)
		return -1;
	world->answered += least;
	world->unanswered += world->count - least;
	world->kept += best - least;
	memcpy(world->before, found->n, sizeof(world->before));
	world->before_version = neap_store_version(world->rig.store);
	world->count = 0;
	return (int)best;
}

/* One life: opened, written to, cut at some call, or ended and cut later. */
static void live_until_cut(struct world *world, uint32_t calls)
{
	struct neap_error err = {0};

	crash_vfs_cut_after(world->vfs, 1 + draw(world, calls));
	if (neap_store_sqlite_open(&world->rig.config, &world->rig.store, &err) < 0) {
		/* Nobody says "damaged" because of a cut. */
		if (err.code != NEAP_EUNAVAILABLE && err.code != NEAP_ESYS)
			fail_msg("%s", err.msg);
		assert_true(crash_vfs_is_cut(world->vfs));
		world->opens_cut++;
		world->rig.store = NULL;
	} else {
		if (world->count == 0)
			write_until_cut(world);
		store_rig_close(&world->rig);
	}
	if (!crash_vfs_is_cut(world->vfs))
		crash_vfs_cut_after(world->vfs, 0);
	crash_vfs_restart(world->vfs);
}

/* Cuts of both kinds were met: while the file was opened, and between a commit and its
 * answer. How long a commit takes decides how often the second comes. */
static bool has_met_all(const struct world *world)
{
	return world->opens_cut > 0 && world->kept > 0;
}

static void test_cut(void **state)
{
	struct world *world = *state;
	long rounds = setting("NEAP_STORE_CUTS", 300), i;
	struct found found;

	for (i = 0;
	     i < rounds || (rounds >= 100 && i < 10 * rounds && !has_met_all(world));
	     i++) {
		bool is_large = i % 50 == 25;

		if (i % 8 == 0)
			world_clear(world);
		/* Now and then so much that the log is written back while all goes on. */
		world->pad = is_large ? 300000 : i % 3 == 0 ? 20000 : 200;
		live_until_cut(world, is_large ? 40000 : draw(world, 3) ? 1500 : 30);
		/* And again while what the first one left is put in order. */
		while (world->count > 0 && draw(world, 2) == 0)
			live_until_cut(world, 20);
		store_rig_open(&world->rig);
		look(world, &found);
		if (fits(world, &found) < 0)
			fail_msg("round %ld: neither more nor less than was accepted", i);
		if (draw(world, 2) == 0)
			crash_vfs_cut_after(world->vfs, 0);
		store_rig_close(&world->rig);
		crash_vfs_restart(world->vfs);
	}
	print_message("# %ld cuts, %zu of them while the file was opened: %zu answered "
		      "writes; of %zu others %zu were there\n",
		      i, world->opens_cut, world->answered, world->unanswered,
		      world->kept);
	assert_true(rounds < 100 || has_met_all(world));
}

/* The disk itself lies about what it has: then this test finds losses, or it could not
 * find any. */
static void test_cut_of_a_liar(void **state)
{
	struct world *world = *state;
	struct neap_error err;
	struct found found;
	int lost = 0, i;

	crash_vfs_lie(world->vfs, true);
	for (i = 0; i < 20; i++) {
		world_clear(world);
		live_until_cut(world, 1500);
		if (neap_store_sqlite_open(&world->rig.config, &world->rig.store, &err) <
		    0) {
			world->rig.store = NULL;
			lost++;
			continue;
		}
		look(world, &found);
		lost += fits(world, &found) < 0;
		store_rig_close(&world->rig);
	}
	assert_true(lost > 5);
}

/* --- calls that fail --- */

struct fault {
	enum crash_call call;
	int code;
	uint64_t times;
	enum neap_code want; /* of the write; NEAP_OK: SQLite helps itself */
};

static const struct fault faults[] = {
	{CRASH_WRITE, SQLITE_FULL, 1, NEAP_EUNAVAILABLE},
	{CRASH_WRITE, SQLITE_FULL, 30, NEAP_EUNAVAILABLE},
	{CRASH_WRITE, SQLITE_IOERR_WRITE, 1, NEAP_EUNAVAILABLE},
	{CRASH_WRITE, SQLITE_IOERR_WRITE, 30, NEAP_EUNAVAILABLE},
	{CRASH_SYNC, SQLITE_IOERR_FSYNC, 1, NEAP_EINTERNAL},
	{CRASH_SYNC, SQLITE_IOERR_FSYNC, 30, NEAP_EINTERNAL},
	{CRASH_READ, SQLITE_IOERR_READ, 1, NEAP_EUNAVAILABLE},
	{CRASH_READ, SQLITE_CORRUPT, 1, NEAP_EINTERNAL},
};

/* Writes one after the other until the fault has come and gone. */
static void write_through(struct world *world, const struct fault *fault,
			  struct found *ret_last)
{
	size_t good = 0, refused = 0;

	while (world->count < WRITES && good < 5 && refused < 60) {
		struct step *step = &world->steps[world->count];

		if (write_one(world) < 0) {
			/* It says so at once, and goes on doing so. */
			assert_int_equal(fault->want, NEAP_EINTERNAL);
			refused++;
			continue;
		}
		store_rig_wait(&world->rig, &step->answer);
		if (step->answer.code == NEAP_OK) {
			assert_int_equal(refused > 0 && fault->want == NEAP_EINTERNAL,
					 false);
			ret_last->n[step->name] = step->n;
			good += crash_vfs_failed(world->vfs) > 0;
			continue;
		}
		assert_int_equal(step->answer.code, fault->want);
		assert_true(crash_vfs_failed(world->vfs) > 0);
		good = 0;
		refused++;
		/* Whether this one is there nobody knows. */
		if (fault->want == NEAP_EINTERNAL)
			continue;
		world->count--;
	}
}

static void run_fault(struct world *world, const struct fault *fault, uint64_t nth,
		      bool is_cut)
{
	struct found last, found, other;
	size_t i;

	world_clear(world);
	world->pad = 6000;
	store_rig_open(&world->rig);
	for (i = 0; i < NAMES; i++)
		last.n[i] = -1;
	for (i = 0; i < 20; i++)
		assert_int_equal(write_one(world), 0);
	store_rig_wait(&world->rig, &world->steps[19].answer);
	for (i = 0; i < 20; i++)
		last.n[world->steps[i].name] = world->steps[i].n;
	world->count = 0;
	crash_vfs_fail(world->vfs, fault->call, nth, fault->times, fault->code);
	write_through(world, fault, &last);
	other = last;
	look(world, &found);
	assert_memory_equal(&found, &last, sizeof(last));
	if (is_cut)
		crash_vfs_cut_after(world->vfs, 0);
	store_rig_close(&world->rig);
	crash_vfs_restart(world->vfs);
	crash_vfs_fail(world->vfs, fault->call, 0, 0, 0);
	store_rig_open(&world->rig);
	look(world, &found);
	for (i = 0; i < world->count; i++)
		if (world->steps[i].answer.is_done &&
		    world->steps[i].answer.code == NEAP_EINTERNAL)
			other.n[world->steps[i].name] = world->steps[i].n;
	if (memcmp(&found, &other, sizeof(found)) != 0)
		assert_memory_equal(&found, &last, sizeof(last));
	store_rig_close(&world->rig);
}

static void test_faults(void **state)
{
	struct world *world = *state;
	uint64_t before = 0, nth;
	size_t i, hit = 0;

	for (i = 0; i < NEAP_ARRAY_LEN(faults); i++)
		for (nth = 1; nth <= 40; nth += nth < 10 ? 1 : 7) {
			before = crash_vfs_failed(world->vfs);
			run_fault(world, &faults[i], nth, nth % 2 == 0);
			hit += crash_vfs_failed(world->vfs) > before;
		}
	print_message("# %zu faults\n", hit);
}

/* An open that fails leaves everything as it is, and takes nothing for damage that is
 * none. */
static void test_open_fails(void **state)
{
	static const struct {
		enum crash_call call;
		int code;
	} rows[] = {
		{CRASH_OPEN, SQLITE_CANTOPEN},
		{CRASH_READ, SQLITE_IOERR_READ},
		{CRASH_WRITE, SQLITE_FULL},
		{CRASH_WRITE, SQLITE_IOERR_WRITE},
		{CRASH_SYNC, SQLITE_IOERR_FSYNC},
		{CRASH_TRUNCATE, SQLITE_IOERR_TRUNCATE},
		{CRASH_DELETE, SQLITE_IOERR_DELETE},
		{CRASH_SIZE, SQLITE_IOERR_FSTAT},
		{CRASH_LOCK, SQLITE_IOERR_LOCK},
	};
	struct world *world = *state;
	struct neap_error err;
	struct found found;
	size_t i, failed = 0;
	uint64_t nth;
	int is_empty;

	for (i = 0; i < NEAP_ARRAY_LEN(rows) * 20; i++) {
		nth = 1 + i % 10;
		is_empty = i / 10 % 2;
		world_clear(world);
		store_rig_open(&world->rig);
		world->pad = 5000;
		while (!is_empty && world->count < 30)
			(void)write_one(world);
		store_rig_close(&world->rig);
		if (is_empty)
			world_clear(world);
		crash_vfs_fail(world->vfs, rows[i / 20].call, nth, 1, rows[i / 20].code);
		if (neap_store_sqlite_open(&world->rig.config, &world->rig.store, &err) <
		    0) {
			failed++;
			world->rig.store = NULL;
			if (err.code != NEAP_EUNAVAILABLE && err.code != NEAP_ESYS)
				fail_msg("%s", err.msg);
		}
		store_rig_close(&world->rig);
		crash_vfs_fail(world->vfs, rows[i / 20].call, 0, 0, 0);
		store_rig_open(&world->rig);
		look(world, &found);
		assert_true(fits(world, &found) >= 0);
		store_rig_close(&world->rig);
	}
	print_message("# %zu failed to open\n", failed);
	assert_true(failed > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut_of_a_liar, setup, teardown),
		cmocka_unit_test_setup_teardown(test_faults, setup, teardown),
		cmocka_unit_test_setup_teardown(test_open_fails, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
