/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may do what with which objects. One function decides, for requests and for reviews alike, from what it is
 * given alone:
 *
 * reader  get, list, watch of everything
 * node    the same; and of what belongs to it: create, update, patch of its Node and nodes/status; all but
 *         deletecollection of its Lease in kube-node-lease, its NodeMetric, its Device and its
 *         NodeResourceTopology (by its name, with their status); pods that are bound to it: delete, eviction, and
 *         update, patch of pods/status; create, update, patch of events whose source it is. Of its Node, taints,
 *         a cordon, and labels of kubernetes.io that no kubelet sets stay as others set them, and a new one
 *         brings no taints but those of node.kubernetes.io: a node does not choose its pods. A pod that has ended
 *         stays so: by one that came back a controller would have one too many, and end another.
 * editor  everything of all kinds but those by which others' requests come out in another way, or rights are given:
 *         CustomResourceDefinitions, ClusterColocationProfiles, and whatever is declared in the groups
 *         rbac.authorization.k8s.io, admissionregistration.k8s.io, apiregistration.k8s.io,
 *         certificates.k8s.io
 *         Where pods run here (--run-pods) whoever writes a pod runs a program on this machine: creating, changing
 *         and binding pods, what makes pods (the kinds of apps and batch, ReplicationControllers, PodTemplates)
 *         and what goes into their environment (ConfigMaps) is for admins then; scaling and deleting stay
 * admin   everything
 *
 * Whoever changes owners or finalizers of an object must be allowed to delete it, too: by them it goes, or stays.
 *
 * Everybody who is known may ask what he may (reviews of himself); about others asks an admin. */
#ifndef NEAP_API_KUBE_RIGHTS_H
#define NEAP_API_KUBE_RIGHTS_H

#include <jansson.h>

#include "api/http/server.h"

struct neap_access_ask {
	enum neap_http_role role;
	const char
		*user; /* of a node: its name with or without "system:node:" before it */
	const char *verb; /* "get", "list", "watch", "create", ...; "*": all */
	const char *group, *resource; /* "", "pods"; "*": all */
	const char *sub;              /* "status"; "": the object itself; "*": all */
	const char *ns, *name;        /* "": all, or of the cluster; not known yet */
	/* The object as it is and as it shall be; NULL: there is none, or it plays no part yet. */
	const json_t *before, *after;
	bool runs_pods; /* commands of pods are run here */
};

/* *ret_why (may be NULL): more than "may not", or "". The texts are constant. */
bool neap_kube_may(const struct neap_access_ask *ask, const char **ret_why);
/* The node that a user of that name speaks for. */
const char *neap_kube_node_of(const char *user);

#endif
