/* SPDX-License-Identifier: Apache-2.0
 *
 * policies/reservation/owner-match.lua says what the owners say in C: in all vectors
 * about them, and at random. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/offer_rig.h"
#include "t/lib/patience.h"

static int set_up(void **state)
{
	struct offer_rig *rig = offer_new();

	offer_put_file(rig, "policies/reservation/owner-match.lua");
	*state = rig;
	return 0;
}

static int tear_down(void **state)
{
	offer_free(*state);
	return 0;
}

static bool owners_take(struct offer_rig *rig, const struct neap_reserve *reserve,
			const struct neap_pod *pod)
{
	json_t *tree = neap_object_tree(pod->object);
	struct neap_arena arena = {0};
	struct neap_reserve_ask ask;
	struct neap_error err = {0};
	bool takes;

	if (neap_reserve_ask_read(pod, tree, rig->resources, &arena, &ask, &err) < 0)
		fail_msg("%s", err.msg);
	takes = neap_reserve_owners_take(reserve, &ask);
	neap_arena_done(&arena);
	json_decref(tree);
	return takes;
}

/* Both are taken. Returns what C says. */
static bool compare(struct offer_rig *rig, const char *name, json_t *metadata,
		    json_t *owners)
{
	neap_auto_free char *pod_text = json_dumps(metadata, 0);
	neap_auto_free char *text = json_dumps(owners, 0);
	struct neap_reserve *reserve = offer_reserve(rig, json_object(), owners);
	const char *answer;
	bool takes;

	offer_begin_pod(rig, offer_pod(rig, metadata, json_object()));
	takes = owners_take(rig, reserve, rig->pod);
	answer = offer_match_alone(rig, reserve, takes);
	/* What cannot be read is offered to nobody. */
	if (!reserve->trouble && (strcmp(answer, "open") == 0) != takes)
		fail_msg("%s: C says %d, Lua says '%s' %s of pod %s and owners %s", name,
			 takes, answer, rig->last_failed, pod_text, text);
	(void)neap_reserve_unref(reserve);
	return takes;
}

static void test_vectors(void **state)
{
	struct offer_rig *rig = *state;
	json_error_t where;
	json_t *file = json_load_file("t/vectors/reservation-match.json", 0, &where);
	json_t *row, *owner;
	size_t i, n, count = 0;

	assert_non_null(file);
	json_array_foreach (json_object_get(file, "cases"), i, row) {
		const char *name = json_string_value(json_object_get(row, "id"));
		json_t *pod;

		if (strcmp(json_string_value(json_object_get(row, "kind")),
			   "owner-match") != 0)
			continue;
		pod = json_deep_copy(json_object_get(row, "pod"));
		/* Cases leave out what the API needs. */
		json_array_foreach (json_object_get(pod, "ownerReferences"), n, owner)
			if (!json_object_get(owner, "uid"))
				(void)json_object_set_new(owner, "uid",
							  json_string("unknown"));
		if (compare(rig, name, pod,
			    json_deep_copy(json_object_get(row, "owners"))) !=
		    json_is_true(json_object_get(row, "want")))
			fail_msg("%s is not as the case wants", name);
		count++;
	}
	assert_true(count >= 9);
	json_decref(file);
}

static unsigned seed;

static unsigned below(unsigned count)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % count;
}

static void maybe_set(json_t *object, const char *name, const char *const *values,
		      unsigned count)
{
	if (below(3) == 0)
		(void)json_object_set_new(object, name,
					  json_string(values[below(count)]));
}

static const char *const words[] = {"a", "b", ""};
static const char *const versions[] = {"v1", "apps/v1"};

static json_t *random_ref(void)
{
	json_t *ref = json_object();

	maybe_set(ref, "name", words, 3);
	maybe_set(ref, "uid", words, 3);
	maybe_set(ref, "kind", words, 3);
	maybe_set(ref, "apiVersion", versions, 2);
	if (below(3) == 0)
		(void)json_object_set_new(ref, "controller", json_boolean(below(2)));
	return ref;
}

static json_t *random_selector(void)
{
	static const char *const operators[] = {"In", "NotIn", "Exists", "DoesNotExist"};
	json_t *selector = json_object(), *list = json_array();

	if (below(2))
		(void)json_object_set_new(
			selector, "matchLabels",
			json_pack("{s:s}", words[below(2)], words[below(3)]));
	for (unsigned i = below(3); i > 0; i--) {
		unsigned op = below(4);
		json_t *one = json_pack("{s:s, s:s}", "key", words[below(2)], "operator",
					operators[op]);

		if (op < 2)
			(void)json_object_set_new(one, "values",
						  json_pack("[s]", words[below(3)]));
		(void)json_array_append_new(list, one);
	}
	(void)json_object_set_new(selector, "matchExpressions", list);
	return selector;
}

static json_t *random_owners(void)
{
	json_t *owners = json_array();

	for (unsigned i = below(4); i > 0; i--) {
		json_t *owner = json_object(), *ref;

		if (below(3) == 0) {
			ref = random_ref();
			maybe_set(ref, "namespace", words, 3);
			(void)json_object_set_new(owner, "object", ref);
		}
		if (below(3) == 0) {
			ref = random_ref();
			maybe_set(ref, "namespace", words, 3);
			(void)json_object_set_new(owner, "controller", ref);
		}
		if (below(2))
			(void)json_object_set_new(owner, "labelSelector",
						  random_selector());
		(void)json_array_append_new(owners, owner);
	}
	return owners;
}

static json_t *random_pod(void)
{
	json_t *labels = json_object(), *refs = json_array();

	maybe_set(labels, "a", words, 3);
	maybe_set(labels, "b", words, 3);
	for (unsigned i = below(3); i > 0; i--) {
		json_t *ref = random_ref();

		if (!json_string_length(json_object_get(ref, "uid")))
			(void)json_object_set_new(ref, "uid", json_string("b"));
		(void)json_array_append_new(refs, ref);
	}
	return json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", words[below(2)],
			 "namespace", words[below(2)], "uid", words[below(2)], "labels",
			 labels, "ownerReferences", refs);
}

static void test_random(void **state)
{
	struct offer_rig *rig = *state;
	int takes = 0;

	seed = 7;
	for (int i = 0; i < 5000; i++)
		takes += compare(rig, "random", random_pod(), random_owners());
	assert_in_range(takes, 500, 4500);
}

static void test_examples(void **state)
{
	struct offer_rig *rig = *state;
	struct neap_policy *policy = offer_slot(rig, "owner-match")->policy;
	struct neap_error err = {0};

	assert_true(neap_policy_example_count(policy) >= 9);
	if (neap_policy_run_examples(policy, NULL, NULL, &err) != 0)
		fail_msg("%s", err.msg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_examples, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_vectors, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_random, set_up, tear_down),
	};

	patience_with_scripts();
	return cmocka_run_group_tests_name("owners in Lua", tests, NULL, NULL);
}
