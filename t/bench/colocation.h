/* SPDX-License-Identifier: Apache-2.0
 *
 * What the batch work of the colocation sweep tells the client: a file of slots, one a
 * process, mapped by both. The client reads the units at both ends of its window, so that
 * nobody has to start or stop at a given moment. */
#ifndef NEAP_BENCH_COLOCATION_H
#define NEAP_BENCH_COLOCATION_H

#include <stdint.h>

#define COLOCATION_SLOTS_MAX 128

struct colocation_slot {
	/* Written by its process alone, on a line of its own. */
	_Alignas(64) volatile uint64_t units; /* of work done; only ever grows */
	volatile int32_t pid;                 /* 0: no such process */
	volatile int32_t is_ready;            /* its memory and files are there */
};

struct colocation_shared {
	struct colocation_slot slots[COLOCATION_SLOTS_MAX];
};

#endif
