/* SPDX-License-Identifier: Apache-2.0
 *
 * The column pods_same: the number of pods in the pod's namespace with the same value of
 * a label. */
#ifndef NEAP_ENGINE_DECIDE_COLUMNS_SAME_H
#define NEAP_ENGINE_DECIDE_COLUMNS_SAME_H

#include "engine/decide/columns/column.h"

/* Separates the label and the domain key. */
#define NEAP_SAME_IN '@'

/* "LABEL" or "LABEL@KEY". */
bool neap_same_is_key(const char *key);
/* Returns counts by row of a settled cluster, which the caller frees. key is "LABEL", or
 * "LABEL@KEY" to count over all nodes with the same value of node label KEY (a node
 * without KEY counts alone). NULL: the pod has no such label, or no memory. */
int64_t *neap_same_count(struct neap_cluster *cluster, const struct neap_pod *pod,
			 const char *key);

#endif
