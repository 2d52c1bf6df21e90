/* SPDX-License-Identifier: Apache-2.0
 *
 * The open pressure triggers of the kernel, kept in step with the policies' requests and
 * the existing groups by mark and sweep once per tick. Made for a few policies with a few
 * triggers of at most 64 groups each. Knows no policy, node or event library. */
#ifndef NEAP_API_RUN_TRIGGERS_H
#define NEAP_API_RUN_TRIGGERS_H

#include <jansson.h>

#include "api/run/node.h"
#include "lua/call/policy.h"

#define NEAP_TRIGGER_GROUPS_MAX 64  /* of one trigger */
#define NEAP_TRIGGERS_OPEN_MAX  256 /* in total; each takes two descriptors */
/* Events of one trigger closer together count as one. */
#define NEAP_TRIGGER_SAME_USEC 10000

struct neap_triggers;

struct neap_triggers_config {
	struct neap_node_loop loop;
	/* Requests opening a trigger; neap_triggers_opened reports the outcome under the
	 * same id, possibly before this returns. value: from neap_hand_trigger_format. */
	int (*open)(void *arg, uint64_t id, const char *group, const char *value,
		    struct neap_error *err);
	/* Called for each trigger that fired; neap_triggers_fired tells which. */
	void (*fired)(void *arg);
	void *arg;
};

struct neap_triggers *neap_triggers_new(const struct neap_triggers_config *config);
void neap_triggers_free(struct neap_triggers *set);

/* One round: triggers not named between begin and end are closed. group "" is the node,
 * NULL none (the trigger is only reported). Naming them in the same order again costs one
 * comparison each. */
void neap_triggers_begin(struct neap_triggers *set);
void neap_triggers_want(struct neap_triggers *set, const char *policy,
			const struct neap_policy_trigger *trigger, const char *group);
void neap_triggers_end(struct neap_triggers *set);

/* Takes over fd (-1: none); errnum and text from the hand's answer. */
void neap_triggers_opened(struct neap_triggers *set, uint64_t id, int fd, int errnum,
			  const char *text);

/* Returns the next fired trigger of policy (its label) and clears it; NULL when there is
 * none. ret_usec: CLOCK_MONOTONIC at the wake-up. */
const char *neap_triggers_fired(struct neap_triggers *set, const char *policy,
				int64_t *ret_usec);
/* Returns whether some trigger fired and was not taken yet. */
bool neap_triggers_has_fired(const struct neap_triggers *set);

/* [{name, of, state, groups, fired}] of one policy; NULL when it has none. */
json_t *neap_triggers_report(const struct neap_triggers *set, const char *policy);

#endif
