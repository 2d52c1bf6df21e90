/* SPDX-License-Identifier: Apache-2.0
 *
 * The hand and its journal. What lacks memory is the daemon's side of the socket, or the
 * hand itself, another process. Whatever failed, no value is changed without a line in
 * the journal, and it can be given back. Needs root and writable groups. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "hw/hand/journal.h"
#include "t/lib/hand_rig.h"
#include "t/torture/torture.h"

/* --- journal --- */

#define BOOT "11111111-2222-3333-4444-555555555555"

static const struct neap_log quiet = {-1, NEAP_LOG_ERROR, NEAP_LOG_TEXT, "torture"};

struct place {
	char dir[64];
	int fd;
};

static struct neap_journal *journal_of(const struct place *place)
{
	struct neap_journal *journal = NULL;
	struct neap_error err;

	if (neap_journal_open(place->fd, BOOT, &quiet, &journal, &err) < 0)
		torture_fail("journal: %s", err.msg);
	return journal;
}

static int add(struct neap_journal *journal, const char *group, struct neap_error *err)
{
	char value[] = "1024", name[64];
	const struct neap_journal_entry entry = {
		.group = name, .value = value, .key = NEAP_KEY_CPU_SHARES};

	(void)neap_strcopy(name, sizeof(name), group);
	return neap_journal_add(journal, &entry, err);
}

static void *journal_setup(void)
{
	struct place *place = calloc(1, sizeof(*place));
	struct neap_journal *journal;

	(void)snprintf(place->dir, sizeof(place->dir), "%s/journal.XXXXXX",
		       getenv("NEAP_TEST_DIR"));
	if (mkdtemp(place->dir) == NULL)
		torture_fail("no directory");
	place->fd = open(place->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	journal = journal_of(place);
	(void)add(journal, "before", NULL);
	neap_journal_free(journal);
	return place;
}

static int journal_act(void *state, struct neap_error *err)
{
	const struct place *place = state;
	struct neap_journal *journal = NULL;
	int rc = neap_journal_open(place->fd, BOOT, &quiet, &journal, err);

	if (rc == 0)
		rc = add(journal, "after", err);
	if (rc == 0)
		rc = neap_journal_made_add(journal, "made", err);
	if (rc == 0)
		rc = neap_journal_origin_add(journal, 0, "0::/", err);
	neap_journal_free(journal);
	return rc;
}

/* What was there is there; what was promised too; nothing is there in halves. */
static void journal_check(void *state, int rc)
{
	struct neap_journal *journal = journal_of(state);

	if (neap_journal_find(journal, "before", NEAP_KEY_CPU_SHARES) < 0)
		torture_fail("the entry from before is lost");
	if (rc == 0 && (neap_journal_find(journal, "after", NEAP_KEY_CPU_SHARES) < 0 ||
			neap_journal_made_count(journal) != 1))
		torture_fail("what was promised is not there");
	neap_journal_free(journal);
	if (faccessat(((struct place *)state)->fd, "hand.journal.bad", F_OK, 0) == 0)
		torture_fail("it is thought to be broken");
}

static void journal_teardown(void *state)
{
	struct place *place = state;
	neap_auto_free char *command = neap_asprintf("rm -rf %s", place->dir);

	(void)close(place->fd);
	if (system(command) < 0)
		torture_fail("cannot clean up");
	free(place);
}

/* --- the hand itself, and the daemon's side of its socket --- */

#define ANSWER_MS 5000

struct steps {
	struct hand_rig *rig;
	char before[64];
};

/* NULL where there is no root, or no groups. */
static void *steps_setup(void)
{
	struct steps *steps = calloc(1, sizeof(*steps));
	const char *why = NULL;

	steps->rig = rig_new(&why);
	if (steps->rig == NULL) {
		free(steps);
		return NULL;
	}
	rig_make(steps->rig, rig_path(steps->rig, "a"));
	(void)neap_strcopy(
		steps->before, sizeof(steps->before),
		rig_read(steps->rig, rig_path(steps->rig, "a"), NEAP_KEY_CPU_SHARES));
	rig_start(steps->rig);
	return steps;
}

/* One request and its answer; the hand must not go away. */
static int step(struct hand_rig *rig, const struct neap_hand_request *request,
		struct neap_error *err)
{
	struct neap_hand_answer answer;
	int rc = neap_hand_add(rig->hand, request, err), i;

	if (rc < 0)
		return rc;
	for (i = 0; i < ANSWER_MS / 10; i++) {
		struct pollfd p = {.fd = neap_hand_fd(rig->hand), .events = POLLIN};

		rc = neap_hand_flush(rig->hand, err);
		if (rc >= 0)
			rc = neap_hand_next(rig->hand, &answer, err);
		if (rc == -NEAP_ENOMEM)
			return rc;
		if (rc < 0)
			torture_fail("the hand is gone: %s", err->msg);
		if (rc == 0 || answer.op == NEAP_HAND_ENTRY) {
			(void)poll(&p, 1, 10);
			continue;
		}
		torture_tell("%d %s %d\n", (int)answer.op, answer.new_value,
			     answer.errnum);
		if (answer.errnum == ENOMEM)
			return neap_error_nomem(err);
		if (answer.errnum != 0)
			return neap_error_set(err, NEAP_ESYS, "%s: %s",
					      strerror(answer.errnum), answer.text);
		return 0;
	}
	torture_fail("the hand does not answer");
}

static int steps_do(struct steps *steps, struct neap_error *err)
{
	struct hand_rig *rig = steps->rig;
	const struct neap_hand_request list[] = {
		{1, NEAP_HAND_SET, rig_path(rig, "a"), NEAP_KEY_CPU_SHARES, "300", -1,
		 NULL},
		{2, NEAP_HAND_MAKE, rig->own, 0, NULL, -1, NULL},
		{3, NEAP_HAND_MAKE, rig_path(rig, "own/b"), 0, NULL, -1, NULL},
		{4, NEAP_HAND_SET, rig_path(rig, "own/b"), NEAP_KEY_CPU_MAX_MILLI,
		 "50000", -1, NULL},
		{5, NEAP_HAND_LIST, NULL, 0, NULL, -1, NULL},
		{6, NEAP_HAND_REMOVE, rig_path(rig, "own/b"), 0, NULL, -1, NULL},
		{7, NEAP_HAND_RESTORE, rig_path(rig, "a"), NEAP_KEY_CPU_SHARES, NULL, -1,
		 NULL},
		{8, NEAP_HAND_SET, rig_path(rig, "a"), NEAP_KEY_CPU_SHARES, "400", -1,
		 NULL},
	};
	size_t i;
	int rc;

	for (i = 0; i < NEAP_ARRAY_LEN(list); i++) {
		rc = step(rig, &list[i], err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int daemon_act(void *state, struct neap_error *err)
{
	return state != NULL ? steps_do(state, err) : 0;
}

static int hand_act(void *state, struct neap_error *err)
{
	struct steps *steps = state;
	int rc;

	if (steps == NULL)
		return 0;
	torture_arm(neap_hand_pid(steps->rig->hand));
	rc = steps_do(state, err);
	torture_disarm();
	return rc;
}

/* Every value that was changed comes back. */
static void steps_check(void *state, int rc)
{
	static const struct neap_hand_request back = {
		9, NEAP_HAND_GIVE_BACK, NULL, 0, NULL, -1, NULL};
	struct steps *steps = state;
	struct neap_error err = {0};
	const char *is;
	int i;

	(void)rc;
	if (steps == NULL)
		return;
	/* Answers of requests that were on their way. */
	for (i = 0; i < 3 && step(steps->rig, &back, &err) < 0; i++)
		;
	is = rig_read(steps->rig, rig_path(steps->rig, "a"), NEAP_KEY_CPU_SHARES);
	if (strcmp(is, steps->before) != 0)
		torture_fail("it was %s, and after all was given back it is %s",
			     steps->before, is);
}

static void steps_teardown(void *state)
{
	struct steps *steps = state;

	if (steps == NULL)
		return;
	rig_free(steps->rig);
	free(steps);
}

const struct torture torture_hand[] = {
	{"hand: the daemon's side", steps_setup, daemon_act, steps_check, steps_teardown},
	{"hand: its own side", steps_setup, hand_act, steps_check, steps_teardown},
	{"hand: journal", journal_setup, journal_act, journal_check, journal_teardown},
	{0},
};
