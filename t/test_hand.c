/* SPDX-License-Identifier: Apache-2.0
 *
 * What the hand does and refuses, on this machine's own cgroups. How it lives and dies is
 * in test_hand_life.c. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "hw/hand/wire.h"
#include "t/lib/hand_rig.h"

static void set_and_restore(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	const char *group = rig_path(rig, "a");
	char first[256];
	struct rig_answer a;

	rig_make(rig, group);
	snprintf(first, sizeof(first), "%s", rig_read(rig, group, NEAP_KEY_CPU_SHARES));
	rig_start(rig);
	a = rig_ask(rig, NEAP_HAND_SET, group, NEAP_KEY_CPU_SHARES, "300", -1);
	assert_int_equal(a.errnum, 0);
	assert_string_equal(a.old_value, first);
	assert_string_equal(a.new_value, "300");
	assert_string_equal(a.group, group);
	assert_string_equal(rig_read(rig, group, NEAP_KEY_CPU_SHARES), "300");
	a = rig_ask(rig, NEAP_HAND_SET, group, NEAP_KEY_CPU_SHARES, "400", -1);
	assert_string_equal(a.old_value, "300");

	a = rig_ask(rig, NEAP_HAND_LIST, NULL, 0, NULL, -1);
	assert_int_equal(a.op, NEAP_HAND_ENTRY);
	assert_string_equal(a.old_value, first);
	assert_string_equal(a.new_value, "400");
	assert_int_equal(a.key, NEAP_KEY_CPU_SHARES);
	assert_int_equal(rig_next(rig).op, NEAP_HAND_LIST);

	a = rig_ask(rig, NEAP_HAND_RESTORE, group, NEAP_KEY_CPU_SHARES, NULL, -1);
	assert_int_equal(a.errnum, 0);
	assert_string_equal(a.new_value, first);
	assert_string_equal(rig_read(rig, group, NEAP_KEY_CPU_SHARES), first);
	assert_int_equal(rig_ask(rig, NEAP_HAND_LIST, NULL, 0, NULL, -1).op,
			 NEAP_HAND_LIST);
	/* Nothing noted: nothing to do. */
	a = rig_ask(rig, NEAP_HAND_RESTORE, group, NEAP_KEY_CPU_SHARES, NULL, -1);
	assert_int_equal(a.errnum, 0);
}

/* Every form of text must find its way back, also the ones that print differently than
 * they write. */
static void restores_forms(void **state)
{
	static const struct {
		enum neap_key key;
		const char *v1, *v2; /* NULL: not there */
	} rows[] = {
		{NEAP_KEY_CPU_MAX_MILLI, "50000", "50000 100000"},
		{NEAP_KEY_CPU_BURST_USEC, "0", "0"},
		{NEAP_KEY_CPUSET_CPUS, "0", "0"},
		{NEAP_KEY_CPUSET_MEMS, "0", "0"},
		{NEAP_KEY_MEMORY_MAX_BYTES, "104857600", "104857600"},
		{NEAP_KEY_MEMORY_HIGH_BYTES, NULL, "104857600"},
		{NEAP_KEY_CPU_SHARES, "77", "77"},
		{NEAP_KEY_CPU_IDLE, "1", "1"},
	};
	struct hand_rig *rig = hand_rig_of(state);
	const char *group = rig_path(rig, "forms");
	char first[NEAP_ARRAY_LEN(rows)][256];
	bool done[NEAP_ARRAY_LEN(rows)] = {0};
	struct rig_answer a;
	size_t i;

	rig_make(rig, group);
	rig_start(rig);
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		bool v2 = false;
		const char *text;

		if (!neap_cgroup_file(&rig->cgroup, rows[i].key, NULL, &v2))
			continue;
		text = v2 ? rows[i].v2 : rows[i].v1;
		snprintf(first[i], sizeof(first[i]), "%s",
			 rig_read(rig, group, rows[i].key));
		if (!text || strcmp(first[i], "unreadable") == 0)
			continue;
		a = rig_ask(rig, NEAP_HAND_SET, group, rows[i].key, text, -1);
		if (a.errnum)
			fail_msg("%s: %d %s", neap_key_get(rows[i].key)->name, a.errnum,
				 a.text);
		assert_string_equal(a.new_value, text);
		done[i] = true;
	}
	a = rig_ask(rig, NEAP_HAND_GIVE_BACK, NULL, 0, NULL, -1);
	assert_string_equal(a.text, "");
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		if (done[i])
			assert_string_equal(rig_read(rig, group, rows[i].key), first[i]);
	assert_int_equal(rig_ask(rig, NEAP_HAND_LIST, NULL, 0, NULL, -1).op,
			 NEAP_HAND_LIST);
}

static void refusals(void **state)
{
	static const struct {
		const char *name;
		const char
			*group; /* below the base, or as it is when it begins with '!' */
		enum neap_key key;
		const char *value;
		int errnum;
	} rows[] = {
		{"outside the roots", "!neap-elsewhere", NEAP_KEY_CPU_SHARES, "300",
		 EPERM},
		{"the hierarchy's root", "!", NEAP_KEY_CPU_SHARES, "300", EPERM},
		{"up and out", "a/../../x", NEAP_KEY_CPU_SHARES, "300", EPERM},
		{"absolute", "!/neap", NEAP_KEY_CPU_SHARES, "300", EPERM},
		{"dot", "./a", NEAP_KEY_CPU_SHARES, "300", EPERM},
		{"twice a slash", "a//b", NEAP_KEY_CPU_SHARES, "300", EPERM},
		{"out of range", "a", NEAP_KEY_CPU_IDLE, "2", EPERM},
		{"no number", "a", NEAP_KEY_CPU_IDLE, "yes", EPERM},
		{"two lines", "a", NEAP_KEY_CPU_IDLE, "1\n0", EPERM},
		{"octal", "a", NEAP_KEY_CPU_SHARES, "010", EPERM},
		{"a blank before it", "a", NEAP_KEY_CPU_SHARES, " 10", EPERM},
		{"a negative limit", "a", NEAP_KEY_MEMORY_MAX_BYTES, "-5", EPERM},
		{"no list", "a", NEAP_KEY_CPUSET_CPUS, "0-x", EPERM},
		{"gone", "nowhere", NEAP_KEY_CPU_SHARES, "300", ENOENT},
		{"idle on a root", "!BASE", NEAP_KEY_CPU_IDLE, "1", EPERM},
		{"idle on a class", "kubepods/besteffort", NEAP_KEY_CPU_IDLE, "1", EPERM},
		{"idle on a kubelet's root", "kubepods", NEAP_KEY_CPU_IDLE, "1", EPERM},
		{"idle on a slice", "kubepods.slice/kubepods-besteffort.slice",
		 NEAP_KEY_CPU_IDLE, "1", EPERM},
		{"idle on a nested slice",
		 "x.slice/x-kubepods.slice/x-kubepods-burstable.slice", NEAP_KEY_CPU_IDLE,
		 "1", EPERM},
		{"idle on a pod", "kubepods/besteffort/pod1", NEAP_KEY_CPU_IDLE, "1",
		 ENOENT},
		{"shares of a class", "kubepods/besteffort", NEAP_KEY_CPU_SHARES, "300",
		 ENOENT},
	};
	struct hand_rig *rig = hand_rig_of(state);
	struct neap_hand_request bad = {1, NEAP_HAND_SET, "x", (enum neap_key)200, "1",
					-1};
	struct rig_answer a;
	size_t i;

	rig_make(rig, rig_path(rig, "a"));
	rig_start(rig);
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const char *group = rows[i].group[0] == '!'
					    ? rows[i].group + 1
					    : rig_path(rig, rows[i].group);

		if (strcmp(group, "BASE") == 0)
			group = rig->base;
		a = rig_ask(rig, NEAP_HAND_SET, group, rows[i].key, rows[i].value, -1);
		if (a.errnum != rows[i].errnum || !*a.text)
			fail_msg("%s: errnum %d, '%s'", rows[i].name, a.errnum, a.text);
	}
	assert_int_equal(neap_hand_add(rig->hand, &bad, NULL), -NEAP_EINVAL);
	assert_int_equal(rig_ask(rig, NEAP_HAND_LIST, NULL, 0, NULL, -1).op,
			 NEAP_HAND_LIST);
	/* A refusal by the kernel is its own errno, and leaves no entry. */
	a = rig_ask(rig, NEAP_HAND_SET, rig_path(rig, "a"), NEAP_KEY_CPUSET_CPUS, "4000",
		    -1);
	assert_true(a.errnum != 0 && a.errnum != EPERM);
	assert_int_equal(rig_ask(rig, NEAP_HAND_LIST, NULL, 0, NULL, -1).op,
			 NEAP_HAND_LIST);
	/* Only below its own root does it make, remove and move. */
	assert_int_equal(
		rig_ask(rig, NEAP_HAND_MAKE, rig_path(rig, "b"), 0, NULL, -1).errnum,
		EPERM);
	assert_int_equal(
		rig_ask(rig, NEAP_HAND_REMOVE, rig_path(rig, "a"), 0, NULL, -1).errnum,
		EPERM);
	assert_int_equal(
		rig_ask(rig, NEAP_HAND_MOVE, rig_path(rig, "a"), 0, NULL, 0).errnum,
		EPERM);
	assert_int_equal(rig_ask(rig, NEAP_HAND_MOVE, rig->own, 0, NULL, 0).errnum,
			 EPERM);
}

/* Bytes past the client's checks, as a loop that was taken over could send them. */
static void raw_messages(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	struct neap_hand_request request = {
		9, NEAP_HAND_SET, rig_path(rig, "a"), NEAP_KEY_CPU_IDLE, "0", -1};
	unsigned char msg[NEAP_WIRE_MAX];
	size_t len = 0;
	size_t i;

	rig_make(rig, request.group);
	rig_start(rig);
	assert_int_equal(neap_wire_format_request(&request, msg, sizeof(msg), &len, NULL),
			 0);
	for (i = 1; i < len; i += 7) {
		assert_int_equal(send(neap_hand_fd(rig->hand), msg, i, 0), i);
		assert_int_equal(rig_next(rig).errnum, EBADMSG);
	}
	(void)send(neap_hand_fd(rig->hand), msg, 0, 0);
	msg[4] = NEAP_HAND_MOVE; /* a move with a value and without a descriptor */
	assert_int_equal(send(neap_hand_fd(rig->hand), msg, len, 0), len);
	assert_int_equal(rig_next(rig).errnum, EBADMSG);
	assert_int_equal(rig_ask(rig, NEAP_HAND_LIST, NULL, 0, NULL, -1).op,
			 NEAP_HAND_LIST);
}

static void freeze(void **state)
{
	static const struct {
		enum neap_hand_op op;
		const char *value;
	} held[] = {{NEAP_HAND_SET, "500"},
		    {NEAP_HAND_RESTORE, NULL},
		    {NEAP_HAND_MAKE, NULL},
		    {NEAP_HAND_REMOVE, NULL},
		    {NEAP_HAND_MOVE, NULL}};
	struct hand_rig *rig = hand_rig_of(state);
	const char *group = rig_path(rig, "a");
	struct rig_answer a;
	size_t i;

	rig_make(rig, group);
	rig_start(rig);
	assert_int_equal(
		rig_ask(rig, NEAP_HAND_SET, group, NEAP_KEY_CPU_SHARES, "300", -1).errnum,
		0);
	assert_int_equal(rig_ask(rig, NEAP_HAND_FREEZE, NULL, 0, NULL, -1).errnum, 0);
	assert_true(rig_has_file(rig, "freeze"));
	for (i = 0; i < NEAP_ARRAY_LEN(held); i++) {
		a = rig_ask(rig, held[i].op, group, NEAP_KEY_CPU_SHARES, held[i].value,
			    0);
		assert_int_equal(a.errnum, EBUSY);
		assert_string_equal(a.text, "frozen");
	}
	assert_string_equal(rig_read(rig, group, NEAP_KEY_CPU_SHARES), "300");
	/* Explicitly all the same. */
	assert_int_equal(rig_ask(rig, NEAP_HAND_GIVE_BACK, NULL, 0, NULL, -1).errnum, 0);
	assert_string_not_equal(rig_read(rig, group, NEAP_KEY_CPU_SHARES), "300");
	assert_int_equal(rig_ask(rig, NEAP_HAND_RESUME, NULL, 0, NULL, -1).errnum, 0);
	assert_false(rig_has_file(rig, "freeze"));
	assert_int_equal(
		rig_ask(rig, NEAP_HAND_SET, group, NEAP_KEY_CPU_SHARES, "300", -1).errnum,
		0);
}

/* A child that connects to a unix socket; the accepted end. */
static int child_connect(const struct hand_rig *rig, int *ret_pid)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd;

	snprintf(name.sun_path, sizeof(name.sun_path), "%.80s/s", rig->config.run_dir);
	(void)unlink(name.sun_path);
	assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen(listener, 1), 0);
	*ret_pid = fork();
	if (*ret_pid == 0) {
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		if (connect(fd, (struct sockaddr *)&name, sizeof(name)) == 0)
			for (;;)
				(void)pause();
		_exit(1);
	}
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	close(listener);
	return fd;
}

static void moves(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	char group[NEAP_PATH_MAX];
	struct rig_answer a;
	int pair[2];
	int pid, fd;

	snprintf(group, sizeof(group), "%.100s/besteffort/w1", rig->own);
	rig_start(rig);
	a = rig_ask(rig, NEAP_HAND_MAKE, group, 0, NULL, -1);
	assert_string_equal(a.text, "");
	assert_true(rig_exists(rig, group));
	fd = child_connect(rig, &pid);
	a = rig_ask(rig, NEAP_HAND_MOVE, group, 0, NULL, fd);
	assert_string_equal(a.text, "");
	assert_int_equal(a.pid, pid);
	assert_true(rig_has_pid(rig, group, pid));
	/* Someone is inside. */
	assert_int_equal(rig_ask(rig, NEAP_HAND_REMOVE, group, 0, NULL, -1).errnum,
			 EBUSY);
	/* An ordinary give back is about values only. */
	assert_int_equal(rig_ask(rig, NEAP_HAND_GIVE_BACK, NULL, 0, NULL, -1).errnum, 0);
	assert_true(rig_has_pid(rig, group, pid));

	kill(pid, SIGKILL);
	assert_true(rig_wait(pid) >= 0);
	assert_int_equal(rig_ask(rig, NEAP_HAND_MOVE, group, 0, NULL, fd).errnum, ESRCH);
	close(fd);
	assert_int_equal(rig_ask(rig, NEAP_HAND_REMOVE, group, 0, NULL, -1).errnum, 0);
	assert_false(rig_exists(rig, group));

	/* Not the daemon itself, not by something that is no socket. */
	rig_ask(rig, NEAP_HAND_MAKE, group, 0, NULL, -1);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(rig_ask(rig, NEAP_HAND_MOVE, group, 0, NULL, pair[0]).errnum,
			 EPERM);
	close(pair[0]);
	close(pair[1]);
	assert_int_equal(
		rig_ask(rig, NEAP_HAND_MOVE, group, 0, NULL, rig->bystander).errnum,
		EPERM);
	fd = child_connect(rig, &pid);
	assert_int_equal(
		rig_ask(rig, NEAP_HAND_MOVE, rig_path(rig, "own/none"), 0, NULL, fd)
			.errnum,
		ENOENT);
	close(fd);
}

/* At the hand's end a process goes back to where it was found, and what neap made
 * goes. */
static void moves_back(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	const char *home = rig_path(rig, "home");
	const char *group = rig_path(rig, "own/w");
	int pid, fd;

	rig_make(rig, home);
	rig_start(rig);
	fd = child_connect(rig, &pid);
	assert_int_equal(neap_cgroup_move(&rig->cgroup, home, pid, NULL), 0);
	assert_int_equal(rig_ask(rig, NEAP_HAND_MAKE, group, 0, NULL, -1).errnum, 0);
	assert_int_equal(rig_ask(rig, NEAP_HAND_MOVE, group, 0, NULL, fd).errnum, 0);
	assert_true(rig_has_pid(rig, group, pid));
	kill(neap_hand_pid(rig->hand), SIGTERM);
	assert_int_equal(rig_wait(neap_hand_pid(rig->hand)), 0);
	assert_true(rig_has_pid(rig, home, pid));
	assert_false(rig_exists(rig, rig->own));
	close(fd);
}

static void groups_vanish(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	const char *group = rig_path(rig, "v");
	struct rig_answer a;

	rig_make(rig, group);
	rig_start(rig);
	rig_ask(rig, NEAP_HAND_SET, group, NEAP_KEY_CPU_SHARES, "300", -1);
	rig_remove(rig, group);
	a = rig_ask(rig, NEAP_HAND_SET, group, NEAP_KEY_CPU_SHARES, "400", -1);
	assert_int_equal(a.errnum, ENOENT);
	assert_int_equal(rig_ask(rig, NEAP_HAND_LIST, NULL, 0, NULL, -1).op,
			 NEAP_HAND_LIST);

	/* The same name, another group: what was found in the old one is none of its
	 * business. */
	rig_make(rig, group);
	rig_ask(rig, NEAP_HAND_SET, group, NEAP_KEY_CPU_SHARES, "300", -1);
	rig_remove(rig, group);
	rig_make(rig, group);
	assert_int_equal(rig_write(rig, group, NEAP_KEY_CPU_SHARES, "555"), 0);
	a = rig_ask(rig, NEAP_HAND_RESTORE, group, NEAP_KEY_CPU_SHARES, NULL, -1);
	assert_int_equal(a.errnum, 0);
	assert_string_equal(rig_read(rig, group, NEAP_KEY_CPU_SHARES), "555");

	rig_ask(rig, NEAP_HAND_SET, group, NEAP_KEY_CPU_SHARES, "300", -1);
	rig_remove(rig, group);
	rig_make(rig, group);
	assert_int_equal(rig_write(rig, group, NEAP_KEY_CPU_SHARES, "666"), 0);
	a = rig_ask(rig, NEAP_HAND_SET, group, NEAP_KEY_CPU_SHARES, "301", -1);
	assert_string_equal(a.old_value, "666");
	rig_ask(rig, NEAP_HAND_RESTORE, group, NEAP_KEY_CPU_SHARES, NULL, -1);
	assert_string_equal(rig_read(rig, group, NEAP_KEY_CPU_SHARES), "666");

	rig_ask(rig, NEAP_HAND_SET, group, NEAP_KEY_CPU_SHARES, "300", -1);
	rig_remove(rig, group);
	assert_int_equal(
		rig_ask(rig, NEAP_HAND_RESTORE, group, NEAP_KEY_CPU_SHARES, NULL, -1)
			.errnum,
		0);
}

/* Leaving idle resets the shares, in the kernel; they must be as before all the same. */
static void idle_keeps_shares(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	const char *group = rig_path(rig, "i");

	rig_make(rig, group);
	if (rig_write(rig, group, NEAP_KEY_CPU_IDLE, "0") < 0) {
		print_message("SKIP no cpu.idle on this kernel\n");
		skip();
	}
	assert_int_equal(rig_write(rig, group, NEAP_KEY_CPU_SHARES, "700"), 0);
	rig_start(rig);
	assert_int_equal(
		rig_ask(rig, NEAP_HAND_SET, group, NEAP_KEY_CPU_IDLE, "1", -1).errnum, 0);
	assert_int_equal(
		rig_ask(rig, NEAP_HAND_RESTORE, group, NEAP_KEY_CPU_IDLE, NULL, -1)
			.errnum,
		0);
	assert_string_equal(rig_read(rig, group, NEAP_KEY_CPU_SHARES), "700");
	assert_string_equal(rig_read(rig, group, NEAP_KEY_CPU_IDLE), "0");
	assert_int_equal(rig_ask(rig, NEAP_HAND_LIST, NULL, 0, NULL, -1).op,
			 NEAP_HAND_LIST);
}

/* v1: a group that is in one hierarchy only keeps what was set there, whatever is asked
 * of others. */
static void half_a_group(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	const struct neap_cgroup_mount *cpuset = &rig->cgroup.mount[NEAP_CTL_CPUSET];
	const char *group = rig_path(rig, "half");
	char path[1024];

	if (strcmp(cpuset->path, rig->cgroup.mount[NEAP_CTL_CPU].path) == 0) {
		print_message("SKIP cpu and cpuset apart: not on this kernel\n");
		skip();
	}
	rig_make(rig, group);
	(void)snprintf(path, sizeof(path), "%s/%s", cpuset->path, group);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rig_write(rig, group, NEAP_KEY_CPU_SHARES, "700"), 0);
	rig_start(rig);
	assert_int_equal(
		rig_ask(rig, NEAP_HAND_SET, group, NEAP_KEY_CPU_SHARES, "300", -1).errnum,
		0);
	assert_int_equal(
		rig_ask(rig, NEAP_HAND_SET, group, NEAP_KEY_CPUSET_CPUS, "0", -1).errnum,
		ENOENT);
	assert_int_equal(rig_ask(rig, NEAP_HAND_GIVE_BACK, NULL, 0, NULL, -1).errnum, 0);
	assert_string_equal(rig_read(rig, group, NEAP_KEY_CPU_SHARES), "700");
}

/* The client never waits: a hand that is stopped costs the queue's end, then an error. */
static void queue_is_bounded(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	struct neap_hand_request request = {1, NEAP_HAND_LIST, NULL, 0, NULL, -1};
	struct neap_error err = {0};
	int added = 0;

	rig_start(rig);
	kill(neap_hand_pid(rig->hand), SIGSTOP);
	while (added < 100000 && neap_hand_add(rig->hand, &request, &err) == 0) {
		added++;
		assert_true(neap_hand_flush(rig->hand, &err) >= 0);
	}
	assert_int_equal(err.code, NEAP_EUNAVAILABLE);
	assert_int_equal(neap_hand_flush(rig->hand, &err), 0);
	kill(neap_hand_pid(rig->hand), SIGCONT);
	while (added--)
		assert_int_equal(rig_next(rig).op, NEAP_HAND_LIST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(set_and_restore, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(restores_forms, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(refusals, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(raw_messages, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(freeze, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(moves, hand_rig_setup, hand_rig_teardown),
		cmocka_unit_test_setup_teardown(moves_back, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(groups_vanish, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(idle_keeps_shares, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(half_a_group, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(queue_is_bounded, hand_rig_setup,
						hand_rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
