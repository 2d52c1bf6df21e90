/* SPDX-License-Identifier: Apache-2.0
 *
 * Placement by measured load, as koord-scheduler's LoadAwareScheduling: a filter and a
 * score over the columns of engine/cluster/load.h. */
#ifndef NEAP_ENGINE_DECIDE_LOAD_H
#define NEAP_ENGINE_DECIDE_LOAD_H

#include "engine/cluster/cluster.h"

/* One pod's query over the rows. */
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
/* Returns whether the filter can refuse a node for the pod; it accepts DaemonSet pods
 * always, and everything before the first report. */
bool neap_load_can_refuse(const struct neap_cluster *cluster, const struct neap_pod *pod);
/* Returns whether the row's limits would still hold with the pod. On refusal *ret_name is
 * the first name of the settings whose limit is exceeded. */
enum neap_load_answer neap_load_filter(const struct neap_load_ask *ask, uint32_t row,
				       uint32_t *ret_name);
/* Returns 0 to 100, higher for a node that would be less used. */
int64_t neap_load_score(const struct neap_load_ask *ask, uint32_t row);

#endif
