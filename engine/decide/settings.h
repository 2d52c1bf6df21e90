/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of one profile: enabled filters and scores, their weights and arguments.
 * Immutable once built, and reference counted. Arguments are those of kube-scheduler's
 * plugins, under the same names. */
#ifndef NEAP_ENGINE_DECIDE_SETTINGS_H
#define NEAP_ENGINE_DECIDE_SETTINGS_H

#include "engine/decide/decide.h"
#include "engine/pod/pod.h"

/* Limit on the resources of one score, the names that NodeResourcesFit ignores (each
 * kind), and the constraints of PodTopologySpread. */
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

/* How many candidate nodes for preemption are enough: a percentage, and a minimum. */
struct neap_settings_trials {
	int64_t percent, least;
};

struct neap_settings {
	uint32_t refs;  /* of one thread */
	int percentage; /* as neap_decide_config.percentage */
	int weights[NEAP_SCORE_COUNT];
	uint64_t filters_off; /* bits, by neap_settings_find_filter */
	/* NodeResourcesFit: for LeastAllocated and MostAllocated. */
	struct neap_settings_resources fit;
	bool is_most_allocated;
	struct neap_settings_names ignored, ignored_groups;
	struct neap_settings_resources balance; /* NodeResourcesBalancedAllocation */
	/* InterPodAffinity: the weight of other pods' required affinity, and whether
	 * their preferred terms are ignored. */
	int64_t required_weight;
	bool ignores_wishes;
	/* NodeAffinity: terms that apply to every pod of the profile. */
	bool has_added;
	struct neap_terms added;
	struct neap_preferred *added_preferred;
	size_t added_preferred_count;
	bool never_preempts;       /* DefaultPreemption is off */
	bool takes_over_by_label;  /* preAllocationPolicy.mode Cluster is allowed */
	bool reservations_preempt; /* Reservation: placeholders may preempt pods */
	struct neap_settings_trials trials, reservation_trials;
	struct neap_arena arena; /* holds the texts and terms */
};

/* Returns kube-scheduler's defaults. NULL without memory. */
struct neap_settings *neap_settings_new(void);
struct neap_settings *neap_settings_ref(struct neap_settings *settings);
/* Returns NULL. Accepts NULL. */
struct neap_settings *neap_settings_unref(struct neap_settings *settings);

/* Reads the arguments of a plugin ("NodeResourcesFit") without apiVersion and kind.
 * NEAP_ENOTFOUND: no plugin of that name takes arguments; NEAP_EINVAL with the field;
 * NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_settings_read(struct neap_settings *settings, const char *plugin,
		       const json_t *args, struct neap_error *err);

/* Returns the number of a filter or score by its kube-scheduler name; -1: unknown. The
 * score of NodeResourcesFit is NEAP_SCORE_LEAST_ALLOCATED. */
int neap_settings_find_filter(const char *name);
int neap_settings_find_score(const char *name);
/* Names by index, NULL after the last. */
const char *neap_settings_filter_name(size_t index);
const char *neap_settings_score_name(enum neap_score_id id);

#endif
