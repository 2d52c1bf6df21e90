/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by shadow.c and shadow_reserve.c. */
#ifndef NEAP_LUA_RUN_SHADOW_PRIV_H
#define NEAP_LUA_RUN_SHADOW_PRIV_H

#include "lua/run/shadow.h"

struct neap_shadow {
	struct neap_policy *policy;
	int64_t since_unix_usec;
	uint64_t calls, same, different, faults, put_off;
	int faults_in_row;
	bool is_failed;
	json_t *last;                 /* difference; NULL: none yet */
	struct neap_place_call *call; /* of a filter, in the decision at hand */
	/* Of kind reservation, in the decision at hand: it is counted, as different; the
	 * shadow failed or was put off in it; whether it can answer at all. */
	bool is_counted, is_different, is_out;
	int faults_before; /* in a row, before this decision */
	struct neap_answer begun;
	const struct neap_place_pod *pod;
	char last_error[256];
};

void neap_shadow_note_fault(struct neap_shadow *shadow, const struct neap_answer *answer);
/* Takes row over. Without memory (NULL) the count is right and the text is left out. */
void neap_shadow_note_difference(struct neap_shadow *shadow, json_t *row);

#endif
