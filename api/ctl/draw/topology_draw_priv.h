/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by api/ctl/draw/topology_draw.c (the tree) and topology_draw_leaf.c (the
 * cores). */
#ifndef NEAP_API_CTL_DRAW_TOPOLOGY_DRAW_PRIV_H
#define NEAP_API_CTL_DRAW_TOPOLOGY_DRAW_PRIV_H

#include "api/ctl/draw/topology_draw.h"

enum level { LEVEL_SOCKET, LEVEL_NODE, LEVEL_L3, LEVEL_CORE };

struct canvas {
	const struct neap_topology *topology;
	const struct neap_draw_options *options;
	struct neap_buf *out;
	const struct neap_cpu **cpus; /* sorted */
	int digits;                   /* of the highest CPU number */
	int columns;                  /* where rows end */
	bool has_boxes;
};

/* CPUs first..last-1 of the sorted list. */
struct run {
	int first, last;
};

/* What the CPUs of a run have in common at this level. */
int neap_draw_key_at(const struct neap_cpu *cpu, enum level level);
/* Finds the next run of a level inside whole, after *run; start with {whole.first,
 * whole.first}. */
bool neap_draw_next_run(const struct canvas *c, struct run whole, enum level level,
			struct run *run);
int neap_draw_count_runs(const struct canvas *c, struct run whole, enum level level);
void neap_draw_run_cpus(const struct canvas *c, struct run run, struct neap_cpuset *ret);

/* Returns the columns of UTF-8 text without colours: bytes that do not continue a
 * character. */
int neap_draw_width_of(const char *text);
void neap_draw_pad(struct neap_buf *out, int columns);
void neap_draw_add_mark(const struct canvas *c, int owner);
/* Draws a CPU list from column at, broken after commas, with margin at the start of
 * further rows. Returns the column after it. */
int neap_draw_add_list(const struct canvas *c, const struct neap_cpuset *cpus, int at,
		       const char *margin, int column);
/* Draws the cores of a run, one box each, breaking rows at the right edge; the cursor is
 * at column. */
void neap_draw_boxes(const struct canvas *c, struct run leaf, const char *margin,
		     int column);
/* Draws the same as "8 cores  0-7,192-199  b 4-7". */
void neap_draw_lists(const struct canvas *c, struct run leaf, const char *margin,
		     int column);
/* Draws one or the other. */
void neap_draw_leaf(const struct canvas *c, struct run leaf, const char *margin,
		    int column);

#endif
