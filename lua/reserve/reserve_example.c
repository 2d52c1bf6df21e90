/* SPDX-License-Identifier: Apache-2.0
 *
 * `examples` of kind reservation. A row describes a pod and one reservation, with the
 * fields that resv has; both are made of real objects, and the real calls run on them.
 *
 * { name =, params = { ... }, now_unix =, pod = { ... }, reservation = { ... },
 *   want = true | "reason" | "skip" | { open =, reason =, again_unix =, rank = } } */
#include <stdio.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "lua/reserve/reserve_priv.h"

struct example {
	const struct neap_place_row *row;
	struct neap_reserve_row made;
};

/* --- comparing --- */

static int differ(const struct example *ex, const char *wanted, const char *got)
{
	return neap_error_set(ex->row->err, NEAP_ECONFLICT, "wanted %.100s; got %.140s",
			      wanted, got);
}

static int compare_open(const struct example *ex, const json_t *want,
			const struct neap_reserve_verdict *verdict)
{
	if (!json_is_boolean(want))
		return neap_place_row_fail(ex->row, "want.open",
					   "true or false is wanted");
	if (json_is_true(want) == verdict->is_open)
		return 0;
	return differ(ex, json_is_true(want) ? "open" : "not open",
		      verdict->is_open ? "open" : verdict->reason);
}

static int compare_reason(const struct example *ex, const json_t *want,
			  const struct neap_reserve_verdict *verdict)
{
	const char *text = json_string_value(want);

	if (!text)
		return neap_place_row_fail(ex->row, "want.reason", "a text is wanted");
	if (!verdict->is_open && strcmp(text, verdict->reason) == 0)
		return 0;
	return differ(ex, text, verdict->is_open ? "open" : verdict->reason);
}

/* false: nothing is said. */
static int compare_number(const struct example *ex, const char *field, const json_t *want,
			  int64_t is, int64_t none)
{
	int64_t wanted = json_is_false(want) ? none : json_integer_value(want);
	char texts[2][64];

	if (!json_is_integer(want) && !json_is_false(want))
		return neap_place_row_fail(
			ex->row, field, "a whole number, or false for none, is wanted");
	if (wanted == is)
		return 0;
	(void)snprintf(texts[0], sizeof(texts[0]), "%s %lld", field, (long long)wanted);
	(void)snprintf(texts[1], sizeof(texts[1]), is == none ? "none" : "%lld",
		       (long long)is);
	return differ(ex, texts[0], texts[1]);
}

/* 1: it went as wanted, 0: it is not over yet. */
static int compare_verdict(const struct example *ex, enum neap_tick_verdict verdict,
			   const struct neap_error *err)
{
	const char *text = json_string_value(json_object_get(ex->row->json, "want"));
	bool wants_skip = text && strcmp(text, "skip") == 0;

	if (verdict > NEAP_TICK_SKIPPED) {
		*ex->row->err = *err;
		return -(int)err->code;
	}
	if (!ex->row->index)
		return 1; /* any answer will do */
	if (verdict == NEAP_TICK_SKIPPED)
		return wants_skip ? 1 : differ(ex, "an answer", err->msg);
	return wants_skip ? differ(ex, "skip", "an answer") : 0;
}

static int compare_rank(struct example *ex, const json_t *want)
{
	struct neap_policy *policy = ex->row->policy;
	struct neap_error err = {0};
	enum neap_tick_verdict verdict;
	int64_t left = INT64_MAX;
	int rank = -1, rc;

	if (!neap_policy_has_rank(policy))
		return neap_place_row_fail(ex->row, "want.rank",
					   "the policy has no rank");
	verdict = neap_policy_rank_within(policy, &ex->made.offer, &left, &rank, &err);
	rc = compare_verdict(ex, verdict, &err);
	return rc ? rc : compare_number(ex, "want.rank", want, rank, -1);
}

static int compare_table(struct example *ex, const json_t *want,
			 const struct neap_reserve_verdict *verdict)
{
	static const char *const names[] = {"open", "reason", "again_unix", "rank", NULL};
	const json_t *open = json_object_get(want, "open");
	const json_t *reason = json_object_get(want, "reason");
	const json_t *again = json_object_get(want, "again_unix");
	const json_t *rank = json_object_get(want, "rank");
	int rc = neap_place_row_check(ex->row, want, "want", names);

	if (rc == 0 && open)
		rc = compare_open(ex, open, verdict);
	if (rc == 0 && reason)
		rc = compare_reason(ex, reason, verdict);
	if (rc == 0 && again)
		rc = compare_number(ex, "want.again_unix", again,
				    verdict->again_usec / 1000000, 0);
	if (rc == 0 && rank)
		rc = compare_rank(ex, rank);
	return rc;
}

static int compare(struct example *ex, const struct neap_reserve_verdict *verdict)
{
	const json_t *want = json_object_get(ex->row->json, "want");

	if (json_is_boolean(want))
		return compare_open(ex, want, verdict);
	if (json_is_string(want))
		return compare_reason(ex, want, verdict);
	if (json_object_size(want))
		return compare_table(ex, want, verdict);
	return neap_place_row_fail(ex->row, "want",
				   "true, false, a reason, \"skip\", or a table of open, "
				   "reason, again_unix and rank is wanted");
}

static int run_row(struct neap_place_row *row, void *arg)
{
	struct example *ex = arg;
	struct neap_reserve_verdict answer = {0};
	struct neap_error err = {0};
	enum neap_tick_verdict verdict;
	int64_t left = INT64_MAX;
	int rc;

	ex->row = ex->made.row = row;
	rc = neap_reserve_row_pod(&ex->made);
	if (rc == 0)
		rc = neap_reserve_row_offer(&ex->made,
					    json_object_get(row->json, "reservation"));
	if (rc < 0)
		return rc;
	verdict = neap_policy_begin_offers(row->policy, &ex->made.pod, &err);
	if (verdict == NEAP_TICK_WISHES)
		verdict = neap_policy_match_within(row->policy, &ex->made.offer, &left,
						   &answer, &err);
	rc = compare_verdict(ex, verdict, &err);
	if (rc > 0 && !row->index && verdict == NEAP_TICK_WISHES &&
	    neap_policy_has_rank(row->policy))
		rc = compare_rank(ex, NULL);
	rc = rc ? rc : compare(ex, &answer);
	return rc < 0 ? rc : 0;
}

int neap_reserve_run_example(struct neap_policy *policy, int index,
			     struct neap_error *err)
{
	static const char *const fields[] = {"name", "params",      "now_unix", "pod",
					     "want", "reservation", NULL};
	struct example ex = {0};
	int rc = neap_place_row_run(policy, index, fields, run_row, &ex, err);

	neap_reserve_row_done(&ex.made);
	return rc;
}
