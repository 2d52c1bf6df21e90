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

/* Lists what the set lacks: policies that were not opened yet, new versions, new states
 * of policies that were stopped, and broken ones, which are tried again. Marks plugins
 * broken whose policy is out of service or gone. Call it on the loop, while no thread has
 * the set. The set and strategies are borrowed until the opening ends. -NEAP_ENOMEM. */
int neap_play_opening_new(struct neap_play_set *set,
			  const struct neap_strategies *strategies,
			  struct neap_play_opening **ret, struct neap_error *err);
/* Uses this policy, which is not in service, for the plugin of that name, which the set
 * has. Takes policy over, even on an error. -NEAP_ENOMEM; neap_play_opening_end returns
 * what is wrong with the policy itself. */
int neap_play_opening_give_take(struct neap_play_opening *opening, const char *name,
				struct neap_policy *policy, struct neap_error *err);
/* Returns whether the set lacks nothing. */
bool neap_play_opening_is_empty(const struct neap_play_opening *opening);
/* Compiles the policies. Call it on any thread: it does not touch the set. */
void neap_play_opening_work(struct neap_play_opening *opening);
/* Puts the policies into the set, and frees the opening. Call it on the loop, while no
 * thread has the set. A plugin whose policy could not be opened is broken. Returns the
 * error of the policy that was given. */
int neap_play_opening_end(struct neap_play_opening *opening, struct neap_error *err);
/* Frees it without changing the set. Accepts NULL. */
void neap_play_opening_free(struct neap_play_opening *opening);

#endif
