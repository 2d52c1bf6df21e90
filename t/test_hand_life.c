/* SPDX-License-Identifier: Apache-2.0
 *
 * How the hand starts, hands over, outlives its daemon and gives everything back, on this
 * machine's own cgroups, with daemons and hands that are really killed. */
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "t/lib/hand_rig.h"
#include "t/lib/patience.h"

/* A daemon of its own process: starts a hand, sets shares of base/a to 300, makes own/w,
 * puts a child of its own there by hand, then waits to be killed. */
struct daemon {
	int pid, hand;
};

static struct daemon daemon_start(struct hand_rig *rig)
{
	struct daemon daemon;
	int pipes[2];

	assert_int_equal(pipe(pipes), 0);
	daemon.pid = fork();
	if (daemon.pid == 0) {
		struct neap_hand_request requests[] = {
			{1, NEAP_HAND_SET, rig_path(rig, "a"), NEAP_KEY_CPU_SHARES, "300",
			 -1},
			{2, NEAP_HAND_MAKE, rig_path(rig, "own/w"), 0, NULL, -1},
		};
		struct neap_hand_answer answer;
		int i, answered = 0;
		int hand = -1;

		if (neap_hand_start(&rig->config, &rig->hand, NULL) == 0) {
			hand = neap_hand_pid(rig->hand);
			for (i = 0; i < 2; i++)
				(void)neap_hand_add(rig->hand, &requests[i], NULL);
			for (i = 0; i < PATIENCE_MS / 10 && answered < 2; i++) {
				(void)neap_hand_flush(rig->hand, NULL);
				if (neap_hand_next(rig->hand, &answer, NULL) == 1)
					answered++;
				else
					rig_sleep_ms(10);
			}
		}
		(void)!write(pipes[1], &hand, sizeof(hand));
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(pipes[0], &daemon.hand, sizeof(daemon.hand)),
			 sizeof(daemon.hand));
	close(pipes[0]);
	close(pipes[1]);
	assert_true(daemon.hand > 0);
	return daemon;
}

static void kill_wait(int pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_true(rig_wait(pid) >= 0);
}

static void starts_clean(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	char path[300], text[64] = "";
	struct dirent *entry;
	struct stat st;
	int fds = 0;
	FILE *file;
	DIR *dir;

	rig_start(rig);
	snprintf(path, sizeof(path), "/proc/%d/comm", neap_hand_pid(rig->hand));
	file = fopen(path, "re");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_string_equal(text, "neap-hand\n");
	assert_int_equal(getsid(neap_hand_pid(rig->hand)), neap_hand_pid(rig->hand));
	assert_int_equal(stat(rig->config.run_dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);

	/* Nothing of ours is open there: 0 to 2, mounts, socket, signals, directory,
	 * lock, journal, the daemon's pidfd. */
	snprintf(path, sizeof(path), "/proc/%d/fd", neap_hand_pid(rig->hand));
	dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir)))
		fds += entry->d_name[0] != '.';
	closedir(dir);
	assert_in_range(fds, 6, 9 + NEAP_CTL_COUNT);

	/* Signals that are meant for others. */
	kill(neap_hand_pid(rig->hand), SIGINT);
	kill(neap_hand_pid(rig->hand), SIGHUP);
	kill(neap_hand_pid(rig->hand), SIGPIPE);
	kill(neap_hand_pid(rig->hand), SIGUSR1); /* our daemon lives: not handed over */
	rig_sleep_ms(50);
	assert_int_equal(rig_ask(rig, NEAP_HAND_LIST, NULL, 0, NULL, -1).op,
			 NEAP_HAND_LIST);
}

static void run_dir_must_be_safe(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	struct neap_error err = {0};

	assert_int_equal(mkdir(rig->config.run_dir, 0755), 0);
	assert_int_equal(chmod(rig->config.run_dir, 0777), 0);
	assert_int_equal(neap_hand_start(&rig->config, &rig->hand, &err),
			 -NEAP_EFORBIDDEN);
	assert_non_null(strstr(err.msg, rig->config.run_dir));
	snprintf(rig->config.run_dir, sizeof(rig->config.run_dir), "/nowhere/at/all");
	assert_int_equal(neap_hand_start(&rig->config, &rig->hand, &err), -NEAP_ESYS);
	assert_int_equal(err.errnum, ENOENT);
	assert_null(rig->hand);
	snprintf(rig->config.run_dir, sizeof(rig->config.run_dir), "/tmp/neap-hand-%d",
		 (int)getpid());
}

static void killed_daemon_releases(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	char group[NEAP_PATH_MAX], first[256];
	struct daemon daemon;
	int child;

	snprintf(group, sizeof(group), "%s", rig_path(rig, "a"));
	rig_make(rig, group);
	snprintf(first, sizeof(first), "%s", rig_read(rig, group, NEAP_KEY_CPU_SHARES));
	rig->config.release_after_usec = 300000;
	daemon = daemon_start(rig);
	child = fork();
	if (child == 0)
		for (;;)
			(void)pause();
	assert_int_equal(
		neap_cgroup_move(&rig->cgroup, rig_path(rig, "own/w"), child, NULL), 0);
	kill_wait(daemon.pid);
	rig_sleep_ms(100);
	assert_string_equal(rig_read(rig, group, NEAP_KEY_CPU_SHARES), "300");
	assert_int_equal(rig_wait(daemon.hand), 0); /* all of it was given back */
	assert_string_equal(rig_read(rig, group, NEAP_KEY_CPU_SHARES), first);
	assert_false(rig_exists(rig, rig->own));
	assert_true(rig_exists(rig, rig->base));
	assert_int_equal(kill(child, 0), 0); /* moved out, not ended */
	assert_false(rig_has_file(rig, "hand.journal"));
}

static void freeze_holds_the_release(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	const char *group = rig_path(rig, "a");
	char path[300];
	struct daemon daemon;
	int fd;

	rig_make(rig, group);
	rig->config.release_after_usec = 100000;
	daemon = daemon_start(rig);
	snprintf(path, sizeof(path), "%s/freeze", rig->config.run_dir);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	close(fd);
	kill_wait(daemon.pid);
	rig_sleep_ms(800);
	assert_string_equal(rig_read(rig, group, NEAP_KEY_CPU_SHARES), "300");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rig_wait(daemon.hand), 0);
	assert_string_not_equal(rig_read(rig, group, NEAP_KEY_CPU_SHARES), "300");
}

static void successor_takes_over(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	const char *group = rig_path(rig, "a");
	struct neap_error err = {0};
	struct daemon daemon;
	struct rig_answer a;
	char first[256];
	int pid, i;

	rig_make(rig, group);
	snprintf(first, sizeof(first), "%s", rig_read(rig, group, NEAP_KEY_CPU_SHARES));
	daemon = daemon_start(rig);
	/* As long as the daemon lives nobody else gets in. */
	assert_int_equal(neap_hand_start(&rig->config, &rig->hand, &err),
			 -NEAP_ECONFLICT);
	snprintf(first + 128, 64, "%d", daemon.hand);
	assert_non_null(strstr(err.msg, first + 128));
	/* A hand that starts may ask the one who gives back to hand over. */
	pid = fork();
	if (pid == 0)
		_exit(neap_hand_give_back(&rig->config, NULL) == -NEAP_ECONFLICT ? 0 : 1);
	for (i = 0; i < 20; i++) {
		rig_sleep_ms(50);
		if (i > 4)
			assert_int_equal(kill(pid, SIGUSR1), 0);
	}
	assert_int_equal(rig_wait(pid), 0);

	kill_wait(daemon.pid);
	rig_start(rig);
	assert_int_equal(rig_wait(daemon.hand), 0);
	assert_string_equal(rig_read(rig, group, NEAP_KEY_CPU_SHARES), "300");
	a = rig_ask(rig, NEAP_HAND_LIST, NULL, 0, NULL, -1);
	assert_int_equal(a.op, NEAP_HAND_ENTRY);
	assert_string_equal(a.old_value, first);
	assert_int_equal(rig_next(rig).op, NEAP_HAND_LIST);
	a = rig_ask(rig, NEAP_HAND_RESTORE, group, NEAP_KEY_CPU_SHARES, NULL, -1);
	assert_string_equal(a.new_value, first);
}

/* What a daemon asked for at last is done, also when it left an answer unread. */
static void last_request(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	const char *group = rig_path(rig, "a");
	struct neap_hand_request request = {
		1, NEAP_HAND_SET, group, NEAP_KEY_CPU_SHARES, "300", -1};
	struct pollfd answered = {.events = POLLIN};
	int pid, i;

	rig_make(rig, group);
	rig_start(rig);
	pid = neap_hand_pid(rig->hand);
	assert_int_equal(neap_hand_add(rig->hand, &request, NULL), 0);
	assert_int_equal(neap_hand_flush(rig->hand, NULL), 1);
	answered.fd = neap_hand_fd(rig->hand);
	assert_int_equal(poll(&answered, 1, 5000), 1);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	request.value = "400";
	assert_int_equal(neap_hand_add(rig->hand, &request, NULL), 0);
	assert_int_equal(neap_hand_flush(rig->hand, NULL), 1);
	neap_hand_free(rig->hand);
	rig->hand = NULL;
	assert_int_equal(kill(pid, SIGCONT), 0);
	for (i = 0; i < 200; i++) {
		if (strcmp(rig_read(rig, group, NEAP_KEY_CPU_SHARES), "400") == 0)
			break;
		rig_sleep_ms(10);
	}
	assert_string_equal(rig_read(rig, group, NEAP_KEY_CPU_SHARES), "400");
}

static void both_killed(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	const char *group = rig_path(rig, "a");
	struct daemon daemon;
	struct rig_answer a;
	char first[256];

	rig_make(rig, group);
	snprintf(first, sizeof(first), "%s", rig_read(rig, group, NEAP_KEY_CPU_SHARES));
	daemon = daemon_start(rig);
	/* First the hand, so that it has no time to do anything; its daemon does not wait
	 * for it. */
	assert_int_equal(kill(daemon.hand, SIGKILL), 0);
	kill_wait(daemon.pid);
	assert_true(rig_wait(daemon.hand) >= 0);
	assert_string_equal(rig_read(rig, group, NEAP_KEY_CPU_SHARES), "300");

	/* The next start knows what was found at first. */
	rig_start(rig);
	a = rig_ask(rig, NEAP_HAND_LIST, NULL, 0, NULL, -1);
	assert_string_equal(a.old_value, first);
	assert_int_equal(rig_next(rig).op, NEAP_HAND_LIST);
	kill_wait(neap_hand_pid(rig->hand));
	neap_hand_free(rig->hand);
	rig->hand = NULL;

	/* And so does an explicit release. */
	assert_true(rig_exists(rig, rig->own));
	assert_int_equal(neap_hand_give_back(&rig->config, NULL), 1);
	assert_string_equal(rig_read(rig, group, NEAP_KEY_CPU_SHARES), first);
	assert_false(rig_exists(rig, rig->own));
	assert_int_equal(neap_hand_give_back(&rig->config, NULL), 0);
}

/* Killed while a group was removed: it is left in some hierarchies, where no look would
 * find it. */
static void half_removed(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	const char *group = rig_path(rig, "own/w");
	char path[NEAP_PATH_MAX * 2];
	struct daemon daemon;

	if (rig->cgroup.mount[NEAP_CTL_CPU].is_v2) {
		print_message(
			"SKIP needs more than one cgroup hierarchy: not on this kernel\n");
		skip();
	}
	rig_make(rig, rig_path(rig, "a"));
	daemon = daemon_start(rig);
	assert_int_equal(kill(daemon.hand, SIGKILL), 0);
	kill_wait(daemon.pid);
	assert_true(rig_wait(daemon.hand) >= 0);
	snprintf(path, sizeof(path), "%s/%s", rig->cgroup.mount[NEAP_CTL_CPU].path,
		 group);
	assert_int_equal(rmdir(path), 0);
	assert_true(neap_cgroup_is_partial(&rig->cgroup, group));
	rig_start(rig);
	snprintf(path, sizeof(path), "%s/%s", rig->cgroup.mount[NEAP_CTL_MEMORY].path,
		 group);
	assert_int_equal(access(path, F_OK), -1);
	assert_false(neap_cgroup_is_partial(&rig->cgroup, group));
	assert_true(rig_exists(rig, rig->own));
}

static void release_of_an_orphan(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	const char *group = rig_path(rig, "a");
	struct daemon daemon;

	rig_make(rig, group);
	daemon = daemon_start(rig);
	kill_wait(daemon.pid);
	assert_int_equal(neap_hand_give_back(&rig->config, NULL), 1);
	assert_int_equal(rig_wait(daemon.hand), 0);
	assert_string_not_equal(rig_read(rig, group, NEAP_KEY_CPU_SHARES), "300");
	assert_false(rig_exists(rig, rig->own));
}

static void terminated_gives_back(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	const char *group = rig_path(rig, "a");
	struct neap_hand_answer answer;
	int rc = 0, i;

	rig_make(rig, group);
	rig_start(rig);
	rig_ask(rig, NEAP_HAND_SET, group, NEAP_KEY_CPU_SHARES, "300", -1);
	rig_ask(rig, NEAP_HAND_MAKE, rig->own, 0, NULL, -1);
	kill(neap_hand_pid(rig->hand), SIGTERM);
	assert_int_equal(rig_wait(neap_hand_pid(rig->hand)), 0);
	assert_string_not_equal(rig_read(rig, group, NEAP_KEY_CPU_SHARES), "300");
	assert_false(rig_exists(rig, rig->own));
	for (i = 0; i < 10 && rc >= 0; i++)
		rc = neap_hand_next(rig->hand, &answer, NULL);
	assert_int_equal(rc, -NEAP_EUNAVAILABLE);
}

/* Parents and children in both directions: each order that a plain loop could take is
 * refused by a v1 kernel in one of the two. */
static void order_of_cpusets(void **state)
{
	static const struct {
		const char *name;
		const char *parent, *child; /* found */
		const char *new_parent,
			*new_child; /* set, in an order the kernel takes */
		bool parent_first;
	} rows[] = {
		{"narrowed", "0-1", "0-1", "0", "0", false},
		{"widened", "0", "0", "0-1", "1", true},
		{"child only", "0-1", "0-1", "0-1", "1", false},
		{"moved over", "0-1", "0", "0-1", "1", false},
	};
	struct hand_rig *rig = hand_rig_of(state);
	const char *parent = rig_path(rig, "p");
	const char *child = rig_path(rig, "p/c");
	size_t i;

	rig_make(rig, child);
	if (strcmp(rig_read(rig, rig->base, NEAP_KEY_CPUSET_CPUS), "0") == 0) {
		print_message("SKIP one CPU only\n");
		skip();
	}
	rig_start(rig);
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		int step;

		(void)rig_write(rig, parent, NEAP_KEY_CPUSET_CPUS, "0-1");
		assert_int_equal(
			rig_write(rig, child, NEAP_KEY_CPUSET_CPUS, rows[i].child), 0);
		assert_int_equal(
			rig_write(rig, parent, NEAP_KEY_CPUSET_CPUS, rows[i].parent), 0);
		for (step = 0; step < 2; step++) {
			bool is_parent = rows[i].parent_first == (step == 0);
			struct rig_answer a = rig_ask(
				rig, NEAP_HAND_SET, is_parent ? parent : child,
				NEAP_KEY_CPUSET_CPUS,
				is_parent ? rows[i].new_parent : rows[i].new_child, -1);

			if (a.errnum)
				fail_msg("%s: %s", rows[i].name, a.text);
		}
		assert_string_equal(
			rig_ask(rig, NEAP_HAND_GIVE_BACK, NULL, 0, NULL, -1).text, "");
		if (strcmp(rig_read(rig, parent, NEAP_KEY_CPUSET_CPUS), rows[i].parent) !=
			    0 ||
		    strcmp(rig_read(rig, child, NEAP_KEY_CPUSET_CPUS), rows[i].child) !=
			    0)
			fail_msg("%s: not as before", rows[i].name);
	}
}

/* What the kernel refuses to take back stays known, and is tried again by the next
 * one. */
static void what_cannot_go_back_stays(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	char parent[NEAP_PATH_MAX], child[NEAP_PATH_MAX];
	struct rig_answer a;
	bool v2 = false;

	snprintf(parent, sizeof(parent), "%s", rig_path(rig, "p"));
	snprintf(child, sizeof(child), "%s", rig_path(rig, "p/c"));
	rig_make(rig, child);
	(void)neap_cgroup_file(&rig->cgroup, NEAP_KEY_CPUSET_CPUS, NULL, &v2);
	if (v2 || strcmp(rig_read(rig, rig->base, NEAP_KEY_CPUSET_CPUS), "0") == 0) {
		print_message("SKIP needs cgroup v1 cpuset and two CPUs\n");
		skip();
	}
	assert_int_equal(rig_write(rig, child, NEAP_KEY_CPUSET_CPUS, "0"), 0);
	assert_int_equal(rig_write(rig, parent, NEAP_KEY_CPUSET_CPUS, "0"), 0);
	rig_start(rig);
	rig_ask(rig, NEAP_HAND_SET, parent, NEAP_KEY_CPUSET_CPUS, "0-1", -1);
	/* Somebody else takes the other CPU meanwhile. */
	assert_int_equal(rig_write(rig, child, NEAP_KEY_CPUSET_CPUS, "1"), 0);
	a = rig_ask(rig, NEAP_HAND_RESTORE, parent, NEAP_KEY_CPUSET_CPUS, NULL, -1);
	assert_int_equal(a.errnum, EBUSY);
	kill(neap_hand_pid(rig->hand), SIGTERM);
	assert_int_not_equal(rig_wait(neap_hand_pid(rig->hand)), 0);
	assert_true(rig_has_file(rig, "hand.journal"));
	assert_int_equal(rig_write(rig, child, NEAP_KEY_CPUSET_CPUS, "0"), 0);
	assert_int_equal(neap_hand_give_back(&rig->config, NULL), 1);
	assert_string_equal(rig_read(rig, parent, NEAP_KEY_CPUSET_CPUS), "0");
}

/* A v1 group that is made while its parent is narrow copies that, and nobody writes to
 * it. When its parent is given back, so is it. */
static void born_narrow(void **state)
{
	static const char *const born[] = {"p/c", "p/c/d", "own/w/f"};
	struct hand_rig *rig = hand_rig_of(state);
	char full[256];
	bool v2 = false;
	size_t i;

	(void)neap_cgroup_file(&rig->cgroup, NEAP_KEY_CPUSET_CPUS, NULL, &v2);
	snprintf(full, sizeof(full), "%s",
		 rig_read(rig, rig->base, NEAP_KEY_CPUSET_CPUS));
	if (v2 || strcmp(full, "0") == 0) {
		print_message("SKIP needs cgroup v1 cpuset and two CPUs\n");
		skip();
	}
	rig_make(rig, rig_path(rig, "p"));
	rig_start(rig);
	rig_ask(rig, NEAP_HAND_MAKE, rig_path(rig, "own/w"), 0, NULL, -1);
	rig_ask(rig, NEAP_HAND_SET, rig_path(rig, "p"), NEAP_KEY_CPUSET_CPUS, "0", -1);
	rig_ask(rig, NEAP_HAND_SET, rig_path(rig, "own/w"), NEAP_KEY_CPUSET_CPUS, "0",
		-1);
	rig_make(rig, rig_path(rig, "p/c/d"));
	rig_ask(rig, NEAP_HAND_MAKE, rig_path(rig, "own/w/f"), 0, NULL, -1);
	for (i = 0; i < NEAP_ARRAY_LEN(born); i++)
		assert_string_equal(
			rig_read(rig, rig_path(rig, born[i]), NEAP_KEY_CPUSET_CPUS), "0");
	/* As in the middle of a plan: the parent is wide already, the group of neap's own
	 * is not. */
	rig_ask(rig, NEAP_HAND_SET, rig_path(rig, "own/w"), NEAP_KEY_CPUSET_CPUS, full,
		-1);
	assert_int_equal(rig_ask(rig, NEAP_HAND_GIVE_BACK, NULL, 0, NULL, -1).errnum, 0);
	for (i = 0; i < NEAP_ARRAY_LEN(born); i++)
		assert_string_equal(
			rig_read(rig, rig_path(rig, born[i]), NEAP_KEY_CPUSET_CPUS),
			full);
}

/* v2 takes no empty set back while a process is inside: all CPUs are given, which is the
 * same. */
static void a_full_set_gets_all_back(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	struct neap_cpuset got, possible;
	char group[NEAP_PATH_MAX], text[NEAP_CPUSET_TEXT] = "";
	struct neap_error err = {0};
	bool v2 = false;
	int pid, fd;

	snprintf(group, sizeof(group), "%s", rig_path(rig, "full"));
	(void)neap_cgroup_file(&rig->cgroup, NEAP_KEY_CPUSET_CPUS, NULL, &v2);
	if (!v2) {
		print_message("SKIP cgroup v2 cpuset: not on this kernel\n");
		skip();
	}
	rig_make(rig, group);
	pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	assert_true(pid > 0);
	assert_int_equal(neap_cgroup_move(&rig->cgroup, group, pid, &err), 0);
	rig_start(rig);
	assert_int_equal(
		rig_ask(rig, NEAP_HAND_SET, group, NEAP_KEY_CPUSET_CPUS, "0", -1).errnum,
		0);
	assert_int_equal(
		rig_ask(rig, NEAP_HAND_GIVE_BACK, NULL, NEAP_KEY_CPUSET_CPUS, NULL, -1)
			.errnum,
		0);
	fd = open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	(void)close(fd);
	assert_int_equal(neap_cpuset_parse_kernel(&possible, text, NULL), 0);
	assert_int_equal(neap_cpuset_parse_kernel(
				 &got, rig_read(rig, group, NEAP_KEY_CPUSET_CPUS), NULL),
			 0);
	/* Empty where the kernel allows it, as later ones may. */
	assert_true(neap_cpuset_is_empty(&got) || neap_cpuset_is_equal(&got, &possible));
	(void)kill(pid, SIGKILL);
	(void)rig_wait(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(starts_clean, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(run_dir_must_be_safe, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(killed_daemon_releases, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(freeze_holds_the_release, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(successor_takes_over, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(last_request, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(both_killed, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(half_removed, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(release_of_an_orphan, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(terminated_gives_back, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(order_of_cpusets, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(born_narrow, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(what_cannot_go_back_stays, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(a_full_set_gets_all_back, hand_rig_setup,
						hand_rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
