/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects of the areas reservation-*: what a case says in brief becomes the objects that
 * clients would write, which are then read as they are everywhere. */
#ifndef NEAP_T_VECTORS_RESERVATION_RIG_H
#define NEAP_T_VECTORS_RESERVATION_RIG_H

#include "engine/reserve/ask.h"
#include "engine/reserve/room.h"

/* A point in time that ages count back from. */
#define RESERVATION_NOW INT64_C(1700000000000000)

/* Amounts by name. A name without a domain that Kubernetes does not know gets one, as the
 * API would refuse it. */
int reservation_amounts(const json_t *map, struct neap_resources *resources,
			struct neap_amounts *ret, struct neap_error *err);
/* Back, without that domain. */
json_t *reservation_amounts_json(const struct neap_amounts *amounts,
				 const struct neap_resources *resources);
/* A whole object; brief has phase, nodeName, owners, ... by their names in the API. age:
 * seconds since its creation. */
json_t *reservation_tree(const json_t *brief, int64_t age_s);
int reservation_new(json_t *tree_taken, struct neap_resources *resources,
		    struct neap_reserve **ret, struct neap_error *err);
/* brief: name, namespace, uid, labels, ownerReferences, requests, annotations. */
struct reservation_pod {
	struct neap_pod *pod;
	struct neap_reserve_ask ask;
	struct neap_arena arena;
};
int reservation_pod(const json_t *brief, const json_t *annotations,
		    struct neap_resources *resources, struct reservation_pod *ret,
		    struct neap_error *err);
void reservation_pod_done(struct reservation_pod *pod);

/* What most cases need, freed by reservation_done. */
struct reservation_rig {
	struct neap_resources *resources;
	struct neap_reserve *reserve;
	struct reservation_pod pod;
	struct neap_object *node;
};
int reservation_begin(struct reservation_rig *rig, struct neap_error *err);
/* Returns rc. */
int reservation_done(struct reservation_rig *rig, int rc);
int reservation_make(struct reservation_rig *rig, const json_t *brief, int64_t age_s,
		     struct neap_error *err);
/* {name: is_it} */
int reservation_answer(json_t **ret, const char *name, bool is_it,
		       struct neap_error *err);

#endif
