/* SPDX-License-Identifier: Apache-2.0
 *
 * What reservations keep on nodes. A reservation is represented by a placeholder pod (a
 * "stand"): it sits on its node like any pod, and its requests count. The requests of
 * pods that use the reservation (its owners) count too, and the overlap is subtracted
 * whenever a row is counted. So a node's sums are what pods use plus what is reserved and
 * unused. Single-threaded. */
#ifndef NEAP_ENGINE_CLUSTER_KEPT_H
#define NEAP_ENGINE_CLUSTER_KEPT_H

#include "engine/cluster/cluster.h"

#define NEAP_KEY_RESERVATION_ALLOCATED "scheduling.koordinator.sh/reservation-allocated"
#define NEAP_KEY_RESERVATION_AFFINITY  "scheduling.koordinator.sh/reservation-affinity"
#define NEAP_KEY_RESERVATION_EXACT     "scheduling.koordinator.sh/exact-match-reservation"
#define NEAP_KEY_RESERVATION_IGNORED   "scheduling.koordinator.sh/reservation-ignored"
#define NEAP_KEY_RESERVATION_OWNERS    "scheduling.koordinator.sh/reservation-owners"
#define NEAP_KEY_OPERATING_MODE        "scheduling.koordinator.sh/operating-mode"

/* Returns the uid of the reservation that a pod uses, from its annotation when it is
 * bound, else from the decision; "": none. */
const char *neap_pod_reservation(const struct neap_pod *pod);
/* Returns whether the pod is the placeholder of a Reservation rather than a real pod. */
bool neap_pod_is_stand(const struct neap_pod *pod);
/* Turns a freshly read pod into the placeholder of a Reservation that keeps some of all
 * of these amounts. Texts are copied. Returns false without memory. */
bool neap_pod_keep(struct neap_pod *pod, const char *name, const char *uid,
		   const struct neap_amounts *all, bool waits);

/* Adds or replaces the placeholder of a Reservation; like neap_cluster_set_pod. It is
 * stored as "/NAME". */
int neap_cluster_set_stand(struct neap_cluster *cluster, struct neap_pod *stand,
			   unsigned *ret_moved, struct neap_error *err);
void neap_cluster_remove_stand(struct neap_cluster *cluster, const char *name,
			       unsigned *ret_moved);
/* NULL: there is none. Borrowed. */
struct neap_pod *neap_cluster_find_stand(const struct neap_cluster *cluster,
					 const char *name);

/* Returns whether the pod is an owner; if so, its amounts of the reservation's resources
 * are added to ret (may be NULL). */
bool neap_kept_add(const struct neap_pod *pod, const struct neap_pod_keep *keep,
		   struct neap_amounts *ret);
/* Sums the requests of all owners on the node, limited to the reservation's resources,
 * into ret (may be NULL). Returns the number of owners. */
size_t neap_kept_given(const struct neap_cluster_node *node,
		       const struct neap_pod_keep *keep, struct neap_amounts *ret);

#endif
