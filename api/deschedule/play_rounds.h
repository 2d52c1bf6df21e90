/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds that follow each other, played on a copy of the cluster (engine/sim): pods
 * leave, are made again, placed and started between them. */
#ifndef NEAP_API_DESCHEDULE_PLAY_ROUNDS_H
#define NEAP_API_DESCHEDULE_PLAY_ROUNDS_H

#include "api/deschedule/play.h"

#define NEAP_PLAY_ROUNDS_MAX 100
/* A copy is made of so many pods at most; a playing takes so much CPU time, and ends
 * before its last round then. */
#define NEAP_PLAY_PODS_MAX 20000
#define NEAP_PLAY_CPU_USEC (INT64_C(10) * 1000000)

/* Plays count rounds as neap_play_run plays one; play->record tells them. Strategies act
 * in the copy, other than those in dry run. interval_usec 0: five minutes lie between
 * two. -NEAP_ETOOLARGE in play->err: there are too many pods. */
void neap_play_rounds(struct neap_play *play, unsigned count);

#endif
