/* SPDX-License-Identifier: Apache-2.0
 *
 * The extender on the real API and scheduler, asked over TCP as a kube-scheduler does.
 * Nodes: node-0 of 4 CPUs, node-1 of half a one, node-2 of 8. */
#ifndef NEAP_T_LIB_EXTENDER_RIG_H
#define NEAP_T_LIB_EXTENDER_RIG_H

#include "api/extender/extender.h"
#include "t/lib/schedule_rig.h"

#define FILTER     "POST /extender/v1/filter"
#define PRIORITIZE "POST /extender/v1/prioritize"
#define PREEMPT    "POST /extender/v1/preempt"
#define BIND       "POST /extender/v1/bind"

/* Each look at the clock is so much later than the one before; 0 at first. */
extern int64_t extender_step_usec;
#define DEADLINE_USEC 20000

int extender_setup(void **state);
/* With the verb bind. */
int extender_setup_binder(void **state);
/* ... for admins alone. */
int extender_setup_closed(void **state);
/* ... which waits for a minute. */
int extender_setup_patient(void **state);
int extender_teardown(void **state);
/* The status. */
int extender_ask(struct kube_rig *rig, const char *what, const char *body, size_t len);
/* ... by one of KUBE_TOKENS; "": by nobody. */
int extender_ask_who(struct kube_rig *rig, const char *token, const char *what,
		     const char *body, size_t len);
/* bind, by somebody with a name. */
int extender_bind(struct kube_rig *rig, const char *uid, const char *node);
/* The same in two halves, the connection between them: the loop need not run in the
 * first. */
int extender_bind_start(struct kube_rig *rig, const char *uid, const char *node);
int extender_bind_end(struct kube_rig *rig, int fd);
/* What becomes of a binding that is asked for inside; "": it is bound. */
const char *extender_bind_to(struct kube_rig *rig, const char *pod, const char *uid,
			     const char *node);
/* A body with uid for <UID>, and ' for ". */
int extender_ask_as(struct kube_rig *rig, const char *what, const char *body,
		    const char *uid);
#define POD                                                                              \
	"'Pod':{'metadata':{'name':'p','namespace':'default','uid':'<UID>'},"            \
	"'spec':{'x':[1,-2.5e+3,true,false,null,{}]}}"

/* The uid of a pod of the scheduler "default-scheduler", made when it is not there. */
const char *extender_pod_uid(struct kube_rig *rig, const char *name, const char *cpu,
			     bool is_high);
/* As kube_differs says, one after the other; NULL ends. */
void extender_must_be(struct kube_rig *rig, const char *name, const char *const *want);

#endif
