/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of api/deschedule/play*.c. */
#ifndef NEAP_API_DESCHEDULE_PLAY_PRIV_H
#define NEAP_API_DESCHEDULE_PLAY_PRIV_H

#include "api/deschedule/play.h"
#include "api/deschedule/round_place.h"

/* A round that runs. */
struct play_run {
	struct neap_play *play;
	struct neap_round *round;
	struct neap_placer placer;
	size_t nodes;
	json_t *evicted, *stayed, *strategies; /* lists of the record; borrowed */
	size_t evicted_cut, stayed_cut;
};

/* --- play_record.c --- */

int play_record_begin(struct play_run *run);
/* The row of an answer; NULL: the list is full, or there is no memory. */
json_t *play_record_said(struct play_run *run, const struct neap_play_profile *profile,
			 const struct neap_play_plugin *plugin,
			 const struct neap_round_said *said, bool is_dry);
/* Pods that the profile's rules keep and no strategy asked for. */
void play_record_kept(struct play_run *run, const struct neap_play_profile *profile);
/* Strategies, and use before and after. */
void play_record_end(struct play_run *run);

#endif
