/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of one decision, shared by the files of engine/decide. */
#ifndef NEAP_ENGINE_DECIDE_DECIDE_PRIV_H
#define NEAP_ENGINE_DECIDE_DECIDE_PRIV_H

#include "engine/decide/columns/domains.h"
#include "engine/decide/columns/tally.h"
#include "engine/decide/cpus.h"
#include "engine/decide/decide.h"
#include "engine/decide/load.h"
#include "engine/decide/reserve_lift.h"
#include "engine/decide/settings.h"

/* Distinct topology keys of other pods' terms that are considered; further ones are
 * ignored. */
#define NEAP_NEAR_KEYS_MAX 64

/* Step budget of one decision; a step takes 10 to 80 ns and is one selector rule or term
 * checked against a kind of pods or a node, or eight pod kinds counted on a node. Without
 * the bound, a pod with 200 terms takes four seconds among 50,000 kinds of pods, and
 * preemption for a pod with a single term takes one second. */
#define NEAP_DECIDE_STEPS 500000

/* Capacity of a cycle's filter list; filters.c asserts that all filters fit. */
#define NEAP_FILTERS_MAX 16

struct neap_filter;

/* Why a node is refused. The argument is in the lower bits of a code: for TAINT the
 * taint's number; for INSUFFICIENT the resource's number, or NEAP_RESOURCES_MAX plus the
 * index in pod->unknown; for LOAD and LOAD_AGGREGATED the index of the name in the
 * settings; for CPUS, CPUS_ROOM, KEPT and KEPT_ROOM the number of the text in the cycle;
 * for MORE the argument of more->reason; else 0. */
enum neap_reason {
	NEAP_REASON_UNSCHEDULABLE,
	NEAP_REASON_TAINT,
	NEAP_REASON_NODE_AFFINITY,
	NEAP_REASON_ADDED_AFFINITY,
	NEAP_REASON_PORTS,
	NEAP_REASON_TOO_MANY_PODS,
	NEAP_REASON_INSUFFICIENT,
	NEAP_REASON_CLAIM_IN_USE,
	NEAP_REASON_POD, /* the text is cycle.stop */
	NEAP_REASON_VOLUME_AFFINITY,
	NEAP_REASON_VOLUME_ZONE,
	NEAP_REASON_SPREAD_LABEL,
	NEAP_REASON_SPREAD,
	NEAP_REASON_NEAR,
	NEAP_REASON_AWAY,
	NEAP_REASON_UNWANTED,
	NEAP_REASON_LOAD_EXPIRED,
	NEAP_REASON_LOAD,
	NEAP_REASON_LOAD_AGGREGATED,
	NEAP_REASON_CPUS,
	NEAP_REASON_CPUS_ROOM,
	NEAP_REASON_KEPT,
	NEAP_REASON_KEPT_ROOM,
	NEAP_REASON_MORE,
	NEAP_REASON_LATE,
	NEAP_REASON_COSTLY,
	NEAP_REASON_COUNT
};

/* Distinct refusal texts of one decision; further texts share one. */
#define NEAP_REASON_TEXTS_MAX 128

#define NEAP_REASON_SHIFT 24
#define NEAP_REASON_ARG   ((UINT32_C(1) << NEAP_REASON_SHIFT) - 1)

/* A resource that a score compares nodes by. */
struct neap_scored {
	uint32_t resource;
	bool is_scalar; /* counts only for pods that request it: not cpu, memory, ... */
	int64_t weight;
};

/* Pods in the emptiest domain, and in the second emptiest (INT64_MAX: there is none). */
struct neap_emptiest {
	int64_t first, second;
	int64_t self; /* 1: the constraint counts the pod itself on any node */
};

struct neap_cycle {
	struct neap_cluster *cluster;
	const struct neap_settings *settings;
	struct neap_scored fit[NEAP_SETTINGS_ITEMS_MAX], balance[NEAP_SETTINGS_ITEMS_MAX];
	size_t fit_count, balance_count;
	uint64_t ignored,        /* indexes of requests that need no room */
		ignored_unknown; /* ... of pod->unknown */
	const struct neap_columns *columns;
	const struct neap_pod *pod;
	bool is_short; /* of memory */
	int64_t steps; /* steps left; below 0: not everything was examined */
	int64_t node_rules,
		row_cost; /* steps per row, for the pod's affinity and for all checks */
	struct neap_refusal *refusals;
	size_t refusal_count, refusal_size;
	unsigned wakes;
	/* By taint number: whether the pod tolerates it; 0 unknown, 1 yes, 2 no. */
	uint8_t *tolerated;
	size_t tolerated_size;
	/* Counts for inter-pod affinity and topology spread; first the filter's, then the
	 * score's. */
	struct neap_tally near, spread;
	/* whether they hold the filter's counts of this decision */
	bool near_known, spread_known;
	const char *near_keys[NEAP_NEAR_KEYS_MAX];
	uint32_t near_key_count, near_first; /* near_first: the slot of the first key */
	bool is_first; /* no pod matches yet, and the pod matches its own affinity term */
	struct neap_emptiest *emptiest; /* by constraint */
	struct neap_arena arena;        /* of one decision */
	int64_t now_usec;
	/* Why the pod fits no node at all, found before any node was examined; NULL: no
	 * such reason. */
	const char *stop;
	const struct neap_volume **volumes; /* the volumes of the pod's claims */
	size_t volume_count;
	struct neap_load_ask load;
	struct neap_cpu_work *cpus; /* allocated for the first pod that needs it */
	struct neap_buf cpus_why;   /* the last refusal in full */
	const char *texts[NEAP_REASON_TEXTS_MAX];
	size_t text_count;
	/* What nominated pods of at least its priority wait for, by resource or
	 * neap_nominated, and by node. */
	struct neap_domains nominated;
	/* Feasible rows and their points. */
	uint32_t *rows;
	int64_t *scores, *part;
	size_t row_size, row_count;
	size_t chosen; /* index into rows chosen by the previous decision */
	struct neap_kept kept;
	const struct neap_decide_more *more; /* NULL: none */
	bool has_more_filters;               /* in this decision */
	/* A node is being chosen for the pod; false: it is only asked about. */
	bool is_choice;
	/* row_size entries when there are plugin filters */
	uint32_t *more_answers;
};

/* Returns cycle.stop of the previous decision. */
const char *neap_decide_stop(const struct neap_decide *decide);
struct neap_cluster *neap_decide_cluster(const struct neap_decide *decide);

struct neap_cycle *neap_decide_cycle(struct neap_decide *decide);
/* rank.c: picks the best of the rows (at least one): highest score, then fewest pods,
 * then examined first. */
size_t neap_cycle_pick(const struct neap_cycle *cycle);
/* Returns whether the pod fits onto a row in the cluster's present state; records no
 * refusal. */
bool neap_decide_fits(struct neap_decide *decide, uint32_t row);
/* Repeats the previous decision's filtering, because the set of reservations the pod may
 * use has changed; its refusals replace the earlier ones. Returns whether the pod fits
 * somewhere. No placeholder is lifted before or after. */
bool neap_decide_look_again(struct neap_decide *decide);
/* Starts a decision; errors as in neap_decide_pod. */
int neap_decide_begin(struct neap_decide *decide, const struct neap_pod *pod,
		      struct neap_error *err);
/* Ends it and puts lifted placeholders back. */
void neap_decide_finish(struct neap_decide *decide);
/* Lists the filters that apply to the pod, in order. */
size_t neap_decide_active(struct neap_decide *decide,
			  const struct neap_filter *ret[NEAP_FILTERS_MAX]);
int neap_decide_weight(const struct neap_decide *decide, int score);
/* Computes one score for the cycle's rows, raw and as points. Returns false when it does
 * not apply. */
bool neap_decide_score(struct neap_decide *decide, int which, int64_t *raw,
		       int64_t *points);
/* Sets the end of the explanation; kept until the next decision. NULL: without memory. */
void neap_decide_set_end(struct neap_decide *decide, const char *text);
const char *neap_decide_end(const struct neap_decide *decide);

/* Records why row is refused; returns false so that a filter can return the result. */
bool neap_cycle_refuse(struct neap_cycle *cycle, uint32_t row, enum neap_reason reason,
		       uint32_t arg);
/* The same with a text, which is kept until the next decision. */
bool neap_cycle_refuse_text(struct neap_cycle *cycle, uint32_t row,
			    enum neap_reason reason, const char *text, size_t len);
/* cpus.c: returns the full text of the last refusal; an error holds only its
 * beginning. */
const char *neap_cycle_cpus_why(const struct neap_cycle *cycle,
				const struct neap_error *err);
/* Returns NULL when number is not one of the kept texts. */
const char *neap_decide_text(const struct neap_decide *decide, uint32_t number);
bool neap_cycle_tolerates(struct neap_cycle *cycle, const struct neap_taint *taint);

/* --- what a decision may cost: rank.c --- */

/* Subtracts steps from the budget; returns false when it is used up. */
bool neap_cycle_spend(struct neap_cycle *cycle, int64_t steps);
/* In steps. */
int64_t neap_cost_of_term(const struct neap_term *term);
int64_t neap_cost_of_terms(const struct neap_terms *terms);
int64_t neap_cost_of_pod_term(const struct neap_pod_term *term);

/* --- plugin filters: plugin_filters.c --- */

void neap_more_begin(struct neap_cycle *cycle);
/* Applies the plugin filters to cycle->rows from `from` on and keeps the accepted rows.
 * Returns false when the filtering must start over. */
bool neap_more_filter(struct neap_cycle *cycle, size_t from);
bool neap_more_fits(struct neap_cycle *cycle, uint32_t row);
/* The refusal code of a plugin filter's reason. */
uint32_t neap_more_code(uint32_t reason);
const char *neap_more_reason(const struct neap_decide *decide, uint32_t reason);
void neap_more_add_scores(struct neap_cycle *cycle);

/* Resolves resource names to the cluster's numbers; ret has room for all of from.
 * NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_cycle_number(struct neap_cluster *cluster,
		      const struct neap_settings_resources *from, struct neap_scored *ret,
		      size_t *ret_count, struct neap_error *err);

/* --- pods for whom room is made: nominated.c --- */

/* How a nominated pod is in the way of the pod; numbers continue after those of
 * resources. */
enum neap_nominated {
	NEAP_NOMINATED_PORTS = NEAP_RESOURCES_MAX,
	NEAP_NOMINATED_AWAY,     /* the pod's anti-affinity excludes it */
	NEAP_NOMINATED_UNWANTED, /* its anti-affinity excludes the pod */
	NEAP_NOMINATED_SPREAD    /* and above: a spread constraint counts it */
};
/* Collects nominated pods once per pod, before filters are prepared; the next function
 * returns those of a row. */
void neap_cycle_find_nominated(struct neap_cycle *cycle);
int64_t neap_cycle_nominated(const struct neap_cycle *cycle, uint32_t row,
			     uint32_t resource);
/* Returns the next nominated pod of at least the pod's priority, other than the pod; at
 * starts at 0. NULL at the end. */
const struct neap_pod *neap_nominated_next(const struct neap_cycle *cycle, size_t *at);
/* Records what for the nominated pod's node, until nominated pods are collected again. */
void neap_nominated_note(struct neap_cycle *cycle, const struct neap_pod *other,
			 enum neap_nominated what);
bool neap_nominated_is(const struct neap_cycle *cycle, uint32_t row,
		       enum neap_nominated what);

/* A filter: a row of the table. */
struct neap_filter {
	const char *name;
	/* Called once per pod. Returns false when the filter does not apply. NULL: it
	 * always applies. */
	bool (*prepare)(struct neap_cycle *cycle);
	bool (*fits)(struct neap_cycle *cycle, uint32_t row);
	/* NEAP_MOVED_* events that may make a refused node fit, besides NODE_ADDED. */
	unsigned wakes;
};
extern const struct neap_filter *const neap_filters[]; /* NULL ends */
/* Lists the filters that apply to the cycle's pod, in order; active has room for
 * NEAP_FILTERS_MAX. */
size_t neap_filters_prepare(struct neap_cycle *cycle, const struct neap_filter **active);
extern const struct neap_filter neap_filter_room, neap_filter_spread, neap_filter_near,
	neap_filter_load, neap_filter_claims, neap_filter_volumes, neap_filter_zones,
	neap_filter_cpus, neap_filter_kept;
/* Part of neap_filter_kept, for pods that must use a reservation; runs before all
 * others. */
extern const struct neap_filter neap_filter_match;
/* Returns whether both use the same host port. */
bool neap_ports_collide(const struct neap_pod *a, const struct neap_pod *b);

/* A score: a row of the table, in the order of neap_score_id. */
struct neap_score {
	const char *name;
	int weight; /* kube-scheduler's */
	/* How raw values become 0 to NEAP_SCORE_MAX: unchanged; largest is best; largest
	 * is worst; from smallest to largest. */
	enum { NEAP_SCORE_AS_IS, NEAP_SCORE_UP, NEAP_SCORE_DOWN, NEAP_SCORE_SPAN } scale;
	/* Called once per pod; false: all nodes are equal. NULL: it always applies. */
	bool (*prepare)(struct neap_cycle *cycle);
	void (*score)(struct neap_cycle *cycle, const uint32_t *rows, size_t count,
		      int64_t *ret);
};
extern const struct neap_score *const neap_scores[NEAP_SCORE_COUNT];
/* Scales the values of count nodes (at least 1); how: as scale above. */
void neap_score_scale(int64_t *part, size_t count, int how);
extern const struct neap_score neap_score_spread, neap_score_near, neap_score_load,
	neap_score_cpus, neap_score_kept;

/* Texts of the reasons. */
struct neap_reason_row {
	const char *text;
	/* Fewer pods on the node could help. Also set for LOAD_EXPIRED, where
	 * koord-scheduler tries in vain. */
	bool can_help;
};
extern const struct neap_reason_row neap_reasons[NEAP_REASON_COUNT];

#endif
