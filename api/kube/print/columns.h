/* SPDX-License-Identifier: Apache-2.0
 *
 * The columns of built-in kinds, in the order of a kube-apiserver. Their number is
 * NEAP_ARRAY_LEN of the table. */
#ifndef NEAP_API_KUBE_PRINT_COLUMNS_H
#define NEAP_API_KUBE_PRINT_COLUMNS_H

#include "api/kube/base/kind.h"

extern const struct neap_kube_column neap_kube_columns_pod[9];
extern const struct neap_kube_column neap_kube_columns_node[10];
extern const struct neap_kube_column neap_kube_columns_namespace[3];
extern const struct neap_kube_column neap_kube_columns_configmap[3];
extern const struct neap_kube_column neap_kube_columns_event[10];
extern const struct neap_kube_column neap_kube_columns_service[7];
extern const struct neap_kube_column neap_kube_columns_serviceaccount[3];
extern const struct neap_kube_column neap_kube_columns_persistentvolume[10];
extern const struct neap_kube_column neap_kube_columns_persistentvolumeclaim[8];
extern const struct neap_kube_column neap_kube_columns_podtemplate[4];
extern const struct neap_kube_column neap_kube_columns_replicationcontroller[8];
extern const struct neap_kube_column neap_kube_columns_deployment[8];
extern const struct neap_kube_column neap_kube_columns_replicaset[8];
extern const struct neap_kube_column neap_kube_columns_statefulset[5];
extern const struct neap_kube_column neap_kube_columns_daemonset[11];
extern const struct neap_kube_column neap_kube_columns_job[7];
extern const struct neap_kube_column neap_kube_columns_poddisruptionbudget[5];
extern const struct neap_kube_column neap_kube_columns_priorityclass[4];
extern const struct neap_kube_column neap_kube_columns_storageclass[6];
extern const struct neap_kube_column neap_kube_columns_csinode[3];
extern const struct neap_kube_column neap_kube_columns_lease[3];
extern const struct neap_kube_column neap_kube_columns_controllerrevision[4];
extern const struct neap_kube_column neap_kube_columns_customresourcedefinition[2];

/* Name and Age by path, for kinds without other columns or cells of their own. */
extern const struct neap_kube_column neap_kube_columns_default[2];

#endif
