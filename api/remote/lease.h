/* SPDX-License-Identifier: Apache-2.0
 *
 * Leadership by a Lease, together with programs of client-go on the same Lease: one of
 * several holds it and renews it; when it is silent for the Lease's duration, by the
 * clock of whoever looks, another one takes it. */
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
	/* Of the Lease: its duration, when a leader gives up that could not renew it, and
	 * the pause between tries. duration > renew > 1.2 * retry. */
	int64_t duration_usec, renew_usec, retry_usec;
	int64_t (*steady)(void); /* monotonic microseconds; NULL: the clock */
	/* This process leads from now on; does not any more, and why. Called from the
	 * loop, in turns, began first. */
	void (*began)(void *arg);
	void (*ended)(void *arg, const char *why);
	void *arg;
	const struct neap_log *log;
};

/* NEAP_EINVAL: times that do not fit each other. It tries at once. */
int neap_lease_new(const struct neap_lease_config *config, struct neap_lease **ret,
		   struct neap_error *err);
/* Whether this process leads now: it was told so, and its last renewal was asked for less
 * than renew_usec ago. To be asked before each write. */
bool neap_lease_is_held(const struct neap_lease *lease);
/* The identity of whoever holds it as far as is known; "": nobody. */
const char *neap_lease_holder(const struct neap_lease *lease);
/* Gives it up, so that another one need not wait: called when all work has stopped. done
 * is called once, from the loop, whatever comes of it. */
void neap_lease_release(struct neap_lease *lease, void (*done)(void *arg), void *arg);
/* Does not call ended. NULL is fine. */
void neap_lease_free(struct neap_lease *lease);

#endif
