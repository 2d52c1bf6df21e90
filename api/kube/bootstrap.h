/* SPDX-License-Identifier: Apache-2.0
 *
 * What every cluster has from its first start: four Namespaces and the two PriorityClasses of the system. */
#ifndef NEAP_API_KUBE_BOOTSTRAP_H
#define NEAP_API_KUBE_BOOTSTRAP_H

#include "api/kube/kube.h"

/* Asks the store for those that are missing, at each start; they are there when it has heard that they are
 * durable. Kinds that are not registered are passed over. Errors: those of neap_store_write_take. */
int neap_kube_bootstrap(struct neap_kube *kube, struct neap_error *err);

#endif
