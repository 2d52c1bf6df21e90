/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole of a decision, for people: every filter's word on every node, and the points of those that fit, score by
 * score. Further filters (plugin_filters.h) are asked about what the table lets pass, as in a decision, and the first that refuses
 * has its word. A pod that has a place is looked at as if it was not there. Nothing is decided: what is placed next goes where it
 * would have gone. */
#ifndef NEAP_ENGINE_DECIDE_REPORT_H
#define NEAP_ENGINE_DECIDE_REPORT_H

#include "engine/decide/decide.h"
#include "engine/reserve/reserve.h"

/* Further scores that are told; those beyond only count. */
#define NEAP_REPORT_MORE_MAX 64

struct neap_report_reason {
	const char *filter; /* its name, until the next decision */
	uint32_t code;      /* for neap_decide_reason and neap_decide_can_help */
};

struct neap_report_node {
	uint32_t row;
	uint32_t pods;               /* on it, but for the one that is looked at */
	int64_t score;               /* of one that fits: points times weights */
	size_t reason, reason_count; /* 0: it fits */
	size_t at;                   /* of one that fits: in the columns of the scores */
};

struct neap_report_score {
	const char *name; /* until the next decision */
	int weight;
	/* Of every node that fits; NULL: it was not asked (weight 0), or all nodes are alike to it. points: 0 to
	 * NEAP_SCORE_MAX, what raw becomes beside the other nodes; the same in further scores. */
	int64_t *raw, *points;
};

struct neap_report {
	struct neap_report_node *nodes; /* the best first, those that do not fit last */
	size_t node_count, fitting;
	struct neap_report_reason *reasons;
	size_t reason_count;
	struct neap_report_score scores[NEAP_SCORE_COUNT + NEAP_REPORT_MORE_MAX];
	size_t score_count;
};

/* The names of rows and reasons are the cluster's, until it changes. -NEAP_EINVAL: the pod has trouble; -NEAP_ENOMEM.
 * *ret is to be given to neap_report_done in any case. */
int neap_decide_report(struct neap_decide *decide, struct neap_pod *pod,
		       struct neap_report *ret, struct neap_error *err);
void neap_report_done(struct neap_report *report);

/* What a reservation is to a pod. */
#define NEAP_OFFER_WHY 256
struct neap_report_offer {
	const struct neap_reserve *reserve; /* borrowed */
	bool is_used;                       /* the pod has it */
	bool is_open;                       /* it may use it, and there is room */
	bool is_first;            /* ... and it is the one that it would use there */
	char why[NEAP_OFFER_WHY]; /* when it is not open */
};

/* Of those on a node, by name; a pod that has a place is looked at as if it was not there. A Reservation is offered none,
 * nor is a pod of a profile without the filter Reservation. *ret is to be freed. Errors as above. */
int neap_decide_offers(struct neap_decide *decide, struct neap_pod *pod, uint32_t row,
		       struct neap_report_offer **ret, size_t *ret_count,
		       struct neap_error *err);

#endif
