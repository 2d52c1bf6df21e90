/* SPDX-License-Identifier: Apache-2.0
 *
 * What a schema cannot say of the built-in kinds: defaults that follow from several
 * fields (neap_kube_complete_*, after those of the schema; false without memory, the
 * object is then half done), and what a kube-apiserver refuses (neap_kube_check_*, of a
 * completed object; before is NULL for a new one). */
#ifndef NEAP_API_KUBE_RULES_RULES_H
#define NEAP_API_KUBE_RULES_RULES_H

#include "api/kube/base/kind.h"

/* The types of struct neap_kube_kind.complete and check. */
typedef bool neap_kube_complete_fn(json_t *object);
typedef void neap_kube_check_fn(const json_t *object, const json_t *before,
				struct neap_causes *causes);

/* --- defaults: api/kube/rules/defaults_*.c --- */

/* Of containers imagePullPolicy by the tag, of volumes without a source an emptyDir,
 * serviceAccount and serviceAccountName as one; requests from limits, hostPort of a pod
 * in the host's network, enableServiceLinks; podIP and podIPs as one; a status that is
 * new: phase Pending, qosClass. */
neap_kube_complete_fn neap_kube_complete_pod;
/* allocatable from capacity, podCIDR and podCIDRs as one. */
neap_kube_complete_fn neap_kube_complete_node;
/* The label with its name, phase Active. */
neap_kube_complete_fn neap_kube_complete_namespace;
/* targetPort, traffic policies, ClientIP's time, clusterIP and clusterIPs as one. No
 * address is given out: there is no network of services. */
neap_kube_complete_fn neap_kube_complete_service;
/* phase Pending; of a claim also dataSource and dataSourceRef as one. */
neap_kube_complete_fn neap_kube_complete_persistentvolume;
neap_kube_complete_fn neap_kube_complete_persistentvolumeclaim;
/* What goes with the kind of update, and the pod template as that of a pod, but for what
 * only pods have. apps/v1 takes no selector from labels; a ReplicationController does. */
neap_kube_complete_fn neap_kube_complete_podtemplate;
neap_kube_complete_fn neap_kube_complete_replicationcontroller;
neap_kube_complete_fn neap_kube_complete_deployment;
neap_kube_complete_fn neap_kube_complete_replicaset;
neap_kube_complete_fn neap_kube_complete_statefulset;
neap_kube_complete_fn neap_kube_complete_daemonset;
/* struct neap_kube_kind.from_version: of policy/v1beta1 an empty selector selects no pod,
 * of policy/v1 all. One that is stored empty, and comes back so, still selects all. */
bool neap_kube_budget_from_version(const char *version, json_t *object,
				   const json_t *before);
/* The same of definitions in v1beta1: what stands beside the versions holds for all of
 * them, JSONPath is jsonPath, and where preserveUnknownFields is not false the schemas
 * keep unknown fields. A version that is not the first one of versions stays, and is
 * refused by the check. */
bool neap_kube_definition_from_version(const char *version, json_t *object,
				       const json_t *before);
/* Counts, backoffLimit, podReplacementPolicy. */
neap_kube_complete_fn neap_kube_complete_job;
/* Of a new Job: selector and labels by metadata.uid, unless manualSelector is true.
 * False without memory. */
bool neap_kube_begin_job(json_t *object);
/* singular, listKind, conversion. */
neap_kube_complete_fn neap_kube_complete_customresourcedefinition;

/* Of the template of a pod ({metadata, spec}), wherever it stands. */
bool neap_kube_complete_pod_template(json_t *pod_template);

/* --- checks: api/kube/rules/check_*.c --- */

/* In the words of Kubernetes 1.31, after the schema's own causes, which are not told
 * again; metadata is that of neap_kube_meta_check. Their time is linear in the size of
 * the object. Without memory a cause says so (InternalError), and not all was checked.
 * Values of any type are survived.
 *
 * A pod whose spec is as it was is not looked at again. Not as a kube-apiserver has it:
 * ranges of nodePort and clusterIP are nobody's; what followed from a former type of a
 * service may stay in it; Windows options and sources of volumes that are rare have no
 * rules. */

neap_kube_check_fn neap_kube_check_pod, neap_kube_check_node, neap_kube_check_namespace,
	neap_kube_check_service, neap_kube_check_configmap, neap_kube_check_event,
	neap_kube_check_event_view /* of events.k8s.io/v1, which is stricter */,
	neap_kube_check_persistentvolume, neap_kube_check_persistentvolumeclaim,
	neap_kube_check_podtemplate, neap_kube_check_replicationcontroller,
	neap_kube_check_deployment, neap_kube_check_replicaset,
	neap_kube_check_statefulset, neap_kube_check_controllerrevision,
	neap_kube_check_daemonset, neap_kube_check_job,
	neap_kube_check_poddisruptionbudget, neap_kube_check_priorityclass,
	neap_kube_check_storageclass, neap_kube_check_csinode, neap_kube_check_lease,
	neap_kube_check_customresourcedefinition;

#endif
