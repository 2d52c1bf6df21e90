/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens the policies of a set. A policy's text is compiled and run for it, which takes a
 * script of an editor as long as its budget, and a configuration may name hundreds: so
 * the loop says which, another thread opens them, and the loop puts them in their
 * places. */
#ifndef NEAP_API_DESCHEDULE_PLAY_OPEN_H
#define NEAP_API_DESCHEDULE_PLAY_OPEN_H

#include "api/deschedule/play/play.h"

struct neap_play_opening;

/* What the set lacks: policies that were not opened yet, new versions of those that
 * changed since, new states of those that were stopped; those that are broken are tried
 * again. Looks which are out of service. On the loop, while no thread has the set; which
 * outlives the opening. */
int neap_play_opening_new(struct neap_play_set *set,
			  const struct neap_strategies *strategies,
			  struct neap_play_opening **ret, struct neap_error *err);
/* A policy that is not in service stands in for those of a plugin that the set has; it is
 * freed even on an error. Its own error is that of neap_play_opening_end. */
int neap_play_opening_give_take(struct neap_play_opening *opening, const char *name,
				struct neap_policy *policy, struct neap_error *err);
/* Whether there is nothing to do. */
bool neap_play_opening_is_empty(const struct neap_play_opening *opening);
/* On any thread. It touches nothing of the set. */
void neap_play_opening_work(struct neap_play_opening *opening);
/* On the loop again, while no thread has the set. Puts them in their places, and frees
 * the opening. A policy that could not be opened is broken. Fails as the policy that was
 * given does. */
int neap_play_opening_end(struct neap_play_opening *opening, struct neap_error *err);
/* Nothing comes of it. Accepts NULL. */
void neap_play_opening_free(struct neap_play_opening *opening);

#endif
