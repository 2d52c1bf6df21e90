/* SPDX-License-Identifier: Apache-2.0
 *
 * The extender on the real API and scheduler in the test's thread, asked over TCP. */
#ifndef NEAP_T_LIB_EXTENDER_RIG_H
#define NEAP_T_LIB_EXTENDER_RIG_H

#include "t/lib/schedule_rig.h"

#define EXTENDER_FILTER     "POST /extender/v1/filter"
#define EXTENDER_PRIORITIZE "POST /extender/v1/prioritize"
#define EXTENDER_PREEMPT    "POST /extender/v1/preempt"

/* With the nodes node-0, node-1 and node-2, of 4, 0.5 and 8 CPUs and 8 GiB. */
int extender_setup(void **state);
int extender_teardown(void **state);
/* The status; the answer is rig->body. */
int extender_ask(struct kube_rig *rig, const char *what, const char *body, size_t len);
/* A body with uid for "<UID>", and ' for ". */
int extender_ask_as(struct kube_rig *rig, const char *what, const char *body,
		    const char *uid);
/* Of the answer; see kube_differs. NULL ends them. */
void extender_must_be(struct kube_rig *rig, const char *name, const char *const *want);
/* What becomes of a binding, as the verb bind asks for it; "": it is bound. */
const char *extender_bind(struct kube_rig *rig, const char *pod, const char *uid,
			  const char *node);

#endif
