/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies of kind score and filter as plugin filters and scores. They run on the loop
 * within a decision, with their kind's budget. A policy that fails, exceeds its budget or
 * answers wrongly is ignored in that decision, and taken out of service if it repeats.
 * Single-threaded. */
#ifndef NEAP_API_SCHEDULE_POLICIES_H
#define NEAP_API_SCHEDULE_POLICIES_H

#include "engine/decide/decide.h"
#include "engine/log/log.h"

struct neap_decisions;
struct neap_purse;
struct neap_registry;
struct neap_schedule_policies;

struct neap_schedule_policies_config {
	struct neap_registry *registry; /* borrowed; may change between decisions */
	struct neap_purse *purse; /* borrowed; filled at the start of each question */
	struct neap_decisions *decisions; /* borrowed: records them; NULL: nobody */
	const struct neap_log *log;
	/* Called within a decision when a policy was taken out of service; it must not
	 * change the registry. NULL: ignored. */
	void (*failed)(void *arg, const char *kind, const char *name, const char *why);
	void *arg;
};

/* NULL without memory. */
struct neap_schedule_policies *
neap_schedule_policies_new(const struct neap_schedule_policies_config *config);
void neap_schedule_policies_free(struct neap_schedule_policies *policies);
/* Valid as long as they are. */
const struct neap_decide_more *
neap_schedule_policies_more(const struct neap_schedule_policies *policies);

#endif
