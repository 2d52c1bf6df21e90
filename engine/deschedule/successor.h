/* SPDX-License-Identifier: Apache-2.0
 *
 * The pod that a controller creates when one of its pods is gone. */
#ifndef NEAP_ENGINE_DESCHEDULE_SUCCESSOR_H
#define NEAP_ENGINE_DESCHEDULE_SUCCESSOR_H

#include <jansson.h>

#include "engine/base/base.h"

/* Returns a new pod like this one, without node, status, and what schedulers and evictors
 * wrote about the pod itself. NULL without memory. */
json_t *neap_successor_new(const json_t *pod, const char *name, const char *uid);
/* Excludes that node in the pod's required node affinity. False without memory. */
bool neap_successor_avoid(json_t *pod, const char *node);

#endif
