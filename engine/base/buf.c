/* SPDX-License-Identifier: Apache-2.0
 *
 * The growing text buffer. Before the first addition data points at a constant empty
 * text; size 0 distinguishes it from allocated memory. */
#include "engine/base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

#define FIRST_SIZE 64

static char nothing[1]; /* never written: size is 0 while data points here */

void neap_buf_init(struct neap_buf *buf, size_t ceiling)
{
	buf->data = nothing;
	buf->len = 0;
	buf->size = 0;
	buf->ceiling = ceiling;
	buf->failed = false;
	buf->is_over = false;
}

void neap_buf_done(struct neap_buf *buf)
{
	if (buf->size)
		free(buf->data);
	neap_buf_init(buf, buf->ceiling);
}

void neap_buf_clear(struct neap_buf *buf)
{
	buf->len = 0;
	buf->failed = false;
	buf->is_over = false;
	if (buf->size)
		buf->data[0] = '\0';
}

/* Makes room for more bytes and a NUL; false, and failed, when it cannot. */
static bool reserve(struct neap_buf *buf, size_t more)
{
	size_t want, size;
	char *data;

	if (buf->failed)
		return false;
	if (buf->len > buf->ceiling || more > buf->ceiling - buf->len) {
		buf->is_over = true;
		goto lost;
	}
	want = buf->len + more + 1;
	if (want <= buf->size)
		return true;

	size = buf->size ? buf->size : FIRST_SIZE;
	while (size < want && size <= SIZE_MAX / 2)
		size *= 2;
	if (size < want || size > buf->ceiling + 1)
		size = want > buf->ceiling ? want : buf->ceiling + 1;
	data = neap_realloc_array(buf->size ? buf->data : NULL, size, 1);
	if (!data)
		goto lost;
	data[buf->len] = '\0';
	buf->data = data;
	buf->size = size;
	return true;
lost:
	buf->failed = true;
	return false;
}

void neap_buf_add(struct neap_buf *buf, const void *data, size_t len)
{
	if (len == 0 || !reserve(buf, len))
		return;
	memcpy(buf->data + buf->len, data, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void neap_buf_adds(struct neap_buf *buf, const char *text)
{
	neap_buf_add(buf, text, strlen(text));
}

void neap_buf_addc(struct neap_buf *buf, char c)
{
	if (buf->len + 1 >= buf->size && !reserve(buf, 1))
		return;
	if (buf->failed || buf->len >= buf->ceiling) {
		(void)reserve(buf, 1);
		return;
	}
	buf->data[buf->len++] = c;
	buf->data[buf->len] = '\0';
}

char *neap_buf_room(struct neap_buf *buf, size_t len)
{
	return reserve(buf, len) ? buf->data + buf->len : NULL;
}

void neap_buf_added(struct neap_buf *buf, const char *end)
{
	buf->len = (size_t)(end - buf->data);
	buf->data[buf->len] = '\0';
}

static void buf_vaddf(struct neap_buf *buf, const char *fmt, va_list args)
{
	size_t room = buf->size - buf->len;
	va_list again;
	int len;

	if (buf->failed)
		return;
	va_copy(again, args);
	len = vsnprintf(buf->size ? buf->data + buf->len : NULL, room, fmt, again);
	va_end(again);
	if (len < 0) {
		buf->failed = true;
	} else if ((size_t)len < room && (size_t)len <= buf->ceiling - buf->len) {
		buf->len += (size_t)len;
		return;
	} else if (reserve(buf, (size_t)len)) {
		(void)vsnprintf(buf->data + buf->len, (size_t)len + 1, fmt, args);
		buf->len += (size_t)len;
		return;
	}
	if (buf->size)
		buf->data[buf->len] = '\0'; /* the try may have left a part */
}

void neap_buf_addf(struct neap_buf *buf, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	buf_vaddf(buf, fmt, args);
	va_end(args);
}

bool neap_buf_failed(const struct neap_buf *buf)
{
	return buf->failed;
}

int neap_buf_error(const struct neap_buf *buf, const char *what, struct neap_error *err)
{
	if (!buf->is_over)
		return neap_error_nomem(err);
	return neap_error_set(err, NEAP_ETOOLARGE, "%s: over %zu bytes", what,
			      buf->ceiling);
}

char *neap_buf_take(struct neap_buf *buf)
{
	char *text = NULL;

	if (!buf->failed && reserve(buf, 0)) {
		text = buf->data;
		buf->size = 0;
	}
	neap_buf_done(buf);
	return text;
}
