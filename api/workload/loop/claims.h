/* SPDX-License-Identifier: Apache-2.0
 *
 * The dependents of an owner, of one resource, such as its pods. A dependent that its
 * selector matches and nobody controls is adopted; one that it controls and no longer
 * selects is released. They are found in pieces, one per turn of the feed. */
#ifndef NEAP_API_WORKLOAD_LOOP_CLAIMS_H
#define NEAP_API_WORKLOAD_LOOP_CLAIMS_H

#include "api/workload/loop/fact_cache.h"
#include "api/workload/loop/feed.h"
#include "api/workload/loop/owners.h"
#include "api/workload/loop/rounds.h"

/* The most writes to dependents in one look. */
#define NEAP_CLAIMS_PIECE 100

struct neap_claims;

struct neap_claims_config {
	struct neap_client *client;
	struct neap_feed *feed; /* pays the steps, and must watch the resource */
	struct neap_rounds *rounds;
	struct neap_owners *owners;
	const char *resource; /* of the dependents */
	const char *owner_resource, *api_version, *kind;
	/* Arguments of neap_facts_new; and a function that returns the uid of the
	 * controller in such facts, "": none. */
	size_t facts_size;
	neap_facts_read *read;
	const char *(*controller)(const void *facts);
	/* Whether an owner may have a dependent of this name. NULL: it may. */
	bool (*accepts)(const struct neap_owner *owner, const struct neap_object *object);
	int what; /* of the requested writes, see neap_round_ask */
	/* Steps charged to the turn for each step of reading the text of a dependent. */
	int64_t read_steps;
};

struct neap_claimed {
	struct neap_object *object;
	const void *facts;
};

enum neap_claims_result {
	NEAP_CLAIMS_DONE,
	NEAP_CLAIMS_GOES_ON, /* in the next turn */
	/* adoptions or releases were requested: the look ends here */
	NEAP_CLAIMS_ASKED,
	NEAP_CLAIMS_SHORT, /* memory ran out */
};

/* config is copied, what it points to borrowed. NULL without memory. */
struct neap_claims *neap_claims_new(const struct neap_claims_config *config);
void neap_claims_free(struct neap_claims *claims);
/* Makes due the owners that the event concerns; call it for each event of the
 * resource. */
void neap_claims_hear(struct neap_claims *claims, const struct neap_client_event *event);
/* Finds the dependents of the owner and claims them. is_deleting: the owner is, and
 * neither adopts nor releases. */
enum neap_claims_result neap_claims_go(struct neap_claims *claims,
				       const struct neap_owner *owner, const json_t *tree,
				       bool is_deleting);
/* The dependents of the owner, sorted by name. Borrowed until the look ends. */
const struct neap_claimed *neap_claims_list(const struct neap_claims *claims,
					    size_t *ret_count);
/* Forgets the findings at the end of a look. */
void neap_claims_end(struct neap_claims *claims);

#endif
