/* SPDX-License-Identifier: Apache-2.0 */
#include "t/chaos/lib/store_client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/json/json.h"

pid_t store_client_server;

void store_client_wrong(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)fprintf(stderr, "store_kill: ");
	(void)vfprintf(stderr, fmt, args);
	(void)fprintf(stderr, "\n");
	va_end(args);
	if (store_client_server > 0)
		(void)kill(store_client_server, SIGKILL);
	exit(1);
}

int store_client_dial(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		store_client_wrong("socket: %s", strerror(errno));
	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

/* False when the server went. */
bool store_client_ask(int fd, const char *method, const char *path, const char *body)
{
	char head[512];
	int len =
		snprintf(head, sizeof(head),
			 "%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
			 "Content-Length: %zu\r\n\r\n",
			 method, path, strlen(body));

	if (send(fd, head, (size_t)len, MSG_NOSIGNAL) != len)
		return false;
	return *body == '\0' ||
	       send(fd, body, strlen(body), MSG_NOSIGNAL) == (ssize_t)strlen(body);
}

/* What can be read without waiting; false at the end of the connection. */
bool store_client_take(int fd, struct neap_buf *in)
{
	char piece[65536];

	for (;;) {
		ssize_t n = recv(fd, piece, sizeof(piece), MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			return true;
		if (n <= 0)
			return false;
		neap_buf_add(in, piece, (size_t)n);
		if (neap_buf_failed(in))
			store_client_wrong("an answer without an end");
	}
}

/* The status of a whole answer, 0 while it is not whole. */
int store_client_whole(const struct neap_buf *in, const char **ret_body, size_t *ret_len)
{
	const char *end = in->len > 0 ? strstr(in->data, "\r\n\r\n") : NULL, *field;
	size_t head, len;
	int status = 0;

	if (end == NULL)
		return 0;
	head = (size_t)(end + 4 - in->data);
	field = strcasestr(in->data, "Content-Length: ");
	if (field == NULL || field > end ||
	    sscanf(in->data, "HTTP/1.%*c %d", &status) != 1)
		store_client_wrong("an answer without a length");
	len = strtoul(field + 16, NULL, 10);
	if (in->len < head + len)
		return 0;
	*ret_body = end + 4;
	*ret_len = len;
	return status;
}

json_t *store_client_parse(const char *text, size_t len)
{
	json_error_t where;
	json_t *tree;

	if (neap_json_parse(text, len, 0, &tree, &where) < 0)
		store_client_wrong("no JSON: %.*s", (int)(len < 200 ? len : 200), text);
	return tree;
}

int64_t store_client_version(const json_t *object)
{
	const char *text = json_string_value(
		json_object_get(json_object_get(object, "metadata"), "resourceVersion"));

	return text != NULL ? strtoll(text, NULL, 10) : 0;
}

void store_client_wait(int fd)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	if (poll(&ready, 1, STORE_CLIENT_READY_MS) <= 0)
		store_client_wrong("no answer");
}

int store_client_ask_whole(const char *socket_path, const char *method, const char *path,
			   const char *body, json_t **ret)
{
	neap_auto_buf struct neap_buf in = {0};
	int fd = store_client_dial(socket_path), status = 0;
	const char *text;
	size_t len;

	neap_buf_init(&in, STORE_CLIENT_MAX);
	if (fd < 0 || !store_client_ask(fd, method, path, body))
		store_client_wrong("%s: the server went by itself", path);
	while (status == 0) {
		bool is_end;

		store_client_wait(fd);
		is_end = !store_client_take(fd, &in);
		status = store_client_whole(&in, &text, &len);
		if (is_end && status == 0)
			store_client_wrong("%s: half an answer", path);
	}
	(void)close(fd);
	*ret = store_client_parse(text, len);
	return status;
}
