/* SPDX-License-Identifier: Apache-2.0
 *
 * How pods of one profile are placed: which filters and scores there are, with which weights and arguments. Made once,
 * immutable after that, and counted; the arguments are those of the plugins of kube-scheduler, under their names. */
#ifndef NEAP_ENGINE_DECIDE_SETTINGS_H
#define NEAP_ENGINE_DECIDE_SETTINGS_H

#include "engine/decide/decide.h"
#include "engine/pod/pod.h"

/* Resources of one score; names that NodeResourcesFit ignores, of each kind; constraints of PodTopologySpread. */
#define NEAP_SETTINGS_ITEMS_MAX 16

struct neap_settings_resource {
	const char *name;
	int64_t weight;
};

struct neap_settings_resources {
	struct neap_settings_resource of[NEAP_SETTINGS_ITEMS_MAX];
	size_t count;
};

struct neap_settings_names {
	const char *of[NEAP_SETTINGS_ITEMS_MAX];
	size_t count;
};

/* So many nodes where making room would help are enough, of a hundred nodes, and at least. */
struct neap_settings_trials {
	int64_t percent, least;
};

struct neap_settings {
	uint32_t refs;  /* of one thread */
	int percentage; /* as neap_decide_config.percentage */
	int weights[NEAP_SCORE_COUNT];
	uint64_t filters_off; /* bits, by neap_settings_find_filter */
	/* NodeResourcesFit: of LeastAllocated and MostAllocated. */
	struct neap_settings_resources fit;
	bool is_most_allocated;
	struct neap_settings_names ignored, ignored_groups;
	struct neap_settings_resources balance; /* NodeResourcesBalancedAllocation */
	/* InterPodAffinity: what a required affinity of others weighs, and whether their preferred ones do not count. */
	int64_t required_weight;
	bool ignores_wishes;
	/* NodeAffinity: what is asked of the nodes of all its pods. */
	bool has_added;
	struct neap_terms added;
	struct neap_preferred *added_preferred;
	size_t added_preferred_count;
	bool never_preempts;      /* DefaultPreemption is off */
	bool takes_over_by_label; /* preAllocationPolicy.mode Cluster is allowed */
	bool reservations_preempt; /* Reservation: those that find no place make room, too */
	struct neap_settings_trials trials, reservation_trials;
	struct neap_arena arena; /* of the texts and terms */
};

/* kube-scheduler's defaults. NULL without memory. */
struct neap_settings *neap_settings_new(void);
struct neap_settings *neap_settings_ref(struct neap_settings *settings);
/* Returns NULL. NULL is fine. */
struct neap_settings *neap_settings_unref(struct neap_settings *settings);

/* Arguments of a plugin ("NodeResourcesFit"), without apiVersion and kind. NEAP_ENOTFOUND: no plugin of that name has
 * arguments here; NEAP_EINVAL with the field; NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_settings_read(struct neap_settings *settings, const char *plugin,
		       const json_t *args, struct neap_error *err);

/* The number of a filter or a score by its name in kube-scheduler; -1: there is none. The score of NodeResourcesFit is
 * NEAP_SCORE_LEAST_ALLOCATED. */
int neap_settings_find_filter(const char *name);
int neap_settings_find_score(const char *name);
/* The names that there are, by index below the count. */
const char *neap_settings_filter_name(size_t index); /* NULL behind the last */
const char *neap_settings_score_name(enum neap_score_id id);

#endif
