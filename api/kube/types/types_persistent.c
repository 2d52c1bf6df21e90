/* SPDX-License-Identifier: Apache-2.0
 *
 * PersistentVolumes, and the claims on them. */
#include "api/kube/types/types_priv.h"

ENUM(volume_mode, "Block", "Filesystem");
ENUM(reclaim_policy, "Delete", "Recycle", "Retain");

/* --- volumes --- */

static const struct neap_schema_field csi_fields[] = {
	FIELD("controllerExpandSecretRef", &neap_kube_secret_reference,
	      "Secret for making it larger, at the controller."),
	FIELD("controllerPublishSecretRef", &neap_kube_secret_reference,
	      "Secret for attaching and detaching."),
	NEED("driver", STR, "Name of the driver."),
	FIELD("fsType", STR, "Kind of the file system, as ext4."),
	FIELD("nodeExpandSecretRef", &neap_kube_secret_reference,
	      "Secret for making it larger, on the node."),
	FIELD("nodePublishSecretRef", &neap_kube_secret_reference,
	      "Secret for mounting and unmounting."),
	FIELD("nodeStageSecretRef", &neap_kube_secret_reference,
	      "Secret for making it ready on the node."),
	FIELD("readOnly", BOOL, "Nobody may write."),
	FIELD("volumeAttributes", STR_MAP,
	      "What the driver told when it made the volume."),
	NEED("volumeHandle", STR, "Identifier of the volume at the driver."),
};
OBJECT(csi, CORE("CSIPersistentVolumeSource"), "A volume of a CSI driver.");

static const struct neap_schema_field local_fields[] = {
	PTR("fsType", STR, "Kind of the file system, of a block device."),
	NEED("path", STR, "Path of the folder or block device on the node."),
};
OBJECT(local, CORE("LocalVolumeSource"), "A disk of one node.");

static const struct neap_schema_field volume_affinity_fields[] = {
	FIELD("required", &neap_kube_node_selector,
	      "Nodes from which the volume can be reached."),
};
OBJECT(volume_affinity, CORE("VolumeNodeAffinity"),
       "From which nodes a volume can be reached.");

static const struct neap_schema_field persistentvolume_spec_fields[] = {
	FIELD("accessModes", STRS,
	      "How it can be mounted: ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod."),
	FIELD("awsElasticBlockStore", &neap_kube_aws_disk, NULL),
	FIELD("azureDisk", &neap_kube_azure_disk, NULL),
	FIELD("azureFile", &neap_kube_azure_file_pv, NULL),
	FIELD("capacity", QTY_MAP, "How much it holds: storage."),
	FIELD("cephfs", &neap_kube_cephfs_pv, NULL),
	FIELD("cinder", &neap_kube_cinder_pv, NULL),
	FIELD("claimRef", &neap_kube_object_reference, "Claim that it is bound to."),
	FIELD("csi", &csi, NULL),
	FIELD("fc", &neap_kube_fc, NULL),
	FIELD("flexVolume", &neap_kube_flex_pv, NULL),
	FIELD("flocker", &neap_kube_flocker, NULL),
	FIELD("gcePersistentDisk", &neap_kube_gce_disk, NULL),
	FIELD("glusterfs", &neap_kube_glusterfs_pv, NULL),
	FIELD("hostPath", &neap_kube_host_path, NULL),
	FIELD("iscsi", &neap_kube_iscsi_pv, NULL),
	FIELD("local", &local, NULL),
	FIELD("mountOptions", STRS, "Options for mounting it."),
	FIELD("nfs", &neap_kube_nfs, NULL),
	FIELD("nodeAffinity", &volume_affinity, NULL),
	FILL("persistentVolumeReclaimPolicy", &reclaim_policy, "\"Retain\"",
	     "What becomes of it when the claim is gone: Retain, Delete, Recycle."),
	FIELD("photonPersistentDisk", &neap_kube_photon, NULL),
	FIELD("portworxVolume", &neap_kube_portworx, NULL),
	FIELD("quobyte", &neap_kube_quobyte, NULL),
	FIELD("rbd", &neap_kube_rbd_pv, NULL),
	FIELD("scaleIO", &neap_kube_scaleio_pv, NULL),
	FIELD("storageClassName", STR, "Name of its StorageClass; empty: none."),
	FIELD("storageos", &neap_kube_storageos_pv, NULL),
	PTR("volumeAttributesClassName", STR, "Name of its VolumeAttributesClass."),
	GIVE("volumeMode", &volume_mode, "\"Filesystem\"",
	     "Filesystem, or Block: a device without one."),
	FIELD("vsphereVolume", &neap_kube_vsphere, NULL),
};
OBJECT(persistentvolume_spec, CORE("PersistentVolumeSpec"),
       "What a volume is, and who has it.");

static const struct neap_schema_field persistentvolume_status_fields[] = {
	PTR("lastPhaseTransitionTime", TIME, "When the phase changed last."),
	FIELD("message", STR, "Why it is so, for people."),
	FIELD("phase", STR, "Pending, Available, Bound, Released or Failed."),
	FIELD("reason", STR, "Why it failed, in one word."),
};
OBJECT(persistentvolume_status, CORE("PersistentVolumeStatus"),
       "What is known of the volume.");

static const struct neap_schema_field persistentvolume_fields[] = {
	WHOLE,
	FIELD("spec", &persistentvolume_spec, NULL),
	FIELD("status", &persistentvolume_status, NULL),
};
OBJECT(persistentvolume, CORE("PersistentVolume"),
       "A piece of storage that outlives pods.");

/* --- claims --- */

static const struct neap_schema_field claim_resources_fields[] = {
	FIELD("limits", QTY_MAP, "How much it may hold."),
	FIELD("requests", QTY_MAP, "How much it has to hold: storage."),
};
OBJECT(claim_resources, CORE("VolumeResourceRequirements"),
       "How much storage is asked for.");

static const struct neap_schema_field neap_kube_claim_spec_fields[] = {
	FIELD("accessModes", STRS,
	      "How it is to be mounted: ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod."),
	FIELD("dataSource", &neap_kube_typed_local_reference,
	      "What it holds at first: a VolumeSnapshot or another claim."),
	FIELD("dataSourceRef", &neap_kube_typed_reference, "The same, of any kind."),
	GIVE("resources", &claim_resources, "{}", NULL),
	FIELD("selector", &neap_kube_label_selector, "Selects volumes."),
	PTR("storageClassName", STR,
	    "Name of the StorageClass that is asked for; empty: none."),
	PTR("volumeAttributesClassName", STR,
	    "Name of the VolumeAttributesClass that is asked for."),
	GIVE("volumeMode", &volume_mode, "\"Filesystem\"",
	     "Filesystem, or Block: a device without one."),
	FIELD("volumeName", STR, "Volume that it is bound to."),
};
SHARED(neap_kube_claim_spec, CORE("PersistentVolumeClaimSpec"), "What a claim asks for.");

static const struct neap_schema_field claim_condition_fields[] = {
	FIELD("lastProbeTime", TIME, "When it was looked at last."),
	FIELD("lastTransitionTime", TIME, "When the status changed last."),
	FIELD("message", STR, "What it is like, for people."),
	FIELD("reason", STR, "Why, in one word."),
	NEED("status", STR, "True, False or Unknown."),
	NEED("type", STR, "What is told."),
};
OBJECT(claim_condition, CORE("PersistentVolumeClaimCondition"),
       "One thing that is so, or not, of a claim.");
LIST(claim_condition);

static const struct neap_schema_field modify_status_fields[] = {
	ZERO("status", STR, "\"\"", "Pending, InProgress or Infeasible."),
	FIELD("targetVolumeAttributesClassName", STR, "Class that is being changed to."),
};
OBJECT(modify_status, CORE("ModifyVolumeStatus"), "How far a change of the class is.");

static const struct neap_schema_field claim_status_fields[] = {
	FIELD("accessModes", STRS, "How the volume can be mounted."),
	FIELD("allocatedResourceStatuses", STR_MAP,
	      "How far a change of each resource is."),
	FIELD("allocatedResources", QTY_MAP, "What is set aside for it."),
	FIELD("capacity", QTY_MAP, "How much the volume holds."),
	KEYED("conditions", &claim_condition_list, "type", "What is so, or not."),
	PTR("currentVolumeAttributesClassName", STR, "Class that the volume has now."),
	FIELD("modifyVolumeStatus", &modify_status, NULL),
	FIELD("phase", STR, "Pending, Bound or Lost."),
};
OBJECT(claim_status, CORE("PersistentVolumeClaimStatus"), "What is known of the claim.");

static const struct neap_schema_field neap_kube_claim_fields[] = {
	WHOLE,
	GIVE("spec", &neap_kube_claim_spec, "{}", NULL),
	FIELD("status", &claim_status, NULL),
};
SHARED(neap_kube_claim, CORE("PersistentVolumeClaim"), "Asks for a volume.");

static const char *const persistentvolume_short[] = {"pv", NULL};

const struct neap_kube_kind neap_kube_kind_persistentvolume = {
	.group = "",
	.versions = neap_kube_v1,
	.kind = "PersistentVolume",
	.list_kind = "PersistentVolumeList",
	.plural = "persistentvolumes",
	.shows_deleted = true,
	.singular = "persistentvolume",
	.short_names = persistentvolume_short,
	.has_status = true,
	.schema = &persistentvolume,
	COLUMNS(persistentvolume),
	.cells = neap_kube_cells_persistentvolume,
	.complete = neap_kube_complete_persistentvolume,
	.check = neap_kube_check_persistentvolume,
};

static const char *const persistentvolumeclaim_short[] = {"pvc", NULL};

const struct neap_kube_kind neap_kube_kind_persistentvolumeclaim = {
	.group = "",
	.versions = neap_kube_v1,
	.kind = "PersistentVolumeClaim",
	.list_kind = "PersistentVolumeClaimList",
	.plural = "persistentvolumeclaims",
	.shows_deleted = true,
	.singular = "persistentvolumeclaim",
	.short_names = persistentvolumeclaim_short,
	.is_namespaced = true,
	.has_status = true,
	.schema = &neap_kube_claim,
	COLUMNS(persistentvolumeclaim),
	.cells = neap_kube_cells_persistentvolumeclaim,
	.complete = neap_kube_complete_persistentvolumeclaim,
	.check = neap_kube_check_persistentvolumeclaim,
};
