/* SPDX-License-Identifier: Apache-2.0
 *
 * What record.c (packing, the ring) and tape.c (unpacking, tapes) share. */
#ifndef NEAP_LUA_RECORD_PRIV_H
#define NEAP_LUA_RECORD_PRIV_H

#include <stdatomic.h>

#include "lua/record.h"

/* All texts of one struct, in the order of its table: each ends in NUL. A NAME that is NULL is
 * empty, any other begins with '='. Never changed; freed with the last frame. */
struct neap_block {
	atomic_uint refs;
	size_t users; /* frames in the ring; the recorder's alone */
	size_t len;
	char text[];
};

struct neap_frame {
	atomic_uint refs;
	struct neap_topology *topology; /* a reference of its own, or NULL */
	size_t block_count, len;        /* len: bytes in data */
	struct neap_block **blocks;     /* behind data */
	unsigned char data[];
};

struct neap_tape {
	atomic_uint refs;
	size_t count;
	struct neap_frame *frames[];
};

void neap_count_up(atomic_uint *refs);
/* Free it with its last reference. */
void neap_block_unref(struct neap_block *block);
void neap_frame_unref(struct neap_frame *frame);

#endif
