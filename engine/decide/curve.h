/* SPDX-License-Identifier: Apache-2.0
 *
 * A score that is data: a sum of columns of nodes (engine/decide/column.h), each through a curve of straight lines. */
#ifndef NEAP_ENGINE_DECIDE_CURVE_H
#define NEAP_ENGINE_DECIDE_CURVE_H

#include "engine/decide/column.h"

#define NEAP_CURVE_POINTS_MAX 16
#define NEAP_CURVE_TERMS_MAX  32
#define NEAP_CURVE_VALUES_MAX 16
#define NEAP_CURVE_VALUE      64 /* of a label, with its NUL */

struct neap_curve_term {
	struct neap_column column;
	double weight;  /* above 0 */
	double missing; /* points where the column is missing, 0 to 100 */
	/* Texts that count as 1, others as 0; none: the number is taken. */
	char values[NEAP_CURVE_VALUES_MAX][NEAP_CURVE_VALUE];
	size_t value_count;
	/* At least one; x grows, points are 0 to 100; before the first and behind the last it is level. */
	struct {
		double x, points;
	} at[NEAP_CURVE_POINTS_MAX];
	size_t at_count;
};

struct neap_curve_score {
	int weight; /* of the whole, among other scores */
	struct neap_curve_term terms[NEAP_CURVE_TERMS_MAX];
	size_t count; /* 0: it has nothing to say */
};

/* A score in one decision; borrows all of them. */
struct neap_curve_view {
	const struct neap_curve_score *score;
	struct neap_column_view columns[NEAP_CURVE_TERMS_MAX];
	double weights;
};

/* In a settled cluster, until it changes; to be closed. */
void neap_curve_open(struct neap_curve_view *view, const struct neap_curve_score *score,
		     struct neap_cluster *cluster, const struct neap_pod *pod,
		     int64_t now_usec);
void neap_curve_close(struct neap_curve_view *view);
/* The mean of the terms by weight, rounded to whole points, for each of the rows. */
void neap_curve_points(const struct neap_curve_view *view, const uint32_t *rows,
		       size_t count, int64_t *ret);
/* All of that. */
void neap_curve_score(const struct neap_curve_score *score, struct neap_cluster *cluster,
		      const struct neap_pod *pod, int64_t now_usec, const uint32_t *rows,
		      size_t count, int64_t *ret);
/* How many terms look at every node of the cluster before they give points. */
size_t neap_curve_counted(const struct neap_curve_score *score);

#endif
