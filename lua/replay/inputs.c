/* SPDX-License-Identifier: Apache-2.0
 *
 * A new family is a line in each function here, and a row in replay_priv.h. */
#include "lua/replay/inputs.h"

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

void neap_inputs_done(struct neap_inputs *inputs)
{
	inputs->samples = neap_tape_unref(inputs->samples);
	inputs->decisions = neap_decision_tape_unref(inputs->decisions);
	neap_round_tape_free(inputs->rounds);
	inputs->rounds = NULL;
}
