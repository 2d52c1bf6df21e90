/* SPDX-License-Identifier: Apache-2.0
 *
 * Who outlives whom: loops and keepers that are killed while commands run, commands that
 * leave others behind or fork without end, and a loop that has given up all that a real
 * one gives up. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "hw/jail.h"
#include "hw/keeper/client.h"
#include "t/lib/hand_rig.h"
#include "t/lib/keeper_rig.h"

static const char *why;
static struct hand_rig *hand; /* of the one test that needs it */

static int setup(void **state)
{
	struct keeper_rig *rig = keeper_rig_new(&why);

	if (rig)
		keeper_rig_start(rig);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	if (hand)
		rig_free(hand);
	hand = NULL;
	keeper_rig_free(*state);
	return 0;
}

static struct keeper_rig *rig_of(void **state)
{
	if (!*state) {
		print_message("SKIP %s\n", why);
		skip();
	}
	return *state;
}

static const char *path_of(const struct keeper_rig *rig, const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", rig->base, name);
	return path;
}

/* A process with a keeper and commands of its own, that is then killed. */
static void other_loop(struct keeper_rig *rig, const struct neap_keeper_order *order,
		       enum neap_keeper_what until)
{
	int ready[2], status;
	char byte = 0;
	int pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		struct keeper_seen seen;
		uint64_t id;

		rig->keeper = NULL;
		if (neap_keeper_start(&rig->config, &rig->keeper, NULL) < 0 ||
		    neap_keeper_run(rig->keeper, 1, order, NULL) < 0)
			_exit(1);
		id = 1;
		seen = until == NEAP_KEEPER_WAITING ? keeper_rig_next(rig)
						    : keeper_rig_until(rig, id, until);
		if (seen.event.what == until && write(ready[1], "r", 1) == 1)
			for (;;)
				(void)pause();
		_exit(1);
	}
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(byte, 'r');
}

/* --- loops that come and go --- */

static void killed_loop_is_succeeded(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	struct neap_keeper_order order = keeper_rig_order(
		"lives",
		"while [ ! -e \"$STOP\" ]; do sleep 0.02; done; echo end; exit 6");
	const char *envp[] = {"PATH=/usr/bin:/bin", NULL, NULL};
	char stop[128];
	struct keeper_seen seen;
	uint64_t id;
	int fd;

	(void)snprintf(stop, sizeof(stop), "STOP=%s/stop", rig->base);
	envp[1] = stop;
	order.envp = envp;
	other_loop(rig, &order, NEAP_KEEPER_STARTED);
	id = keeper_rig_attach(rig, "lives");
	seen = keeper_rig_next(rig);
	assert_int_equal(seen.event.what, NEAP_KEEPER_STARTED);
	assert_true(seen.event.pid > 0 && seen.event.started_usec > 0);
	/* A second one is told, too. */
	(void)keeper_rig_attach(rig, "lives");
	assert_int_equal(keeper_rig_next(rig).event.what, NEAP_KEEPER_STARTED);
	fd = open(path_of(rig, "stop"), O_WRONLY | O_CREAT, 0644);
	assert_true(fd >= 0);
	(void)close(fd);
	seen = keeper_rig_next(rig);
	assert_int_equal(seen.event.what, NEAP_KEEPER_ENDED);
	assert_int_equal(seen.event.exit_code, 6);
	seen = keeper_rig_next(rig);
	assert_int_equal(seen.event.what, NEAP_KEEPER_ENDED);
	assert_true(seen.event.id == id || seen.event.id == id + 1);
	assert_string_equal(keeper_rig_printed(rig, "lives", "stdout"), "end\n");
}

static void end_without_a_loop_is_recorded(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	struct neap_keeper_order order = keeper_rig_order("alone", "sleep 0.05; exit 9");
	struct keeper_seen seen;
	char path[256];

	other_loop(rig, &order, NEAP_KEEPER_STARTED);
	(void)snprintf(path, sizeof(path), "%s/p-1/alone/0/exit", rig->config.dir);
	(void)keeper_rig_await(path);
	seen = keeper_rig_until(rig, keeper_rig_attach(rig, "alone"), NEAP_KEEPER_ENDED);
	assert_int_equal(seen.event.what, NEAP_KEEPER_ENDED);
	assert_int_equal(seen.event.exit_code, 9);
	assert_int_equal(seen.event.signo, 0);
	assert_true(seen.event.pid > 0 && seen.event.started_usec > 0 &&
		    seen.event.ended_usec >= seen.event.started_usec);
}

/* A disk that stands still until this file is there, or for half a minute; "": it does
 * not. */
static char disk_waits_for[256];

/* The system's names of parameters are reserved words.
 * NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int fdatasync(int fd)
{
	for (int i = 0; *disk_waits_for && i < 30000; i++) {
		if (access(disk_waits_for, F_OK) == 0)
			break;
		(void)usleep(1000);
	}
	return (int)syscall(SYS_fdatasync, fd);
}

/* Its shim can be spoken to before it waits for the disk: the next loop does not take it
 * for lost meanwhile. */
static void speaks_before_it_writes(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	struct neap_keeper_order order = keeper_rig_order("early", "exit 0");
	struct keeper_seen seen;
	bool is_heard;
	char path[256];

	keeper_rig_stop(rig);
	(void)snprintf(disk_waits_for, sizeof(disk_waits_for), "%s", path_of(rig, "go"));
	keeper_rig_start(rig);
	(void)snprintf(path, sizeof(path), "%s/p-1/early/0/sock", rig->config.dir);
	(void)keeper_rig_run(rig, &order);
	for (int i = 0; i < 10000 && access(path, F_OK) < 0; i++) {
		struct pollfd p = {.fd = neap_keeper_fd(rig->keeper), .events = POLLIN};
		struct neap_keeper_event event;
		struct neap_error err;

		assert_int_equal(neap_keeper_next(rig->keeper, &event, &err), 0);
		(void)poll(&p, 1, 1);
	}
	is_heard = access(path, F_OK) == 0;
	/* Whatever comes out of it, nobody else is to wait for this disk. */
	(void)fclose(fopen(disk_waits_for, "we"));
	*disk_waits_for = '\0';
	assert_true(is_heard);
	seen = keeper_rig_next(rig);
	assert_int_equal(seen.event.what, NEAP_KEEPER_WAITING);
}

/* Who ordered it died before GO: nothing runs until somebody else says so. */
static void waits_for_the_next_loop(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	struct neap_keeper_order order = keeper_rig_order("patient", "echo ran; exit 4");
	struct neap_keeper_event event;
	struct neap_error err;
	struct ucred cred;
	socklen_t len = sizeof(cred);
	struct keeper_seen seen;
	uint64_t id;

	other_loop(rig, &order, NEAP_KEEPER_WAITING);
	id = keeper_rig_attach(rig, "patient");
	while (neap_keeper_next(rig->keeper, &event, &err) == 0) {
		struct pollfd p = {.fd = neap_keeper_fd(rig->keeper), .events = POLLIN};

		(void)poll(&p, 1, 100);
	}
	/* The connection names the process that is to be moved, as the hand asks for
	 * it. */
	assert_int_equal(event.what, NEAP_KEEPER_WAITING);
	assert_int_equal(getsockopt(event.fd, SOL_SOCKET, SO_PEERCRED, &cred, &len), 0);
	assert_int_equal(cred.pid, event.pid);
	(void)close(event.fd);
	assert_string_equal(keeper_rig_printed(rig, "patient", "stdout"), "");
	assert_int_equal(neap_keeper_go(rig->keeper, id, NULL), 0);
	seen = keeper_rig_until(rig, id, NEAP_KEEPER_ENDED);
	assert_int_equal(seen.event.exit_code, 4);
	assert_int_equal(seen.event.pid, cred.pid);
	assert_string_equal(keeper_rig_printed(rig, "patient", "stdout"), "ran\n");
}

static void killed_shim_is_lost(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	struct neap_keeper_order order = keeper_rig_order("orphan", "exec sleep 1002");
	uint64_t id = keeper_rig_run(rig, &order);
	struct keeper_seen seen = keeper_rig_until(rig, id, NEAP_KEEPER_STARTED);
	int pid = seen.event.pid;

	assert_int_equal(kill(keeper_rig_shim_of(pid), SIGKILL), 0);
	seen = keeper_rig_next(rig);
	assert_int_equal(seen.event.what, NEAP_KEEPER_LOST);
	assert_int_equal(seen.event.errnum, 0);
	assert_int_equal(seen.event.pid, pid);
	/* The command does not go on unwatched. */
	assert_true(keeper_rig_is_gone("sleep 1002"));
	seen = keeper_rig_until(rig, keeper_rig_attach(rig, "orphan"), NEAP_KEEPER_ENDED);
	assert_int_equal(seen.event.what, NEAP_KEEPER_LOST);
	seen = keeper_rig_until(rig, keeper_rig_attach(rig, "never"), NEAP_KEEPER_ENDED);
	assert_int_equal(seen.event.what, NEAP_KEEPER_LOST);
	assert_int_equal(seen.event.errnum, ENOENT);
}

static void killed_keeper_is_told(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	struct neap_keeper_order order = keeper_rig_order(
		"goes-on", "trap 'exit 3' TERM; echo up; while :; do sleep 0.02; done");
	uint64_t id = keeper_rig_run(rig, &order);
	struct neap_keeper_event event;
	struct neap_error err = {0};
	char path[256];
	int i, rc = 0;

	assert_int_equal(keeper_rig_until(rig, id, NEAP_KEEPER_STARTED).event.what,
			 NEAP_KEEPER_STARTED);
	(void)snprintf(path, sizeof(path), "%s/p-1/goes-on/0/log", rig->config.dir);
	(void)keeper_rig_await(path);
	assert_int_equal(kill(neap_keeper_pid(rig->keeper), SIGKILL), 0);
	for (i = 0; i < 6000 && rc == 0; i++) {
		struct pollfd p = {.fd = neap_keeper_fd(rig->keeper), .events = POLLIN};

		rc = neap_keeper_next(rig->keeper, &event, &err);
		(void)poll(&p, 1, 10);
	}
	assert_int_equal(rc, -NEAP_EUNAVAILABLE);
	order.container = "no-more";
	assert_int_equal(neap_keeper_run(rig->keeper, 99, &order, &err),
			 -NEAP_EUNAVAILABLE);
	/* What runs is still told of, and can be signalled. */
	assert_int_equal(neap_keeper_signal(rig->keeper, id, SIGTERM, NULL), 0);
	assert_int_equal(keeper_rig_until(rig, id, NEAP_KEEPER_ENDED).event.exit_code, 3);
}

static void forgotten_goes_on(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	struct neap_keeper_order order =
		keeper_rig_order("forgotten", "sleep 0.05; exit 2");
	uint64_t id = keeper_rig_run(rig, &order);
	struct keeper_seen seen;

	(void)keeper_rig_until(rig, id, NEAP_KEEPER_STARTED);
	neap_keeper_forget(rig->keeper, id);
	neap_keeper_forget(rig->keeper, id);
	seen = keeper_rig_until(rig, keeper_rig_attach(rig, "forgotten"),
				NEAP_KEEPER_ENDED);
	assert_int_equal(seen.event.what, NEAP_KEEPER_ENDED);
	assert_int_equal(seen.event.exit_code, 2);
}

/* The keeper may still have a connection open that the loop has closed: nothing of it is
 * heard any more. */
static void closed_is_silent(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	struct neap_keeper_order order = keeper_rig_order("silent", "sleep 0.05; exit 2");
	uint64_t id = keeper_rig_run(rig, &order);
	struct pollfd other = {.events = POLLIN}, own = {.events = POLLIN};

	(void)keeper_rig_until(rig, id, NEAP_KEEPER_STARTED);
	other.fd = dup(neap_keeper_task_find(rig->keeper, id)->fd);
	assert_true(other.fd >= 0);
	neap_keeper_forget(rig->keeper, id);
	assert_int_equal(poll(&other, 1, 60000), 1);
	own.fd = neap_keeper_fd(rig->keeper);
	assert_int_equal(poll(&own, 1, 0), 0);
	(void)close(other.fd);
}

/* --- what commands leave behind --- */

static const struct {
	const char *name, *script, *word;
} leavers[] = {
	{"background", "sleep 2001 & exit 1", "sleep 2001"},
	{"session", "setsid sleep 2002 & sleep 0.05; exit 1", "sleep 2002"},
	{"daemon",
	 "(setsid sh -c 'trap \"\" TERM HUP; (sleep 2003 &) ; sleep 2003' &) ; "
	 "sleep 0.05; exit 1",
	 "sleep 2003"},
	{"stopped", "sh -c 'kill -STOP $$; sleep 2004' & sleep 0.05; exit 1",
	 "sleep 2004"},
	{"holds-output", "sleep 2005 & sleep 2005 >/dev/null & echo x; exit 1",
	 "sleep 2005"},
};

static void nothing_is_left(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(leavers); i++) {
		struct neap_keeper_order order =
			keeper_rig_order(leavers[i].name, leavers[i].script);
		struct keeper_seen seen = keeper_rig_do(rig, &order);

		print_message("# %s\n", leavers[i].name);
		assert_int_equal(seen.event.what, NEAP_KEEPER_ENDED);
		assert_int_equal(seen.event.exit_code, 1);
		assert_true(keeper_rig_is_gone(leavers[i].word));
	}
}

/* Processes that fork as fast as they can, and go away from their parents; as many as a
 * limit allows, which stands here for the limit of the pod's group. It does not bind
 * root, so another user forks. */
static void fork_bomb_is_ended(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	struct neap_keeper_order order = keeper_rig_order(
		"bomb",
		"ulimit -p 400 2>/dev/null || ulimit -u 400 || exit 2\n"
		"bomb='bomb() { while :; do (bomb &) ; done; }; bomb'\n"
		"as=; [ \"$(id -u)\" != 0 ] ||\n"
		"as='setpriv --reuid=64009 --regid=64009 --clear-groups'\n"
		"set -- /proc/[0-9]*; before=$#; now=$#\n"
		"($as sh -c \"$bomb\" 2009 &) 2>/dev/null\n"
		"($as sh -c \"$bomb\" 2009 &) 2>/dev/null\n"
		"while [ $now -lt $((before + 50)) ]; do set -- /proc/[0-9]*; now=$#; done\n"
		"exit 1");
	struct keeper_seen seen = keeper_rig_do(rig, &order);

	assert_int_equal(seen.event.what, NEAP_KEEPER_ENDED);
	assert_int_equal(seen.event.exit_code, 1);
	assert_true(keeper_rig_is_gone("2009"));
}

static void all_is_killed_at_once(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	struct neap_keeper_order order = keeper_rig_order(
		"family", "trap '' TERM; setsid sleep 2010 & (sleep 2010 &) ; echo up; "
			  "sleep 2010; sleep 2010");
	uint64_t id = keeper_rig_run(rig, &order);
	struct keeper_seen seen;
	char path[256];

	(void)keeper_rig_until(rig, id, NEAP_KEEPER_STARTED);
	(void)snprintf(path, sizeof(path), "%s/p-1/family/0/log", rig->config.dir);
	(void)keeper_rig_await(path);
	assert_int_equal(neap_keeper_signal(rig->keeper, id, SIGKILL, NULL), 0);
	seen = keeper_rig_until(rig, id, NEAP_KEEPER_ENDED);
	assert_int_equal(seen.event.exit_code, 137);
	assert_true(keeper_rig_is_gone("sleep 2010"));
}

/* --- with the hand --- */

/* The process that waits is moved by the connection of WAITING; all that it forks lies in
 * its group. */
static void hand_moves_what_waits(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	struct neap_keeper_order order =
		keeper_rig_order("moved", "sh -c 'grep -c neap-test /proc/self/cgroup'");
	struct neap_keeper_event event = {0};
	struct rig_answer answer;
	struct keeper_seen seen;
	struct neap_error err;
	uint64_t id;

	hand = rig_new(&why);
	if (!hand) {
		print_message("SKIP %s\n", why);
		skip();
	}
	rig_start(hand);
	assert_int_equal(
		rig_ask(hand, NEAP_HAND_MAKE, rig_path(hand, "own/w"), 0, NULL, -1)
			.errnum,
		0);
	id = keeper_rig_run(rig, &order);
	while (neap_keeper_next(rig->keeper, &event, &err) == 0) {
		struct pollfd p = {.fd = neap_keeper_fd(rig->keeper), .events = POLLIN};

		(void)poll(&p, 1, 100);
	}
	assert_int_equal(event.what, NEAP_KEEPER_WAITING);
	answer =
		rig_ask(hand, NEAP_HAND_MOVE, rig_path(hand, "own/w"), 0, NULL, event.fd);
	(void)close(event.fd);
	print_message("# %s\n", answer.text);
	assert_int_equal(answer.errnum, 0);
	assert_int_equal(answer.pid, event.pid);
	assert_true(rig_has_pid(hand, rig_path(hand, "own/w"), event.pid));
	assert_int_equal(neap_keeper_go(rig->keeper, id, NULL), 0);
	seen = keeper_rig_until(rig, id, NEAP_KEEPER_ENDED);
	assert_int_equal(seen.event.exit_code, 0);
}

/* --- as the loop has it --- */

static int confined_do(struct keeper_rig *rig)
{
	struct neap_keeper_order order =
		keeper_rig_order("confined", "echo hello; exit 8");
	struct neap_error err = {0};
	struct keeper_seen seen;
	uint64_t id;

	if (neap_keeper_start(&rig->config, &rig->keeper, &err) < 0 ||
	    neap_jail_bound(0, &err) < 0 ||
	    setresgid(KEEPER_RIG_OWN, KEEPER_RIG_OWN, KEEPER_RIG_OWN) < 0 ||
	    setresuid(KEEPER_RIG_OWN, KEEPER_RIG_OWN, KEEPER_RIG_OWN) < 0 ||
	    neap_jail_drop(0, &err) < 0)
		return 100;
	if (neap_jail_filter(NEAP_JAIL_LOOP, NEAP_JAIL_ON, &err) < 0 &&
	    err.code != NEAP_EUNSUPPORTED)
		return 101;
	id = keeper_rig_run(rig, &order);
	seen = keeper_rig_until(rig, id, NEAP_KEEPER_STARTED);
	if (seen.event.what != NEAP_KEEPER_STARTED)
		return 102;
	id = keeper_rig_attach(rig, "confined");
	seen = keeper_rig_until(rig, id, NEAP_KEEPER_ENDED);
	if (seen.event.what != NEAP_KEEPER_ENDED || seen.event.exit_code != 8)
		return 103;
	if (strcmp(keeper_rig_printed(rig, "confined", "stdout"), "hello\n") != 0)
		return 104;
	order.probe_usec = 60000000;
	seen = keeper_rig_do(rig, &order);
	return seen.event.exit_code == 8 && strcmp(seen.text, "hello\n") == 0 ? 0 : 105;
}

static void confined_loop_can_do_all(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	int status = -1;
	int pid;

	keeper_rig_stop(rig);
	pid = fork();
	if (pid == 0)
		_exit(confined_do(rig));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		(void)closedir(dir);
	return count;
}

static void many_at_once(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	struct neap_keeper_order order;
	int before = descriptors();
	char name[16];
	int i, ended = 0;

	for (i = 0; i < 30; i++) {
		(void)snprintf(name, sizeof(name), "many-%d", i);
		order = keeper_rig_order(name, "echo one; exit 1");
		(void)keeper_rig_run(rig, &order);
	}
	while (ended < 30) {
		struct keeper_seen seen = keeper_rig_next(rig);

		if (seen.event.what == NEAP_KEEPER_WAITING)
			(void)neap_keeper_go(rig->keeper, seen.event.id, NULL);
		if (seen.event.what == NEAP_KEEPER_ENDED) {
			assert_int_equal(seen.event.exit_code, 1);
			ended++;
		}
		assert_true(seen.event.what != NEAP_KEEPER_FAILED &&
			    seen.event.what != NEAP_KEEPER_LOST);
	}
	assert_int_equal(descriptors(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(killed_loop_is_succeeded, setup,
						teardown),
		cmocka_unit_test_setup_teardown(end_without_a_loop_is_recorded, setup,
						teardown),
		cmocka_unit_test_setup_teardown(speaks_before_it_writes, setup, teardown),
		cmocka_unit_test_setup_teardown(waits_for_the_next_loop, setup, teardown),
		cmocka_unit_test_setup_teardown(killed_shim_is_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(killed_keeper_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(forgotten_goes_on, setup, teardown),
		cmocka_unit_test_setup_teardown(closed_is_silent, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_is_left, setup, teardown),
		cmocka_unit_test_setup_teardown(fork_bomb_is_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(all_is_killed_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(hand_moves_what_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(confined_loop_can_do_all, setup,
						teardown),
		cmocka_unit_test_setup_teardown(many_at_once, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
