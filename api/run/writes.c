/* SPDX-License-Identifier: Apache-2.0
 *
 * From the plan to the hand, and from the hand's answers to the audit. There is one plan
 * at a time: while the hand is busy (a memory limit can take a fifth of a second), ticks
 * go on reading and asking, and the next plan starts from the state that it finds.
 *
 * Failures make few log lines, and their end makes one: writes that the kernel or the
 * hand refuses tick after tick, and a hand that does not answer. The audit has every
 * distinct refusal once; the log has the first ones and a count of the rest. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/run/node_priv.h"
#include "engine/base/mem.h"
#include "lua/vm/budget.h"

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

/* --- refusals, and a silent hand --- */

static void failure_name(const struct node_pending *pending, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%s\n%d", pending->group, (int)pending->key);
}

static uintptr_t plan_number(const struct node_write *write)
{
	return (uintptr_t)write->trouble.plans & (UINTPTR_MAX >> ERRNO_BITS);
}

static bool trouble_is_new(struct node_write *write, const struct node_pending *pending,
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

static bool trouble_may_tell(struct node_write *write, int errnum)
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

/* A plan writes all values that differ, so a failure that it did not meet again is over:
 * written, gone, or no longer wanted. */
static void trouble_plan_end(struct node_write *write)
{
	for (size_t i = neap_map_count(write->failures); i-- > 0;) {
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

static void trouble_answered(struct node_write *write)
{
	struct node_trouble *trouble = &write->trouble;

	trouble->asked_usec = 0;
	if (!trouble->is_silent)
		return;
	trouble->is_silent = false;
	neap_log_line(&write->config->log, NEAP_LOG_INFO, "the hand answers again");
}

/* --- sending --- */

bool neap_node_writes(const struct node_write *write)
{
	return write->hand != NULL && !write->config->dry_run;
}

int neap_node_send(struct node_write *write, const struct neap_hand_request *request,
		   const struct node_pending *pending, struct neap_error *err)
{
	struct neap_hand_request numbered = *request;

	if (!neap_node_writes(write) &&
	    (write->hand == NULL || request->op != NEAP_HAND_KUBELET))
		return neap_error_set(
			err, NEAP_EUNAVAILABLE,
			"neapd runs without root or with --dry-run: it only watches");
	if (!neap_grow(&write->pending, write->pending_count, &write->pending_size,
		       sizeof(*write->pending)))
		return neap_error_nomem(err);
	numbered.id = ++write->next_id;
	if (neap_hand_add(write->hand, &numbered, err) < 0)
		return -(int)err->code;
	write->pending[write->pending_count] = *pending;
	write->pending[write->pending_count].id = numbered.id;
	write->pending[write->pending_count].op = request->op;
	write->pending_count++;
	return 0;
}

void neap_node_flush(struct node_write *write)
{
	struct neap_error err;

	/* Nothing is left to send once all is answered. The death of the hand is noticed
	 * where its answers are read. */
	if (write->pending_count > 0)
		write->wants_write = neap_hand_flush(write->hand, &err) == 0;
}

/* Sends the values that the plan found restored already, or that are not a value. */
static void send_restores(struct node_write *write)
{
	struct node_plan *plan = write->plan;

	for (size_t i = 0; plan->restores_due > 0 && i < neap_map_count(plan->kept);
	     i++) {
		struct node_kept *kept = neap_map_at(plan->kept, i, NULL);
		struct neap_hand_request request = {
			.op = NEAP_HAND_RESTORE, .group = kept->group, .key = kept->key};
		struct node_pending pending = {
			.key = kept->key,
			.policy = "neapd",
			.why = "no longer wanted: as it was before"};
		struct neap_error err;

		if (!kept->is_restore_due)
			continue;
		kept->is_restore_due = false;
		plan->restores_due--;
		(void)neap_strcopy(pending.group, sizeof(pending.group), kept->group);
		kept->is_restoring = neap_node_send(write, &request, &pending, &err) == 0;
		write->plan_inflight += kept->is_restoring;
	}
}

/* Shows the kernel's text in the unit of its key: a quota of 50000 us is 500 milli. */
static void value_show(const struct node_write *write, enum neap_key key,
		       const char *text, char *buf, size_t size)
{
	struct neap_value value;

	if (text[0] != '\0' && neap_value_parse(key, neap_key_is_v2(write->cgroup, key),
						text, &value, NULL) == 0)
		(void)neap_value_print(key, &value, buf, size);
	else
		(void)neap_strcopy(buf, size, text);
}

static void group_show(const struct node_write *write, const char *group,
		       struct neap_audit_entry *entry)
{
	(void)neap_strcopy(entry->group, sizeof(entry->group), group);
	neap_names_pod(write->plan, group, entry->pod, sizeof(entry->pod));
}

static void dry_note(struct node_write *write, const struct neap_write *one,
		     const struct neap_wish *wish)
{
	struct neap_audit_entry entry = {0};
	struct neap_value now;
	struct neap_error err;

	entry.unix_usec = write->plan->observe->unix_usec;
	entry.dry_run = true;
	(void)neap_strcopy(entry.what, sizeof(entry.what), "set");
	group_show(write, one->group, &entry);
	(void)neap_strcopy(entry.key, sizeof(entry.key), neap_key_get(one->key)->name);
	(void)neap_strcopy(entry.policy, sizeof(entry.policy), wish->policy);
	(void)neap_strcopy(entry.why, sizeof(entry.why), wish->why);
	if (neap_observe_read_key(write->plan->observe, one->group, one->key, &now,
				  &err) == 1)
		(void)neap_value_print(one->key, &now, entry.old_value,
				       sizeof(entry.old_value));
	(void)neap_value_print(one->key, &one->value, entry.new_value,
			       sizeof(entry.new_value));
	(void)neap_audit_add(write->audit, &entry);
	neap_log_line(&write->config->log, NEAP_LOG_INFO,
		      "would write %s %s: %s -> %s (%s: %s)", entry.group, entry.key,
		      entry.old_value, entry.new_value, entry.policy, entry.why);
}

/* A dry run makes the same plan every tick: it logs a plan only when it changes. */
static uint64_t plan_hash(const struct neap_plan *plan)
{
	uint64_t hash = 14695981039346656037ULL;

	for (size_t i = 0; i < neap_plan_write_count(plan); i++) {
		const struct neap_write *write = neap_plan_write_get(plan, i);
		char text[512];
		const char *p;

		(void)snprintf(text, sizeof(text), "%s %d ", write->group,
			       (int)write->key);
		(void)neap_value_print(write->key, &write->value, text + strlen(text),
				       sizeof(text) - strlen(text));
		for (p = text; *p != '\0'; p++)
			hash = (hash ^ (unsigned char)*p) * 1099511628211ULL;
	}
	return hash;
}

static void dry_run(struct node_write *write)
{
	const struct neap_plan *plan = write->plan->plan;
	uint64_t hash = plan_hash(plan);

	if (hash == write->last_dry_hash)
		return;
	write->last_dry_hash = hash;
	for (size_t i = 0; i < neap_plan_write_count(plan); i++) {
		const struct neap_write *one = neap_plan_write_get(plan, i);

		dry_note(write, one, neap_plan_wish_get(plan, one->wish));
	}
}

static int send_write(struct node_write *write, const struct neap_write *one,
		      struct neap_error *err)
{
	const struct neap_wish *wish = neap_plan_wish_get(write->plan->plan, one->wish);
	struct neap_hand_request request = {0};
	struct node_pending pending = {0};
	const char *bounded = "";
	char text[NEAP_CPUSET_TEXT];
	struct neap_value own;

	if (neap_value_format(one->key, neap_key_is_v2(write->cgroup, one->key),
			      write->config->curve, &one->value, text,
			      sizeof(text)) >= sizeof(text))
		return neap_error_set(err, NEAP_ETOOLARGE, "%s %s: the value is too long",
				      one->group, neap_key_get(one->key)->name);
	request.op = NEAP_HAND_SET;
	request.group = one->group;
	request.key = one->key;
	request.value = text;
	request.found = neap_inherited_found(write, one->group, one->key, &own);
	if (request.found != NULL)
		(void)neap_kept_note(write->plan, one->group, one->key, request.found);
	(void)neap_strcopy(pending.group, sizeof(pending.group), one->group);
	pending.key = one->key;
	(void)neap_strcopy(pending.policy, sizeof(pending.policy), wish->policy);
	if (neap_plan_wish_was_bounded(write->plan->plan, one->wish, &bounded) &&
	    bounded[0] != '\0')
		(void)snprintf(pending.why, sizeof(pending.why), "%s [%s]", wish->why,
			       bounded);
	else
		(void)neap_strcopy(pending.why, sizeof(pending.why), wish->why);
	return neap_node_send(write, &request, &pending, err);
}

bool neap_plan_and_write(struct neap_node *node)
{
	struct node_plan *plan = &node->plan;
	struct node_write *write = &node->write;
	struct neap_plan_bounds bounds = {0};
	struct neap_error err;
	bool is_whole = true;
	int64_t started;
	int rc;

	if (node->state == NODE_WATCHING)
		return false;
	/* CPUs must not be given to others before it is known which ones the kubelet gave
	 * away. */
	if (!node->given.kubelet.is_known)
		return false;
	if (write->plan_inflight > 0 || node->is_frozen) {
		write->late_plans += write->plan_inflight > 0;
		return false;
	}
	write->trouble.plans++;
	plan->is_released = node->state == NODE_RELEASED;
	neap_gather_wishes(plan);
	send_restores(write);
	bounds.be_cpu_floor_milli = 20;
	bounds.be_cpus_floor = 1;
	bounds.memory_floor_bytes = 4 * 1024 * 1024;
	neap_cpuset_copy(&bounds.online, &node->observe.topology->online);
	bounds.cpu_is_v2 = neap_key_is_v2(node->cgroup, NEAP_KEY_CPU_SHARES);
	bounds.curve = node->config.curve;
	started = neap_budget_clock_usec();
	rc = neap_plan_build(plan->plan, &bounds, neap_observe_read_key, plan->observe,
			     &err);
	neap_charge_plan(plan, neap_budget_clock_usec() - started);
	if (rc < 0) {
		neap_log_line(&node->config.log, NEAP_LOG_ERROR, "plan: %s", err.msg);
		return false;
	}
	if (node->state == NODE_DRY_RUN) {
		dry_run(write);
		return true;
	}
	neap_inherit_look(write);
	if (neap_own_tell(write, &err) < 0) {
		neap_log_line(&node->config.log, NEAP_LOG_ERROR, "write: %s", err.msg);
		return false;
	}
	for (size_t i = 0; i < neap_plan_write_count(plan->plan); i++) {
		if (send_write(write, neap_plan_write_get(plan->plan, i), &err) < 0) {
			neap_log_line(&node->config.log, NEAP_LOG_ERROR, "write: %s",
				      err.msg);
			is_whole = false;
			break;
		}
		write->plan_inflight++;
	}
	if (write->plan_inflight == 0)
		trouble_plan_end(write);
	neap_node_flush(write);
	return is_whole;
}

/* --- answers --- */

void neap_node_note(struct node_write *write, const char *what, const char *group,
		    const char *policy, const char *why, int errnum)
{
	struct neap_audit_entry entry = {0};

	entry.unix_usec = write->plan->observe->unix_usec;
	entry.errnum = errnum;
	(void)neap_strcopy(entry.what, sizeof(entry.what), what);
	group_show(write, group, &entry);
	(void)neap_strcopy(entry.policy, sizeof(entry.policy), policy);
	(void)neap_strcopy(entry.why, sizeof(entry.why), why);
	(void)neap_audit_add(write->audit, &entry);
}

void neap_audit_write(struct node_write *write, const struct node_pending *pending,
		      const struct neap_hand_answer *answer, const char *what)
{
	struct neap_audit_entry entry = {0};

	if (answer->errnum == 0)
		write->writes++;
	else if (answer->errnum != ENOENT)
		write->writes_refused++;
	/* A group that ended meanwhile is not worth a line, and neither is a value that
	 * was already restored. */
	if (answer->errnum == ENOENT ||
	    (pending->op == NEAP_HAND_RESTORE && answer->errnum == 0 &&
	     strcmp(answer->old_value, answer->new_value) == 0))
		return;
	/* The same refusal of the same file every second is logged once. */
	if (answer->errnum != 0 && !trouble_is_new(write, pending, answer->errnum))
		return;
	entry.unix_usec = write->plan->observe->unix_usec;
	entry.errnum = answer->errnum;
	(void)neap_strcopy(entry.what, sizeof(entry.what), what);
	group_show(write, pending->group, &entry);
	(void)neap_strcopy(entry.key, sizeof(entry.key),
			   neap_key_get(pending->key)->name);
	value_show(write, pending->key, answer->old_value, entry.old_value,
		   sizeof(entry.old_value));
	value_show(write, pending->key, answer->new_value, entry.new_value,
		   sizeof(entry.new_value));
	(void)neap_strcopy(entry.policy, sizeof(entry.policy), pending->policy);
	(void)neap_strcopy(entry.why, sizeof(entry.why), pending->why);
	(void)neap_audit_add(write->audit, &entry);
	if (answer->errnum != 0 && trouble_may_tell(write, answer->errnum))
		neap_log_line(&write->config->log, NEAP_LOG_WARN, "%s %s: %s%s%s",
			      entry.group, entry.key, strerror(answer->errnum),
			      answer->text[0] != '\0' ? ": " : "", answer->text);
	else if (answer->errnum == 0)
		neap_log_line(&write->config->log, NEAP_LOG_DEBUG,
			      "%s %s: %s -> %s (%s: %s)", entry.group, entry.key,
			      entry.old_value, entry.new_value, entry.policy, entry.why);
}

static void set_answered(struct neap_node *node, const struct node_pending *pending,
			 const struct neap_hand_answer *answer)
{
	struct node_kept *kept;

	neap_audit_write(&node->write, pending, answer, "set");
	if (answer->errnum == ENOENT)
		neap_kept_drop(&node->plan, pending->group, pending->key);
	if (answer->errnum != 0) {
		neap_launch_refused(node, pending, answer);
		return;
	}
	kept = neap_kept_note(&node->plan, pending->group, pending->key,
			      answer->old_value);
	if (kept == NULL)
		return;
	(void)neap_strcopy(kept->policy, sizeof(kept->policy), pending->policy);
	(void)neap_strcopy(kept->why, sizeof(kept->why), pending->why);
	if (kept->wished_tick == 0)
		kept->wished_tick = node->observe.ticks;
	if (kept->key == NEAP_KEY_CPUSET_CPUS &&
	    strcmp(answer->old_value, answer->new_value) != 0) {
		free(kept->previous);
		kept->previous = neap_strdup(answer->old_value);
	}
}

static void restore_answered(struct neap_node *node, const struct node_pending *pending,
			     const struct neap_hand_answer *answer)
{
	struct node_kept *kept =
		neap_kept_find(&node->plan, pending->group, pending->key);

	neap_audit_write(&node->write, pending, answer, "restore");
	if (answer->errnum == 0 || answer->errnum == ENOENT)
		neap_kept_drop(&node->plan, pending->group, pending->key);
	else if (kept != NULL)
		kept->is_restoring = false;
}

static void take_answer(struct neap_node *node, const struct neap_hand_answer *answer)
{
	struct node_pending pending;
	struct node_kept *kept;
	size_t i;

	trouble_answered(&node->write);
	if (answer->op == NEAP_HAND_ENTRY) {
		kept = neap_kept_note(&node->plan, answer->group, answer->key,
				      answer->old_value);
		if (kept == NULL)
			return;
		kept->is_taken_over = true;
		if (answer->errnum == 0)
			(void)neap_strcopy(kept->own, sizeof(kept->own), answer->text);
		return;
	}
	for (i = 0; i < node->write.pending_count; i++) {
		if (node->write.pending[i].id == answer->id)
			break;
	}
	if (i == node->write.pending_count) {
		if (answer->fd >= 0)
			(void)close(answer->fd);
		return;
	}
	pending = node->write.pending[i];
	memmove(&node->write.pending[i], &node->write.pending[i + 1],
		(node->write.pending_count - i - 1) * sizeof(pending));
	node->write.pending_count--;
	if (pending.op == NEAP_HAND_SET || pending.op == NEAP_HAND_RESTORE ||
	    pending.op == NEAP_HAND_OWN) {
		if (node->write.plan_inflight > 0)
			node->write.plan_inflight--;
		if (answer->errnum == EBUSY && strcmp(answer->text, "frozen") == 0)
			node->is_frozen = true;
		node->observe.has_written = true;
		if (pending.op == NEAP_HAND_SET)
			set_answered(node, &pending, answer);
		else if (pending.op == NEAP_HAND_OWN)
			neap_own_answered(&node->write, &pending, answer);
		else
			restore_answered(node, &pending, answer);
		if (node->write.plan_inflight == 0)
			trouble_plan_end(&node->write);
	}
	if (pending.answered != NULL)
		pending.answered(node, pending.arg, answer);
}

int neap_node_hear(struct neap_node *node, int64_t unix_usec, struct neap_error *err)
{
	struct neap_hand_answer answer;
	int rc;

	if (node->write.hand == NULL)
		return 0;
	node->observe.unix_usec = unix_usec;
	neap_node_flush(&node->write);
	while ((rc = neap_hand_next(node->write.hand, &answer, err)) == 1)
		take_answer(node, &answer);
	if (rc == 0 && node->open_err.code != NEAP_OK) {
		*err = node->open_err;
		return -(int)err->code;
	}
	if (rc == 0) {
		neap_react_written(node);
		neap_launch_go(node);
	}
	return rc;
}
