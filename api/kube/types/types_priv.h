/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tables of the built-in kinds are written with, and the parts that more than one of them uses.
 * Docs are our words; names, types, required fields, merge keys and defaults are those of Kubernetes 1.31. */
#ifndef NEAP_API_KUBE_TYPES_TYPES_PRIV_H
#define NEAP_API_KUBE_TYPES_TYPES_PRIV_H

#include "api/kube/base/kind.h"
#include "api/kube/print/cells.h"
#include "api/kube/print/columns.h"
#include "api/kube/rules/rules.h"

/* --- types of fields --- */

#define ANY      &neap_schema_any
#define STR      &neap_schema_string
#define I32      &neap_schema_int32
#define I64      &neap_schema_int64
#define BOOL     &neap_schema_boolean
#define INT_STR  &neap_schema_int_or_string
#define QUANTITY &neap_schema_quantity
#define TIME     &neap_schema_time
#define MICRO    &neap_schema_micro_time
#define STRS     &neap_schema_strings
#define STR_MAP  &neap_schema_string_map
#define QTY_MAP  &neap_schema_quantity_map
#define BYTE_MAP &neap_schema_bytes_map

/* --- rows --- */

/* As its type in Go has it, with "omitempty" and no pointer: a zero value is none, and is
 * not kept. */
#define FIELD(n, s, d)                                                                   \
	{                                                                                \
		.name = (n), .schema = (s), .doc = (d), .zero_is_missing = true          \
	}
/* A pointer in Go, if it is no struct: a zero value is one. */
#define PTR(n, s, d)                                                                     \
	{                                                                                \
		.name = (n), .schema = (s), .doc = (d)                                   \
	}
/* Always written by Go, zero or not, or by a pointer that must be there. */
#define NEED(n, s, d)                                                                    \
	{                                                                                \
		.name = (n), .schema = (s), .doc = (d), .is_required = true              \
	}
/* With a default, as JSON. */
#define GIVE(n, s, f, d)                                                                 \
	{                                                                                \
		.name = (n), .schema = (s), .doc = (d), .fallback = (f)                  \
	}
/* ... that also takes the place of a zero value, as Go has no pointer there. */
#define FILL(n, s, f, d)                                                                 \
	{                                                                                \
		.name = (n), .schema = (s), .doc = (d), .fallback = (f),                 \
		.zero_is_missing = true                                                  \
	}
/* Documented as required, yet a kube-apiserver takes a missing one as zero and shows that. */
#define ZERO(n, s, f, d)                                                                 \
	{                                                                                \
		.name = (n), .schema = (s), .doc = (d), .is_required = true,             \
		.fallback = (f)                                                          \
	}
/* Lists that a strategic patch merges: of objects by key, of scalars. */
#define KEYED(n, s, k, d)                                                                \
	{                                                                                \
		.name = (n), .schema = (s), .doc = (d), .merge = NEAP_LIST_MAP,          \
		.merge_key = (k), .zero_is_missing = true                                \
	}
#define PAIRED(n, s, k, o, d)                                                            \
	{                                                                                \
		.name = (n), .schema = (s), .doc = (d), .merge = NEAP_LIST_MAP,          \
		.merge_key = (k), .other_key = (o), .zero_is_missing = true              \
	}
#define UNITED(n, s, d)                                                                  \
	{                                                                                \
		.name = (n), .schema = (s), .doc = (d), .merge = NEAP_LIST_SET,          \
		.zero_is_missing = true                                                  \
	}
/* kind, apiVersion and metadata of a whole object. */
#define WHOLE                                                                            \
	FIELD("apiVersion", STR, "Group and version in which the object is written."),   \
		FIELD("kind", STR, "What kind of object this is."),                      \
		FIELD("metadata", &neap_kube_object_meta, NULL)

/* --- schemas: of the table x_fields; its list x_list; a string of an enum --- */

#define OBJECT(x, n, d)                                                                  \
	static const struct neap_schema x = {                                            \
		.name = (n), .doc = (d), NEAP_SCHEMA_FIELDS(x##_fields)}
#define SHARED(x, n, d)                                                                  \
	const struct neap_schema x = {                                                   \
		.name = (n), .doc = (d), NEAP_SCHEMA_FIELDS(x##_fields)}
#define LIST(x)                                                                          \
	static const struct neap_schema x##_list = {.type = NEAP_SCHEMA_LIST,            \
						    .items = &(x)}
#define SHARED_LIST(x)                                                                   \
	const struct neap_schema x##_list = {.type = NEAP_SCHEMA_LIST, .items = &(x)}
#define ENUM(x, ...)                                                                     \
	static const char *const x##_values[] = {__VA_ARGS__, NULL};                     \
	static const struct neap_schema x = {.type = NEAP_SCHEMA_STRING,                 \
					     .values = x##_values}
#define SHARED_ENUM(x, ...)                                                              \
	static const char *const x##_values[] = {__VA_ARGS__, NULL};                     \
	const struct neap_schema x = {.type = NEAP_SCHEMA_STRING, .values = x##_values}

#define CORE(x) "io.k8s.api.core.v1." x
#define META(x) "io.k8s.apimachinery.pkg.apis.meta.v1." x

/* Of a row: its columns. */
#define COLUMNS(x)                                                                       \
	.columns = neap_kube_columns_##x,                                                \
	.column_count = NEAP_ARRAY_LEN(neap_kube_columns_##x)

/* --- shared parts, by the file they stand in --- */

/* types_meta.c */
extern const struct neap_schema neap_kube_condition_list, neap_kube_local_reference,
	neap_kube_local_reference_list, neap_kube_object_reference_list,
	neap_kube_secret_reference, neap_kube_typed_local_reference,
	neap_kube_typed_reference;
extern const char *const neap_kube_v1[] /* {"v1", NULL} */,
	*const neap_kube_category_all[];

/* types_container.c, types_container_env.c */
extern const struct neap_schema neap_kube_container_list,
	neap_kube_ephemeral_container_list, neap_kube_protocol, neap_kube_pull_policy,
	neap_kube_resources, neap_kube_selinux, neap_kube_seccomp, neap_kube_apparmor,
	neap_kube_windows_options, neap_kube_env_list, neap_kube_env_from_list,
	neap_kube_field_ref, neap_kube_resource_field_ref;

/* types_volume.c */
extern const struct neap_schema neap_kube_volume_list;

/* types_volume_source.c */
extern const struct neap_schema neap_kube_aws_disk, neap_kube_azure_disk,
	neap_kube_azure_file, neap_kube_azure_file_pv, neap_kube_cephfs,
	neap_kube_cephfs_pv, neap_kube_cinder, neap_kube_cinder_pv, neap_kube_fc,
	neap_kube_flex, neap_kube_flex_pv, neap_kube_flocker, neap_kube_gce_disk,
	neap_kube_glusterfs, neap_kube_glusterfs_pv, neap_kube_host_path, neap_kube_iscsi,
	neap_kube_iscsi_pv, neap_kube_nfs, neap_kube_photon, neap_kube_portworx,
	neap_kube_quobyte, neap_kube_rbd, neap_kube_rbd_pv, neap_kube_scaleio,
	neap_kube_scaleio_pv, neap_kube_storageos, neap_kube_storageos_pv,
	neap_kube_vsphere;

/* types_persistent.c */
extern const struct neap_schema neap_kube_claim, neap_kube_claim_spec;

/* types_affinity.c */
extern const struct neap_schema neap_kube_affinity, neap_kube_node_selector,
	neap_kube_toleration_list, neap_kube_topology_spread_list;

/* types_pod_status.c */
extern const struct neap_schema neap_kube_pod_status;

/* --- rows --- */

extern const struct neap_kube_kind neap_kube_kind_pod, neap_kube_kind_node,
	neap_kube_kind_namespace, neap_kube_kind_service, neap_kube_kind_configmap,
	neap_kube_kind_serviceaccount, neap_kube_kind_event,
	neap_kube_kind_persistentvolume, neap_kube_kind_persistentvolumeclaim,
	neap_kube_kind_podtemplate, neap_kube_kind_replicationcontroller,
	neap_kube_kind_deployment, neap_kube_kind_replicaset, neap_kube_kind_statefulset,
	neap_kube_kind_daemonset, neap_kube_kind_controllerrevision, neap_kube_kind_job,
	neap_kube_kind_poddisruptionbudget, neap_kube_kind_priorityclass,
	neap_kube_kind_storageclass, neap_kube_kind_csinode, neap_kube_kind_lease,
	neap_kube_kind_customresourcedefinition, neap_kube_kind_nodemetrics,
	neap_kube_kind_podmetrics, neap_kube_kind_endpoints, neap_kube_kind_secret,
	neap_kube_kind_cronjob, neap_kube_kind_ingress, neap_kube_kind_old_ingress;

#endif
