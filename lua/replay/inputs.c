/* SPDX-License-Identifier: Apache-2.0
 *
 * A new family is a line in each function here, and a row in replay_priv.h. */
#include "lua/replay/inputs.h"

#include <string.h>

#include "engine/json/json.h"

static bool read_decisions(const json_t *frames, struct neap_inputs *ret)
{
	ret->decisions = neap_decision_tape_of(frames);
	return ret->decisions != NULL;
}

static bool read_rounds(const json_t *frames, struct neap_inputs *ret)
{
	ret->rounds = neap_round_tape_of(frames);
	return ret->rounds != NULL;
}

/* Ticks are kept in a form of their own, which is not told. */
static const struct {
	const char *of;
	bool (*read)(const json_t *frames, struct neap_inputs *ret);
} recordings[] = {{"decisions", read_decisions}, {"rounds", read_rounds}};

void neap_inputs_share(const struct neap_recorders *recorders, struct neap_inputs *ret)
{
	*ret = (struct neap_inputs){0};
	if (recorders->samples)
		ret->samples = neap_record_share(recorders->samples);
	if (recorders->decisions)
		ret->decisions = neap_decisions_share(recorders->decisions);
	if (recorders->rounds_dir)
		ret->rounds = neap_round_tape_new(recorders->rounds_dir);
}

static size_t find(const char *of)
{
	size_t i = 0;

	while (i < NEAP_ARRAY_LEN(recordings) && strcmp(recordings[i].of, of) != 0)
		i++;
	return i;
}

bool neap_inputs_are_of(const char *of)
{
	return find(of) < NEAP_ARRAY_LEN(recordings);
}

int neap_inputs_read(const json_t *recording, struct neap_inputs *ret,
		     struct neap_error *err)
{
	const char *of = neap_json_text(recording, "of");
	size_t i = find(of);

	if (i == NEAP_ARRAY_LEN(recordings))
		return neap_error_set(err, NEAP_EINVAL, "a recording of %.40s is unknown",
				      *of ? of : "nothing");
	*ret = (struct neap_inputs){0};
	return recordings[i].read(json_object_get(recording, "frames"), ret)
		       ? 0
		       : neap_error_nomem(err);
}

bool neap_inputs_ban(const struct neap_inputs *inputs, const char *text, size_t len)
{
	return inputs && inputs->is_banned &&
	       inputs->is_banned(inputs->banned_arg, text, len);
}

void neap_inputs_done(struct neap_inputs *inputs)
{
	inputs->samples = neap_tape_unref(inputs->samples);
	inputs->decisions = neap_decision_tape_unref(inputs->decisions);
	neap_round_tape_free(inputs->rounds);
	inputs->rounds = NULL;
}
