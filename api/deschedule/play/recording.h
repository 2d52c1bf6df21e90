/* SPDX-License-Identifier: Apache-2.0
 *
 * The recording of a round, for replays (lua/deschedule/round_tape.h): the settings, the
 * strategies' requests and answers, the answers of rules, and what policies could see of
 * the cluster. The round's thread gathers it while the snapshot is held, and writes it
 * later. */
#ifndef NEAP_API_DESCHEDULE_PLAY_RECORDING_H
#define NEAP_API_DESCHEDULE_PLAY_RECORDING_H

#include "api/deschedule/play/play.h"
#include "engine/base/buf.h"

struct neap_recording;

/* The world of the play is settled. NULL: memory is short, or there is no room for a
 * single node. */
struct neap_recording *neap_recording_new(const struct neap_play *play);
/* Accepts NULL. */
void neap_recording_free(struct neap_recording *recording);
/* Adds a call of a strategy, with the questions and wishes since these numbers. Without
 * memory the recording is void. */
void neap_recording_add_run(struct neap_recording *recording,
			    const struct neap_round *round,
			    const struct neap_play_profile *profile,
			    const struct neap_play_plugin *plugin,
			    enum neap_plugin_point point, size_t said, size_t wished);
/* Adds what the rules of the profile said at that point. */
void neap_recording_add_rules(struct neap_recording *recording, struct neap_round *round,
			      const struct neap_play_profile *profile,
			      enum neap_plugin_point point);
/* Sets a member of the recording, as its number. */
void neap_recording_set_text(struct neap_recording *recording, const char *name,
			     const char *text);
void neap_recording_set_int(struct neap_recording *recording, const char *name,
			    int64_t value);
/* How many nodes there was no room for. */
size_t neap_recording_cut(const struct neap_recording *recording);
/* Writes it as JSON. -NEAP_ENOMEM; -NEAP_ETOOLARGE. */
int neap_recording_write(const struct neap_recording *recording, struct neap_buf *out,
			 struct neap_error *err);

#endif
