/* SPDX-License-Identifier: Apache-2.0
 *
 * Columns that are told instead of counted: for a recorded decision, whose nodes stand in
 * a cluster with their labels alone. */
#ifndef NEAP_ENGINE_DECIDE_COLUMNS_TOLD_H
#define NEAP_ENGINE_DECIDE_COLUMNS_TOLD_H

#include "engine/decide/columns/column.h"

struct neap_told {
	void *arg;
	/* Return the values by row, borrowed as long as the cluster; NULL: no node has
	 * it, or there is no memory. amounts: NEAP_COLUMN_PODS, _PODS_SAME, _ALLOCATABLE
	 * and _REQUESTED. shares: NEAP_COLUMN_LOAD_SHARE, _NUMA_SHARE and _CORE_SHARE,
	 * with what the pod adds; NAN: missing on this node. */
	const int64_t *(*amounts)(void *arg, enum neap_column_family family,
				  const char *key);
	const double *(*shares)(void *arg, enum neap_column_family family,
				const char *key);
};

#endif
