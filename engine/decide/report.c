/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the filters and scores of a decision completely, for the report. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/decide/decide_priv.h"
#include "engine/decide/report.h"

void neap_report_done(struct neap_report *report)
{
	for (size_t i = 0; i < report->score_count; i++) {
		free(report->scores[i].raw);
		free(report->scores[i].points);
	}
	free(report->nodes);
	free(report->reasons);
	*report = (struct neap_report){0};
}

static int by_points(const void *a, const void *b)
{
	const struct neap_report_node *x = a, *y = b;
	bool x_fits = !x->reason_count, y_fits = !y->reason_count;

	if (x_fits != y_fits)
		return x_fits ? -1 : 1;
	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	if (x_fits && x->pods != y->pods)
		return x->pods < y->pods ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static bool make_room(struct neap_report *report, size_t more, size_t *size)
{
	size_t needed = report->reason_count + more;
	struct neap_report_reason *list;

	if (needed <= *size)
		return true;
	list = neap_realloc_array(report->reasons, needed * 2, sizeof(*list));
	if (!list)
		return false;
	report->reasons = list;
	*size = needed * 2;
	return true;
}

static bool add_reasons(struct neap_report *report, struct neap_cycle *cycle,
			size_t *size, const char *filter)
{
	if (!make_room(report, cycle->refusal_count, size))
		return false;
	for (size_t i = 0; i < cycle->refusal_count; i++)
		report->reasons[report->reason_count++] =
			(struct neap_report_reason){filter, cycle->refusals[i].code};
	cycle->refusal_count = 0;
	return true;
}

/* Asks about the nodes that the tables accept, which are the cycle's rows. */
static int ask_more_filters(struct neap_decide *decide, struct neap_report *report,
			    size_t *size, struct neap_error *err)
{
	struct neap_cycle *cycle = neap_decide_cycle(decide);
	const struct neap_decide_more *more = cycle->more;
	uint32_t *answers = cycle->more_answers;
	size_t at = 0, kept = 0;

	if (!cycle->has_more_filters || !cycle->row_count)
		return 0;
	while (!more->filter(more->arg, cycle->rows, cycle->row_count, false, answers))
		;
	if (!make_room(report, cycle->row_count, size))
		return neap_error_nomem(err);
	for (size_t i = 0; i < report->node_count; i++) {
		struct neap_report_node *node = &report->nodes[i];

		if (node->reason_count)
			continue;
		if (answers[at]) {
			node->reason = report->reason_count;
			node->reason_count = 1;
			report->reasons[report->reason_count++] =
				(struct neap_report_reason){
					more->reason_from(more->arg, answers[at]),
					neap_more_code(answers[at])};
		} else {
			node->at = kept;
			cycle->rows[kept++] = node->row;
		}
		at++;
	}
	cycle->row_count = report->fitting = kept;
	return 0;
}

static int ask_filters(struct neap_decide *decide, struct neap_report *report,
		       struct neap_error *err)
{
	struct neap_cycle *cycle = neap_decide_cycle(decide);
	const struct neap_filter *active[NEAP_FILTERS_MAX];
	size_t count = neap_decide_active(decide, active), size = 0;

	for (uint32_t row = 0; row < cycle->columns->rows; row++) {
		struct neap_report_node *node = &report->nodes[report->node_count];

		if (!(cycle->columns->flags[row] & NEAP_ROW_IS_THERE))
			continue;
		*node = (struct neap_report_node){
			.row = row,
			.pods = (uint32_t)cycle->columns->nodes[row]->pod_count,
			.reason = report->reason_count};
		for (size_t i = 0; i < count; i++)
			if (!active[i]->fits(cycle, row) &&
			    !add_reasons(report, cycle, &size, active[i]->name))
				return neap_error_nomem(err);
		node->reason_count = report->reason_count - node->reason;
		report->node_count++;
		if (node->reason_count)
			continue;
		node->at = report->fitting++;
		cycle->rows[cycle->row_count++] = row;
	}
	return cycle->is_short ? neap_error_nomem(err)
			       : ask_more_filters(decide, report, &size, err);
}

static void count_score(struct neap_report *report, const struct neap_report_score *score)
{
	for (size_t n = 0; n < report->node_count; n++)
		if (!report->nodes[n].reason_count)
			report->nodes[n].score +=
				score->weight * score->points[report->nodes[n].at];
}

static bool make_columns(struct neap_report_score *score, size_t count)
{
	score->raw = neap_alloc_array(count, sizeof(*score->raw));
	score->points = neap_alloc_array(count, sizeof(*score->points));
	return score->raw && score->points;
}

static void drop_columns(struct neap_report_score *score)
{
	free(score->raw);
	free(score->points);
	score->raw = score->points = NULL;
}

static int ask_more_scores(struct neap_decide *decide, struct neap_report *report,
			   struct neap_error *err)
{
	struct neap_cycle *cycle = neap_decide_cycle(decide);
	const struct neap_decide_more *more = cycle->more;
	size_t count = report->fitting;

	for (size_t i = 0; more && count && i < NEAP_REPORT_MORE_MAX; i++) {
		struct neap_report_score *score = &report->scores[report->score_count];

		*score = (struct neap_report_score){0};
		report->score_count++;
		if (!make_columns(score, count))
			return neap_error_nomem(err);
		score->weight =
			more->score(more->arg, i, cycle->rows, count, score->points);
		if (score->weight < 0) {
			drop_columns(score);
			report->score_count--;
			break;
		}
		score->name = more->score_from(more->arg, i);
		if (!score->weight) {
			drop_columns(score);
			continue;
		}
		memcpy(score->raw, score->points, count * sizeof(*score->raw));
		count_score(report, score);
	}
	return 0;
}

static int ask_scores(struct neap_decide *decide, struct neap_report *report,
		      struct neap_error *err)
{
	size_t count = report->fitting;

	for (int i = 0; i < NEAP_SCORE_COUNT; i++) {
		struct neap_report_score *score = &report->scores[i];

		score->name = neap_scores[i]->name;
		score->weight = neap_decide_weight(decide, i);
		report->score_count++;
		if (!count || !score->weight)
			continue;
		if (!make_columns(score, count))
			return neap_error_nomem(err);
		if (neap_decide_score(decide, i, score->raw, score->points))
			count_score(report, score);
		else
			drop_columns(score);
	}
	return neap_decide_cycle(decide)->is_short ? neap_error_nomem(err)
						   : ask_more_scores(decide, report, err);
}

static int make(struct neap_decide *decide, const struct neap_pod *pod,
		struct neap_report *report, struct neap_error *err)
{
	int failed = neap_decide_begin(decide, pod, err);

	if (failed < 0)
		return failed;
	report->nodes =
		neap_alloc_array(neap_decide_nodes(decide) + 1, sizeof(*report->nodes));
	if (!report->nodes) {
		neap_decide_finish(decide);
		return neap_error_nomem(err);
	}
	failed = ask_filters(decide, report, err);
	if (failed == 0)
		failed = ask_scores(decide, report, err);
	neap_decide_finish(decide);
	if (failed == 0)
		qsort(report->nodes, report->node_count, sizeof(*report->nodes),
		      by_points);
	return failed;
}

int neap_decide_report(struct neap_decide *decide, struct neap_pod *pod,
		       struct neap_report *ret, struct neap_error *err)
{
	struct neap_cluster *cluster = neap_decide_cluster(decide);
	struct neap_cluster_node *node = NULL;
	int failed;

	*ret = (struct neap_report){0};
	if (pod->seat.node)
		node = neap_cluster_lift(cluster, pod);
	failed = make(decide, pod, ret, err);
	if (node) {
		neap_cluster_put_back(cluster, pod, node);
		neap_decide_cycle(decide)->columns = neap_cluster_settle(cluster);
	}
	return failed;
}

/* --- why a node is refused: a row and a code; texts made by a filter stand once --- */

bool neap_cycle_refuse(struct neap_cycle *cycle, uint32_t row, enum neap_reason reason,
		       uint32_t arg)
{
	if (!neap_grow(&cycle->refusals, cycle->refusal_count, &cycle->refusal_size,
		       sizeof(*cycle->refusals))) {
		cycle->is_short = true;
		return false;
	}
	cycle->refusals[cycle->refusal_count++] = (struct neap_refusal){
		row, (uint32_t)reason << NEAP_REASON_SHIFT | (arg & NEAP_REASON_ARG)};
	return false;
}

bool neap_cycle_refuse_text(struct neap_cycle *cycle, uint32_t row,
			    enum neap_reason reason, const char *text, size_t len)
{
	size_t at = 0;

	while (at < cycle->text_count && (strncmp(cycle->texts[at], text, len) != 0 ||
					  cycle->texts[at][len] != '\0'))
		at++;
	if (at == cycle->text_count && at < NEAP_REASON_TEXTS_MAX) {
		char *copy = neap_arena_alloc(&cycle->arena, len + 1);

		if (!copy) {
			cycle->is_short = true;
			return false;
		}
		memcpy(copy, text, len);
		cycle->texts[cycle->text_count++] = copy;
	}
	return neap_cycle_refuse(cycle, row, reason, (uint32_t)at);
}
