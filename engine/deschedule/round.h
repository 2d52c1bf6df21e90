/* SPDX-License-Identifier: Apache-2.0
 *
 * A descheduling round: the conversation between strategies and the rules that keep
 * pods. A strategy names a pod and is told at once whether it leaves, why not, and
 * where it would land. Everything asked is kept, so that the round can be told
 * afterwards. */
#ifndef NEAP_ENGINE_DESCHEDULE_ROUND_H
#define NEAP_ENGINE_DESCHEDULE_ROUND_H

#include "engine/deschedule/evictor.h"
#include "engine/deschedule/limits.h"

#define NEAP_ROUND_RULES_MAX 33
/* Questions of one round, over all strategies; further ones are refused. */
#define NEAP_ROUND_ASKED_MAX 100000
#define NEAP_ROUND_WHY       512
#define NEAP_ROUND_NODE      254

enum neap_round_outcome {
	NEAP_ROUND_EVICTED,
	NEAP_ROUND_ALREADY, /* it leaves already in this round */
	NEAP_ROUND_KEPT,    /* by a rule that says which pods may leave at all */
	NEAP_ROUND_NOT_NOW, /* by a rule's last look */
	NEAP_ROUND_BUDGET,  /* a disruption budget has nothing left */
	NEAP_ROUND_LIMIT_NODE,
	NEAP_ROUND_LIMIT_NAMESPACE,
	NEAP_ROUND_LIMIT_WORKLOAD,
	NEAP_ROUND_LIMIT_TOTAL,
	NEAP_ROUND_NO_PLACE, /* there is no node that it could land on */
	NEAP_ROUND_FAILED,   /* the way out refused it */
	NEAP_ROUND_OUTCOMES
};

/* "evicted", "already", "kept", "not-now", "budget", "node-limit", "namespace-limit",
 * "workload-limit", "total-limit", "no-place", "failed". */
const char *neap_round_outcome_name(enum neap_round_outcome outcome);

struct neap_round;

/* A rule: NULL lets the pod go, else why it stays. The text must live as long as the
 * round (neap_round_keep_text). */
typedef const char *neap_round_rule_fn(void *arg, struct neap_round *round,
				       const struct neap_world_pod *pod);

struct neap_round_rule {
	neap_round_rule_fn *allow;  /* once for a pod and round; NULL: lets all go */
	neap_round_rule_fn *before; /* the last look, likewise */
	/* Of a pod that allow lets go, each time: what leaves in the round changes it. */
	neap_round_rule_fn *again;
	void *arg;
};

/* Finds where the pod would land once it is gone from its node, and counts it there until
 * the end of the round: 0 with the node's name in ret_node; -NEAP_ENOFIT with why in err:
 * nowhere; other errors mean that it is not known, and the pod stays. */
typedef int neap_round_place_fn(void *arg, const struct neap_world_pod *pod,
				char ret_node[NEAP_ROUND_NODE], struct neap_error *err);
/* The way out. 0: accepted; else the pod stays, with why in err. node: where it would
 * land, "": not known. */
typedef int neap_round_evict_fn(void *arg, const struct neap_world_pod *pod,
				const char *strategy, const char *why, const char *node,
				struct neap_error *err);

/* What a round is made of; all pointers are borrowed for its life. */
struct neap_round_args {
	const struct neap_world *world; /* settled, and constant during the round */
	int64_t now_usec;
	int64_t interval_usec; /* between two rounds; 0: not known */
	bool is_dry;           /* scripts can read it; the caller's evict does nothing */
	const struct neap_evictor *evictor;  /* NULL: no such rules */
	const struct neap_round_rule *rules; /* asked after it */
	size_t rule_count;
	struct neap_limits limits;
	bool honors_budgets;        /* refuses a pod whose budget has nothing left */
	neap_round_place_fn *place; /* NULL: not asked */
	void *place_arg;
	neap_round_evict_fn *evict; /* NULL: every eviction is accepted */
	void *evict_arg;
};

struct neap_round_answer {
	enum neap_round_outcome outcome;
	const char *reason; /* for people; "" when evicted. Lives as long as the round. */
	const char *node;   /* where it would land; "" */
};

/* One question and its answer. */
struct neap_round_said {
	const struct neap_world_pod *pod;
	const char *strategy, *why;
	struct neap_round_answer answer;
	bool is_taken_back; /* it only told: see neap_round_take_back */
};

/* What a strategy wants besides evictions, for the caller to do after the call, in
 * order. */
enum neap_round_wish_type {
	NEAP_WISH_DELETION_COST, /* controller.kubernetes.io/pod-deletion-cost */
	NEAP_WISH_CORDON,
	NEAP_WISH_UNCORDON
};

struct neap_round_wish {
	enum neap_round_wish_type type;
	const struct neap_world_pod *pod;   /* of a cost */
	const struct neap_world_node *node; /* of the others */
	int32_t cost;
	const char *strategy;
};

struct neap_round {
	struct neap_round_args args;
	/* The nodes of this call: those of the cycle, narrowed by the profile. Set by
	 * neap_round_set_nodes; at first all nodes of the world. */
	struct neap_world_node **nodes;
	size_t node_count;
	/* For place: where the pod that is asked for has to land; NULL: anywhere. */
	struct neap_world_node *const *targets;
	size_t target_count;
	struct neap_limit_counts counts;
	struct neap_round_said *said;
	size_t said_count, said_size;
	size_t evicted_count;
	struct neap_round_wish *wishes;
	size_t wish_count, wish_size;
	uint8_t *states;         /* of pods, by index; round.c */
	const char **kept;       /* why, by index; NULL: it may leave, or not asked */
	int64_t *budget_used;    /* by number of the budget */
	struct neap_arena arena; /* texts */
};

int neap_round_new(const struct neap_round_args *args, struct neap_round **ret,
		   struct neap_error *err);
void neap_round_free(struct neap_round *round);
/* Narrows the nodes that strategies see to those that the selector takes and that are
 * ready (only_ready), from all nodes of the world. NULL takes all. */
int neap_round_set_nodes(struct neap_round *round, const struct neap_selector *selector,
			 bool only_ready, struct neap_error *err);

/* Other rules from now on, as each profile has its own; what the ones before said is
 * forgotten, what was evicted stays so. All is borrowed. */
void neap_round_set_rules(struct neap_round *round, const struct neap_evictor *evictor,
			  const struct neap_round_rule *rules, size_t count);

/* Whether the rules let the pod go at all; *ret_why (may be NULL) says why not. Asked
 * once for a pod, then remembered, but for rules that are asked again. */
bool neap_round_may_leave(struct neap_round *round, const struct neap_world_pod *pod,
			  const char **ret_why);
/* The last look of the rules; remembered likewise. */
bool neap_round_may_leave_now(struct neap_round *round, const struct neap_world_pod *pod,
			      const char **ret_why);
bool neap_round_is_evicted(const struct neap_round *round,
			   const struct neap_world_pod *pod);
/* Asks for a pod: its rules, budgets, limits, a place, then the way out. Returns 0, also
 * for a refusal; -NEAP_ENOMEM; -NEAP_ETOOLARGE after NEAP_ROUND_ASKED_MAX questions. */
int neap_round_evict(struct neap_round *round, const struct neap_world_pod *pod,
		     const char *strategy, const char *why, struct neap_round_answer *ret,
		     struct neap_error *err);
/* The same, where the pod has to land on one of these nodes; it stays where it would land
 * elsewhere. Without args.place, not known, it leaves. */
int neap_round_evict_to(struct neap_round *round, const struct neap_world_pod *pod,
			const char *strategy, const char *why,
			struct neap_world_node *const *targets, size_t target_count,
			struct neap_round_answer *ret, struct neap_error *err);
/* Takes back what evictions since question number from use up: the pods stay, limits and
 * budgets are as before. What was said remains, for the record. */
void neap_round_take_back(struct neap_round *round, size_t from);
/* Whether that node is one on which the pod that is asked for has to land. */
bool neap_round_is_target(const struct neap_round *round, const char *node);
/* Notes a wish, whose strategy is copied. -NEAP_ENOMEM; -NEAP_ETOOLARGE after
 * NEAP_ROUND_ASKED_MAX wishes. */
int neap_round_add_wish(struct neap_round *round, const struct neap_round_wish *wish,
			struct neap_error *err);
/* A copy that lives as long as the round; a fixed text without memory. */
const char *neap_round_keep_text(struct neap_round *round, const char *text);

#endif
