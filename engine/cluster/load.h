/* SPDX-License-Identifier: Apache-2.0
 *
 * The measured load of nodes, for decisions: the settings of koord-scheduler's
 * LoadAwareScheduling, NodeMetric objects, and estimates for pods that no report shows
 * yet. All amounts are vectors over the few resource names of the settings, kept as
 * per-node columns and recounted with the node (neap_cluster_settle). CPU in thousandths,
 * other resources in whole units, times in microseconds. Single-threaded. */
#ifndef NEAP_ENGINE_CLUSTER_LOAD_H
#define NEAP_ENGINE_CLUSTER_LOAD_H

#include "engine/base/arena.h"
#include "engine/pod/pod.h"

/* Names of one configuration, and the size of one with its NUL. */
#define NEAP_LOAD_NAMES_MAX 16
#define NEAP_LOAD_NAME      128
/* Aggregated usages of one report. */
#define NEAP_LOAD_AGGREGATED_MAX 64

enum neap_load_type {
	NEAP_LOAD_PLAIN, /* not aggregated: the usage itself */
	NEAP_LOAD_AVG,
	NEAP_LOAD_P50,
	NEAP_LOAD_P90,
	NEAP_LOAD_P95,
	NEAP_LOAD_P99,
	NEAP_LOAD_TYPE_COUNT
};

extern const char *const neap_load_types[NEAP_LOAD_TYPE_COUNT]; /* "", "avg", "p50" */

/* Selects one of the reported usages. usec 0: the one over the longest period. */
struct neap_load_which {
	enum neap_load_type type;
	int64_t usec;
};

/* Percent of the node's capacity, by name; 0: no limit. */
struct neap_load_limits {
	int64_t usage[NEAP_LOAD_NAMES_MAX];
	/* limits on production usage, for production pods */
	int64_t prod[NEAP_LOAD_NAMES_MAX];
	int64_t aggregated[NEAP_LOAD_NAMES_MAX];
	/* for the aggregated limits; PLAIN: there are none */
	struct neap_load_which which;
};

struct neap_load_args {
	size_t count;
	char names[NEAP_LOAD_NAMES_MAX]
		  [NEAP_LOAD_NAME]; /* sorted; always includes cpu and memory */
	bool filters_expired;       /* refuse a node whose report has expired */
	bool passes_expired;        /* ... or accept it unchecked */
	bool includes_system;       /* production usage includes that of the system */
	bool scores_prod;           /* score production pods by production usage */
	bool may_customize;         /* annotations of pods may change the estimate */
	int64_t expiry_usec;        /* of a report */
	int64_t weights[NEAP_LOAD_NAMES_MAX];
	int64_t dominant_weight; /* weight of the scarcest resource */
	/* Estimated usage in percent of the request; -1: no estimate except by the pod's
	 * own annotation. */
	int64_t factors[NEAP_LOAD_NAMES_MAX];
	/* How long a pod counts with its estimate if that is higher than its report; -1:
	 * until it is reported. */
	int64_t after_scheduled_usec, after_initialized_usec;
	struct neap_load_limits limits;
	struct neap_load_which scored;
};

/* The defaults of koord-scheduler's shipped configuration: no limits; reports expire
 * after 300 s, which does not refuse a node. */
void neap_load_args_init(struct neap_load_args *args);
/* Reads the arguments of LoadAwareScheduling (a JSON object); missing members get the
 * defaults of the reference's code. NEAP_EINVAL with the field, NEAP_ETOOLARGE. */
int neap_load_args_read(struct neap_load_args *ret, const json_t *json,
			struct neap_error *err);
/* Applies the annotation scheduling.koordinator.sh/usage-thresholds on top of limits.
 * Returns 0 and changes nothing when it is broken. -NEAP_ENOMEM. */
int neap_load_limits_put(const struct neap_load_args *args, const char *annotation,
			 struct neap_load_limits *limits);
/* Reads a map of quantities by name; entries that are missing or unreadable keep their
 * value in ret. Returns false when any quantity, of whatever name, cannot be read. */
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

/* Reads a NodeMetric; members of the wrong form count as missing. -NEAP_ENOMEM. */
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
	NEAP_LOAD_HAS_LIMITS = 8, /* column LIMIT has at least one limit */
	NEAP_LOAD_HAS_PROD_LIMITS = 16,
	NEAP_LOAD_IS_AGGREGATED = 32 /* LIMIT and USED are of aggregated usage */
};

enum neap_load_column {
	NEAP_LOAD_CAPACITY, /* capacity before amplification */
	/* usage that limits apply to, with estimates; the next two likewise */
	NEAP_LOAD_USED,
	NEAP_LOAD_PROD,
	NEAP_LOAD_SCORED,
	NEAP_LOAD_LIMIT, /* percent */
	NEAP_LOAD_PROD_LIMIT,
	NEAP_LOAD_COLUMN_COUNT
};

struct neap_load {
	struct neap_load_args args;
	/* Resource numbers under which pods of each class request the names; UINT32_MAX:
	 * they do not. */
	uint32_t numbers[NEAP_BAND_COUNT][NEAP_LOAD_NAMES_MAX];
	uint8_t *flags; /* NULL: no report so far, and there are no columns */
	int64_t *update_usec;
	int64_t *columns[NEAP_LOAD_COLUMN_COUNT][NEAP_LOAD_NAMES_MAX];
};

/* Estimates what a pod will use, by name; never negative. */
void neap_load_estimate(const struct neap_load *load, const struct neap_pod *pod,
			int64_t *ret);

#endif
