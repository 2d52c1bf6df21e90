/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects that have others by a selector, as a controller knows them: whose something is, is asked at each event of
 * it. They get to be known when they are looked at. */
#ifndef NEAP_API_WORKLOAD_LOOP_OWNERS_H
#define NEAP_API_WORKLOAD_LOOP_OWNERS_H

#include "api/workload/loop/feed.h"

struct neap_owner {
	struct neap_selector *selector; /* of spec.selector */
	int64_t version;
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME];
	char uid[NEAP_OBJECT_UID];
	char controller[NEAP_OBJECT_UID]; /* uid of its own; "": none */
};

struct neap_owners;

struct neap_owners *neap_owners_new(void); /* NULL without memory */
void neap_owners_free(struct neap_owners *owners);
/* tree is that of object. Borrowed, until the next get or drop of the same name; NULL without memory, or with a selector
 * that is none. */
const struct neap_owner *neap_owners_get(struct neap_owners *owners,
					 const struct neap_object *object,
					 const json_t *tree);
void neap_owners_drop(struct neap_owners *owners, const char *ns, const char *name);
/* NULL when it is not known. */
const struct neap_owner *neap_owners_find(const struct neap_owners *owners,
					  const char *uid);

/* Makes those due that object names as owners. */
void neap_owners_due(const struct neap_owners *owners, struct neap_feed *feed,
		     const struct neap_object *object);
/* ... those whose selector takes it: neap_owners_rest does it, as the feed's rest. Nothing may be left of another. */
void neap_owners_due_selecting(struct neap_owners *owners, struct neap_object *object);
/* Some of them, as many as the turn has steps for; true: all. */
bool neap_owners_rest(struct neap_owners *owners, struct neap_feed *feed);

#endif
