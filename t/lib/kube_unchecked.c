/* SPDX-License-Identifier: Apache-2.0
 *
 * The checks of the built-in kinds that are not there yet, so that programs link: they let everything
 * pass. To be taken away with the first real one, which it would hide. */
#include "api/kube/rules.h"

#define UNCHECKED(kind)                                                                  \
	__attribute__((weak)) void neap_kube_check_##kind(                               \
		const json_t *object, const json_t *before, struct neap_causes *causes)  \
	{                                                                                \
		(void)object;                                                            \
		(void)before;                                                            \
		(void)causes;                                                            \
	}

UNCHECKED(pod)
UNCHECKED(node)
UNCHECKED(namespace)
UNCHECKED(service)
UNCHECKED(configmap)
UNCHECKED(event)
UNCHECKED(persistentvolume)
UNCHECKED(persistentvolumeclaim)
UNCHECKED(replicationcontroller)
UNCHECKED(deployment)
UNCHECKED(replicaset)
UNCHECKED(statefulset)
UNCHECKED(daemonset)
UNCHECKED(job)
UNCHECKED(poddisruptionbudget)
UNCHECKED(priorityclass)
UNCHECKED(storageclass)
UNCHECKED(lease)
UNCHECKED(customresourcedefinition)
