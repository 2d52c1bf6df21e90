/* SPDX-License-Identifier: Apache-2.0
 *
 * A growing text buffer with a ceiling, always NUL-terminated. When an addition fails
 * (ceiling or memory), the buffer remembers it and ignores later additions; the caller
 * checks neap_buf_failed once at the end. */
#ifndef NEAP_ENGINE_BASE_BUF_H
#define NEAP_ENGINE_BASE_BUF_H

#include <stdarg.h>

#include "engine/base/error.h"

/* All ceilings of the project, in bytes. */
#define NEAP_BUF_LINE  (64 * 1024)   /* one kernel file, one log line, one CPU list */
#define NEAP_BUF_FILE  (1024 * 1024) /* a policy, a configuration */
#define NEAP_BUF_REPLY ((size_t)16 * 1024 * 1024) /* an HTTP reply built in one piece */

struct neap_buf {
	char *data; /* "" before the first addition, never NULL after init */
	size_t len;
	size_t size;
	size_t ceiling;
	bool failed;
	bool is_over; /* the ceiling was the reason */
};

void neap_buf_init(struct neap_buf *buf, size_t ceiling);
void neap_buf_done(struct neap_buf *buf);
void neap_buf_clear(struct neap_buf *buf);
void neap_buf_add(struct neap_buf *buf, const void *data, size_t len);
void neap_buf_adds(struct neap_buf *buf, const char *text);
void neap_buf_addc(struct neap_buf *buf, char c);
/* Returns room for len more bytes, or NULL and marks the buffer failed. Bytes count once
 * neap_buf_added reports how many were written. For loops over many small pieces. */
char *neap_buf_room(struct neap_buf *buf, size_t len);
void neap_buf_added(struct neap_buf *buf, const char *end);
void neap_buf_addf(struct neap_buf *buf, const char *fmt, ...) NEAP_PRINTF(2, 3);
/* True when an addition was lost; the content is then a prefix. */
bool neap_buf_failed(const struct neap_buf *buf);
/* Fills *err (may be NULL) for a failed buffer: NEAP_ENOMEM, or NEAP_ETOOLARGE with
 * "what: over N bytes". Returns -code. */
int neap_buf_error(const struct neap_buf *buf, const char *what, struct neap_error *err);
/* Returns the text, which the caller frees; NULL if failed. The buffer is empty
 * afterwards. */
char *neap_buf_take(struct neap_buf *buf);

#define neap_auto_buf __attribute__((cleanup(neap_buf_done)))

#endif
