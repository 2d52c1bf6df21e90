/* SPDX-License-Identifier: Apache-2.0
 *
 * Events go: an hour after they were written last, as in a kube-apiserver, and sooner when there are too many.
 * Everybody who may write events could fill the store with them otherwise. The oldest go first, in small
 * pieces. */
#ifndef NEAP_API_KUBE_LOOPS_EVENT_TTL_H
#define NEAP_API_KUBE_LOOPS_EVENT_TTL_H

#include "api/kube/kube.h"

#define NEAP_KUBE_EVENT_TTL_S 3600
/* Events that stay. A node with a hundred pods writes some hundred an hour, of about 1 KB; these are some
 * tens of megabytes, in memory and in the file, at most. */
#define NEAP_KUBE_EVENTS_MAX      20000
#define NEAP_KUBE_EVENT_BYTES_MAX ((size_t)64 * 1024 * 1024)
/* Events that one piece looks at. */
#define NEAP_KUBE_EXPIRE_PIECE 200

struct neap_kube_expire;

struct neap_kube_expire_config {
	int64_t ttl_s;    /* 0: age is no matter */
	size_t count_max; /* 0: NEAP_KUBE_EVENTS_MAX */
	size_t bytes_max; /* 0: NEAP_KUBE_EVENT_BYTES_MAX */
};

/* Starts with those that are there; their age is told by the newest time in them. kube is borrowed. */
int neap_kube_expire_new(struct neap_kube *kube,
			 const struct neap_kube_expire_config *config,
			 struct neap_kube_expire **ret, struct neap_error *err);
void neap_kube_expire_free(struct neap_kube_expire *expire);
/* Events whose deletion it has asked for so far. */
uint64_t neap_kube_expire_count(const struct neap_kube_expire *expire);

#endif
