/* SPDX-License-Identifier: Apache-2.0
 *
 * Namespaces, ConfigMaps, ServiceAccounts. */
#include "api/kube/types/types_priv.h"

/* --- namespaces --- */

static const struct neap_schema_field namespace_spec_fields[] = {
	FIELD("finalizers", STRS,
	      "Names that have to be taken out before a deleted namespace goes."),
};
OBJECT(namespace_spec, CORE("NamespaceSpec"), "What a namespace is to be.");

static const struct neap_schema_field namespace_condition_fields[] = {
	FIELD("lastTransitionTime", TIME, "When the status changed last."),
	FIELD("message", STR, "What it is like, for people."),
	FIELD("reason", STR, "Why, in one word."),
	NEED("status", STR, "True, False or Unknown."),
	NEED("type", STR, "What is told."),
};
OBJECT(namespace_condition, CORE("NamespaceCondition"),
       "One thing that is so, or not, of a namespace.");
LIST(namespace_condition);

static const struct neap_schema_field namespace_status_fields[] = {
	KEYED("conditions", &namespace_condition_list, "type", "What is so, or not."),
	FIELD("phase", STR, "Active or Terminating."),
};
OBJECT(namespace_status, CORE("NamespaceStatus"), "What is known of a namespace.");

static const struct neap_schema_field namespace_fields[] = {
	WHOLE,
	FIELD("spec", &namespace_spec, NULL),
	FIELD("status", &namespace_status, NULL),
};
OBJECT(namespace, CORE("Namespace"), "A room for names.");

/* --- ConfigMaps --- */

static const struct neap_schema_field configmap_fields[] = {
	WHOLE,
	FIELD("binaryData", BYTE_MAP,
	      "Values that are no UTF-8, in base64; its keys are none of data."),
	FIELD("data", STR_MAP, "Values by their keys."),
	PTR("immutable", BOOL, "The values cannot be changed any more."),
};
OBJECT(configmap, CORE("ConfigMap"), "Configuration as keys and values.");

/* --- ServiceAccounts --- */

static const struct neap_schema_field serviceaccount_fields[] = {
	WHOLE,
	PTR("automountServiceAccountToken", BOOL, "Its pods get a token mounted."),
	FIELD("imagePullSecrets", &neap_kube_local_reference_list,
	      "Secrets with which its pods pull images."),
	KEYED("secrets", &neap_kube_object_reference_list, "name",
	      "Secrets that its pods may use."),
};
OBJECT(serviceaccount, CORE("ServiceAccount"), "Whom pods act as.");

static const char *const namespace_short[] = {"ns", NULL};
static const char *const namespace_selectable[] = {"status.phase", NULL};

const struct neap_kube_kind neap_kube_kind_namespace = {
	.group = "",
	.versions = neap_kube_v1,
	.kind = "Namespace",
	.list_kind = "NamespaceList",
	.plural = "namespaces",
	.is_deleted_singly = true,
	.shows_deleted = true,
	.singular = "namespace",
	.short_names = namespace_short,
	.has_status = true,
	.schema = &namespace,
	.fields = namespace_selectable,
	COLUMNS(namespace),
	.cells = neap_kube_cells_namespace,
	.complete = neap_kube_complete_namespace,
	.check = neap_kube_check_namespace,
};

static const char *const configmap_short[] = {"cm", NULL};

const struct neap_kube_kind neap_kube_kind_configmap = {
	.group = "",
	.versions = neap_kube_v1,
	.kind = "ConfigMap",
	.list_kind = "ConfigMapList",
	.plural = "configmaps",
	.singular = "configmap",
	.short_names = configmap_short,
	.is_namespaced = true,
	.schema = &configmap,
	COLUMNS(configmap),
	.cells = neap_kube_cells_configmap,
	.check = neap_kube_check_configmap,
};

static const char *const serviceaccount_short[] = {"sa", NULL};

const struct neap_kube_kind neap_kube_kind_serviceaccount = {
	.group = "",
	.versions = neap_kube_v1,
	.kind = "ServiceAccount",
	.list_kind = "ServiceAccountList",
	.plural = "serviceaccounts",
	.shows_deleted = true,
	.singular = "serviceaccount",
	.short_names = serviceaccount_short,
	.is_namespaced = true,
	.schema = &serviceaccount,
	COLUMNS(serviceaccount),
	.cells = neap_kube_cells_serviceaccount,
};
