/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded rounds, as a user may bring them. A strategy that asks about every pod plays
 * them: either a round cannot be read, or the same version differs nowhere from
 * itself. */
#include <string.h>

#include "engine/json/json.h"
#include "lua/replay/replay.h"
#include "t/fuzz/lib/fuzz.h"

static const char strategy[] =
	"return { api = 1, kind = 'deschedule', name = 'all', plugin = 'All', point = "
	"'balance', run = function(ctx, round) for _, pod in ipairs(round:pods()) do "
	"round:evict(pod, pod.node and pod.node.name or pod.phase) end for _, node in "
	"ipairs(round:nodes()) do round:cordon(node) end end }";

static struct neap_policy *load(void)
{
	struct neap_policy *policy = NULL;
	struct neap_error err;

	FUZZ_CHECK(neap_policy_load(strategy, strlen(strategy), "all", &policy, &err) ==
		   0);
	return policy;
}

static int64_t member(const json_t *result, const char *name)
{
	return json_integer_value(json_object_get(result, name));
}

static void play(const json_t *list)
{
	struct neap_inputs inputs = {.rounds = neap_round_tape_of(list)};
	struct neap_policy *older = load(), *newer = load();
	struct neap_error err = {0};
	json_t *result = NULL;

	FUZZ_CHECK(neap_policy_replay(older, newer, &inputs, INT64_C(10000000), &result,
				      &err) == 0);
	FUZZ_CHECK(member(result, "ran") <= member(result, "frames"));
	FUZZ_CHECK(member(result, "same") == member(result, "ran"));
	FUZZ_CHECK(json_array_size(json_object_get(result, "differences")) == 0);
	json_decref(result);
	neap_inputs_done(&inputs);
	neap_policy_free(older);
	neap_policy_free(newer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *round = NULL, *list = json_array();
	json_error_t where;
	struct fuzz_in in;
	const char *text;
	size_t len;

	neap_json_setup();
	fuzz_in_init(&in, data, size);
	text = fuzz_rest(&in, &len);
	if (neap_json_parse(text, len, 0, &round, &where) == 0) {
		FUZZ_CHECK(json_array_append_new(list, round) == 0);
		play(list);
	}
	json_decref(list);
	fuzz_in_done(&in);
	return 0;
}
