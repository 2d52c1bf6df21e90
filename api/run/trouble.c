/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports failures in few lines, and their end too: writes that the kernel or the hand
 * refuses tick after tick, and a hand that does not answer. The audit has every distinct
 * refusal once; the log has the first ones and a count of the rest. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "api/run/node_priv.h"

/* Files whose refusal is remembered; more are counted and not told one by one. */
#define FAILURES_MAX 1024
/* Lines about refused writes in this time; then one with the number of the others. */
#define LINES       3
#define SPAN_USEC   10000000
#define SILENT_USEC 3000000
/* An entry of node->failures is no pointer: the errno, and above it the plan of the last
 * refusal. */
#define ERRNO_BITS 12

static void failure_name(const struct node_pending *pending, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%s\n%d", pending->group, (int)pending->key);
}

static uintptr_t plan_number(const struct neap_node *node)
{
	return (uintptr_t)node->trouble.plans & (UINTPTR_MAX >> ERRNO_BITS);
}

bool neap_trouble_is_new(struct neap_node *node, const struct node_pending *pending,
			 int errnum)
{
	char name[NEAP_PATH_MAX + 16];
	uintptr_t before;

	failure_name(pending, name, sizeof(name));
	before = (uintptr_t)neap_map_find(node->failures, name);
	if (before == 0 && neap_map_count(node->failures) >= FAILURES_MAX) {
		node->trouble.untold++;
		return false;
	}
	(void)neap_map_set(node->failures, name,
			   (void *)(plan_number(node) << ERRNO_BITS | (uintptr_t)errnum));
	node->trouble.is_on = true;
	return (before & ((1u << ERRNO_BITS) - 1)) != (uintptr_t)errnum;
}

bool neap_trouble_may_tell(struct neap_node *node, int errnum)
{
	struct node_trouble *trouble = &node->trouble;

	if (errnum != trouble->errnum) { /* another reason is news */
		trouble->errnum = errnum;
		trouble->told = 0;
		trouble->is_summed = false;
		trouble->is_end_told = false;
	}
	if (trouble->told < LINES) {
		if (trouble->told++ == 0)
			trouble->since_usec = node->mono_usec;
		return true;
	}
	trouble->untold++;
	return false;
}

void neap_trouble_plan_start(struct neap_node *node)
{
	node->trouble.plans++;
}

/* A plan asks for all that is not as wanted, so what it did not meet again is over:
 * written, gone, or wanted no more. */
void neap_trouble_plan_end(struct neap_node *node)
{
	size_t i;

	for (i = neap_map_count(node->failures); i-- > 0;) {
		const char *name;
		uintptr_t failure = (uintptr_t)neap_map_at(node->failures, i, &name);

		if (failure >> ERRNO_BITS != plan_number(node))
			(void)neap_map_remove(node->failures, name);
	}
}

static void look_at_writes(struct neap_node *node)
{
	struct node_trouble *trouble = &node->trouble;
	bool is_span_over =
		trouble->told > 0 && node->mono_usec - trouble->since_usec >= SPAN_USEC;

	if (node->plan_inflight > 0)
		return;
	if (trouble->untold > 0 && (is_span_over || !trouble->is_summed)) {
		neap_log_line(&node->config.log, NEAP_LOG_WARN,
			      "%zu more writes were refused; 'neapctl audit' has them",
			      trouble->untold);
		trouble->untold = 0;
		trouble->is_summed = true;
	}
	if (trouble->is_on && neap_map_count(node->failures) == 0 &&
	    (is_span_over || !trouble->is_end_told)) {
		neap_log_line(&node->config.log, NEAP_LOG_INFO,
			      "no write is refused any more");
		trouble->is_on = false;
		trouble->is_end_told = true;
	}
	if (is_span_over) {
		trouble->told = 0;
		trouble->is_summed = false;
		trouble->is_end_told = false;
	}
}

static void look_at_hand(struct neap_node *node)
{
	struct node_trouble *trouble = &node->trouble;

	if (node->pending_count == 0) {
		trouble->asked_usec = 0;
	} else if (trouble->asked_usec == 0) {
		trouble->asked_usec = node->mono_usec;
	} else if (!trouble->is_silent &&
		   node->mono_usec - trouble->asked_usec >= SILENT_USEC) {
		trouble->is_silent = true;
		neap_log_line(
			&node->config.log, NEAP_LOG_WARN,
			"the hand (process %d) has not answered for %d s: it is stopped, "
			"or a kernel file keeps it waiting; nothing is written meanwhile",
			neap_hand_pid(node->hand), SILENT_USEC / 1000000);
	}
}

void neap_trouble_look(struct neap_node *node)
{
	look_at_writes(node);
	look_at_hand(node);
}

void neap_trouble_answered(struct neap_node *node)
{
	struct node_trouble *trouble = &node->trouble;

	trouble->asked_usec = 0;
	if (!trouble->is_silent)
		return;
	trouble->is_silent = false;
	neap_log_line(&node->config.log, NEAP_LOG_INFO, "the hand answers again");
}
