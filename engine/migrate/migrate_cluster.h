/* SPDX-License-Identifier: Apache-2.0
 *
 * The facts about the cluster that migration needs: every pod with its node, its
 * controller and whether it is serving; workloads with their replicas; every
 * PodMigrationJob. Objects may come in any order. Made for 100,000 pods of some 300 bytes
 * each and a few thousand jobs. */
#ifndef NEAP_ENGINE_MIGRATE_MIGRATE_CLUSTER_H
#define NEAP_ENGINE_MIGRATE_MIGRATE_CLUSTER_H

#include <jansson.h>

#include "engine/base/error.h"

#define NEAP_KEY_ARBITRATED "descheduler.koordinator.sh/passed-arbitration"
#define NEAP_KEY_FORCE      "descheduler.alpha.kubernetes.io/evict"
/* The profile whose round made the job. */
#define NEAP_KEY_JOB_PROFILE "migration.neap.sh/profile"

struct neap_map;
struct neap_migrate_known;

struct neap_migrate_pod {
	const char *ns, *name, *uid, *node; /* node "": not assigned */
	/* Its controller; "": none. */
	const char *owner_uid, *owner_kind, *owner_name;
	bool is_serving;                  /* neither finished nor deleting, and ready */
	bool is_forced;                   /* by NEAP_KEY_FORCE */
	bool is_scaled;                   /* its controller is one of scaled_owner.h */
	struct neap_migrate_known *known; /* arbitrate.h; NULL: nobody asked */
};

/* A workload whose replicas are known. A ReplicaSet of a Deployment has the Deployment as
 * its owner. */
struct neap_migrate_workload {
	const char *kind, *ns, *name, *uid;
	const char *owner_kind, *owner_name; /* "": none */
	int64_t replicas;
	struct neap_migrate_workload *next, *previous; /* of the same owner */
};

enum neap_job_phase {
	NEAP_JOB_PENDING, /* also without a phase */
	NEAP_JOB_RUNNING,
	NEAP_JOB_SUCCEEDED, /* also "Succeed", as older controllers wrote */
	NEAP_JOB_FAILED,
	NEAP_JOB_ABORTED, /* also an unknown phase */
};

struct neap_migrate_job {
	const char *name, *uid;
	const char *pod_ns, *pod_name, *pod_uid; /* "": not given */
	const char *reason;                      /* of its status; "" */
	const char *profile;                     /* NEAP_KEY_JOB_PROFILE; "" */
	enum neap_job_phase phase;
	bool is_arbitrated, is_paused, is_direct, has_mode, has_force, is_deleting;
	int64_t created_usec;
	int64_t ttl_usec; /* 0: none */
};

struct neap_migrate_cluster {
	struct neap_map *pods;      /* by "NAMESPACE/NAME" */
	struct neap_map *workloads; /* by "KIND/NAMESPACE/NAME" */
	struct neap_map *owned;     /* first of an owner's workloads, likewise */
	struct neap_map *jobs;      /* by name */
	struct neap_map *counts;    /* migrate_counts.h */
	struct neap_map *scaled;    /* scaled_owner.h */
};

int neap_migrate_cluster_init(struct neap_migrate_cluster *cluster,
			      struct neap_error *err);
void neap_migrate_cluster_done(struct neap_migrate_cluster *cluster);
/* Forgets everything. */
void neap_migrate_cluster_clear(struct neap_migrate_cluster *cluster);
/* Forgets what arbitration knows of pods: the arguments have changed. */
void neap_migrate_forget(struct neap_migrate_cluster *cluster);

/* Adds or replaces an object. A pointer to its facts is valid until the object is set or
 * dropped again. -NEAP_ENOMEM: the cluster must be cleared and read again. */
int neap_migrate_set_pod(struct neap_migrate_cluster *cluster, const json_t *tree,
			 struct neap_error *err);
int neap_migrate_set_workload(struct neap_migrate_cluster *cluster, const char *kind,
			      const json_t *tree, struct neap_error *err);
int neap_migrate_set_job(struct neap_migrate_cluster *cluster, const json_t *tree,
			 struct neap_error *err);
void neap_migrate_drop_pod(struct neap_migrate_cluster *cluster, const char *ns,
			   const char *name);
void neap_migrate_drop_workload(struct neap_migrate_cluster *cluster, const char *kind,
				const char *ns, const char *name);
void neap_migrate_drop_job(struct neap_migrate_cluster *cluster, const char *name);

/* Marks the job as accepted by arbitration: it counts from now on. */
void neap_migrate_begin_job(struct neap_migrate_cluster *cluster,
			    struct neap_migrate_job *job);

/* NULL: there is none. */
struct neap_migrate_pod *neap_migrate_find_pod(const struct neap_migrate_cluster *cluster,
					       const char *ns, const char *name);
struct neap_migrate_workload *
neap_migrate_find_workload(const struct neap_migrate_cluster *cluster, const char *kind,
			   const char *ns, const char *name);
struct neap_migrate_job *neap_migrate_find_job(const struct neap_migrate_cluster *cluster,
					       const char *name);
/* Returns the pod that the job names, whatever its uid. */
struct neap_migrate_pod *neap_migrate_pod_of(const struct neap_migrate_cluster *cluster,
					     const struct neap_migrate_job *job);
/* Returns whether the job waits or has begun, and has not ended. */
bool neap_migrate_is_active(const struct neap_migrate_job *job);
/* Returns whether the job has passed arbitration. */
bool neap_migrate_has_begun(const struct neap_migrate_job *job);
/* Returns the first workload that owner owns, such as a ReplicaSet of a Deployment; NULL:
 * none. */
const struct neap_migrate_workload *
neap_migrate_first_of(const struct neap_migrate_cluster *cluster,
		      const struct neap_migrate_workload *owner);
/* Finds the workload of a pod (its Deployment, if there is one) and its replicas. False:
 * the pod has no controller. 0 replicas: the workload is not known. NULL with replicas: a
 * controller of scaled_owner.h. */
bool neap_migrate_replicas(const struct neap_migrate_cluster *cluster,
			   const struct neap_migrate_pod *pod,
			   const struct neap_migrate_workload **ret, int64_t *ret_count);

/* Reads one job, as set does; texts point into it. */
void neap_migrate_job_read(const json_t *job, struct neap_migrate_job *ret);
/* The controller among a pod's owners; NULL. */
const json_t *neap_migrate_controller(const json_t *pod);

#endif
