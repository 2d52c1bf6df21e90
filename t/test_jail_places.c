/* SPDX-License-Identifier: Apache-2.0
 *
 * Places and ports that remain, each tried in a child that Landlock confines. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "hw/jail.h"

#define NO_LANDLOCK 199 /* exit statuses of a child */
#define NO_JAIL     201

static int status_of(int pid)
{
	int status = 0;

	if (waitpid(pid, &status, 0) != pid)
		return -1;
	if (WIFSIGNALED(status))
		return -WTERMSIG(status);
	return WEXITSTATUS(status);
}

/* --- places --- */

static int place_try(const char *dir)
{
	int pid = fork();

	if (pid == 0) {
		struct neap_jail_place places[] = {
			{.fd = -1, .can_write = true},
			{.fd = open("/proc", O_PATH | O_CLOEXEC)},
			{.fd = -1, .can_write = true, .makes_files = true},
			{.fd = -1, .can_write = true, .has_groups = true},
		};
		char name[8][128];
		static const char *const parts[] = {
			"files",      "groups",      "files/new",   "groups/new",
			"groups/old", "outside/old", "outside/new", "files/dir"};
		size_t i;
		int kept, rc;

		for (i = 0; i < NEAP_ARRAY_LEN(parts); i++)
			(void)snprintf(name[i], sizeof(name[i]), "%s/%s", dir, parts[i]);
		places[2].fd = open(name[0], O_PATH | O_CLOEXEC);
		places[3].fd = open(name[1], O_PATH | O_CLOEXEC);
		kept = open(name[5], O_RDWR | O_CLOEXEC);
		if (places[2].fd < 0 || places[3].fd < 0 || kept < 0 ||
		    neap_jail_bound(0, NULL) < 0)
			_exit(1);
		rc = neap_jail_places(places, NEAP_ARRAY_LEN(places), NULL);
		if (rc == 0)
			_exit(NO_LANDLOCK);
		if (rc < 0)
			_exit(2);
		if (open(name[2], O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0 ||
		    unlink(name[2]) < 0)
			_exit(3);
		if (mkdir(name[7], 0700) == 0 || errno != EACCES)
			_exit(4);
		if (mkdir(name[3], 0700) < 0 || rmdir(name[3]) < 0)
			_exit(5);
		if (open(name[3], O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0)
			_exit(6);
		if (open(name[4], O_WRONLY | O_CLOEXEC) < 0)
			_exit(7);
		if (open(name[5], O_RDONLY | O_CLOEXEC) >= 0 || errno != EACCES)
			_exit(8);
		if (open(name[5], O_WRONLY | O_CLOEXEC) >= 0 ||
		    open(name[6], O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0)
			_exit(9);
		if (symlink("/etc/passwd", name[2]) == 0 || link(name[4], name[2]) == 0)
			_exit(10);
		if (open("/proc/self/stat", O_RDONLY | O_CLOEXEC) < 0 ||
		    open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0)
			_exit(11);
		if (write(kept, "y", 1) != 1) /* what is open stays open */
			_exit(12);
		_exit(0);
	}
	return status_of(pid);
}

static void places(void **state)
{
	char dir[] = "/tmp/neap-jail-XXXXXX", path[128], command[64];
	static const char *const parts[] = {"files", "groups", "outside"};
	size_t i;
	int rc;

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (i = 0; i < NEAP_ARRAY_LEN(parts); i++) {
		int fd;

		(void)snprintf(path, sizeof(path), "%s/%s", dir, parts[i]);
		assert_int_equal(mkdir(path, 0700), 0);
		(void)snprintf(path, sizeof(path), "%s/%s/old", dir, parts[i]);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		close(fd);
	}
	rc = place_try(dir);
	(void)snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0); /* NOLINT: a fixed name of our own */
	if (rc == NO_LANDLOCK) {
		print_message("SKIP Landlock: not on this kernel\n");
		skip();
	}
	assert_int_equal(rc, 0);
}

/* --- ports --- */

/* A listening port of the loopback. */
static int port_listen(uint16_t *ret)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	*ret = ntohs(address.sin_port);
	return fd;
}

/* 0 or an errno. */
static int port_try(uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	neap_auto_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? errno : 0;
}

static void ports(void **state)
{
	uint16_t allowed = 0, other = 0;
	neap_auto_fd int first = port_listen(&allowed);
	neap_auto_fd int second = port_listen(&other);
	int pid = fork();
	int got;

	(void)state;
	if (pid == 0) {
		int version;

		if (neap_jail_bound(0, NULL) < 0)
			_exit(NO_JAIL);
		version = neap_jail_places_dial(NULL, 0, &allowed, 1, NULL);
		if (version >= 0 && version < 4)
			_exit(NO_LANDLOCK);
		_exit(version < 0                 ? NO_JAIL
		      : port_try(allowed) != 0    ? 1
		      : port_try(other) != EACCES ? 2
						  : 0);
	}
	got = status_of(pid);
	if (got == NO_LANDLOCK) {
		print_message("SKIP Landlock of ports: not on this kernel\n");
		skip();
	}
	assert_int_equal(got, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places),
		cmocka_unit_test(ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
