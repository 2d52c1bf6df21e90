/* SPDX-License-Identifier: Apache-2.0
 *
 * Amounts of resources: CPU in thousandths, everything else in whole units (bytes, devices). Names of resources
 * are numbers here, the same in one cluster for its life, so that a node's amounts are columns and a pod's a short
 * list. Sums stop at INT64_MAX instead of turning round. */
#ifndef NEAP_ENGINE_OBJECT_AMOUNTS_H
#define NEAP_ENGINE_OBJECT_AMOUNTS_H

#include <jansson.h>

#include "engine/base/error.h"

/* Names that a cluster knows; further ones are refused (NEAP_ETOOLARGE). Nodes, settings and Reservations tell of them,
 * pods do not: anybody may make those. */
#define NEAP_RESOURCES_MAX 1024
/* Different resources of one pod or node. */
#define NEAP_AMOUNTS_MAX 64

enum {
	NEAP_RESOURCE_CPU, /* thousandths */
	NEAP_RESOURCE_MEMORY,
	NEAP_RESOURCE_EPHEMERAL,
	NEAP_RESOURCE_PODS,
	NEAP_RESOURCE_FIXED /* the first number of an extended one */
};

struct neap_resources;

struct neap_resources *neap_resources_new(void); /* NULL without memory */
void neap_resources_free(struct neap_resources *resources);
/* The number of a name, a new one if need be; NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_resources_add(struct neap_resources *resources, const char *name, uint32_t *ret,
		       struct neap_error *err);
/* UINT32_MAX: nobody has told of that name. */
uint32_t neap_resources_find(const struct neap_resources *resources, const char *name);
const char *neap_resources_name(const struct neap_resources *resources,
				uint32_t resource);
uint32_t neap_resources_count(const struct neap_resources *resources);
/* Whether requests of that name count: cpu, memory, ephemeral-storage, pods, hugepages-*, attachable-volumes-*
 * and what has a prefix ("nvidia.com/gpu"). */
bool neap_resource_is_counted(const char *name);

struct neap_amount {
	uint32_t resource;
	int64_t amount;
};

/* One of each resource, in no order. */
struct neap_amounts {
	size_t count;
	struct neap_amount of[NEAP_AMOUNTS_MAX];
};

/* 0 when there is none of it. */
int64_t neap_amounts_get(const struct neap_amounts *amounts, uint32_t resource);
/* False: more than NEAP_AMOUNTS_MAX. */
bool neap_amounts_set(struct neap_amounts *amounts, uint32_t resource, int64_t amount);
bool neap_amounts_add(struct neap_amounts *amounts, const struct neap_amounts *more);
/* The larger of both, resource by resource. */
bool neap_amounts_raise(struct neap_amounts *amounts, const struct neap_amounts *other);
/* Stops at the largest and the least. Inline, as scores add once a node. */
static inline int64_t neap_amount_sum(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return a > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}

/* One quantity of JSON as text: a string, or a number, as people write it in YAML where no schema asks for a string
 * (cpu: 0.5), which is put into number. NULL: it is none. */
#define NEAP_AMOUNT_TEXT 32
const char *neap_amount_text(const json_t *value, char number[NEAP_AMOUNT_TEXT]);
/* A map of quantities ({"cpu": "500m"}), set on top of what is there; what does not count is left out, and a negative
 * amount is 0. What cannot be read is left out, too, and the first such fault is told: it has the name of the quantity in
 * field. NEAP_EINVAL, NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_amounts_read(struct neap_amounts *amounts, const json_t *map,
		      struct neap_resources *resources, struct neap_error *err);

/* Names that a cluster does not know, borrowed from the maps. */
struct neap_unknown_names {
	size_t count;
	const char *of[NEAP_AMOUNTS_MAX];
};

/* The same without adding names: one that is not known has the number NEAP_RESOURCES_MAX and its place in unknown. */
int neap_amounts_look_up(struct neap_amounts *amounts, const json_t *map,
			 const struct neap_resources *resources,
			 struct neap_unknown_names *unknown, struct neap_error *err);

#endif
