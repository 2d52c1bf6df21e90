/* SPDX-License-Identifier: Apache-2.0
 *
 * The garbage collector: deletes objects whose owners are gone, the content of namespaces
 * being deleted, and those namespaces once they are empty. It sees every change of every
 * kind, and works in small pieces, so that a namespace of a hundred thousand objects
 * delays no answer. */
#ifndef NEAP_API_KUBE_LOOPS_GC_H
#define NEAP_API_KUBE_LOOPS_GC_H

#include "api/kube/kube.h"

/* Objects examined in one piece. */
#define NEAP_KUBE_COLLECT_PIECE 200

struct neap_kube_collect;

/* Starts with everything stored: work interrupted by the end of neapd goes on. kube is
 * borrowed. */
int neap_kube_collect_new(struct neap_kube *kube, struct neap_kube_collect **ret,
			  struct neap_error *err);
void neap_kube_collect_free(struct neap_kube_collect *collect);
/* Number of deletions and changes requested so far. */
uint64_t neap_kube_collect_count(const struct neap_kube_collect *collect);

#endif
