/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies of kind reservation as a matcher. They run on the loop within a decision, with
 * their kind's budget. All policies in service must agree; the first one with a rank sets
 * it. If one fails, exceeds its budget or answers wrongly, only owners count in that
 * decision, and the caller is told; it is taken out of service if it repeats.
 * Single-threaded. */
#ifndef NEAP_API_SCHEDULE_POLICIES_RESERVE_H
#define NEAP_API_SCHEDULE_POLICIES_RESERVE_H

#include "engine/log/log.h"
#include "engine/reserve/matcher.h"

struct neap_decisions;
struct neap_purse;
struct neap_registry;
struct neap_policies_reserve;

struct neap_policies_reserve_config {
	struct neap_registry *registry; /* borrowed; may change between decisions */
	struct neap_purse *purse; /* borrowed; filled at the start of each question */
	struct neap_decisions *decisions; /* borrowed: records them; NULL: nobody */
	const struct neap_log *log;
	/* Called within a decision when a policy was taken out of service; it must not
	 * change the registry. NULL: ignored. */
	void (*out_of_service)(void *arg, const char *kind, const char *name,
			       const char *why);
	/* Called at most once per decision when a policy failed and owners decide about
	 * the pod. label: "reservation/night@3f2a91c0". NULL: ignored. */
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
