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
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "lua/reserve/reserve_priv.h"

#define UNIX_MAX INT64_C(253402300799)

struct example {
	const struct neap_place_row *row;
	struct neap_place_pod pod;
	struct neap_resources *resources;
	struct neap_pod *made_pod;
	struct neap_reserve *reserve;
	struct neap_object *node;
	struct neap_arena arena;
	struct neap_amounts allocated;
	struct neap_reserve_offer offer;
};

/* --- the reservation --- */

/* {} of Lua is an empty list for JSON; in owners two members alone are lists. */
static int make_objects(json_t *json)
{
	const char *key;
	json_t *value;
	size_t i;
	void *next;

	json_array_foreach (json, i, value) {
		if (json_is_array(value) && !json_array_size(value) &&
		    json_array_set_new(json, i, json_object()) < 0)
			return -1;
		if (make_objects(json_array_get(json, i)) < 0)
			return -1;
	}
	json_object_foreach_safe(json, next, key, value)
	{
		bool is_list = strcmp(key, "values") == 0 ||
			       strcmp(key, "matchExpressions") == 0;

		if (json_is_array(value) && !json_array_size(value) && !is_list &&
		    json_object_set_new(json, key, json_object()) < 0)
			return -1;
		if (make_objects(json_object_get(json, key)) < 0)
			return -1;
	}
	return 0;
}

/* Without owners it is everybody's. */
static json_t *owners_of(const json_t *owners)
{
	json_t *copy = owners ? neap_json_deep_copy(owners) : json_pack("[{}]");

	return neap_json_made(copy && make_objects(copy) == 0, copy);
}

static int64_t number_of(const json_t *object, const char *name, int64_t otherwise)
{
	const json_t *number = json_object_get(object, name);

	return json_is_integer(number) ? json_integer_value(number) : otherwise;
}

static json_t *time_of(int64_t usec)
{
	char text[40];

	return json_string(neap_time_format(usec, 0, text, sizeof(text)));
}

static json_t *labels_of(const json_t *told)
{
	json_t *labels = neap_place_row_map(json_object_get(told, "labels"));
	int64_t order = number_of(told, "order", 0);

	if (order && json_object_set_new(labels, NEAP_KEY_RESERVATION_ORDER,
					 json_sprintf("%lld", (long long)order)) < 0) {
		json_decref(labels);
		return NULL;
	}
	return labels;
}

static json_t *spec_of(const json_t *told)
{
	const json_t *once = json_object_get(told, "is_once");
	int64_t expires = number_of(told, "expires_unix", -1);
	/* Its age is no matter then. */
	json_t *spec = json_pack("{s:{}, s:o, s:b, s:s}", "template", "owners",
				 owners_of(json_object_get(told, "owners")),
				 "allocateOnce", !once || json_is_true(once), "ttl",
				 expires < 0 ? "0" : "876000h");

	if (expires >= 0 &&
	    json_object_set_new(spec, "expires", time_of(expires * 1000000)) < 0) {
		json_decref(spec);
		return NULL;
	}
	return spec;
}

static json_t *tree_of(const struct example *ex, const json_t *told, json_t *allocatable)
{
	int64_t created = ex->pod.now_usec - number_of(told, "age_s", 0) * 1000000;

	return json_pack(
		"{s:{s:s, s:s, s:o, s:o, s:o}, s:o, s:{s:s, s:s, s:o}}", "metadata",
		"name", neap_json_text_or(told, "name", "reservation"), "uid",
		neap_json_text_or(told, "uid", "reservation"), "creationTimestamp",
		time_of(created), "labels", labels_of(told), "annotations",
		neap_place_row_map(json_object_get(told, "annotations")), "spec",
		spec_of(told), "status", "phase", "Available", "nodeName",
		neap_json_text_or(told, "node", "node"), "allocatable", allocatable);
}

static int read_allocated(struct example *ex, const json_t *told)
{
	json_t *map = json_object();
	int rc = map ? neap_place_row_amounts(ex->row, json_object_get(told, "allocated"),
					      "allocated", map)
		     : neap_error_nomem(ex->row->err);

	if (rc == 0)
		rc = neap_amounts_read(&ex->allocated, map, ex->resources, ex->row->err);
	json_decref(map);
	return rc;
}

static int make_reserve(struct example *ex, const json_t *told)
{
	struct neap_object *object = NULL;
	json_t *allocatable = json_object();
	int rc = allocatable
			 ? neap_place_row_amounts(ex->row,
						  json_object_get(told, "allocatable"),
						  "allocatable", allocatable)
			 : neap_error_nomem(ex->row->err);

	if (rc < 0) {
		json_decref(allocatable);
		return rc;
	}
	rc = neap_place_row_object(ex->row, tree_of(ex, told, allocatable), &object);
	if (rc == 0)
		rc = neap_reserve_new(object, ex->resources, &ex->reserve, ex->row->err);
	(void)neap_object_unref(object);
	if (rc == 0 && ex->reserve->trouble)
		rc = neap_place_row_fail(ex->row, "reservation", ex->reserve->trouble);
	return rc;
}

static int make_node(struct example *ex, const json_t *told)
{
	const char *name = neap_json_text_or(told, "node", "node");

	return neap_place_row_object(
		ex->row,
		json_pack("{s:{s:s, s:s, s:o}, s:{}}", "metadata", "name", name, "uid",
			  name, "labels",
			  neap_place_row_map(json_object_get(told, "node_labels")),
			  "status"),
		&ex->node);
}

/* --- the offer --- */

static int check_time(const struct example *ex, const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	if (!value || (json_is_integer(value) && json_integer_value(value) >= 0 &&
		       json_integer_value(value) <= UNIX_MAX))
		return 0;
	return neap_place_row_fail(ex->row, name,
				   "whole seconds, not below 0, are wanted");
}

static int read_is_owner(struct example *ex, bool *ret)
{
	struct neap_reserve_ask ask;
	json_t *tree = neap_object_tree(ex->made_pod->object);
	int rc = tree ? neap_reserve_ask_read(ex->made_pod, tree, ex->resources,
					      &ex->arena, &ask, ex->row->err)
		      : neap_error_nomem(ex->row->err);

	json_decref(tree);
	if (rc == 0)
		*ret = neap_reserve_owners_take(ex->reserve, &ask);
	return rc;
}

static int make_offer(struct example *ex)
{
	static const char *const names[] = {
		"name",  "uid",  "labels",       "annotations", "owners",
		"order", "pods", "allocatable",  "allocated",   "is_once",
		"age_s", "node", "expires_unix", "node_labels", NULL};
	const json_t *told = json_object_get(ex->row->json, "reservation");
	bool is_owner = false;
	int rc = neap_place_row_check(ex->row, told, "a reservation", names);

	if (rc == 0)
		rc = check_time(ex, ex->row->json, "now_unix");
	if (rc == 0)
		rc = check_time(ex, told, "age_s");
	if (rc == 0)
		rc = check_time(ex, told, "expires_unix");
	if (rc < 0)
		return rc;
	ex->pod.now_usec =
		number_of(ex->row->json, "now_unix", NEAP_PLACE_ROW_UNIX) * 1000000;
	ex->resources = neap_resources_new();
	rc = ex->resources ? neap_place_row_pod(ex->row, ex->resources, &ex->made_pod)
			   : neap_error_nomem(ex->row->err);
	if (rc == 0)
		rc = make_reserve(ex, told);
	if (rc == 0)
		rc = make_node(ex, told);
	if (rc == 0)
		rc = read_allocated(ex, told);
	if (rc == 0)
		(void)neap_pod_resolve(ex->made_pod, ex->resources);
	if (rc == 0)
		rc = read_is_owner(ex, &is_owner);
	ex->pod.pod = ex->made_pod;
	ex->pod.resources = ex->resources;
	ex->offer = (struct neap_reserve_offer){ex->reserve, ex->node, is_owner,
						&ex->allocated,
						(size_t)number_of(told, "pods", 0)};
	return rc;
}

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
	verdict = neap_policy_rank_within(policy, &ex->offer, &left, &rank, &err);
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

	ex->row = row;
	rc = make_offer(ex);
	if (rc < 0)
		return rc;
	verdict = neap_policy_begin_offers(row->policy, &ex->pod, &err);
	if (verdict == NEAP_TICK_WISHES)
		verdict = neap_policy_match_within(row->policy, &ex->offer, &left,
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

	(void)neap_pod_unref(ex.made_pod);
	(void)neap_reserve_unref(ex.reserve);
	(void)neap_object_unref(ex.node);
	neap_arena_done(&ex.arena);
	neap_resources_free(ex.resources);
	return rc;
}
