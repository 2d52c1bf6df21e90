/* SPDX-License-Identifier: Apache-2.0
 *
 * What looks at an owner of pods and revisions have in common: what one may still write,
 * what it asks for and tells, and when it comes again. */
#ifndef NEAP_API_WORKLOAD_LOOP_OWNER_LOOK_H
#define NEAP_API_WORKLOAD_LOOP_OWNER_LOOK_H

#include "api/client/events.h"
#include "api/workload/loop/claims.h"

/* Of a controller; constant. */
struct neap_owner_kind {
	const char *api_version, *kind; /* of the owners */
	const char *component;          /* in events */
	int piece; /* writes of one look; the rest follows when these are there */
};

/* All pointers are borrowed for the look. */
struct neap_owner_look {
	const struct neap_owner_kind *kind;
	struct neap_client *client;
	struct neap_feed *feed;
	struct neap_rounds *rounds;
	const struct neap_owner *owner;
	int written;        /* asks that cost steps */
	bool is_short;      /* of memory */
	bool is_failed;     /* it is tried again later */
	bool goes_on;       /* in the next turn */
	bool is_partial;    /* a write has to wait for those before it */
	int64_t after_usec; /* 0: nothing has to be looked at by itself */
};

/* Whether this look may ask for one more write, of such an object; takes the steps. */
bool neap_look_may_write(struct neap_owner_look *look, const struct neap_object *object);
/* Fills in an ask; false without memory. */
bool neap_look_ask(struct neap_owner_look *look, int what, const char *resource,
		   const char *name, struct neap_client_ask *ret);
/* Makes the look come again after so long at most. */
void neap_look_again(struct neap_owner_look *look, int64_t after_usec);
/* Claims dependents of the owner, tree (neap_claims_go). False: the look ends. */
bool neap_look_claim(struct neap_owner_look *look, struct neap_claims *claims,
		     const json_t *tree, bool is_deleting);
/* What a look returns, see neap_feed_config. */
int64_t neap_look_result(const struct neap_owner_look *look);

/* An event of an owner; texts are borrowed. */
struct neap_client_note neap_owner_note(const struct neap_owner_kind *kind,
					const char *ns, const char *name, const char *uid,
					bool is_warning, const char *reason);
void neap_look_note(const struct neap_owner_look *look, bool is_warning,
		    const char *reason, const char *fmt, ...) NEAP_PRINTF(4, 5);

#endif
