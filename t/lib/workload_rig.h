/* SPDX-License-Identifier: Apache-2.0
 *
 * What tests of controllers share: somebody who plays the nodes. */
#ifndef NEAP_T_LIB_WORKLOAD_RIG_H
#define NEAP_T_LIB_WORKLOAD_RIG_H

#include "api/workload/workload.h"
#include "t/lib/kube_rig.h"

#define WORKLOAD_LIMIT_MS 60000

/* The rig as controllers want it, with kube_now as the time. */
struct neap_workload_config workload_config(struct kube_rig *rig);

/* What the nodes do with one pod. */
enum workload_fate {
	WORKLOAD_RUN,     /* it is bound, runs and is ready; ends when it is deleted */
	WORKLOAD_UNREADY, /* ... runs, and is not ready */
	WORKLOAD_LEAVE,   /* nothing */
};

/* Plays the nodes n0, n1 and n2, and those that affinities name, once for each pod that
 * there is; fate says what becomes of it, NULL: it runs. Returns how much there was to
 * do: what was asked for is there some turns of the loop later. */
int workload_play(struct kube_rig *rig,
		  enum workload_fate (*fate)(void *arg, const json_t *pod), void *arg);
/* Plays and turns until the step is as wanted. */
void workload_until(struct kube_rig *rig, const struct kube_step *step);
/* Plays and turns until a while there was nothing to play and nothing was written. */
void workload_settle(struct kube_rig *rig,
		     enum workload_fate (*fate)(void *arg, const json_t *pod), void *arg);

/* Gives a pod that status.phase, reason and Ready ("True", "False"; NULL: no conditions),
 * and waits for it. */
void workload_set_phase(struct kube_rig *rig, const char *ns, const char *name,
			const char *phase, const char *ready);

/* The objects of a resource in a namespace; a new array of trees. */
json_t *workload_list(struct kube_rig *rig, const char *resource, const char *ns);

#endif
