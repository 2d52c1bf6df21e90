/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects of every cluster from its first start: four Namespaces and the system's two
 * PriorityClasses. */
#ifndef NEAP_API_KUBE_SERVE_BOOTSTRAP_H
#define NEAP_API_KUBE_SERVE_BOOTSTRAP_H

#include "api/kube/kube.h"

/* Writes the missing ones at each start; they are visible once they are durable.
 * Unregistered kinds are skipped. Errors: those of the store's writes. */
int neap_kube_bootstrap(struct neap_kube *kube, struct neap_error *err);

#endif
