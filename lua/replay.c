/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay of recorded inputs. Writes are compared as sets of target, key and value: why they are
 * wanted and in which order they stand changes nothing on the machine. Texts are made for the few
 * frames that are listed only; a frame that is the same costs two ticks, two sorts and a walk. */
#include "lua/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "lua/budget.h"
#include "lua/policy_priv.h"
#include "lua/registry.h"

/* Writes that one listed answer names; the rest is counted. */
#define ANSWER_WRITES_MAX 64

struct answer {
	enum neap_tick_verdict verdict;
	struct neap_policy_wish *wishes;
	const struct neap_policy_wish **sorted; /* without repetitions */
	size_t count, sorted_count;
	struct neap_error err;
};

struct replay {
	struct neap_policy *older, *newer;
	size_t frames, ran, same, faults, faults_in_row;
	bool is_failed, is_over;
	struct neap_error first_fault;
	json_t *differences;
};

static void answer_done(struct answer *answer)
{
	free(answer->wishes);
	free(answer->sorted);
	memset(answer, 0, sizeof(*answer));
}

static bool is_fault(const struct answer *answer)
{
	return answer->verdict == NEAP_TICK_ERROR || answer->verdict == NEAP_TICK_WRONG ||
	       answer->verdict == NEAP_TICK_BUDGET;
}

/* --- as sets --- */

static int compare_cpus(const struct neap_cpuset *a, const struct neap_cpuset *b)
{
	uint32_t len = a->len > b->len ? a->len : b->len;

	for (uint32_t i = 0; i < len; i++) {
		uint64_t left = i < a->len ? a->word[i] : 0;
		uint64_t right = i < b->len ? b->word[i] : 0;

		if (left != right)
			return left < right ? -1 : 1;
	}
	return 0;
}

static int compare_wishes(const struct neap_policy_wish *a,
			  const struct neap_policy_wish *b)
{
	int order = strcmp(a->target, b->target);

	if (order)
		return order;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->value.form == NEAP_FORM_CPUSET)
		return compare_cpus(&a->value.cpus, &b->value.cpus);
	return (a->value.number > b->value.number) - (a->value.number < b->value.number);
}

static int compare_pointers(const void *a, const void *b)
{
	return compare_wishes(*(const struct neap_policy_wish *const *)a,
			      *(const struct neap_policy_wish *const *)b);
}

static int sort_answer(struct answer *answer, struct neap_error *err)
{
	size_t kept = 0;

	answer->sorted = neap_alloc_array(answer->count + 1, sizeof(*answer->sorted));
	if (!answer->sorted)
		return neap_error_nomem(err);
	for (size_t i = 0; i < answer->count; i++)
		answer->sorted[i] = &answer->wishes[i];
	qsort(answer->sorted, answer->count, sizeof(*answer->sorted), compare_pointers);
	for (size_t i = 0; i < answer->count; i++)
		if (!kept ||
		    compare_wishes(answer->sorted[kept - 1], answer->sorted[i]) != 0)
			answer->sorted[kept++] = answer->sorted[i];
	answer->sorted_count = kept;
	return 0;
}

static bool is_same(const struct answer *a, const struct answer *b)
{
	if (a->verdict != b->verdict)
		return false;
	if (a->verdict > NEAP_TICK_SKIPPED)
		return strcmp(a->err.msg, b->err.msg) == 0;
	if (a->sorted_count != b->sorted_count)
		return false;
	for (size_t i = 0; i < a->sorted_count; i++)
		if (compare_wishes(a->sorted[i], b->sorted[i]) != 0)
			return false;
	return true;
}

/* --- as text --- */

/* A script may put any bytes into its messages and targets; what is no UTF-8 becomes "?". */
static json_t *text_json(const char *text)
{
	json_t *json = json_string(text);
	char *plain;

	if (json)
		return json;
	plain = neap_strdup(text);
	for (char *c = plain; c && *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	json = plain ? json_string(plain) : NULL;
	free(plain);
	return json;
}

static json_t *list_json(const struct answer *answer)
{
	json_t *list = json_array();
	int rc = list ? 0 : -1;

	for (size_t i = 0; rc == 0 && i < answer->sorted_count; i++) {
		const struct neap_policy_wish *wish = answer->sorted[i];
		char value[256], text[512];

		if (i == ANSWER_WRITES_MAX) {
			snprintf(text, sizeof(text), "and %zu more",
				 answer->sorted_count - i);
			rc = json_array_append_new(list, json_string(text));
			break;
		}
		(void)neap_value_print(wish->key, &wish->value, value,
				       sizeof(value)); /* cut is fine */
		snprintf(text, sizeof(text), "%s %s=%s", wish->target,
			 neap_key_get(wish->key)->name, value);
		rc = json_array_append_new(list, text_json(text));
	}
	if (rc == 0)
		return list;
	json_decref(list);
	return NULL;
}

static json_t *answer_json(const struct answer *answer)
{
	char text[NEAP_ERROR_MSG + 8];

	switch (answer->verdict) {
	case NEAP_TICK_WISHES:
		return list_json(answer);
	case NEAP_TICK_HOLD:
		return json_string("hold");
	case NEAP_TICK_SKIPPED:
		return json_string("skip");
	default:
		snprintf(text, sizeof(text), "error: %s", answer->err.msg);
		return text_json(text);
	}
}

/* Consumes older and newer, which may be NULL for want of memory. */
static int list_difference(struct replay *replay, size_t frame, int64_t now_unix,
			   json_t *older, json_t *newer, struct neap_error *err)
{
	json_t *row = json_pack("{s:I, s:I}", "unix", (json_int_t)now_unix, "frame",
				(json_int_t)frame);

	/* The setters consume also when they fail. */
	int rc = json_object_set_new(row, "older", older) |
		 json_object_set_new(row, "newer", newer);

	if (rc == 0 && json_array_append(replay->differences, row) < 0)
		rc = -1;
	json_decref(row);
	return rc == 0 ? 0 : neap_error_nomem(err);
}

/* --- running --- */

static int run_one(struct neap_policy *policy, const struct neap_sample *sample,
		   struct answer *ret, struct neap_error *err)
{
	ret->verdict =
		neap_policy_tick(policy, sample, &ret->wishes, &ret->count, &ret->err);
	return ret->verdict == NEAP_TICK_WISHES ? sort_answer(ret, err) : 0;
}

/* In service a policy goes at the third fault in a row or when its state was killed. An input that
 * the older version cannot cope with either is none of the newer one's faults. */
static void count_faults(struct replay *replay, const struct answer *older,
			 const struct answer *newer)
{
	bool is_dead = neap_vm_is_dead(neap_policy_vm(replay->newer));

	if (is_fault(newer)) {
		if (replay->faults++ == 0)
			replay->first_fault = newer->err;
		if (!replay->older || !is_fault(older))
			replay->faults_in_row++;
		if (is_dead || replay->faults_in_row >= NEAP_POLICY_FAULTS_MAX)
			replay->is_failed = true;
	} else if (newer->verdict <= NEAP_TICK_HOLD) {
		replay->faults_in_row = 0;
	}
	replay->is_over = is_dead;
}

static int compare(struct replay *replay, size_t frame, int64_t now_unix,
		   const struct answer *older, const struct answer *newer,
		   struct neap_error *err)
{
	if (!replay->older)
		return 0;
	if (is_same(older, newer)) {
		replay->same++;
		return 0;
	}
	if (json_array_size(replay->differences) >= NEAP_REPLAY_DIFFERENCES_MAX)
		return 0;
	return list_difference(replay, frame, now_unix, answer_json(older),
			       answer_json(newer), err);
}

static int run_frame(struct replay *replay, const struct neap_tape *tape, size_t frame,
		     struct neap_error *err)
{
	struct answer older = {0}, newer = {0};
	struct neap_sample sample;
	int rc = neap_tape_get(tape, frame, &sample, err);

	if (rc < 0)
		return rc;
	if (replay->older)
		rc = run_one(replay->older, &sample, &older, err);
	if (rc == 0)
		rc = run_one(replay->newer, &sample, &newer, err);
	if (rc == 0) {
		replay->ran++;
		count_faults(replay, &older, &newer);
		rc = compare(replay, frame, sample.now_unix, &older, &newer, err);
		/* A state that was killed says nothing about the frames that follow. */
		if (replay->older && neap_vm_is_dead(neap_policy_vm(replay->older)))
			replay->older = NULL;
	}
	answer_done(&older);
	answer_done(&newer);
	neap_tape_forget(&sample);
	return rc;
}

static int run(struct replay *replay, const struct neap_tape *tape, int64_t budget_usec,
	       struct neap_error *err)
{
	int64_t until = neap_budget_clock_usec() + neap_budget_scale(budget_usec);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < replay->frames && !replay->is_over; i++) {
		if (neap_budget_clock_usec() >= until)
			break;
		rc = run_frame(replay, tape, i, err);
	}
	return rc;
}

static int reset(struct neap_policy *policy, struct neap_error *err)
{
	if (!policy || neap_vm_is_dead(policy->vm))
		return 0;
	return neap_ctx_reset_memo(policy, err);
}

static json_t *result(const struct replay *replay)
{
	json_t *ret = json_pack("{s:I, s:I, s:I, s:I, s:b, s:b, s:O}", "frames",
				(json_int_t)replay->frames, "ran",
				(json_int_t)replay->ran, "same", (json_int_t)replay->same,
				"faults", (json_int_t)replay->faults, "is_complete",
				replay->ran == replay->frames, "is_failed",
				replay->is_failed, "differences", replay->differences);

	if (ret && replay->faults &&
	    json_object_set_new(ret, "first_fault", text_json(replay->first_fault.msg)) <
		    0) {
		json_decref(ret);
		return NULL;
	}
	return ret;
}

int neap_policy_replay(struct neap_policy *older, struct neap_policy *newer,
		       const struct neap_tape *tape, int64_t budget_usec, json_t **ret,
		       struct neap_error *err)
{
	struct replay replay = {.older = older, .newer = newer};
	json_t *json = NULL;
	int rc, after;

	replay.frames = neap_tape_count(tape);
	replay.differences = json_array();
	if (!replay.differences)
		return neap_error_nomem(err);
	rc = reset(older, err);
	if (rc == 0)
		rc = reset(newer, err);
	if (rc == 0)
		rc = run(&replay, tape, budget_usec, err);
	after = reset(older, rc < 0 ? NULL : err);
	if (after == 0)
		after = reset(newer, rc < 0 ? NULL : err);
	rc = rc < 0 ? rc : after;
	if (rc == 0) {
		json = result(&replay);
		rc = json ? 0 : neap_error_nomem(err);
	}
	json_decref(replay.differences);
	if (rc == 0)
		*ret = json;
	return rc;
}
