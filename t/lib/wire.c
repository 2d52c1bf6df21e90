/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/wire.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"

#define BYTES_MAX ((size_t)256 * 1024 * 1024)

void wire_init(struct wire *wire, const char *path)
{
	memset(wire, 0, sizeof(*wire));
	wire->path = path;
	wire->fd = -1;
	neap_buf_init(&wire->out, BYTES_MAX);
	neap_buf_init(&wire->in, BYTES_MAX);
	neap_buf_init(&wire->body, BYTES_MAX);
}

void wire_cut(struct wire *wire)
{
	if (wire->fd >= 0)
		(void)close(wire->fd);
	wire->fd = -1;
	wire->is_asked = false;
	neap_buf_clear(&wire->in);
	wire->in_at = 0;
}

void wire_done(struct wire *wire)
{
	wire_cut(wire);
	neap_buf_done(&wire->out);
	neap_buf_done(&wire->in);
	neap_buf_done(&wire->body);
}

static void dial(struct wire *wire)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	wire->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(wire->fd >= 0);
	assert_true(neap_strcopy(addr.sun_path, sizeof(addr.sun_path), wire->path));
	/* A full backlog shows as a connection that breaks, and is tried again. */
	if (connect(wire->fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		assert_int_equal(errno, EAGAIN);
}

void wire_ask(struct wire *wire, const char *method, const char *path,
	      const char *headers, const char *body)
{
	assert_false(wire->is_asked);
	neap_buf_clear(&wire->out);
	neap_buf_clear(&wire->body);
	neap_buf_addf(&wire->out, "%s %s HTTP/1.1\r\nHost: x\r\n%s", method, path,
		      headers);
	if (body != NULL)
		neap_buf_addf(&wire->out, "Content-Length: %zu\r\n", strlen(body));
	neap_buf_addf(&wire->out, "\r\n%s", body != NULL ? body : "");
	wire->out_at = 0;
	wire->has_head = wire->is_chunked = wire->closes = false;
	wire->left = 0;
	wire->status = 0;
	if (wire->fd < 0)
		dial(wire);
	wire->is_asked = true;
}

/* False while there is no whole head. */
static bool take_head(struct wire *wire)
{
	char *head = wire->in.data + wire->in_at, *end = strstr(head, "\r\n\r\n");
	const char *field;

	if (end == NULL)
		return false;
	*end = '\0';
	assert_int_equal(sscanf(head, "HTTP/1.%*c %d", &wire->status), 1);
	wire->closes = strcasestr(head, "\r\nConnection: close") != NULL;
	wire->is_chunked = strcasestr(head, "\r\nTransfer-Encoding: chunked") != NULL;
	field = strcasestr(head, "\r\nContent-Length: ");
	wire->left = field != NULL ? strtoul(field + 18, NULL, 10) : 0;
	wire->in_at = (size_t)(end + 4 - wire->in.data);
	wire->has_head = true;
	return true;
}

static bool take_part(struct wire *wire, size_t ending)
{
	size_t there = wire->in.len - wire->in_at;
	size_t of_body = wire->left > ending ? wire->left - ending : 0;
	size_t part = there < of_body ? there : of_body, skip;

	neap_buf_add(&wire->body, wire->in.data + wire->in_at, part);
	skip = there - part < wire->left - part && part == of_body ? there - part
	       : part == of_body                                   ? wire->left - part
								   : 0;
	wire->in_at += part + skip;
	wire->left -= part + skip;
	return part > 0;
}

/* True when the body is at its end. */
static bool take_chunks(struct wire *wire, bool *ret_has_more)
{
	for (;;) {
		const char *at = wire->in.data + wire->in_at, *line;
		size_t size;

		if (wire->left > 0) {
			*ret_has_more |= take_part(wire, 2);
			if (wire->left > 0)
				return false;
			continue;
		}
		line = strstr(at, "\r\n");
		if (line == NULL)
			return false;
		size = strtoul(at, NULL, 16);
		if (size == 0)
			return wire->in.len - wire->in_at >= 5;
		wire->in_at = (size_t)(line + 2 - wire->in.data);
		wire->left = size + 2;
	}
}

static void say(struct wire *wire)
{
	while (wire->out_at < wire->out.len) {
		ssize_t n = send(wire->fd, wire->out.data + wire->out_at,
				 wire->out.len - wire->out_at, MSG_NOSIGNAL);

		if (n <= 0)
			return; /* what reads says why */
		wire->out_at += (size_t)n;
	}
}

/* What was read is forgotten, so that the buffer stays as large as what is not. */
static void forget_read(struct wire *wire)
{
	size_t rest = wire->in.len - wire->in_at;

	memmove(wire->in.data, wire->in.data + wire->in_at, rest);
	wire->in.len = rest;
	if (wire->in.size > 0)
		wire->in.data[rest] = '\0';
	wire->in_at = 0;
}

static enum wire_state answered(struct wire *wire)
{
	wire->is_asked = false;
	if (wire->closes)
		wire_cut(wire);
	return WIRE_DONE;
}

enum wire_state wire_step(struct wire *wire, size_t max)
{
	bool has_more = false, is_whole;
	char piece[65536];
	ssize_t n;

	if (!wire->is_asked)
		return WIRE_IDLE;
	say(wire);
	n = recv(wire->fd, piece, max < sizeof(piece) ? max : sizeof(piece), 0);
	if (n == 0 || (n < 0 && errno != EAGAIN)) {
		wire_cut(wire);
		return WIRE_BROKEN;
	}
	if (n < 0)
		return WIRE_WAITS;
	neap_buf_add(&wire->in, piece, (size_t)n);
	assert_false(neap_buf_failed(&wire->in));
	if (!wire->has_head && !take_head(wire))
		return WIRE_WAITS;
	if (wire->is_chunked) {
		is_whole = take_chunks(wire, &has_more);
	} else {
		has_more = take_part(wire, 0);
		is_whole = wire->left == 0;
	}
	assert_false(neap_buf_failed(&wire->body));
	forget_read(wire);
	if (is_whole)
		return answered(wire);
	return has_more ? WIRE_MORE : WIRE_WAITS;
}

void wire_drop(struct wire *wire, size_t len)
{
	size_t rest = wire->body.len - len;

	if (len == 0)
		return;
	memmove(wire->body.data, wire->body.data + len, rest + 1);
	wire->body.len = rest;
}
