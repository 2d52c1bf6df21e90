/* SPDX-License-Identifier: Apache-2.0
 *
 * What reservations keep on nodes. A reservation is there as a pod that stands for it: it is on its node like any pod,
 * and what it asks for is counted. So is what the pods that use it (owners) ask for; what is counted twice is taken off
 * again whenever a row is counted, so that a node's sums are what pods use and what is kept and not in use. Of one
 * thread. */
#ifndef NEAP_ENGINE_CLUSTER_KEPT_H
#define NEAP_ENGINE_CLUSTER_KEPT_H

#include "engine/cluster/cluster.h"

#define NEAP_KEY_RESERVATION_ALLOCATED "scheduling.koordinator.sh/reservation-allocated"
#define NEAP_KEY_RESERVATION_AFFINITY  "scheduling.koordinator.sh/reservation-affinity"
#define NEAP_KEY_RESERVATION_EXACT     "scheduling.koordinator.sh/exact-match-reservation"
#define NEAP_KEY_RESERVATION_IGNORED   "scheduling.koordinator.sh/reservation-ignored"
#define NEAP_KEY_RESERVATION_OWNERS    "scheduling.koordinator.sh/reservation-owners"
#define NEAP_KEY_OPERATING_MODE        "scheduling.koordinator.sh/operating-mode"

/* The uid of the reservation that a pod uses, as it says when it is bound, as was decided before; "": none. */
const char *neap_pod_reservation(const struct neap_pod *pod);
/* It stands for a Reservation, and there is no such pod. */
bool neap_pod_is_stand(const struct neap_pod *pod);
/* What makes pod, which was just read, the stand of a Reservation, which keeps something of all of these; texts are
 * copied. False without memory. */
bool neap_pod_keep(struct neap_pod *pod, const char *name, const char *uid,
		   const struct neap_amounts *all, bool waits);

/* The stand of a Reservation as it is now, which is counted; as neap_cluster_set_pod. It is found as "/NAME". */
int neap_cluster_set_stand(struct neap_cluster *cluster, struct neap_pod *stand,
			   unsigned *ret_moved, struct neap_error *err);
void neap_cluster_remove_stand(struct neap_cluster *cluster, const char *name,
			       unsigned *ret_moved);
/* NULL: there is none. Borrowed. */
struct neap_pod *neap_cluster_find_stand(const struct neap_cluster *cluster,
					 const char *name);

/* Whether the pod is an owner; then what it has of the resources that keep is about is added to ret, which may be NULL. */
bool neap_kept_add(const struct neap_pod *pod, const struct neap_pod_keep *keep,
		   struct neap_amounts *ret);
/* What owners on the node have of the resources that keep is about, all that they ask for; ret may be NULL. Returns how
 * many they are. */
size_t neap_kept_given(const struct neap_cluster_node *node,
		       const struct neap_pod_keep *keep, struct neap_amounts *ret);

#endif
