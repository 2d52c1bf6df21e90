/* SPDX-License-Identifier: Apache-2.0
 *
 * Several rounds in a row, simulated on a copy of the cluster (engine/sim): between them
 * pods leave, and their successors are created, placed and started. */
#ifndef NEAP_API_DESCHEDULE_PLAY_ROUNDS_H
#define NEAP_API_DESCHEDULE_PLAY_ROUNDS_H

#include "api/deschedule/play/play.h"

#define NEAP_PLAY_ROUNDS_MAX 100
/* The most pods that are copied; and the CPU time of a simulation, which ends before its
 * last round if that is used up. */
#define NEAP_PLAY_PODS_MAX 20000
#define NEAP_PLAY_CPU_USEC (INT64_C(10) * 1000000)

/* Runs count rounds as neap_play_run runs one; play->record reports them. Strategies act
 * in the copy, except those in dry run. interval_usec 0: five minutes between two.
 * -NEAP_ETOOLARGE in play->err: there are too many pods. */
void neap_play_rounds(struct neap_play *play, unsigned count);

#endif
