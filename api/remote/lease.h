/* SPDX-License-Identifier: Apache-2.0
 *
 * Leader election by a Lease, compatible with programs of client-go on the same Lease.
 * The leader holds and renews it. When it was not renewed for its duration, by the clock
 * of another candidate, that one takes it. */
#ifndef NEAP_API_REMOTE_LEASE_H
#define NEAP_API_REMOTE_LEASE_H

#include "api/remote/transport.h"

struct event_base;
struct neap_lease;

struct neap_lease_config {
	struct event_base *base;
	struct neap_transport *transport;
	const char *ns, *name; /* copied */
	const char *identity;  /* copied; never the same in two processes */
	const char *manager;   /* fieldManager; copied */
	/* The Lease's duration; the time after which a leader that cannot renew it gives
	 * up; the pause between attempts. duration > renew > 1.2 * retry. */
	int64_t duration_usec, renew_usec, retry_usec;
	int64_t (*steady)(void); /* monotonic microseconds; NULL: the clock */
	/* Called from the loop when this process becomes the leader, and when it is no
	 * longer, with the reason; alternately, began first. */
	void (*began)(void *arg);
	void (*ended)(void *arg, const char *why);
	void *arg;
	const struct neap_log *log;
};

/* NEAP_EINVAL: the times contradict each other. Tries at once. */
int neap_lease_new(const struct neap_lease_config *config, struct neap_lease **ret,
		   struct neap_error *err);
/* Returns whether this process leads now: began was called, and the last successful
 * renewal was requested less than renew_usec ago. Check it before each write. */
bool neap_lease_is_held(const struct neap_lease *lease);
/* Returns the identity of the holder, as far as known; "": nobody. */
const char *neap_lease_holder(const struct neap_lease *lease);
/* Releases the Lease, so that another candidate need not wait. Call it when all work has
 * stopped. done is called once, from the loop, whatever the result. */
void neap_lease_release(struct neap_lease *lease, void (*done)(void *arg), void *arg);
/* Does not call ended. NULL is fine. */
void neap_lease_free(struct neap_lease *lease);

#endif
