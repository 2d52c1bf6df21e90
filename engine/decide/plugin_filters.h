/* SPDX-License-Identifier: Apache-2.0
 *
 * Filters and scores that somebody else has, asked after those of the tables. They are asked within a decision and must
 * not change the cluster. Whoever has them sees to it that an answer comes in time. */
#ifndef NEAP_ENGINE_DECIDE_PLUGIN_FILTERS_H
#define NEAP_ENGINE_DECIDE_PLUGIN_FILTERS_H

#include "engine/cluster/cluster.h"

struct neap_decide_more {
	void *arg;
	/* A decision about pod begins, in a settled cluster; answers of the one before are forgotten. True: there are filters
	 * to be asked. */
	bool (*begin)(void *arg, struct neap_cluster *cluster, const struct neap_pod *pod,
		      int64_t now_usec);
	/* Which of these rows the pod may not go to, though everything else fits: ret[i] is 0, or a reason. False: nothing
	 * that was said in this decision counts any more, all rows are to be asked about anew (which happens less often
	 * than there are filters). is_trial: of nodes as they would be without some pods; false then says no. */
	bool (*filter)(void *arg, const uint32_t *rows, size_t count, bool is_trial,
		       uint32_t *ret);
	/* A reason of this decision in words, as they stand behind the number of nodes: 1 to NEAP_MORE_REASONS_MAX. Borrowed
	 * until the next decision. */
	const char *(*reason)(void *arg, uint32_t reason);
	/* Whose reason or score it is, as it is told to people; borrowed until the next decision. */
	const char *(*reason_from)(void *arg, uint32_t reason);
	const char *(*score_from)(void *arg, size_t index);
	/* Score 0, 1, ...: the points of these rows, 0 to NEAP_SCORE_MAX. Returns its weight; 0: it has nothing to say, ret
	 * is not written; -1: there is no such score. */
	int (*score)(void *arg, size_t index, const uint32_t *rows, size_t count,
		     int64_t *ret);
};

/* Different reasons of one decision. */
#define NEAP_MORE_REASONS_MAX 1024

#endif
