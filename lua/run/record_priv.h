/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by record.c (packing, the ring) and tape.c (unpacking, tapes). */
#ifndef NEAP_LUA_RUN_RECORD_PRIV_H
#define NEAP_LUA_RUN_RECORD_PRIV_H

#include <stdatomic.h>

#include "lua/run/record.h"

/* All texts of one struct, in table order, each NUL-terminated. A NULL NAME is empty, any
 * other starts with '='. Immutable; freed with the last frame. */
struct neap_block {
	atomic_uint refs;
	size_t users; /* lists in the ring; only for the recorder */
	size_t len;
	char text[];
};

/* The blocks of a frame: the sample's, then those of its list elements. Shared by all
 * frames between which no text and no element changes. */
struct neap_block_list {
	atomic_uint refs;
	size_t users; /* frames in the ring; only for the recorder */
	size_t count;
	/* element marks, stored after blocks: 0 unknown; only for the recorder */
	uint64_t *marks;
	struct neap_block *blocks[];
};

struct neap_frame {
	atomic_uint refs;
	struct neap_topology *topology; /* an own reference, or NULL */
	struct neap_block_list *texts;
	size_t len; /* bytes in data */
	unsigned char data[];
};

struct neap_tape {
	atomic_uint refs;
	size_t count;
	struct neap_frame *frames[];
};

/* Freed with its last reference. */
void neap_block_unref(struct neap_block *block);
void neap_block_list_unref(struct neap_block_list *list);
void neap_frame_unref(struct neap_frame *frame);

#endif
