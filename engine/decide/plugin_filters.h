/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface for plugin filters and scores, which run after those of the tables
 * (policies implement it). They run inside a decision and must not change the cluster.
 * The implementation bounds its own time. */
#ifndef NEAP_ENGINE_DECIDE_PLUGIN_FILTERS_H
#define NEAP_ENGINE_DECIDE_PLUGIN_FILTERS_H

#include "engine/cluster/cluster.h"

struct neap_decide_more {
	void *arg;
	/* Starts a decision about pod in a settled cluster; earlier answers are
	 * forgotten. Returns true when there are filters. */
	bool (*begin)(void *arg, struct neap_cluster *cluster, const struct neap_pod *pod,
		      int64_t now_usec);
	/* Decides for rows that all other filters accepted: ret[i] is 0 or a reason.
	 * Returns false when every answer of this decision is void and all rows must be
	 * asked again (fewer times than there are filters). is_trial: nodes are as they
	 * would be without some pods; false then means a refusal. */
	bool (*filter)(void *arg, const uint32_t *rows, size_t count, bool is_trial,
		       uint32_t *ret);
	/* Returns the text of a reason (1 to NEAP_MORE_REASONS_MAX), as it appears after
	 * the number of nodes. Borrowed until the next decision. */
	const char *(*reason)(void *arg, uint32_t reason);
	/* Returns the name of the filter that gave the reason; borrowed until the next
	 * decision. */
	const char *(*reason_from)(void *arg, uint32_t reason);
	const char *(*score_from)(void *arg, size_t index);
	/* Computes score number index for the rows, 0 to NEAP_SCORE_MAX. Returns its
	 * weight; 0 when it does not apply (ret is not written); -1 when there is no such
	 * score. */
	int (*score)(void *arg, size_t index, const uint32_t *rows, size_t count,
		     int64_t *ret);
};

/* Distinct reasons of one decision. */
#define NEAP_MORE_REASONS_MAX 1024

#endif
