/* SPDX-License-Identifier: Apache-2.0
 *
 * Amounts of resources: CPU in thousandths, other resources in whole units (bytes,
 * devices). Resource names are numbers that stay the same for the life of a cluster, so a
 * node's amounts are columns and a pod's a short list. Sums saturate at INT64_MAX. */
#ifndef NEAP_ENGINE_OBJECT_AMOUNTS_H
#define NEAP_ENGINE_OBJECT_AMOUNTS_H

#include <jansson.h>

#include "engine/base/error.h"

/* Names that a cluster can number; further ones are refused (NEAP_ETOOLARGE). Only nodes,
 * settings and Reservations add names. Pods do not, because any user can create those. */
#define NEAP_RESOURCES_MAX 1024
/* Distinct resources of one pod or node. */
#define NEAP_AMOUNTS_MAX 64

enum {
	NEAP_RESOURCE_CPU, /* thousandths */
	NEAP_RESOURCE_MEMORY,
	NEAP_RESOURCE_EPHEMERAL,
	NEAP_RESOURCE_PODS,
	NEAP_RESOURCE_FIXED /* the first number of an extended resource */
};

struct neap_resources;

struct neap_resources *neap_resources_new(void); /* NULL without memory */
void neap_resources_free(struct neap_resources *resources);
/* Returns the number of a name, adding it if needed; NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_resources_add(struct neap_resources *resources, const char *name, uint32_t *ret,
		       struct neap_error *err);
/* Returns UINT32_MAX for an unknown name. */
uint32_t neap_resources_find(const struct neap_resources *resources, const char *name);
const char *neap_resources_name(const struct neap_resources *resources,
				uint32_t resource);
uint32_t neap_resources_count(const struct neap_resources *resources);
/* Returns whether requests of that name count: cpu, memory, ephemeral-storage, pods,
 * hugepages-*, attachable-volumes-* and names with a prefix ("nvidia.com/gpu"). */
bool neap_resource_is_counted(const char *name);

struct neap_amount {
	uint32_t resource;
	int64_t amount;
};

/* At most one entry per resource, unordered. */
struct neap_amounts {
	size_t count;
	struct neap_amount of[NEAP_AMOUNTS_MAX];
};

/* Returns 0 when there is no entry. */
int64_t neap_amounts_get(const struct neap_amounts *amounts, uint32_t resource);
/* Returns false when there would be more than NEAP_AMOUNTS_MAX. */
bool neap_amounts_set(struct neap_amounts *amounts, uint32_t resource, int64_t amount);
bool neap_amounts_add(struct neap_amounts *amounts, const struct neap_amounts *more);
/* Raises each amount to the larger of both. */
bool neap_amounts_raise(struct neap_amounts *amounts, const struct neap_amounts *other);
/* Adds and saturates at both ends. Inline, because scores add once per node. */
static inline int64_t neap_amount_sum(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return a > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}

/* Returns a JSON quantity as text: a string, or a number as people write it in YAML where
 * no schema requires a string (cpu: 0.5), formatted into number. NULL: not a quantity. */
#define NEAP_AMOUNT_TEXT 32
const char *neap_amount_text(const json_t *value, char number[NEAP_AMOUNT_TEXT]);
/* Reads a map of quantities ({"cpu": "500m"}) over the present amounts. Resources that do
 * not count are skipped; negative amounts become 0. Unreadable entries are skipped, and
 * the first one is reported with the resource name in field. NEAP_EINVAL, NEAP_ETOOLARGE,
 * NEAP_ENOMEM. */
int neap_amounts_read(struct neap_amounts *amounts, const json_t *map,
		      struct neap_resources *resources, struct neap_error *err);

/* Names unknown to the cluster, borrowed from the maps. */
struct neap_unknown_names {
	size_t count;
	const char *of[NEAP_AMOUNTS_MAX];
};

/* The same without adding names: an unknown name gets the number NEAP_RESOURCES_MAX plus
 * its index in unknown. */
int neap_amounts_look_up(struct neap_amounts *amounts, const json_t *map,
			 const struct neap_resources *resources,
			 struct neap_unknown_names *unknown, struct neap_error *err);

#endif
