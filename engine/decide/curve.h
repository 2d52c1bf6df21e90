/* SPDX-License-Identifier: Apache-2.0
 *
 * A score defined by data: a weighted sum of node columns
 * (engine/decide/columns/column.h), each mapped through a piecewise linear curve. */
#ifndef NEAP_ENGINE_DECIDE_CURVE_H
#define NEAP_ENGINE_DECIDE_CURVE_H

#include "engine/decide/columns/column.h"

#define NEAP_CURVE_POINTS_MAX 16
#define NEAP_CURVE_TERMS_MAX  32
#define NEAP_CURVE_VALUES_MAX 16
#define NEAP_CURVE_VALUE      64 /* a label value with its NUL */

struct neap_curve_term {
	struct neap_column column;
	double weight;  /* above 0 */
	double missing; /* points where the column is missing, 0 to 100 */
	/* Texts that count as 1, all others as 0; none: the value is a number. */
	char values[NEAP_CURVE_VALUES_MAX][NEAP_CURVE_VALUE];
	size_t value_count;
	/* At least one point; x ascends, points are 0 to 100. Outside the first and last
	 * x the curve is flat. */
	struct {
		double x, points;
	} at[NEAP_CURVE_POINTS_MAX];
	size_t at_count;
};

struct neap_curve_score {
	int weight; /* weight of the whole score among other scores */
	struct neap_curve_term terms[NEAP_CURVE_TERMS_MAX];
	size_t count; /* 0: the score is not used */
};

/* A score in one decision; borrows everything. */
struct neap_curve_view {
	const struct neap_curve_score *score;
	struct neap_column_view columns[NEAP_CURVE_TERMS_MAX];
	double weights;
};

/* The cluster must be settled and must not change until the view is closed. */
void neap_curve_open(struct neap_curve_view *view, const struct neap_curve_score *score,
		     struct neap_cluster *cluster, const struct neap_pod *pod,
		     int64_t now_usec);
void neap_curve_close(struct neap_curve_view *view);
/* Writes the weighted mean of the terms, rounded to whole points, for each of the
 * rows. */
void neap_curve_points(const struct neap_curve_view *view, const uint32_t *rows,
		       size_t count, int64_t *ret);
/* All of that. */
void neap_curve_score(const struct neap_curve_score *score, struct neap_cluster *cluster,
		      const struct neap_pod *pod, int64_t now_usec, const uint32_t *rows,
		      size_t count, int64_t *ret);
/* Returns how many terms visit every node of the cluster first. */
size_t neap_curve_counted(const struct neap_curve_score *score);

#endif
