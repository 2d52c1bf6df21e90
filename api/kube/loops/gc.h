/* SPDX-License-Identifier: Apache-2.0
 *
 * What goes when something else has gone: objects whose owners are no more, what is in a
 * namespace that is being deleted, and the namespace itself when it is empty. Looks at
 * every change of every kind; works in small pieces, so that a namespace of a hundred
 * thousand objects delays no answer. */
#ifndef NEAP_API_KUBE_LOOPS_GC_H
#define NEAP_API_KUBE_LOOPS_GC_H

#include "api/kube/kube.h"

/* Objects that one piece looks at. */
#define NEAP_KUBE_COLLECT_PIECE 200

struct neap_kube_collect;

/* Starts with all that is there: what was half done when neapd ended goes on. kube is
 * borrowed. */
int neap_kube_collect_new(struct neap_kube *kube, struct neap_kube_collect **ret,
			  struct neap_error *err);
void neap_kube_collect_free(struct neap_kube_collect *collect);
/* Deletions and changes that it has asked for so far. */
uint64_t neap_kube_collect_count(const struct neap_kube_collect *collect);

#endif
