/* SPDX-License-Identifier: Apache-2.0
 *
 * Area numa-hints: what several say is merged. */
#include <string.h>

#include "engine/cpu/numa_hint.h"
#include "t/vectors/vectors.h"

#define HINTS_MAX 64

struct question {
	struct neap_numa_merge merge;
	struct neap_numa_hints lists[NEAP_NUMA_LISTS_MAX];
	struct neap_numa_hint hints[NEAP_NUMA_LISTS_MAX][HINTS_MAX];
	enum neap_numa_state states[NEAP_NUMA_NODES_MAX];
};

static int read_nodes(const json_t *list, uint64_t *ret, struct neap_error *err)
{
	const json_t *node;
	size_t i;

	*ret = 0;
	json_array_foreach (list, i, node) {
		if (!json_is_integer(node) || json_integer_value(node) < 0 ||
		    json_integer_value(node) >= NEAP_NUMA_NODES_MAX)
			return vector_bad(err, "no number of a NUMA node");
		*ret |= UINT64_C(1) << json_integer_value(node);
	}
	return 0;
}

static int read_states(const json_t *given, struct question *ret, struct neap_error *err)
{
	static const char *const names[] = {"idle", "single", "shared"};
	const char *exclusive = vector_text(given, "exclusive");
	const json_t *list = json_object_get(given, "numa_status"), *state;
	size_t i, k;

	if (exclusive == NULL)
		return vector_bad(err, "exclusive is no text");
	ret->merge.exclusive = strcmp(exclusive, "Required") == 0
				       ? NEAP_NUMA_EXCLUSIVE_REQUIRED
				       : NEAP_NUMA_EXCLUSIVE_PREFERRED;
	json_array_foreach (list, i, state) {
		for (k = 0; k < NEAP_ARRAY_LEN(names); k++)
			if (json_is_string(state) &&
			    strcmp(json_string_value(state), names[k]) == 0)
				break;
		if (i >= NEAP_NUMA_NODES_MAX || k == NEAP_ARRAY_LEN(names))
			return vector_bad(err, "numa_status has another form");
		ret->states[i] = (enum neap_numa_state)k;
	}
	ret->merge.states = ret->states;
	return 0;
}

static int read_list(const char *resource, const json_t *list, struct question *ret,
		     struct neap_error *err)
{
	size_t at = ret->merge.list_count, i;
	const json_t *hint;

	if (json_is_null(list))
		return 0;
	if (at == NEAP_NUMA_LISTS_MAX || json_array_size(list) > HINTS_MAX)
		return vector_bad(err, "too many hints");
	json_array_foreach (list, i, hint) {
		struct neap_numa_hint *to = &ret->hints[at][i];
		int rc = read_nodes(json_object_get(hint, "nodes"), &to->nodes, err);

		if (rc < 0)
			return rc;
		to->is_preferred = json_is_true(json_object_get(hint, "preferred"));
		to->score = json_integer_value(json_object_get(hint, "score"));
	}
	ret->lists[at] =
		(struct neap_numa_hints){resource, ret->hints[at], json_array_size(list)};
	ret->merge.list_count++;
	return 0;
}

static int read_question(json_t *given, struct question *ret, struct neap_error *err)
{
	const char *policy = vector_text(given, "policy");
	json_t *provider, *list;
	const char *resource;
	size_t i;
	int rc;

	memset(ret, 0, sizeof(*ret));
	ret->merge.policy = neap_numa_policy_parse(policy == NULL ? "" : policy);
	if (policy == NULL || strcmp(neap_numa_policy_name(ret->merge.policy), policy))
		return vector_bad(err, "no policy");
	ret->merge.lists = ret->lists;
	rc = read_nodes(json_object_get(given, "numa_nodes"), &ret->merge.all, err);
	if (rc == 0)
		rc = read_states(given, ret, err);
	json_array_foreach (json_object_get(given, "providers"), i, provider) {
		json_object_foreach (provider, resource, list) {
			if (rc == 0)
				rc = read_list(resource, list, ret, err);
		}
	}
	return rc;
}

static json_t *nodes_json(uint64_t nodes)
{
	json_t *list = nodes != 0 ? json_array() : json_null();

	for (; nodes != 0; nodes &= nodes - 1)
		(void)json_array_append_new(list, json_integer(__builtin_ctzll(nodes)));
	return list;
}

static int merge(struct vector_context *context, json_t *given, json_t **ret,
		 struct neap_error *err)
{
	static struct question question;
	int rc = read_question(given, &question, err);
	json_t *reasons = json_array();
	struct neap_numa_hint hint;
	size_t count = 0;

	(void)context;
	if (rc < 0) {
		json_decref(reasons);
		return rc;
	}
	if (!neap_numa_merge(&question.merge, &hint))
		count = neap_numa_reason_count(&question.merge);
	for (size_t i = 0; i < count; i++) {
		neap_auto_buf struct neap_buf why = {0};

		neap_buf_init(&why, NEAP_BUF_LINE);
		neap_numa_reason(&question.merge, i, &why);
		(void)json_array_append_new(reasons, json_string(why.data));
	}
	return vector_answer_new(json_pack("{s:{s:o, s:b, s:b}, s:b, s:o}", "want",
					   "nodes", nodes_json(hint.nodes), "preferred",
					   hint.is_preferred, "unsatisfied",
					   hint.is_unsatisfied, "want_admit", count == 0,
					   "want_reasons", reasons),
				 ret, err);
}

static int exclusive_check(struct vector_context *context, json_t *given, json_t **ret,
			   struct neap_error *err)
{
	static struct question question;
	uint64_t nodes;
	int rc = read_nodes(json_object_get(given, "nodes"), &nodes, err);

	(void)context;
	memset(&question, 0, sizeof(question));
	if (rc == 0)
		rc = read_states(given, &question, err);
	if (rc < 0)
		return rc;
	return vector_answer_new(
		json_pack("{s:b}", "want",
			  neap_numa_keeps_off(nodes, question.merge.exclusive,
					      question.states)),
		ret, err);
}

static const char *const merge_keys[] = {"policy",
					 "numa_nodes",
					 "exclusive",
					 "numa_status",
					 "providers",
					 "providers[].*",
					 "providers[].*[].nodes",
					 "providers[].*[].preferred",
					 "providers[].*[].score",
					 NULL};
static const char *const exclusive_keys[] = {"nodes", "exclusive", "numa_status", NULL};

const struct vector_row vector_numa_rows[] = {
	{"numa-hints", "merge", merge_keys, merge},
	{"numa-hints", "exclusive-check", exclusive_keys, exclusive_check},
	{0},
};
