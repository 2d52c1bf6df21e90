/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by t/lib/trace_rig.c and t/lib/trace_world.c. */
#ifndef NEAP_T_LIB_TRACE_RIG_PRIV_H
#define NEAP_T_LIB_TRACE_RIG_PRIV_H

#include "api/client/client.h"
#include "t/lib/trace_rig.h"

#define TRACE_TOPOLOGIES   "noderesourcetopologies.topology.node.k8s.io"
#define TRACE_RESERVATIONS "reservations.scheduling.koordinator.sh"

/* Of the trace itself; refusals are counted. name is borrowed. */
struct neap_client_ask trace_ask_of(struct trace *trace, const char *resource,
				    const char *name);
void trace_create_take(struct trace *trace, const char *resource, json_t *object);

#endif
