/* SPDX-License-Identifier: Apache-2.0
 *
 * The full report of a decision, for people: the refusal of every filter on every node,
 * and each score of every feasible node. Plugin filters (plugin_filters.c) see what the
 * tables accept, as in a decision, and the first refusal counts. A placed pod is
 * evaluated as if it were not there. Nothing is decided, and later decisions are not
 * affected. */
#ifndef NEAP_ENGINE_DECIDE_REPORT_H
#define NEAP_ENGINE_DECIDE_REPORT_H

#include "engine/decide/decide.h"
#include "engine/reserve/reserve.h"

/* Plugin scores that are reported; further ones only count. */
#define NEAP_REPORT_MORE_MAX 64

struct neap_report_reason {
	const char *filter; /* its name, valid until the next decision */
	uint32_t code;      /* for neap_decide_reason and neap_decide_can_help */
};

struct neap_report_node {
	uint32_t row;
	uint32_t pods;               /* pods on it, without the reported one */
	int64_t score;               /* for a feasible node: points times weights */
	size_t reason, reason_count; /* 0: it fits */
	/* for a feasible node: its index in the score columns */
	size_t at;
};

struct neap_report_score {
	const char *name; /* valid until the next decision */
	int weight;
	/* For every feasible node; NULL: the score was not computed (weight 0), or all
	 * nodes are equal. points: raw scaled to 0..NEAP_SCORE_MAX relative to the other
	 * nodes. */
	int64_t *raw, *points;
};

struct neap_report {
	struct neap_report_node *nodes; /* best first; infeasible nodes last */
	size_t node_count, fitting;
	struct neap_report_reason *reasons;
	size_t reason_count;
	struct neap_report_score scores[NEAP_SCORE_COUNT + NEAP_REPORT_MORE_MAX];
	size_t score_count;
};

/* Names of rows and reasons belong to the cluster, until it changes. -NEAP_EINVAL: the
 * pod cannot be read; -NEAP_ENOMEM. The caller calls neap_report_done on *ret in any
 * case. */
int neap_decide_report(struct neap_decide *decide, struct neap_pod *pod,
		       struct neap_report *ret, struct neap_error *err);
void neap_report_done(struct neap_report *report);

/* What a reservation offers to a pod. */
#define NEAP_OFFER_WHY 256
struct neap_report_offer {
	const struct neap_reserve *reserve; /* borrowed */
	bool is_used;                       /* the pod uses it now */
	bool is_open;                       /* the pod may use it, and it has room */
	/* ... and it is the one the pod would use on that node */
	bool is_first;
	char why[NEAP_OFFER_WHY]; /* why it is not open */
};

/* Lists the reservations on a node, by name; a placed pod is evaluated as if it were not
 * there. Empty for the placeholder of a Reservation and for a profile without the filter
 * Reservation. The caller frees *ret. Errors as above. */
int neap_decide_offers(struct neap_decide *decide, struct neap_pod *pod, uint32_t row,
		       struct neap_report_offer **ret, size_t *ret_count,
		       struct neap_error *err);

#endif
