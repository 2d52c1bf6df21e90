/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/http.h"
#include "t/lib/patience.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/http/tls/tls.h"
#include "engine/base/mem.h"

#define CLIENTS_MAX 16384 /* descriptors that are looked at */

static void term_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	event_base_loopbreak(arg);
}

static void look_cb(evutil_socket_t fd, short what, void *arg)
{
	struct neap_error err;

	(void)fd;
	(void)what;
	(void)neap_tls_look(arg, false, &err);
}

static void serve(int tcp_fd, int unix_fd, int timeout_s, http_setup *setup,
		  const struct http_access *access)
{
	const struct neap_tls_config *tls = access->tls;
	static const struct timeval often = {.tv_usec = 20000};
	struct event *look = NULL;
	struct event_base *base = neap_http_base_new();
	struct event *term = evsignal_new(base, SIGTERM, term_cb, base);
	struct neap_http_config config = {.tcp_fd = tls ? -1 : tcp_fd,
					  .tls_fd = tcp_fd,
					  .unix_fd = unix_fd,
					  .token = "secret",
					  .own_uid = 12345,
					  .grants = access->grants,
					  .tokens = access->tokens,
					  .timeout_s = timeout_s,
					  .limits = access->limits,
					  .host_names = access->host_names};
	struct neap_http *http;
	struct neap_error err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)alarm(600);
	if (tls && neap_tls_new(tls, &config.tls, &err) < 0)
		_exit(3);
	if (neap_http_new(base, &config, &http, &err) < 0)
		_exit(2);
	if (access->descriptors) {
		const struct rlimit few = {(rlim_t)access->descriptors,
					   (rlim_t)access->descriptors};

		(void)setrlimit(RLIMIT_NOFILE, &few);
	}
	event_add(term, NULL);
	if (tls) {
		look = event_new(base, -1, EV_PERSIST, look_cb, config.tls);
		event_add(look, &often);
	}
	setup(http, base);
	event_base_dispatch(base);
	neap_http_free(http);
	neap_tls_free(config.tls);
	if (look)
		event_free(look);
	event_free(term);
	event_base_free(base);
	libevent_global_shutdown();
	exit(0); /* not _exit: a leak is found here */
}

/* Clients that a test left open when it failed are no descriptors of the next test's
 * server. */
static void let_go_of_clients(void)
{
	for (int fd = 3; fd < CLIENTS_MAX; fd++) {
		struct sockaddr_in peer;
		socklen_t len = sizeof(peer);

		if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
		    peer.sin_family == AF_INET)
			(void)close(fd);
	}
}

void http_server_start(struct http_server *server, int timeout_s, http_setup *setup)
{
	http_server_start_as(server, timeout_s, setup, &(struct http_access){0});
}

void http_server_start_as(struct http_server *server, int timeout_s, http_setup *setup,
			  const struct http_access *access)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	struct neap_error err;
	int tcp_fd, unix_fd;

	(void)signal(SIGPIPE, SIG_IGN);
	snprintf(server->dir, sizeof(server->dir), "/tmp/neap-http-XXXXXX");
	assert_non_null(mkdtemp(server->dir));
	chmod(server->dir, 0755);
	snprintf(server->path, sizeof(server->path), "%s/neap.sock", server->dir);
	assert_int_equal(neap_http_bind_tcp("127.0.0.1:0", &tcp_fd, &err), 0);
	assert_int_equal(neap_http_bind_unix(server->path, &unix_fd, &err), 0);
	getsockname(tcp_fd, (struct sockaddr *)&addr, &len);
	server->port = ntohs(addr.sin_port);
	server->pid = fork();
	if (!server->pid) {
		let_go_of_clients();
		serve(tcp_fd, unix_fd, timeout_s, setup, access);
	}
	close(tcp_fd);
	close(unix_fd);
}

void http_server_stop(struct http_server *server)
{
	int status = 0;

	/* Still alive, nothing of what was sent broke it; and it ends without a leak. */
	assert_int_equal(waitpid(server->pid, &status, WNOHANG), 0);
	kill(server->pid, SIGTERM);
	waitpid(server->pid, &status, 0);
	assert_int_equal(status, 0);
	unlink(server->path);
	rmdir(server->dir);
}

int http_server_fds(const struct http_server *server)
{
	char path[64];
	int count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)server->pid);
	dir = opendir(path);
	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2; /* "." and ".." */
}

long http_server_kib(const struct http_server *server)
{
	char path[64], line[256];
	long kib = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)server->pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (kib < 0 && fgets(line, sizeof(line), file))
		if (strncmp(line, "RssAnon:", 8) == 0)
			kib = strtol(line + 8, NULL, 10);
	fclose(file);
	return kib;
}

int http_dial_from(const struct http_server *server, const char *from)
{
	struct sockaddr_in addr = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (from) {
		inet_pton(AF_INET, from, &addr.sin_addr);
		assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	}
	addr.sin_port = htons((uint16_t)server->port);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	close(fd);
	return -1;
}

int http_dial(const struct http_server *server)
{
	int fd = http_dial_from(server, NULL);

	assert_true(fd >= 0);
	return fd;
}

int http_dial_unix(const struct http_server *server)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	neap_strcopy(addr.sun_path, sizeof(addr.sun_path), server->path);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	close(fd);
	return -1;
}

void http_say(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		text += n;
		len -= (size_t)n;
	}
}

/* Until the end, until text has come (NULL: anything may), or until ms pass without a
 * byte. */
static bool hear(int fd, char *buf, size_t size, const char *text, int ms)
{
	size_t len = 0;

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t n;

		buf[len] = '\0';
		if (len + 1 == size || (text && strstr(buf, text)) ||
		    poll(&p, 1, ms) <= 0)
			return false;
		n = recv(fd, buf + len, size - 1 - len, 0);
		if (n <= 0)
			return true;
		len += (size_t)n;
	}
}

bool http_hear(int fd, char *buf, size_t size, int ms)
{
	return hear(fd, buf, size, NULL, ms);
}

bool http_hear_end(int fd, char *buf, size_t size)
{
	return hear(fd, buf, size, NULL, PATIENCE_MS);
}

bool http_hear_text(int fd, char *buf, size_t size, const char *text)
{
	(void)hear(fd, buf, size, text, PATIENCE_MS); /* what came counts */
	return strstr(buf, text) != NULL;
}

void http_ask(const struct http_server *server, const char *request, char *buf,
	      size_t size)
{
	int fd = http_dial(server), status;
	size_t len;

	http_say(fd, request, strlen(request));
	(void)http_read(fd, buf, size, &status, &len); /* the caller looks at buf */
	close(fd);
}

bool http_read(int fd, char *buf, size_t size, int *ret_status, size_t *ret_len)
{
	size_t len = 0, body = 0;
	const char *end = NULL, *field;

	*ret_status = 0;
	*ret_len = 0;
	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t n;

		buf[len] = '\0';
		if (!end && (end = strstr(buf, "\r\n\r\n")) != NULL) {
			field = strstr(buf, "Content-Length: ");
			if (field && field < end)
				body = strtoul(field + 16, NULL, 10);
		}
		if (end && len >= (size_t)(end + 4 - buf) + body)
			break;
		if (len + 1 == size || poll(&p, 1, PATIENCE_MS) <= 0)
			return false;
		n = recv(fd, buf + len, size - 1 - len, 0);
		if (n <= 0)
			return false;
		len += (size_t)n;
	}
	if (sscanf(buf, "HTTP/1.%*c %d", ret_status) != 1)
		return false;
	*ret_len = body;
	return len == (size_t)(end + 4 - buf) + body;
}
