/* SPDX-License-Identifier: Apache-2.0
 *
 * What record.c (packing, the ring) and tape.c (unpacking, tapes) share. */
#ifndef NEAP_LUA_RUN_RECORD_PRIV_H
#define NEAP_LUA_RUN_RECORD_PRIV_H

#include <stdatomic.h>

#include "lua/run/record.h"

/* All texts of one struct, in the order of its table: each ends in NUL. A NAME that is NULL is
 * empty, any other begins with '='. Never changed; freed with the last frame. */
struct neap_block {
	atomic_uint refs;
	size_t users; /* lists in the ring; the recorder's alone */
	size_t len;
	char text[];
};

/* The blocks of a frame: that of the sample, then those of the elements of its lists. One for all frames in
 * which no text changes, none comes and none goes. */
struct neap_block_list {
	atomic_uint refs;
	size_t users; /* frames in the ring; the recorder's alone */
	size_t count;
	uint64_t *
		marks; /* behind blocks: of the elements, 0 none known; the recorder's alone */
	struct neap_block *blocks[];
};

struct neap_frame {
	atomic_uint refs;
	struct neap_topology *topology; /* a reference of its own, or NULL */
	struct neap_block_list *texts;
	size_t len; /* bytes in data */
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
void neap_block_list_unref(struct neap_block_list *list);
void neap_frame_unref(struct neap_frame *frame);

#endif
