/* SPDX-License-Identifier: Apache-2.0
 *
 * The count of agreements and differences of two versions, tick by tick. */
#include "lua/shadow.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "lua/registry.h"

struct neap_shadow {
	struct neap_policy *policy;
	int64_t since_unix_usec;
	uint64_t calls, same, different, faults, put_off;
	int faults_in_row;
	bool is_failed;
	json_t *last; /* difference; NULL: none yet */
	char last_error[256];
};

struct neap_shadow *neap_shadow_new_take(struct neap_policy *policy,
					 int64_t now_unix_usec)
{
	struct neap_shadow *shadow = neap_alloc(sizeof(*shadow));

	if (!shadow) {
		neap_policy_free(policy);
		return NULL;
	}
	shadow->policy = policy;
	shadow->since_unix_usec = now_unix_usec;
	return shadow;
}

void neap_shadow_free(struct neap_shadow *shadow)
{
	if (!shadow)
		return;
	neap_policy_free(shadow->policy);
	json_decref(shadow->last);
	free(shadow);
}

const struct neap_policy *neap_shadow_policy(const struct neap_shadow *shadow)
{
	return shadow->policy;
}

static void note_fault(struct neap_shadow *shadow, const struct neap_answer *answer)
{
	bool is_dead = neap_vm_is_dead(neap_policy_vm(shadow->policy));

	if (neap_answer_is_fault(answer)) {
		shadow->faults++;
		shadow->faults_in_row++;
		(void)neap_strcopy(shadow->last_error, sizeof(shadow->last_error),
				   answer->err.msg);
	} else if (answer->verdict <= NEAP_TICK_HOLD) {
		shadow->faults_in_row = 0;
	}
	shadow->is_failed = is_dead || shadow->faults_in_row >= NEAP_POLICY_FAULTS_MAX;
}

/* Both are sorted; without memory the count is right and the text is left out. */
static void compare(struct neap_shadow *shadow, int64_t now_unix,
		    const struct neap_answer *active, const struct neap_answer *own)
{
	json_t *row;

	if (neap_answer_is_same(active, own)) {
		shadow->same++;
		return;
	}
	shadow->different++;
	row = json_pack("{s:I, s:o, s:o}", "unix", (json_int_t)now_unix, "active",
			neap_answer_json(active), "shadow", neap_answer_json(own));
	if (!row)
		return;
	json_decref(shadow->last);
	shadow->last = row;
}

void neap_shadow_ask(struct neap_shadow *shadow, const struct neap_sample *sample,
		     enum neap_tick_verdict verdict,
		     const struct neap_policy_wish *wishes, size_t count,
		     int64_t *left_usec)
{
	struct neap_answer own = {0}, active = {.verdict = verdict};

	if (shadow->is_failed)
		return;
	own.verdict = neap_policy_tick_within(shadow->policy, sample, left_usec,
					      &own.wishes, &own.count, &own.err);
	if (own.verdict == NEAP_TICK_PUT_OFF || verdict == NEAP_TICK_PUT_OFF) {
		shadow->put_off++;
		neap_answer_done(&own);
		return;
	}
	shadow->calls++;
	note_fault(shadow, &own);
	/* Lent for the comparison, taken back before the end. */
	active.wishes = (struct neap_policy_wish *)(uintptr_t)wishes;
	active.count = verdict == NEAP_TICK_WISHES ? count : 0;
	if (neap_answer_sort(&active, NULL) == 0 && neap_answer_sort(&own, NULL) == 0)
		compare(shadow, sample->now_unix, &active, &own);
	active.wishes = NULL;
	neap_answer_done(&active);
	neap_answer_done(&own);
}

json_t *neap_shadow_json(const struct neap_shadow *shadow)
{
	struct neap_policy_info info;
	json_t *row;

	neap_policy_get_info(shadow->policy, &info);
	row = json_pack(
		"{s:s, s:I, s:b, s:I, s:I, s:I, s:I, s:I}", "version", info.version,
		"since_unix_usec", (json_int_t)shadow->since_unix_usec, "is_failed",
		shadow->is_failed, "calls", (json_int_t)shadow->calls, "same",
		(json_int_t)shadow->same, "different", (json_int_t)shadow->different,
		"faults", (json_int_t)shadow->faults, "put_off",
		(json_int_t)shadow->put_off);
	if (row && shadow->last)
		(void)json_object_set(row, "last_difference", shadow->last);
	if (row && shadow->last_error[0])
		(void)json_object_set_new(row, "last_error",
					  neap_text_json(shadow->last_error));
	return row;
}
