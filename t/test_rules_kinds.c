/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules for all kinds but pods: each kept and broken, with what is told exactly; and
 * without memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/json/json.h"
#include "t/lib/rules_rig.h"

#define NOT_NEGATIVE "must be greater than or equal to 0"
#define NAME_PART                                                                        \
	"name part must consist of alphanumeric characters, '-', '_' or '.', and must "  \
	"start and end with an alphanumeric character"
#define SET "field is immutable when `immutable` is set"
#define PERCENT                                                                          \
	"a valid percent string must be a numeric string followed by an ending '%' "     \
	"(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"

static const struct rules_row core[] = {
	/* nodes */
	{"Node", "", NULL, ""},
	{"Node", "", "", ""},
	{"Node", "spec/taints/1/effect='NoSchedule'", NULL,
	 "spec.taints[1]: Duplicate value: {\"key\":\"gpu\",\"effect\":\"NoSchedule\"}: "
	 "taints must be unique by key and effect pair"},
	{"Node", "spec/taints/0/key='a b'", NULL,
	 "spec.taints[0].key: Invalid value: \"a b\": " NAME_PART},
	{"Node", "spec/taints/0/key=''", NULL, "spec.taints[0].key: Required value"},
	{"Node", "spec/taints/0/value='a b'", NULL,
	 "spec.taints[0].value: Invalid value: \"a b\": a valid label must be an empty "
	 "string or consist of alphanumeric characters, '-', '_' or '.', and must start "
	 "and end with an alphanumeric character"},
	{"Node", "spec/taints/0/effect='Never'", NULL,
	 "spec.taints[0].effect: Unsupported value: \"Never\": supported values: "
	 "\"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\""},
	{"Node", "spec/unschedulable=true; spec/taints=[]", "", ""},
	{"Node", "spec/podCIDRs=['10.0.1.0/33']", NULL,
	 "spec.podCIDRs[0]: Invalid value: \"10.0.1.0/33\": must be a valid CIDR value, "
	 "(e.g. 10.9.8.0/24 or 2001:db8::/64)"},
	{"Node", "spec/podCIDRs/1='10.1.0.0/24'", NULL,
	 "spec.podCIDRs: Invalid value: [\"10.0.1.0/24\",\"10.1.0.0/24\"]: may specify no "
	 "more than one CIDR for each IP family"},
	{"Node", "", "spec/podCIDRs=[]", ""},
	{"Node", "spec/podCIDRs=['10.0.2.0/24']", "",
	 "spec.podCIDRs: Forbidden: node updates may not change podCIDR except from \"\" "
	 "to valid"},
	{"Node", "spec/providerID='a'", "",
	 "spec.providerID: Forbidden: node updates may not change providerID except from "
	 "\"\" to valid"},
	{"Node", "", "spec/providerID=''", ""},
	{"Node", "status/capacity/cpu='-1'; status/allocatable={'pods':'1.5'}", NULL,
	 "status.capacity[cpu]: Invalid value: \"-1\": " NOT_NEGATIVE "\n"
	 "status.allocatable[pods]: Invalid value: \"1.5\": must be an integer"},
	{"Node", "status/addresses/1={'type':'InternalIP','address':'10.1.0.1'}", NULL,
	 ""},
	{"Node", "status/addresses/1={'type':'InternalIP','address':'10.1.0.1'}", "",
	 "status.addresses[1]: Duplicate value: "
	 "{\"type\":\"InternalIP\",\"address\":\"10.1.0.1\"}"},
	/* namespaces */
	{"Namespace", "", NULL, ""},
	{"Namespace", "spec/finalizers/2='own'", NULL,
	 "spec.finalizers[2]: Invalid value: \"own\": name is neither a standard finalizer "
	 "name nor is it fully qualified"},
	{"Namespace", "spec/finalizers/2='a b'", NULL,
	 "spec.finalizers[2]: Invalid value: \"a b\": " NAME_PART},
	{"Namespace", "status/phase='Terminating'", "",
	 "status.phase: Invalid value: \"Terminating\": may only be 'Active' if "
	 "`deletionTimestamp` is empty"},
	{"Namespace",
	 "status/phase='Terminating'; metadata/deletionTimestamp='2026-01-02T03:04:05Z'",
	 "", ""},
	/* ConfigMaps */
	{"ConfigMap", "", NULL, ""},
	{"ConfigMap", "data/a~1b='c'", NULL,
	 "data[a/b]: Invalid value: \"a/b\": a valid config key must consist of "
	 "alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
	 "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"},
	{"ConfigMap", "data/..a='c'", NULL,
	 "data[..a]: Invalid value: \"..a\": must not start with '..'"},
	{"ConfigMap", "data/blob='c'", NULL,
	 "data[blob]: Invalid value: \"blob\": duplicate of key present in binaryData"},
	{"ConfigMap", "immutable=true", "", ""},
	{"ConfigMap", "data/new='a'", "", ""},
	{"ConfigMap", "immutable=true; metadata/labels={'a':'b'}", "immutable=true", ""},
	{"ConfigMap", "immutable=true; data/KEY_2='a'", "immutable=true",
	 "data: Forbidden: " SET},
	{"ConfigMap", "binaryData-", "immutable=true",
	 "immutable: Forbidden: " SET "\nbinaryData: Forbidden: " SET},
	/* events */
	{"Event", "", NULL, ""},
	{"Event", "metadata/namespace='default'", NULL, ""},
	{"Event", "eventTime-; metadata/namespace='default'", NULL,
	 "involvedObject.namespace: Invalid value: \"lab\": does not match "
	 "event.namespace"},
	{"Event", "involvedObject={'kind':'Node','name':'node-1'}", NULL,
	 "involvedObject.namespace: Invalid value: \"\": does not match event.namespace"},
	{"Event",
	 "involvedObject={'kind':'Node','name':'node-1'}; metadata/namespace='default'",
	 NULL, ""},
	{"Event",
	 "involvedObject={'kind':'Node','name':'node-1'}; metadata/namespace='kube-system'",
	 NULL, ""},
	{"Event",
	 "eventTime-; involvedObject={'kind':'Node','name':'node-1'}; "
	 "metadata/namespace='kube-system'",
	 NULL,
	 "involvedObject.namespace: Invalid value: \"\": does not match event.namespace"},
	{"Event", "reportingComponent=''; reportingInstance=''; action=''; reason-", NULL,
	 "reportingComponent: Required value\nreportingInstance: Required value\n"
	 "action: Required value\nreason: Required value"},
	{"Event", "eventTime-; reportingComponent=''; action=''", NULL, ""},
	{"Event", "reportingComponent='a b'", NULL,
	 "reportingComponent: Invalid value: \"a b\": " NAME_PART},
};

#define PORTS "spec/ports/"

static const struct rules_row services[] = {
	{"Service", "", NULL, ""},
	{"Service", "", "", ""},
	{"Service", "metadata/name='1web'", NULL,
	 "metadata.name: Invalid value: \"1web\": a DNS-1035 label must consist of lower "
	 "case alphanumeric characters or '-', start with an alphabetic character, and end "
	 "with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
	 "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"},
	{"Service", "spec/ports=[]", NULL, "spec.ports: Required value"},
	{"Service", "spec/ports-; spec/clusterIP='None'", NULL, ""},
	{"Service", "spec-", NULL, "spec.ports: Required value"},
	{"Service", PORTS "0/port=0", NULL,
	 "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"},
	{"Service", PORTS "0/port=65536", NULL,
	 "spec.ports[0].port: Invalid value: 65536: must be between 1 and 65535, "
	 "inclusive"},
	{"Service", PORTS "0/targetPort='a_b'", NULL,
	 "spec.ports[0].targetPort: Invalid value: \"a_b\": must contain only alpha-numeric "
	 "characters (a-z, 0-9), and hyphens (-)"},
	{"Service", PORTS "0/targetPort=65536", NULL,
	 "spec.ports[0].targetPort: Invalid value: 65536: must be between 1 and 65535, "
	 "inclusive"},
	{"Service", PORTS "0/name-", NULL, "spec.ports[0].name: Required value"},
	{"Service", PORTS "1-; " PORTS "0/name-", NULL, ""},
	{"Service", PORTS "1/name='http'", NULL,
	 "spec.ports[1].name: Duplicate value: \"http\""},
	{"Service", PORTS "2={'name':'more','port':80}", NULL,
	 "spec.ports[2]: Duplicate value: {\"port\":80,\"protocol\":\"TCP\"}"},
	{"Service", PORTS "2={'name':'more','port':80,'protocol':'UDP'}", NULL, ""},
	{"Service", PORTS "0/nodePort=30080", NULL,
	 "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"},
	{"Service", "spec/type='NodePort'; " PORTS "0/nodePort=30080", NULL, ""},
	{"Service", PORTS "0/nodePort=30080",
	 "spec/type='NodePort'; " PORTS "0/nodePort=30080", ""},
	{"Service",
	 "spec/type='NodePort'; spec/ports=[{'name':'a','port':1,'nodePort':30080},{'name':"
	 "'b','port':2,'nodePort':30080}]",
	 NULL, "spec.ports[1].nodePort: Duplicate value: 30080"},
	{"Service", "spec/type='Magic'", NULL,
	 "spec.type: Unsupported value: \"Magic\": supported values: \"ClusterIP\", "
	 "\"ExternalName\", \"LoadBalancer\", \"NodePort\""},
	{"Service", "spec/type='LoadBalancer'; spec/clusterIP='None'", NULL,
	 "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for "
	 "LoadBalancer services"},
	{"Service", "spec/type='ExternalName'; spec/externalName='db.example.com.'", NULL,
	 ""},
	{"Service", "spec/type='ExternalName'", NULL,
	 "spec.externalName: Required value"},
	{"Service",
	 "spec/type='ExternalName'; spec/externalName='a'; spec/clusterIPs=['10.0.0.1']",
	 NULL,
	 "spec.clusterIPs: Forbidden: may not be set when `type` is 'ExternalName'"},
	{"Service",
	 "spec/type='ExternalName'; spec/externalName='a'; spec/clusterIP='10.0.0.1'; "
	 "spec/clusterIPs=['10.0.0.1']; spec/ipFamilies=['IPv4']; "
	 "spec/ipFamilyPolicy='SingleStack'",
	 "spec/clusterIP='10.0.0.1'", ""},
	{"Service", "spec/loadBalancerClass='a/b'", NULL,
	 "spec.loadBalancerClass: Forbidden: may only be used when `type` is "
	 "'LoadBalancer'"},
	{"Service", "spec/externalTrafficPolicy='Local'", NULL,
	 "spec.externalTrafficPolicy: Invalid value: \"Local\": may only be set for "
	 "externally-accessible services"},
	{"Service", "spec/clusterIP='10.0.0.1'", NULL, ""},
	{"Service", "spec/clusterIP='10.0.0'", NULL,
	 "spec.clusterIPs[0]: Invalid value: \"10.0.0\": must be a valid IP address, (e.g. "
	 "10.9.8.7 or 2001:db8::ffff)"},
	{"Service", "spec/clusterIP='10.0.0.1'; spec/clusterIPs=['10.0.0.2']", NULL,
	 "spec.clusterIPs: Invalid value: [\"10.0.0.2\"]: first value must match "
	 "`clusterIP`"},
	{"Service", "spec/clusterIP='10.0.0.2'", "spec/clusterIP='10.0.0.1'",
	 "spec.clusterIPs[0]: Invalid value: [\"10.0.0.2\"]: may not change once set"},
	{"Service", "", "spec/clusterIP='None'",
	 "spec.clusterIPs[0]: Invalid value: null: primary clusterIP can not be unset"},
	{"Service", "spec/clusterIP='10.0.0.1'", "", ""},
	{"Service", "spec/externalIPs=['a']", NULL,
	 "spec.externalIPs[0]: Invalid value: \"a\": must be a valid IP address, (e.g. "
	 "10.9.8.7 or 2001:db8::ffff)"},
	{"Service", "spec/selector/app='a b'", NULL,
	 "spec.selector: Invalid value: \"a b\": a valid label must be an empty string or "
	 "consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
	 "an alphanumeric character"},
	{"Service", "spec/sessionAffinity='ClientIP'", NULL, ""},
	{"Service",
	 "spec/sessionAffinity='ClientIP'; "
	 "spec/sessionAffinityConfig={'clientIP':{'timeoutSeconds':86401}}",
	 NULL,
	 "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must "
	 "be greater than 0 and less than 86400"},
};

#define STORAGE "spec/resources/requests/storage="
#define KEPT                                                                             \
	"spec: Forbidden: spec is immutable after creation except resources.requests "   \
	"and volumeAttributesClassName for bound claims"

static const struct rules_row storage[] = {
	{"PersistentVolume", "", NULL, ""},
	{"PersistentVolume", "spec/claimRef={'name':'data-0'}", "", ""},
	{"PersistentVolume", "spec/capacity-", NULL, "spec.capacity: Required value"},
	{"PersistentVolume", "spec/capacity/disk=1", NULL,
	 "spec.capacity: Unsupported value: {\"storage\":\"10Gi\",\"disk\":1}: supported "
	 "values: \"storage\""},
	{"PersistentVolume", "spec/capacity/storage=0", NULL,
	 "spec.capacity[storage]: Invalid value: 0: must be greater than zero"},
	{"PersistentVolume", "spec/accessModes=[]", NULL,
	 "spec.accessModes: Required value"},
	{"PersistentVolume", "spec/accessModes/1='ReadWriteOncePod'", NULL,
	 "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access "
	 "modes"},
	{"PersistentVolume", "spec/local-", NULL,
	 "spec: Required value: must specify a volume type"},
	{"PersistentVolume", "spec/hostPath={'path':'/a'}", NULL,
	 "spec.hostPath: Forbidden: may not specify more than 1 volume type"},
	{"PersistentVolume", "spec/local/path=''", NULL,
	 "spec.local.path: Required value"},
	{"PersistentVolume", "spec/nodeAffinity-", NULL,
	 "spec.nodeAffinity: Required value: Local volume requires node affinity"},
	{"PersistentVolume", "spec/nodeAffinity={}", NULL,
	 "spec.nodeAffinity.required: Required value: must specify required node "
	 "constraints"},
	{"PersistentVolume", "spec/local/path='/mnt/disk2'", "",
	 "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable "
	 "after creation\nspec.local has changed"},
	{"PersistentVolume", "spec/volumeMode='Block'", "",
	 "spec.volumeMode: Invalid value: \"Block\": field is immutable"},
	{"PersistentVolumeClaim", "", NULL, ""},
	{"PersistentVolumeClaim", "", "", ""},
	{"PersistentVolumeClaim", "spec/accessModes=[]", NULL,
	 "spec.accessModes: Required value: at least 1 access mode is required"},
	{"PersistentVolumeClaim", "spec/resources/requests/storage-", NULL,
	 "spec.resources[storage]: Required value"},
	{"PersistentVolumeClaim", STORAGE "'0'", NULL,
	 "spec.resources[storage]: Invalid value: \"0\": must be greater than zero"},
	{"PersistentVolumeClaim", "spec/storageClassName=''", NULL, ""},
	{"PersistentVolumeClaim", "spec/selector/matchLabels={'a b':'c'}", NULL,
	 "spec.selector.matchLabels: Invalid value: \"a b\": " NAME_PART},
	{"PersistentVolumeClaim", STORAGE "'6Gi'", "", ""},
	{"PersistentVolumeClaim", STORAGE "'4Gi'", "",
	 "spec.resources.requests.storage: Forbidden: field can not be less than "
	 "status.capacity"},
	{"PersistentVolumeClaim", STORAGE "'6Gi'", "status/phase='Pending'", KEPT},
	{"PersistentVolumeClaim", "spec/volumeName='pv-1'", "", ""},
	{"PersistentVolumeClaim", "spec/volumeName='pv-2'", "spec/volumeName='pv-1'",
	 KEPT},
	{"PersistentVolumeClaim", "spec/storageClassName='slow'", "", KEPT},
	{"PersistentVolumeClaim", "", "spec/storageClassName-", ""},
	{"PersistentVolumeClaim", "spec/accessModes/1-", "", KEPT},
	{"StorageClass", "", NULL, ""},
	{"StorageClass", "provisioner=''", NULL, "provisioner: Required value"},
	{"StorageClass", "provisioner='a b'", NULL,
	 "provisioner: Invalid value: \"a b\": " NAME_PART},
	{"StorageClass", "allowVolumeExpansion=true", "", ""},
	{"StorageClass", "parameters/type='gp2'; reclaimPolicy='Retain'; provisioner='a'",
	 "",
	 "parameters: Forbidden: updates to parameters are forbidden.\n"
	 "provisioner: Forbidden: updates to provisioner are forbidden.\n"
	 "reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden."},
	{"StorageClass", "volumeBindingMode='WaitForFirstConsumer'", "",
	 "volumeBindingMode: Invalid value: \"WaitForFirstConsumer\": field is immutable"},
};

#define TEMPLATE "spec/template/"
#define ROLLING  "spec/strategy/rollingUpdate/"
#define DAEMONS  "spec/updateStrategy/rollingUpdate/"
#define MISMATCH                                                                         \
	"spec.template.metadata.labels: Invalid value: {\"app\":\"db\"}: `selector` "    \
	"does not match template `labels`"

static const struct rules_row workloads[] = {
	{"Deployment", "", NULL, ""},
	{"Deployment", "spec/replicas=0; " TEMPLATE "spec/containers/0/image='b'", "",
	 ""},
	{"Deployment", "spec/replicas=-1", NULL,
	 "spec.replicas: Invalid value: -1: " NOT_NEGATIVE},
	{"Deployment", "spec/selector-", NULL, "spec.selector: Required value"},
	{"Deployment", "spec/selector={}", NULL,
	 "spec.selector: Invalid value: {}: empty selector is invalid for deployment"},
	{"Deployment", TEMPLATE "metadata/labels={'app':'db'}", NULL, MISMATCH},
	{"Deployment", TEMPLATE "metadata-", NULL,
	 "spec.template.metadata.labels: Invalid value: {}: `selector` does not match "
	 "template `labels`"},
	{"Deployment", TEMPLATE "metadata/labels/a~1='db'", NULL,
	 "spec.template.metadata.labels: Invalid value: \"a/\": name part must be "
	 "non-empty"},
	{"Deployment", "spec/selector/matchLabels/tier='front'", "",
	 "spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"web\",\"tier\":"
	 "\"front\"}}: field is immutable"},
	{"Deployment", TEMPLATE "spec/restartPolicy='Never'", NULL,
	 "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported "
	 "values: \"Always\""},
	{"Deployment", TEMPLATE "spec/activeDeadlineSeconds=9", NULL,
	 "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in "
	 "ReplicaSet is not Supported"},
	{"Deployment", "@name='a'; @image=' a '; @ports/0/containerPort=-1", NULL,
	 "spec.template.spec.containers[0].ports[0].containerPort: Invalid value: -1: must "
	 "be between 1 and 65535, inclusive"},
	{"Deployment", TEMPLATE "spec/hostNetwork=true", NULL, ""},
	{"Deployment", TEMPLATE "spec/ephemeralContainers=[{'name':'a','image':'b'}]",
	 NULL,
	 "spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not "
	 "allowed in pod template"},
	{"Deployment", "spec/strategy={'type':'Recreate'}", NULL, ""},
	{"Deployment", "spec/strategy/type='Recreate'", NULL,
	 "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy "
	 "`type` is 'Recreate'"},
	{"Deployment", ROLLING "maxSurge='0%'", NULL,
	 "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when "
	 "`maxSurge` is 0"},
	{"Deployment", ROLLING "maxSurge='a%'", NULL,
	 "spec.strategy.rollingUpdate.maxSurge: Invalid value: \"a%\": " PERCENT},
	{"Deployment", ROLLING "maxUnavailable='101%'", NULL,
	 "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"101%\": must not be "
	 "greater than 100%"},
	{"Deployment", ROLLING "maxUnavailable='0100%'; " ROLLING "maxSurge='200%'", NULL,
	 ""},
	{"Deployment", ROLLING "maxUnavailable=-1", NULL,
	 "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: -1: " NOT_NEGATIVE},
	{"Deployment", "spec/minReadySeconds=600", NULL,
	 "spec.progressDeadlineSeconds: Invalid value: 600: must be greater than "
	 "minReadySeconds"},
	{"ReplicaSet", "", NULL, ""},
	{"ReplicaSet", "", "", ""},
	{"ReplicaSet", "spec/replicas=-1; spec/minReadySeconds=-2", NULL,
	 "spec.replicas: Invalid value: -1: " NOT_NEGATIVE
	 "\nspec.minReadySeconds: Invalid value: -2: " NOT_NEGATIVE},
	{"ReplicaSet", TEMPLATE "metadata/labels={'app':'db'}", NULL, MISMATCH},
	{"ReplicaSet", "spec/template-", NULL, "spec.template: Required value"},
	{"ReplicaSet", "spec/selector/matchLabels={'tier':'front'}", "",
	 "spec.selector: Invalid value: {\"matchLabels\":{\"tier\":\"front\"}}: field is "
	 "immutable"},
	{"ReplicationController", "", NULL, ""},
	{"ReplicationController", "spec/selector-; " TEMPLATE "metadata-", NULL,
	 "spec.selector: Required value"},
	{"ReplicationController", TEMPLATE "metadata/labels={'app':'db'}", NULL,
	 MISMATCH},
	{"ReplicationController", "spec/selector={'tier':'front'}", "", ""},
	{"StatefulSet", "", NULL, ""},
	{"StatefulSet",
	 "spec/volumeClaimTemplates=[{'metadata':{'name':'d'},'spec':{'accessModes':['ReadWriteOnce'],"
	 "'resources':{'requests':{'storage':'1Gi'}}}}]; "
	 "spec/template/spec/containers/0/volumeMounts=[{'name':'d','mountPath':'/d'}]",
	 NULL, ""},
	{"StatefulSet",
	 "spec/template/spec/containers/0/volumeMounts=[{'name':'e','mountPath':'/d'}]",
	 NULL, "spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"e\""},
	{"StatefulSet", "spec/replicas=5; @image='b'; spec/minReadySeconds=1", "", ""},
	{"StatefulSet", "spec/serviceName='b'", "",
	 "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', "
	 "'ordinals', 'template', 'updateStrategy', "
	 "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"},
	{"StatefulSet", DAEMONS "partition=-1", NULL,
	 "spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: " NOT_NEGATIVE},
	{"StatefulSet", "spec/updateStrategy/type='OnDelete'", NULL,
	 "spec.updateStrategy.rollingUpdate: Invalid value: {\"partition\":1}: only "
	 "allowed for updateStrategy 'RollingUpdate'"},
	{"StatefulSet", "spec/ordinals={'start':-1}", NULL,
	 "spec.ordinals.start: Invalid value: -1: " NOT_NEGATIVE},
	{"StatefulSet", "spec/selector={}", NULL,
	 "spec.selector: Invalid value: {}: empty selector is invalid for statefulset"},
	{"DaemonSet", "", NULL, ""},
	{"DaemonSet", "", "", ""},
	{"DaemonSet", "spec/selector={}", NULL,
	 "spec.selector: Invalid value: {}: empty selector is invalid for daemonset"},
	{"DaemonSet", DAEMONS "maxSurge=1", NULL,
	 "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set "
	 "when maxUnavailable is non-zero"},
	{"DaemonSet", DAEMONS "maxUnavailable=0", NULL,
	 "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 "
	 "when maxSurge is 0"},
	{"DaemonSet", "spec/selector/matchLabels={'tier':'front'}", "",
	 "spec.selector: Invalid value: {\"matchLabels\":{\"tier\":\"front\"}}: field is "
	 "immutable"},
	{"Job", "", NULL, ""},
	{"Job", "spec/parallelism=2; spec/suspend=true; spec/backoffLimit=1", "", ""},
	{"Job", "spec/completions-; spec/backoffLimit=-1", NULL,
	 "spec.backoffLimit: Invalid value: -1: " NOT_NEGATIVE
	 "\nspec.completions: Required value: when completion mode is Indexed"},
	{"Job", "spec/parallelism=100001", NULL,
	 "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 "
	 "when completion mode is Indexed"},
	{"Job", "metadata/uid='u-1'", NULL, ""},
	{"Job", "metadata/uid='u-1'", "", ""},
	{"Job", "metadata/uid='u-1'", "metadata/uid='u-1'", ""},
	{"Job", "metadata/uid='u-1'; spec/manualSelector=true", "metadata/uid='u-1'",
	 "spec.selector: Required value\n"
	 "spec.selector: Invalid value: null: field is immutable\n"
	 "spec.template: Invalid value*"},
	{"Job", TEMPLATE "metadata/labels/app='x'", "metadata/uid='u-1'",
	 "spec.selector: Invalid value: null: field is immutable\n"
	 "spec.template: Invalid value: {*"},
	{"Job", "spec/completionMode='NonIndexed'; spec/backoffLimitPerIndex=1", NULL,
	 "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"},
	{"Job", "spec/maxFailedIndexes=1", NULL,
	 "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified"},
	{"Job", "spec/maxFailedIndexes=1; spec/backoffLimitPerIndex=0", NULL, ""},
	{"Job", "spec/backoffLimitPerIndex=0; " TEMPLATE "spec/restartPolicy='OnFailure'",
	 NULL,
	 "spec.template.spec.restartPolicy: Invalid value: \"OnFailure\": must be Never when "
	 "backoffLimitPerIndex is specified"},
	{"Job",
	 "spec/podFailurePolicy={'rules':[{'action':'FailIndex','onExitCodes':{'operator':"
	 "'In','values':[1]}}]}",
	 NULL,
	 "spec.podFailurePolicy.rules[0].action: Invalid value: \"FailIndex\": requires the "
	 "backoffLimitPerIndex to be set"},
	{"Job", "spec/successPolicy={'rules':[{'succeededCount':8}]}", NULL, ""},
	{"Job", "spec/successPolicy={'rules':[]}", NULL,
	 "spec.successPolicy.rules: Required value: at least one rules must be specified when "
	 "the successPolicy is specified"},
	{"Job", "spec/successPolicy={'rules':[{'succeededCount':9},{}]}", NULL,
	 "spec.successPolicy.rules[0].succeededCount: Invalid value: 9: must be less than or "
	 "equal to 8 (the number of specified completions)\n"
	 "spec.successPolicy.rules[1]: Required value: at least one of succeededCount or "
	 "succeededIndexes must be specified"},
	{"Job", TEMPLATE "spec/restartPolicy='Always'", NULL,
	 "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", "
	 "\"Never\""},
	{"Job", "spec/manualSelector=true", NULL, "spec.selector: Required value"},
	{"Job", "spec/manualSelector=true; spec/selector={'matchLabels':{'app':'web'}}",
	 NULL, ""},
	{"Job", "spec/manualSelector=true; spec/selector={'matchLabels':{'app':'x'}}",
	 NULL,
	 "spec.template.metadata.labels: Invalid value: "
	 "{\"app\":\"web\",\"tier\":\"front\"}: `selector` does not match template "
	 "`labels`"},
	{"Job", "spec/completions=9; spec/parallelism=9", "", ""},
	{"Job", "spec/completions=9", "",
	 "spec.completions: Invalid value: 9: field is immutable"},
	{"Job", TEMPLATE "spec/nodeSelector={'a':'b'}; spec/suspend=true",
	 "spec/suspend=true", ""},
	{"Job", "@resources={}; spec/suspend=true", "spec/suspend=true",
	 "spec.template: Invalid value: {*"},
	{"Job", TEMPLATE "spec/nodeSelector={'a':'b'}; spec/suspend=true",
	 "spec/suspend=true; status/startTime='2026-01-02T03:04:05Z'",
	 "spec.template: Invalid value: {*"},
	{"Job", "spec/completionMode='NonIndexed'", "",
	 "spec.completionMode: Invalid value: \"NonIndexed\": field is immutable"},
};

static const struct rules_row others[] = {
	{"PodDisruptionBudget", "", NULL, ""},
	{"PodDisruptionBudget", "spec/minAvailable=2", "", ""},
	{"PodDisruptionBudget", "spec/maxUnavailable=1; spec/selector-", NULL,
	 "spec: Invalid value: {\"minAvailable\":\"50%\",\"maxUnavailable\":1}: "
	 "minAvailable and maxUnavailable cannot be both set"},
	{"PodDisruptionBudget", "spec/minAvailable='101%'", NULL,
	 "spec.minAvailable: Invalid value: \"101%\": must not be greater than 100%"},
	{"PodDisruptionBudget", "spec/minAvailable='half'", NULL,
	 "spec.minAvailable: Invalid value: \"half\": " PERCENT},
	{"PodDisruptionBudget", "spec/minAvailable=-1", NULL,
	 "spec.minAvailable: Invalid value: -1: " NOT_NEGATIVE},
	{"PodDisruptionBudget", "status/disruptionsAllowed=-1", "",
	 "status.disruptionsAllowed: Invalid value: -1: " NOT_NEGATIVE},
	{"PriorityClass", "", NULL, ""},
	{"PriorityClass", "value=1000000000", NULL, ""},
	{"PriorityClass", "value=1000000001", NULL,
	 "value: Forbidden: maximum allowed value of a user defined priority is "
	 "1000000000"},
	{"PriorityClass", "value=-2147483648", NULL, ""},
	{"PriorityClass", "metadata/name='system-x'", NULL,
	 "metadata.name: Forbidden: priority class names with 'system-' prefix are "
	 "reserved for system use only. error: system-x is not a known system priority "
	 "class"},
	{"PriorityClass", "metadata/name='system-node-critical'; value=2000001000", NULL,
	 ""},
	{"PriorityClass", "metadata/name='system-node-critical'", NULL,
	 "metadata.name: Forbidden: priority class names with 'system-' prefix are "
	 "reserved for system use only. error: value of system-node-critical PriorityClass "
	 "must be 2000001000"},
	{"PriorityClass", "description='a'; globalDefault=true", "", ""},
	{"PriorityClass", "value=5501; preemptionPolicy='Never'", "",
	 "value: Forbidden: may not be changed in an update.\n"
	 "preemptionPolicy: Invalid value: \"Never\": field is immutable"},
	{"Lease", "", NULL, ""},
	{"Lease", "spec/holderIdentity=''", "", ""},
	{"Lease", "spec/leaseDurationSeconds=0; spec/leaseTransitions=-1", NULL,
	 "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0\n"
	 "spec.leaseTransitions: Invalid value: -1: " NOT_NEGATIVE},
	{"Lease", "spec/preferredHolder='b'", NULL,
	 "spec.preferredHolder: Forbidden: may only be specified when `strategy` is "
	 "defined"},
	{"CustomResourceDefinition", "", NULL, ""},
	{"CustomResourceDefinition", "spec/names/shortNames=['wd']", "", ""},
	{"CustomResourceDefinition", "spec/versions/0/schema/openAPIV3Schema/type-", NULL,
	 "spec.versions[0].schema.openAPIV3Schema.type: Required value: must not be empty at the root"},
	{"CustomResourceDefinition", "spec/group='example.org'", "",
	 "metadata.name: Invalid value: \"widgets.example.com\": must be spec.names.plural+\".\"+spec.group\n"
	 "spec.group: Invalid value: \"example.org\": field is immutable"},
	{"CustomResourceDefinition", "spec/scope='Cluster'; spec/names/kind='Gadget'", "",
	 ""},
	{"CustomResourceDefinition", "spec/scope='Cluster'; spec/names/kind='Gadget'",
	 "status/conditions=[{'type':'Established','status':'False'}]", ""},
	{"CustomResourceDefinition", "spec/scope='Cluster'; spec/names/kind='Gadget'",
	 "status/conditions=[{'type':'Other','status':'False'},{'type':'Established',"
	 "'status':'True'}]",
	 "spec.scope: Invalid value: \"Cluster\": field is immutable\n"
	 "spec.names.kind: Invalid value: \"Gadget\": field is immutable"},
	{"CustomResourceDefinition", "status/storedVersions=['v1','v0']", "",
	 "status.storedVersions[1]: Invalid value: \"v0\": must appear in spec.versions"},
	{"CustomResourceDefinition", "spec-", NULL, "spec: Required value"},
};

static void test_core(void **state)
{
	(void)state;
	rules_rows(core, NEAP_ARRAY_LEN(core));
}

static void test_services(void **state)
{
	(void)state;
	rules_rows(services, NEAP_ARRAY_LEN(services));
}

static void test_storage(void **state)
{
	(void)state;
	rules_rows(storage, NEAP_ARRAY_LEN(storage));
}

static void test_workloads(void **state)
{
	(void)state;
	rules_rows(workloads, NEAP_ARRAY_LEN(workloads));
}

static void test_others(void **state)
{
	(void)state;
	rules_rows(others, NEAP_ARRAY_LEN(others));
}

static void test_short(void **state)
{
	(void)state;
	rules_rows_short(core, NEAP_ARRAY_LEN(core));
	rules_rows_short(services, NEAP_ARRAY_LEN(services));
	rules_rows_short(storage, NEAP_ARRAY_LEN(storage));
	rules_rows_short(workloads, NEAP_ARRAY_LEN(workloads));
	rules_rows_short(others, NEAP_ARRAY_LEN(others));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_core),    cmocka_unit_test(test_services),
		cmocka_unit_test(test_storage), cmocka_unit_test(test_workloads),
		cmocka_unit_test(test_others),  cmocka_unit_test(test_short),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
