/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies of kind reservation, as a say in which pods use which reservations. They run on the loop, within a decision,
 * under the budgets of their kind. All that are in service must agree; the first that has a rank says it. When one fails,
 * spends too much or answers wrongly, the owners alone count in that decision, and whoever wants to know is told; one that
 * does so repeatedly is taken out of service. Of one thread. */
#ifndef NEAP_API_SCHEDULE_POLICIES_RESERVE_H
#define NEAP_API_SCHEDULE_POLICIES_RESERVE_H

#include "engine/log/log.h"
#include "engine/reserve/matcher.h"

struct neap_purse;
struct neap_registry;
struct neap_policies_reserve;

struct neap_policies_reserve_config {
	struct neap_registry *registry; /* borrowed; may change between decisions */
	struct neap_purse *purse; /* borrowed; who begins with a question fills it */
	const struct neap_log *log;
	/* A policy was taken out of service, within a decision: the registry must not be changed yet. NULL: nobody asks. */
	void (*out_of_service)(void *arg, const char *kind, const char *name,
			       const char *why);
	/* A policy failed, and owners decide about the pod; once a decision at most. label: "reservation/night@3f2a91c0".
	 * NULL: nobody asks. */
	void (*failed)(void *arg, const struct neap_pod *pod, const char *label,
		       const char *why);
	void *arg;
};

/* NULL without memory. */
struct neap_policies_reserve *
neap_policies_reserve_new(const struct neap_policies_reserve_config *config);
void neap_policies_reserve_free(struct neap_policies_reserve *policies);
/* Valid as long as they are. */
const struct neap_reserve_matcher *
neap_policies_reserve_matcher(const struct neap_policies_reserve *policies);

#endif
