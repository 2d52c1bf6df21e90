/* SPDX-License-Identifier: Apache-2.0
 *
 * What nodes really use, for decisions: settings of koord-scheduler's LoadAwareScheduling, NodeMetric objects as they
 * are told, and what is on its way: pods that a report does not show yet count with an estimate. Everything is a
 * vector over the few names of the settings; per node columns, counted again with the node (neap_cluster_settle).
 * CPU in thousandths, the rest in whole units, times in microseconds. Of one thread. */
#ifndef NEAP_ENGINE_CLUSTER_LOAD_H
#define NEAP_ENGINE_CLUSTER_LOAD_H

#include "engine/base/arena.h"
#include "engine/pod/pod.h"

/* Names of one configuration, and the room for one with its NUL. */
#define NEAP_LOAD_NAMES_MAX 16
#define NEAP_LOAD_NAME      128
/* Aggregated usages of one report. */
#define NEAP_LOAD_AGGREGATED_MAX 64

enum neap_load_type {
	NEAP_LOAD_PLAIN, /* not aggregated: the usage as it is */
	NEAP_LOAD_AVG,
	NEAP_LOAD_P50,
	NEAP_LOAD_P90,
	NEAP_LOAD_P95,
	NEAP_LOAD_P99,
	NEAP_LOAD_TYPE_COUNT
};

extern const char *const neap_load_types[NEAP_LOAD_TYPE_COUNT]; /* "", "avg", "p50" */

/* Which of the reported usages. usec 0: that over the longest time. */
struct neap_load_which {
	enum neap_load_type type;
	int64_t usec;
};

/* Percent of what a node has, by name; 0: none. */
struct neap_load_limits {
	int64_t usage[NEAP_LOAD_NAMES_MAX];
	int64_t prod[NEAP_LOAD_NAMES_MAX]; /* of production pods, for such */
	int64_t aggregated[NEAP_LOAD_NAMES_MAX];
	struct neap_load_which which; /* of aggregated; PLAIN: there are none */
};

struct neap_load_args {
	size_t count;
	char names[NEAP_LOAD_NAMES_MAX]
		  [NEAP_LOAD_NAME]; /* sorted; cpu and memory always */
	bool filters_expired;       /* a node whose report is too old is refused */
	bool passes_expired;        /* ... or taken without a look */
	bool includes_system;       /* production usage has that of the system in it */
	bool scores_prod;           /* production pods are scored by production usage */
	bool may_customize;         /* annotations of pods change the estimate */
	int64_t expiry_usec;        /* of a report */
	int64_t weights[NEAP_LOAD_NAMES_MAX];
	int64_t dominant_weight; /* of the scarcest one */
	/* Percent of a request that is used; -1: none, and no estimate but by a pod's own. */
	int64_t factors[NEAP_LOAD_NAMES_MAX];
	/* So long a pod counts with its estimate if that is more; -1: until it is reported. */
	int64_t after_scheduled_usec, after_initialized_usec;
	struct neap_load_limits limits;
	struct neap_load_which scored;
};

/* What holds without a configuration, as koord-scheduler's shipped one: no limits, reports old after 300 s, which does
 * not refuse a node. */
void neap_load_args_init(struct neap_load_args *args);
/* Args of LoadAwareScheduling (JSON object); what is missing has the defaults of the reference's code. NEAP_EINVAL
 * with the field, NEAP_ETOOLARGE. */
int neap_load_args_read(struct neap_load_args *ret, const json_t *json,
			struct neap_error *err);
/* Puts the annotation scheduling.koordinator.sh/usage-thresholds over limits; 0 and nothing when it is broken.
 * -NEAP_ENOMEM. */
int neap_load_limits_put(const struct neap_load_args *args, const char *annotation,
			 struct neap_load_limits *limits);
/* Amounts of a map of quantities by name; what is missing or cannot be read stays. False: something in it, whatever its
 * name, cannot be read. */
bool neap_load_vector(const struct neap_load_args *args, const json_t *map, int64_t *ret);

/* --- one report --- */

struct neap_load_usage {
	struct neap_load_which which;
	int64_t used[NEAP_LOAD_NAMES_MAX];
};

struct neap_load_pod {
	bool is_prod;
	int64_t used[NEAP_LOAD_NAMES_MAX];
};

struct neap_map;
struct neap_load_metric {
	bool has_time, has_usage;
	int64_t update_usec, interval_usec;
	int64_t used[NEAP_LOAD_NAMES_MAX], system[NEAP_LOAD_NAMES_MAX];
	struct neap_load_usage *aggregated;
	size_t aggregated_count;
	struct neap_map *pods; /* struct neap_load_pod by "NAMESPACE/NAME" */
	struct neap_arena arena;
};

/* Of a NodeMetric; what has not the right form in it is not there. -NEAP_ENOMEM. */
int neap_load_metric_new(const struct neap_load_args *args, const json_t *tree,
			 struct neap_load_metric **ret, struct neap_error *err);
void neap_load_metric_free(struct neap_load_metric *metric);
/* NULL: not reported. */
const int64_t *neap_load_metric_get(const struct neap_load_metric *metric,
				    struct neap_load_which which);

/* --- columns --- */

enum {
	NEAP_LOAD_HAS_METRIC = 1,
	NEAP_LOAD_HAS_TIME = 2,
	NEAP_LOAD_HAS_USAGE = 4,
	NEAP_LOAD_HAS_LIMITS = 8, /* some in the column LIMIT */
	NEAP_LOAD_HAS_PROD_LIMITS = 16,
	NEAP_LOAD_IS_AGGREGATED = 32 /* LIMIT and USED are of aggregated usage */
};

enum neap_load_column {
	NEAP_LOAD_CAPACITY, /* without what was amplified */
	NEAP_LOAD_USED, /* as it is limited, with what is on its way; the next two, too */
	NEAP_LOAD_PROD,
	NEAP_LOAD_SCORED,
	NEAP_LOAD_LIMIT, /* percent */
	NEAP_LOAD_PROD_LIMIT,
	NEAP_LOAD_COLUMN_COUNT
};

struct neap_load {
	struct neap_load_args args;
	/* Numbers of the names as pods of that class ask for them; UINT32_MAX: they do not. */
	uint32_t numbers[NEAP_BAND_COUNT][NEAP_LOAD_NAMES_MAX];
	uint8_t *flags; /* NULL: no report was told so far, and there are no columns */
	int64_t *update_usec;
	int64_t *columns[NEAP_LOAD_COLUMN_COUNT][NEAP_LOAD_NAMES_MAX];
};

/* What a pod will use, by name; never less than nothing. */
void neap_load_estimate(const struct neap_load *load, const struct neap_pod *pod,
			int64_t *ret);

#endif
