/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a pod could run on a node, as the descheduler's node fit checks it. It checks
 * less than the scheduler: no ports, volumes, NUMA or other pods' affinities. */
#ifndef NEAP_ENGINE_DESCHEDULE_FIT_H
#define NEAP_ENGINE_DESCHEDULE_FIT_H

#include "engine/deschedule/world.h"

enum neap_fit_form {
	/* That of sigs.k8s.io/descheduler: also checks the pod's own required
	 * anti-affinity against pods of the node, and the number of pods; does not check
	 * room on the node that the pod is on. */
	NEAP_FIT_FULL,
	/* That of koordinator's own plugins: without these two, and checks room on every
	 * node. */
	NEAP_FIT_PLAIN,
};

/* Does the pod tolerate all taints of the node with effects NoSchedule and NoExecute? */
bool neap_fit_tolerates(const struct neap_world_pod *pod,
			const struct neap_world_node *node);
/* Do its nodeSelector and its required node affinity match? */
bool neap_fit_matches(const struct neap_world_pod *pod,
		      const struct neap_world_node *node);
/* The sum of the weights of its preferred terms that match. */
int64_t neap_fit_weight(const struct neap_world_pod *pod,
			const struct neap_world_node *node);
/* Is there room for its requests beside those of the live pods? */
bool neap_fit_has_room(const struct neap_world_pod *pod,
		       const struct neap_world_node *node, enum neap_fit_form form);
/* Returns NULL when it fits, else why not, for people. */
const char *neap_fit_why(const struct neap_world *world, const struct neap_world_pod *pod,
			 const struct neap_world_node *node, enum neap_fit_form form);
/* Does it fit a node of the list other than its own? */
bool neap_fit_other(const struct neap_world *world, const struct neap_world_pod *pod,
		    struct neap_world_node *const *nodes, size_t count,
		    enum neap_fit_form form);
/* Is the node one that nodeFit of MigrationController wants: not the pod's own, ready,
 * taken by the selector (NULL takes all), and fit for the pod? */
bool neap_fit_elsewhere(const struct neap_world *world, const struct neap_world_pod *pod,
			struct neap_world_node *node,
			const struct neap_selector *selector);
/* Does the term, of pod, select another pod of another name? */
bool neap_fit_term_selects(const struct neap_world *world,
			   const struct neap_world_pod *pod,
			   const struct neap_pod_term *term,
			   const struct neap_world_pod *other);
/* Have both the same tolerations, node selector and required node affinity? */
bool neap_fit_is_alike(const struct neap_world_pod *a, const struct neap_world_pod *b);

#endif
