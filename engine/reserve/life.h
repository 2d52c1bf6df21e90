/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a Reservation: when it expires, what its status says, when it is deleted.
 * The caller passes the time, in Unix microseconds. */
#ifndef NEAP_ENGINE_RESERVE_LIFE_H
#define NEAP_ENGINE_RESERVE_LIFE_H

#include "engine/reserve/reserve.h"

/* Bounds of the interval between checks. */
#define NEAP_RESERVE_LOOK_MIN_USEC (INT64_C(3) * 1000000)
#define NEAP_RESERVE_LOOK_MAX_USEC (INT64_C(15) * 1000000)

/* Returns when it expires by ttl or expires. INT64_MAX: no time limit, or it has
 * ended. */
int64_t neap_reserve_end(const struct neap_reserve *reserve);
/* Returns whether it is past that time, placed or not, or its node is gone. */
bool neap_reserve_has_expired(const struct neap_reserve *reserve, bool node_exists,
			      int64_t now_usec);
/* Returns when an ended Reservation is deleted, keep_usec after its end. INT64_MIN: at
 * once, its node is gone; INT64_MAX: it has not ended, or keep_usec is 0. */
int64_t neap_reserve_collection(const struct neap_reserve *reserve, bool node_exists,
				int64_t keep_usec);
/* Returns the microseconds until the next check, when nothing happens before until_usec.
 * Long times are cut, because the clock may be set meanwhile. 0 for INT64_MAX: no check
 * by time. */
int64_t neap_reserve_next_look(int64_t until_usec, int64_t now_usec);

/* Returns the microseconds until its limits are checked next, as in the reference: by
 * expires if given, else by ttl, also where ttl 0 disables both. 0: no check by time. */
int64_t neap_reserve_next_sync(const struct neap_reserve *reserve, int64_t now_usec);

struct neap_reserve_user {
	const char *ns, *name, *uid; /* borrowed */
	const struct neap_amounts *requests;
};

/* Complete statuses for an update of /status, based on the present one. New references;
 * NULL and -NEAP_ENOMEM without memory. */

/* It was placed. allocatable: the requests overlaid with the annotation
 * reservation-resize-allocatable. is_waiting: its room is not free yet. NEAP_EINVAL: that
 * annotation. */
int neap_reserve_status_placed(const json_t *reservation,
			       const struct neap_reserve *reserve, const char *node,
			       bool is_waiting, struct neap_resources *resources,
			       int64_t now_usec, json_t **ret, struct neap_error *err);
/* It is not placed yet. */
json_t *neap_reserve_status_unplaced(const json_t *reservation, const char *message,
				     int64_t now_usec);
json_t *neap_reserve_status_expired(const json_t *reservation, int64_t now_usec);
/* Updates what its owners use; an allocateOnce Reservation becomes Succeeded with its
 * first owner. users: any order, sorted here. Returns 1; 0 with *ret NULL when nothing
 * changed. */
int neap_reserve_status_owned(const json_t *reservation,
			      const struct neap_reserve *reserve,
			      struct neap_reserve_user *users, size_t count,
			      const struct neap_resources *resources, int64_t now_usec,
			      json_t **ret, struct neap_error *err);

#endif
