/* SPDX-License-Identifier: Apache-2.0
 *
 * One decision at work, shared by the files of engine/decide. */
#ifndef NEAP_ENGINE_DECIDE_DECIDE_PRIV_H
#define NEAP_ENGINE_DECIDE_DECIDE_PRIV_H

#include "engine/decide/cpus.h"
#include "engine/decide/decide.h"
#include "engine/decide/domains.h"
#include "engine/decide/load.h"
#include "engine/decide/plugin_filters.h"
#include "engine/decide/reserve_lift.h"
#include "engine/decide/settings.h"
#include "engine/decide/tally.h"

/* Topology keys that the terms of other pods may have, together; others do not count. */
#define NEAP_NEAR_KEYS_MAX 64

/* Steps of one decision, some 10 to 80 ns each: one is a rule of a selector or a term
 * that is asked of a kind of pods or of a node, or eight kinds that are counted on a node.
 * Without a bound a pod with 200 terms takes four seconds among 50,000 kinds of pods, and
 * one with a single term a second when room is made for it. */
#define NEAP_DECIDE_STEPS 500000

/* Those of a cycle; filters.c sees that all fit. */
#define NEAP_FILTERS_MAX 16

struct neap_filter;

/* Why a node is refused. The argument, in the lower bits of a code: of TAINT the number of the taint, of INSUFFICIENT
 * that of the resource, or NEAP_RESOURCES_MAX and the place in pod->unknown, of LOAD and LOAD_AGGREGATED that of the name in the settings, of CPUS, CPUS_ROOM, KEPT and KEPT_ROOM
 * that of the text in the cycle, of MORE what more->reason takes; else 0. */
enum neap_reason {
	NEAP_REASON_UNSCHEDULABLE,
	NEAP_REASON_TAINT,
	NEAP_REASON_NODE_AFFINITY,
	NEAP_REASON_ADDED_AFFINITY,
	NEAP_REASON_PORTS,
	NEAP_REASON_TOO_MANY_PODS,
	NEAP_REASON_INSUFFICIENT,
	NEAP_REASON_CLAIM_IN_USE,
	NEAP_REASON_POD, /* its text is cycle.stop */
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

/* Different texts of refusals in one decision; those beyond are not told apart. */
#define NEAP_REASON_TEXTS_MAX 128

#define NEAP_REASON_SHIFT 24
#define NEAP_REASON_ARG   ((UINT32_C(1) << NEAP_REASON_SHIFT) - 1)

/* A resource that a score compares nodes by. */
struct neap_scored {
	uint32_t resource;
	bool is_scalar; /* counts only for pods that ask for it: not cpu, memory, ... */
	int64_t weight;
};

/* Pods in the emptiest domain, and in the one after it (INT64_MAX: there is none). */
struct neap_emptiest {
	int64_t first, second;
	int64_t self; /* 1: the constraint counts the pod itself, wherever it goes */
};

struct neap_cycle {
	struct neap_cluster *cluster;
	const struct neap_settings *settings;
	struct neap_scored fit[NEAP_SETTINGS_ITEMS_MAX], balance[NEAP_SETTINGS_ITEMS_MAX];
	size_t fit_count, balance_count;
	uint64_t
		ignored, /* requests of the pod that no room is asked for, by their index */
		ignored_unknown; /* ... of pod->unknown */
	const struct neap_columns *columns;
	const struct neap_pod *pod;
	bool is_short; /* of memory */
	int64_t steps; /* that are left; below 0: not all was looked at */
	int64_t node_rules,
		row_cost; /* of the pod's affinity; of what is asked of a row */
	struct neap_refusal *refusals;
	size_t refusal_count, refusal_size;
	unsigned wakes;
	/* By the number of a taint: whether the pod tolerates it; 0 not known, 1 yes, 2 no. */
	uint8_t *tolerated;
	size_t tolerated_size;
	/* Of affinities between pods, and of spreading: first the filter's, then the score's. */
	struct neap_tally near, spread;
	bool near_known, spread_known; /* the filter's, as of this decision */
	const char *near_keys[NEAP_NEAR_KEYS_MAX];
	uint32_t near_key_count, near_first; /* the slot of the first of them */
	bool is_first; /* nobody is there yet whom the pod must be near, and it is so itself */
	struct neap_emptiest *emptiest; /* by constraint */
	struct neap_arena arena;        /* of one decision */
	int64_t now_usec;
	/* Why it cannot be anywhere, as a filter found before it looked at a node; NULL: it may be. */
	const char *stop;
	const struct neap_volume **volumes; /* of the pod's claims */
	size_t volume_count;
	struct neap_load_ask load;
	struct neap_cpu_work *cpus; /* from the first pod on that it concerns */
	struct neap_buf cpus_why;   /* the last refusal, in full */
	const char *texts[NEAP_REASON_TEXTS_MAX];
	size_t text_count;
	/* What others of at least its priority wait for, by resource or neap_nominated, and node. */
	struct neap_domains nominated;
	/* Those that fit, and their points. */
	uint32_t *rows;
	int64_t *scores, *part;
	size_t row_size, row_count;
	size_t chosen; /* of the rows, at the decision before */
	struct neap_kept kept;
	const struct neap_decide_more *more; /* NULL: none */
	bool has_more_filters;               /* in this decision */
	uint32_t *more_answers;              /* row_size of them where there are more */
};

/* cycle.stop of the decision before. */
const char *neap_decide_stop(const struct neap_decide *decide);
struct neap_cluster *neap_decide_cluster(const struct neap_decide *decide);

struct neap_cycle *neap_decide_cycle(struct neap_decide *decide);
/* rank.c: the best of the rows, of which there is one: the most points; of equals the one with the fewest pods, then the
 * first that was looked at. */
size_t neap_cycle_pick(const struct neap_cycle *cycle);
/* Whether pod fits onto a row as the cluster is now; what refuses it is not noted. */
bool neap_decide_fits(struct neap_decide *decide, uint32_t row);
/* Looks at the nodes of the decision before once more, as those that the pod may use are others now; its refusals are
 * those of this look. Whether it fits somewhere. Everything is in its place before and after. */
bool neap_decide_look_again(struct neap_decide *decide);
/* What every decision begins with; see neap_decide_pod for the errors. */
int neap_decide_begin(struct neap_decide *decide, const struct neap_pod *pod,
		      struct neap_error *err);
/* What it ends with: everything is in its place again. */
void neap_decide_finish(struct neap_decide *decide);
/* Filters that have something to say of the pod, in their order. */
size_t neap_decide_active(struct neap_decide *decide,
			  const struct neap_filter *ret[NEAP_FILTERS_MAX]);
int neap_decide_weight(const struct neap_decide *decide, int score);
/* Of the cycle's rows, as it comes and as points. False: it has nothing to say. */
bool neap_decide_score(struct neap_decide *decide, int which, int64_t *raw,
		       int64_t *points);
/* How the explanation ends; kept until the next decision. NULL: without memory. */
void neap_decide_set_end(struct neap_decide *decide, const char *text);
const char *neap_decide_end(const struct neap_decide *decide);

/* Notes why row is refused; returns false, so that a filter can end with it. */
bool neap_cycle_refuse(struct neap_cycle *cycle, uint32_t row, enum neap_reason reason,
		       uint32_t arg);
/* The same with words of its own, which are kept until the next decision. */
bool neap_cycle_refuse_text(struct neap_cycle *cycle, uint32_t row,
			    enum neap_reason reason, const char *text, size_t len);
/* cpus.c: all of the words of the last answer, a refusal, of which an error has as many as it has room for. */
const char *neap_cycle_cpus_why(const struct neap_cycle *cycle,
				const struct neap_error *err);
/* NULL: it is none of those that are kept. */
const char *neap_decide_text(const struct neap_decide *decide, uint32_t number);
bool neap_cycle_tolerates(struct neap_cycle *cycle, const struct neap_taint *taint);

/* --- what a decision may cost: cost.c --- */

/* Takes steps off those that are left; false when they are used up. */
bool neap_cycle_spend(struct neap_cycle *cycle, int64_t steps);
/* In steps. */
int64_t neap_cost_of_term(const struct neap_term *term);
int64_t neap_cost_of_terms(const struct neap_terms *terms);
int64_t neap_cost_of_pod_term(const struct neap_pod_term *term);

/* more.c */
void neap_more_begin(struct neap_cycle *cycle);
/* Asks about cycle->rows from `from` on, and leaves those that are allowed. False: begin anew. */
bool neap_more_filter(struct neap_cycle *cycle, size_t from);
bool neap_more_fits(struct neap_cycle *cycle, uint32_t row);
/* Of a reason of theirs, as of a refusal. */
uint32_t neap_more_code(uint32_t reason);
const char *neap_more_reason(const struct neap_decide *decide, uint32_t reason);
void neap_more_add_scores(struct neap_cycle *cycle);

/* Names of resources as numbers of the cluster; ret has room for all of from. NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_cycle_number(struct neap_cluster *cluster,
		      const struct neap_settings_resources *from, struct neap_scored *ret,
		      size_t *ret_count, struct neap_error *err);

/* --- pods for whom room is made: nominated.c --- */

/* Where one of them is in the way of the pod; numbers behind those of resources. */
enum neap_nominated {
	NEAP_NOMINATED_PORTS = NEAP_RESOURCES_MAX,
	NEAP_NOMINATED_AWAY,     /* the pod must be away from it */
	NEAP_NOMINATED_UNWANTED, /* it must be away from the pod */
	NEAP_NOMINATED_SPREAD    /* and behind it: a constraint counts it */
};
/* What they wait for: found once a pod, before filters are prepared; then of a row. */
void neap_cycle_find_nominated(struct neap_cycle *cycle);
int64_t neap_cycle_nominated(const struct neap_cycle *cycle, uint32_t row,
			     uint32_t resource);
/* The next one of at least the pod's priority, which is not the pod; at begins at 0. NULL: there are no more. */
const struct neap_pod *neap_nominated_next(const struct neap_cycle *cycle, size_t *at);
/* Of its node, as long as nothing is found anew. */
void neap_nominated_note(struct neap_cycle *cycle, const struct neap_pod *other,
			 enum neap_nominated what);
bool neap_nominated_is(const struct neap_cycle *cycle, uint32_t row,
		       enum neap_nominated what);

/* A filter: a row of the table. */
struct neap_filter {
	const char *name;
	/* Once a pod. False: it has nothing to say of it. NULL: it always has. */
	bool (*prepare)(struct neap_cycle *cycle);
	bool (*fits)(struct neap_cycle *cycle, uint32_t row);
	/* What may make a refused node fit: NEAP_MOVED_* beside NODE_ADDED. */
	unsigned wakes;
};
extern const struct neap_filter *const neap_filters[]; /* NULL ends */
/* Those that have something to say of the cycle's pod, in their order; active has room for NEAP_FILTERS_MAX. */
size_t neap_filters_prepare(struct neap_cycle *cycle, const struct neap_filter **active);
extern const struct neap_filter neap_filter_room, neap_filter_spread, neap_filter_near,
	neap_filter_load, neap_filter_claims, neap_filter_volumes, neap_filter_zones,
	neap_filter_cpus, neap_filter_kept;
/* Of neap_filter_kept, for pods that must use one: asked before all others. */
extern const struct neap_filter neap_filter_match;
/* Both want one port of the host. */
bool neap_ports_collide(const struct neap_pod *a, const struct neap_pod *b);

/* A score: a row of the table, in the order of neap_score_id. */
struct neap_score {
	const char *name;
	int weight; /* kube-scheduler's */
	/* How raw points become 0 to NEAP_SCORE_MAX: they are; the largest is the most; the largest is none; from the
	 * least to the largest. */
	enum { NEAP_SCORE_AS_IS, NEAP_SCORE_UP, NEAP_SCORE_DOWN, NEAP_SCORE_SPAN } scale;
	/* Once a pod; false: all nodes are alike. NULL: it always has something to say. */
	bool (*prepare)(struct neap_cycle *cycle);
	void (*score)(struct neap_cycle *cycle, const uint32_t *rows, size_t count,
		      int64_t *ret);
};
extern const struct neap_score *const neap_scores[NEAP_SCORE_COUNT];
/* Points of count nodes, 1 at least; how: as scale above. */
void neap_score_scale(int64_t *part, size_t count, int how);
extern const struct neap_score neap_score_spread, neap_score_near, neap_score_load,
	neap_score_cpus, neap_score_kept;

/* What refusals are called. */
struct neap_reason_row {
	const char *text;
	/* Fewer pods on the node; also of LOAD_EXPIRED, where koord-scheduler tries it in vain. */
	bool can_help;
};
extern const struct neap_reason_row neap_reasons[NEAP_REASON_COUNT];

#endif
