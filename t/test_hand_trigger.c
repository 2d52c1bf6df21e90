/* SPDX-License-Identifier: Apache-2.0
 *
 * Pressure triggers through the hand, on this machine's own kernel: the descriptor
 * arrives, it tells of a stall and of the end of its group, and what is not allowed is
 * refused. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "t/lib/hand_rig.h"

#define WINDOW "cpu some 50000 500000"

static struct hand_rig *rig_of(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);

	if (access("/proc/pressure/cpu", F_OK) < 0) {
		print_message("SKIP no /proc/pressure/cpu on this kernel\n");
		skip();
	}
	return rig;
}

static struct rig_answer trigger(struct hand_rig *rig, const char *group,
				 const char *value)
{
	return rig_ask(rig, NEAP_HAND_TRIGGER, group, 0, value, -1);
}

/* The events within ms, 0 when there are none. */
static uint32_t events_of(int fd, int ms)
{
	struct epoll_event event = {.events = EPOLLPRI};
	int leaf = epoll_create1(EPOLL_CLOEXEC);

	assert_true(leaf >= 0);
	assert_int_equal(epoll_ctl(leaf, EPOLL_CTL_ADD, fd, &event), 0);
	event.events = 0;
	(void)epoll_wait(leaf, &event, 1, ms);
	close(leaf);
	return event.events;
}

/* More processes in group than there are CPUs. */
static void burn(struct hand_rig *rig, const char *group, int pids[], int count)
{
	struct neap_error err = {0};
	int i;

	for (i = 0; i < count; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			for (;;)
				;
		assert_int_equal(neap_cgroup_move(&rig->cgroup, group, pids[i], &err), 0);
	}
}

static void put_out(const int pids[], int count)
{
	int i;

	for (i = 0; i < count; i++) {
		kill(pids[i], SIGKILL);
		(void)waitpid(pids[i], NULL, 0);
	}
}

static void tells_of_a_stall(void **state)
{
	struct hand_rig *rig = rig_of(state);
	const char *group = rig_path(rig, "stall");
	/* Twice as many as CPUs: the kernel's figure is an average over the CPUs that are
	 * in use. */
	int count = 2 * (int)sysconf(_SC_NPROCESSORS_ONLN);
	int pids[512];
	struct rig_answer a;

	if (count > 512)
		count = 512;
	rig_make(rig, group);
	rig_start(rig);
	a = trigger(rig, group, WINDOW);
	if (a.errnum == EOPNOTSUPP || a.errnum == EPERM) {
		print_message("SKIP %s\n", a.text);
		skip();
	}
	assert_int_equal(a.errnum, 0);
	assert_true(a.fd >= 0);
	/* In full or, without CAP_SYS_RESOURCE, in a window of 2 s with a stall to
	 * match. */
	if (strncmp(a.text, "coarse", 6) == 0) {
		assert_string_equal(a.new_value, "cpu some 200000 2000000");
	} else {
		assert_string_equal(a.text, "");
		assert_string_equal(a.new_value, WINDOW);
	}
	assert_int_equal(events_of(a.fd, 100), 0);
	burn(rig, group, pids, count);
	assert_true((events_of(a.fd, 20000) & EPOLLPRI) != 0);
	put_out(pids, count);
	/* The group goes: an error, and it stays. */
	rig_remove(rig, group);
	assert_true((events_of(a.fd, 5000) & EPOLLERR) != 0);
	assert_true((events_of(a.fd, 0) & EPOLLERR) != 0);
	close(a.fd);
	assert_int_equal(trigger(rig, group, WINDOW).errnum, ENOENT);
}

static int open_in(int pid)
{
	char path[64];
	DIR *list;
	int count = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	list = opendir(path);
	assert_non_null(list);
	while (readdir(list))
		count++;
	closedir(list);
	return count;
}

static void of_the_node(void **state)
{
	struct hand_rig *rig = rig_of(state);
	struct rig_answer a;
	int i, before;

	rig_start(rig);
	before = open_in(neap_hand_pid(rig->hand));
	for (i = 0; i < 20; i++) {
		a = trigger(rig, "", "memory full 100000 2000000");
		if (a.errnum == EPERM) {
			print_message("SKIP %s\n", a.text);
			skip();
		}
		assert_int_equal(a.errnum, 0);
		assert_string_equal(a.text, "");
		assert_true(a.fd >= 0);
		close(a.fd);
	}
	/* The hand keeps none of them: all are closed when the next question is
	 * answered. */
	assert_int_equal(rig_ask(rig, NEAP_HAND_LIST, NULL, 0, NULL, -1).errnum, 0);
	assert_int_equal(open_in(neap_hand_pid(rig->hand)), before);
}

static const struct {
	const char *name, *group, *value;
	int errnum;
} refused[] = {
	{"outside", "other", WINDOW, EPERM},
	{"above", "..", WINDOW, EPERM},
	{"absolute", "/proc/pressure", WINDOW, EPERM},
	{"window too short", "", "cpu some 1 499999", EPERM},
	{"stall over the window", "", "cpu some 500001 500000", EPERM},
	{"other file", "", "../uptime some 1 500000", EPERM},
	{"no trigger", "", "x", EPERM},
	{"nothing", "", "", EPERM},
};

static void refusals(void **state)
{
	struct hand_rig *rig = rig_of(state);
	size_t i;

	rig_start(rig);
	for (i = 0; i < NEAP_ARRAY_LEN(refused); i++) {
		struct rig_answer a = trigger(rig, refused[i].group, refused[i].value);

		if (a.errnum != refused[i].errnum || a.fd >= 0 || !a.text[0])
			fail_msg("%s: %d, '%s'", refused[i].name, a.errnum, a.text);
	}
	assert_int_equal(trigger(rig, rig_path(rig, "none"), WINDOW).errnum, ENOENT);
	/* A freeze does not concern them: nothing is written. */
	assert_int_equal(rig_ask(rig, NEAP_HAND_FREEZE, NULL, 0, NULL, -1).errnum, 0);
	assert_int_equal(trigger(rig, rig_path(rig, "none"), WINDOW).errnum, ENOENT);
}

/* Answers that nobody fetched, with their descriptors, go with the client. */
static void unfetched(void **state)
{
	struct hand_rig *rig = rig_of(state);
	struct neap_hand_request request = {
		1, NEAP_HAND_TRIGGER, "", 0, "memory some 100000 2000000", -1};
	struct neap_error err = {0};
	int i;

	rig_start(rig);
	for (i = 0; i < 50; i++)
		assert_int_equal(neap_hand_add(rig->hand, &request, &err), 0);
	/* The first is taken off, the others arrive and are left. */
	assert_int_equal(rig_next(rig).op, NEAP_HAND_TRIGGER);
	rig_sleep_ms(50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tells_of_a_stall, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(of_the_node, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(refusals, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(unfetched, hand_rig_setup,
						hand_rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
