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

/* Of the job: a merge patch of the pod that takes back what was set on it. */
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

/* What came of an act, until the status says so. */
enum migrate_outcome {
	MIGRATE_NOTHING,
	MIGRATE_NOT_CREATED,
	MIGRATE_EVICTED,
	MIGRATE_WOULD_EVICT, /* a dry run */
	MIGRATE_NOT_EVICTED
};

/* What is remembered of a job. All of it may be forgotten. */
struct migrate_memory {
	bool may_begin;    /* arbitration let it through; the mark is not written yet */
	bool is_forbidden; /* arbitration refused it for good */
	bool is_asked, is_refused;
	bool is_taken_back; /* what was set on the pod of a job that ends */
	enum migrate_outcome outcome;
	char why[256]; /* of the outcome */
	json_t *pod;   /* as it was when it was evicted */
	/* What the job was noted of, and is done next. */
	bool has_way;
	struct neap_migrate_way way;
	int64_t retry_usec, pause_usec; /* of a refused eviction */
	/* Events of the write on its way. */
	struct neap_migrate_event events[NEAP_MIGRATE_EVENTS];
	size_t event_count;
	/* The stage that the job is in (enum migrate_stage, or their count), and since
	 * when; 0: not looked at yet. */
	int stage;
	int64_t stage_usec;
	char *reservation, *pod_key, *new_pod_key; /* what wakes it; NULL */
	char name[];
};

struct neap_migrate {
	struct neap_migrate_config config;
	struct neap_migrate_args args;
	json_t *given; /* what they were made of; NULL: the defaults */
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
	char creator[MIGRATE_UUID]; /* of this process */
};

/* --- ask.c --- */

void migrate_uuid(char to[MIGRATE_UUID]);

/* --- memory.c --- */

/* NULL without memory. */
struct migrate_memory *migrate_memory_get(struct neap_migrate *migrate, const char *name);
void migrate_memory_drop(struct neap_migrate *migrate, const char *name);
void migrate_memory_clear(struct neap_migrate *migrate);
/* What wakes the job: changes of these objects. "" and NULL: none. */
void migrate_memory_watch(struct neap_migrate *migrate, struct migrate_memory *memory,
			  const char *reservation, const char *pod_key,
			  const char *new_pod_key);

/* --- round.c --- */

int64_t migrate_round(struct neap_migrate *migrate);

/* --- look.c --- */

int64_t migrate_look(struct neap_migrate *migrate, const char *name);
void migrate_told(void *arg, const struct neap_round_told *told);

/* --- take_back.c --- */

/* Adds to the patch of the job what takes the way back, unless it says so already. False
 * without memory. */
bool migrate_way_note(const json_t *job, const struct neap_migrate_way *way,
		      json_t **patch);
/* Of a job that has ended or is being deleted, within a look: asks for the next thing,
 * until nothing is left. -1: without memory. */
int64_t migrate_take_back(struct neap_migrate *migrate, struct migrate_memory *memory,
			  const json_t *job, const json_t *pod);
/* The pod's answer. */
void migrate_taken_back(struct migrate_memory *memory,
			const struct neap_client_failure *failure);

/* --- leave.c --- */

/* The way that the pod leaves; has to be ended. */
void migrate_way_init(struct neap_migrate *migrate, const struct neap_migrate_view *view,
		      struct neap_migrate_way *ret);
void migrate_way_done(struct neap_migrate_way *way);
/* Has the pod evicted, within a look; the answer is MIGRATE_EVICT's. */
void migrate_leave(struct neap_migrate *migrate, struct migrate_memory *memory,
		   const struct neap_migrate_view *view,
		   const struct neap_migrate_way *way);
/* Whether the object limiter holds the pod back. */
bool migrate_is_limited(struct neap_migrate *migrate, const json_t *pod);
/* The pod was not evicted after all: the token that was taken comes back. */
void migrate_uncount(struct neap_migrate *migrate, const json_t *pod);

#endif
