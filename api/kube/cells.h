/* SPDX-License-Identifier: Apache-2.0
 *
 * The cells of the built-in kinds, as "kubectl get" shows them: one function a kind, with an element for
 * each column of its row, in that order (those after a bar are shown with -o wide only). Ages are texts. A new
 * reference; NULL without memory. now: Unix microseconds. */
#ifndef NEAP_API_KUBE_CELLS_H
#define NEAP_API_KUBE_CELLS_H

#include "api/kube/kind.h"

/* The type of struct neap_kube_kind.cells. */
typedef json_t *neap_kube_cells_fn(const struct neap_kube_kind *kind, const json_t *object,
				   int64_t now);

/* Name, Ready, Status, Restarts, Age | IP, Node, Nominated Node, Readiness Gates */
neap_kube_cells_fn neap_kube_cells_pod;
/* Name, Status, Roles, Age, Version | Internal-IP, External-IP, OS-Image, Kernel-Version, Container-Runtime */
neap_kube_cells_fn neap_kube_cells_node;
/* Name, Status, Age */
neap_kube_cells_fn neap_kube_cells_namespace;
/* Name, Type, Cluster-IP, External-IP, Port(s), Age | Selector */
neap_kube_cells_fn neap_kube_cells_service;
/* Name, Data, Age */
neap_kube_cells_fn neap_kube_cells_configmap;
/* Name, Secrets, Age */
neap_kube_cells_fn neap_kube_cells_serviceaccount;
/* Last Seen, Type, Reason, Object, | Subobject, Source, (always) Message, | First Seen, Count, Name */
neap_kube_cells_fn neap_kube_cells_event;
/* Name, Capacity, Access Modes, Reclaim Policy, Status, Claim, StorageClass, VolumeAttributesClass, Reason, Age |
 * VolumeMode */
neap_kube_cells_fn neap_kube_cells_persistentvolume;
/* Name, Status, Volume, Capacity, Access Modes, StorageClass, VolumeAttributesClass, Age | VolumeMode */
neap_kube_cells_fn neap_kube_cells_persistentvolumeclaim;
/* Name, Desired, Current, Ready, Age | Containers, Images, Selector */
neap_kube_cells_fn neap_kube_cells_replicationcontroller;
neap_kube_cells_fn neap_kube_cells_replicaset;
/* Name, Ready, Up-to-date, Available, Age | Containers, Images, Selector */
neap_kube_cells_fn neap_kube_cells_deployment;
/* Name, Ready, Age | Containers, Images */
neap_kube_cells_fn neap_kube_cells_statefulset;
/* Name, Desired, Current, Ready, Up-to-date, Available, Node Selector, Age | Containers, Images, Selector */
neap_kube_cells_fn neap_kube_cells_daemonset;
/* Name, Status, Completions, Duration, Age | Containers, Images, Selector */
neap_kube_cells_fn neap_kube_cells_job;
/* Name, Min Available, Max Unavailable, Allowed Disruptions, Age */
neap_kube_cells_fn neap_kube_cells_poddisruptionbudget;
/* Name, Value, Global-Default, Age */
neap_kube_cells_fn neap_kube_cells_priorityclass;
/* Name, Provisioner, ReclaimPolicy, VolumeBindingMode, AllowVolumeExpansion, Age */
neap_kube_cells_fn neap_kube_cells_storageclass;
/* Name, Drivers, Age */
neap_kube_cells_fn neap_kube_cells_csinode;
/* Name, Holder, Age */
neap_kube_cells_fn neap_kube_cells_lease;
/* Name, Created At (a time as RFC 3339, no age) */
neap_kube_cells_fn neap_kube_cells_customresourcedefinition;

#endif
