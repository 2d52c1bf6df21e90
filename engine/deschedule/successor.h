/* SPDX-License-Identifier: Apache-2.0
 *
 * The pod that a controller makes when one of its pods goes. */
#ifndef NEAP_ENGINE_DESCHEDULE_SUCCESSOR_H
#define NEAP_ENGINE_DESCHEDULE_SUCCESSOR_H

#include <jansson.h>

#include "engine/base/base.h"

/* A fresh pod like this one: without node, status, and what schedulers and evictors wrote
 * about the pod itself. NULL without memory. */
json_t *neap_successor_new(const json_t *pod, const char *name, const char *uid);
/* Adds to its required node affinity: not on that node. False without memory. */
bool neap_successor_avoid(json_t *pod, const char *node);

#endif
