/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies of the kinds score and filter, as further filters and scores of decisions. They run on the loop, within a
 * decision, under the budgets of their kind. What fails, spends too much or answers wrongly has no say in that
 * decision, and one that does so repeatedly is taken out of service. Of one thread. */
#ifndef NEAP_API_SCHEDULE_POLICIES_H
#define NEAP_API_SCHEDULE_POLICIES_H

#include "engine/decide/plugin_filters.h"
#include "engine/log/log.h"

struct neap_purse;
struct neap_registry;
struct neap_schedule_policies;

struct neap_schedule_policies_config {
	struct neap_registry *registry; /* borrowed; may change between decisions */
	struct neap_purse *purse; /* borrowed; who begins with a question fills it */
	const struct neap_log *log;
	/* A policy was taken out of service, within a decision: the registry must not be changed yet. NULL: nobody asks. */
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
