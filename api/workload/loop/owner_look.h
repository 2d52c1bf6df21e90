/* SPDX-License-Identifier: Apache-2.0
 *
 * What the looks of several controllers at an owner of pods and revisions have in common:
 * the number of writes left, requesting a write, events, and when the next look is
 * due. */
#ifndef NEAP_API_WORKLOAD_LOOP_OWNER_LOOK_H
#define NEAP_API_WORKLOAD_LOOP_OWNER_LOOK_H

#include "api/client/events.h"
#include "api/workload/loop/claims.h"

/* The kind of owners of one controller; constant. */
struct neap_owner_kind {
	const char *api_version, *kind; /* of the owners */
	const char *component;          /* in events */
	int piece; /* writes of one look; the rest follows when these are durable */
};

/* All pointers are borrowed for the look. */
struct neap_owner_look {
	const struct neap_owner_kind *kind;
	struct neap_client *client;
	struct neap_feed *feed;
	struct neap_rounds *rounds;
	const struct neap_owner *owner;
	int written;        /* requested writes, which cost steps */
	bool is_short;      /* memory ran out */
	bool is_failed;     /* the look is retried later */
	bool goes_on;       /* it continues in the next turn */
	bool is_partial;    /* a write must wait for the earlier ones */
	int64_t after_usec; /* when the next look is due; 0: only after an event */
};

/* Returns whether this look may request one more write of an object of that size; charges
 * its steps. */
bool neap_look_may_write(struct neap_owner_look *look, const struct neap_object *object);
/* Fills in the request of a write; false without memory. */
bool neap_look_ask(struct neap_owner_look *look, int what, const char *resource,
		   const char *name, struct neap_client_ask *ret);
/* The next look is due after after_usec at the latest. */
void neap_look_again(struct neap_owner_look *look, int64_t after_usec);
/* Claims the dependents of the owner whose object is tree (neap_claims_go). False: the
 * look ends. */
bool neap_look_claim(struct neap_owner_look *look, struct neap_claims *claims,
		     const json_t *tree, bool is_deleting);
/* The result that a look returns, see neap_feed_config. */
int64_t neap_look_result(const struct neap_owner_look *look);

/* An event of an owner; texts are borrowed. */
struct neap_client_note neap_owner_note(const struct neap_owner_kind *kind,
					const char *ns, const char *name, const char *uid,
					bool is_warning, const char *reason);
void neap_look_note(const struct neap_owner_look *look, bool is_warning,
		    const char *reason, const char *fmt, ...) NEAP_PRINTF(4, 5);

#endif
