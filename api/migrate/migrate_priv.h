/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of the loop of PodMigrationJobs. */
#ifndef NEAP_API_MIGRATE_MIGRATE_PRIV_H
#define NEAP_API_MIGRATE_MIGRATE_PRIV_H

#include "api/migrate/metrics.h"
#include "api/migrate/migrate.h"
#include "api/workload/loop/feed.h"
#include "api/workload/loop/rounds.h"
#include "engine/migrate/limiter.h"

#define JOBS         "podmigrationjobs.scheduling.koordinator.sh"
#define RESERVATIONS "reservations.scheduling.koordinator.sh"

/* The key of a round of arbitration: no object has such a namespace. */
#define ARBITRATION_NS   "/"
#define ARBITRATION_NAME "arbitration"

/* Annotation of the job: a merge patch of the pod that undoes what was set on it. */
#define KEY_TAKE_BACK "migration.neap.sh/take-back"

#define MIGRATE_UUID 37 /* with the NUL */

enum migrate_ask_for {
	MIGRATE_PATCH, /* of the job */
	MIGRATE_STATUS,
	MIGRATE_CREATE, /* the Reservation */
	MIGRATE_LABEL,  /* of the Reservation */
	MIGRATE_EVICT,
	MIGRATE_TAKE_BACK, /* of the pod */
	MIGRATE_CLEAN,     /* what an ended job leaves */
	MIGRATE_SCAVENGE
};

/* The result of an act, until it is in the status. */
enum migrate_outcome {
	MIGRATE_NOTHING,
	MIGRATE_NOT_CREATED,
	MIGRATE_EVICTED,
	MIGRATE_WOULD_EVICT, /* a dry run */
	MIGRATE_NOT_EVICTED
};

/* State kept in memory for a job. All of it may be lost. */
struct migrate_memory {
	/* arbitration accepted it; the annotation is not written yet */
	bool may_begin;
	bool is_forbidden; /* arbitration refused it for good */
	bool is_asked, is_refused;
	bool is_taken_back; /* what was set on the pod of a job that ends */
	enum migrate_outcome outcome;
	char why[256]; /* of the outcome */
	json_t *pod;   /* as it was when it was evicted */
	/* siblings.c: the controller of its pod, by uid; since when the pod leaves and
	 * how long others wait for its successor; 0: it does not. */
	char controller[MIGRATE_UUID];
	int64_t leaves_usec, leaves_for_usec;
	bool has_left;  /* once */
	bool is_behind; /* another one leaves */
	bool is_first;  /* its Reservation comes before those of its siblings */
	/* The way that was recorded in the job, and is taken next. */
	bool has_way;
	struct neap_migrate_way way;
	int64_t retry_usec, pause_usec; /* of a refused eviction */
	/* Events of the write on its way. */
	struct neap_migrate_event events[NEAP_MIGRATE_EVENTS];
	size_t event_count;
	/* The job's stage (enum migrate_stage, or their count), and since when; 0: before
	 * the first look. */
	int stage;
	int64_t stage_usec;
	char *reservation, *pod_key, *new_pod_key; /* what wakes it; NULL */
	char name[];
};

/* A round of arbitration: the pods of its jobs are read, then the jobs are put in order,
 * by one policy a turn, and judged. */
struct migrate_queue {
	size_t learned; /* of the cluster's jobs: whose pods are read */
	char *names;    /* one behind the other; NULL: no round is under way */
	/* By place: whether a policy was asked about it. NULL: all policies were. */
	bool *is_placed;
	const char *next;
	size_t left;
	bool still_waits;
	bool waits_for_scale; /* of a controller, which a server is asked for */
	uint64_t waiting[NEAP_CHECK_COUNT];
};

struct neap_migrate {
	struct neap_migrate_config config;
	struct neap_migrate_args args;
	json_t *given; /* the JSON of args; NULL: the defaults */
	struct neap_migrate_cluster cluster;
	struct neap_feed *feed;
	struct neap_rounds *rounds;
	struct neap_map *memory; /* by the job's name */
	struct neap_map
		*reservations; /* by its name: the memory of the job that uses it */
	struct neap_map *pods; /* by "NAMESPACE/NAME", likewise */
	struct neap_limiter *limiter;
	struct neap_bucket bucket; /* of all evictions */
	struct migrate_metrics metrics;
	struct migrate_queue queue;
	char creator[MIGRATE_UUID]; /* of this process */
};

/* --- ask.c --- */

void migrate_uuid(char to[MIGRATE_UUID]);

/* --- memory.c --- */

/* NULL without memory. */
struct migrate_memory *migrate_memory_get(struct neap_migrate *migrate, const char *name);
void migrate_memory_drop(struct neap_migrate *migrate, const char *name);
void migrate_memory_clear(struct neap_migrate *migrate);
/* Sets the objects whose changes make the job due. "" and NULL: none. */
void migrate_memory_watch(struct neap_migrate *migrate, struct migrate_memory *memory,
			  const char *reservation, const char *pod_key,
			  const char *new_pod_key);

/* --- arbitration.c --- */

/* A look: as much of a round as a turn has steps for. */
int64_t migrate_round(struct neap_migrate *migrate);

/* --- job_look.c --- */

int64_t migrate_look(struct neap_migrate *migrate, const char *name);
void migrate_told(void *arg, const struct neap_round_told *told);

/* --- take_back.c --- */

/* Adds what undoes the way to the patch of the job, unless the job has it already. False
 * without memory. */
bool migrate_way_note(const json_t *job, const struct neap_migrate_way *way,
		      json_t **patch);
/* Cleans up after a job that has ended or is being deleted, one write per look. -1:
 * without memory. */
int64_t migrate_take_back(struct neap_migrate *migrate, struct migrate_memory *memory,
			  const json_t *job, const json_t *pod);
/* Handles the answer of the write to the pod. */
void migrate_taken_back(struct migrate_memory *memory,
			const struct neap_client_failure *failure);

/* --- siblings.c --- */

/* Takes note of a look: whether the pod is on its way, and its successor there. */
void migrate_sibling_note(struct neap_migrate *migrate, struct migrate_memory *memory,
			  const struct neap_migrate_view *view, bool is_active);
/* Returns whether the pod has to wait for another one of its controller. */
bool migrate_sibling_holds(const struct neap_migrate *migrate,
			   struct migrate_memory *memory,
			   const struct neap_migrate_view *view);
/* The pod is about to be evicted, within a look. grace_s: as the eviction says; -1: its
 * own. */
void migrate_sibling_leaves(struct neap_migrate *migrate, struct migrate_memory *memory,
			    const struct neap_migrate_view *view, int64_t grace_s);
/* Its successor has its place, or it was not evicted: the next one may go. */
void migrate_sibling_stays(struct neap_migrate *migrate, struct migrate_memory *memory);

/* --- leave.c --- */

/* Determines the way that the pod leaves; end it with migrate_way_done. */
void migrate_way_init(struct neap_migrate *migrate, const struct neap_migrate_view *view,
		      struct neap_migrate_way *ret);
void migrate_way_done(struct neap_migrate_way *way);
/* Evicts the pod, within a look; the answer comes as MIGRATE_EVICT. */
void migrate_leave(struct neap_migrate *migrate, struct migrate_memory *memory,
		   const struct neap_migrate_view *view,
		   const struct neap_migrate_way *way);
/* Returns whether the object limiter delays the pod. */
bool migrate_is_limited(struct neap_migrate *migrate, const json_t *pod);
/* Returns the token, because the pod was not evicted. */
void migrate_uncount(struct neap_migrate *migrate, const json_t *pod);

#endif
