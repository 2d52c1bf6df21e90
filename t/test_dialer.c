/* SPDX-License-Identifier: Apache-2.0
 *
 * The dialer: real processes, and real sockets over the loopback. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/file.h"
#include "t/lib/dialer_rig.h"

#define SHORT_USEC 300000

static int option_of(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int value = -1;

	assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

/* --- dials --- */

static void a_connection(void **state)
{
	uint16_t port;
	neap_auto_fd int server = listener(4, &port);
	const struct neap_dialer_server servers[] = {{"127.0.0.1", port},
						     {"localhost", port}};
	struct neap_dialer_config config = {.servers = servers, .server_count = 2};
	struct neap_dialer *dialer = dialer_start(&config);
	char text[8] = "";

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		neap_auto_fd int peer = -1;
		int fd;

		ask(dialer, i, i);
		assert_true(comes(dialer, got.fds[i] != NOT_YET));
		if (got.fds[i] < 0)
			fail_msg("%s: %s", servers[i].host, got.whys[i]);
		fd = got.fds[i];
		peer = accept(server, NULL, NULL);
		assert_true(peer >= 0);
		assert_int_equal(write(fd, "hello", 5), 5);
		assert_int_equal(read(peer, text, sizeof(text)), 5);
		assert_memory_equal(text, "hello", 5);
		assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 1);
		assert_int_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
		assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), 30);
		assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 45000);
	}
	assert_int_equal(got.answers, 2);
	assert_int_equal(got.ends, 0);
	dialer_stop(dialer);
}

static void refused(void **state)
{
	uint16_t port;
	neap_auto_fd int bound = listener(-1, &port); /* nobody else gets the port */
	const struct neap_dialer_server servers[] = {{"127.0.0.1", port},
						     {"name.invalid", port}};
	struct neap_dialer_config config = {
		.servers = servers, .server_count = 2, .timeout_usec = SHORT_USEC};
	struct neap_dialer *dialer;

	(void)state;
	/* Whatever the name servers here say, and if they say nothing. */
	dialer = dialer_start(&config);
	ask(dialer, 1, 1);
	assert_true(comes(dialer, got.answers == 1));
	assert_int_equal(got.fds[1], -1);
	assert_non_null(strstr(got.whys[1], "name.invalid"));
	dialer_stop(dialer);

	config.timeout_usec = 0;
	dialer = dialer_start(&config);
	ask(dialer, 0, 7);
	assert_true(comes(dialer, got.answers == 1));
	assert_int_equal(got.fds[7], -1);
	assert_string_equal(got.whys[7], "127.0.0.1: Connection refused");
	dialer_stop(dialer);
}

/* One that gets no answer neither holds others up nor lasts for ever. */
static void black_hole(void **state)
{
	uint16_t port;
	neap_auto_fd int server = listener(4, &port);
	struct hole hole;
	struct neap_dialer_server servers[] = {{"127.0.0.1", 0}, {"127.0.0.1", port}};
	struct neap_dialer_config config = {.servers = servers, .server_count = 2};
	struct neap_dialer *dialer;

	(void)state;
	hole_make(&hole);
	servers[0].port = hole.port;
	dialer = dialer_start(&config);
	ask(dialer, 0, 0);
	ask(dialer, 1, 1);
	assert_true(comes(dialer, got.fds[1] != NOT_YET));
	assert_true(got.fds[1] >= 0);
	assert_int_equal(got.fds[0], NOT_YET);
	dialer_stop(dialer);

	config.timeout_usec = SHORT_USEC;
	dialer = dialer_start(&config);
	ask(dialer, 0, 0);
	assert_true(comes(dialer, got.answers == 1));
	assert_int_equal(got.fds[0], -1);
	assert_string_equal(got.whys[0], "127.0.0.1: no answer in time");
	dialer_stop(dialer);
	hole_done(&hole);
}

static void too_many(void **state)
{
	struct hole hole;
	struct neap_dialer_server servers[] = {{"127.0.0.1", 0}};
	struct neap_dialer_config config = {
		.servers = servers, .server_count = 1, .timeout_usec = 4 * SHORT_USEC};
	struct neap_error err = {0};
	struct neap_dialer *dialer;

	(void)state;
	hole_make(&hole);
	servers[0].port = hole.port;
	dialer = dialer_start(&config);
	for (uint64_t i = 0; i < NEAP_DIALER_REQUESTS; i++)
		ask(dialer, 0, i);
	assert_int_equal(neap_dialer_connect(dialer, 0, 0, &err), -NEAP_EUNAVAILABLE);
	assert_int_equal(got.answers, 0);
	assert_true(comes(dialer, got.answers == NEAP_DIALER_REQUESTS));
	ask(dialer, 0, 99 % NEAP_DIALER_REQUESTS); /* there is room again */
	assert_int_equal(got.ends, 0);
	dialer_stop(dialer);
	hole_done(&hole);
}

/* --- names with several addresses --- */

#define TWO "two.addresses.test"

/* A file of hosts of our own, in name space of its own. False where that cannot be. */
static bool hosts_replace(const char *text)
{
	char path[] = "/tmp/neap-hosts-XXXXXX";
	int fd = mkstemp(path);
	bool is_replaced;

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0644), 0);
	assert_int_equal(neap_fd_write(fd, text, strlen(text)), 0);
	(void)close(fd);
	is_replaced = unshare(CLONE_NEWNS) == 0 &&
		      mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		      mount(path, "/etc/hosts", NULL, MS_BIND, NULL) == 0;
	(void)unlink(path);
	return is_replaced;
}

/* The last byte of the peer's address. */
static unsigned peer_of(int fd)
{
	struct sockaddr_in peer = {0};
	socklen_t len = sizeof(peer);

	assert_int_equal(getpeername(fd, (struct sockaddr *)&peer, &len), 0);
	return ntohl(peer.sin_addr.s_addr) & 0xff;
}

/* One address refuses, the other one takes it; that one is tried first from then on. All
 * refuse: all are told. */
static void addresses_in_turn(void)
{
	uint16_t port;
	neap_auto_fd int three = listener_at(3, 4, 0, &port);
	neap_auto_fd int two = -1;
	const struct neap_dialer_server servers[] = {{TWO, port}};
	struct neap_dialer_config config = {.servers = servers, .server_count = 1};
	struct neap_dialer *dialer = dialer_start(&config);

	ask(dialer, 0, 0);
	assert_true(comes(dialer, got.answers == 1));
	if (got.fds[0] < 0)
		fail_msg("%s", got.whys[0]);
	assert_int_equal(peer_of(got.fds[0]), 3);
	two = listener_at(2, 4, port, &port);
	ask(dialer, 0, 1);
	assert_true(comes(dialer, got.answers == 2));
	assert_int_equal(peer_of(got.fds[1]), 3);
	neap_fd_close(&three);
	ask(dialer, 0, 2);
	assert_true(comes(dialer, got.answers == 3));
	assert_int_equal(peer_of(got.fds[2]), 2);
	neap_fd_close(&two);
	ask(dialer, 0, 3);
	assert_true(comes(dialer, got.answers == 4));
	assert_int_equal(got.fds[3], -1);
	assert_string_equal(got.whys[3], "127.0.0.2: Connection refused; "
					 "127.0.0.3: Connection refused");
	dialer_stop(dialer);
}

static void several_addresses(void **state)
{
	int status = -1;
	int pid = fork();

	(void)state;
	if (pid == 0) {
		if (!hosts_replace("127.0.0.2 " TWO "\n127.0.0.3 " TWO "\n"))
			_exit(77);
		/* A failed assert must end this process, not go on as the parent. */
		(void)setenv("CMOCKA_TEST_ABORT", "1", 1);
		addresses_in_turn();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("SKIP needs root, for a name space with its own hosts\n");
		skip();
	}
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* --- ends --- */

static void one_dies(void **state)
{
	struct hole hole;
	struct neap_dialer_server servers[] = {{"127.0.0.1", 0}};
	struct neap_dialer_config config = {.servers = servers, .server_count = 1};
	struct neap_error err = {0};
	struct neap_dialer *dialer;

	(void)state;
	hole_make(&hole);
	servers[0].port = hole.port;
	dialer = dialer_start(&config);
	ask(dialer, 0, 3);
	ask(dialer, 0, 4);
	assert_int_equal(kill(neap_dialer_pid(dialer), SIGKILL), 0);
	assert_true(comes(dialer, got.ends == 1));
	assert_int_equal(got.answers, 2);
	assert_string_equal(got.whys[4], "neap-dialer has ended");
	hear(dialer);
	assert_int_equal(got.ends, 1);
	assert_int_equal(neap_dialer_connect(dialer, 0, 5, &err), -NEAP_EUNAVAILABLE);
	dialer_stop(dialer);
	hole_done(&hole);
}

static void the_loop_dies(void **state)
{
	const struct neap_dialer_server servers[] = {{"127.0.0.1", 1}};
	const char *names[] = {"/etc/hosts"};
	struct neap_dialer_config config = {
		.servers = servers, .server_count = 1, .files = names, .file_count = 1};
	int pids[2] = {0}, ready[2], pid;

	(void)state;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		const struct neap_dialer *dialer = dialer_start(&config);

		pids[0] = neap_dialer_pid(dialer);
		pids[1] = neap_dialer_reader_pid(dialer);
		if (write(ready[1], pids, sizeof(pids)) != sizeof(pids))
			_exit(1);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(ready[0], pids, sizeof(pids)), sizeof(pids));
	assert_true(pids[0] > 0 && pids[1] > 0);
	/* A supervisor's SIGTERM goes to all; these end with the loop. */
	assert_int_equal(kill(pids[0], SIGTERM), 0);
	assert_int_equal(kill(pids[1], SIGTERM), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (size_t i = 0; i < 2; i++) {
		int status = -1;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	(void)close(ready[0]);
	(void)close(ready[1]);
}

static void bad_configurations(void **state)
{
	const char *const names[] = {"token"};
	const struct neap_dialer_config config = {
		.files = names, .file_count = 1, .log = &no_log};
	const struct neap_dialer_config many = {.server_count = NEAP_DIALER_SERVERS + 1};
	struct neap_dialer *dialer = NULL;
	struct neap_error err = {0};

	(void)state;
	assert_int_equal(neap_dialer_start(&config, &dialer, &err), -NEAP_EINVAL);
	assert_non_null(strstr(err.msg, "whole path"));
	assert_int_equal(neap_dialer_start(&many, &dialer, &err), -NEAP_ETOOLARGE);
	assert_null(dialer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection),      cmocka_unit_test(refused),
		cmocka_unit_test(black_hole),        cmocka_unit_test(too_many),
		cmocka_unit_test(several_addresses), cmocka_unit_test(one_dies),
		cmocka_unit_test(the_loop_dies),     cmocka_unit_test(bad_configurations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
