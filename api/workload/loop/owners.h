/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects that own others by a selector, as a controller knows them: for each event it
 * must find the owners of the object. An owner becomes known at its first look. */
#ifndef NEAP_API_WORKLOAD_LOOP_OWNERS_H
#define NEAP_API_WORKLOAD_LOOP_OWNERS_H

#include "api/workload/loop/feed.h"

struct neap_owner {
	struct neap_selector *selector; /* of spec.selector */
	int64_t version;
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME];
	char uid[NEAP_OBJECT_UID];
	char controller[NEAP_OBJECT_UID]; /* uid of its own controller; "": none */
};

struct neap_owners;

struct neap_owners *neap_owners_new(void); /* NULL without memory */
void neap_owners_free(struct neap_owners *owners);
/* Returns the owner with that object, of which tree is the JSON. Borrowed until the next
 * get or drop of the same name; NULL without memory, or with an invalid selector. */
const struct neap_owner *neap_owners_get(struct neap_owners *owners,
					 const struct neap_object *object,
					 const json_t *tree);
void neap_owners_drop(struct neap_owners *owners, const char *ns, const char *name);
/* Returns NULL when it is not known. */
const struct neap_owner *neap_owners_find(const struct neap_owners *owners,
					  const char *uid);

/* Makes the owners that object names due. */
void neap_owners_due(const struct neap_owners *owners, struct neap_feed *feed,
		     const struct neap_object *object);
/* Makes due also those whose selector matches object. neap_owners_rest does the work in
 * pieces, as the feed's rest. The work for an earlier object must be complete. */
void neap_owners_due_selecting(struct neap_owners *owners, struct neap_object *object);
/* Continues as long as the turn has steps; returns true when all is done. */
bool neap_owners_rest(struct neap_owners *owners, struct neap_feed *feed);

#endif
