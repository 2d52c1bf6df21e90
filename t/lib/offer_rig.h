/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods that are offered reservations, with policies of that kind in service, for their
 * tests. JSON has ' for ". */
#ifndef NEAP_T_LIB_OFFER_RIG_H
#define NEAP_T_LIB_OFFER_RIG_H

#include "api/schedule/policies_reserve.h"
#include "lua/call/purse.h"
#include "lua/replay/decisions.h"
#include "lua/run/registry.h"

#define OFFER_NOW INT64_C(1700000000000000)

struct offer_rig {
	struct neap_resources *resources;
	struct neap_registry *registry;
	struct neap_policies_reserve *policies;
	struct neap_decisions *decisions; /* hears what is offered */
	const struct neap_reserve_matcher *matcher;
	struct neap_purse purse; /* filled for each decision */
	struct neap_pod *pod;    /* of the decision */
	struct neap_object *node;
	struct neap_reserve_asked asked;
	int out_of_service, failed; /* calls */
	char last_failed[400];      /* "LABEL: WHY" */
	struct neap_amounts allocated;
	size_t pods;
};

struct offer_rig *offer_new(void);
void offer_free(struct offer_rig *rig);
/* Puts a policy into service; body: what stands in the table beside api, kind and
 * name. */
void offer_put(struct offer_rig *rig, const char *name, int order, const char *body);
void offer_put_file(struct offer_rig *rig, const char *file);
struct neap_registry_slot *offer_slot(struct offer_rig *rig, const char *name);
/* Of trees, which are taken. */
struct neap_pod *offer_pod(struct offer_rig *rig, json_t *metadata, json_t *spec);
struct neap_reserve *offer_reserve(struct offer_rig *rig, json_t *metadata,
				   json_t *owners);
json_t *offer_json(const char *text);
/* A decision about a pod with this metadata begins. */
void offer_begin(struct offer_rig *rig, const char *metadata);
void offer_begin_pod(struct offer_rig *rig, struct neap_pod *pod_taken);
/* "open", "open again N", "failed", or the reason, " again N" behind it; in a static
 * buffer. */
const char *offer_match(struct offer_rig *rig, const struct neap_reserve *reserve,
			bool is_owner);
/* The same in a decision of its own about the same pod, again when the machine had no
 * time for it. */
const char *offer_match_alone(struct offer_rig *rig, const struct neap_reserve *reserve,
			      bool is_owner);
/* As offer_match, of one with this metadata and one owner that takes everybody. */
const char *offer_ask(struct offer_rig *rig, const char *metadata);
int offer_rank(struct offer_rig *rig, const struct neap_reserve *reserve);

#endif
