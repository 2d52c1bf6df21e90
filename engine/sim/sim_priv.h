/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files behind engine/sim/sim.h. Functions without a result note their
 * failure in sim->rc. */
#ifndef NEAP_ENGINE_SIM_SIM_PRIV_H
#define NEAP_ENGINE_SIM_SIM_PRIV_H

#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/migrate/job.h"
#include "engine/sim/sim.h"

struct neap_sim_job {
	json_t *job;
	struct neap_sim_leave *leave;
	char ns[NEAP_OBJECT_NAMESPACE], pod[NEAP_OBJECT_NAME];
	int64_t due_usec;
	bool is_refused;
};

struct neap_sim_reservation {
	char *name;
	json_t *tree; /* NULL once it was dropped */
	bool is_placed;
};

struct neap_sim_budget {
	json_t *tree;
	struct neap_selector *selector; /* NULL: takes none */
	char *ns;
};

/* Notes a failure; false for one. */
bool sim_note(struct neap_sim *sim, int rc, const struct neap_error *err);
bool sim_is_made(struct neap_sim *sim, const void *made); /* NULL: no memory */
int64_t sim_wait(struct neap_sim *sim, const struct neap_sim_delay *delay);
void sim_time(int64_t usec, char ret[32]);

/* sim_pod.c */
/* Gives the pod's new object to cluster, world and migration. Takes the tree. */
void sim_publish_take(struct neap_sim *sim, struct neap_sim_pod *pod, json_t *tree);
struct neap_sim_pod *sim_add_pod_take(struct neap_sim *sim, json_t *tree,
				      struct neap_sim_workload *workload);
void sim_remove_pod(struct neap_sim *sim, struct neap_sim_pod *pod);
void sim_bind(struct neap_sim *sim, struct neap_sim_pod *pod, const char *node,
	      json_t *notes);
/* Does what is due for pods. */
void sim_move_pods(struct neap_sim *sim);

/* sim_workload.c */
void sim_look_at_workloads(struct neap_sim *sim);
void sim_free_workload(struct neap_sim_workload *workload);
/* Makes its controller look, because one of its pods leaves or is gone. */
void sim_wake(struct neap_sim *sim, struct neap_sim_workload *workload);
struct neap_sim_workload *sim_own(struct neap_sim *sim, const json_t *pod);

/* sim_budget.c */
int sim_add_budget(struct neap_sim *sim, const json_t *tree, struct neap_error *err);
void sim_free_budget(struct neap_sim_budget *budget);
void sim_count_budgets(struct neap_sim *sim);
/* Returns whether the budgets allow the eviction now. */
bool sim_may_evict(struct neap_sim *sim, const struct neap_sim_pod *pod);

/* sim_schedule.c */
void sim_publish_reservation(struct neap_sim *sim,
			     struct neap_sim_reservation *reservation);
/* Records that a bound pod uses the Reservation of that uid. */
void sim_use_reservation(struct neap_sim *sim, const char *uid);
void sim_schedule(struct neap_sim *sim);

/* sim_job.c */
void sim_add_job(struct neap_sim *sim, struct neap_sim_leave *leave,
		 const struct neap_sim_pod *pod);
void sim_move_jobs(struct neap_sim *sim);
void sim_free_job(struct neap_sim_job *job);
void sim_free_reservation(struct neap_sim_reservation *reservation);

/* sim_leave.c */
/* Evicts a pod for a record; returns the API server's answer. */
bool sim_let_go(struct neap_sim *sim, struct neap_sim_leave *leave,
		struct neap_sim_pod *pod);
/* Records the pod as successor of the oldest eviction without one. */
void sim_note_made(struct neap_sim *sim, struct neap_sim_pod *pod);
void sim_note_placed(struct neap_sim *sim, struct neap_sim_pod *pod, const char *node);
void sim_note_unwanted(struct neap_sim *sim, const struct neap_sim_workload *workload);

#endif
