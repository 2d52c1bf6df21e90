/* SPDX-License-Identifier: Apache-2.0
 *
 * What a pod is told about the reservations of a node. The answer comes from
 * reserve_lift.c; this file adds the reasons for those that are left out. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/decide/decide_priv.h"
#include "engine/decide/report.h"

const struct neap_reserve_book *neap_decide_book(const struct neap_decide *decide)
{
	return neap_decide_cycle((struct neap_decide *)(uintptr_t)decide)->kept.book;
}

struct look {
	struct neap_cycle *cycle;
	const struct neap_cluster_node *node;
	char used[NEAP_OBJECT_UID]; /* what the pod has; "" */
	/* Those that it may use, and of them those with room, in their order. */
	const struct neap_kept_match *matches;
	size_t match_count;
	struct neap_kept_match **nominees;
	size_t nominee_count;
};

static void say(struct neap_report_offer *offer, const char *text)
{
	(void)neap_strcopy(offer->why, sizeof(offer->why), text);
}

/* --- those that it may not use --- */

static void say_policy(const struct look *look, struct neap_report_offer *offer,
		       const struct neap_reserve_offer *what)
{
	struct neap_kept *kept = &look->cycle->kept;
	struct neap_reserve_verdict verdict = {0};

	say(offer, "a policy does not open it");
	if (!neap_kept_has_pairs(offer->reserve, look->cycle->pod, &kept->by))
		say(offer, "labels that a policy compares are not the same");
	else if (!kept->matcher->match(kept->matcher->arg, what, &verdict))
		return;
	else if (verdict.is_open)
		say(offer, "it has no room");
	else if (verdict.reason)
		say(offer, verdict.reason);
}

static void say_unusable(struct neap_report_offer *offer, size_t pods)
{
	const struct neap_reserve *reserve = offer->reserve;

	if (reserve->trouble)
		say(offer, reserve->trouble);
	else if (reserve->phase == NEAP_RESERVE_WAITING)
		say(offer, "it waits for room");
	else if (reserve->is_once && pods)
		say(offer, "it is for one pod, and has it (allocateOnce)");
	else
		say(offer, "it is not available");
}

static void say_why_not(const struct look *look, struct neap_report_offer *offer,
			const struct neap_pod *stand)
{
	struct neap_kept *kept = &look->cycle->kept;
	struct neap_amounts given;
	struct neap_reserve_offer what = {
		.reserve = offer->reserve,
		.node = look->node->object,
		.allocated = &given,
		.pods = neap_kept_given(look->node, stand->keep, &given)};
	const char *why;
	bool counts;

	if (stand->seat.is_assumed) {
		say(offer, "it is being placed");
		return;
	}
	if (!neap_kept_spend(kept, offer->reserve)) {
		say(offer, "it was not looked at: too many rules of owners");
		return;
	}
	what.is_owner = neap_reserve_owners_take(offer->reserve, &kept->ask);
	counts = what.is_owner || kept->by.rule == NEAP_RESERVE_REPLACED;
	if (counts && !neap_reserve_is_usable(offer->reserve, what.pods)) {
		say_unusable(offer, what.pods);
		return;
	}
	why = neap_reserve_why_not(offer->reserve, look->node->object, &kept->ask,
				   counts);
	if (why)
		say(offer, why);
	else if (kept->by.rule != NEAP_RESERVE_BY_OWNERS)
		say_policy(look, offer, &what);
	else
		say(offer, "it has no room");
}

/* --- those that it may use --- */

/* Lines become one. */
static bool say_lacking(struct look *look, struct neap_report_offer *offer,
			const struct neap_kept_match *match)
{
	struct neap_kept_work *work = neap_kept_work(look->cycle, look->match_count);
	neap_auto_buf struct neap_buf reasons = {0};
	struct neap_reserve_part part;
	size_t len;

	if (!work)
		return false;
	neap_buf_init(&reasons, NEAP_BUF_LINE);
	neap_kept_room(look->cycle, match->row, look->matches, look->match_count,
		       &work->room);
	part = neap_kept_part(look->cycle, match, &work->options[0].given);
	say(offer, "it is being deleted");
	if (neap_reserve_accepts(&work->room.room, &work->room.need, &part, &reasons))
		return true;
	if (reasons.failed)
		return false;
	say(offer, reasons.data);
	len = strlen(offer->why);
	while (len && offer->why[len - 1] == '\n')
		offer->why[--len] = '\0';
	for (size_t i = 0; i < len; i++)
		if (offer->why[i] == '\n')
			offer->why[i] = ';';
	return true;
}

/* False without memory. */
static bool tell(struct look *look, struct neap_report_offer *offer,
		 const struct neap_pod *stand)
{
	const struct neap_kept_match *match = NULL;

	for (size_t i = 0; i < look->match_count; i++)
		if (look->matches[i].reserve == offer->reserve)
			match = &look->matches[i];
	if (!match) {
		say_why_not(look, offer, stand);
		return true;
	}
	offer->is_open = look->cycle->kept.ask.is_ignoring;
	for (size_t i = 0; i < look->nominee_count; i++)
		if (look->nominees[i] == match) {
			offer->is_open = true;
			offer->is_first = i == 0;
		}
	return offer->is_open || say_lacking(look, offer, match);
}

/* --- all of a node --- */

static int by_name(const void *a, const void *b)
{
	const struct neap_report_offer *x = a, *y = b;

	return strcmp(x->reserve->object->name, y->reserve->object->name);
}

static int look_at(struct look *look, struct neap_report_offer *list, size_t *ret_count,
		   struct neap_error *err)
{
	struct neap_cycle *cycle = look->cycle;
	size_t count = 0;

	look->matches = neap_kept_on(cycle, look->node->row, &look->match_count);
	look->nominees = neap_alloc_array(look->match_count + 1, sizeof(*look->nominees));
	if (!look->nominees)
		return neap_error_nomem(err);
	cycle->is_short = false;
	cycle->kept.owner_steps = NEAP_KEPT_OWNER_STEPS; /* to say why not */
	if (!cycle->kept.ask.is_ignoring)
		look->nominee_count =
			neap_kept_nominate(cycle, look->node->row, look->nominees, NULL);
	for (size_t i = 0; !cycle->is_short && i < look->node->pod_count; i++) {
		const struct neap_pod *stand = look->node->pods[i];
		struct neap_report_offer offer = {
			.reserve = neap_reserve_book_of(cycle->kept.book, stand)};

		if (!offer.reserve)
			continue;
		offer.is_used = strcmp(stand->keep->uid, look->used) == 0;
		if (!tell(look, &offer, stand))
			cycle->is_short = true;
		list[count++] = offer;
	}
	free(look->nominees);
	qsort(list, count, sizeof(*list), by_name);
	*ret_count = count;
	return cycle->is_short ? neap_error_nomem(err) : 0;
}

static size_t count_kept(const struct neap_cluster_node *node)
{
	size_t count = 0;

	for (size_t i = 0; i < node->pod_count; i++)
		count += node->pods[i]->keep != NULL;
	return count;
}

int neap_decide_offers(struct neap_decide *decide, struct neap_pod *pod, uint32_t row,
		       struct neap_report_offer **ret, size_t *ret_count,
		       struct neap_error *err)
{
	struct neap_cycle *cycle = neap_decide_cycle(decide);
	struct look look = {.cycle = cycle};
	struct neap_cluster_node *was = NULL;
	struct neap_report_offer *list;
	size_t count;
	int failed;

	*ret = NULL;
	*ret_count = 0;
	cycle->columns = neap_cluster_settle(cycle->cluster);
	look.node = cycle->columns->nodes[row];
	count = count_kept(look.node);
	if (!cycle->kept.book || !count || neap_pod_is_stand(pod) ||
	    !neap_kept_is_on(cycle))
		return 0;
	list = neap_alloc_array(count, sizeof(*list));
	if (!list)
		return neap_error_nomem(err);
	(void)neap_strcopy(look.used, sizeof(look.used), neap_pod_reservation(pod));
	if (pod->seat.node)
		was = neap_cluster_lift(cycle->cluster, pod);
	cycle->columns = neap_cluster_settle(cycle->cluster);
	cycle->pod = pod;
	failed = neap_kept_begin(cycle, pod, row, err);
	if (failed == 0)
		failed = look_at(&look, list, ret_count, err);
	neap_cluster_put_back(cycle->cluster, pod, was);
	cycle->columns = neap_cluster_settle(cycle->cluster);
	if (failed < 0)
		free(list);
	else
		*ret = list;
	return failed;
}
