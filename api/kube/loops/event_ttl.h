/* SPDX-License-Identifier: Apache-2.0
 *
 * Deletes Events an hour after their last write, as a kube-apiserver does, and earlier
 * when there are too many, because anyone who may write events could fill the store.
 * Oldest first, in small pieces. */
#ifndef NEAP_API_KUBE_LOOPS_EVENT_TTL_H
#define NEAP_API_KUBE_LOOPS_EVENT_TTL_H

#include "api/kube/kube.h"

#define NEAP_KUBE_EVENT_TTL_S 3600
/* Limit on stored events. A node with a hundred pods writes about a hundred an hour, of 1
 * KB each; this is at most some tens of megabytes, in memory and in the file. */
#define NEAP_KUBE_EVENTS_MAX      20000
#define NEAP_KUBE_EVENT_BYTES_MAX ((size_t)64 * 1024 * 1024)
/* Events examined in one piece. */
#define NEAP_KUBE_EXPIRE_PIECE 200

struct neap_kube_expire;

struct neap_kube_expire_config {
	int64_t ttl_s;    /* 0: events do not expire */
	size_t count_max; /* 0: NEAP_KUBE_EVENTS_MAX */
	size_t bytes_max; /* 0: NEAP_KUBE_EVENT_BYTES_MAX */
};

/* Starts with the existing ones; their age is that of their newest time. kube is
 * borrowed. */
int neap_kube_expire_new(struct neap_kube *kube,
			 const struct neap_kube_expire_config *config,
			 struct neap_kube_expire **ret, struct neap_error *err);
void neap_kube_expire_free(struct neap_kube_expire *expire);
/* Number of deletions requested so far. */
uint64_t neap_kube_expire_count(const struct neap_kube_expire *expire);

#endif
