/* SPDX-License-Identifier: Apache-2.0
 *
 * The state machine of a PodMigrationJob: from what there is to what is written next. It
 * keeps nothing in between, so that whoever carries a job on after a crash goes on where
 * the objects say that it is. */
#ifndef NEAP_ENGINE_MIGRATE_JOB_H
#define NEAP_ENGINE_MIGRATE_JOB_H

#include "engine/migrate/migrate_args.h"
#include "engine/migrate/migrate_cluster.h"

#define NEAP_KEY_EVICT_REASON  "koordinator.sh/evict-reason"
#define NEAP_KEY_EVICT_TRIGGER "koordinator.sh/evict-trigger"
#define NEAP_KEY_EVICT_POLICY  "koordinator.sh/evict-policy"
#define NEAP_KEY_JOB_CREATOR   "koordinator.sh/job-created-by"
#define NEAP_KEY_CREATED_BY    "app.kubernetes.io/created-by"
#define NEAP_MIGRATE_CREATOR   "koord-descheduler"
/* Of the job: the uid of the pod that was about to be evicted, written before it is. A
 * pod that is gone without one went by itself. */
#define NEAP_KEY_JOB_EVICTING "migration.neap.sh/evicting"
/* Of the job: it uses a Reservation that somebody else made, which stays. */
#define NEAP_KEY_JOB_BORROWS "migration.neap.sh/borrowed-reservation"

/* Of the job: the node where the pod's successor was to land as the round decided. The
 * Reservation prefers it, so that what else the round decided stays true. */
#define NEAP_KEY_JOB_LANDING "migration.neap.sh/landing"

/* A condition of neap's own: the node of the Reservation is ready and not cordoned. Only
 * where it was not. */
#define NEAP_MIGRATE_NODE_READY "ReservationNodeReady"

/* The status' reason of a job whose deleteOptions have dryRun. */
#define NEAP_MIGRATE_DRY_RUN "DryRun"

#define NEAP_MIGRATE_AGAIN_USEC (INT64_C(3) * 1000000)

struct neap_migrate_view {
	const json_t *job;
	const json_t *pod; /* of the job's podRef, by its name; NULL: there is none */
	/* The one that the job names; where it names none, the one that it would make, if
	 * that is there already. NULL: there is none. */
	const json_t *reservation;
	const json_t *new_pod; /* the first current owner of that; NULL: there is none */
	const json_t *node;    /* where that is; NULL: not known */
	const struct neap_migrate_args *args;
	int64_t now_usec;
	/* What the process that asks remembers. A fresh one remembers nothing. */
	bool is_limited; /* the object limiter has no token */
	bool is_asked;   /* it had the pod evicted */
	/* The pod could not be evicted when it last tried, or lived unasked. */
	bool is_refused;
};

enum neap_migrate_act {
	NEAP_ACT_NONE,
	/* Create step->reservation; one that is there already is as good. Then make
	 * another step, or neap_migrate_not_created. */
	NEAP_ACT_CREATE,
	/* Have the pod evicted, then neap_migrate_evicted or neap_migrate_not_evicted. */
	NEAP_ACT_EVICT
};

#define NEAP_MIGRATE_EVENTS  6
#define NEAP_MIGRATE_MESSAGE 768

struct neap_migrate_event {
	bool is_warning;
	const char *reason;
	char message[NEAP_MIGRATE_MESSAGE];
};

/* What to do, in the order of the members. */
struct neap_migrate_step {
	/* A merge patch of the job without its status; NULL: none. */
	json_t *patch;
	bool orders; /* give the Reservation the label that says its turn */
	bool drops;  /* delete the Reservation that was made for the job */
	/* Take back from the pod what was set on it for another evictor. */
	bool takes_back;
	json_t *status; /* the whole new one; NULL: it stays */
	struct neap_migrate_event events[NEAP_MIGRATE_EVENTS]; /* with the status */
	size_t event_count;
	enum neap_migrate_act act;
	json_t *reservation; /* for NEAP_ACT_CREATE */
	int64_t again_usec;  /* look again after so long; 0: when something changes */
};

/* The next step; -NEAP_ENOMEM. */
int neap_migrate_step(const struct neap_migrate_view *view, struct neap_migrate_step *ret,
		      struct neap_error *err);
/* The Reservation could not be created; why: in words. */
int neap_migrate_not_created(const struct neap_migrate_view *view, const char *why,
			     struct neap_migrate_step *ret, struct neap_error *err);
/* The pod was evicted, or whoever has to do it was told. */
int neap_migrate_evicted(const struct neap_migrate_view *view,
			 struct neap_migrate_step *ret, struct neap_error *err);
/* The options of the job's deletions say that nothing is to be done: it is over. */
int neap_migrate_would_evict(const struct neap_migrate_view *view,
			     struct neap_migrate_step *ret, struct neap_error *err);
int neap_migrate_not_evicted(const struct neap_migrate_view *view, const char *why,
			     struct neap_migrate_step *ret, struct neap_error *err);
/* Arbitration refuses it for good. */
int neap_migrate_forbidden(const struct neap_migrate_view *view,
			   struct neap_migrate_step *ret, struct neap_error *err);
/* Its ttl is over. */
int neap_migrate_timed_out(const struct neap_migrate_view *view,
			   struct neap_migrate_step *ret, struct neap_error *err);
void neap_migrate_step_done(struct neap_migrate_step *step);

/* The name of the Reservation that the job names, else of the one that it would make. */
const char *neap_migrate_reservation_name(const json_t *job);
/* Whether the Reservation was made for the job, and goes with it. */
bool neap_migrate_made(const json_t *job, const json_t *reservation);
/* Whether the job's pod was evicted, and its successor has not come to the room yet: that
 * stays, however the job ends, until its own ttl is over or the job goes. */
bool neap_migrate_keeps_room(const struct neap_migrate_view *view);
/* How the pod leaves: as its label says, else the job's, else the arguments. */
enum neap_migrate_policy neap_migrate_policy_of(const struct neap_migrate_view *view);
/* Why it leaves: the reason that the job gives, else who made it, else "NotSet". */
const char *neap_migrate_reason_of(const json_t *job);
/* The Reservation for the pod of the job; NULL without memory. */
json_t *neap_migrate_reservation_new(const json_t *job, const json_t *pod,
				     int64_t now_usec);
/* Adds a requirement to every term of a pod's required node affinity: not on that node.
 * False without memory. */
bool neap_migrate_exclude_node(json_t *spec, const char *node);
/* When the scavenger deletes the job. */
int64_t neap_migrate_scavenged_usec(const struct neap_migrate_job *job);

#endif
