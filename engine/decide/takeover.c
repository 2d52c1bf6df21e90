/* SPDX-License-Identifier: Apache-2.0
 *
 * Reservations that use the room of running pods: those that take pods over, which become
 * their owners, and those that are placed and wait until enough pods are gone. */
#include "engine/decide/decide.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/decide/decide_priv.h"
#include "engine/json/json.h"

#define KEY_MAY_BE_TAKEN "pod.koordinator.sh/is-pre-allocatable"
#define KEY_PRIORITY     "pod.koordinator.sh/pre-allocatable-priority"
/* Pods of one node that are looked at. */
#define CANDIDATES_MAX 512

bool neap_kept_takes_over(const struct neap_kept *kept)
{
	return kept->placed && (kept->placed->pre == NEAP_RESERVE_PRE_DEFAULT ||
				kept->placed->pre == NEAP_RESERVE_PRE_CLUSTER);
}

/* --- who can be taken over --- */

struct candidate {
	struct neap_pod *pod;
	struct neap_amounts requests, given;
	int64_t rank; /* the largest first */
};

struct candidates {
	struct candidate *of;
	size_t count;
};

static bool is_selected(const struct neap_reserve *reserve, const struct neap_pod *pod)
{
	for (size_t i = 0; i < reserve->owner_count; i++)
		if (reserve->owners[i].selector &&
		    neap_object_is_selected(pod->object, reserve->owners[i].selector))
			return true;
	return false;
}

static bool is_taken(const struct neap_reserve *reserve,
		     const struct neap_reserve_ask *ask)
{
	for (size_t i = 0; i < reserve->owner_count; i++)
		if (reserve->owners[i].selector &&
		    neap_reserve_owner_takes(&reserve->owners[i], ask))
			return true;
	return false;
}

/* It says that it uses another one, be that there or not. */
static bool uses_another(const struct neap_pod *pod, const struct neap_reserve *reserve)
{
	const char *uid = neap_pod_reservation(pod);

	return *uid && strcmp(uid, reserve->object->uid) != 0;
}

/* As a pod that comes, but that it need not be open to new ones. */
static bool is_matched(struct neap_cycle *cycle, const struct neap_cluster_node *node,
		       const struct neap_pod *pod)
{
	const struct neap_reserve *reserve = cycle->kept.placed;
	struct neap_reserve_ask ask;
	struct neap_arena arena;
	json_t *tree;
	bool is_it;

	if (!is_selected(reserve, pod))
		return false;
	tree = neap_object_tree(pod->object);
	if (!tree) {
		cycle->is_short = true;
		return false;
	}
	neap_arena_init(&arena);
	is_it = neap_reserve_ask_read(pod, tree, neap_cluster_resources(cycle->cluster),
				      &arena, &ask, NULL) == 0 &&
		!ask.is_ignoring && is_taken(reserve, &ask) &&
		neap_reserve_may_take(reserve, node->object, &ask);
	neap_arena_done(&arena);
	json_decref(tree);
	return is_it;
}

/* The part of it taken from the reservation: nothing of resources it does not keep. */
static void set_given(const struct neap_reserve *reserve,
		      const struct neap_amounts *requests, struct neap_amounts *ret)
{
	const struct neap_amounts *keeps = neap_reserve_keeps(reserve);

	ret->count = 0;
	for (size_t i = 0; i < keeps->count; i++) {
		uint32_t resource = keeps->of[i].resource;
		int64_t amount = neap_amounts_get(requests, resource);

		if (amount > 0)
			(void)neap_amounts_set(ret, resource, amount);
	}
}

/* Reads an annotation; anything but a number is 0. */
static int64_t priority_of(const struct neap_pod *pod)
{
	neap_auto_json json_t *tree = neap_object_tree(pod->object);
	const char *text = json_string_value(json_object_get(
		json_object_get(json_object_get(tree, "metadata"), "annotations"),
		KEY_PRIORITY));
	int64_t value = 0;

	if (text && neap_int_parse(text, &value, NULL) < 0)
		value = 0;
	return value;
}

static bool says_that_it_may(const struct neap_pod *pod)
{
	const char *says = neap_object_label(pod->object, KEY_MAY_BE_TAKEN);

	return says && strcmp(says, "true") == 0;
}

/* How full the reservation would be with it. */
static int64_t points_of(const struct neap_reserve *reserve,
			 const struct neap_amounts *requests)
{
	static const struct neap_amounts nothing;
	const struct neap_reserve_part part = {.allocatable = &reserve->requests,
					       .allocated = &nothing};

	return neap_reserve_score(&part, requests);
}

static int by_rank(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return strcmp(x->pod->object->uid, y->pod->object->uid);
}

/* False without memory. */
static bool collect(struct neap_cycle *cycle, uint32_t row, struct candidates *ret)
{
	const struct neap_cluster_node *node = cycle->columns->nodes[row];
	const struct neap_reserve *reserve = cycle->kept.placed;
	bool is_cluster = reserve->pre == NEAP_RESERVE_PRE_CLUSTER;

	*ret = (struct candidates){
		.of = neap_alloc_array(node->pod_count + 1, sizeof(*ret->of))};
	if (!ret->of) {
		cycle->is_short = true;
		return false;
	}
	for (size_t i = 0; i < node->pod_count && ret->count < CANDIDATES_MAX; i++) {
		struct neap_pod *pod = node->pods[i];
		struct candidate *candidate = &ret->of[ret->count];

		if (pod->keep || pod->seat.is_assumed || pod->object->is_deleting ||
		    uses_another(pod, reserve) ||
		    !(is_cluster ? says_that_it_may(pod) : is_matched(cycle, node, pod)))
			continue;
		candidate->pod = pod;
		neap_pod_amounts(pod, &candidate->requests);
		set_given(reserve, &candidate->requests, &candidate->given);
		candidate->rank = is_cluster ? priority_of(pod)
					     : points_of(reserve, &candidate->requests);
		ret->count++;
	}
	if (ret->count > 1)
		qsort(ret->of, ret->count, sizeof(*ret->of), by_rank);
	return true;
}

/* --- whether that is enough --- */

/* Room nominated for others is not free. */
static void add_nominated(const struct neap_cycle *cycle, uint32_t row,
			  struct neap_kept_room *room)
{
	for (size_t i = 0; i < room->requested.count; i++) {
		struct neap_amount *used = &room->requested.of[i];

		used->amount = neap_amount_sum(
			used->amount, neap_cycle_nominated(cycle, row, used->resource));
	}
	room->room.pods += (size_t)neap_cycle_nominated(cycle, row, NEAP_RESOURCE_PODS);
}

/* selected: as many flags as there are candidates. */
static bool fits(struct neap_cycle *cycle, uint32_t row, const struct candidates *from,
		 bool *selected, struct neap_buf *reasons)
{
	const struct neap_reserve *reserve = cycle->kept.placed;
	neap_auto_free struct neap_reserve_candidate *list =
		neap_alloc_array(from->count + 1, sizeof(*list));
	neap_auto_free struct neap_kept_room *room = neap_alloc(sizeof(*room));
	struct neap_reserve_takeover takeover = {.requests = &reserve->requests,
						 .candidates = list,
						 .count = from->count,
						 .is_required = reserve->needs_pods,
						 .takes_several = reserve->takes_several};

	if (!list || !room) {
		cycle->is_short = true;
		return false;
	}
	for (size_t i = 0; i < from->count; i++)
		list[i] = (struct neap_reserve_candidate){from->of[i].pod->object->name,
							  &from->of[i].requests,
							  &from->of[i].given};
	neap_kept_room(cycle, row, NULL, 0, room);
	add_nominated(cycle, row, room);
	/* Without anybody to take over the ordinary rule counts. */
	if (!from->count && !reserve->needs_pods)
		return neap_reserve_fits(&room->room, &room->need, NULL, 0, reasons);
	return neap_reserve_take_over(&room->room, &takeover, selected, reasons);
}

static const char *trouble_of(const struct neap_cycle *cycle)
{
	const struct neap_reserve *reserve = cycle->kept.placed;

	if (reserve->policy != NEAP_RESERVE_RESTRICTED)
		return "node(s) reservation pre allocation is unsupported with current "
		       "attributes";
	if (reserve->pre == NEAP_RESERVE_PRE_CLUSTER &&
	    !cycle->settings->takes_over_by_label)
		return "reservation requires cluster mode pre-allocation which is "
		       "disabled";
	return NULL;
}

bool neap_takeover_fits(struct neap_cycle *cycle, uint32_t row, struct neap_buf *reasons)
{
	const char *trouble = trouble_of(cycle);
	neap_auto_free bool *selected = NULL;
	struct candidates from = {0};
	bool fits_there = false;

	if (!trouble && !collect(cycle, row, &from))
		return false;
	if (!trouble && cycle->kept.placed->needs_pods && !from.count)
		trouble = "node(s) no pod match reservation with pre allocation required";
	if (trouble) {
		neap_buf_adds(reasons, trouble);
	} else {
		selected = neap_alloc_array(from.count + 1, sizeof(*selected));
		fits_there = selected && fits(cycle, row, &from, selected, reasons);
		cycle->is_short = cycle->is_short || !selected;
	}
	free(from.of);
	return fits_there;
}

int64_t neap_takeover_score(struct neap_cycle *cycle, uint32_t row)
{
	const struct neap_reserve *reserve = cycle->kept.placed;
	neap_auto_free bool *selected = NULL;
	struct candidates from;
	int64_t points = 0;
	size_t count = 0;

	if (!collect(cycle, row, &from))
		return 0;
	selected = neap_alloc_array(from.count + 1, sizeof(*selected));
	if (selected && fits(cycle, row, &from, selected, NULL))
		for (size_t i = 0; i < from.count; i++) {
			if (selected[i] && !count)
				points = points_of(reserve, &from.of[i].requests);
			count += selected[i];
		}
	if (reserve->takes_several)
		points = 100 / (1 + (int64_t)count);
	free(from.of);
	return points;
}

/* 1: *ret is the pods on row that are taken over, to be freed; 0: the Reservation takes
 * nobody over. NEAP_ENOFIT: the room is gone. */
static int select_pods(struct neap_cycle *cycle, uint32_t row, struct neap_pod ***ret,
		       size_t *ret_count, struct neap_error *err)
{
	neap_auto_free bool *selected = NULL;
	struct candidates from;
	bool has_room;

	if (!neap_kept_takes_over(&cycle->kept) || trouble_of(cycle))
		return 0;
	if (!collect(cycle, row, &from))
		return neap_error_nomem(err);
	selected = neap_alloc_array(from.count + 1, sizeof(*selected));
	*ret = neap_alloc_array(from.count + 1, sizeof(struct neap_pod *));
	has_room = selected && *ret && fits(cycle, row, &from, selected, NULL);
	for (size_t i = 0; has_room && i < from.count; i++)
		if (selected[i])
			(*ret)[(*ret_count)++] = from.of[i].pod;
	free(from.of);
	if (has_room)
		return 1;
	cycle->is_short = cycle->is_short || !selected || !*ret;
	free(*ret);
	*ret = NULL;
	return cycle->is_short ? neap_error_nomem(err)
			       : neap_error_set(err, NEAP_ENOFIT, "the room is gone");
}

/* CPUs that the pods have, which are the reservation's first. False: none. */
static bool find_cpus(const struct neap_cluster_node *node, struct neap_pod *const *pods,
		      size_t count, struct neap_cpu_kept *ret)
{
	const struct neap_numa_node *numa =
		node->cpus && !node->cpus->is_stale ? node->cpus->numa : NULL;
	bool has_any = false;
	char key[NEAP_POD_KEY];

	*ret = (struct neap_cpu_kept){0};
	for (size_t i = 0; numa && i < count; i++) {
		const struct neap_numa_held *held =
			neap_numa_node_find(numa, neap_pod_seat_key(pods[i], key));

		for (int n = 0; held && held->cpus && n < numa->layout->words; n++) {
			ret->cpus[n] |= held->cpus[n];
			has_any = true;
		}
	}
	return has_any;
}

static int claim_with(struct neap_decide *decide, const struct neap_pod *stand,
		      uint32_t row, struct neap_pod *const *pods, size_t count,
		      struct neap_claim **ret, struct neap_error *err)
{
	struct neap_cycle *cycle = neap_decide_cycle(decide);
	struct neap_cluster_node *node = cycle->columns->nodes[row];
	neap_auto_free struct neap_cpu_kept *kept = neap_alloc(sizeof(*kept));
	bool has_cpus;
	int answer;

	if (!kept)
		return neap_error_nomem(err);
	has_cpus = find_cpus(node, pods, count, kept);
	for (size_t i = 0; i < count; i++)
		(void)neap_cluster_lift(cycle->cluster, pods[i]);
	answer = neap_claim_cpus(decide, stand, row, has_cpus ? kept : NULL, ret, err);
	for (size_t i = count; i--;)
		neap_cluster_put_back(cycle->cluster, pods[i], node);
	cycle->columns = neap_cluster_settle(cycle->cluster);
	return answer;
}

int neap_claim_takeover(struct neap_decide *decide, const struct neap_pod *stand,
			uint32_t row, struct neap_claim **ret, struct neap_error *err)
{
	struct neap_cycle *cycle = neap_decide_cycle(decide);
	struct neap_pod **pods = NULL;
	size_t count = 0;
	int answer;

	*ret = NULL;
	cycle->pod = stand;
	cycle->is_short = false;
	cycle->columns = neap_cluster_settle(cycle->cluster);
	answer = neap_kept_begin(cycle, stand, row, err);
	neap_cycle_find_nominated(cycle);
	if (answer == 0 && cycle->is_short)
		answer = neap_error_nomem(err);
	if (answer == 0)
		answer = select_pods(cycle, row, &pods, &count, err);
	if (answer < 0)
		return answer;
	answer = claim_with(decide, stand, row, pods, count, ret, err);
	if (answer == 0 && count)
		*ret = neap_alloc(sizeof(**ret));
	if (answer < 0 || !count) {
		free(pods);
		return answer;
	}
	if (!*ret) {
		free(pods);
		return neap_error_nomem(err);
	}
	(*ret)->taken = pods;
	(*ret)->taken_count = count;
	return 1;
}

/* --- waiting for room --- */

/* By how much requests would exceed capacity, for the resource with the largest share; in
 * 1/1000. */
static int64_t excess(const struct neap_columns *columns, uint32_t row,
		      const struct neap_pod *stand)
{
	int64_t most = 0;

	for (size_t i = 0; i < stand->request_count; i++) {
		uint32_t resource = stand->requests[i].resource;
		int64_t all, over;

		if (!columns->allocatable[resource] ||
		    !columns->allocatable[resource][row])
			continue;
		all = columns->allocatable[resource][row];
		over = neap_amount_sum(columns->used[resource][row],
				       stand->requests[i].amount) -
		       all;
		if (over > 0 && (int64_t)((__int128)over * 1000 / all) > most)
			most = (int64_t)((__int128)over * 1000 / all);
	}
	return most;
}

/* Pods that leave some day; those of DaemonSets come back, and placeholders stay. */
static bool goes(const struct neap_pod *pod)
{
	return !pod->keep && !pod->load.is_daemon;
}

static bool fits_without_pods(struct neap_decide *decide, struct neap_cluster_node *node,
			      struct neap_pod **lifted)
{
	struct neap_cluster *cluster = neap_decide_cluster(decide);
	size_t count = 0;
	bool fits_there;

	for (size_t i = node->pod_count; i--;)
		if (goes(node->pods[i]))
			lifted[count++] = node->pods[i];
	for (size_t i = 0; i < count; i++)
		(void)neap_cluster_lift(cluster, lifted[i]);
	fits_there = neap_decide_fits(decide, node->row);
	for (size_t i = count; i--;)
		neap_cluster_put_back(cluster, lifted[i], node);
	return fits_there;
}

int neap_decide_wait(struct neap_decide *decide, const struct neap_pod *stand,
		     uint32_t *ret_row, struct neap_error *err)
{
	struct neap_cycle *cycle = neap_decide_cycle(decide);
	size_t left = NEAP_PREEMPT_TRIALS, count = cycle->refusal_count;
	int64_t best = INT64_MAX;
	bool is_found = false;

	if (!cycle->kept.placed || cycle->kept.placed->pre != NEAP_RESERVE_PRE_WAITING)
		return 0;
	for (size_t i = 0; i < count && left;) {
		uint32_t row = cycle->refusals[i].row;
		struct neap_cluster_node *node = cycle->columns->nodes[row];
		struct neap_pod **lifted;
		bool may_help = true;
		int64_t over;

		for (; i < count && cycle->refusals[i].row == row; i++)
			may_help &= neap_decide_can_help(cycle->refusals[i].code);
		over = may_help ? excess(cycle->columns, row, stand) : INT64_MAX;
		if (over >= best)
			continue;
		lifted = neap_alloc_array(node->pod_count + 1, sizeof(*lifted));
		if (!lifted)
			return neap_error_nomem(err);
		left--;
		if (fits_without_pods(decide, node, lifted)) {
			best = over;
			*ret_row = row;
			is_found = true;
		}
		free(lifted);
	}
	cycle->columns = neap_cluster_settle(cycle->cluster);
	return cycle->is_short ? neap_error_nomem(err) : is_found;
}
