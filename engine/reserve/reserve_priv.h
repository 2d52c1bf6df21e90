/* SPDX-License-Identifier: Apache-2.0
 *
 * Readers shared by the files of engine/reserve. */
#ifndef NEAP_ENGINE_RESERVE_RESERVE_PRIV_H
#define NEAP_ENGINE_RESERVE_RESERVE_PRIV_H

#include "engine/reserve/reserve.h"

/* Reads a JSON annotation; *ret is NULL when it is missing or "", else a new reference.
 * NEAP_EINVAL names the key. */
int neap_reserve_annotation(const json_t *annotations, const char *key, json_t **ret,
			    struct neap_error *err);
/* Returns a text member, copied to the arena; "" when there is none. */
const char *neap_reserve_text(struct neap_arena *arena, const json_t *object,
			      const char *name);
/* Applies the annotation reservation-resize-allocatable over amounts. NEAP_EINVAL. */
int neap_reserve_resize(const json_t *reservation, struct neap_resources *resources,
			struct neap_amounts *amounts, struct neap_error *err);
/* Reads spec.owners. NEAP_EINVAL, NEAP_ETOOLARGE with the field; NEAP_ENOMEM. */
int neap_reserve_owners_read(struct neap_reserve *reserve, const json_t *list,
			     struct neap_error *err);
/* A list of OwnerReferences. */
int neap_reserve_refs_read(struct neap_arena *arena, const json_t *list,
			   const struct neap_reserve_ref **ret, size_t *ret_count,
			   struct neap_error *err);

#endif
