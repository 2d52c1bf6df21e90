/* SPDX-License-Identifier: Apache-2.0
 *
 * Works on a few hundred rows at a time, so that intermediate values stay in the nearest
 * cache; no loop over rows has a branch. */
#include "engine/decide/curve.h"

#include <math.h>
#include <string.h>

#include "engine/decide/decide.h"

#define PIECE 256

static bool is_one_of(const struct neap_curve_term *term, const char *text)
{
	for (size_t i = 0; i < term->value_count; i++)
		if (strcmp(term->values[i], text) == 0)
			return true;
	return false;
}

static void read_term(const struct neap_curve_term *term,
		      const struct neap_column_view *view, const uint32_t *rows,
		      size_t count, double *x)
{
	if (!term->value_count) {
		neap_column_numbers(view, rows, count, x);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const char *text = neap_column_text(view, rows[i]);

		x[i] = text ? is_one_of(term, text) : NAN;
	}
}

/* The first point, and from there what each line rises up to x. */
static void add_term(const struct neap_curve_term *term, const double *x, size_t count,
		     double *sum)
{
	double points[PIECE];

	for (size_t i = 0; i < count; i++)
		points[i] = term->at[0].points;
	for (size_t k = 0; k + 1 < term->at_count; k++) {
		double from = term->at[k].x, length = term->at[k + 1].x - from;
		double slope = (term->at[k + 1].points - term->at[k].points) / length;

		for (size_t i = 0; i < count; i++) {
			double part = x[i] - from;

			part = part > 0 ? part : 0;
			part = part < length ? part : length;
			points[i] += slope * part;
		}
	}
	/* Only a missing value differs from itself (NaN). */
	for (size_t i = 0; i < count; i++)
		sum[i] += term->weight * (x[i] == x[i] ? points[i] : term->missing);
}

void neap_curve_open(struct neap_curve_view *view, const struct neap_curve_score *score,
		     struct neap_cluster *cluster, const struct neap_pod *pod,
		     int64_t now_usec)
{
	view->score = score;
	view->weights = 0;
	for (size_t k = 0; k < score->count; k++) {
		neap_column_open(&view->columns[k], &score->terms[k].column, cluster, pod,
				 now_usec);
		view->weights += score->terms[k].weight;
	}
}

void neap_curve_close(struct neap_curve_view *view)
{
	for (size_t k = 0; k < view->score->count; k++)
		neap_column_close(&view->columns[k]);
}

void neap_curve_points(const struct neap_curve_view *view, const uint32_t *rows,
		       size_t count, int64_t *ret)
{
	const struct neap_curve_score *score = view->score;
	double x[PIECE], sum[PIECE];

	for (size_t done = 0; done < count; done += PIECE) {
		size_t piece = count - done < PIECE ? count - done : PIECE;

		for (size_t i = 0; i < piece; i++)
			sum[i] = 0;
		for (size_t k = 0; k < score->count; k++) {
			read_term(&score->terms[k], &view->columns[k], rows + done, piece,
				  x);
			add_term(&score->terms[k], x, piece, sum);
		}
		for (size_t i = 0; i < piece; i++) {
			double points = view->weights > 0 ? sum[i] / view->weights : 0;

			points = points > 0 ? points : 0;
			points = points < NEAP_SCORE_MAX ? points : NEAP_SCORE_MAX;
			ret[done + i] = (int64_t)(points + 0.5);
		}
	}
}

void neap_curve_score(const struct neap_curve_score *score, struct neap_cluster *cluster,
		      const struct neap_pod *pod, int64_t now_usec, const uint32_t *rows,
		      size_t count, int64_t *ret)
{
	struct neap_curve_view view;

	neap_curve_open(&view, score, cluster, pod, now_usec);
	neap_curve_points(&view, rows, count, ret);
	neap_curve_close(&view);
}

size_t neap_curve_counted(const struct neap_curve_score *score)
{
	size_t counted = 0;

	for (size_t k = 0; k < score->count; k++)
		counted += neap_column_is_counted(score->terms[k].column.family);
	return counted;
}
