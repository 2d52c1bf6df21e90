/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws a topology for a terminal of 100 columns, or fewer: sockets, NUMA nodes, L3 caches, cores as boxes
 * with the numbers of their CPUs, and by marks whose CPUs they are. All numbers are those of the
 * operating system. Machines above 192 CPUs get CPU lists in place of boxes, and long rows of
 * equal caches or sockets are cut short. */
#ifndef NEAP_API_CTL_DRAW_TOPOLOGY_DRAW_H
#define NEAP_API_CTL_DRAW_TOPOLOGY_DRAW_H

#include "engine/base/buf.h"
#include "engine/machine/topology.h"

/* Whose CPUs: mark stands behind each of them. Where owners overlap the first one is shown. */
struct neap_draw_owner {
	const char *name; /* "best-effort" */
	char mark;        /* 'b' */
	const struct neap_cpuset *cpus;
};

struct neap_draw_options {
	const struct neap_draw_owner *owners;
	size_t owner_count;
	bool use_color; /* ANSI colours for the marks */
	bool is_full;   /* boxes and every row on machines of any size */
	int columns;    /* of the terminal, 0 unknown; 40 to 100 are used */
};

/* Adds the drawing to out, UTF-8, every line ended; whether it fitted, neap_buf_failed tells.
 * options may be NULL. */
void neap_topology_draw(const struct neap_topology *topology,
			const struct neap_draw_options *options, struct neap_buf *out);

#endif
