/* SPDX-License-Identifier: Apache-2.0
 *
 * The filter and score Reservation: whether the reserved room is enough for the pod, or
 * where a Reservation's placeholder may go; and the points of a node by the reservation
 * that would be used there. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/decide/decide.h"
#include "engine/decide/decide_priv.h"

/* --- the filter --- */

/* A pod in operating mode, which is to be a reservation. */
static bool is_operating(const struct neap_cycle *cycle)
{
	return cycle->kept.book && cycle->pod->keep && !neap_pod_is_stand(cycle->pod);
}

static bool prepare(struct neap_cycle *cycle)
{
	return cycle->kept.placed || cycle->kept.count || is_operating(cycle) ||
	       neap_kept_is_required(&cycle->kept);
}

static bool refuse(struct neap_cycle *cycle, uint32_t row, enum neap_reason reason,
		   const char *text)
{
	return neap_cycle_refuse_text(cycle, row, reason, text, strlen(text));
}

static bool has_policy(const struct neap_reserve *reserve)
{
	return reserve->policy != NEAP_RESERVE_NO_POLICY;
}

/* A reservation without a policy shares no node with one that has one; a pod in operating
 * mode is Aligned. Lifted ones count too. */
static bool has_conflict(struct neap_cycle *cycle, uint32_t row)
{
	const struct neap_cluster_node *node = cycle->columns->nodes[row];
	const struct neap_reserve *placed = cycle->kept.placed, *other;
	bool has_one = !placed || has_policy(placed);
	size_t count = 0;
	const struct neap_kept_match *matches =
		cycle->kept.count ? neap_kept_on(cycle, row, &count) : NULL;

	for (size_t i = 0; i < count; i++)
		if (has_policy(matches[i].reserve) != has_one)
			return true;
	for (size_t i = 0; i < node->pod_count; i++) {
		other = neap_reserve_book_of(cycle->kept.book, node->pods[i]);
		if (other && other != placed && has_policy(other) != has_one)
			return true;
	}
	return false;
}

static bool refuse_conflict(struct neap_cycle *cycle, uint32_t row)
{
	return refuse(cycle, row, NEAP_REASON_KEPT,
		      "node(s) reservation allocate policy conflict");
}

/* Each reason has a line. */
static bool refuse_lines(struct neap_cycle *cycle, uint32_t row, const char *text)
{
	while (*text) {
		const char *end = strchr(text, '\n');
		size_t len = end ? (size_t)(end - text) : strlen(text);

		(void)neap_cycle_refuse_text(cycle, row, NEAP_REASON_KEPT_ROOM, text,
					     len);
		text += len + (end != NULL);
	}
	return false;
}

static bool fits_takeover(struct neap_cycle *cycle, uint32_t row)
{
	neap_auto_buf struct neap_buf reasons = {0};

	neap_buf_init(&reasons, NEAP_BUF_LINE);
	if (neap_takeover_fits(cycle, row, &reasons))
		return true;
	/* A pod may appear there, or become an owner. */
	cycle->wakes |= NEAP_MOVED_POD_PLACED | NEAP_MOVED_LABELS;
	return refuse_lines(cycle, row, reasons.data);
}

static bool fits_stand(struct neap_cycle *cycle, uint32_t row)
{
	const struct neap_cluster_node *node = cycle->columns->nodes[row];
	const char *wanted = cycle->kept.placed->wanted_node;

	if (*wanted && strcmp(wanted, node->name) != 0)
		return refuse(
			cycle, row, NEAP_REASON_KEPT,
			"node(s) didn't match the nodeName specified by reservation");
	if ((cycle->columns->flags[row] & NEAP_ROW_HAS_KEPT) && has_conflict(cycle, row))
		return refuse_conflict(cycle, row);
	return !neap_kept_takes_over(&cycle->kept) || fits_takeover(cycle, row);
}

static bool has_enough(struct neap_cycle *cycle, uint32_t row,
		       struct neap_kept_match *matches, size_t count)
{
	const struct neap_kept_work *work = neap_kept_options(cycle, matches, count);
	neap_auto_buf struct neap_buf reasons = {0};

	if (!work)
		return false;
	if (!work->count)
		return neap_cycle_refuse(cycle, row, NEAP_REASON_PORTS, 0);
	neap_buf_init(&reasons, NEAP_BUF_LINE);
	return neap_reserve_fits(&work->room.room, &work->room.need, work->parts,
				 work->count, &reasons) ||
	       refuse_lines(cycle, row, reasons.data);
}

static bool fits_user(struct neap_cycle *cycle, uint32_t row)
{
	size_t count;
	struct neap_kept_match *matches = neap_kept_on(cycle, row, &count);

	if (is_operating(cycle) &&
	    (matches || (cycle->columns->flags[row] & NEAP_ROW_HAS_KEPT)) &&
	    has_conflict(cycle, row))
		return refuse_conflict(cycle, row);
	return cycle->kept.ask.is_ignoring || !matches ||
	       has_enough(cycle, row, matches, count);
}

static bool fits(struct neap_cycle *cycle, uint32_t row)
{
	return cycle->kept.placed ? fits_stand(cycle, row) : fits_user(cycle, row);
}

/* Without any reservation for it, nothing else is checked. */
static bool prepare_match(struct neap_cycle *cycle)
{
	return !cycle->kept.placed && neap_kept_is_required(&cycle->kept);
}

static bool has_match(struct neap_cycle *cycle, uint32_t row)
{
	size_t count;
	struct neap_kept_match *full;

	if (neap_kept_on(cycle, row, &count))
		return true;
	full = neap_kept_full_on(cycle, row, &count);
	if (full) {
		cycle->wakes |= neap_filter_kept.wakes;
		return has_enough(cycle, row, full, count);
	}
	return refuse(cycle, row, NEAP_REASON_KEPT,
		      cycle->kept.closed ? cycle->kept.closed
					 : "node(s) no reservations match "
					   "reservation affinity");
}

/* Labels of the node are looked at, too. */
const struct neap_filter neap_filter_match = {"Reservation", prepare_match, has_match,
					      NEAP_MOVED_RESERVATION | NEAP_MOVED_LABELS};
const struct neap_filter neap_filter_kept = {"Reservation", prepare, fits,
					     NEAP_MOVED_POD_GONE | NEAP_MOVED_ROOM |
						     NEAP_MOVED_RESERVATION};

/* --- the score --- */

static bool prepare_score(struct neap_cycle *cycle)
{
	return neap_kept_takes_over(&cycle->kept) ||
	       (cycle->kept.count && !cycle->kept.ask.is_ignoring);
}

static void score(struct neap_cycle *cycle, const uint32_t *rows, size_t count,
		  int64_t *ret)
{
	struct neap_kept_match **nominees =
		neap_alloc_array(cycle->kept.count + 1, sizeof(*nominees));
	int64_t *orders = neap_alloc_array(count, sizeof(*orders));
	bool is_ranked = false;

	memset(ret, 0, count * sizeof(*ret));
	if (!nominees || !orders) {
		cycle->is_short = true;
		count = 0;
	}
	for (size_t i = 0; i < count; i++) {
		const struct neap_kept_option *first = NULL;

		if (cycle->kept.placed)
			ret[i] = neap_takeover_score(cycle, rows[i]);
		else if (neap_kept_nominate(cycle, rows[i], nominees, &first)) {
			ret[i] = first->points;
			orders[i] = first->part->order;
			is_ranked = is_ranked || first->rank >= 0;
		}
	}
	/* A policy that has ranked has the last word. */
	if (count && !is_ranked)
		neap_reserve_order(ret, orders, count);
	free(nominees);
	free(orders);
}

/* As the reference configures it: reserved room is used before anything else weighs. */
const struct neap_score neap_score_kept = {"Reservation", 5000, NEAP_SCORE_UP,
					   prepare_score, score};
