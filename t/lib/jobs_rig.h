/* SPDX-License-Identifier: Apache-2.0
 *
 * The controller of Jobs beside the API, and what its tests look at. One at a time. */
#ifndef NEAP_T_LIB_JOBS_RIG_H
#define NEAP_T_LIB_JOBS_RIG_H

#include "api/workload/workload.h"
#include "t/lib/kube_rig.h"

#define PODS     "/api/v1/namespaces/default/pods"
#define JOBS     "/apis/batch/v1/namespaces/default/jobs"
#define LIMIT_MS 60000

/* The controller, with kube_now as its time. */
void jobs_start(struct kube_rig *rig);
/* States of cmocka: the API, and the controller. */
int jobs_setup(void **state);
int jobs_teardown(void **state);
/* Ends the controller. What it asked for becomes durable in order: with the answer to a
 * write all that came before it has, too, as when neapd ends. */
void jobs_stop(struct kube_rig *rig);
/* The most steps that a turn of its feed has taken. */
int64_t jobs_most_steps(void);
/* The steps of all turns. */
int64_t jobs_all_steps(void);
/* Ends it and starts it. */
void jobs_again(struct kube_rig *rig);
/* Of the monotonic clock. */
int64_t jobs_now_ms(void);
/* Waits until an answer is as wanted, see kube_step; want ends with NULL. */
void jobs_until(struct kube_rig *rig, const char *ask, const char *const *want);
#define UNTIL(rig, ask, ...)                                                             \
	jobs_until(rig, ask, (const char *const[]){__VA_ARGS__, NULL})
/* spec: more of it, with a comma before; restart: the restartPolicy of its pods. */
void jobs_add(struct kube_rig *rig, const char *name, const char *restart,
	      const char *spec);
/* A merge patch. */
void jobs_change(struct kube_rig *rig, const char *name, const char *patch);
/* Moves kube_now; what only time changes is seen when the job is looked at, so it is
 * changed. */
void jobs_pass_time(struct kube_rig *rig, int64_t seconds, const char *name);
/* All objects of the namespace default; a new array of trees. */
json_t *jobs_list(struct kube_rig *rig, const char *resource);
/* Has not ended, and is not being ended. */
bool jobs_is_active(const json_t *pod);
size_t jobs_count_active(const json_t *pods);
/* Waits for so many active pods; a new array of all pods. */
json_t *jobs_until_active(struct kube_rig *rig, size_t want);
/* As JSON with quotes of one stroke. */
void jobs_set_status(struct kube_rig *rig, const json_t *pod, const char *status);
void jobs_set_phase(struct kube_rig *rig, const json_t *pod, const char *phase);
/* Ends one of so many active pods. */
void jobs_end_one(struct kube_rig *rig, size_t active, const char *phase);
/* Waits for an event about a Job. */
void jobs_until_event(struct kube_rig *rig, const char *reason, const char *message);

#endif
