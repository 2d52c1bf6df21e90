/* SPDX-License-Identifier: Apache-2.0
 *
 * The one reading that the bytes of an HTTP connection have by RFC 9112, for comparison
 * with what the server hands to its handlers. It ends at the first thing that could be
 * read in two ways. What the server takes beyond the standard is taken here, too: lines
 * without CR, folded headers (as a blank), an http:// address, trailers (thrown away). */
#ifndef NEAP_T_FUZZ_HTTP_READING_H
#define NEAP_T_FUZZ_HTTP_READING_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_READING_MAX 64

struct http_read_request {
	char method[8];
	const char *target; /* path with its query, not decoded */
	size_t target_len;
	char *body;
	size_t body_len;
	/* Chunked: the length of its body is only known if every chunk is as the standard
	 * has it. */
	bool is_chunked, has_body;
};

struct http_reading {
	struct http_read_request requests[HTTP_READING_MAX];
	size_t count;
};

void http_reading_make(struct http_reading *reading, const char *bytes, size_t len);
void http_reading_done(struct http_reading *reading);

#endif
