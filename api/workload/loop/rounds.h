/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds of writes. A controller looks at a key, asks for what is missing, and must not
 * look at it again before all of that is durable, as reads show nothing else: what was
 * asked for once would be asked for twice. So each key has its round: while something of
 * it is on its way nobody looks at it, and when the last answer has come it is due. Also
 * what another life of the controller has left on its way is waited for. */
#ifndef NEAP_API_WORKLOAD_LOOP_ROUNDS_H
#define NEAP_API_WORKLOAD_LOOP_ROUNDS_H

#include "api/client/client.h"
#include "api/workload/loop/feed.h"

struct neap_rounds;

/* What an ask is for; of the controller. Texts are borrowed and copied. */
struct neap_round_ask {
	int what;
	const char *resource, *ns;
	const char *name; /* of what is asked about; NULL where it is made */
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
	/* What became of each ask; NULL: nobody wants to know. Never after
	 * neap_rounds_free. */
	void (*told)(void *arg, const struct neap_round_told *told);
};

int neap_rounds_new(const struct neap_rounds_config *config, struct neap_rounds **ret,
		    struct neap_error *err);
/* What is on its way comes about all the same. Before the feed. */
void neap_rounds_free(struct neap_rounds *rounds);

/* First thing in a look at an object that is there. False: not now; the look returns
 * *ret_again. */
bool neap_rounds_begin(struct neap_rounds *rounds, const char *ns, const char *name,
		       int64_t *ret_again);
/* Last thing in it: again as the look would return it, or what it has to return
 * instead. */
int64_t neap_rounds_end(struct neap_rounds *rounds, int64_t again);
/* Between the two. Fills *ret for neap_client_*, which must follow. False without
 * memory. */
bool neap_rounds_ask(struct neap_rounds *rounds, const struct neap_round_ask *ask,
		     struct neap_client_ask *ret);
/* Asks of this look that were refused at once, but for those about what is not there any
 * more; and the words of the last of them. */
size_t neap_rounds_refused(const struct neap_rounds *rounds, const char **ret_why);
/* Asks of this look that are on their way. */
size_t neap_rounds_asked(const struct neap_rounds *rounds);

#endif
