/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws a topology for a terminal of up to 100 columns: sockets, NUMA nodes, L3 caches,
 * cores as boxes with their CPU numbers, and marks for the CPUs' owners. All numbers are
 * those of the operating system. Above 192 CPUs, boxes become CPU lists, and long rows of
 * equal caches or sockets are shortened. */
#ifndef NEAP_API_CTL_DRAW_TOPOLOGY_DRAW_H
#define NEAP_API_CTL_DRAW_TOPOLOGY_DRAW_H

#include "engine/base/buf.h"
#include "engine/machine/topology.h"

/* An owner of CPUs: mark is printed after each of them. Where owners overlap, the first
 * is shown. */
struct neap_draw_owner {
	const char *name; /* "best-effort" */
	char mark;        /* 'b' */
	const struct neap_cpuset *cpus;
};

struct neap_draw_options {
	const struct neap_draw_owner *owners;
	size_t owner_count;
	bool use_color; /* ANSI colours for the marks */
	bool is_full;   /* boxes and all rows on machines of any size */
	int columns;    /* of the terminal, 0 unknown; clamped to 40..100 */
};

/* Appends the drawing to out as UTF-8, every line ended; neap_buf_failed tells whether it
 * fitted. options may be NULL. */
void neap_topology_draw(const struct neap_topology *topology,
			const struct neap_draw_options *options, struct neap_buf *out);

#endif
