/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides which node a pod goes to, and why not to the others: a table of filters and a
 * table of scores (filters.c, scores.c) with the answers and reasons of kube-scheduler.
 * It reads a cluster and nothing else; the same cluster, pod, time and number of earlier
 * decisions give the same answer. Working memory is kept between decisions. */
#ifndef NEAP_ENGINE_DECIDE_DECIDE_H
#define NEAP_ENGINE_DECIDE_DECIDE_H

#include "engine/base/buf.h"
#include "engine/cluster/cluster.h"
#include "engine/cluster/cpus.h"

struct neap_cpu_kept;
struct neap_cycle;
struct neap_kept;

/* Most points of a node in one score. */
#define NEAP_SCORE_MAX 100
/* At least this many nodes are examined, if they exist. */
#define NEAP_DECIDE_NODES_MIN 100

enum neap_score_id {
	NEAP_SCORE_TAINT_TOLERATION,
	NEAP_SCORE_NODE_AFFINITY,
	NEAP_SCORE_LEAST_ALLOCATED,
	NEAP_SCORE_MOST_ALLOCATED,
	NEAP_SCORE_BALANCED_ALLOCATION,
	NEAP_SCORE_IMAGE_LOCALITY,
	NEAP_SCORE_TOPOLOGY_SPREAD,
	NEAP_SCORE_INTER_POD_AFFINITY,
	NEAP_SCORE_LOAD_AWARE,  /* default weight 0 */
	NEAP_SCORE_NUMA,        /* Koordinator's: 1 */
	NEAP_SCORE_RESERVATION, /* Koordinator's: 5000 */
	NEAP_SCORE_COUNT
};

struct neap_decide_more;
struct neap_reserve_book;
struct neap_reserve_matcher;
struct neap_settings;

struct neap_decide_config {
	struct neap_cluster *cluster; /* borrowed */
	/* Percentage of nodes after which enough feasible ones were found, 1 to 100; 0:
	 * as kube-scheduler, from 50 for a hundred nodes down to 5 for many. */
	int percentage;
	/* By neap_score_id; NULL: kube-scheduler's weights. A score of weight 0 is not
	 * computed. */
	const int *weights;
	/* Plugin filters and scores (struct neap_decide_more), borrowed; NULL:
	 * none. */
	const struct neap_decide_more *more;
	/* Reservations of the cluster, borrowed; NULL: none. And the matcher that
	 * policies add to the owner rules, borrowed; NULL: owner rules alone. */
	struct neap_reserve_book *book;
	const struct neap_reserve_matcher *matcher;
	/* Settings of a profile (settings.h), which replace the two above; reference
	 * counted. NULL: kube-scheduler's. */
	struct neap_settings *settings;
};

/* The weights used when config.weights is NULL. */
void neap_decide_weights(int ret[NEAP_SCORE_COUNT]);

struct neap_decide;

struct neap_choice {
	uint32_t row;
	const char *node; /* borrowed from the cluster */
	int64_t score;    /* 0 when it was the only feasible node */
	size_t looked_at, fitting;
};

int neap_decide_new(const struct neap_decide_config *config, struct neap_decide **ret,
		    struct neap_error *err);
void neap_decide_free(struct neap_decide *decide);

/* Unix time of the following decisions, for the age of reports; 0 at first. */
void neap_decide_set_now(struct neap_decide *decide, int64_t now_usec);

/* Returns 1 with a node, on which the pod is not placed yet; 0 when no node fits.
 * -NEAP_EINVAL: the pod cannot be read; -NEAP_ENOMEM. */
int neap_decide_pod(struct neap_decide *decide, const struct neap_pod *pod,
		    struct neap_choice *ret, struct neap_error *err);

/* The same, examining all nodes whatever the percentage. */
int neap_decide_pod_of_all(struct neap_decide *decide, const struct neap_pod *pod,
			   struct neap_choice *ret, struct neap_error *err);

/* --- about the decision before --- */

/* After a decision with a node: returns how many rows were feasible, and lists them, the
 * chosen one first, then by score. Valid until the next question except claims for the
 * same pod. */
size_t neap_decide_fitting(struct neap_decide *decide);
void neap_decide_best(struct neap_decide *decide, uint32_t *ret);

/* The reservations in use; NULL: none. */
const struct neap_reserve_book *neap_decide_book(const struct neap_decide *decide);
/* Number of nodes in the last decision. */
size_t neap_decide_nodes(const struct neap_decide *decide);

/* After a decision without a node: writes "0/3 nodes are available: 1 Insufficient cpu, 2
 * node(s) were unschedulable." */
void neap_decide_explain(const struct neap_decide *decide, struct neap_buf *out);
/* The same for a pod that fitted somewhere: on this many nodes the claim failed, and why
 * gives the reason. */
void neap_decide_explain_claims(const struct neap_decide *decide, size_t claims,
				const char *why, struct neap_buf *out);
/* Returns the events (NEAP_MOVED_*) that may help the unplaced pod. */
unsigned neap_decide_wakes(const struct neap_decide *decide);
/* Unix time at which a reservation may open for it; 0: time alone does not help. */
int64_t neap_decide_again(const struct neap_decide *decide);

/* One refusal of a node; a node may have several. */
struct neap_refusal {
	uint32_t row;
	uint32_t code; /* of engine/decide/decide_priv.h */
};
const struct neap_refusal *neap_decide_refusals(const struct neap_decide *decide,
						size_t *ret_count);
/* "Insufficient cpu"; borrowed or in buf. */
const char *neap_decide_reason(const struct neap_decide *decide, uint32_t code, char *buf,
			       size_t size);
/* Returns whether fewer pods on the node could help. */
bool neap_decide_can_help(uint32_t code);

/* --- about nodes that somebody else chose --- */

/* is_over is polled by the two functions below to learn whether their time is up. NULL:
 * no limit. */
void neap_decide_set_hurry(struct neap_decide *decide, bool (*is_over)(void *arg),
			   void *arg);

/* Whether the answers of the two functions below make somebody else choose a node for the
 * pod, as neap_decide_pod does: policies learn it (struct neap_decide_more). False at
 * first. */
void neap_decide_set_choice(struct neap_decide *decide, bool is_choice);

struct neap_verdict {
	/* borrowed until the next decision, in the order requested */
	const uint32_t *rows;
	const int64_t *scores; /* one per row; NULL when scores were not requested */
	size_t count;
};

/* Filters the given rows (distinct, with existing nodes); the refusals of the others
 * follow each other in the order requested. If time runs out after some rows fitted, the
 * rest are refused for that reason. Returns 0; -NEAP_EINVAL: the pod cannot be read;
 * -NEAP_EUNAVAILABLE: time ran out and no row fitted; -NEAP_ENOMEM. */
int neap_decide_rows(struct neap_decide *decide, const struct neap_pod *pod,
		     const uint32_t *rows, size_t count, struct neap_verdict *ret,
		     struct neap_error *err);
/* Scores all rows, whether the pod fits or not; scores that there was no time for are
 * left out. */
int neap_decide_scores(struct neap_decide *decide, const struct neap_pod *pod,
		       const uint32_t *rows, size_t count, struct neap_verdict *ret,
		       struct neap_error *err);
/* Returns whether the pod would fit onto row if these pods (distinct, on that row) were
 * gone: 1, 0, or -code as above. */
int neap_decide_without(struct neap_decide *decide, const struct neap_pod *pod,
			uint32_t row, struct neap_pod *const *gone, size_t count,
			struct neap_error *err);

/* --- making room --- */

/* Nodes tried per attempt, among those that have pods of lower priority and a refusal
 * that fewer pods could lift, regardless of the percentage. Each attempt continues with
 * the next nodes. */
#define NEAP_PREEMPT_TRIALS 200
/* The same for a pod whose place depends on pods elsewhere, because each trial counts all
 * pods. */
#define NEAP_PREEMPT_TRIALS_FAR 10

struct neap_victims {
	uint32_t row;
	const char *node; /* borrowed from the cluster */
	struct neap_pod *
		*pods;     /* borrowed until the next decision; most important first */
	size_t count;      /* 0: room is already being made on its nominated node */
	size_t violations; /* of budgets */
	size_t untried;    /* with answer 0: nodes left for later attempts */
};

/* Returns whether the pod is never preempted: a reservation placeholder, or a pod with
 * the label disable-preemptible. */
bool neap_decide_is_spared(const struct neap_pod *pod);
/* After a decision without a node: finds the pods of lower priority that would have to
 * leave, and the node, with the fewest budget violations and then the least important
 * pods. Returns 1; 0 when nothing that was tried helps (the explanation then says so);
 * -NEAP_ENOMEM. The cluster is unchanged afterwards. */
/* For the placeholder of a Reservation: returns 0 unless the settings allow
 * preemption. */
int neap_decide_preempt(struct neap_decide *decide, struct neap_pod *pod,
			struct neap_victims *ret, struct neap_error *err);

/* --- filters and scores of others --- */

/* The interface for plugin filters and scores, which run after those of the tables
 * (policies implement it). They run inside a decision and must not change the cluster.
 * The implementation bounds its own time. */

struct neap_decide_more {
	void *arg;
	/* Starts a decision about pod in a settled cluster; earlier answers are
	 * forgotten. is_choice: a node is being chosen for the pod; false: somebody only
	 * asks. Returns true when there are filters. */
	bool (*begin)(void *arg, struct neap_cluster *cluster, const struct neap_pod *pod,
		      int64_t now_usec, bool is_choice);
	/* Decides for rows that all other filters accepted: ret[i] is 0 or a reason.
	 * Returns false when every answer of this decision is void and all rows must be
	 * asked again (fewer times than there are filters). is_trial: nodes are as they
	 * would be without some pods; false then means a refusal. */
	bool (*filter)(void *arg, const uint32_t *rows, size_t count, bool is_trial,
		       uint32_t *ret);
	/* Returns the text of a reason (1 to NEAP_MORE_REASONS_MAX), as it appears after
	 * the number of nodes. Borrowed until the next decision. */
	const char *(*reason)(void *arg, uint32_t reason);
	/* Returns the name of the filter that gave the reason; borrowed until the next
	 * decision. */
	const char *(*reason_from)(void *arg, uint32_t reason);
	const char *(*score_from)(void *arg, size_t index);
	/* Computes score number index for the rows, 0 to NEAP_SCORE_MAX. Returns its
	 * weight; 0 when it does not apply (ret is not written); -1 when there is no such
	 * score. */
	int (*score)(void *arg, size_t index, const uint32_t *rows, size_t count,
		     int64_t *ret);
	/* Ends the decision, while the cluster still is as it was in it. NULL:
	 * ignored. */
	void (*end)(void *arg);
};

/* Distinct reasons of one decision. */
#define NEAP_MORE_REASONS_MAX 1024

/* --- claims --- */

/* What a pod is given on its chosen node: CPUs and NUMA nodes. The cluster must not
 * change between the choice and neap_cluster_assume_with. */

/* Returns 1 with *ret, which the caller frees; 0 with *ret NULL when the pod gets nothing
 * of that kind. -NEAP_ENOFIT with the text that people see: only a preferred policy fails
 * here for the first time, and neap_decide_wakes then takes it into account;
 * -NEAP_EINVAL: the pod's annotations; -NEAP_ENOMEM. */
int neap_decide_claim(struct neap_decide *decide, const struct neap_pod *pod,
		      uint32_t row, struct neap_claim **ret, struct neap_error *err);
/* Returns the full text of the last claim's refusal; *err holds only its beginning.
 * Borrowed until the next claim or decision. */
const char *neap_decide_claim_why(struct neap_decide *decide,
				  const struct neap_error *err);
/* For a node that someone else chose, perhaps a while ago. Returns 1 when the node still
 * has the pod's amounts, counting what is reserved for the pod and not what is reserved
 * for others; 0 when not; errors as in neap_decide_claim. */
int neap_decide_has_room(struct neap_decide *decide, const struct neap_pod *pod,
			 uint32_t row, struct neap_error *err);
/* Like neap_decide_claim for CPUs and NUMA nodes only, taking from reserved ones first;
 * kept NULL: none are reserved. */
int neap_claim_cpus(struct neap_decide *decide, const struct neap_pod *pod, uint32_t row,
		    const struct neap_cpu_kept *kept, struct neap_claim **ret,
		    struct neap_error *err);
/* The same where reservations exist. */
int neap_claim_kept(struct neap_decide *decide, const struct neap_pod *pod, uint32_t row,
		    struct neap_claim **ret, struct neap_error *err);
/* The same for a Reservation and the pods that it takes over. */
int neap_claim_takeover(struct neap_decide *decide, const struct neap_pod *stand,
			uint32_t row, struct neap_claim **ret, struct neap_error *err);
void neap_claim_free(struct neap_claim *claim); /* NULL is fine */
/* Returns the annotations to write with the binding, as an object: resource-status;
 * resource-spec where it is missing or Default; reservation-allocated; null removes an
 * outdated resource-status. claim may be NULL. NULL without memory. */
json_t *neap_claim_annotations(const struct neap_pod *pod,
			       const struct neap_claim *claim);

/* --- takeover.c --- */

/* Reservations that take over running pods, or wait until these leave
 * (spec.preAllocation). */

/* After a decision without a node, for a Reservation that may wait: returns the row where
 * it would fit if the pods there left, with the least in the way. Returns 1; 0 when there
 * is none or it does not wait; -NEAP_ENOMEM. */
int neap_decide_wait(struct neap_decide *decide, const struct neap_pod *stand,
		     uint32_t *ret_row, struct neap_error *err);

/* --- within a decision --- */

/* Returns whether the Reservation being placed takes pods over; rows then need no free
 * room. */
bool neap_kept_takes_over(const struct neap_kept *kept);
/* reasons: one per line. */
bool neap_takeover_fits(struct neap_cycle *cycle, uint32_t row, struct neap_buf *reasons);
int64_t neap_takeover_score(struct neap_cycle *cycle, uint32_t row);

#endif
