/* SPDX-License-Identifier: Apache-2.0
 *
 * The disk hangs while a recorded round is written. Rounds go on, the status tells how
 * many were not recorded, and the end of the descheduler does not wait for the disk. The
 * test decides when fsync of a file in the folder of rounds returns. */
#include "t/lib/descheduler_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "t/lib/patience.h"

static char rounds_dir[96];
static atomic_bool hangs;
static atomic_int syncs, synced; /* there: begun, ended */

/* In place of the C library's. */
int fsync(int fd)
{
	char link[64], path[256] = "";
	const struct timespec millisecond = {.tv_nsec = 1000000};
	bool is_round;
	long rc;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	(void)!readlink(link, path, sizeof(path) - 1);
	is_round = strstr(path, "/rounds") != NULL;
	if (is_round)
		(void)atomic_fetch_add(&syncs, 1);
	while (is_round && atomic_load(&hangs))
		(void)nanosleep(&millisecond, NULL);
	rc = syscall(SYS_fsync, fd);
	if (is_round)
		(void)atomic_fetch_add(&synced, 1);
	return (int)rc;
}

static int setup(void **state)
{
	struct descheduler_rig *rig;
	int rc = descheduler_setup(state);

	rig = *state;
	(void)snprintf(rounds_dir, sizeof(rounds_dir), "%s/rounds", rig->dir);
	rig->config.rounds_dir = rounds_dir;
	atomic_store(&hangs, true);
	atomic_store(&syncs, 0);
	atomic_store(&synced, 0);
	return rc;
}

/* Rounds one after the other; the recording of the first hangs. */
static void play(struct descheduler_rig *rig, int rounds)
{
	descheduler_pod(rig, "b", "n1");
	descheduler_begin(rig);
	descheduler_use(rig, MOVE "neap: {dryRunPlugins: [MoveAll]}\n");
	for (int i = 1; i <= rounds; i++) {
		json_t *status =
			i == 1 ? descheduler_rounds(rig, 1) : descheduler_run(rig, i);

		WANTS(status, "round.evicted.0.pod=b", "recording.rounds=0");
		json_decref(status);
		if (i == 1)
			assert_true(comes_true(atomic_load(&syncs) == 1));
	}
}

static void test_rounds_go_on(void **state)
{
	struct descheduler_rig *rig = *state;
	json_t *status;

	play(rig, 5);
	status = neap_descheduler_status(rig->descheduler, false);
	WANTS(status, "rounds=5", "recording.rounds=0",
	      "recording.error~the disk is slow");
	json_decref(status);
	/* What waited is written when it answers. */
	atomic_store(&hangs, false);
	descheduler_wait(rig, "recording.rounds=2");
	status = descheduler_run(rig, 6);
	json_decref(status);
	descheduler_wait(rig, "recording.rounds=3");
	status = neap_descheduler_status(rig->descheduler, false);
	WANTS(status, "!recording.error");
	json_decref(status);
}

struct told {
	bool is_told;
	struct neap_error err;
};

static void recorded(void *arg, json_t *list, struct neap_buf *text,
		     const struct neap_error *err)
{
	struct told *told = arg;

	(void)text;
	assert_false(told->is_told);
	assert_null(list);
	told->is_told = true;
	if (err)
		told->err = *err;
}

static bool has_recorded(struct descheduler_rig *rig)
{
	json_t *status = neap_descheduler_status(rig->descheduler, false);
	bool ret = kube_differs(status, "recording.rounds=0");

	json_decref(status);
	return ret;
}

/* As when the Lease is lost; the next holder of this process meets the disk again. */
static void test_end(void **state)
{
	struct descheduler_rig *rig = *state;
	struct told told = {0};
	struct neap_error err = {0};
	json_t *status;

	play(rig, 1);
	assert_int_equal(
		neap_descheduler_recordings(rig->descheduler, -1, recorded, &told, &err),
		0);
	neap_descheduler_free(rig->descheduler);
	assert_true(told.is_told);
	assert_int_equal(told.err.code, NEAP_EUNAVAILABLE);
	assert_int_equal(atomic_load(&synced), 0);
	descheduler_begin(rig);
	descheduler_use(rig, MOVE "neap: {dryRunPlugins: [MoveAll]}\n");
	status = descheduler_rounds(rig, 1);
	json_decref(status);
	descheduler_wait(rig, "recording.error~the disk is slow");
	/* The one that was left ends by itself. */
	atomic_store(&hangs, false);
	assert_true(comes_true(atomic_load(&synced) == 2));
	for (int i = 2; !has_recorded(rig); i++) {
		status = descheduler_run(rig, i);
		json_decref(status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rounds_go_on, setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_end, setup, descheduler_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
