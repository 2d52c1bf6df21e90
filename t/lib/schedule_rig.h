/* SPDX-License-Identifier: Apache-2.0
 *
 * The API in the test's thread with a scheduler on it. */
#ifndef NEAP_T_LIB_SCHEDULE_RIG_H
#define NEAP_T_LIB_SCHEDULE_RIG_H

#include "api/schedule/schedule.h"
#include "t/lib/kube_rig.h"

#define SCHEDULE_PODS         "/api/v1/namespaces/default/pods"
#define SCHEDULE_NODES        "/api/v1/nodes"
#define SCHEDULE_RESERVATIONS "/apis/scheduling.koordinator.sh/v1alpha1/reservations"

/* Tests run one after the other. */
extern struct neap_scheduler *schedule_scheduler;
/* What the next one is started with; NULL: without. */
extern struct neap_schedule_config *schedule_settings;

int schedule_setup(void **state);
int schedule_teardown(void **state);
/* Ends the scheduler; starts one, on what is there. */
void schedule_stop(void);
void schedule_start(struct kube_rig *rig);

/* spec: members beside none, "" or "'unschedulable':true"; allocatable:
 * "'cpu':'4','memory':'8Gi'", to which 110 pods are added where it says nothing of
 * them. */
void schedule_add_node(struct kube_rig *rig, const char *name, const char *meta,
		       const char *spec, const char *allocatable);
/* requests: "'cpu':'1'"; spec: further members of it, "" or "'priority':...". Of the
 * scheduler "neap-scheduler". */
void schedule_add_pod(struct kube_rig *rig, const char *name, const char *labels,
		      const char *requests, const char *spec);
/* For pods with the label app=NAME. labels, requests, spec: of its template, as above;
 * more: further members of its own spec, "" or "'allocateOnce':false". */
void schedule_add_reservation(struct kube_rig *rig, const char *name, const char *labels,
			      const char *requests, const char *spec, const char *more);
/* Waits until it is in that phase, at that node ("": whatever its status says of one); it
 * is the rig's body then. */
void schedule_wait_phase(struct kube_rig *rig, const char *name, const char *phase,
			 const char *node);
/* Waits until the pod is bound; its node in a static buffer. */
const char *schedule_wait_node(struct kube_rig *rig, const char *name);
/* As kube_until, of an answer 200 to ask, with up to three wants (NULL: less), while
 * pauses of the scheduler go by. */
void schedule_until(struct kube_rig *rig, const char *ask, const char *a, const char *b,
		    const char *c);
/* Waits until the condition PodScheduled of the pod is False with this message, which may
 * leave out what is said of preemption. */
void schedule_wait_message(struct kube_rig *rig, const char *name, const char *message);

#endif
