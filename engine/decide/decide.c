/* SPDX-License-Identifier: Apache-2.0
 *
 * One pass over the rows with the filters that apply to the pod, from where the previous
 * decision ended, until enough nodes are feasible; then their scores, column by column. A
 * refusal takes eight bytes; its text is built on request. */
#include "engine/decide/decide.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/decide/decide_priv.h"

struct neap_decide {
	struct neap_cycle cycle;
	struct neap_cluster *cluster;
	struct neap_settings *settings;
	size_t start;      /* the row where the next decision begins */
	bool looks_at_all; /* whatever the percentage */
	size_t nodes;      /* that there were at the decision before */
	const char *end;   /* of the explanation */
	bool (*is_over)(void *arg);
	void *is_over_arg;
};

/* Nodes between two looks at the time. */
#define ROWS_AT_ONCE 256

static bool is_late(const struct neap_decide *decide)
{
	return decide->is_over && decide->is_over(decide->is_over_arg);
}

void neap_decide_set_hurry(struct neap_decide *decide, bool (*is_over)(void *arg),
			   void *arg)
{
	decide->is_over = is_over;
	decide->is_over_arg = arg;
}

void neap_decide_set_choice(struct neap_decide *decide, bool is_choice)
{
	decide->cycle.is_choice = is_choice;
}

void neap_decide_weights(int ret[NEAP_SCORE_COUNT])
{
	for (int i = 0; i < NEAP_SCORE_COUNT; i++)
		ret[i] = neap_scores[i]->weight;
}

static int number_all(struct neap_decide *decide, struct neap_error *err)
{
	struct neap_cycle *cycle = &decide->cycle;
	int failed = neap_cycle_number(decide->cluster, &decide->settings->fit,
				       cycle->fit, &cycle->fit_count, err);

	return failed < 0 ? failed
			  : neap_cycle_number(decide->cluster, &decide->settings->balance,
					      cycle->balance, &cycle->balance_count, err);
}

int neap_decide_new(const struct neap_decide_config *config, struct neap_decide **ret,
		    struct neap_error *err)
{
	struct neap_decide *decide = neap_alloc(sizeof(*decide));
	struct neap_settings *settings = config->settings
						 ? neap_settings_ref(config->settings)
						 : neap_settings_new();
	int failed;

	if (!decide || !settings) {
		free(decide);
		(void)neap_settings_unref(settings);
		return neap_error_nomem(err);
	}
	if (!config->settings) {
		settings->percentage = config->percentage;
		if (config->weights)
			memcpy(settings->weights, config->weights,
			       sizeof(settings->weights));
	}
	decide->cluster = config->cluster;
	decide->settings = settings;
	decide->cycle.cluster = config->cluster;
	decide->cycle.more = config->more;
	decide->cycle.kept.book = config->book;
	decide->cycle.kept.matcher = config->matcher;
	decide->cycle.settings = settings;
	neap_buf_init(&decide->cycle.cpus_why, NEAP_NUMA_WHY_MAX);
	failed = number_all(decide, err);
	if (failed < 0) {
		neap_decide_free(decide);
		return failed;
	}
	*ret = decide;
	return 0;
}

void neap_decide_free(struct neap_decide *decide)
{
	if (!decide)
		return;
	neap_tally_done(&decide->cycle.near);
	neap_tally_done(&decide->cycle.spread);
	neap_domains_done(&decide->cycle.nominated);
	neap_arena_done(&decide->cycle.arena);
	neap_kept_done(&decide->cycle.kept);
	free(decide->cycle.cpus);
	neap_buf_done(&decide->cycle.cpus_why);
	free(decide->cycle.refusals);
	free(decide->cycle.tolerated);
	free(decide->cycle.rows);
	free(decide->cycle.scores);
	free(decide->cycle.part);
	free(decide->cycle.more_answers);
	(void)neap_settings_unref(decide->settings);
	free(decide);
}

const char *neap_decide_text(const struct neap_decide *decide, uint32_t number)
{
	return number < decide->cycle.text_count ? decide->cycle.texts[number] : NULL;
}

/* --- one decision --- */

static bool make_room(struct neap_cycle *cycle)
{
	size_t rows = cycle->columns->rows;
	size_t taints = neap_cluster_taint_end(cycle->cluster);

	if (cycle->row_size < rows) {
		free(cycle->rows);
		free(cycle->scores);
		free(cycle->part);
		cycle->rows = neap_alloc_array(rows * 2, sizeof(*cycle->rows));
		cycle->scores = neap_alloc_array(rows * 2, sizeof(*cycle->scores));
		cycle->part = neap_alloc_array(rows * 2, sizeof(*cycle->part));
		cycle->row_size =
			cycle->rows && cycle->scores && cycle->part ? rows * 2 : 0;
		if (cycle->more && cycle->row_size) {
			free(cycle->more_answers);
			cycle->more_answers =
				neap_alloc_array(rows * 2, sizeof(*cycle->more_answers));
			if (!cycle->more_answers)
				cycle->row_size = 0;
		}
		if (!cycle->row_size)
			return false;
	}
	if (cycle->tolerated_size < taints) {
		free(cycle->tolerated);
		cycle->tolerated = neap_alloc(taints * 2);
		cycle->tolerated_size = cycle->tolerated ? taints * 2 : 0;
		if (!cycle->tolerated)
			return false;
	}
	if (taints)
		memset(cycle->tolerated, 0, taints);
	return true;
}

/* As many fitting nodes as are looked for. */
static size_t enough(const struct neap_decide *decide)
{
	int wanted = decide->settings->percentage;
	size_t nodes = decide->nodes, percentage = (size_t)wanted, count;

	if (nodes < NEAP_DECIDE_NODES_MIN || wanted >= 100 || decide->looks_at_all)
		return nodes;
	if (wanted <= 0) {
		percentage = nodes / 125 >= 45 ? 5 : 50 - nodes / 125;
	}
	count = nodes * percentage / 100;
	return count < NEAP_DECIDE_NODES_MIN ? NEAP_DECIDE_NODES_MIN : count;
}

/* Plugin filters are asked about at least this many nodes at once. */
#define BLOCK_MIN 64

/* Returns whether the pod fits; for a refused row *ret_wakes has the events that may
 * help. */
static bool fits_row(struct neap_cycle *cycle, const struct neap_filter *const *active,
		     size_t count, uint32_t row, unsigned *ret_wakes)
{
	size_t n = 0;

	*ret_wakes = NEAP_MOVED_POD_GONE | NEAP_MOVED_LABELS;
	if (!neap_cycle_spend(cycle, cycle->row_cost))
		return neap_cycle_refuse(cycle, row, NEAP_REASON_COSTLY, 0);
	while (n < count && active[n]->fits(cycle, row))
		n++;
	if (n < count)
		*ret_wakes = active[n]->wakes;
	return n == count;
}

/* Returns false when the pass must be repeated. */
static bool filter_once(struct neap_decide *decide, struct neap_choice *ret)
{
	struct neap_cycle *cycle = &decide->cycle;
	const struct neap_filter *active[NEAP_FILTERS_MAX];
	size_t count = neap_filters_prepare(cycle, active), wanted = enough(decide);
	size_t asked = 0, until = wanted;
	struct neap_kept_walk walk = neap_kept_walk(cycle, decide->start);
	uint32_t row;

	while (walk.at < walk.total && cycle->row_count < until) {
		unsigned wakes;

		if (neap_kept_next(cycle, &walk, &row) &&
		    (cycle->columns->flags[row] & NEAP_ROW_IS_THERE)) {
			ret->looked_at++;
			if (fits_row(cycle, active, count, row, &wakes))
				cycle->rows[cycle->row_count++] = row;
			else
				cycle->wakes |= wakes;
		}
		if (!cycle->has_more_filters ||
		    (cycle->row_count < until && walk.at < walk.total))
			continue;
		if (!neap_more_filter(cycle, asked))
			return false;
		asked = cycle->row_count;
		if (asked < wanted && until < asked + BLOCK_MIN)
			until = asked + BLOCK_MIN;
		else if (asked >= wanted)
			until = asked;
	}
	decide->start = walk.row;
	ret->fitting = cycle->row_count;
	return true;
}

static void filter(struct neap_decide *decide, struct neap_choice *ret)
{
	struct neap_cycle *cycle = &decide->cycle;
	unsigned wakes = cycle->wakes;

	while (!filter_once(decide, ret)) {
		cycle->refusal_count = cycle->row_count = 0;
		cycle->wakes = wakes;
		ret->looked_at = 0;
	}
}

static void add_scores(struct neap_decide *decide)
{
	struct neap_cycle *cycle = &decide->cycle;

	memset(cycle->scores, 0, cycle->row_count * sizeof(*cycle->scores));
	for (int i = 0; i < NEAP_SCORE_COUNT; i++) {
		const struct neap_score *score = neap_scores[i];

		int weight = decide->settings->weights[i];

		if (is_late(decide))
			return;
		if (!weight || (score->prepare && !score->prepare(cycle)))
			continue;
		score->score(cycle, cycle->rows, cycle->row_count, cycle->part);
		neap_score_scale(cycle->part, cycle->row_count, score->scale);
		for (size_t n = 0; n < cycle->row_count; n++)
			cycle->scores[n] += weight * cycle->part[n];
	}
	if (cycle->more)
		neap_more_add_scores(cycle);
}

/* Starts every decision; after success it must be finished. */
static int begin(struct neap_decide *decide, const struct neap_pod *pod,
		 struct neap_error *err)
{
	struct neap_cycle *cycle = &decide->cycle;
	int failed;

	neap_cluster_trim_labels(decide->cluster);
	cycle->columns = neap_cluster_settle(decide->cluster);
	cycle->pod = pod;
	cycle->is_short = cycle->near_known = cycle->spread_known = false;
	cycle->steps = NEAP_DECIDE_STEPS;
	cycle->node_rules = neap_cost_of_term(&pod->node_selector) +
			    (pod->has_affinity ? neap_cost_of_terms(&pod->affinity) : 0);
	neap_arena_done(&cycle->arena);
	cycle->refusal_count = cycle->row_count = cycle->text_count = 0;
	cycle->wakes = NEAP_MOVED_NODE_ADDED;
	if (cycle->kept.book)
		cycle->wakes |= NEAP_MOVED_RESERVATION;
	decide->end = NULL;
	decide->nodes = neap_cluster_node_count(decide->cluster);
	if (pod->trouble)
		return neap_error_set(err, NEAP_EINVAL, "%s", pod->trouble);
	if (!make_room(cycle))
		return neap_error_nomem(err);
	failed = neap_kept_begin(cycle, pod, UINT32_MAX, err);
	if (failed < 0)
		return failed;
	neap_kept_lift(cycle);
	neap_more_begin(cycle);
	return 0;
}

void neap_decide_finish(struct neap_decide *decide)
{
	const struct neap_decide_more *more = decide->cycle.more;

	if (more && more->end)
		more->end(more->arg);
	neap_kept_put_back(&decide->cycle);
}

bool neap_decide_look_again(struct neap_decide *decide)
{
	struct neap_cycle *cycle = &decide->cycle;
	struct neap_choice ignored = {0};

	cycle->refusal_count = cycle->row_count = 0;
	neap_kept_lift(cycle);
	filter(decide, &ignored);
	neap_kept_put_back(cycle);
	return cycle->row_count > 0;
}

static int decide_begun(struct neap_decide *decide, struct neap_choice *ret,
			struct neap_error *err)
{
	struct neap_cycle *cycle = &decide->cycle;
	struct neap_choice choice = {0};
	size_t best = 0;

	filter(decide, &choice);
	if (cycle->is_short)
		return neap_error_nomem(err);
	if (!cycle->row_count)
		return 0;
	if (cycle->row_count > 1) {
		add_scores(decide);
		if (cycle->is_short)
			return neap_error_nomem(err);
		best = neap_cycle_pick(cycle);
		choice.score = cycle->scores[best];
	}
	cycle->chosen = best;
	choice.row = cycle->rows[best];
	choice.node = cycle->columns->nodes[choice.row]->name;
	*ret = choice;
	return 1;
}

int neap_decide_pod(struct neap_decide *decide, const struct neap_pod *pod,
		    struct neap_choice *ret, struct neap_error *err)
{
	int answer;

	neap_decide_set_choice(decide, true);
	answer = begin(decide, pod, err);
	if (answer >= 0) {
		answer = decide_begun(decide, ret, err);
		neap_decide_finish(decide);
	}
	neap_decide_set_choice(decide, false);
	return answer;
}

int neap_decide_pod_of_all(struct neap_decide *decide, const struct neap_pod *pod,
			   struct neap_choice *ret, struct neap_error *err)
{
	int answer;

	decide->looks_at_all = true;
	answer = neap_decide_pod(decide, pod, ret, err);
	decide->looks_at_all = false;
	return answer;
}

void neap_decide_set_now(struct neap_decide *decide, int64_t now_usec)
{
	decide->cycle.now_usec = now_usec;
}

/* Sorts refusals of plugin filters, recorded after all others from `from` on, into row
 * order. */
static void sort_refusals(struct neap_cycle *cycle, const uint32_t *rows, size_t count,
			  size_t from)
{
	struct neap_refusal *list = cycle->refusals, *later;
	size_t more = cycle->refusal_count - from, at = cycle->refusal_count;

	if (!from || !more)
		return;
	later = neap_arena_alloc(&cycle->arena, more * sizeof(*later));
	if (!later) {
		cycle->is_short = true;
		return;
	}
	memcpy(later, list + from, more * sizeof(*later));
	for (size_t i = count; i-- && more;) {
		if (later[more - 1].row == rows[i])
			list[--at] = later[--more];
		while (from && list[from - 1].row == rows[i])
			list[--at] = list[--from];
	}
}

static int look_at_rows(struct neap_decide *decide, const uint32_t *rows, size_t count,
			struct neap_error *err)
{
	struct neap_cycle *cycle = &decide->cycle;
	const struct neap_filter *active[NEAP_FILTERS_MAX];
	size_t filters = neap_filters_prepare(cycle, active), seen = 0, refused;

	for (; seen < count && seen < cycle->row_size; seen++) {
		unsigned ignored;

		if (seen % ROWS_AT_ONCE == 0 && is_late(decide))
			break;
		if (fits_row(cycle, active, filters, rows[seen], &ignored))
			cycle->rows[cycle->row_count++] = rows[seen];
	}
	for (size_t i = seen; i < count; i++)
		(void)neap_cycle_refuse(cycle, rows[i], NEAP_REASON_LATE, 0);
	refused = cycle->refusal_count;
	while (cycle->has_more_filters && !neap_more_filter(cycle, 0))
		; /* none refused by them so far: repeat with the same rows */
	sort_refusals(cycle, rows, count, refused);
	if (cycle->is_short)
		return neap_error_nomem(err);
	return seen == count || cycle->row_count
		       ? 0
		       : neap_error_set(err, NEAP_EUNAVAILABLE,
					"no time: %zu of %zu nodes were looked at", seen,
					count);
}

int neap_decide_rows(struct neap_decide *decide, const struct neap_pod *pod,
		     const uint32_t *rows, size_t count, struct neap_verdict *ret,
		     struct neap_error *err)
{
	const struct neap_cycle *cycle = &decide->cycle;
	int failed = begin(decide, pod, err);

	if (failed < 0)
		return failed;
	failed = look_at_rows(decide, rows, count, err);
	neap_decide_finish(decide);
	if (failed == 0)
		*ret = (struct neap_verdict){.rows = cycle->rows,
					     .count = cycle->row_count};
	return failed;
}

int neap_decide_scores(struct neap_decide *decide, const struct neap_pod *pod,
		       const uint32_t *rows, size_t count, struct neap_verdict *ret,
		       struct neap_error *err)
{
	struct neap_cycle *cycle = &decide->cycle;
	int failed = begin(decide, pod, err);

	if (failed < 0)
		return failed;
	for (size_t i = 0; i < count && i < cycle->row_size; i++)
		cycle->rows[cycle->row_count++] = rows[i];
	if (cycle->row_count)
		add_scores(decide);
	neap_decide_finish(decide);
	*ret = (struct neap_verdict){
		.rows = cycle->rows, .scores = cycle->scores, .count = cycle->row_count};
	return cycle->is_short ? neap_error_nomem(err) : 0;
}

unsigned neap_decide_wakes(const struct neap_decide *decide)
{
	return decide->cycle.wakes;
}

int64_t neap_decide_again(const struct neap_decide *decide)
{
	return decide->cycle.kept.again_usec;
}

const struct neap_refusal *neap_decide_refusals(const struct neap_decide *decide,
						size_t *ret_count)
{
	*ret_count = decide->cycle.refusal_count;
	return decide->cycle.refusals;
}

size_t neap_decide_nodes(const struct neap_decide *decide)
{
	return decide->nodes;
}

const char *neap_decide_stop(const struct neap_decide *decide)
{
	return decide->cycle.stop;
}

struct neap_cluster *neap_decide_cluster(const struct neap_decide *decide)
{
	return decide->cluster;
}

struct neap_cycle *neap_decide_cycle(struct neap_decide *decide)
{
	return &decide->cycle;
}

bool neap_decide_fits(struct neap_decide *decide, uint32_t row)
{
	struct neap_cycle *cycle = &decide->cycle;
	const struct neap_filter *active[NEAP_FILTERS_MAX];
	size_t refusals = cycle->refusal_count, count;
	unsigned ignored;
	bool fits;

	if (cycle->steps < 0)
		return false;
	cycle->columns = neap_cluster_settle(decide->cluster);
	count = neap_filters_prepare(cycle, active);
	fits = fits_row(cycle, active, count, row, &ignored);
	cycle->refusal_count = refusals;
	return fits && neap_more_fits(cycle, row);
}

int neap_decide_begin(struct neap_decide *decide, const struct neap_pod *pod,
		      struct neap_error *err)
{
	return begin(decide, pod, err);
}

size_t neap_decide_active(struct neap_decide *decide,
			  const struct neap_filter *ret[NEAP_FILTERS_MAX])
{
	return neap_filters_prepare(&decide->cycle, ret);
}

int neap_decide_weight(const struct neap_decide *decide, int score)
{
	return decide->settings->weights[score];
}

bool neap_decide_score(struct neap_decide *decide, int which, int64_t *raw,
		       int64_t *points)
{
	struct neap_cycle *cycle = &decide->cycle;
	const struct neap_score *score = neap_scores[which];

	if (score->prepare && !score->prepare(cycle))
		return false;
	score->score(cycle, cycle->rows, cycle->row_count, raw);
	memcpy(points, raw, cycle->row_count * sizeof(*points));
	neap_score_scale(points, cycle->row_count, score->scale);
	return true;
}

void neap_decide_set_end(struct neap_decide *decide, const char *text)
{
	decide->end = text;
}

const char *neap_decide_end(const struct neap_decide *decide)
{
	return decide->end;
}
