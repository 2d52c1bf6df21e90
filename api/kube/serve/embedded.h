/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops of the embedded server itself, which a cluster has in its kube-apiserver and
 * kube-controller-manager: first objects, garbage collection, status of budgets, end of
 * Events, declared kinds. They start with the server and with nothing else. */
#ifndef NEAP_API_KUBE_SERVE_EMBEDDED_H
#define NEAP_API_KUBE_SERVE_EMBEDDED_H

#include "api/kube/kube.h"

struct neap_kube_declared_folder;
struct neap_kube_embedded;

struct neap_kube_embedded_config {
	struct neap_kube *kube; /* borrowed */
	int64_t event_ttl_s;    /* 0: Events do not expire */
	const struct neap_kube_declared_folder
		*folder; /* of shipped kinds; NULL: none; used only during the start */
	const struct neap_log *log; /* may be NULL */
};

/* Before the server answers anybody. After an error *ret is to be freed all the same. */
int neap_kube_embedded_start(const struct neap_kube_embedded_config *config,
			     struct neap_kube_embedded **ret, struct neap_error *err);
/* Before its kube. NULL is fine. */
void neap_kube_embedded_free(struct neap_kube_embedded *embedded);

/* --- namespaces ---
 *
 * Objects of every cluster from its first start: four Namespaces and the system's two
 * PriorityClasses. */

/* Writes the missing ones at each start; they are visible once they are durable.
 * Unregistered kinds are skipped. Errors: those of the store's writes. */
int neap_kube_bootstrap(struct neap_kube *kube, struct neap_error *err);

#endif
