/* SPDX-License-Identifier: Apache-2.0
 *
 * The active policies, in the order of the configuration, and how each fares. */
#ifndef NEAP_LUA_REGISTRY_H
#define NEAP_LUA_REGISTRY_H

#include "lua/policy.h"

struct neap_registry;

struct neap_policy_stats {
	uint64_t calls, wishes, holds, skipped;
	uint64_t errors, spent, starved; /* three different things */
	char last_error[256];
	int64_t last_error_unix_usec;
	int64_t cpu_usec;  /* of all calls */
	int faults_in_row; /* since the last good call; a skipped one changes nothing */
	bool is_failed;    /* taken out of service; the kind's fail-safe holds */
};

struct neap_registry_slot {
	struct neap_policy *policy;
	struct neap_policy_stats stats;
};

/* Faults in a row after which a policy is taken out of service. One whose state was killed (budget, or
 * the wall backstop, which is no fault of it) is so at once: load it again to put it back. */
#define NEAP_POLICY_FAULTS_MAX 3

struct neap_registry *neap_registry_new(void);
void neap_registry_free(struct neap_registry *registry);
/* Takes the policy over, also on failure. One of the same kind and name is replaced in its place. */
int neap_registry_put_take(struct neap_registry *registry, struct neap_policy *policy,
			   struct neap_error *err);
size_t neap_registry_count(const struct neap_registry *registry);
struct neap_registry_slot *neap_registry_get(struct neap_registry *registry,
					     size_t index);
/* Counts a verdict; true when this one took the policy out of service. */
bool neap_registry_note(struct neap_registry_slot *slot, enum neap_tick_verdict verdict,
			const struct neap_error *err, int64_t now_unix_usec);

#endif
