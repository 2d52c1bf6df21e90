/* SPDX-License-Identifier: Apache-2.0
 *
 * For the tests of the Reservation controller: it, a store, and somebody who plays the
 * scheduler and the nodes n0, n1 and n2. */
#ifndef NEAP_T_LIB_RESERVATIONS_RIG_H
#define NEAP_T_LIB_RESERVATIONS_RIG_H

#include "t/lib/workload_rig.h"

#define PODS         "/api/v1/namespaces/default/pods"
#define NODES        "/api/v1/nodes"
#define RESERVATIONS "/apis/scheduling.koordinator.sh/v1alpha1/reservations"
#define SECOND       INT64_C(1000000)
#define DAY          (24 * 3600 * SECOND)

struct reservations_rig {
	struct kube_rig *kube;
	struct neap_reservations *reservations; /* NULL: it is stopped */
	int64_t keep_usec;
	bool may_be_gone; /* a 404 will do, too: time takes things away */
};

int reservations_setup(void **state);
int reservations_teardown(void **state);
/* Ends, and begins anew: everything is looked at. */
void reservations_stop(struct reservations_rig *rig);
void reservations_start(struct reservations_rig *rig);
void reservations_again(struct reservations_rig *rig);

/* One request that must have that status. */
void reservations_must(struct reservations_rig *rig, const char *ask, const char *body,
		       int status);
/* One of 4 CPUs and 8Gi; spec: more fields of it, with a comma before ("" none). */
void reservations_make(struct reservations_rig *rig, const char *name, const char *spec);
/* As the scheduler places it. */
void reservations_place(struct reservations_rig *rig, const char *name, const char *node,
			const char *phase);
/* A pod of so many CPUs and 1Gi; node "": not bound; target: what it uses, by uid; NULL:
 * nothing. */
void reservations_pod(struct reservations_rig *rig, const char *name, const char *node,
		      const char *target, int cpus);
/* Gives a pod another uid to use; "": none. */
void reservations_move(struct reservations_rig *rig, const char *name,
		       const char *target);
/* metadata.uid, in ret of 64 bytes. */
const char *reservations_uid(struct reservations_rig *rig, const char *ask, char *ret);
/* Until GET of the reservation is as wanted. */
void reservations_until(struct reservations_rig *rig, const char *name,
			const char *const *want);
/* Runs until nothing has been written for a while. */
void reservations_rest(struct reservations_rig *rig);
/* Events of that reason about one, when all is at rest; the message of one of them in a
 * static buffer. */
int reservations_events(struct reservations_rig *rig, const char *name,
			const char *reason, const char **ret_message);

#endif
