/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files behind engine/deschedule/world_copy.h. */
#ifndef NEAP_ENGINE_DESCHEDULE_WORLD_COPY_PRIV_H
#define NEAP_ENGINE_DESCHEDULE_WORLD_COPY_PRIV_H

#include <stdint.h>

/* In the order in which they are written and read. */
enum world_copy_list {
	WORLD_COPY_NAMESPACES,
	WORLD_COPY_NODES,
	WORLD_COPY_METRICS,
	WORLD_COPY_BUDGETS,
	WORLD_COPY_CLAIMS, /* namespace, name, storage class */
	WORLD_COPY_PODS,
	WORLD_COPY_LISTS
};

/* A text of the copy has its list and its length in front, and a NUL behind it. */
#define WORLD_COPY_HEAD (2 * sizeof(uint32_t))

#endif
