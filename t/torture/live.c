/* SPDX-License-Identifier: Apache-2.0
 *
 * Live policies: every way in which one may change, on the loop and on the policy thread.
 * Whatever failed, the version before or the new one acts, memory and disk agree, and the
 * next change goes through. */
#include <event2/event.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/policy/folder.h"
#include "engine/base/mem.h"
#include "t/lib/live_rig.h"
#include "t/torture/torture.h"

static struct live_rig *open_with(bool has_dir, const char *script)
{
	void *state = NULL;
	struct live_rig *rig;
	struct neap_error err = {0};

	if (live_setup(&state) < 0)
		torture_fail("no rig");
	rig = state;
	rig->has_dir = has_dir;
	if (live_start(rig, &err) < 0)
		torture_fail("%s", err.msg);
	live_play(rig, "one", script);
	return rig;
}

/* Of the policy "one". */
static char history_before[8192];

static void read_history(const struct live_rig *rig, char *to, size_t size)
{
	char path[160];
	ssize_t len = -1;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/qos/one/" NEAP_FILE_HISTORY, rig->dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, to, size - 1);
		(void)close(fd);
	}
	to[len > 0 ? len : 0] = '\0';
}

static void *setup(void)
{
	struct live_rig *rig = open_with(false, "+C +A p300");

	read_history(rig, history_before, sizeof(history_before));
	return rig;
}

static void teardown(void *state)
{
	(void)live_teardown(&state);
}

/* What came of a change that was asked for. */
static int answer(struct live_rig *rig, int rc, struct neap_error *err)
{
	live_settle(rig);
	if (rc < 0)
		return rc;
	if (rig->answer.calls != 1)
		torture_fail("%d answers", rig->answer.calls);
	if (rig->answer.err.code != NEAP_OK) {
		*err = rig->answer.err;
		return -(int)err->code;
	}
	torture_tell("%d %s", rig->answer.status, rig->answer.version);
	return 0;
}

static int put(struct live_rig *rig, char letter, bool is_dry, bool is_shadow,
	       struct neap_error *err)
{
	struct neap_live_change change = live_change(rig, "one");
	const char *text = live_text("one", letter);

	change.is_dry_run = is_dry;
	change.is_shadow = is_shadow;
	return answer(rig, neap_live_put(rig->live, &change, text, strlen(text), err),
		      err);
}

static int put_act(void *rig, struct neap_error *err)
{
	return put(rig, 'B', false, false, err);
}

static int dry_act(void *rig, struct neap_error *err)
{
	return put(rig, 'B', true, false, err);
}

static int shadow_act(void *state, struct neap_error *err)
{
	int rc = put(state, 'B', false, true, err);

	live_tick(state);
	return rc;
}

static int delete_act(void *state, struct neap_error *err)
{
	struct live_rig *rig = state;
	struct neap_live_change change = live_change(rig, "one");

	return answer(rig, neap_live_delete(rig->live, &change, err), err);
}

static int rollback_act(void *state, struct neap_error *err)
{
	struct live_rig *rig = state;
	struct neap_live_change change = live_change(rig, "one");

	return answer(rig, neap_live_rollback(rig->live, &change, "", err), err);
}

static int params_act(void *state, struct neap_error *err)
{
	struct live_rig *rig = state;
	struct neap_live_change change = live_change(rig, "one");
	json_t *params = json_pack("{s:i}", "milli", 500);
	int rc = params != NULL ? neap_live_set_params(rig->live, &change, params, err)
				: neap_error_nomem(err);

	json_decref(params);
	return answer(rig, rc, err);
}

static int versions_act(void *state, struct neap_error *err)
{
	struct live_rig *rig = state;
	struct neap_live_change change = live_change(rig, "one");

	return answer(rig, neap_live_list_versions(rig->live, &change, "", err), err);
}

/* What stood before stands still, or the new one does, in memory and on disk. */
static void check(struct live_rig *rig, int rc, const char *before, const char *after)
{
	const char *is = live_state(rig, "one");
	char history[sizeof(history_before)];

	read_history(rig, history, sizeof(history));
	if (strncmp(history, history_before, strlen(history_before)) != 0)
		torture_fail("the history was:\n%s\nand is:\n%s", history_before,
			     history);
	if (strcmp(is, rc < 0 ? before : after) != 0)
		torture_fail("it is %s and not %s", is, rc < 0 ? before : after);
	if (live_active(rig, "one") != (is[0] == '-' ? '-' : is[1]))
		torture_fail("in memory it is %s, on disk %c", is,
			     live_active(rig, "one"));
	if (rig->live->waiting != 0)
		torture_fail("%d changes wait", (int)rig->live->waiting);
	live_play(rig, "one", "+D:uD* R:uD +E:uE* <D:uD*");
}

static void put_check(void *rig, int rc)
{
	check(rig, rc, "uA*", "uB*");
}

static void same_check(void *rig, int rc)
{
	check(rig, rc, "uA*", "uA*");
}

static void delete_check(void *rig, int rc)
{
	check(rig, rc, "uA*", "-");
}

static void rollback_check(void *rig, int rc)
{
	check(rig, rc, "uA*", "uC*");
}

static void params_check(void *state, int rc)
{
	struct live_rig *rig = state;
	int64_t is = live_milli(rig), was = rc < 0 ? 300 : 500;

	/* Where there is no memory either to take it back, the log says so, and the next
	 * start does. */
	if (is != was && strstr(live_log(rig), "stay as they are") == NULL)
		torture_fail("milli is %d and not %d:\n%s", (int)is, (int)was,
			     live_log(rig));
	live_play(rig, "one", "R");
	if (live_milli(rig) != was)
		torture_fail("after a restart milli is %d and not %d",
			     (int)live_milli(rig), (int)was);
	check(rig, rc, "uA", "uA");
}

/* --- a policy that fails --- */

static int fail_act(void *state, struct neap_error *err)
{
	struct live_rig *rig = state;
	int i;

	(void)err;
	rig->sample.capacity_milli = live_bit('A');
	for (i = 0; i < NEAP_POLICY_FAULTS_MAX; i++)
		live_tick(rig);
	live_settle(rig);
	rig->sample.capacity_milli = 0;
	return 0;
}

/* Its predecessor acts, or nothing does and it says so. A call for which there was no
 * memory is no fault of the script, so it may need one more. */
static void fail_check(void *state, int rc)
{
	struct live_rig *rig = state;
	const char *is = live_state(rig, "one");

	(void)rc;
	if (strcmp(is, "uA*") == 0) {
		live_play(rig, "one", "!A");
		is = live_state(rig, "one");
	}
	if (strcmp(is, "uC*") != 0 && strcmp(is, "uC") != 0 && strcmp(is, "uA*!") != 0)
		torture_fail("it is %s", is);
	live_play(rig, "one", "+D:uD*");
}

/* --- the watched directory --- */

static void *dir_setup(void)
{
	return open_with(true, "dA:dA*");
}

static int file_act(void *rig, struct neap_error *err)
{
	(void)err;
	live_file(rig, "one.lua", live_text("one", 'B'));
	return 0;
}

static int gone_act(void *rig, struct neap_error *err)
{
	(void)err;
	live_file(rig, "one.lua", NULL);
	return 0;
}

/* It is taken at the next look, or the log says that it was left. */
static void check_said(struct live_rig *rig, const char *is)
{
	neap_live_look(rig->live);
	live_settle(rig);
	if (strcmp(live_state(rig, "one"), is) == 0 &&
	    strstr(live_log(rig), "memory") == NULL)
		torture_fail("it stays %s, and the log does not say why:\n%s", is,
			     live_log(rig));
}

/* What was not taken is when it changes next, and the log says so. */
static void file_check(void *state, int rc)
{
	struct live_rig *rig = state;
	char is[8];

	(void)rc;
	(void)neap_strcopy(is, sizeof(is), live_state(rig, "one"));
	if (strcmp(is, "dA*") != 0 && strcmp(is, "dB*") != 0)
		torture_fail("it is %s", is);
	if (is[1] == 'A')
		check_said(rig, is);
	live_play(rig, "one", "dC:dC* d-:- +D:uD*");
}

static void gone_check(void *state, int rc)
{
	struct live_rig *rig = state;
	char is[8];

	(void)rc;
	(void)neap_strcopy(is, sizeof(is), live_state(rig, "one"));
	if (strcmp(is, "-") != 0 && strcmp(is, "dA*") != 0)
		torture_fail("it is %s", is);
	if (is[0] != '-')
		check_said(rig, is);
	live_play(rig, "one", "dC:dC* d-:-");
}

/* --- the start --- */

static void *start_setup(void)
{
	struct live_rig *rig = open_with(false, "cD +C +A p300");

	live_stop(rig);
	return rig;
}

static int start_act(void *state, struct neap_error *err)
{
	struct live_rig *rig = state;
	int rc = live_start(rig, err);

	if (rc == 0)
		torture_tell("%s", live_state(rig, "one"));
	return rc;
}

/* The next start finds all that was there. */
static void start_check(void *state, int rc)
{
	struct live_rig *rig = state;

	(void)rc;
	live_play(rig, "one", "R:uA +B:uB* R:uB <A:uA*");
	if (live_milli(rig) != 300)
		torture_fail("milli is %d and not 300", (int)live_milli(rig));
}

/* --- figures --- */

static int rows_act(void *state, struct neap_error *err)
{
	struct live_rig *rig = state;
	json_t *rows = neap_live_rows(rig->live), *row = NULL, *params = NULL;
	char version[16];
	int rc = rows != NULL ? 0 : neap_error_nomem(err);

	if (rc == 0)
		rc = neap_live_row(rig->live, "qos", "one", &row, version, err);
	if (rc == 0)
		rc = neap_live_params(rig->live, "qos", "one", &params, version, err);
	if (rc == 0)
		torture_tell("%zu %zu %zu", json_array_size(rows), json_object_size(row),
			     json_object_size(params));
	json_decref(rows);
	json_decref(row);
	json_decref(params);
	return rc;
}

const struct torture torture_live[] = {
	{"live: put", setup, put_act, put_check, teardown},
	{"live: dry run", setup, dry_act, same_check, teardown},
	{"live: shadow", setup, shadow_act, same_check, teardown},
	{"live: delete", setup, delete_act, delete_check, teardown},
	{"live: rollback", setup, rollback_act, rollback_check, teardown},
	{"live: parameters", setup, params_act, params_check, teardown},
	{"live: versions", setup, versions_act, same_check, teardown},
	{"live: probation fails", setup, fail_act, fail_check, teardown},
	{"live: a file changes", dir_setup, file_act, file_check, teardown},
	{"live: a file goes", dir_setup, gone_act, gone_check, teardown},
	{"live: start", start_setup, start_act, start_check, teardown},
	{"live: figures", setup, rows_act, same_check, teardown, .is_lossy = true},
	{0},
};
