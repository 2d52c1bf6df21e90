/* SPDX-License-Identifier: Apache-2.0
 *
 * Logs failures in few lines, and their end too: writes that the kernel or the hand
 * refuses tick after tick, and a hand that does not answer. The audit has every distinct
 * refusal once; the log has the first ones and a count of the rest. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "api/run/node_priv.h"

/* Number of files whose refusal is remembered; more are only counted. */
#define FAILURES_MAX 1024
/* Log lines about refused writes in this time; then one line with the number of the
 * others. */
#define LINES       3
#define SPAN_USEC   10000000
#define SILENT_USEC 3000000
/* An entry of node->write.failures is not a pointer: it has the errno, and above it the
 * plan of the last refusal. */
#define ERRNO_BITS 12

static void failure_name(const struct node_pending *pending, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%s\n%d", pending->group, (int)pending->key);
}

static uintptr_t plan_number(const struct node_write *write)
{
	return (uintptr_t)write->trouble.plans & (UINTPTR_MAX >> ERRNO_BITS);
}

bool neap_trouble_is_new(struct node_write *write, const struct node_pending *pending,
			 int errnum)
{
	char name[NEAP_PATH_MAX + 16];
	uintptr_t before;

	failure_name(pending, name, sizeof(name));
	before = (uintptr_t)neap_map_find(write->failures, name);
	if (before == 0 && neap_map_count(write->failures) >= FAILURES_MAX) {
		write->trouble.untold++;
		return false;
	}
	(void)neap_map_set(
		write->failures, name,
		(void *)(plan_number(write) << ERRNO_BITS | (uintptr_t)errnum));
	write->trouble.is_on = true;
	return (before & ((1u << ERRNO_BITS) - 1)) != (uintptr_t)errnum;
}

bool neap_trouble_may_tell(struct node_write *write, int errnum)
{
	struct node_trouble *trouble = &write->trouble;

	if (errnum != trouble->errnum) { /* a new reason is logged */
		trouble->errnum = errnum;
		trouble->told = 0;
		trouble->is_summed = false;
		trouble->is_end_told = false;
	}
	if (trouble->told < LINES) {
		if (trouble->told++ == 0)
			trouble->since_usec = write->plan->observe->mono_usec;
		return true;
	}
	trouble->untold++;
	return false;
}

void neap_trouble_plan_start(struct node_write *write)
{
	write->trouble.plans++;
}

/* A plan writes all values that differ, so a failure that it did not meet again is over:
 * written, gone, or no longer wanted. */
void neap_trouble_plan_end(struct node_write *write)
{
	size_t i;

	for (i = neap_map_count(write->failures); i-- > 0;) {
		const char *name;
		uintptr_t failure = (uintptr_t)neap_map_at(write->failures, i, &name);

		if (failure >> ERRNO_BITS != plan_number(write))
			(void)neap_map_remove(write->failures, name);
	}
}

static void look_at_writes(struct node_write *write)
{
	struct node_trouble *trouble = &write->trouble;
	bool is_span_over =
		trouble->told > 0 &&
		write->plan->observe->mono_usec - trouble->since_usec >= SPAN_USEC;

	if (write->plan_inflight > 0)
		return;
	if (trouble->untold > 0 && (is_span_over || !trouble->is_summed)) {
		neap_log_line(&write->config->log, NEAP_LOG_WARN,
			      "%zu more writes were refused; 'neapctl audit' has them",
			      trouble->untold);
		trouble->untold = 0;
		trouble->is_summed = true;
	}
	if (trouble->is_on && neap_map_count(write->failures) == 0 &&
	    (is_span_over || !trouble->is_end_told)) {
		neap_log_line(&write->config->log, NEAP_LOG_INFO,
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

static void look_at_hand(struct node_write *write)
{
	struct node_trouble *trouble = &write->trouble;

	if (write->pending_count == 0) {
		trouble->asked_usec = 0;
	} else if (trouble->asked_usec == 0) {
		trouble->asked_usec = write->plan->observe->mono_usec;
	} else if (!trouble->is_silent &&
		   write->plan->observe->mono_usec - trouble->asked_usec >= SILENT_USEC) {
		trouble->is_silent = true;
		neap_log_line(
			&write->config->log, NEAP_LOG_WARN,
			"the hand (process %d) has not answered for %d s: it is stopped, "
			"or a kernel file keeps it waiting; nothing is written meanwhile",
			neap_hand_pid(write->hand), SILENT_USEC / 1000000);
	}
}

void neap_trouble_look(struct node_write *write)
{
	look_at_writes(write);
	look_at_hand(write);
}

void neap_trouble_answered(struct node_write *write)
{
	struct node_trouble *trouble = &write->trouble;

	trouble->asked_usec = 0;
	if (!trouble->is_silent)
		return;
	trouble->is_silent = false;
	neap_log_line(&write->config->log, NEAP_LOG_INFO, "the hand answers again");
}
