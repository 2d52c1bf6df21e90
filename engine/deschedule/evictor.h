/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules of DefaultEvictor: which pods may be evicted at all (its Filter), and the
 * last check before an eviction (its PreEvictionFilter). */
#ifndef NEAP_ENGINE_DESCHEDULE_EVICTOR_H
#define NEAP_ENGINE_DESCHEDULE_EVICTOR_H

#include "engine/deschedule/fit.h"

#define NEAP_EVICTOR_PRIORITY_MAX INT64_C(2000000000)

enum neap_stay_policy { NEAP_STAY_UNSAID, NEAP_STAY_PREFERRED, NEAP_STAY_MANDATORY };

/* Protections; a set bit keeps such pods. */
enum {
	NEAP_KEEP_LOCAL = 1,       /* PodsWithLocalStorage */
	NEAP_KEEP_CRITICAL = 2,    /* SystemCriticalPods, and the priority threshold */
	NEAP_KEEP_FAILED_BARE = 4, /* FailedBarePods */
	NEAP_KEEP_DAEMON = 8,      /* DaemonSetPods */
	NEAP_KEEP_CLAIMS = 16,     /* PodsWithPVC */
	NEAP_KEEP_UNBUDGETED = 32, /* PodsWithoutPDB */
	NEAP_KEEP_RESOURCES = 64,  /* PodsWithResourceClaims */
};

struct neap_evictor {
	unsigned keep; /* NEAP_KEEP_* */
	enum neap_stay_policy stay;
	/* NULL: not checked; neap_evictor_done frees them. */
	struct neap_selector *nodes, *labels, *namespaces;
	bool has_threshold;
	int64_t threshold;
	char *threshold_name; /* a PriorityClass, until its value is set; NULL: none */
	bool fits_nodes;      /* nodeFit */
	uint32_t min_replicas;
	int64_t min_age_usec;
	char **storage_classes; /* ended by NULL; NULL: every claim protects */
	char warning[160];      /* for people; "" */
};

/* The defaults. */
void neap_evictor_init(struct neap_evictor *evictor);
void neap_evictor_done(struct neap_evictor *evictor);
/* Reads DefaultEvictorArgs (apiVersion and kind may be there) over the defaults. Errors
 * are NEAP_EINVAL with the path in field; *ret is then as after init. */
int neap_evictor_read(struct neap_evictor *ret, const json_t *args,
		      struct neap_error *err);

/* Returns NULL when the pod may be evicted, else why not, for people. */
const char *neap_evictor_why_kept(const struct neap_evictor *evictor,
				  const struct neap_world *world, int64_t now_usec,
				  const struct neap_world_pod *pod);
/* The last check before the eviction; returns the same. */
const char *neap_evictor_why_not_now(const struct neap_evictor *evictor,
				     const struct neap_world *world,
				     const struct neap_world_pod *pod);

#endif
