/* SPDX-License-Identifier: Apache-2.0
 *
 * What a schema cannot express for the built-in kinds.
 *
 * neap_kube_complete_* set defaults that depend on several fields. They run after the
 * schema's defaults, and return false without memory; the object is then half done.
 * neap_kube_check_* report what a kube-apiserver refuses. They get a completed object;
 * before is NULL for a new one. */
#ifndef NEAP_API_KUBE_RULES_RULES_H
#define NEAP_API_KUBE_RULES_RULES_H

#include "api/kube/base/kind.h"

/* The types of struct neap_kube_kind.complete and check. */
typedef bool neap_kube_complete_fn(json_t *object);
typedef void neap_kube_check_fn(const json_t *object, const json_t *before,
				struct neap_causes *causes);

/* --- defaults: api/kube/rules/defaults_*.c --- */

/* Sets imagePullPolicy from the tag, requests from limits, hostPort in the host's
 * network, enableServiceLinks, and emptyDir for volumes without a source. Makes
 * serviceAccount and serviceAccountName equal, and podIP and podIPs. In a new status:
 * phase Pending, and qosClass. */
neap_kube_complete_fn neap_kube_complete_pod;
/* Sets allocatable from capacity, and makes podCIDR and podCIDRs equal. */
neap_kube_complete_fn neap_kube_complete_node;
/* Sets the label with the name, and phase Active. */
neap_kube_complete_fn neap_kube_complete_namespace;
/* Sets targetPort, traffic policies and ClientIP's timeout; makes clusterIP and
 * clusterIPs equal. Assigns no address: there is no service network. */
neap_kube_complete_fn neap_kube_complete_service;
/* Set phase Pending; in a claim, also make dataSource and dataSourceRef equal. */
neap_kube_complete_fn neap_kube_complete_persistentvolume;
neap_kube_complete_fn neap_kube_complete_persistentvolumeclaim;
/* Set the fields of the update strategy, and the pod template's as a pod's, except for
 * fields that only pods have. Only a ReplicationController takes its selector from
 * labels; apps/v1 does not. */
neap_kube_complete_fn neap_kube_complete_podtemplate;
neap_kube_complete_fn neap_kube_complete_replicationcontroller;
neap_kube_complete_fn neap_kube_complete_deployment;
neap_kube_complete_fn neap_kube_complete_replicaset;
neap_kube_complete_fn neap_kube_complete_statefulset;
neap_kube_complete_fn neap_kube_complete_daemonset;
/* struct neap_kube_kind.from_version. An empty selector selects no pods in
 * policy/v1beta1, and all pods in policy/v1. If the stored selector is empty and comes
 * back empty, it still selects all. */
bool neap_kube_budget_from_version(const char *version, json_t *object,
				   const json_t *before);
/* The same for definitions in v1beta1. Fields beside the versions apply to all versions,
 * and JSONPath becomes jsonPath. Unless preserveUnknownFields is false, the schemas keep
 * unknown fields. A version that is not the first of versions stays; the check refuses
 * it. */
bool neap_kube_definition_from_version(const char *version, json_t *object,
				       const json_t *before);
/* Sets counts, backoffLimit, podReplacementPolicy. */
neap_kube_complete_fn neap_kube_complete_job;
/* For a new Job: sets selector and labels from metadata.uid unless manualSelector is
 * true. False without memory. */
bool neap_kube_begin_job(json_t *object);
/* Sets singular, listKind, conversion. */
neap_kube_complete_fn neap_kube_complete_customresourcedefinition;

/* For a pod template ({metadata, spec}) in any object. */
bool neap_kube_complete_pod_template(json_t *pod_template);

/* --- checks: api/kube/rules/check_*.c --- */

/* Messages are those of Kubernetes 1.31. They follow the schema's causes, which are not
 * repeated; neap_kube_meta_check checks metadata. Time is linear in the size of the
 * object. Without memory a cause says so (InternalError), and checks may be incomplete.
 * Values of any type are safe.
 *
 * A pod whose spec is unchanged is not checked again. Differences from a kube-apiserver:
 * nodePort and clusterIP have no ranges; fields of a service's former type may stay;
 * Windows options and rare volume sources have no rules. */

neap_kube_check_fn neap_kube_check_pod, neap_kube_check_node, neap_kube_check_namespace,
	neap_kube_check_service, neap_kube_check_configmap, neap_kube_check_event,
	neap_kube_check_event_view /* events.k8s.io/v1, which is stricter */,
	neap_kube_check_persistentvolume, neap_kube_check_persistentvolumeclaim,
	neap_kube_check_podtemplate, neap_kube_check_replicationcontroller,
	neap_kube_check_deployment, neap_kube_check_replicaset,
	neap_kube_check_statefulset, neap_kube_check_controllerrevision,
	neap_kube_check_daemonset, neap_kube_check_job,
	neap_kube_check_poddisruptionbudget, neap_kube_check_priorityclass,
	neap_kube_check_storageclass, neap_kube_check_csinode, neap_kube_check_lease,
	neap_kube_check_customresourcedefinition;

/* --- bounds ---
 *
 * Limits on the content of one object besides its bytes, so that no write holds up the
 * loop: number of values, and items of each list and map. Bytes are a weak bound: a body
 * of 3 MiB can be 1,500,000 lists. */

/* Values of a body and of an object: texts, numbers, lists, maps. */
#define NEAP_KUBE_VALUES_MAX 32000
/* The error for a body with more. */
#define NEAP_KUBE_VALUES_REFUSED                                                         \
	"the body has more than %d values, lists and maps counted"

/* Adds a cause for each list and map that is too long, in metadata, and in built-in kinds
 * everywhere; except where it was as long in before (NULL: a new object). Returns the
 * object's number of values. */
size_t neap_kube_check_bounds(const struct neap_kube_kind *kind, const json_t *object,
			      const json_t *before, struct neap_causes *causes);

#endif
