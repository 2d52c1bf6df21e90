/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "t/lib/dialer_rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"

struct dialer_got got;
const struct neap_log no_log = {.fd = -1, .level = NEAP_LOG_ERROR};

static void heard_connected(void *arg, uint64_t id, int fd, const char *why)
{
	(void)arg;
	assert_true(id < NEAP_DIALER_REQUESTS);
	assert_int_equal(got.fds[id], NOT_YET);
	assert_true((fd >= 0) == (why == NULL));
	got.fds[id] = fd;
	if (why)
		(void)neap_strcopy(got.whys[id], NEAP_DIALER_WHY, why);
	got.answers++;
}

static void heard_read(void *arg, uint64_t id, const char *text, size_t len,
		       const char *why)
{
	(void)arg;
	assert_true(id < NEAP_DIALER_REQUESTS);
	assert_true((text == NULL) == (why != NULL));
	free(got.text);
	got.text = text ? neap_strndup(text, len) : NULL;
	got.len = len;
	(void)neap_strcopy(got.whys[id], NEAP_DIALER_WHY, why ? why : "");
	got.reads++;
}

static void heard_ended(void *arg)
{
	(void)arg;
	got.ends++;
}

static const struct neap_dialer_heard heard = {heard_connected, heard_read, heard_ended};

void hear(struct neap_dialer *dialer)
{
	struct pollfd p = {.fd = neap_dialer_fd(dialer), .events = POLLIN};

	if (poll(&p, 1, 10) > 0)
		neap_dialer_hear(dialer, &heard, NULL);
}

static void forget(void)
{
	for (size_t i = 0; i < NEAP_DIALER_REQUESTS; i++) {
		if (got.fds[i] > 0)
			(void)close(got.fds[i]);
		got.fds[i] = NOT_YET;
	}
	free(got.text);
	got.text = NULL;
	got.answers = got.reads = got.ends = 0;
}

/* --- servers --- */

int listener_at(int last, int backlog, uint16_t port, uint16_t *ret_port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl((INADDR_LOOPBACK & ~0xffu) | (unsigned)last)};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	if (backlog >= 0)
		assert_int_equal(listen(fd, backlog), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	*ret_port = ntohs(address.sin_port);
	return fd;
}

int listener(int backlog, uint16_t *ret_port)
{
	return listener_at(1, backlog, 0, ret_port);
}

void hole_make(struct hole *hole)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	hole->fd = listener(0, &hole->port);
	address.sin_port = htons(hole->port);
	for (size_t i = 0; i < FILLERS; i++) {
		hole->fillers[i] =
			socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		assert_true(hole->fillers[i] >= 0);
		(void)connect(hole->fillers[i], (struct sockaddr *)&address,
			      sizeof(address)); /* in progress, for ever */
	}
}

void hole_done(struct hole *hole)
{
	for (size_t i = 0; i < FILLERS; i++)
		(void)close(hole->fillers[i]);
	(void)close(hole->fd);
}

struct neap_dialer *dialer_start(struct neap_dialer_config *config)
{
	struct neap_dialer *dialer = NULL;
	struct neap_error err = {0};

	forget();
	config->log = &no_log;
	if (geteuid() == 0 && config->uid == 0)
		config->uid = config->gid = NOBODY;
	if (neap_dialer_start(config, &dialer, &err) < 0)
		fail_msg("%s", err.msg);
	return dialer;
}

void dialer_stop(struct neap_dialer *dialer)
{
	const int pids[] = {neap_dialer_pid(dialer), neap_dialer_reader_pid(dialer)};

	neap_dialer_free(dialer);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(pids); i++)
		if (pids[i] > 0)
			assert_true(waitpid(pids[i], NULL, 0) == pids[i] ||
				    errno == ECHILD);
	forget();
}

void ask(struct neap_dialer *dialer, unsigned server, uint64_t id)
{
	struct neap_error err = {0};

	if (neap_dialer_connect(dialer, server, id, &err) < 0)
		fail_msg("%s", err.msg);
}
