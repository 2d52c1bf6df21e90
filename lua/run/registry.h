/* SPDX-License-Identifier: Apache-2.0
 *
 * The active policies in order, what each wants, and how each performs. */
#ifndef NEAP_LUA_RUN_REGISTRY_H
#define NEAP_LUA_RUN_REGISTRY_H

#include "lua/call/policy.h"
#include "lua/run/shadow.h"

struct neap_registry;

struct neap_policy_stats {
	uint64_t calls, holds, skipped;
	uint64_t wishes; /* requested writes; counted by the code that applies them */
	uint64_t errors, wrong,
		spent;    /* faults: raised, invalid answer, budget exceeded */
	uint64_t starved; /* by the machine: no fault */
	uint64_t put_off; /* not called, because others used up the cycle's budget */
	char last_error[256];
	int64_t last_error_unix_usec;
	int64_t cpu_usec; /* of all calls */
	/* since the last good call; a skipped call does not change it */
	int faults_in_row;
	int faults;     /* in all */
	bool is_failed; /* out of service; the kind's fail-safe applies */
};

struct neap_registry_slot {
	const struct neap_registry *registry; /* the registry it is in */
	struct neap_policy *policy;
	struct neap_policy_stats stats;
	/* The last wishes of this or the previous version; they hold until it answers
	 * otherwise. */
	struct neap_policy_wish *wishes;
	size_t wish_count,
		wish_files;    /* kernel files they expanded to when they were stored */
	size_t planned;        /* kernel files they expanded to in the last plan */
	int64_t plan_usec;     /* CPU time of that expansion */
	char wishes_label[80]; /* whose wishes they are, for the audit */
	int order;             /* as given last */
	bool is_elsewhere;     /* its `where` excludes this node: never called */
	enum neap_tick_verdict last_verdict; /* of its last call, for the shadow */
	/* another version running beside it; NULL: none. Ends with any swap */
	struct neap_shadow *shadow;
	/* Good calls left until it is proven; 0: it is. */
	int probation;
};

/* Consecutive faults after which a policy is taken out of service; during probation,
 * total faults. If its state was killed for exceeding the budget, one is enough. Loading
 * it again puts it back. */
#define NEAP_POLICY_FAULTS_MAX 3
/* Good calls that end the probation of a version that went live in a running daemon. */
#define NEAP_POLICY_PROBATION 60

struct neap_registry *neap_registry_new(void);
void neap_registry_free(struct neap_registry *registry);
/* Takes over the policy, even on failure (NEAP_ETOOLARGE: full, and no policy of that
 * name exists). Sorted by order (lowest first), then kind and name. If it replaces one of
 * the same kind and name, the old wishes hold. Slots move: pointers to slots are invalid
 * after this, a removal or a reorder. */
int neap_registry_put_take(struct neap_registry *registry, struct neap_policy *policy,
			   int order, int probation, struct neap_error *err);
/* Changes the order of a policy. */
void neap_registry_reorder(struct neap_registry *registry, const char *kind,
			   const char *name, int order);
/* Returns whether a policy of a new name would be refused. */
bool neap_registry_is_full(const struct neap_registry *registry);
/* Its wishes are dropped with it. */
void neap_registry_remove(struct neap_registry *registry, const char *kind,
			  const char *name);
size_t neap_registry_count(const struct neap_registry *registry);
struct neap_registry_slot *neap_registry_get(struct neap_registry *registry,
					     size_t index);
/* Returns NULL when there is none. */
struct neap_registry_slot *neap_registry_find(struct neap_registry *registry,
					      const char *kind, const char *name);
/* Replaces its wishes; takes over the array. */
void neap_registry_hold_take(struct neap_registry_slot *slot,
			     struct neap_policy_wish *wishes, size_t count);
/* Sets the callback that provides a new state for a policy whose state the wall-clock
 * backstop killed. Loading runs the policy's text, so it cannot happen inside a call:
 * each call of a dead state counts as starved and requests a renewal again. */
void neap_registry_set_renew(struct neap_registry *registry,
			     void (*renew)(void *arg, const char *kind, const char *name),
			     void *arg);
/* Replaces the slot's state by a fresh one of the same version; everything else stays. */
void neap_registry_renew_take(struct neap_registry_slot *slot,
			      struct neap_policy *policy);
/* Counts a verdict; returns true when it took the policy out of service. */
bool neap_registry_note(struct neap_registry_slot *slot, enum neap_tick_verdict verdict,
			const struct neap_error *err, int64_t now_unix_usec);

#endif
