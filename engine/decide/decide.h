/* SPDX-License-Identifier: Apache-2.0
 *
 * Which node a pod goes to, and why not to the others. A table of filters and a table of scores (filters.c,
 * scores.c); answers and reasons are kube-scheduler's. Reads a cluster and nothing else: the same cluster, pod,
 * time and number of decisions so far give the same answer. What it works with is kept from one decision to the next. */
#ifndef NEAP_ENGINE_DECIDE_DECIDE_H
#define NEAP_ENGINE_DECIDE_DECIDE_H

#include "engine/base/buf.h"
#include "engine/cluster/cluster.h"

/* Points of a node in one score. */
#define NEAP_SCORE_MAX 100
/* So many nodes are looked at in any case, if there are. */
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
	NEAP_SCORE_LOAD_AWARE,  /* weight 0 by default */
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
	/* Of all nodes, so many fitting ones are enough, 1 to 100; 0: as kube-scheduler, 50 for a hundred nodes down to 5
	 * for many. */
	int percentage;
	/* By neap_score_id; NULL: kube-scheduler's. A score of weight 0 is not computed. */
	const int *weights;
	/* Further filters and scores (engine/decide/plugin_filters.h), borrowed; NULL: none. */
	const struct neap_decide_more *more;
	/* Reservations of the cluster, borrowed; NULL: there are none. Who has a say in them beside their owners, borrowed;
	 * NULL: nobody. */
	struct neap_reserve_book *book;
	const struct neap_reserve_matcher *matcher;
	/* Of a profile (settings.h), in place of the two before; counted. NULL: kube-scheduler's. */
	struct neap_settings *settings;
};

/* Those that hold when config.weights is NULL. */
void neap_decide_weights(int ret[NEAP_SCORE_COUNT]);

struct neap_decide;

struct neap_choice {
	uint32_t row;
	const char *node; /* borrowed from the cluster */
	int64_t score;    /* 0 when it was the only one */
	size_t looked_at, fitting;
};

int neap_decide_new(const struct neap_decide_config *config, struct neap_decide **ret,
		    struct neap_error *err);
void neap_decide_free(struct neap_decide *decide);

/* Unix time of the decisions that follow, for the age of reports; 0 before. */
void neap_decide_set_now(struct neap_decide *decide, int64_t now_usec);

/* 1: a place, which is not taken yet. 0: there is none. -NEAP_EINVAL: the pod has trouble; -NEAP_ENOMEM. */
int neap_decide_pod(struct neap_decide *decide, const struct neap_pod *pod,
		    struct neap_choice *ret, struct neap_error *err);

/* The same, whatever the percentage of nodes that are looked at. */
int neap_decide_pod_of_all(struct neap_decide *decide, const struct neap_pod *pod,
			   struct neap_choice *ret, struct neap_error *err);

/* --- about the decision before --- */

/* How many rows fitted of one with a place, and all of those, the chosen one first, then by their points; as long as
 * nothing else was asked but for claims of the pod. */
size_t neap_decide_fitting(struct neap_decide *decide);
void neap_decide_best(struct neap_decide *decide, uint32_t *ret);

/* The reservations that it goes by; NULL: there are none. */
const struct neap_reserve_book *neap_decide_book(const struct neap_decide *decide);
/* Nodes that there were. */
size_t neap_decide_nodes(const struct neap_decide *decide);

/* Of one without a place: "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable." */
void neap_decide_explain(const struct neap_decide *decide, struct neap_buf *out);
/* The same of one that fits somewhere: the claims on so many nodes failed, and why tells the reason. */
void neap_decide_explain_claims(const struct neap_decide *decide, size_t claims,
				const char *why, struct neap_buf *out);
/* What may help a pod without a place: NEAP_MOVED_*. */
unsigned neap_decide_wakes(const struct neap_decide *decide);
/* Unix time at which a reservation may be open to it by then; 0: not by time alone. */
int64_t neap_decide_again(const struct neap_decide *decide);

/* Every refusal of a node, some nodes have several. */
struct neap_refusal {
	uint32_t row;
	uint32_t code; /* of engine/decide/decide_priv.h */
};
const struct neap_refusal *neap_decide_refusals(const struct neap_decide *decide,
						size_t *ret_count);
/* "Insufficient cpu"; borrowed or in buf. */
const char *neap_decide_reason(const struct neap_decide *decide, uint32_t code, char *buf,
			       size_t size);
/* Whether fewer pods on the node could help. */
bool neap_decide_can_help(uint32_t code);

/* --- about nodes that somebody else chose --- */

/* Asked now and then by the two that follow, from now on: whether their time is over. NULL: it never is. */
void neap_decide_set_hurry(struct neap_decide *decide, bool (*is_over)(void *arg),
			   void *arg);

struct neap_verdict {
	const uint32_t *rows;  /* borrowed until the next decision, in the order asked */
	const int64_t *scores; /* of each; NULL where they were not asked for */
	size_t count;
};

/* Which of these rows (each once, of nodes that are there) the pod fits onto; the refusals of the others are behind each
 * other in the order asked. When time is over some fit already, those that were not looked at are refused for that.
 * 0; -NEAP_EINVAL: the pod has trouble; -NEAP_EUNAVAILABLE: there was no time for all, and none of the others fits;
 * -NEAP_ENOMEM. */
int neap_decide_rows(struct neap_decide *decide, const struct neap_pod *pod,
		     const uint32_t *rows, size_t count, struct neap_verdict *ret,
		     struct neap_error *err);
/* The points of all of them, whether it fits or not; in those scores that there was time for. */
int neap_decide_scores(struct neap_decide *decide, const struct neap_pod *pod,
		       const uint32_t *rows, size_t count, struct neap_verdict *ret,
		       struct neap_error *err);
/* Whether the pod would fit onto row without these pods, which are there (each once). 1, 0, or -code as above. */
int neap_decide_without(struct neap_decide *decide, const struct neap_pod *pod,
			uint32_t row, struct neap_pod *const *gone, size_t count,
			struct neap_error *err);

/* --- making room --- */

/* Nodes on which it is tried, of those that have pods of lower priority and where it may help, whatever the settings say
 * of nodes to compare: the next ones each time, until all had their turn. */
#define NEAP_PREEMPT_TRIALS 200
/* ... of a pod whose place depends on pods elsewhere: each trial counts them all. */
#define NEAP_PREEMPT_TRIALS_FAR 10

struct neap_victims {
	uint32_t row;
	const char *node; /* borrowed from the cluster */
	struct neap_pod *
		*pods; /* borrowed, until the next decision; the most important first */
	size_t count; /* 0: room is being made already on the node that it is nominated for */
	size_t violations; /* of budgets */
	size_t untried; /* of the answer 0: nodes whose turn comes when it is asked again */
};

/* Whether it never has to go for others: a reservation, or a pod that says so by its label disable-preemptible. */
bool neap_decide_is_spared(const struct neap_pod *pod);
/* After a decision that found no place for pod: which pods of lower priority would have to go, and from where: as few
 * violations of budgets as may be, then the least important pods. 1; 0: nothing helps of what was tried, and the explanation
 * says so from now on; -NEAP_ENOMEM. What is decided about the cluster is not changed. */
/* Of a pod that stands for a Reservation: 0 unless the settings allow it. */
int neap_decide_preempt(struct neap_decide *decide, struct neap_pod *pod,
			struct neap_victims *ret, struct neap_error *err);

#endif
