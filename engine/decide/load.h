/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes by what they really use, as koord-scheduler's LoadAwareScheduling: a filter and a score over the columns of
 * engine/cluster/load.h. */
#ifndef NEAP_ENGINE_DECIDE_LOAD_H
#define NEAP_ENGINE_DECIDE_LOAD_H

#include "engine/cluster/cluster.h"

/* What is asked of the rows for one pod. */
struct neap_load_ask {
	const struct neap_load *load; /* of a settled cluster */
	bool is_prod;
	int64_t now_usec;
	int64_t estimate[NEAP_LOAD_NAMES_MAX]; /* of the pod */
};

enum neap_load_answer {
	NEAP_LOAD_FITS,
	NEAP_LOAD_EXPIRED,
	NEAP_LOAD_TOO_HIGH,
	NEAP_LOAD_AGGREGATED_TOO_HIGH
};

/* Valid until the cluster changes. */
void neap_load_ask_init(struct neap_load_ask *ask, const struct neap_cluster *cluster,
			const struct neap_pod *pod, int64_t now_usec);
/* Whether the filter has anything to say about the pod: it lets all of DaemonSets pass, and everything before the first
 * report. */
bool neap_load_can_refuse(const struct neap_cluster *cluster, const struct neap_pod *pod);
/* Whether the row's limits would hold with the pod, which can be refused. *ret_name: of the two that are too high, the
 * first such name of the settings. */
enum neap_load_answer neap_load_filter(const struct neap_load_ask *ask, uint32_t row,
				       uint32_t *ret_name);
/* 0 to 100, more for a node that would be less used. */
int64_t neap_load_score(const struct neap_load_ask *ask, uint32_t row);

#endif
