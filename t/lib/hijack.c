/* SPDX-License-Identifier: Apache-2.0
 *
 * See hijack.h. */
#include "t/lib/hijack.h"

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
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"

static const char *why;

/* --- what lies outside --- */

static void add_text(char *to, size_t size, const char *what, const char *text)
{
	size_t len = strlen(to);

	(void)snprintf(to + len, size - len, "%s=%s\n", what, text);
}

static void add_file(char *to, size_t size, const char *what, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char text[1024] = "unreadable";
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n >= 0)
		text[n] = '\0';
	add_text(to, size, what, text);
}

static void add_names(char *to, size_t size, const char *path, const char *part)
{
	struct dirent **list;
	int i, n = scandir(path, &list, NULL, alphasort);

	for (i = 0; i < n; i++) {
		if (strstr(list[i]->d_name, part))
			add_text(to, size, path, list[i]->d_name);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

static void look_outside(struct hijack *attack, char *to, size_t size)
{
	static const char *const files[] = {"precious", "precious.d/cpu.shares",
					    "precious.d/cpu.weight"};
	struct hand_rig *rig = attack->rig;
	char path[512], pid[16];
	size_t i;

	to[0] = '\0';
	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	for (i = 0; i < NEAP_KEY_COUNT; i++)
		if (neap_cgroup_file(&rig->cgroup, (enum neap_key)i, NULL, NULL))
			add_text(to, size, neap_key_get((enum neap_key)i)->name,
				 rig_read(rig, attack->canary, (enum neap_key)i));
	for (i = 0; i < NEAP_CTL_COUNT; i++) {
		const struct neap_cgroup_mount *mount = &rig->cgroup.mount[i];

		if (!mount->is_present)
			continue;
		add_names(to, size, mount->path, pid);
		(void)snprintf(path, sizeof(path), "%s/%s", mount->path, attack->canary);
		add_names(to, size, path, "");
		(void)snprintf(path, sizeof(path), "%s/%s/cgroup.procs", mount->path,
			       attack->canary);
		add_file(to, size, path, path);
	}
	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", attack->victim);
	add_file(to, size, path, path);
	add_file(to, size, "process 1", "/proc/1/cgroup");
	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", neap_hand_pid(rig->hand));
	add_file(to, size, "hand", path);
	for (i = 0; i < NEAP_ARRAY_LEN(files); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", attack->dir, files[i]);
		add_file(to, size, path, path);
	}
	add_names(to, size, attack->dir, "");
	(void)snprintf(path, sizeof(path), "%s/precious.d", attack->dir);
	add_names(to, size, path, "");
	assert_true(strlen(to) < size - 1);
}

static void put_file(const struct hijack *attack, const char *name)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", attack->dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "1024\n", 5), 5);
	close(fd);
}

int hijack_setup(void **state)
{
	struct hijack *attack = neap_alloc(sizeof(*attack));
	char path[128];

	*state = attack;
	attack->rig = rig_new(&why);
	if (!attack->rig)
		return 0;
	(void)snprintf(attack->canary, sizeof(attack->canary), "neap-canary-%d",
		       (int)getpid());
	(void)snprintf(attack->inside, sizeof(attack->inside), "%s",
		       rig_path(attack->rig, "pod"));
	(void)snprintf(attack->own, sizeof(attack->own), "%.200s/w", attack->rig->own);
	rig_make(attack->rig, attack->canary);
	rig_make(attack->rig, attack->inside);
	(void)snprintf(attack->dir, sizeof(attack->dir), "/tmp/neap-hijack-%d",
		       (int)getpid());
	assert_int_equal(mkdir(attack->dir, 0777), 0);
	assert_int_equal(chmod(attack->dir, 0777), 0);
	(void)snprintf(path, sizeof(path), "%s/precious.d", attack->dir);
	assert_int_equal(mkdir(path, 0777), 0);
	put_file(attack, "precious");
	put_file(attack, "precious.d/cpu.shares");
	put_file(attack, "precious.d/cpu.weight");
	attack->victim = fork();
	if (attack->victim == 0)
		for (;;)
			(void)pause();
	assert_int_equal(neap_cgroup_move(&attack->rig->cgroup, attack->canary,
					  attack->victim, NULL),
			 0);
	rig_start(attack->rig);
	assert_int_equal(
		rig_ask(attack->rig, NEAP_HAND_MAKE, attack->own, 0, NULL, -1).errnum, 0);
	look_outside(attack, attack->before, sizeof(attack->before));
	return 0;
}

int hijack_teardown(void **state)
{
	static const char *const names[] = {"precious.d/cpu.shares",
					    "precious.d/cpu.weight", "precious.d",
					    "precious", ""};
	struct hijack *attack = *state;
	char path[128];
	size_t i;
	int round;

	if (attack->rig) {
		if (attack->victim > 0) {
			(void)kill(attack->victim, SIGKILL);
			(void)waitpid(attack->victim, NULL, 0);
		}
		for (round = 0; round < 10; round++) {
			if (neap_cgroup_remove(&attack->rig->cgroup, attack->canary,
					       NULL) == 0)
				break;
			rig_sleep_ms(20);
		}
		for (i = 0; i < NEAP_ARRAY_LEN(names); i++) {
			(void)snprintf(path, sizeof(path), "%s/%s", attack->dir,
				       names[i]);
			(void)remove(path);
		}
		rig_free(attack->rig);
	}
	free(attack);
	return 0;
}

struct hijack *hijack_of(void **state)
{
	struct hijack *attack = *state;

	if (!attack->rig) {
		print_message("SKIP %s\n", why);
		skip();
	}
	return attack;
}

/* --- the wire, raw --- */

size_t hijack_message(const struct neap_hand_request *request, unsigned char *buf)
{
	struct neap_error err = {0};
	size_t len = 0;

	if (neap_wire_format_request(request, buf, NEAP_WIRE_MAX, &len, &err) < 0)
		return 0;
	return len;
}

/* Takes whatever waits, and closes what came with it. errnum of the last answer, -1
 * without one. */
int hijack_drain(struct hijack *attack)
{
	static unsigned char buf[NEAP_WIRE_MAX];
	union {
		char room[CMSG_SPACE(sizeof(int) * 8)];
		struct cmsghdr align;
	} control;
	int last = -1;

	for (;;) {
		struct iovec iov = {buf, sizeof(buf)};
		struct msghdr head = {.msg_iov = &iov,
				      .msg_iovlen = 1,
				      .msg_control = control.room,
				      .msg_controllen = sizeof(control.room)};
		ssize_t n = recvmsg(neap_hand_fd(attack->rig->hand), &head,
				    MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		struct cmsghdr *part;
		size_t at, len;

		if (n <= 0)
			return last;
		part = CMSG_FIRSTHDR(&head);
		if (part && part->cmsg_type == SCM_RIGHTS) {
			int fd;

			memcpy(&fd, CMSG_DATA(part), sizeof(fd));
			close(fd);
		}
		for (at = 0; at < (size_t)n; at += len) {
			struct neap_hand_answer answer;

			len = neap_wire_length(buf + at, (size_t)n - at);
			if (neap_wire_parse_answer(buf + at, len, &answer, NULL) < 0)
				fail_msg("the hand sent what is no answer");
			last = answer.errnum;
			attack->answers++;
		}
	}
}

/* False: the socket is full. */
bool hijack_send(const struct hijack *attack, const void *buf, size_t len, const int *fds,
		 size_t fd_count)
{
	union {
		char room[CMSG_SPACE(sizeof(int) * HIJACK_FDS_MAX)];
		struct cmsghdr align;
	} control;
	struct iovec iov = {(void *)buf, len};
	struct msghdr head = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *part;
	ssize_t n;

	if (fd_count) {
		memset(&control, 0, sizeof(control));
		head.msg_control = control.room;
		head.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		part = CMSG_FIRSTHDR(&head);
		part->cmsg_level = SOL_SOCKET;
		part->cmsg_type = SCM_RIGHTS;
		part->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(part), fds, sizeof(int) * fd_count);
	}
	n = sendmsg(neap_hand_fd(attack->rig->hand), &head, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN && errno != EMSGSIZE && errno != ETOOMANYREFS &&
	    errno != ENOBUFS)
		fail_msg("the hand is gone: %s", strerror(errno));
	return n >= 0 || errno == EMSGSIZE;
}

static void wait_ready(const struct hijack *attack, short what)
{
	struct pollfd p = {.fd = neap_hand_fd(attack->rig->hand), .events = what};

	(void)poll(&p, 1, 1000);
}

/* Sends for sure, taking answers meanwhile. */
void hijack_push(struct hijack *attack, const void *buf, size_t len, const int *fds,
		 size_t fd_count)
{
	int round;

	for (round = 0; round < 1000; round++) {
		if (hijack_send(attack, buf, len, fds, fd_count))
			return;
		wait_ready(attack, POLLIN);
		(void)hijack_drain(attack);
	}
	fail_msg("the hand takes no more messages");
}

/* One message and its answer's errnum. */
int hijack_ask(struct hijack *attack, const void *buf, size_t len, const int *fds,
	       size_t fd_count)
{
	int round, last = -1;

	(void)hijack_drain(attack);
	hijack_push(attack, buf, len, fds, fd_count);
	for (round = 0; round < 20 && last < 0; round++) {
		wait_ready(attack, POLLIN);
		last = hijack_drain(attack);
	}
	return last;
}

/* --- afterwards --- */

/* The hand answers; all that was sent before is done. */
void hijack_settle(struct hijack *attack)
{
	struct neap_hand_request list = {77, NEAP_HAND_RESUME, NULL, 0, NULL, -1};
	unsigned char buf[256];
	size_t len = hijack_message(&list, buf);
	size_t before;
	int round;

	for (round = 0; round < 200; round++) {
		before = attack->answers;
		rig_sleep_ms(5);
		(void)hijack_drain(attack);
		if (attack->answers == before)
			break;
	}
	assert_int_equal(hijack_ask(attack, buf, len, NULL, 0), 0);
}

/* Descriptors of the hand: nothing that a message brought. */
static void no_descriptors(const struct hijack *attack)
{
	char path[64], link[600], target[512];
	int sockets = 0, count = 0;
	struct dirent *entry;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd",
		       neap_hand_pid(attack->rig->hand));
	dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		ssize_t n;

		(void)snprintf(link, sizeof(link), "%s/%s", path, entry->d_name);
		n = readlink(link, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = '\0';
		count++;
		sockets += strncmp(target, "socket:", 7) == 0;
		if (strstr(target, "pressure") || strstr(target, attack->dir) ||
		    strstr(target, "eventpoll") || strstr(target, "pipe:"))
			fail_msg("the hand keeps %s", target);
	}
	closedir(dir);
	assert_int_equal(sockets, 1);
	assert_in_range(count, 5, 100);
}

static long cpu_ticks(int pid, char *ret_state)
{
	char path[64], text[1024];
	unsigned long user, sys;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	if (sscanf(strrchr(text, ')') + 1,
		   " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", ret_state,
		   &user, &sys) != 3)
		return -1;
	return (long)(user + sys);
}

void hijack_sleeps(const struct hijack *attack)
{
	int pid = neap_hand_pid(attack->rig->hand);
	long before, after;
	char state;

	before = cpu_ticks(pid, &state);
	rig_sleep_ms(300);
	after = cpu_ticks(pid, &state);
	assert_true(before >= 0 && after >= 0);
	assert_true((after - before) * 1000 / sysconf(_SC_CLK_TCK) < 100);
}

void hijack_unharmed(struct hijack *attack)
{
	hijack_settle(attack);
	look_outside(attack, attack->after, sizeof(attack->after));
	if (strcmp(attack->before, attack->after) != 0)
		fail_msg("changed outside:\n--- before\n%s--- after\n%s", attack->before,
			 attack->after);
	no_descriptors(attack);
}

void hijack_name(const struct hijack *attack, const char *form, char *buf, size_t size)
{
	size_t len = 0;

	for (buf[0] = '\0'; *form && len + 1 < size; form++) {
		const char *with = NULL;

		if (form[0] == '%' && form[1] == 'b')
			with = attack->rig->base;
		else if (form[0] == '%' && form[1] == 'c')
			with = attack->canary;
		else if (form[0] == '%' && form[1] == 'o')
			with = attack->rig->own;
		if (with) {
			len += (size_t)snprintf(buf + len, size - len, "%s", with);
			form++;
		} else {
			buf[len++] = *form;
			buf[len] = '\0';
		}
	}
}

/* A child that connects to a socket of ours. */
int hijack_connect(struct hijack *attack, uid_t uid, int *ret_pid)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd;

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/sock", attack->dir);
	assert_int_equal(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(chmod(addr.sun_path, 0777), 0);
	assert_int_equal(listen(listener, 1), 0);
	*ret_pid = fork();
	if (*ret_pid == 0) {
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		if (setuid(uid) < 0 ||
		    connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
			_exit(1);
		for (;;)
			(void)pause();
	}
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	close(listener);
	assert_int_equal(unlink(addr.sun_path), 0);
	return fd;
}

void hijack_end(int pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}
