/* SPDX-License-Identifier: Apache-2.0
 *
 * The column pods_same: pods of the same namespace whose label has the same value. */
#ifndef NEAP_ENGINE_DECIDE_SAME_H
#define NEAP_ENGINE_DECIDE_SAME_H

#include "engine/decide/column.h"

/* Between the label and the key of the domain. */
#define NEAP_SAME_IN '@'

/* "LABEL" or "LABEL@KEY". */
bool neap_same_is_key(const char *key);
/* By row of a settled cluster, the caller's to free: how many pods there have the
 * label as pod has it. key is "LABEL", or "LABEL@KEY" for all nodes that have the same
 * value of the label KEY; a node without it is for itself. NULL: pod has no such
 * label, or there is no memory. */
int64_t *neap_same_count(struct neap_cluster *cluster, const struct neap_pod *pod,
			 const char *key);

#endif
