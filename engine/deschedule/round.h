/* SPDX-License-Identifier: Apache-2.0
 *
 * A descheduling round: the conversation between strategies and the rules that keep pods.
 * A strategy names a pod and gets an answer at once: whether the pod leaves, why not, and
 * where it would land. All questions are kept, so that the round can be reported
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
	NEAP_ROUND_ALREADY, /* it already leaves in this round */
	NEAP_ROUND_KEPT,    /* by a rule that says which pods may leave at all */
	NEAP_ROUND_NOT_NOW, /* by a rule's last look */
	NEAP_ROUND_BUDGET,  /* a disruption budget has nothing left */
	NEAP_ROUND_LIMIT_NODE,
	NEAP_ROUND_LIMIT_NAMESPACE,
	NEAP_ROUND_LIMIT_WORKLOAD,
	NEAP_ROUND_LIMIT_TOTAL,
	NEAP_ROUND_NO_PLACE, /* no node has room for it */
	NEAP_ROUND_FAILED,   /* the eviction was refused */
	NEAP_ROUND_OUTCOMES
};

/* "evicted", "already", "kept", "not-now", "budget", "node-limit", "namespace-limit",
 * "workload-limit", "total-limit", "no-place", "failed". */
const char *neap_round_outcome_name(enum neap_round_outcome outcome);

struct neap_round;

/* A rule: returns NULL when the pod may leave, else why it stays. The text must live as
 * long as the round (neap_round_keep_text). */
typedef const char *neap_round_rule_fn(void *arg, struct neap_round *round,
				       const struct neap_world_pod *pod);

struct neap_round_rule {
	/* called once per pod and round; NULL: every pod may leave */
	neap_round_rule_fn *allow;
	neap_round_rule_fn *before; /* the last check before the eviction, likewise */
	/* Called each time for a pod that allow accepts, because evictions of the round
	 * change the answer. */
	neap_round_rule_fn *again;
	void *arg;
};

/* Finds where the pod would land once it has left its node, and counts it there until the
 * end of the round: 0 with the node's name in ret_node; -NEAP_ENOFIT: no node fits, err
 * says why; other errors: not known, and the pod stays. */
typedef int neap_round_place_fn(void *arg, const struct neap_world_pod *pod,
				char ret_node[NEAP_ROUND_NODE], struct neap_error *err);
/* Evicts the pod. 0: accepted; otherwise the pod stays, and err says why. node: where it
 * would land, "": not known. */
typedef int neap_round_evict_fn(void *arg, const struct neap_world_pod *pod,
				const char *strategy, const char *why, const char *node,
				struct neap_error *err);

/* The inputs of a round; all pointers are borrowed for its life. */
struct neap_round_args {
	const struct neap_world *world; /* settled, and constant during the round */
	int64_t now_usec;
	int64_t interval_usec; /* between two rounds; 0: not known */
	bool is_dry;           /* for scripts; the caller's evict does nothing then */
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
	bool is_taken_back; /* it does not count: see neap_round_take_back */
};

/* What a strategy requests besides evictions; the caller does it after the call, in
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
	/* For place: the nodes on which the pod in question must land; NULL: any. */
	struct neap_world_node *const *targets;
	size_t target_count;
	struct neap_limit_counts counts;
	struct neap_round_said *said;
	size_t said_count, said_size;
	size_t evicted_count;
	struct neap_round_wish *wishes;
	size_t wish_count, wish_size;
	uint8_t *states; /* of pods, by index; round.c */
	/* why a pod stays, by index; NULL: it may leave, or was not checked */
	const char **kept;
	int64_t *budget_used;    /* by number of the budget */
	struct neap_arena arena; /* texts */
};

int neap_round_new(const struct neap_round_args *args, struct neap_round **ret,
		   struct neap_error *err);
void neap_round_free(struct neap_round *round);
/* Limits the nodes that strategies see to those of the world that the selector matches
 * (NULL: all) and, with only_ready, that are ready. */
int neap_round_set_nodes(struct neap_round *round, const struct neap_selector *selector,
			 bool only_ready, struct neap_error *err);

/* Replaces the rules, because each profile has its own. Answers of the earlier rules are
 * dropped, evictions stay. All is borrowed. */
void neap_round_set_rules(struct neap_round *round, const struct neap_evictor *evictor,
			  const struct neap_round_rule *rules, size_t count);

/* Returns whether the rules let the pod leave at all; *ret_why (may be NULL) says why
 * not. The answer is computed once per pod, except for rules with again. */
bool neap_round_may_leave(struct neap_round *round, const struct neap_world_pod *pod,
			  const char **ret_why);
/* The last check of the rules, computed once per pod as well. */
bool neap_round_may_leave_now(struct neap_round *round, const struct neap_world_pod *pod,
			      const char **ret_why);
bool neap_round_is_evicted(const struct neap_round *round,
			   const struct neap_world_pod *pod);
/* Asks whether a pod leaves: checks rules, budgets, limits and a place, then evicts.
 * Returns 0, also for a refusal; -NEAP_ENOMEM; -NEAP_ETOOLARGE after NEAP_ROUND_ASKED_MAX
 * questions. */
int neap_round_evict(struct neap_round *round, const struct neap_world_pod *pod,
		     const char *strategy, const char *why, struct neap_round_answer *ret,
		     struct neap_error *err);
/* The same for a pod that must land on one of these nodes; it stays if it would land
 * elsewhere. Without args.place this is not known, and it leaves. */
int neap_round_evict_to(struct neap_round *round, const struct neap_world_pod *pod,
			const char *strategy, const char *why,
			struct neap_world_node *const *targets, size_t target_count,
			struct neap_round_answer *ret, struct neap_error *err);
/* Undoes the evictions since question number from: the pods stay, and limits and budgets
 * are as before. The answers remain in the record. */
void neap_round_take_back(struct neap_round *round, size_t from);
/* What the rules said so far, to return to: so that questions of somebody who does not
 * count are not the answers that others get. */
struct neap_round_answers {
	uint8_t *states;
	const char **kept;
};
/* -NEAP_ENOMEM. */
int neap_round_save_answers(const struct neap_round *round,
			    struct neap_round_answers *ret, struct neap_error *err);
/* Returns to them, and frees them. Evictions since then were taken back. */
void neap_round_restore_answers(struct neap_round *round,
				struct neap_round_answers *answers);
/* Returns whether the pod in question may land on that node. */
bool neap_round_is_target(const struct neap_round *round, const char *node);
/* Records a wish; its strategy is copied. -NEAP_ENOMEM; -NEAP_ETOOLARGE after
 * NEAP_ROUND_ASKED_MAX wishes. */
int neap_round_add_wish(struct neap_round *round, const struct neap_round_wish *wish,
			struct neap_error *err);
/* Returns a copy that lives as long as the round, or a fixed text without memory. */
const char *neap_round_keep_text(struct neap_round *round, const char *text);

#endif
