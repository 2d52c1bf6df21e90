/* SPDX-License-Identifier: Apache-2.0
 *
 * From the creation of a Reservation to its end: when it expires, what its status says, when it is collected. Time is
 * told; Unix microseconds. */
#ifndef NEAP_ENGINE_RESERVE_LIFE_H
#define NEAP_ENGINE_RESERVE_LIFE_H

#include "engine/reserve/reserve.h"

/* Until the next look at one, at least and at most. */
#define NEAP_RESERVE_LOOK_MIN_USEC (INT64_C(3) * 1000000)
#define NEAP_RESERVE_LOOK_MAX_USEC (INT64_C(15) * 1000000)

/* Until when nothing happens to it by time alone: it expires by ttl or expires, or, kept for so long after its end, is
 * collected. INT64_MAX: time does nothing to it. */
int64_t neap_reserve_end(const struct neap_reserve *reserve, int64_t after_usec);
/* Over its ttl or expires, placed or not, or its node is gone. */
bool neap_reserve_has_expired(const struct neap_reserve *reserve, bool node_exists,
			      int64_t now_usec);
/* Microseconds until it is to be looked at; 0: not any more. */
int64_t neap_reserve_next_look(const struct neap_reserve *reserve, int64_t now_usec);
/* It ended so long ago, or with its node, that it goes away. */
bool neap_reserve_is_collected(const struct neap_reserve *reserve, bool node_exists,
			       int64_t now_usec, int64_t after_usec);

struct neap_reserve_user {
	const char *ns, *name, *uid; /* borrowed */
	const struct neap_amounts *requests;
};

/* Whole statuses, made from the one it has, for an update of /status. New references; NULL and -NEAP_ENOMEM without
 * memory. */

/* It has a place. allocatable: requests overlaid with the annotation reservation-resize-allocatable. is_waiting: its
 * room is not free yet. NEAP_EINVAL: that annotation. */
int neap_reserve_status_placed(const json_t *reservation,
			       const struct neap_reserve *reserve, const char *node,
			       bool is_waiting, struct neap_resources *resources,
			       int64_t now_usec, json_t **ret, struct neap_error *err);
/* It has none, yet. */
json_t *neap_reserve_status_unplaced(const json_t *reservation, const char *message,
				     int64_t now_usec);
json_t *neap_reserve_status_expired(const json_t *reservation, int64_t now_usec);
/* What its owners have; one that is for one owner has Succeeded with the first. users: in any order, sorted here. 1;
 * 0: nothing changed, *ret is NULL. */
int neap_reserve_status_owned(const json_t *reservation,
			      const struct neap_reserve *reserve,
			      struct neap_reserve_user *users, size_t count,
			      const struct neap_resources *resources, int64_t now_usec,
			      json_t **ret, struct neap_error *err);

#endif
