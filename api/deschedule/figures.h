/* SPDX-License-Identifier: Apache-2.0
 *
 * Figures of the descheduler for /metrics, with the names of sigs.k8s.io/descheduler. */
#ifndef NEAP_API_DESCHEDULE_FIGURES_H
#define NEAP_API_DESCHEDULE_FIGURES_H

#include "engine/base/buf.h"

struct neap_map;

#define NEAP_FIGURE_BOUNDS 9

struct neap_duration_figure {
	uint64_t counts[NEAP_FIGURE_BOUNDS + 1], count;
	int64_t usec;
};

struct neap_deschedule_figures {
	/* Numbers by their labels as text; NULL: none yet. */
	struct neap_map *evicted, *strategies;
	struct neap_duration_figure loop;
	uint64_t rounds, simulations, failed;
	uint64_t queries[2]; /* to a Prometheus: answered, failed */
};

void neap_deschedule_figures_done(struct neap_deschedule_figures *figures);
/* result: "success" or "error". Combinations of labels beyond 5,000 are counted with
 * node "other". */
void neap_figure_evicted(struct neap_deschedule_figures *figures, const char *result,
			 const char *strategy, const char *profile, const char *ns,
			 const char *node);
void neap_figure_loop(struct neap_deschedule_figures *figures, int64_t usec);
void neap_figure_strategy(struct neap_deschedule_figures *figures, const char *strategy,
			  const char *profile, int64_t usec);
void neap_deschedule_figures_write(const struct neap_deschedule_figures *figures,
				   struct neap_buf *out);

#endif
