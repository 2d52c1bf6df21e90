/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of the Deployment controller. */
#ifndef NEAP_API_WORKLOAD_DEPLOYMENT_DEPLOYMENTS_PRIV_H
#define NEAP_API_WORKLOAD_DEPLOYMENT_DEPLOYMENTS_PRIV_H

#include "api/workload/deployment/set_facts.h"
#include "api/workload/loop/feed.h"
#include "api/workload/loop/owners.h"
#include "api/workload/loop/pod_facts.h"
#include "api/workload/loop/pod_template.h"
#include "api/workload/loop/rounds.h"
#include "api/workload/loop/search.h"
#include "api/workload/loop/tree.h"
#include "engine/base/map.h"

#define DEPLOYMENTS "deployments.apps"
#define RS          "replicasets.apps"

#define REVISION         "deployment.kubernetes.io/revision"
#define REVISION_HISTORY "deployment.kubernetes.io/revision-history"
#define DESIRED_REPLICAS "deployment.kubernetes.io/desired-replicas"
#define MAX_REPLICAS     "deployment.kubernetes.io/max-replicas"

#define REPLICA_FAILURE "ReplicaFailure" /* a condition of both kinds */

/* The purpose of a requested write: a change of a ReplicaSet, or anything else. */
enum { ASK_OTHER, ASK_SET };

/* The most writes of one look. The rest follows when these are durable, because others
 * wait for the loop. */
#define ROLLOUT_PIECE 100
/* Steps charged for each step of reading the text of a ReplicaSet, because a digest is
 * made of it too. */
#define ROLLOUT_READ 4

struct neap_deployments {
	struct neap_workload_config config;
	struct neap_feed *feed;
	struct neap_rounds *rounds;
	struct neap_owners *owners;
	struct neap_search *sets; /* ReplicaSets that may belong to a Deployment */
	struct neap_facts_cache *facts;
	struct neap_search *pods; /* of its ReplicaSets, those that are known */
	struct neap_facts_cache *pod_facts;
	/* The template of the Deployment that was last looked at, in that version. */
	char digest_uid[NEAP_OBJECT_UID];
	int64_t digest_version;
	uint8_t digest[NEAP_SHA256_BYTES];
	/* Uids of Deployments that wait for the end of pods of their old ReplicaSets. */
	struct neap_map *awaiting;
};

/* One of its ReplicaSets, in the state after this look's requests. */
struct member {
	/* both NULL: its creation was just requested */
	const struct neap_object *object;
	struct neap_set_facts *facts;
	const char *name, *uid;
	int64_t created_usec, revision;
	int64_t replicas; /* wanted replicas */
	/* Of its status; those that are ready or available are at most so many as there
	 * are to be: which go is known. */
	int64_t status_replicas, ready, available;
	bool is_deleting;
	/* The annotations that tell what it was last scaled for; NEAP_MISSING. */
	int64_t desired, max;
};

/* One look at a Deployment. */
struct rollout {
	struct neap_deployments *deployments;
	const struct neap_owner *owner;
	const struct neap_object *object;
	const json_t *tree; /* of object */
	int64_t now;
	struct member *members; /* oldest first */
	size_t count, size;
	struct member *current; /* the member with the present template; NULL: none */
	char made_name[NEAP_OBJECT_NAME]; /* of one that was made */
	/* Of the spec. */
	int64_t replicas, surge, unavailable;
	bool is_rolling, has_deadline;
	int64_t deadline_s;
	/* The new status. */
	json_t *conditions;
	int64_t collisions; /* NEAP_MISSING: not set */
	int64_t revision;   /* NEAP_MISSING: stays */
	bool is_short;      /* of memory */
	int read;           /* texts that were not known */
	int written;        /* asks about ReplicaSets that are there */
	bool goes_on;       /* continue in the next turn: not all is found or read */
	/* More is to be written than one look does; what was refused was left out. */
	bool is_cut, is_skipping;
};

/* deployment_sets.c */
/* As of a neap_search: which ReplicaSets may be those of a Deployment. */
unsigned deployment_wants_set(void *arg, const char *uid, const struct neap_object *set);
/* Finds its ReplicaSets and the current one, gives that its revision, and puts
 * annotations where they belong. False: the look ends here. */
bool rollout_find(struct rollout *rollout);
void rollout_done(struct rollout *rollout);
/* Whether a text that is not known may be read in this turn; takes the steps. False: the
 * look goes on in the next one. */
bool rollout_may_read(struct rollout *rollout, int64_t steps);
/* Fills in a request about a ReplicaSet that is there; takes the steps of a write. False:
 * not in this look, or without memory. */
bool rollout_may_ask(struct rollout *rollout, const struct neap_object *set,
		     struct neap_set_facts *facts, struct neap_client_ask *ret);
/* Whether rollout_may_ask left one out. */
bool rollout_is_partial(const struct rollout *rollout);
/* As of neap_rounds: what became of an ask. */
void deployment_told(void *arg, const struct neap_round_told *told);

/* rollout_current.c */
/* One more than the revision of all others. */
int64_t rollout_next_revision(const struct rollout *rollout);
/* Asks for what the current one lacks. False: it could not be read. */
bool rollout_update_current(struct rollout *rollout, int64_t revision);
/* Asks for the current one, if there is none. False: it was not to be had. */
bool rollout_make_current(struct rollout *rollout);

/* rollout.c */
/* Requests that many replicas of member; false when it has them. */
bool rollout_scale_member(struct rollout *rollout, struct member *member,
			  int64_t replicas);
/* ... only where that is another number: annotations alone are no step. */
bool rollout_resize_member(struct rollout *rollout, struct member *member,
			   int64_t replicas);
/* How many the current one is to have, if it has so many now. */
int64_t rollout_current_size(const struct rollout *rollout, int64_t has);
void rollout_rolling(struct rollout *rollout);
/* Deletes ReplicaSets beyond revisionHistoryLimit. */
void rollout_clean_up(struct rollout *rollout);

/* rollout_recreate.c */
void rollout_recreate(struct rollout *rollout);
/* As of a neap_search: which pods are of ReplicaSets of a Deployment. */
unsigned deployment_wants_pod(void *arg, const char *uid, const struct neap_object *pod);
/* Makes those due that wait for the end of such a pod; of any pod: NULL. */
void deployment_awaiting_due(struct neap_deployments *deployments,
			     const struct neap_object *pod);

/* rollout_scale.c: returns whether the number of replicas changed, or it is paused. */
bool rollout_is_scaling(const struct rollout *rollout);
void rollout_scale(struct rollout *rollout);

/* deployment_status.c */
void rollout_condition(struct rollout *rollout, const char *type, const char *status,
		       const char *reason, const char *fmt, ...) NEAP_PRINTF(5, 6);
json_t *rollout_find_condition(const struct rollout *rollout, const char *type);
/* Returns whether all its pods have the present template and are available. */
bool rollout_is_complete(const struct rollout *rollout);
void rollout_check_paused(struct rollout *rollout);
/* Asks for the status to be as it is now. with_progress: of a rollout, not of a mere
 * scaling. When to look again; 0. */
int64_t rollout_status(struct rollout *rollout, bool with_progress);

/* deployments.c: records an event about it. */
void rollout_note(struct rollout *rollout, bool is_warning, const char *reason,
		  const char *fmt, ...) NEAP_PRINTF(4, 5);
/* Fills in a request; false without memory. */
bool rollout_ask(struct rollout *rollout, const char *resource, const char *name,
		 struct neap_client_ask *ret);

#endif
