/* SPDX-License-Identifier: Apache-2.0
 *
 * Plays a loop that was taken over, against a real hand on this machine's real cgroups:
 * every way out of the managed roots that was thought of, by messages well formed.
 * test_hijack_flood has the others. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/hijack.h"

/* --- names --- */

/* %b: the managed root, %c: the canary, %o: neap's own root. */
static const char *const names[] = {
	"",
	".",
	"..",
	"/",
	"//",
	"/%c",
	"../%c",
	"%b/..",
	"%b/../%c",
	"%b/pod/../../%c",
	"%b/./pod/../../%c",
	"%b//pod",
	"%b/",
	"/%b/pod",
	"./%b/pod",
	"%b/pod/..",
	"%b/pod/.",
	"%c",
	"%c/x",
	"%b-",
	"%bx",
	"%b/pod\n",
	"%b/\x01pod",
	"%b/pod\x7f",
	"%b\n../%c",
	"%o/../../%c",
	"%o/w/../../../%c",
	"/sys/fs/cgroup/cpu/%c",
	"proc/1",
	"../../../../../../../../etc",
	"%b/pod/../../../../../etc/cron.d",
	"system.slice",
	"user.slice",
	"init.scope",
	"kubepods",
	"..%b",
	"%b/.../../%c",
};

static void group_try(struct hijack *attack, const char *group, int fd)
{
	static const char *const values[] = {
		[NEAP_KEY_CPU_SHARES] = "2",
		[NEAP_KEY_CPUSET_CPUS] = "0",
	};
	static unsigned char buf[NEAP_WIRE_MAX];
	struct neap_hand_request rows[] = {
		{1, NEAP_HAND_SET, group, NEAP_KEY_CPU_SHARES,
		 values[NEAP_KEY_CPU_SHARES], -1},
		{2, NEAP_HAND_SET, group, NEAP_KEY_CPUSET_CPUS,
		 values[NEAP_KEY_CPUSET_CPUS], -1, "0"},
		{3, NEAP_HAND_RESTORE, group, NEAP_KEY_CPU_SHARES, NULL, -1},
		{4, NEAP_HAND_MAKE, group, 0, NULL, -1},
		{5, NEAP_HAND_MOVE, group, 0, NULL, fd},
		{6, NEAP_HAND_REMOVE, group, 0, NULL, -1},
		{7, NEAP_HAND_TRIGGER, group, 0, "cpu some 100000 2000000", -1},
		{8, NEAP_HAND_KUBELET, NULL, 0, group, -1},
	};
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		size_t len = hijack_message(&rows[i], buf);
		int got;

		if (len == 0)
			continue; /* longer than any message */
		got = hijack_ask(attack, buf, len, &fd, rows[i].op == NEAP_HAND_MOVE);
		/* "" is the node for a trigger; what was never set has nothing to bring
		 * back. */
		if (got == 0 && rows[i].op != NEAP_HAND_RESTORE &&
		    !(rows[i].op == NEAP_HAND_TRIGGER && !*group))
			fail_msg("operation %d of '%s' was done", (int)rows[i].op, group);
	}
}

static void names_lead_nowhere(void **state)
{
	struct hijack *attack = hijack_of(state);
	char group[NEAP_PATH_MAX * 2];
	size_t i;
	int pid, fd;

	fd = hijack_connect(attack, 0, &pid);
	for (i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		hijack_name(attack, names[i], group, sizeof(group));
		group_try(attack, group, fd);
	}
	/* Long ones: parts of 255 and of 256, and as deep as a message can carry. */
	(void)snprintf(group, sizeof(group), "%s/%0256d", attack->rig->base, 0);
	group_try(attack, group, fd);
	(void)snprintf(group, sizeof(group), "%.200s/", attack->rig->base);
	while (strlen(group) + 4 < NEAP_PATH_MAX)
		(void)strncat(group, "../", 4);
	group_try(attack, group, fd);
	close(fd);
	hijack_end(pid);
	hijack_unharmed(attack);
}

/* Inside the managed roots there are limits too. */
static void own_root_only(void **state)
{
	struct hijack *attack = hijack_of(state);
	static unsigned char buf[1024];
	const char *groups[] = {attack->rig->base, attack->inside,
				rig_path(attack->rig, "new"), "neap-canary-new"};
	enum neap_hand_op ops[] = {NEAP_HAND_MAKE, NEAP_HAND_REMOVE, NEAP_HAND_MOVE,
				   NEAP_HAND_MAKE_POD};
	int pid, fd = hijack_connect(attack, 0, &pid);
	size_t i, j;

	for (i = 0; i < NEAP_ARRAY_LEN(groups); i++)
		for (j = 0; j < NEAP_ARRAY_LEN(ops); j++) {
			struct neap_hand_request request = {9, ops[j], groups[i],
							    0, NULL,   fd};

			assert_int_equal(hijack_ask(attack, buf,
						    hijack_message(&request, buf), &fd,
						    ops[j] == NEAP_HAND_MOVE),
					 EPERM);
		}
	assert_true(rig_exists(attack->rig, attack->inside));
	assert_false(rig_exists(attack->rig, rig_path(attack->rig, "new")));
	close(fd);
	hijack_end(pid);
	hijack_unharmed(attack);
}

/* --- values --- */

static void values_stay_in_range(void **state)
{
	static const char *const values[] = {
		"-1",
		"-2",
		"0x10",
		"1e9",
		"99999999999999999999999",
		"max max",
		"2 \n3",
		"2\n",
		"\n",
		" ",
		"0-999999",
		"0-",
		",",
		"0,0,",
		"$(id)",
		"1;2",
		"%n%n%n",
		"../../x",
		"9223372036854775807",
		"-9223372036854775808",
		"100000 0",
		"1 -1",
		"\xff\xfe",
		"0\t",
	};
	struct hijack *attack = hijack_of(state);
	static unsigned char buf[NEAP_WIRE_MAX];
	size_t i, k, len;

	for (k = 0; k < NEAP_KEY_COUNT; k++)
		for (i = 0; i < NEAP_ARRAY_LEN(values); i++) {
			enum neap_key key = (enum neap_key)k;
			struct neap_hand_request request = {1,
							    NEAP_HAND_SET,
							    attack->inside,
							    key,
							    values[i],
							    -1,
							    i % 2 ? values[i] : NULL};
			struct neap_value value;
			bool v2 = false;

			if (!neap_cgroup_file(&attack->rig->cgroup, key, NULL, &v2))
				continue;
			if (hijack_ask(attack, buf, hijack_message(&request, buf), NULL,
				       0) != 0)
				continue;
			if (neap_value_parse(key, v2, values[i], &value, NULL) < 0 ||
			    neap_value_check(key, &value, NULL) < 0)
				fail_msg("%s took '%s'", neap_key_get(key)->name,
					 values[i]);
		}
	/* Keys that are not in the table: the number stands behind magic, operation and
	 * id. */
	for (i = 0; i < 64; i++) {
		struct neap_hand_request request = {
			1, NEAP_HAND_SET, attack->inside, NEAP_KEY_CPU_SHARES, "2", -1};
		uint32_t key =
			i < 32 ? NEAP_KEY_COUNT + (uint32_t)i : UINT32_MAX - (uint32_t)i;

		len = hijack_message(&request, buf);
		memcpy(buf + 16, &key, sizeof(key));
		assert_int_equal(hijack_ask(attack, buf, len, NULL, 0), EBADMSG);
	}
	hijack_unharmed(attack);
}

/* What is given back is what the hand found, not what a message says was there. */
static void first_values_are_read(void **state)
{
	struct hijack *attack = hijack_of(state);
	static const struct {
		enum neap_key key;
		const char *value, *found;
	} rows[] = {
		{NEAP_KEY_CPU_SHARES, "3", "7"},
		{NEAP_KEY_CPU_IDLE, "0", "1"},
		{NEAP_KEY_MEMORY_MAX_BYTES, "1073741824", "536870912"},
		{NEAP_KEY_CPUSET_MEMS, "0", "1"},
	};
	struct neap_hand_request back = {2, NEAP_HAND_GIVE_BACK, NULL, 0, NULL, -1};
	static unsigned char buf[NEAP_WIRE_MAX];
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_hand_request set = {
			1,  NEAP_HAND_SET, attack->inside, rows[i].key, rows[i].value,
			-1, rows[i].found};
		char before[256];
		const char *after;

		(void)snprintf(before, sizeof(before), "%s",
			       rig_read(attack->rig, attack->inside, rows[i].key));
		if (hijack_ask(attack, buf, hijack_message(&set, buf), NULL, 0) != 0)
			continue; /* not on this machine */
		(void)hijack_ask(attack, buf, hijack_message(&back, buf), NULL, 0);
		after = rig_read(attack->rig, attack->inside, rows[i].key);
		if (strcmp(after, before) != 0)
			fail_msg("%s was '%s' and is '%s'",
				 neap_key_get(rows[i].key)->name, before, after);
	}
	hijack_unharmed(attack);
}

/* --- processes that did not ask to be moved --- */

/* A descriptor that a process of another kind made, sent to us. */
static int from_child(struct hijack *attack, bool is_pair, int *ret_pid)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int channel[2], fd = -1;
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	char byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr head = {.msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.room,
			      .msg_controllen = sizeof(control.room)};
	struct cmsghdr *part;

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/service", attack->dir);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel), 0);
	*ret_pid = fork();
	if (*ret_pid == 0) {
		int pair[2] = {-1, -1};

		if (is_pair) {
			if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
				_exit(1);
		} else {
			pair[0] = socket(AF_UNIX, SOCK_STREAM, 0);
			if (bind(pair[0], (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
			    listen(pair[0], 1) < 0)
				_exit(1);
		}
		memset(&control, 0, sizeof(control));
		part = CMSG_FIRSTHDR(&head);
		part->cmsg_level = SOL_SOCKET;
		part->cmsg_type = SCM_RIGHTS;
		part->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(part), &pair[0], sizeof(int));
		if (sendmsg(channel[1], &head, 0) < 0)
			_exit(2);
		for (;;)
			(void)pause();
	}
	assert_int_equal(recvmsg(channel[0], &head, MSG_CMSG_CLOEXEC), 1);
	part = CMSG_FIRSTHDR(&head);
	assert_non_null(part);
	memcpy(&fd, CMSG_DATA(part), sizeof(int));
	close(channel[0]);
	close(channel[1]);
	if (!is_pair) { /* the listener itself was sent; we connect to it */
		close(fd);
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
		assert_int_equal(unlink(addr.sun_path), 0);
	}
	return fd;
}

static int move_try(struct hijack *attack, int fd)
{
	struct neap_hand_request request = {3, NEAP_HAND_MOVE, attack->own, 0, NULL, fd};
	unsigned char buf[512];

	return hijack_ask(attack, buf, hijack_message(&request, buf), &fd, 1);
}

static void foreign_processes_stay(void **state)
{
	struct hijack *attack = hijack_of(state);
	int fds[3], pid, fd, i;

	/* Neither a service that we connect to, nor who made a pair of sockets for us. */
	fd = from_child(attack, false, &pid);
	assert_int_equal(move_try(attack, fd), EPERM);
	assert_false(rig_has_pid(attack->rig, attack->own, pid));
	close(fd);
	hijack_end(pid);
	fd = from_child(attack, true, &pid);
	assert_int_equal(move_try(attack, fd), EPERM);
	assert_false(rig_has_pid(attack->rig, attack->own, pid));
	/* The maker has ended, and its number may be another's by now. */
	hijack_end(pid);
	assert_int_not_equal(move_try(attack, fd), 0);
	close(fd);
	/* Who did connect, and has ended. */
	fd = hijack_connect(attack, HIJACK_NOBODY, &pid);
	hijack_end(pid);
	assert_int_equal(move_try(attack, fd), ESRCH);
	close(fd);
	/* Our own socket of the hand: its far end is the hand's, its maker the daemon. */
	assert_int_equal(move_try(attack, neap_hand_fd(attack->rig->hand)), EPERM);
	/* No sockets of that kind at all. */
	fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	fds[1] = open(attack->dir, O_PATH | O_CLOEXEC);
	fds[2] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	for (i = 0; i < 3; i++) {
		assert_int_not_equal(move_try(attack, fds[i]), 0);
		close(fds[i]);
	}
	/* One that did connect is moved, whoever it is: this is what it connects for. */
	fd = hijack_connect(attack, HIJACK_NOBODY, &pid);
	assert_int_equal(move_try(attack, fd), 0);
	assert_true(rig_has_pid(attack->rig, attack->own, pid));
	close(fd);
	hijack_end(pid);
	hijack_unharmed(attack);
}

/* --- the file system --- */

/* As the loop's user, in its jail. An exit status tells the first thing that it could
 * do. */
static int as_nobody(const struct hijack *attack)
{
	const char *run_dir = attack->rig->config.run_dir;
	int hand = neap_hand_pid(attack->rig->hand);
	char path[8][300];
	int i;

	(void)snprintf(path[0], 300, "%s/freeze", run_dir);
	(void)snprintf(path[1], 300, "%s/hand.journal", run_dir);
	(void)snprintf(path[2], 300, "%s/hand.journal.new", run_dir);
	(void)snprintf(path[3], 300, "%s/hand.lock", run_dir);
	(void)snprintf(path[4], 300, "/proc/%d/mem", hand);
	(void)snprintf(path[5], 300, "%s/%s",
		       attack->rig->cgroup.mount[NEAP_CTL_CPU].path, attack->rig->base);
	(void)snprintf(path[6], 300, "%s/evil", path[5]);
	(void)snprintf(path[7], 300, "/proc/%d/fd/0", hand);
	for (i = 0; i < 4; i++) {
		if (symlink(attack->dir, path[i]) == 0 || rename(path[i], path[2]) == 0 ||
		    unlink(path[i]) == 0 || mkdir(path[i], 0700) == 0)
			return 10 + i;
		if (open(path[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0)
			return 20 + i;
	}
	if (open(path[4], O_RDONLY | O_CLOEXEC) >= 0)
		return 30;
	if (mkdir(path[6], 0700) == 0 || symlink(attack->dir, path[6]) == 0 ||
	    rmdir(path[5]) == 0)
		return 31;
	if (open(path[7], O_RDONLY | O_CLOEXEC) >= 0)
		return 32;
	if (kill(hand, SIGTERM) == 0 || kill(hand, SIGKILL) == 0)
		return 33;
	return 0;
}

static void files_are_out_of_reach(void **state)
{
	struct hijack *attack = hijack_of(state);
	int pid = fork();
	int status = 0;

	if (pid == 0) {
		if (neap_jail_bound(0, NULL) < 0 || setgroups(0, NULL) < 0 ||
		    setresgid(HIJACK_NOBODY, HIJACK_NOBODY, HIJACK_NOBODY) < 0 ||
		    setresuid(HIJACK_NOBODY, HIJACK_NOBODY, HIJACK_NOBODY) < 0 ||
		    neap_jail_drop(0, NULL) < 0 ||
		    neap_jail_filter(NEAP_JAIL_LOOP, NEAP_JAIL_ON, NULL) < 0)
			_exit(99);
		_exit(as_nobody(attack));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	hijack_unharmed(attack);
}

/* Another file system over a group, as seen by the hand: nothing of it is touched. */
static int over_mounted(struct hijack *attack)
{
	char target[600], source[128];
	static unsigned char buf[1024];
	struct neap_hand_request rows[] = {
		{1, NEAP_HAND_SET, attack->inside, NEAP_KEY_CPU_SHARES, "2", -1},
		{2, NEAP_HAND_MAKE, attack->own, 0, NULL, -1},
		{3, NEAP_HAND_REMOVE, attack->own, 0, NULL, -1},
		{4, NEAP_HAND_MAKE, NULL, 0, NULL, -1},
	};
	char below[NEAP_PATH_MAX];
	const char *groups[] = {attack->inside, attack->own};
	size_t i, j, count = 0;

	if (hijack_ask(attack, buf, hijack_message(&rows[1], buf), NULL, 0) != 0)
		return 9; /* gone with the hand before */
	(void)snprintf(below, sizeof(below), "%.200s/below", attack->own);
	rows[3].group = below;
	(void)snprintf(source, sizeof(source), "%s/precious.d", attack->dir);
	for (i = 0; i < NEAP_CTL_COUNT; i++)
		for (j = 0; j < NEAP_ARRAY_LEN(groups); j++) {
			const struct neap_cgroup_mount *at =
				&attack->rig->cgroup.mount[i];

			if (!at->is_present)
				continue;
			(void)snprintf(target, sizeof(target), "%s/%s", at->path,
				       groups[j]);
			if (mount(source, target, NULL, MS_BIND, NULL) == 0)
				count++;
			else if (errno != ENOENT) /* not in each hierarchy */
				return 10;
		}
	if (count == 0)
		return 11;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		if (hijack_ask(attack, buf, hijack_message(&rows[i], buf), NULL, 0) == 0)
			return 20 + (int)i;
	return 0;
}

/* In a mount name space that no other process of this machine sees. */
static void mounts_are_not_followed(void **state)
{
	struct hijack *attack = hijack_of(state);
	int pid, status = 0;

	neap_hand_free(attack->rig->hand);
	attack->rig->hand = NULL;
	rig_sleep_ms(200);
	pid = fork();
	if (pid == 0) {
		struct neap_error err = {0};

		if (unshare(CLONE_NEWNS) < 0 ||
		    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
			_exit(99);
		/* Descriptors of mounts are of the name space where they were opened. */
		neap_cgroup_done(&attack->rig->cgroup);
		if (neap_cgroup_probe(NULL, &attack->rig->cgroup, &err) < 0 ||
		    neap_hand_start(&attack->rig->config, &attack->rig->hand, &err) < 0)
			_exit(98);
		_exit(over_mounted(attack));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 99) {
		print_message("SKIP no mount name space of its own: not root\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
	rig_sleep_ms(200);
	rig_start(attack->rig);
	hijack_unharmed(attack);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, hijack_setup, hijack_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(names_lead_nowhere),      CASE(own_root_only),
		CASE(values_stay_in_range),    CASE(first_values_are_read),
		CASE(foreign_processes_stay),  CASE(files_are_out_of_reach),
		CASE(mounts_are_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
