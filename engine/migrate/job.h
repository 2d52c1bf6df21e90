/* SPDX-License-Identifier: Apache-2.0
 *
 * The state machine of a PodMigrationJob: existing objects in, the next writes out. It
 * keeps no state, so after a crash a job continues where the objects say that it is. */
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
/* Annotation of the job: the uid of the pod, written before the pod is evicted. A pod
 * that is gone without it was not evicted by the job. */
#define NEAP_KEY_JOB_EVICTING "migration.neap.sh/evicting"
/* Annotation of the job: it uses a Reservation of somebody else, which is not deleted. */
#define NEAP_KEY_JOB_BORROWS "migration.neap.sh/borrowed-reservation"

/* Annotation of the job: the node on which the successor lands according to the round.
 * The Reservation prefers it, so that the other decisions of the round stay valid. */
#define NEAP_KEY_JOB_LANDING "migration.neap.sh/landing"
/* Annotation of the job: the policy of kind evictor that its profile named when a round
 * made it. It decides when the configuration has no such profile any more. */
#define NEAP_KEY_JOB_EVICTOR "migration.neap.sh/evictor"

/* A condition of neap's own: the node of the Reservation is ready and not cordoned. Set
 * only after it was not. */
#define NEAP_MIGRATE_NODE_READY "ReservationNodeReady"

/* The reason in the status of a job whose deleteOptions have dryRun. */
#define NEAP_MIGRATE_DRY_RUN "DryRun"

#define NEAP_MIGRATE_AGAIN_USEC (INT64_C(3) * 1000000)

struct neap_migrate_view {
	const json_t *job;
	const json_t *pod; /* named by the job's podRef; NULL: there is none */
	/* The one that the job names; else the one that it would create, if that exists.
	 * NULL: there is none. */
	const json_t *reservation;
	const json_t *new_pod; /* first current owner of the reservation; NULL: none */
	const json_t *node;    /* the reservation's node; NULL: not known */
	const struct neap_migrate_args *args;
	int64_t now_usec;
	/* What the calling process remembers; false after a restart. */
	bool is_limited; /* the object limiter has no token */
	bool is_asked;   /* this process evicted the pod */
	/* The last eviction was refused, or the pod lives on. */
	bool is_refused;
};

enum neap_migrate_act {
	NEAP_ACT_NONE,
	/* Create step->reservation; an existing one is as good. Then take another step,
	 * or call neap_migrate_not_created. */
	NEAP_ACT_CREATE,
	/* Evict the pod, then call neap_migrate_evicted or neap_migrate_not_evicted. */
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
	bool orders; /* set the Reservation's label order */
	bool drops;  /* delete the Reservation that was made for the job */
	/* Remove from the pod what was set on it for another evictor. */
	bool takes_back;
	json_t *status; /* the complete new status; NULL: unchanged */
	struct neap_migrate_event events[NEAP_MIGRATE_EVENTS]; /* with the status */
	size_t event_count;
	enum neap_migrate_act act;
	json_t *reservation; /* for NEAP_ACT_CREATE */
	int64_t again_usec;  /* when the next look is due; 0: after an event */
};

/* The next step; -NEAP_ENOMEM. */
int neap_migrate_step(const struct neap_migrate_view *view, struct neap_migrate_step *ret,
		      struct neap_error *err);
/* The step after the Reservation could not be created; why: text for people. */
int neap_migrate_not_created(const struct neap_migrate_view *view, const char *why,
			     struct neap_migrate_step *ret, struct neap_error *err);
/* The step after the pod was evicted, or marked for another evictor. */
int neap_migrate_evicted(const struct neap_migrate_view *view,
			 struct neap_migrate_step *ret, struct neap_error *err);
/* The step of a job whose deleteOptions have dryRun: it ends. */
int neap_migrate_would_evict(const struct neap_migrate_view *view,
			     struct neap_migrate_step *ret, struct neap_error *err);
int neap_migrate_not_evicted(const struct neap_migrate_view *view, const char *why,
			     struct neap_migrate_step *ret, struct neap_error *err);
/* The step after arbitration refused the job for good. */
int neap_migrate_forbidden(const struct neap_migrate_view *view,
			   struct neap_migrate_step *ret, struct neap_error *err);
/* The step of a job whose ttl is over. */
int neap_migrate_timed_out(const struct neap_migrate_view *view,
			   struct neap_migrate_step *ret, struct neap_error *err);
void neap_migrate_step_done(struct neap_migrate_step *step);

/* Returns the name of the Reservation that the job names, else of the one that it would
 * create. */
const char *neap_migrate_reservation_name(const json_t *job);
/* Returns whether the Reservation was created for the job, and is deleted with it. */
bool neap_migrate_made(const json_t *job, const json_t *reservation);
/* Returns whether the pod was evicted and its successor does not use the Reservation yet,
 * but can: its node is not cordoned. Then the Reservation stays, however the job ends,
 * until its own ttl is over or the job is deleted. */
bool neap_migrate_keeps_room(const struct neap_migrate_view *view);
/* Returns how the pod leaves: by its label, else by the job's, else by the arguments. */
enum neap_migrate_policy neap_migrate_policy_of(const struct neap_migrate_view *view);
/* Returns why it leaves: the job's reason, else who created the job, else "NotSet". */
const char *neap_migrate_reason_of(const json_t *job);
/* Returns the Reservation to create for the job's pod; NULL without memory. */
json_t *neap_migrate_reservation_new(const json_t *job, const json_t *pod,
				     int64_t now_usec);
/* Excludes that node in every term of a pod's required node affinity. False without
 * memory. */
bool neap_migrate_exclude_node(json_t *spec, const char *node);
/* Returns when the scavenger deletes the job. */
int64_t neap_migrate_scavenged_usec(const struct neap_migrate_job *job);

#endif
