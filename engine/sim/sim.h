/* SPDX-License-Identifier: Apache-2.0
 *
 * A simulated cluster with a clock of its own: nodes, workloads that replace their pods,
 * a scheduler (the decision core of neap), kubelets that start and end pods, make them
 * ready and report what they use, disruption budgets, and migration jobs. It keeps what a
 * scheduler, a descheduler and a migration controller would know. The same seed and calls
 * give the same history. Made for some thousand pods; no input or output.
 *
 * Not simulated: preemption, volumes, images, the time until a dead node is noticed.
 * Single-threaded. */
#ifndef NEAP_ENGINE_SIM_SIM_H
#define NEAP_ENGINE_SIM_SIM_H

#include "engine/decide/decide.h"
#include "engine/deschedule/world.h"
#include "engine/migrate/migrate_cluster.h"
#include "engine/reserve/book.h"

#define NEAP_SIM_SECOND INT64_C(1000000)
#define NEAP_SIM_MINUTE (60 * NEAP_SIM_SECOND)
#define NEAP_SIM_HOUR   (60 * NEAP_SIM_MINUTE)
#define NEAP_SIM_NEVER  INT64_MAX

/* How long something takes, in microseconds: between least and most each time. */
struct neap_sim_delay {
	int64_t least, most;
};

struct neap_sim_args {
	uint64_t seed;
	int64_t now_usec; /* when it begins */
	/* time until a controller notices that a pod is gone; until the scheduler first
	 * tries a pod; until a bound pod is ready; until a terminating pod is gone */
	struct neap_sim_delay react, queue, start, grace;
	/* the scheduler prefers full nodes (MostAllocated), else empty ones */
	bool packs;
};

/* 10 to 40 ms, 5 to 25 ms, 2 to 10 s, 1 to 30 s. */
void neap_sim_args_init(struct neap_sim_args *args);

enum neap_sim_state {
	NEAP_SIM_NEW,     /* the scheduler has not seen it */
	NEAP_SIM_WAITING, /* it has no node */
	NEAP_SIM_STARTING,
	NEAP_SIM_READY,
	NEAP_SIM_LEAVING
};

struct neap_sim_workload {
	char *kind, *ns, *name, *uid;
	bool is_ordered;    /* StatefulSet: the successor has the same name */
	json_t *template;   /* of its pods, with their owner */
	int64_t replicas;   /* wanted */
	int64_t active;     /* pods that do not leave */
	uint64_t made;      /* for names */
	int64_t due_usec;   /* when its controller looks */
	double use, phase;  /* of its pods: share of their requests; of the day's wave */
	double wave;        /* how much the use moves with the day */
	int64_t base, most; /* replicas without the wave; and those at first */
};

struct neap_sim_leave;

struct neap_sim_pod {
	struct neap_object *object;
	struct neap_sim_workload *workload; /* NULL: it is not replaced */
	enum neap_sim_state state;
	bool is_single; /* stays until it ends, whatever its workload wants */
	int64_t created_usec, bound_usec;
	int64_t due_usec;             /* of its next state; NEVER: after another event */
	int64_t ends_usec;            /* when its work is done; NEVER */
	struct neap_sim_leave *leave; /* the eviction whose successor it is */
	size_t at;
};

enum neap_sim_how { NEAP_SIM_DIRECTLY, NEAP_SIM_BY_JOB };

enum neap_leave_state {
	NEAP_LEAVE_ASKED,    /* the job has not evicted the pod yet */
	NEAP_LEAVE_GONE,     /* evicted; the successor has no node yet */
	NEAP_LEAVE_PLACED,   /* the successor has a node */
	NEAP_LEAVE_UNWANTED, /* the workload needs no successor */
	NEAP_LEAVE_REFUSED   /* the pod was not evicted */
};

/* An eviction and its result. */
struct neap_sim_leave {
	char pod[NEAP_POD_KEY];
	const char *from, *told, *landed; /* nodes; "" */
	const char *strategy, *why;
	const char *refusal;
	enum neap_sim_how how;
	enum neap_leave_state state;
	/* 0: not yet: asked for, evicted, successor made, successor placed */
	int64_t asked_usec, left_usec, made_usec, placed_usec;
	struct neap_sim_workload *workload;
	/* The eviction whose successor this pod was; NULL: none. */
	const struct neap_sim_leave *before;
	/* The effect of the eviction when the successor is placed: requested percent of
	 * the fuller of cpu and memory on the old node, as it is and with the pod still
	 * there; and the pods that found room there since. */
	int with_percent, without_percent;
	uint32_t let_in;
};

struct neap_sim_job;
struct neap_sim_reservation;
struct neap_sim_budget;

struct neap_sim {
	struct neap_sim_args args;
	int64_t now_usec;
	struct neap_cluster *cluster;
	struct neap_reserve_book *book;
	struct neap_decide *decide;
	struct neap_world *world; /* settled by neap_sim_settle */
	struct neap_migrate_cluster migrate;
	struct neap_migrate_args *migrate_args; /* NULL: defaults; borrowed */
	struct neap_sim_pod **pods;
	size_t pod_count, pod_size;
	struct neap_sim_workload **workloads;
	size_t workload_count, workload_size;
	struct neap_sim_leave **leaves; /* in the order of asking */
	size_t leave_count, leave_size;
	struct neap_sim_job **jobs;
	size_t job_count, job_size;
	struct neap_sim_reservation **reservations;
	size_t reservation_count, reservation_size;
	struct neap_sim_budget **budgets;
	size_t budget_count, budget_size;
	struct neap_map *by_key, *by_uid; /* pods; workloads */
	bool has_moved;                   /* waiting pods are tried again */
	uint64_t random, last_uid;
	int64_t last_version;
	int rc; /* the first failure; the simulation stops then */
	struct neap_error err;
	struct neap_arena texts;
};

int neap_sim_new(const struct neap_sim_args *args, struct neap_sim **ret,
		 struct neap_error *err);
void neap_sim_free(struct neap_sim *sim);
/* Random numbers: below a limit; 0 to 1. */
uint64_t neap_sim_roll(struct neap_sim *sim, uint64_t below);
double neap_sim_chance(struct neap_sim *sim);
/* Makes a uid that nothing else has. */
void neap_sim_uid(struct neap_sim *sim, char ret[NEAP_OBJECT_UID]);

/* --- what there is --- */

/* Adds an object as a server has it (borrowed): resource is "nodes", "pods",
 * "namespaces", "poddisruptionbudgets" or "nodemetrics". A pod with a controller other
 * than a DaemonSet makes a workload that wants as many pods as came. */
int neap_sim_add(struct neap_sim *sim, const char *resource, const json_t *tree,
		 struct neap_error *err);
/* Removes the node and its pods at once. */
void neap_sim_lose_node(struct neap_sim *sim, const char *name);
/* Adds a workload; template: labels, annotations and spec of its pods. The result is
 * borrowed. */
struct neap_sim_workload *neap_sim_new_workload(struct neap_sim *sim, const char *kind,
						const char *ns, const char *name,
						const json_t *template, int64_t replicas);
/* Changes the wanted replicas; surplus pods leave, the newest first. */
void neap_sim_scale(struct neap_sim *sim, struct neap_sim_workload *workload,
		    int64_t replicas);
/* Adds a pod without a workload, which ends after life_usec (NEVER: does not). Takes the
 * tree. */
struct neap_sim_pod *neap_sim_new_pod_take(struct neap_sim *sim, json_t *tree,
					   int64_t life_usec);
struct neap_sim_pod *neap_sim_find_pod(const struct neap_sim *sim, const char *ns,
				       const char *name);
/* Deletes the pod, which is gone after its grace period. */
void neap_sim_delete_pod(struct neap_sim *sim, struct neap_sim_pod *pod);

/* --- time --- */

/* Advances the clock to until_usec. Returns the first failure since the start, if there
 * was one. */
int neap_sim_advance(struct neap_sim *sim, int64_t until_usec, struct neap_error *err);
/* Makes the kubelets report what pods use now. */
int neap_sim_report(struct neap_sim *sim, struct neap_error *err);
/* Counts budgets, and settles the world for a round. */
int neap_sim_settle(struct neap_sim *sim, struct neap_error *err);

/* --- evictions --- */

/* Evicts a pod by decision of a round: now, or by a job that reserves first. told: the
 * node on which the successor should land, "". A refusal is in the record. */
struct neap_sim_leave *neap_sim_evict(struct neap_sim *sim, const char *ns,
				      const char *name, const char *strategy,
				      const char *why, const char *told,
				      enum neap_sim_how how);
/* Writes the record of an eviction for people, with the effect of the eviction. */
void neap_sim_tell(const struct neap_sim_leave *leave, struct neap_buf *out);

/* Returns the population standard deviation, over existing nodes that are not cordoned,
 * of the requested share of a resource (with by_use: the share in use by the last
 * report). */
double neap_sim_spread(struct neap_sim *sim, uint32_t resource, bool by_use);

#endif
