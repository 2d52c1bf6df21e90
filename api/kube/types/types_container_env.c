/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of containers: environment, resources, and what their processes may do. */
#include "api/kube/types/types_priv.h"

/* --- environment --- */

static const struct neap_schema_field neap_kube_field_ref_fields[] = {
	FILL("apiVersion", STR, "\"v1\"", "Version in which the path is written."),
	NEED("fieldPath", STR, "Path of the field, as \"metadata.name\"."),
};
SHARED(neap_kube_field_ref, CORE("ObjectFieldSelector"), "A field of the pod.");

static const struct neap_schema_field neap_kube_resource_field_ref_fields[] = {
	FIELD("containerName", STR, "Name of the container; needed in volumes."),
	GIVE("divisor", QUANTITY, "\"0\"", "The value is told in units of it; 0: 1."),
	NEED("resource", STR, "Which: \"limits.cpu\", \"requests.memory\"."),
};
SHARED(neap_kube_resource_field_ref, CORE("ResourceFieldSelector"),
       "A request or limit of a container.");

static const struct neap_schema_field config_map_key_fields[] = {
	NEED("key", STR, "Key in the ConfigMap."),
	FIELD("name", STR, "Name of the ConfigMap."),
	PTR("optional", BOOL, "It need not be there."),
};
OBJECT(config_map_key, CORE("ConfigMapKeySelector"), "A key of a ConfigMap.");

static const struct neap_schema_field secret_key_fields[] = {
	NEED("key", STR, "Key in the secret."),
	FIELD("name", STR, "Name of the secret."),
	PTR("optional", BOOL, "It need not be there."),
};
OBJECT(secret_key, CORE("SecretKeySelector"), "A key of a secret.");

static const struct neap_schema_field env_source_fields[] = {
	FIELD("configMapKeyRef", &config_map_key, NULL),
	FIELD("fieldRef", &neap_kube_field_ref, NULL),
	FIELD("resourceFieldRef", &neap_kube_resource_field_ref, NULL),
	FIELD("secretKeyRef", &secret_key, NULL),
};
OBJECT(env_source, CORE("EnvVarSource"), "Where the value comes from; one of them.");

static const struct neap_schema_field neap_kube_env_fields[] = {
	NEED("name", STR, "Name of the variable."),
	FIELD("value", STR, "Its value; $(NAME) stands for that of an earlier one."),
	FIELD("valueFrom", &env_source, NULL),
};
static const struct neap_schema neap_kube_env = {
	.name = CORE("EnvVar"),
	.doc = "A variable of the environment.",
	NEAP_SCHEMA_FIELDS(neap_kube_env_fields),
};
SHARED_LIST(neap_kube_env);

static const struct neap_schema_field config_map_env_fields[] = {
	FIELD("name", STR, "Name of the ConfigMap."),
	PTR("optional", BOOL, "It need not be there."),
};
OBJECT(config_map_env, CORE("ConfigMapEnvSource"),
       "All keys of a ConfigMap as variables.");

static const struct neap_schema_field secret_env_fields[] = {
	FIELD("name", STR, "Name of the secret."),
	PTR("optional", BOOL, "It need not be there."),
};
OBJECT(secret_env, CORE("SecretEnvSource"), "All keys of a secret as variables.");

static const struct neap_schema_field neap_kube_env_from_fields[] = {
	FIELD("configMapRef", &config_map_env, NULL),
	FIELD("prefix", STR, "Put before the names."),
	FIELD("secretRef", &secret_env, NULL),
};
static const struct neap_schema neap_kube_env_from = {
	.name = CORE("EnvFromSource"),
	.doc = "Variables from all keys of one object.",
	NEAP_SCHEMA_FIELDS(neap_kube_env_from_fields),
};
SHARED_LIST(neap_kube_env_from);

/* --- resources --- */

static const struct neap_schema_field resource_claim_fields[] = {
	NEED("name", STR, "Name of one of spec.resourceClaims."),
	FIELD("request", STR, "Which request of the claim; without it all of it."),
};
OBJECT(resource_claim, CORE("ResourceClaim"),
       "A claim of the pod that the container uses.");
LIST(resource_claim);

static const struct neap_schema_field neap_kube_resources_fields[] = {
	FIELD("claims", &resource_claim_list,
	      "Claims of the pod that the container uses."),
	FIELD("limits", QTY_MAP, "How much the container may use."),
	FIELD("requests", QTY_MAP,
	      "How much is set aside for it; limits where nothing is asked for."),
};
SHARED(neap_kube_resources, CORE("ResourceRequirements"),
       "How much of the machine a container needs and may use.");

/* --- security --- */

static const struct neap_schema_field neap_kube_selinux_fields[] = {
	FIELD("level", STR, "Level of the label."),
	FIELD("role", STR, "Role of the label."),
	FIELD("type", STR, "Type of the label."),
	FIELD("user", STR, "User of the label."),
};
SHARED(neap_kube_selinux, CORE("SELinuxOptions"), "A label of SELinux.");

ENUM(profile_type, "Localhost", "RuntimeDefault", "Unconfined");

static const struct neap_schema_field neap_kube_seccomp_fields[] = {
	PTR("localhostProfile", STR, "Path of a profile on the node, with Localhost."),
	NEED("type", &profile_type, "Localhost, RuntimeDefault or Unconfined."),
};
SHARED(neap_kube_seccomp, CORE("SeccompProfile"), "Which system calls may be made.");

static const struct neap_schema_field neap_kube_apparmor_fields[] = {
	PTR("localhostProfile", STR,
	    "Name of a profile that is loaded on the node, with Localhost."),
	NEED("type", &profile_type, "Localhost, RuntimeDefault or Unconfined."),
};
SHARED(neap_kube_apparmor, CORE("AppArmorProfile"), "A profile of AppArmor.");

static const struct neap_schema_field neap_kube_windows_options_fields[] = {
	PTR("gmsaCredentialSpec", STR, "Credential spec of the managed service account."),
	PTR("gmsaCredentialSpecName", STR, "Name of that spec."),
	PTR("hostProcess", BOOL, "Runs as a process of the host."),
	PTR("runAsUserName", STR, "User name under which it runs."),
};
SHARED(neap_kube_windows_options, CORE("WindowsSecurityContextOptions"),
       "What applies on Windows only.");
