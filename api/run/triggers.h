/* SPDX-License-Identifier: Apache-2.0
 *
 * Which pressure triggers of the kernel are open: kept in step with what policies want and with the
 * groups that are there, by mark and sweep once a tick. Made for a handful of policies with a few
 * triggers of at most 64 groups each. Knows no policy, no node and no event library. */
#ifndef NEAP_API_RUN_TRIGGERS_H
#define NEAP_API_RUN_TRIGGERS_H

#include <jansson.h>

#include "api/run/node.h"
#include "lua/run/policy.h"

#define NEAP_TRIGGER_GROUPS_MAX 64  /* of one trigger */
#define NEAP_TRIGGERS_OPEN_MAX  256 /* in all; each has two descriptors */
/* Events of one trigger so close together are one. */
#define NEAP_TRIGGER_SAME_USEC 10000

struct neap_triggers;

struct neap_triggers_config {
	struct neap_node_loop loop;
	/* Has a trigger opened; neap_triggers_opened tells the outcome under the same id, also
	 * before this returns. value as neap_hand_trigger_format gives it. */
	int (*open)(void *arg, uint64_t id, const char *group, const char *value,
		    struct neap_error *err);
	/* Some trigger fired: neap_triggers_fired tells which. Called for each. */
	void (*fired)(void *arg);
	void *arg;
};

struct neap_triggers *neap_triggers_new(const struct neap_triggers_config *config);
void neap_triggers_free(struct neap_triggers *set);

/* One round: what is not named between begin and end is closed. group "" is the node, NULL none
 * (the trigger is only reported). Named in the same order again it costs one comparison each. */
void neap_triggers_begin(struct neap_triggers *set);
void neap_triggers_want(struct neap_triggers *set, const char *policy,
			const struct neap_policy_trigger *trigger, const char *group);
void neap_triggers_end(struct neap_triggers *set);

/* fd is taken over (-1: none); errnum and text as the hand answers. */
void neap_triggers_opened(struct neap_triggers *set, uint64_t id, int fd, int errnum,
			  const char *text);

/* The next trigger of policy (its label) that fired, and forgets it; NULL when there is none.
 * ret_usec: CLOCK_MONOTONIC when the program woke up. */
const char *neap_triggers_fired(struct neap_triggers *set, const char *policy,
				int64_t *ret_usec);
/* Some trigger fired and was not asked for yet. */
bool neap_triggers_has_fired(const struct neap_triggers *set);

/* [{name, of, state, groups, fired}] of one policy; NULL when it has none. */
json_t *neap_triggers_report(const struct neap_triggers *set, const char *policy);

#endif
