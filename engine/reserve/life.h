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

/* When it expires by ttl or expires. INT64_MAX: time does nothing to it, or it has ended. */
int64_t neap_reserve_end(const struct neap_reserve *reserve);
/* Over that, placed or not, or its node is gone. */
bool neap_reserve_has_expired(const struct neap_reserve *reserve, bool node_exists,
			      int64_t now_usec);
/* Until when one that has ended stays: so long. INT64_MIN: its node is gone, and it is not kept; INT64_MAX: it has not
 * ended, or keep_usec is 0. */
int64_t neap_reserve_collection(const struct neap_reserve *reserve, bool node_exists,
				int64_t keep_usec);
/* Microseconds until a look at one that nothing happens to before that time. The clock may be set meanwhile, so that a
 * long time is cut. 0, for INT64_MAX: not by time. */
int64_t neap_reserve_next_look(int64_t until_usec, int64_t now_usec);

/* ... until the next look at one by its limits, as the reference has it: by expires where that is given, else by ttl, and
 * also where ttl 0 has switched both off. 0: not by time. */
int64_t neap_reserve_next_sync(const struct neap_reserve *reserve, int64_t now_usec);

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
