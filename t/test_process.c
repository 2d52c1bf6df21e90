/* SPDX-License-Identifier: Apache-2.0
 *
 * What a forked process does first: which descriptors stay, and which signals it reads.
 * And packets with descriptors. */
#include "hw/process.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "hw/packet.h"

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static bool is_null(int fd)
{
	struct stat st, null;

	return fstat(fd, &st) == 0 && stat("/dev/null", &null) == 0 &&
	       st.st_rdev == null.st_rdev && S_ISCHR(st.st_mode);
}

/* The first check that fails, 0 for none. */
static int in_child(int (*check)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(check());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int check_fds(void)
{
	static const int keep[] = {40, -1, 2, 42};

	for (int fd = 38; fd < 46; fd++)
		if (dup2(0, fd) < 0)
			return 1;
	if (dup2(open("/dev/zero", O_RDONLY), 2) < 0)
		return 2;
	neap_process_fds_keep(keep, sizeof(keep) / sizeof(keep[0]));
	for (int fd = 3; fd < 50; fd++)
		if (is_open(fd) != (fd == 40 || fd == 42))
			return fd;
	if (!is_null(0) || !is_null(1))
		return 101;
	return is_null(2) || !is_open(2) ? 102 : 0;
}

static int check_signals(void)
{
	static const int ignored[] = {SIGPIPE, 0}, blocked[] = {SIGTERM, 0};
	struct signalfd_siginfo info;
	struct sigaction action;
	int fd;

	(void)signal(SIGHUP, SIG_IGN);
	fd = neap_process_signals(ignored, blocked, NULL);
	if (fd < 0)
		return 1;
	if (sigaction(SIGHUP, NULL, &action) < 0 || action.sa_handler != SIG_DFL)
		return 2;
	if (sigaction(SIGPIPE, NULL, &action) < 0 || action.sa_handler != SIG_IGN)
		return 3;
	if (kill(getpid(), SIGTERM) < 0 || read(fd, &info, sizeof(info)) != sizeof(info))
		return 4;
	return info.ssi_signo == SIGTERM ? 0 : 5;
}

static void test_fds(void **state)
{
	(void)state;
	assert_int_equal(in_child(check_fds), 0);
}

static void test_signals(void **state)
{
	(void)state;
	assert_int_equal(in_child(check_signals), 0);
}

static void test_packets(void **state)
{
	struct neap_packet packet;
	char room[4];
	int ends[2], fd;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(neap_packet_send(ends[0], "one", 3, 0), 3);
	assert_int_equal(neap_packet_receive(ends[1], room, sizeof(room), &fd), 3);
	assert_true(fd > 2);
	(void)close(fd);
	/* Longer than the room: told, and what came with it is there to be closed. */
	assert_int_equal(neap_packet_send(ends[0], "longer", 6, 0), 6);
	assert_int_equal(neap_packet_receive_all(ends[1], room, sizeof(room), &packet),
			 4);
	assert_true(packet.is_cut);
	assert_false(packet.lacks_fds);
	assert_int_equal(packet.fd_count, 1);
	fd = packet.fds[0];
	assert_true(is_open(fd));
	neap_packet_done(&packet);
	assert_false(is_open(fd));
	assert_int_equal(packet.fd_count, 0);
	assert_int_equal(neap_packet_send(ends[0], "longer", 6, 0), 6);
	assert_int_equal(neap_packet_receive(ends[1], room, sizeof(room), &fd), -1);
	assert_int_equal(errno, EMSGSIZE);
	assert_int_equal(fd, -1);
	(void)close(ends[0]);
	assert_int_equal(neap_packet_receive(ends[1], room, sizeof(room), &fd), 0);
	(void)close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fds),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
