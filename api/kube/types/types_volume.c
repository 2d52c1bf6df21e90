/* SPDX-License-Identifier: Apache-2.0
 *
 * Volumes of pods: those whose contents are made for the pod, and the list of all sources. */
#include "api/kube/types/types_priv.h"

static const struct neap_schema_field key_path_fields[] = {
	NEED("key", STR, "Key whose value the file has."),
	PTR("mode", I32, "Mode of the file, 0 to 0777; defaultMode where there is none."),
	NEED("path", STR, "Path of the file within the volume."),
};
OBJECT(key_path, CORE("KeyToPath"), "A key as a file.");
LIST(key_path);

static const struct neap_schema_field downward_file_fields[] = {
	FIELD("fieldRef", &neap_kube_field_ref,
	      "A field of the pod: labels, annotations, name, namespace, uid."),
	PTR("mode", I32, "Mode of the file, 0 to 0777; defaultMode where there is none."),
	NEED("path", STR, "Path of the file within the volume."),
	FIELD("resourceFieldRef", &neap_kube_resource_field_ref,
	      "A request or limit of a container."),
};
OBJECT(downward_file, CORE("DownwardAPIVolumeFile"), "A fact about the pod as a file.");
LIST(downward_file);

#define DEFAULT_MODE                                                                     \
	GIVE("defaultMode", I32, "420", "Mode of files that have none of their own.")

static const struct neap_schema_field config_map_fields[] = {
	DEFAULT_MODE,
	FIELD("items", &key_path_list, "Which keys become files; without it all do."),
	FIELD("name", STR, "Name of the ConfigMap."),
	PTR("optional", BOOL, "It need not be there."),
};
OBJECT(config_map, CORE("ConfigMapVolumeSource"), "The values of a ConfigMap as files.");

static const struct neap_schema_field secret_fields[] = {
	DEFAULT_MODE,
	FIELD("items", &key_path_list, "Which keys become files; without it all do."),
	PTR("optional", BOOL, "It need not be there."),
	FIELD("secretName", STR, "Name of the secret."),
};
OBJECT(secret, CORE("SecretVolumeSource"), "The values of a secret as files.");

static const struct neap_schema_field downward_fields[] = {
	DEFAULT_MODE,
	FIELD("items", &downward_file_list, "The files."),
};
OBJECT(downward, CORE("DownwardAPIVolumeSource"), "Facts about the pod as files.");

static const struct neap_schema_field projected_trust_fields[] = {
	FIELD("labelSelector", &neap_kube_label_selector,
	      "Selects bundles of signerName."),
	PTR("name", STR, "Name of one bundle."),
	PTR("optional", BOOL, "It need not be there."),
	NEED("path", STR, "Path of the file within the volume."),
	PTR("signerName", STR, "Signer whose bundles are taken."),
};
OBJECT(projected_trust, CORE("ClusterTrustBundleProjection"),
       "Trusted certificates as a file.");

static const struct neap_schema_field projected_config_map_fields[] = {
	FIELD("items", &key_path_list, "Which keys become files; without it all do."),
	FIELD("name", STR, "Name of the ConfigMap."),
	PTR("optional", BOOL, "It need not be there."),
};
OBJECT(projected_config_map, CORE("ConfigMapProjection"),
       "The values of a ConfigMap as files.");

static const struct neap_schema_field projected_downward_fields[] = {
	FIELD("items", &downward_file_list, "The files."),
};
OBJECT(projected_downward, CORE("DownwardAPIProjection"),
       "Facts about the pod as files.");

static const struct neap_schema_field projected_secret_fields[] = {
	FIELD("items", &key_path_list, "Which keys become files; without it all do."),
	FIELD("name", STR, "Name of the secret."),
	PTR("optional", BOOL, "It need not be there."),
};
OBJECT(projected_secret, CORE("SecretProjection"), "The values of a secret as files.");

static const struct neap_schema_field projected_token_fields[] = {
	FIELD("audience", STR,
	      "For whom the token is; the API server where nobody is named."),
	GIVE("expirationSeconds", I64, "3600",
	     "How long the token is good for; it is renewed in time."),
	NEED("path", STR, "Path of the file within the volume."),
};
OBJECT(projected_token, CORE("ServiceAccountTokenProjection"),
       "A token of the pod's service account as a file.");

static const struct neap_schema_field projection_fields[] = {
	FIELD("clusterTrustBundle", &projected_trust, NULL),
	FIELD("configMap", &projected_config_map, NULL),
	FIELD("downwardAPI", &projected_downward, NULL),
	FIELD("secret", &projected_secret, NULL),
	FIELD("serviceAccountToken", &projected_token, NULL),
};
OBJECT(projection, CORE("VolumeProjection"), "One of the sources of a projected volume.");
LIST(projection);

static const struct neap_schema_field projected_fields[] = {
	DEFAULT_MODE,
	FIELD("sources", &projection_list, "What is in the volume."),
};
OBJECT(projected, CORE("ProjectedVolumeSource"), "Several sources in one folder.");

static const struct neap_schema_field empty_dir_fields[] = {
	FIELD("medium", STR,
	      "What it lies on: empty (the node's disk), Memory, HugePages, HugePages-2Mi."),
	PTR("sizeLimit", QUANTITY, "How much it may hold."),
};
OBJECT(empty_dir, CORE("EmptyDirVolumeSource"),
       "A folder that is empty at first and goes with the pod.");

static const struct neap_schema_field claim_template_fields[] = {
	FIELD("metadata", &neap_kube_object_meta, "Labels and annotations of the claim."),
	NEED("spec", &neap_kube_claim_spec, "What the claim asks for."),
};
OBJECT(claim_template, CORE("PersistentVolumeClaimTemplate"),
       "A claim that is made for the pod.");

static const struct neap_schema_field ephemeral_fields[] = {
	FIELD("volumeClaimTemplate", &claim_template,
	      "The claim that is made, and goes with the pod."),
};
OBJECT(ephemeral, CORE("EphemeralVolumeSource"),
       "A volume that is provisioned for the pod.");

static const struct neap_schema_field csi_fields[] = {
	NEED("driver", STR, "Name of the driver."),
	PTR("fsType", STR, "Kind of the file system, as ext4."),
	FIELD("nodePublishSecretRef", &neap_kube_local_reference,
	      "Secret for mounting and unmounting."),
	PTR("readOnly", BOOL, "Nobody may write."),
	FIELD("volumeAttributes", STR_MAP, "What the driver is told."),
};
OBJECT(csi, CORE("CSIVolumeSource"), "A volume that a CSI driver makes for the pod.");

static const struct neap_schema_field git_repo_fields[] = {
	FIELD("directory", STR, "Folder to clone into."),
	NEED("repository", STR, "Address of the repository."),
	FIELD("revision", STR, "Commit to check out."),
};
OBJECT(git_repo, CORE("GitRepoVolumeSource"), "A clone of a git repository.");

static const struct neap_schema_field image_fields[] = {
	FIELD("pullPolicy", &neap_kube_pull_policy,
	      "When it is pulled: Always, Never, IfNotPresent."),
	FIELD("reference", STR, "Name of the image."),
};
OBJECT(image, CORE("ImageVolumeSource"), "The files of an image.");

static const struct neap_schema_field claim_fields[] = {
	NEED("claimName", STR, "Name of the claim, in the pod's namespace."),
	FIELD("readOnly", BOOL, "The pod may not write."),
};
OBJECT(claim, CORE("PersistentVolumeClaimVolumeSource"),
       "The volume that a claim is bound to.");

static const struct neap_schema_field neap_kube_volume_fields[] = {
	FIELD("awsElasticBlockStore", &neap_kube_aws_disk, NULL),
	FIELD("azureDisk", &neap_kube_azure_disk, NULL),
	FIELD("azureFile", &neap_kube_azure_file, NULL),
	FIELD("cephfs", &neap_kube_cephfs, NULL),
	FIELD("cinder", &neap_kube_cinder, NULL),
	FIELD("configMap", &config_map, NULL),
	FIELD("csi", &csi, NULL),
	FIELD("downwardAPI", &downward, NULL),
	FIELD("emptyDir", &empty_dir, NULL),
	FIELD("ephemeral", &ephemeral, NULL),
	FIELD("fc", &neap_kube_fc, NULL),
	FIELD("flexVolume", &neap_kube_flex, NULL),
	FIELD("flocker", &neap_kube_flocker, NULL),
	FIELD("gcePersistentDisk", &neap_kube_gce_disk, NULL),
	FIELD("gitRepo", &git_repo, NULL),
	FIELD("glusterfs", &neap_kube_glusterfs, NULL),
	FIELD("hostPath", &neap_kube_host_path, NULL),
	FIELD("image", &image, NULL),
	FIELD("iscsi", &neap_kube_iscsi, NULL),
	NEED("name", STR, "Name of the volume, by which containers mount it."),
	FIELD("nfs", &neap_kube_nfs, NULL),
	FIELD("persistentVolumeClaim", &claim, NULL),
	FIELD("photonPersistentDisk", &neap_kube_photon, NULL),
	FIELD("portworxVolume", &neap_kube_portworx, NULL),
	FIELD("projected", &projected, NULL),
	FIELD("quobyte", &neap_kube_quobyte, NULL),
	FIELD("rbd", &neap_kube_rbd, NULL),
	FIELD("scaleIO", &neap_kube_scaleio, NULL),
	FIELD("secret", &secret, NULL),
	FIELD("storageos", &neap_kube_storageos, NULL),
	FIELD("vsphereVolume", &neap_kube_vsphere, NULL),
};
static const struct neap_schema neap_kube_volume = {
	.name = CORE("Volume"),
	.doc = "A folder or device that containers of the pod share: a name and one source.",
	NEAP_SCHEMA_FIELDS(neap_kube_volume_fields),
};
SHARED_LIST(neap_kube_volume);
