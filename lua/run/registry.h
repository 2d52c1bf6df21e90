/* SPDX-License-Identifier: Apache-2.0
 *
 * The active policies in order, what each wants, and how each fares. */
#ifndef NEAP_LUA_RUN_REGISTRY_H
#define NEAP_LUA_RUN_REGISTRY_H

#include "lua/run/policy.h"
#include "lua/run/shadow.h"

struct neap_registry;

struct neap_policy_stats {
	uint64_t calls, holds, skipped;
	uint64_t wishes; /* writes asked for; counted by whoever holds them */
	uint64_t errors, wrong,
		spent;    /* raised, answered wrongly, used its budget up: faults */
	uint64_t starved; /* by the machine: no fault */
	uint64_t put_off; /* not called, as the cycle's budget was used up by others */
	char last_error[256];
	int64_t last_error_unix_usec;
	int64_t cpu_usec;  /* of all calls */
	int faults_in_row; /* since the last good call; a skipped one changes nothing */
	int faults;        /* in all */
	bool is_failed;    /* taken out of service; the kind's fail-safe holds */
};

struct neap_registry_slot {
	const struct neap_registry *registry; /* that it is in */
	struct neap_policy *policy;
	struct neap_policy_stats stats;
	/* What it, or the version before it, asked for last; held until it says otherwise. */
	struct neap_policy_wish *wishes;
	size_t wish_count,
		wish_files;    /* kernel files that they came to when they were held */
	size_t planned;        /* kernel files that they came to in the last plan */
	int64_t plan_usec;     /* CPU time that took */
	char wishes_label[80]; /* whose wishes they are, for the audit */
	int order;             /* as given with it last */
	bool is_elsewhere;     /* its `where` is not for this node: never called */
	enum neap_tick_verdict last_verdict; /* of its last call, for the shadow */
	struct neap_shadow
		*shadow; /* another version beside it; NULL: none. Goes with any swap */
	/* Good calls until it has proved itself; 0: it has. */
	int probation;
};

/* Faults in a row after which a policy is taken out of service, during probation also in all. One
 * whose state was killed because its budget was spent is so at once: load it again to put it back. */
#define NEAP_POLICY_FAULTS_MAX 3
/* Good calls that end the probation of a version that went live in a running daemon. */
#define NEAP_POLICY_PROBATION 60

struct neap_registry *neap_registry_new(void);
void neap_registry_free(struct neap_registry *registry);
/* Takes the policy over, also on failure (NEAP_ETOOLARGE: no room, and there is none of its name). It
 * stands by its order (the lowest first), then by kind and name; of one of the same kind and name that
 * it replaces the wishes are held. Slots move: no pointer to one outlives this, the removal, or a
 * change of order. */
int neap_registry_put_take(struct neap_registry *registry, struct neap_policy *policy,
			   int order, int probation, struct neap_error *err);
/* Another place for one that is there. */
void neap_registry_reorder(struct neap_registry *registry, const char *kind,
			   const char *name, int order);
/* A policy of another name would not be taken. */
bool neap_registry_is_full(const struct neap_registry *registry);
/* Its wishes go with it. */
void neap_registry_remove(struct neap_registry *registry, const char *kind,
			  const char *name);
size_t neap_registry_count(const struct neap_registry *registry);
struct neap_registry_slot *neap_registry_get(struct neap_registry *registry,
					     size_t index);
/* NULL without such a one. */
struct neap_registry_slot *neap_registry_find(struct neap_registry *registry,
					      const char *kind, const char *name);
/* Replaces what it wants; takes wishes over. */
void neap_registry_hold_take(struct neap_registry_slot *slot,
			     struct neap_policy_wish *wishes, size_t count);
/* Who brings a new state for a policy whose state was killed by the wall backstop. Loading runs the text of the
 * policy, so it is not done within a call: each call of the dead state counts as starved, and asks again. */
void neap_registry_set_renew(struct neap_registry *registry,
			     void (*renew)(void *arg, const char *kind, const char *name),
			     void *arg);
/* Puts a fresh state of the same version in place of the slot's; all else stays. */
void neap_registry_renew_take(struct neap_registry_slot *slot,
			      struct neap_policy *policy);
/* Counts a verdict; true when this one took the policy out of service. */
bool neap_registry_note(struct neap_registry_slot *slot, enum neap_tick_verdict verdict,
			const struct neap_error *err, int64_t now_unix_usec);

#endif
