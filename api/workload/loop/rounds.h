/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds of writes. A controller looks at a key and requests the missing writes. It must
 * not look again before all of them are durable: reads do not show them earlier, so it
 * would request them twice. So each key has a round: there is no look at the key while it
 * has unanswered requests (asks), and it is due when the last answer arrives. The rounds
 * also wait for asks of an earlier instance of the controller. */
#ifndef NEAP_API_WORKLOAD_LOOP_ROUNDS_H
#define NEAP_API_WORKLOAD_LOOP_ROUNDS_H

#include "api/client/client.h"
#include "api/workload/loop/feed.h"
#include "api/workload/loop/owners.h"

struct neap_rounds;

/* The purpose of an ask; values are the controller's. Texts are borrowed, and copied. */
struct neap_round_ask {
	int what;
	const char *resource, *ns;
	const char *name; /* of the object; NULL for a creation */
	const char *uid;  /* of the key's object */
};

struct neap_round_told {
	int what;
	const char *ns, *key;       /* the object that was looked at */
	const char *uid;            /* ... and its uid */
	const char *name;           /* as asked */
	struct neap_object *object; /* as in client_local.h */
	const struct neap_client_failure *failure;
};

struct neap_rounds_config {
	struct neap_client *client;
	struct neap_feed *feed;
	const char *resource; /* of the keys */
	void *arg;
	/* Called with the result of each ask; may be NULL. Never called after
	 * neap_rounds_free. */
	void (*told)(void *arg, const struct neap_round_told *told);
};

int neap_rounds_new(const struct neap_rounds_config *config, struct neap_rounds **ret,
		    struct neap_error *err);
/* Call it before the feed is freed. Unanswered asks still take effect. */
void neap_rounds_free(struct neap_rounds *rounds);

/* Call it first in a look at an object that exists. False: not now; the look returns
 * *ret_again. */
bool neap_rounds_begin(struct neap_rounds *rounds, const char *ns, const char *name,
		       int64_t *ret_again);
/* Call it last in a look. again: the result of the look alone; returns the result that
 * the look must return. */
int64_t neap_rounds_end(struct neap_rounds *rounds, int64_t again);
/* Does a complete look at a key: nothing if it has unanswered asks; else calls look, with
 * the object and its text as a tree. If the object is gone, its owner is dropped. Returns
 * the result for the feed. */
typedef int64_t neap_rounds_look(void *arg, const struct neap_object *object,
				 const json_t *tree);
int64_t neap_rounds_look_at(struct neap_rounds *rounds, struct neap_owners *owners,
			    const char *ns, const char *name, neap_rounds_look *look);
/* Call it between begin and end. Fills *ret for a neap_client_* call, which must follow.
 * False without memory. */
bool neap_rounds_ask(struct neap_rounds *rounds, const struct neap_round_ask *ask,
		     struct neap_client_ask *ret);
/* Returns the number of asks of this look that were refused at once, except those about
 * objects that do not exist any more; *ret_why: the message of the last. */
size_t neap_rounds_refused(const struct neap_rounds *rounds, const char **ret_why);
/* Returns the number of unanswered asks of this look. */
size_t neap_rounds_asked(const struct neap_rounds *rounds);

#endif
