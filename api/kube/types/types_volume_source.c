/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the contents of a volume come from, as far as pods and PersistentVolumes share it. Some have two
 * forms: that of a PersistentVolume names the namespace of its secret. */
#include "api/kube/types/types_priv.h"

#define FS_TYPE   FIELD("fsType", STR, "Kind of the file system, as ext4.")
#define READ_ONLY FIELD("readOnly", BOOL, "Nobody may write.")
#define SECRET(s) FIELD("secretRef", &(s), "Secret with the credentials.")

static const struct neap_schema_field neap_kube_aws_disk_fields[] = {
	FS_TYPE,
	FIELD("partition", I32, "Number of the partition; 0: the whole disk."),
	READ_ONLY,
	NEED("volumeID", STR, "The disk."),
};
SHARED(neap_kube_aws_disk, CORE("AWSElasticBlockStoreVolumeSource"), "A disk of AWS.");

ENUM(azure_caching, "None", "ReadOnly", "ReadWrite");
ENUM(azure_kind, "Dedicated", "Managed", "Shared");

static const struct neap_schema_field neap_kube_azure_disk_fields[] = {
	GIVE("cachingMode", &azure_caching, "\"ReadWrite\"",
	     "What the host caches: None, ReadOnly, ReadWrite."),
	NEED("diskName", STR, "Name of the disk."),
	NEED("diskURI", STR, "Address of the disk."),
	GIVE("fsType", STR, "\"ext4\"", "Kind of the file system."),
	GIVE("kind", &azure_kind, "\"Shared\"",
	     "Kind of the disk: Shared, Dedicated, Managed."),
	GIVE("readOnly", BOOL, "false", "Nobody may write."),
};
SHARED(neap_kube_azure_disk, CORE("AzureDiskVolumeSource"), "A disk of Azure.");

static const struct neap_schema_field neap_kube_azure_file_fields[] = {
	READ_ONLY,
	NEED("secretName", STR, "Secret with the account's name and key."),
	NEED("shareName", STR, "Name of the share."),
};
SHARED(neap_kube_azure_file, CORE("AzureFileVolumeSource"), "A file share of Azure.");

static const struct neap_schema_field neap_kube_azure_file_pv_fields[] = {
	READ_ONLY,
	NEED("secretName", STR, "Secret with the account's name and key."),
	PTR("secretNamespace", STR,
	    "Namespace of the secret; that of the pod where none is named."),
	NEED("shareName", STR, "Name of the share."),
};
SHARED(neap_kube_azure_file_pv, CORE("AzureFilePersistentVolumeSource"),
       "A file share of Azure.");

#define CEPHFS(secret)                                                                   \
	NEED("monitors", STRS, "Addresses of the monitors."),                            \
		FIELD("path", STR, "Folder to mount; / where none is named."),           \
		READ_ONLY, FIELD("secretFile", STR, "File with the user's key."),        \
		SECRET(secret), FIELD("user", STR, "User; admin where none is named.")

static const struct neap_schema_field neap_kube_cephfs_fields[] = {
	CEPHFS(neap_kube_local_reference)};
SHARED(neap_kube_cephfs, CORE("CephFSVolumeSource"), "A file system of Ceph.");
static const struct neap_schema_field neap_kube_cephfs_pv_fields[] = {
	CEPHFS(neap_kube_secret_reference)};
SHARED(neap_kube_cephfs_pv, CORE("CephFSPersistentVolumeSource"),
       "A file system of Ceph.");

#define CINDER(secret)                                                                   \
	FS_TYPE, READ_ONLY, SECRET(secret), NEED("volumeID", STR, "The volume.")

static const struct neap_schema_field neap_kube_cinder_fields[] = {
	CINDER(neap_kube_local_reference)};
SHARED(neap_kube_cinder, CORE("CinderVolumeSource"), "A volume of OpenStack.");
static const struct neap_schema_field neap_kube_cinder_pv_fields[] = {
	CINDER(neap_kube_secret_reference)};
SHARED(neap_kube_cinder_pv, CORE("CinderPersistentVolumeSource"),
       "A volume of OpenStack.");

static const struct neap_schema_field neap_kube_fc_fields[] = {
	FS_TYPE,
	PTR("lun", I32, "Number of the unit at the target."),
	READ_ONLY,
	FIELD("targetWWNs", STRS, "World wide names of the targets."),
	FIELD("wwids", STRS, "World wide identifiers: these, or targetWWNs and lun."),
};
SHARED(neap_kube_fc, CORE("FCVolumeSource"), "A disk behind Fibre Channel.");

#define FLEX(secret)                                                                     \
	NEED("driver", STR, "Name of the driver."), FS_TYPE,                             \
		FIELD("options", STR_MAP, "What the driver is told."), READ_ONLY,        \
		SECRET(secret)

static const struct neap_schema_field neap_kube_flex_fields[] = {
	FLEX(neap_kube_local_reference)};
SHARED(neap_kube_flex, CORE("FlexVolumeSource"),
       "A volume of a driver that is a program on the node.");
static const struct neap_schema_field neap_kube_flex_pv_fields[] = {
	FLEX(neap_kube_secret_reference)};
SHARED(neap_kube_flex_pv, CORE("FlexPersistentVolumeSource"),
       "A volume of a driver that is a program on the node.");

static const struct neap_schema_field neap_kube_flocker_fields[] = {
	FIELD("datasetName", STR, "Name of the data set; better its UUID."),
	FIELD("datasetUUID", STR, "UUID of the data set."),
};
SHARED(neap_kube_flocker, CORE("FlockerVolumeSource"), "A volume of Flocker.");

static const struct neap_schema_field neap_kube_gce_disk_fields[] = {
	FS_TYPE,
	FIELD("partition", I32, "Number of the partition; 0: the whole disk."),
	NEED("pdName", STR, "Name of the disk."),
	READ_ONLY,
};
SHARED(neap_kube_gce_disk, CORE("GCEPersistentDiskVolumeSource"), "A disk of GCE.");

static const struct neap_schema_field neap_kube_glusterfs_fields[] = {
	NEED("endpoints", STR, "Name of the Endpoints object with the servers."),
	NEED("path", STR, "Name of the volume."),
	READ_ONLY,
};
SHARED(neap_kube_glusterfs, CORE("GlusterfsVolumeSource"), "A volume of GlusterFS.");

static const struct neap_schema_field neap_kube_glusterfs_pv_fields[] = {
	NEED("endpoints", STR, "Name of the Endpoints object with the servers."),
	PTR("endpointsNamespace", STR,
	    "Namespace of it; that of the claim where none is named."),
	NEED("path", STR, "Name of the volume."),
	READ_ONLY,
};
SHARED(neap_kube_glusterfs_pv, CORE("GlusterfsPersistentVolumeSource"),
       "A volume of GlusterFS.");

ENUM(host_path_type, "", "DirectoryOrCreate", "Directory", "FileOrCreate", "File",
     "Socket", "CharDevice", "BlockDevice");

static const struct neap_schema_field neap_kube_host_path_fields[] = {
	NEED("path", STR, "Path on the node."),
	GIVE("type", &host_path_type, "\"\"", "What has to be there; empty: anything."),
};
SHARED(neap_kube_host_path, CORE("HostPathVolumeSource"),
       "A file or folder of the node.");

#define ISCSI(secret)                                                                    \
	FIELD("chapAuthDiscovery", BOOL, "CHAP is used when targets are discovered."),   \
		FIELD("chapAuthSession", BOOL, "CHAP is used in sessions."), FS_TYPE,    \
		PTR("initiatorName", STR, "Name of the initiator."),                     \
		NEED("iqn", STR, "Name of the target."),                                 \
		FILL("iscsiInterface", STR, "\"default\"",                               \
		     "Interface of the initiator."),                                     \
		ZERO("lun", I32, "0", "Number of the unit at the target."),              \
		FIELD("portals", STRS, "More portals of the target."), READ_ONLY,        \
		SECRET(secret),                                                          \
		NEED("targetPortal", STR,                                                \
		     "Portal of the target: address, and port if it is not 3260.")

static const struct neap_schema_field neap_kube_iscsi_fields[] = {
	ISCSI(neap_kube_local_reference)};
SHARED(neap_kube_iscsi, CORE("ISCSIVolumeSource"), "A disk behind iSCSI.");
static const struct neap_schema_field neap_kube_iscsi_pv_fields[] = {
	ISCSI(neap_kube_secret_reference)};
SHARED(neap_kube_iscsi_pv, CORE("ISCSIPersistentVolumeSource"), "A disk behind iSCSI.");

static const struct neap_schema_field neap_kube_nfs_fields[] = {
	NEED("path", STR, "Path that the server exports."),
	READ_ONLY,
	NEED("server", STR, "Name or address of the server."),
};
SHARED(neap_kube_nfs, CORE("NFSVolumeSource"), "A folder of an NFS server.");

static const struct neap_schema_field neap_kube_photon_fields[] = {
	FS_TYPE,
	NEED("pdID", STR, "The disk."),
};
SHARED(neap_kube_photon, CORE("PhotonPersistentDiskVolumeSource"), "A disk of Photon.");

static const struct neap_schema_field neap_kube_portworx_fields[] = {
	FS_TYPE,
	READ_ONLY,
	NEED("volumeID", STR, "The volume."),
};
SHARED(neap_kube_portworx, CORE("PortworxVolumeSource"), "A volume of Portworx.");

static const struct neap_schema_field neap_kube_quobyte_fields[] = {
	FIELD("group", STR, "Group that has access."),
	READ_ONLY,
	NEED("registry", STR, "Registries, HOST:PORT, with commas between them."),
	FIELD("tenant", STR, "Tenant that owns the volume."),
	FIELD("user", STR, "User that has access."),
	NEED("volume", STR, "Name of the volume."),
};
SHARED(neap_kube_quobyte, CORE("QuobyteVolumeSource"), "A volume of Quobyte.");

#define RBD(secret)                                                                      \
	FS_TYPE, NEED("image", STR, "Name of the image."),                               \
		FILL("keyring", STR, "\"/etc/ceph/keyring\"", "File with the keys."),    \
		NEED("monitors", STRS, "Addresses of the monitors."),                    \
		FILL("pool", STR, "\"rbd\"", "Name of the pool."), READ_ONLY,            \
		SECRET(secret), FILL("user", STR, "\"admin\"", "User.")

static const struct neap_schema_field neap_kube_rbd_fields[] = {
	RBD(neap_kube_local_reference)};
SHARED(neap_kube_rbd, CORE("RBDVolumeSource"), "A block device of Ceph.");
static const struct neap_schema_field neap_kube_rbd_pv_fields[] = {
	RBD(neap_kube_secret_reference)};
SHARED(neap_kube_rbd_pv, CORE("RBDPersistentVolumeSource"), "A block device of Ceph.");

#define SCALEIO(secret)                                                                  \
	FILL("fsType", STR, "\"xfs\"", "Kind of the file system."),                      \
		NEED("gateway", STR, "Address of the gateway."),                         \
		FIELD("protectionDomain", STR, "Protection domain of the storage."),     \
		READ_ONLY, NEED("secretRef", &(secret), "Secret with the credentials."), \
		FIELD("sslEnabled", BOOL, "The gateway is spoken to in TLS."),           \
		FILL("storageMode", STR, "\"ThinProvisioned\"",                          \
		     "ThickProvisioned or ThinProvisioned."),                            \
		FIELD("storagePool", STR, "Storage pool."),                              \
		NEED("system", STR, "Name of the storage system."),                      \
		FIELD("volumeName", STR, "Name of the volume.")

static const struct neap_schema_field neap_kube_scaleio_fields[] = {
	SCALEIO(neap_kube_local_reference)};
SHARED(neap_kube_scaleio, CORE("ScaleIOVolumeSource"), "A volume of ScaleIO.");
static const struct neap_schema_field neap_kube_scaleio_pv_fields[] = {
	SCALEIO(neap_kube_secret_reference)};
SHARED(neap_kube_scaleio_pv, CORE("ScaleIOPersistentVolumeSource"),
       "A volume of ScaleIO.");

#define STORAGEOS(secret)                                                                \
	FS_TYPE, READ_ONLY, SECRET(secret),                                              \
		FIELD("volumeName", STR, "Name of the volume."),                         \
		FIELD("volumeNamespace", STR, "Namespace of the volume in StorageOS.")

static const struct neap_schema_field neap_kube_storageos_fields[] = {
	STORAGEOS(neap_kube_local_reference)};
SHARED(neap_kube_storageos, CORE("StorageOSVolumeSource"), "A volume of StorageOS.");
static const struct neap_schema_field neap_kube_storageos_pv_fields[] = {
	STORAGEOS(neap_kube_object_reference)};
SHARED(neap_kube_storageos_pv, CORE("StorageOSPersistentVolumeSource"),
       "A volume of StorageOS.");

static const struct neap_schema_field neap_kube_vsphere_fields[] = {
	FS_TYPE,
	FIELD("storagePolicyID", STR, "Identifier of the storage policy's profile."),
	FIELD("storagePolicyName", STR, "Name of the storage policy's profile."),
	NEED("volumePath", STR, "Path of the disk."),
};
SHARED(neap_kube_vsphere, CORE("VsphereVirtualDiskVolumeSource"), "A disk of vSphere.");
