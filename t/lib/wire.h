/* SPDX-License-Identifier: Apache-2.0
 *
 * An HTTP client that never waits: whoever has the loop lets it take steps. One request
 * after the other on a connection that is kept; bodies with a length or in chunks, as
 * they come. */
#ifndef NEAP_T_LIB_WIRE_H
#define NEAP_T_LIB_WIRE_H

#include "engine/base/buf.h"

enum wire_state {
	WIRE_IDLE,   /* nothing is asked */
	WIRE_WAITS,  /* nothing new */
	WIRE_MORE,   /* more of the body, in wire->body */
	WIRE_DONE,   /* the answer is whole; the next may be asked */
	WIRE_BROKEN, /* the connection ended before */
};

struct wire {
	const char *path; /* of a unix socket, borrowed */
	int fd;           /* -1: none */
	bool is_asked;
	struct neap_buf out, in;
	size_t out_at, in_at;
	size_t left; /* of the body, or of the chunk with the end of its line */
	bool has_head, is_chunked, closes;
	/* The answer. */
	int status;
	struct neap_buf body; /* whoever asks takes out what it has read */
};

void wire_init(struct wire *wire, const char *path);
void wire_done(struct wire *wire);
/* Closes, whatever is on its way. */
void wire_cut(struct wire *wire);
/* headers: lines of one's own. body: NULL for none. Nothing may be on its way. */
void wire_ask(struct wire *wire, const char *method, const char *path,
	      const char *headers, const char *body);
/* Sends and reads what goes at once, max bytes at most. */
enum wire_state wire_step(struct wire *wire, size_t max);
/* Takes the first len bytes out of the body. */
void wire_drop(struct wire *wire, size_t len);

#endif
