/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may do what with which objects. One function decides, for requests and for reviews,
 * from its arguments alone:
 *
 * reader  get, list, watch of everything
 * node    the same, and for what belongs to the node: create, update, patch of its Node
 *         and nodes/status; everything but deletecollection of its Lease in
 *         kube-node-lease, its NodeMetric, its Device and its NodeResourceTopology (by
 *         its name, with their status); for pods bound to it: delete, eviction, and
 *         update, patch of pods/status; create, update, patch of events whose source it
 *         is. On its Node it cannot change taints, a cordon, or kubernetes.io labels that
 *         no kubelet sets, and a new Node brings only taints of node.kubernetes.io: a
 *         node does not choose its pods. An ended pod stays ended: if one came back, its
 *         controller would have one too many and end another.
 * editor  everything, except kinds that change the outcome of other users' requests or
 *         grant rights: CustomResourceDefinitions, ClusterColocationProfiles, and all
 *         kinds declared in the groups rbac.authorization.k8s.io,
 *         admissionregistration.k8s.io, apiregistration.k8s.io, certificates.k8s.io.
 *         Where pods run on this machine (--run-pods), writing a pod means running a
 *         program here. So these then require an admin: creating, changing and binding
 *         pods, kinds that create pods (of apps and batch, ReplicationControllers,
 *         PodTemplates), and the environment of pods (ConfigMaps). Scaling and deleting
 *         do not.
 * admin   everything
 *
 * Changing owners or finalizers of an object also requires the right to delete it,
 * because they decide whether it is deleted.
 *
 * Every identified user may ask what it may do itself (self reviews); an admin may ask
 * about others. */
#ifndef NEAP_API_KUBE_REQUEST_RIGHTS_H
#define NEAP_API_KUBE_REQUEST_RIGHTS_H

#include <jansson.h>

#include "api/http/server.h"

struct neap_access_ask {
	enum neap_http_role role;
	const char
		*user; /* of a node: its name with or without "system:node:" before it */
	const char *verb; /* for a node: its name, with or without "system:node:" */
	const char *group, *resource; /* "", "pods"; "*": all */
	const char *sub;              /* "status"; "": the object itself; "*": all */
	const char *ns, *name;        /* "": all, or cluster-scoped; not known yet */
	/* The present and the new object; NULL: there is none, or it does not matter
	 * yet. */
	const json_t *before, *after;
	bool runs_pods; /* pods' commands run on this machine */
};

/* *ret_why (may be NULL): a reason beyond "may not", or "". Static texts. */
bool neap_kube_may(const struct neap_access_ask *ask, const char **ret_why);
/* Returns the node that a user of that name represents. */
const char *neap_kube_node_of(const char *user);

#endif
