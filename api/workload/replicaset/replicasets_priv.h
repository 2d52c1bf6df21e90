/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of the ReplicaSet controller. */
#ifndef NEAP_API_WORKLOAD_REPLICASET_REPLICASETS_PRIV_H
#define NEAP_API_WORKLOAD_REPLICASET_REPLICASETS_PRIV_H

#include "api/client/events.h"
#include "api/workload/loop/feed.h"
#include "api/workload/loop/owners.h"
#include "api/workload/loop/pod_control.h"
#include "api/workload/loop/rounds.h"
#include "api/workload/loop/search.h"
#include "api/workload/loop/tree.h"
#include "engine/base/map.h"

#define RS          "replicasets.apps"
#define API_VERSION "apps/v1"
#define KIND        "ReplicaSet"

struct neap_replicasets {
	struct neap_workload_config config;
	struct neap_feed *feed;
	struct neap_rounds *rounds;
	struct neap_facts_cache *facts;
	struct neap_owners *owners;
	struct neap_search *pods;     /* pods that may belong to a set */
	struct neap_search *siblings; /* pods of related sets, which share its nodes */
	/* Of the template of the set that is looked at: its pods may have them; NULL. */
	struct neap_selector *labels;
};

/* A look at one. */
/* Requests of each kind in one look. The rest follows after these, so that the loop
 * serves others. */
#define NEAP_REPLICASET_PIECE 100

struct look {
	struct neap_replicasets *sets;
	const struct neap_owner *set;
	const struct neap_object *object;
	const json_t *tree; /* of object */
	int64_t now;
	struct neap_ranked_pod *pods; /* counted references: its own, and active */
	size_t count, size;
	/* Those to be adopted are among pods; these are to be let go. */
	struct neap_object **strays;
	size_t stray_count, stray_size;
	int64_t labeled; /* of the pods, those that have the labels of the template */
	bool is_short;   /* of memory */
	int read;        /* pods that were not known */
	bool is_partial; /* more are to be claimed than fit into one look */
	bool goes_on;    /* continue in the next turn: more to find, or to read */
};

/* Returns what is known of one of the set's pods, borrowed; NULL when memory is short, or
 * when this turn has read as many pods as it may, and sets goes_on: the next turn knows
 * them. */
const struct neap_pod_facts *neap_replicaset_facts(struct look *look,
						   const struct neap_object *pod);
/* Whether a look that has asked for so much may ask for one more write, of such an
 * object; takes the steps. */
bool neap_replicaset_may_write(struct look *look, bool is_first,
			       const struct neap_object *object);
/* replicaset_scale.c: as of a neap_search, which pods are of a set or of its siblings. */
unsigned neap_replicaset_wants_sibling(void *arg, const char *uid,
				       const struct neap_object *pod);
/* replicaset_scale.c: asks for pods, or for their deletion; at most a piece. The
 * difference that it saw. */
int64_t neap_replicaset_scale(struct look *look);
/* ... what became of an ask. */
void neap_replicaset_told(void *arg, const struct neap_round_told *told);
enum { ASK_CREATE, ASK_DELETE, ASK_OTHER };

/* replicaset_status.c: asks for the status to be as the pods are now. diff: of the
 * scaling. When to look again; 0. */
int64_t neap_replicaset_status(struct look *look, int64_t diff);

#endif
