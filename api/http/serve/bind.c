/* SPDX-License-Identifier: Apache-2.0
 *
 * Listening sockets, created before privileges are dropped. Errors say what to change. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/http/server.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"

#define BACKLOG 256

int neap_http_listen_parse(const char *listen, struct sockaddr *addr, int *ret_len,
			   struct neap_error *err)
{
	const char *colon = strrchr(listen, ':');
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	char host[INET6_ADDRSTRLEN];
	int64_t port = -1;
	size_t len;

	if (colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")])
		(void)neap_int_parse(colon + 1, &port, NULL); /* -1 stays */
	if (port < 0 || port > 65535 || (size_t)(colon - listen) >= sizeof(host) + 2)
		goto wrong;
	len = (size_t)(colon - listen);
	if (len > 2 && listen[0] == '[' && listen[len - 1] == ']' &&
	    len - 2 < sizeof(host)) {
		memcpy(host, listen + 1, len - 2);
		host[len - 2] = '\0';
		v6.sin6_port = htons((uint16_t)port);
		if (inet_pton(AF_INET6, host, &v6.sin6_addr) != 1)
			goto wrong;
		memcpy(addr, &v6, sizeof(v6));
		*ret_len = sizeof(v6);
		return 0;
	}
	if (len >= sizeof(host))
		goto wrong;
	memcpy(host, listen, len);
	host[len] = '\0';
	v4.sin_port = htons((uint16_t)port);
	if (inet_pton(AF_INET, host, &v4.sin_addr) != 1)
		goto wrong;
	memcpy(addr, &v4, sizeof(v4));
	*ret_len = sizeof(v4);
	return 0;
wrong:
	return neap_error_set(err, NEAP_EINVAL,
			      "'%s' is no address: give for example 127.0.0.1:6327 or "
			      "[::1]:6327",
			      listen);
}

bool neap_http_listen_is_local(const char *listen)
{
	struct sockaddr_storage addr = {0};
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&addr;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&addr;
	int len;

	if (neap_http_listen_parse(listen, (struct sockaddr *)&addr, &len, NULL) < 0)
		return false;
	if (addr.ss_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	return addr.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

static int bind_error(const char *what, struct neap_error *err)
{
	switch (errno) {
	case EADDRINUSE:
		return neap_error_set(
			err, NEAP_ECONFLICT,
			"%s is in use: another neapd? choose another address with "
			"--listen, or --listen off",
			what);
	case EACCES:
	case EPERM:
		return neap_error_set(
			err, NEAP_EFORBIDDEN,
			"%s: no right to listen there: choose a port above 1023 "
			"with --listen, or start as root",
			what);
	case EADDRNOTAVAIL:
		return neap_error_set(
			err, NEAP_EINVAL,
			"%s: this machine has no such address: choose another "
			"with --listen",
			what);
	default:
		return neap_error_sys(err, "listen on %s", what);
	}
}

int neap_http_bind_tcp(const char *listen_text, int *ret_fd, struct neap_error *err)
{
	struct sockaddr_storage addr;
	neap_auto_fd int fd = -1;
	int len = 0, one = 1;
	int r = neap_http_listen_parse(listen_text, (struct sockaddr *)&addr, &len, err);

	if (r < 0)
		return r;
	fd = socket(addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return neap_error_sys(err, "socket for %s", listen_text);
	/* Without the first, a restart within a minute fails. Accepted sockets inherit
	 * the second, which saves 40 ms in replies over 16 KB. The third limits "[::]" to
	 * IPv6. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0 ||
	    (addr.ss_family == AF_INET6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0))
		return neap_error_sys(err, "socket options for %s", listen_text);
	if (bind(fd, (struct sockaddr *)&addr, (socklen_t)len) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return bind_error(listen_text, err);
	*ret_fd = fd;
	fd = -1;
	return 0;
}

/* 1: a process listens at addr; 0: none does; or -code. */
static int is_alive(const struct sockaddr_un *addr, struct neap_error *err)
{
	neap_auto_fd int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return neap_error_sys(err, "socket for %s", addr->sun_path);
	/* A full backlog answers EAGAIN, so a process listens. */
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0 ||
	    errno == EAGAIN)
		return 1;
	if (errno == ECONNREFUSED || errno == ENOENT)
		return 0;
	return neap_error_sys(err, "look who listens at %s", addr->sun_path);
}

int neap_http_bind_unix(const char *path, int *ret_fd, struct neap_error *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	neap_auto_fd int fd = -1;
	struct stat st;
	int r;

	if (!*path || !neap_strcopy(addr.sun_path, sizeof(addr.sun_path), path))
		return neap_error_set(
			err, NEAP_EINVAL,
			"'%s' is no socket path: 1 to %zu bytes, see --unix-socket", path,
			sizeof(addr.sun_path) - 1);
	if (lstat(path, &st) == 0) {
		if (!S_ISSOCK(st.st_mode))
			return neap_error_set(
				err, NEAP_EEXISTS,
				"%s is there and no socket: remove it, or choose "
				"another path with --unix-socket",
				path);
		r = is_alive(&addr, err);
		if (r < 0)
			return r;
		if (r > 0)
			return neap_error_set(
				err, NEAP_ECONFLICT,
				"%s is in use: another neapd runs; stop it, or "
				"choose another path with --unix-socket",
				path);
		if (unlink(path) < 0 && errno != ENOENT)
			return neap_error_sys(err, "remove the old socket %s", path);
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return neap_error_sys(err, "socket for %s", path);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return neap_error_sys(err, "bind %s (see --unix-socket)", path);
	/* By path: fchmod on a socket changes only its unnamed inode. */
	if (chmod(path, 0666) < 0 || listen(fd, BACKLOG) < 0) {
		neap_error_sys(err, "listen at %s", path);
		(void)unlink(path); /* the listen error is the more useful one */
		return -NEAP_ESYS;
	}
	*ret_fd = fd;
	fd = -1;
	return 0;
}
