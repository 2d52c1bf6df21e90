/* SPDX-License-Identifier: Apache-2.0
 *
 * Schemas for tests of patches: as much of Pod, Deployment, Service and Node as they
 * touch, with the merge keys that Kubernetes has. */
#ifndef NEAP_T_LIB_PATCH_TABLES_H
#define NEAP_T_LIB_PATCH_TABLES_H

#include "engine/schema/schema.h"

#define TABLE_OBJECT(id)                                                                 \
	static const struct neap_schema id = {NEAP_SCHEMA_FIELDS(id##_fields)}
#define TABLE_LIST(id, of)                                                               \
	static const struct neap_schema id = {.type = NEAP_SCHEMA_LIST, .items = &(of)}
#define TABLE_MERGED(field, list, key)                                                   \
	{                                                                                \
		.name = (field), .schema = &(list), .merge = NEAP_LIST_MAP,              \
		.merge_key = (key)                                                       \
	}
#define TABLE_PLAIN(field, of)                                                           \
	{                                                                                \
		.name = (field), .schema = &(of)                                         \
	}
#define TABLE_SET(field)                                                                 \
	{                                                                                \
		.name = (field), .schema = &table_strings, .merge = NEAP_LIST_SET        \
	}

static const struct neap_schema table_string = {.type = NEAP_SCHEMA_STRING};
static const struct neap_schema table_integer = {.type = NEAP_SCHEMA_INTEGER};
static const struct neap_schema table_boolean = {.type = NEAP_SCHEMA_BOOLEAN};
static const struct neap_schema table_any = {.type = NEAP_SCHEMA_ANY};
static const struct neap_schema table_map = {.type = NEAP_SCHEMA_MAP,
					     .items = &table_string};
TABLE_LIST(table_strings, table_string);
TABLE_LIST(table_anys, table_any);

static const struct neap_schema_field table_owner_fields[] = {
	TABLE_PLAIN("uid", table_string),
	TABLE_PLAIN("name", table_string),
	TABLE_PLAIN("controller", table_boolean),
};
TABLE_OBJECT(table_owner);
TABLE_LIST(table_owners, table_owner);
static const struct neap_schema_field table_meta_fields[] = {
	TABLE_PLAIN("name", table_string),
	TABLE_PLAIN("labels", table_map),
	TABLE_PLAIN("annotations", table_map),
	TABLE_SET("finalizers"),
	TABLE_MERGED("ownerReferences", table_owners, "uid"),
};
TABLE_OBJECT(table_meta);

static const struct neap_schema_field table_named_fields[] = {
	TABLE_PLAIN("name", table_string),
	TABLE_PLAIN("value", table_string),
	TABLE_PLAIN("emptyDir", table_any),
	TABLE_PLAIN("hostPath", table_any),
};
TABLE_OBJECT(table_named);
TABLE_LIST(table_nameds, table_named);
static const struct neap_schema_field table_port_fields[] = {
	TABLE_PLAIN("containerPort", table_integer),
	TABLE_PLAIN("port", table_integer),
	TABLE_PLAIN("name", table_string),
	TABLE_PLAIN("protocol", table_string),
};
TABLE_OBJECT(table_port);
TABLE_LIST(table_ports, table_port);
static const struct neap_schema_field table_mount_fields[] = {
	TABLE_PLAIN("mountPath", table_string),
	TABLE_PLAIN("name", table_string),
};
TABLE_OBJECT(table_mount);
TABLE_LIST(table_mounts, table_mount);
static const struct neap_schema_field table_resources_fields[] = {
	TABLE_PLAIN("limits", table_map),
	TABLE_PLAIN("requests", table_map),
};
TABLE_OBJECT(table_resources);
static const struct neap_schema_field table_container_fields[] = {
	TABLE_PLAIN("name", table_string),
	TABLE_PLAIN("image", table_string),
	TABLE_PLAIN("args", table_strings),
	TABLE_PLAIN("resources", table_resources),
	TABLE_MERGED("env", table_nameds, "name"),
	TABLE_MERGED("ports", table_ports, "containerPort"),
	TABLE_MERGED("volumeMounts", table_mounts, "mountPath"),
};
TABLE_OBJECT(table_container);
TABLE_LIST(table_containers, table_container);
static const struct neap_schema_field table_pod_spec_fields[] = {
	TABLE_MERGED("containers", table_containers, "name"),
	TABLE_MERGED("initContainers", table_containers, "name"),
	{.name = "volumes",
	 .schema = &table_nameds,
	 .merge = NEAP_LIST_MAP,
	 .merge_key = "name",
	 .retains_keys = true},
	TABLE_MERGED("imagePullSecrets", table_nameds, "name"),
	TABLE_PLAIN("tolerations", table_anys),
	TABLE_PLAIN("nodeSelector", table_map),
	TABLE_PLAIN("nodeName", table_string),
};
TABLE_OBJECT(table_pod_spec);
static const struct neap_schema_field table_condition_fields[] = {
	TABLE_PLAIN("type", table_string),
	TABLE_PLAIN("status", table_string),
	TABLE_PLAIN("reason", table_string),
	TABLE_PLAIN("address", table_string),
};
TABLE_OBJECT(table_condition);
TABLE_LIST(table_conditions, table_condition);
static const struct neap_schema_field table_status_fields[] = {
	TABLE_MERGED("conditions", table_conditions, "type"),
	TABLE_MERGED("addresses", table_conditions, "type"),
	TABLE_PLAIN("phase", table_string),
};
TABLE_OBJECT(table_status);
static const struct neap_schema_field table_pod_fields[] = {
	TABLE_PLAIN("metadata", table_meta),
	TABLE_PLAIN("spec", table_pod_spec),
	TABLE_PLAIN("status", table_status),
};
TABLE_OBJECT(table_pod);

static const struct neap_schema_field table_deployment_spec_fields[] = {
	TABLE_PLAIN("replicas", table_integer),
	{.name = "strategy", .schema = &table_any, .retains_keys = true},
	TABLE_PLAIN("template", table_pod),
};
TABLE_OBJECT(table_deployment_spec);
static const struct neap_schema_field table_deployment_fields[] = {
	TABLE_PLAIN("metadata", table_meta),
	TABLE_PLAIN("spec", table_deployment_spec),
};
TABLE_OBJECT(table_deployment);

static const struct neap_schema_field table_service_spec_fields[] = {
	TABLE_MERGED("ports", table_ports, "port"),
	TABLE_PLAIN("selector", table_map),
	TABLE_PLAIN("externalIPs", table_strings),
};
TABLE_OBJECT(table_service_spec);
static const struct neap_schema_field table_service_fields[] = {
	TABLE_PLAIN("metadata", table_meta),
	TABLE_PLAIN("spec", table_service_spec),
};
TABLE_OBJECT(table_service);

static const struct neap_schema_field table_node_spec_fields[] = {
	TABLE_PLAIN("unschedulable", table_boolean),
	TABLE_PLAIN("taints", table_anys),
	TABLE_SET("podCIDRs"),
};
TABLE_OBJECT(table_node_spec);
static const struct neap_schema_field table_node_fields[] = {
	TABLE_PLAIN("metadata", table_meta),
	TABLE_PLAIN("spec", table_node_spec),
	TABLE_PLAIN("status", table_status),
};
TABLE_OBJECT(table_node);

#endif
