/* SPDX-License-Identifier: Apache-2.0
 *
 * The cells of built-in kinds, for their rows in api/kube/types/NAME.types: one element
 * per column of api/kube/print/columns.h, as "kubectl get" shows them. A new reference,
 * NULL without memory; now is in Unix microseconds. Any field of an object may be missing
 * or of any type. */
#ifndef NEAP_API_KUBE_PRINT_CELLS_H
#define NEAP_API_KUBE_PRINT_CELLS_H

#include "api/kube/base/kind.h"

json_t *neap_kube_cells_pod(const struct neap_kube_kind *kind, const json_t *object,
			    int64_t now);
json_t *neap_kube_cells_node(const struct neap_kube_kind *kind, const json_t *object,
			     int64_t now);
json_t *neap_kube_cells_namespace(const struct neap_kube_kind *kind, const json_t *object,
				  int64_t now);
json_t *neap_kube_cells_configmap(const struct neap_kube_kind *kind, const json_t *object,
				  int64_t now);
json_t *neap_kube_cells_event(const struct neap_kube_kind *kind, const json_t *object,
			      int64_t now);
json_t *neap_kube_cells_service(const struct neap_kube_kind *kind, const json_t *object,
				int64_t now);
json_t *neap_kube_cells_serviceaccount(const struct neap_kube_kind *kind,
				       const json_t *object, int64_t now);
json_t *neap_kube_cells_persistentvolume(const struct neap_kube_kind *kind,
					 const json_t *object, int64_t now);
json_t *neap_kube_cells_persistentvolumeclaim(const struct neap_kube_kind *kind,
					      const json_t *object, int64_t now);
json_t *neap_kube_cells_podtemplate(const struct neap_kube_kind *kind,
				    const json_t *object, int64_t now);
json_t *neap_kube_cells_replicationcontroller(const struct neap_kube_kind *kind,
					      const json_t *object, int64_t now);
json_t *neap_kube_cells_deployment(const struct neap_kube_kind *kind,
				   const json_t *object, int64_t now);
json_t *neap_kube_cells_replicaset(const struct neap_kube_kind *kind,
				   const json_t *object, int64_t now);
json_t *neap_kube_cells_statefulset(const struct neap_kube_kind *kind,
				    const json_t *object, int64_t now);
json_t *neap_kube_cells_daemonset(const struct neap_kube_kind *kind, const json_t *object,
				  int64_t now);
json_t *neap_kube_cells_job(const struct neap_kube_kind *kind, const json_t *object,
			    int64_t now);
json_t *neap_kube_cells_poddisruptionbudget(const struct neap_kube_kind *kind,
					    const json_t *object, int64_t now);
json_t *neap_kube_cells_priorityclass(const struct neap_kube_kind *kind,
				      const json_t *object, int64_t now);
json_t *neap_kube_cells_storageclass(const struct neap_kube_kind *kind,
				     const json_t *object, int64_t now);
json_t *neap_kube_cells_csinode(const struct neap_kube_kind *kind, const json_t *object,
				int64_t now);
json_t *neap_kube_cells_controllerrevision(const struct neap_kube_kind *kind,
					   const json_t *object, int64_t now);
json_t *neap_kube_cells_lease(const struct neap_kube_kind *kind, const json_t *object,
			      int64_t now);
json_t *neap_kube_cells_customresourcedefinition(const struct neap_kube_kind *kind,
						 const json_t *object, int64_t now);

#endif
