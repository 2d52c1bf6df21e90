/* SPDX-License-Identifier: Apache-2.0
 *
 * The kinds of doc/deploy/crds: what rows they are, and objects of theirs, right and
 * wrong. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/crd_rig.h"

#define FOLDER "doc/deploy/crds"

/* --- the files --- */

static struct file {
	const char *name, *want;
	struct neap_kube_kind *kind;
} files[] = {
	{"config.koordinator.sh_clustercolocationprofiles.yaml",
	 "ClusterColocationProfile ClusterColocationProfileList "
	 "clustercolocationprofiles.config.koordinator.sh clustercolocationprofile cluster "
	 "versions,v1alpha1 status" NAME_AGE,
	 NULL},
	{"scheduling.koordinator.sh_devices.yaml",
	 "Device DeviceList devices.scheduling.koordinator.sh device cluster "
	 "versions,v1alpha1" NAME_AGE,
	 NULL},
	{"scheduling.koordinator.sh_podmigrationjobs.yaml",
	 "PodMigrationJob PodMigrationJobList podmigrationjobs.scheduling.koordinator.sh "
	 "podmigrationjob cluster versions,v1alpha1 short,pmj status | Name string/name "
	 ".metadata.name | Phase string .status.phase | Status string .status.status | Age date "
	 ".metadata.creationTimestamp | Node string .status.nodeName | Reservation string "
	 ".spec.reservationOptions.reservationRef.name | PodNamespace string "
	 ".spec.podRef.namespace | Pod string .spec.podRef.name | NewPod string "
	 ".status.podRef.name | TTL string .spec.ttl",
	 NULL},
	{"scheduling.koordinator.sh_reservations.yaml",
	 "Reservation ReservationList reservations.scheduling.koordinator.sh reservation cluster "
	 "versions,v1alpha1 status | Name string/name .metadata.name | Phase string .status.phase "
	 "| Age date .metadata.creationTimestamp | Node string .status.nodeName | TTL string "
	 ".spec.ttl | Expires string .spec.expires",
	 NULL},
	{"scheduling.sigs.k8s.io_elasticquotas.yaml",
	 "ElasticQuota ElasticQuotaList elasticquotas.scheduling.sigs.k8s.io elasticquota "
	 "namespaced versions,v1alpha1 short,eq,eqs" NAME_AGE,
	 NULL},
	{"scheduling.sigs.k8s.io_podgroups.yaml",
	 "PodGroup PodGroupList podgroups.scheduling.sigs.k8s.io podgroup namespaced "
	 "versions,v1alpha1 short,pg,pgs" NAME_AGE,
	 NULL},
	{"slo.koordinator.sh_nodemetrics.yaml",
	 "NodeMetric NodeMetricList nodemetrics.slo.koordinator.sh nodemetric cluster "
	 "versions,v1alpha1 status" NAME_AGE,
	 NULL},
	{"slo.koordinator.sh_nodeslos.yaml",
	 "NodeSLO NodeSLOList nodeslos.slo.koordinator.sh nodeslo cluster versions,v1alpha1 "
	 "status" NAME_AGE,
	 NULL},
	{"topology.node.k8s.io_noderesourcetopologies.yaml",
	 "NodeResourceTopology NodeResourceTopologyList "
	 "noderesourcetopologies.topology.node.k8s.io noderesourcetopology cluster "
	 "versions,v1alpha1 short,node-res-topo" NAME_AGE,
	 NULL},
};

static void read_text(const char *path, struct neap_buf *buf)
{
	FILE *file = fopen(path, "re");
	char part[4096];
	size_t n;

	if (file == NULL)
		fail_msg("%s: not there", path);
	for (n = fread(part, 1, sizeof(part), file); n > 0;
	     n = fread(part, 1, sizeof(part), file))
		neap_buf_add(buf, part, n);
	fclose(file);
}

/* Reads the files; runs first. */
static void test_files(void **state)
{
	struct dirent *entry;
	size_t i, count = 0;
	DIR *dir;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(files); i++) {
		neap_auto_buf struct neap_buf text = {0}, got = {0};
		struct neap_error err = {0};
		json_t *definition;
		char path[256];

		neap_buf_init(&text, NEAP_BUF_FILE);
		neap_buf_init(&got, NEAP_BUF_LINE);
		snprintf(path, sizeof(path), FOLDER "/%s", files[i].name);
		read_text(path, &text);
		definition = crd_yaml(text.data, path);
		if (crd_parse(definition, &files[i].kind, &err) < 0)
			fail_msg("%s: %s: %s", path, err.msg, crd_causes_text());
		json_decref(definition);
		crd_add_row(&got, files[i].kind);
		if (strcmp(got.data, files[i].want) != 0)
			fail_msg("%s: %s", path, got.data);
	}
	dir = opendir(FOLDER);
	assert_non_null(dir);
	for (entry = readdir(dir); entry != NULL; entry = readdir(dir))
		count += *entry->d_name != '.';
	closedir(dir);
	assert_int_equal(count, NEAP_ARRAY_LEN(files));
}

/* Every field says what it is, down to the last. */
static void check_docs(const struct neap_schema *schema, const char *path, size_t *count)
{
	char below[1024];
	size_t i;

	if (schema->items != NULL) {
		snprintf(below, sizeof(below), "%s[]", path);
		check_docs(schema->items, below, count);
	}
	for (i = 0; i < schema->field_count; i++) {
		const struct neap_schema_field *field = &schema->fields[i];
		const char *doc = field->doc != NULL ? field->doc : field->schema->doc;

		if (*path == '\0' && strcmp(field->name, "metadata") == 0)
			continue;
		snprintf(below, sizeof(below), "%s.%s", path, field->name);
		if (doc == NULL || strlen(doc) < 5 || doc[strlen(doc) - 1] != '.')
			fail_msg("%s: %s", below, doc != NULL ? doc : "no words");
		++*count;
		check_docs(field->schema, below, count);
	}
}

static void test_docs(void **state)
{
	size_t i, count = 0;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(files); i++)
		check_docs(files[i].kind->schema, "", &count);
	assert_true(count > 400);
}

/* --- objects --- */

struct object {
	const char *name, *yaml;
	/* "" or causes, each as "field reason", with " | " between them. */
	const char *causes;
	const char *unknown; /* paths that were taken out, with blanks between them */
	const char *dump;    /* what it became; NULL: not looked at */
};

#define RESERVATION(spec)                                                                \
	"apiVersion: scheduling.koordinator.sh/v1alpha1\nkind: Reservation\nmetadata: "  \
	"{name: r}\nspec: " spec "\n"
#define JOB(spec)                                                                        \
	"apiVersion: scheduling.koordinator.sh/v1alpha1\nkind: PodMigrationJob\n"        \
	"metadata: {name: j}\nspec: " spec "\n"
#define OWNERS "owners: [{labelSelector: {matchLabels: {app: web}}}]"

static const struct object objects[] = {
	{"a reservation for a workload",
	 "apiVersion: scheduling.koordinator.sh/v1alpha1\n"
	 "kind: Reservation\n"
	 "metadata:\n"
	 "  name: reservation-demo\n"
	 "  labels: {scheduling.koordinator.sh/reservation-order: '100'}\n"
	 "spec:\n"
	 "  template:\n"
	 "    metadata: {namespace: default}\n"
	 "    spec:\n"
	 "      containers:\n"
	 "      - name: stress\n"
	 "        image: stress:1\n"
	 "        args: ['-c', '1']\n"
	 "        command: [stress]\n"
	 "        resources:\n"
	 "          limits: {cpu: 500m, memory: 800Mi}\n"
	 "          requests: {cpu: 500m, memory: 800Mi}\n"
	 "      schedulerName: koord-scheduler\n"
	 "      anything: {that: [pods, have]}\n"
	 "  owners:\n"
	 "  - object: {name: pod-demo-0, namespace: default}\n"
	 "  - controller: {apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: u, "
	 "namespace: default, controller: true}\n"
	 "  - labelSelector:\n"
	 "      matchLabels: {app: web}\n"
	 "      matchExpressions: [{key: tier, operator: In, values: [front]}]\n"
	 "  ttl: 1h\n"
	 "  expires: '2026-12-31T23:59:59Z'\n"
	 "  allocateOnce: false\n"
	 "  allocatePolicy: Restricted\n"
	 "  preAllocation: true\n"
	 "  preAllocationPolicy: {mode: Waiting}\n"
	 "  unschedulable: false\n"
	 "  taints: [{key: a, value: b, effect: NoSchedule}]\n"
	 "status:\n"
	 "  phase: Available\n"
	 "  nodeName: node-0\n"
	 "  allocatable: {cpu: 500m, memory: 800Mi, pods: 1}\n"
	 "  allocated: {cpu: '0.2'}\n"
	 "  conditions:\n"
	 "  - {type: Ready, status: 'True', reason: Available, message: '', lastProbeTime: "
	 "'2026-11-20T23:19:38Z', lastTransitionTime: '2026-11-20T23:19:38Z'}\n"
	 "  currentOwners: [{namespace: default, name: pod-demo-0, uid: u}]\n",
	 "", "", NULL},
	{"defaults of a reservation", RESERVATION("{template: {}, " OWNERS "}"), "", "",
	 "{\"allocateOnce\":true,\"owners\":[{\"labelSelector\":{\"matchLabels\":{\"app\":"
	 "\"web\"}}}],\"template\":{},\"ttl\":\"24h\"}"},
	{"defaults inside",
	 RESERVATION("{template: {}, " OWNERS ", ttl: '0', preAllocationPolicy: {}}"), "",
	 "",
	 "{\"allocateOnce\":true,\"owners\":[{\"labelSelector\":{\"matchLabels\":{\"app\":"
	 "\"web\"}}}],\"preAllocationPolicy\":{\"enableMultiple\":false,\"mode\":\"Default\"},"
	 "\"template\":{},\"ttl\":\"0\"}"},
	{"all pods", RESERVATION("{template: {}, owners: [{labelSelector: {}}]}"), "", "",
	 NULL},
	{"durations", RESERVATION("{template: {}, " OWNERS ", ttl: 1h30m0.5s}"), "", "",
	 NULL},
	{"... as Go reads them",
	 RESERVATION("{template: {}, " OWNERS ", ttl: +1.h2\316\274s300ns}"), "", "",
	 NULL},
	{"a duration in days, which Go does not read",
	 RESERVATION("{template: {}, " OWNERS ", ttl: 1d}"), "spec.ttl FieldValueInvalid",
	 "", NULL},
	{"a duration that is too long",
	 RESERVATION("{template: {}, " OWNERS ", ttl: 2562048h}"),
	 "spec.ttl FieldValueInvalid", "", NULL},
	{"unknown fields",
	 RESERVATION(
		 "{template: {spec: {frob: 1}}, frob: 1, owners: [{object: {nam: x}}]}"),
	 "", "spec.frob spec.owners[0].object.nam", NULL},
	{"neither owners nor template", RESERVATION("{ttl: 1h}"),
	 "spec.owners FieldValueRequired | spec.template FieldValueRequired", "", NULL},
	{"no owner", RESERVATION("{template: {}, owners: []}"),
	 "spec.owners FieldValueInvalid", "", NULL},
	{"an owner without a field", RESERVATION("{template: {}, owners: [{}]}"),
	 "spec.owners[0] FieldValueInvalid", "", NULL},
	{"policy", RESERVATION("{template: {}, " OWNERS ", allocatePolicy: Loose}"),
	 "spec.allocatePolicy FieldValueNotSupported", "", NULL},
	{"mode",
	 RESERVATION("{template: {}, " OWNERS ", preAllocationPolicy: {mode: All}}"),
	 "spec.preAllocationPolicy.mode FieldValueNotSupported", "", NULL},
	{"times", RESERVATION("{template: {}, " OWNERS ", ttl: 1 day, expires: soon}"),
	 "spec.expires FieldValueInvalid | spec.ttl FieldValueInvalid", "", NULL},
	{"a time before it began", RESERVATION("{template: {}, " OWNERS ", ttl: -1h}"),
	 "spec.ttl FieldValueInvalid", "", NULL},
	{"types",
	 RESERVATION(
		 "{template: [], owners: [{object: x}], allocateOnce: 'yes', ttl: 3600}"),
	 "spec.allocateOnce FieldValueTypeInvalid | spec.owners[0].object FieldValueTypeInvalid | "
	 "spec.template FieldValueTypeInvalid | spec.ttl FieldValueTypeInvalid",
	 "", NULL},
	{"a template that nobody can read",
	 RESERVATION(
		 "{template: {metadata: {labels: {a: 1}, namespace: 2}, spec: {nodeName: 3, "
		 "containers: [{resources: {requests: {cpu: lots, memory: -1Gi}, "
		 "limits: {cpu: 0.5, pods: -1.5}}}, x], "
		 "priority: high, tolerations: {}}}, " OWNERS "}"),
	 "spec.template.metadata.labels[a] FieldValueTypeInvalid | "
	 "spec.template.metadata.namespace FieldValueTypeInvalid | "
	 "spec.template.spec.containers[0].resources.limits[pods] FieldValueInvalid | "
	 "spec.template.spec.containers[0].resources.requests[cpu] FieldValueInvalid | "
	 "spec.template.spec.containers[0].resources.requests[memory] FieldValueInvalid | "
	 "spec.template.spec.containers[1] FieldValueTypeInvalid | "
	 "spec.template.spec.nodeName FieldValueTypeInvalid | "
	 "spec.template.spec.priority FieldValueTypeInvalid | "
	 "spec.template.spec.tolerations FieldValueTypeInvalid",
	 "", NULL},
	{"a template with more than is read",
	 RESERVATION(
		 "{template: {namespace: default, spec: {containers: [{name: c, image: i, "
		 "resources: {requests: {cpu: '0.5', memory: 1Gi, example.com/x: 1}, claims: "
		 "[]}}], hostNetwork: true}}, " OWNERS "}"),
	 "", "", NULL},
	{"a taint without effect",
	 RESERVATION("{template: {}, " OWNERS ", taints: [{key: a}]}"),
	 "spec.taints[0].effect FieldValueRequired", "", NULL},
	{"a controller without uid",
	 RESERVATION(
		 "{template: {}, owners: [{controller: {apiVersion: apps/v1, kind: ReplicaSet, "
		 "name: a}}]}"),
	 "spec.owners[0].controller.uid FieldValueRequired", "", NULL},
	{"a quantity",
	 RESERVATION("{template: {}, " OWNERS
		     "}\nstatus: {allocatable: {cpu: lots, memory: 1.5Gi, "
		     "pods: [], gpu: -1e3}}"),
	 "status.allocatable[cpu] FieldValueInvalid | status.allocatable[pods] FieldValueTypeInvalid",
	 "", NULL},

	{"a job",
	 "apiVersion: scheduling.koordinator.sh/v1alpha1\n"
	 "kind: PodMigrationJob\n"
	 "metadata: {name: migrationjob-demo}\n"
	 "spec:\n"
	 "  paused: false\n"
	 "  ttl: 5m\n"
	 "  mode: ReservationFirst\n"
	 "  podRef: {apiVersion: v1, kind: Pod, namespace: default, name: pod-demo-0, uid: u}\n"
	 "  reservationOptions:\n"
	 "    reservationRef: {name: r}\n"
	 "    template: {spec: {owners: [], template: {spec: {containers: []}}, ttl: 3m}}\n"
	 "    preemptionOptions: {}\n"
	 "  deleteOptions: {gracePeriodSeconds: 60, propagationPolicy: Background, "
	 "preconditions: {uid: u}}\n"
	 "status:\n"
	 "  phase: Running\n"
	 "  status: ReservationScheduled\n"
	 "  reason: Scheduled\n"
	 "  nodeName: node-1\n"
	 "  podRef: {namespace: default, name: pod-demo-1}\n"
	 "  preemptedPodsReservation: [{name: p, podsRef: [{name: q}], preemptedPodRef: {name: "
	 "s}}]\n"
	 "  conditions:\n"
	 "  - {type: ReservationCreated, status: 'True', lastProbeTime: null, "
	 "lastTransitionTime: '2026-11-20T23:19:38Z'}\n",
	 "", "", NULL},
	{"no pod", JOB("{mode: EvictDirectly}"), "spec.podRef FieldValueRequired", "",
	 NULL},
	{"any mode", JOB("{podRef: {name: a, namespace: b}, mode: Whatever}"), "", "",
	 NULL},
	{"wrong types of a job",
	 JOB("{podRef: a/b, paused: 1, ttl: -5m, deleteOptions: {gracePeriodSeconds: 1.5}}"),
	 "spec.deleteOptions.gracePeriodSeconds FieldValueTypeInvalid | spec.paused "
	 "FieldValueTypeInvalid | spec.podRef FieldValueTypeInvalid | spec.ttl FieldValueInvalid",
	 "", NULL},
	{"a condition without type",
	 JOB("{podRef: {}}\nstatus: {conditions: [{status: 'True', lastProbeTime: never}]}"),
	 "status.conditions[0].lastProbeTime FieldValueInvalid | status.conditions[0].type "
	 "FieldValueRequired",
	 "", NULL},

	{"a device",
	 "kind: Device\nmetadata: {name: node-0}\n"
	 "spec:\n  devices:\n"
	 "  - {type: gpu, id: GPU-1, minor: 0, moduleID: 3, health: true, labels: {a: b}, "
	 "resources: {koordinator.sh/gpu-core: '100', koordinator.sh/gpu-memory: 80Gi, "
	 "koordinator.sh/gpu-memory-ratio: 100}, topology: {socketID: 0, nodeID: -1, pcieID: p0, "
	 "busID: '0000:3b:00.0'}}\n"
	 "  - {type: rdma, minor: 0, vfGroups: [{labels: {t: f}, vfs: [{minor: 1, busID: b}]}]}\n"
	 "status: {allocations: [{type: gpu, entries: [{name: a, namespace: b, uuid: c, minors: "
	 "[0, 1]}]}]}\n",
	 "", "", NULL},
	{"a wrong device",
	 "kind: Device\nmetadata: {name: x}\nspec: {devices: [{minor: 3000000000, topology: "
	 "{nodeID: 0}, vfGroups: [{vfs: [{}]}]}]}\n",
	 "spec.devices[0].minor FieldValueInvalid | spec.devices[0].topology.pcieID "
	 "FieldValueRequired | spec.devices[0].topology.socketID FieldValueRequired | "
	 "spec.devices[0].vfGroups[0].vfs[0].minor FieldValueRequired",
	 "", NULL},

	{"a node's figures",
	 "kind: NodeMetric\nmetadata: {name: node-0}\n"
	 "spec: {metricCollectPolicy: {aggregateDurationSeconds: 300, reportIntervalSeconds: 60, "
	 "nodeAggregatePolicy: {durations: [5m, 10m0s, 30m]}, nodeMemoryCollectPolicy: "
	 "usageWithoutPageCache}}\n"
	 "status:\n"
	 "  updateTime: '2026-11-20T23:19:38Z'\n"
	 "  nodeMetric:\n"
	 "    nodeUsage: {resources: {cpu: 1500m, memory: '2147483648'}}\n"
	 "    aggregatedNodeUsages: [{duration: 5m0s, usage: {avg: {resources: {cpu: 1}}, p99: "
	 "{resources: {cpu: '2'}, devices: [{type: gpu, health: true}]}}}]\n"
	 "    systemUsage: {resources: {cpu: 100m}}\n"
	 "  podsMetric: [{name: a, namespace: b, podUsage: {resources: {cpu: 1m}}, priority: "
	 "koord-batch, qos: BE, extensions: {x: {y: [1]}}}]\n"
	 "  hostApplicationMetric: [{name: nginx, usage: {resources: {cpu: 1}}, qos: LS}]\n"
	 "  prodReclaimableMetric: {resource: {resources: {cpu: 3}}}\n",
	 "", "", NULL},
	{"a wrong node metric",
	 "kind: NodeMetric\nmetadata: {name: x}\nspec: {metricCollectPolicy: "
	 "{nodeMemoryCollectPolicy: all, reportIntervalSeconds: '60', nodeAggregatePolicy: "
	 "{durations: [5]}}}\n",
	 "spec.metricCollectPolicy.nodeAggregatePolicy.durations[0] FieldValueTypeInvalid | "
	 "spec.metricCollectPolicy.nodeMemoryCollectPolicy FieldValueNotSupported | "
	 "spec.metricCollectPolicy.reportIntervalSeconds FieldValueTypeInvalid",
	 "", NULL},

	{"a node's strategies",
	 "kind: NodeSLO\nmetadata: {name: node-0}\n"
	 "spec:\n"
	 "  resourceUsedThresholdWithBE: {enable: true, cpuSuppressThresholdPercent: 65, "
	 "cpuSuppressPolicy: cfsQuota, memoryEvictThresholdPercent: 70, "
	 "memoryAllocatableEvictThresholdPercent: 110, allocatableEvictPriorityThreshold: 5999}\n"
	 "  resourceQOSStrategy:\n"
	 "    policies: {cpuPolicy: coreSched, netQOSPolicy: terway-qos}\n"
	 "    lsrClass: {cpuQOS: {enable: true, groupIdentity: 2, coreExpeller: true}}\n"
	 "    beClass:\n"
	 "      cpuQOS: {groupIdentity: -1, schedIdle: 1}\n"
	 "      memoryQOS: {wmarkMinAdj: 50, wmarkRatio: 95, oomKillGroup: 0}\n"
	 "      resctrlQOS: {catRangeStartPercent: 0, catRangeEndPercent: 30, mbaPercent: 100}\n"
	 "      blkioQOS: {blocks: [{name: /dev/sdb, type: device, ioCfg: {readIOPS: 0, "
	 "ioWeightPercent: 60}}]}\n"
	 "      networkQOS: {ingressRequest: 10, ingressLimit: 50M}\n"
	 "  cpuBurstStrategy: {policy: auto, cfsQuotaBurstPeriodSeconds: -1}\n"
	 "  systemStrategy: {watermarkScaleFactor: 150, schedFeatures: {ID_ABSOLUTE_EXPEL: true}, "
	 "totalNetworkBandwidth: 10G}\n"
	 "  extensions: {mine: {a: 1}}\n"
	 "  hostApplications: [{name: nginx, qos: LS, cgroupPath: {base: CgroupRoot, relativePath: "
	 "nginx}, strategy: {}}]\n",
	 "", "", NULL},
	{"wrong strategies",
	 "kind: NodeSLO\nmetadata: {name: x}\nspec: {resourceUsedThresholdWithBE: "
	 "{cpuSuppressThresholdPercent: 101, cpuSuppressPolicy: none}, resourceQOSStrategy: "
	 "{systemClass: {cpuQOS: {groupIdentity: 3}}}, cpuBurstStrategy: {cfsQuotaBurstPercent: "
	 "99}, hostApplications: [{cgroupPath: {base: /}}]}\n",
	 "spec.cpuBurstStrategy.cfsQuotaBurstPercent FieldValueInvalid | "
	 "spec.hostApplications[0].cgroupPath.base FieldValueNotSupported | "
	 "spec.resourceQOSStrategy.systemClass.cpuQOS.groupIdentity FieldValueInvalid | "
	 "spec.resourceUsedThresholdWithBE.cpuSuppressPolicy FieldValueNotSupported | "
	 "spec.resourceUsedThresholdWithBE.cpuSuppressThresholdPercent FieldValueInvalid",
	 "", NULL},

	{"a profile",
	 "kind: ClusterColocationProfile\nmetadata: {name: colocation-profile-example}\n"
	 "spec:\n"
	 "  namespaceSelector: {matchLabels: {koordinator.sh/enable-colocation: 'true'}}\n"
	 "  selector: {matchLabels: {app: batch}, matchExpressions: [{key: a, operator: Exists}]}\n"
	 "  probability: 10%\n"
	 "  qosClass: BE\n"
	 "  priorityClassName: koord-batch\n"
	 "  koordinatorPriority: 1000\n"
	 "  schedulerName: koord-scheduler\n"
	 "  labels: {a: b}\n"
	 "  annotations: {a: b}\n"
	 "  labelKeysMapping: {a: c}\n"
	 "  annotationKeysMapping: {a: c}\n"
	 "  labelSuffixes: {a: -x}\n"
	 "  patch: {spec: {terminationGracePeriodSeconds: 30}}\n",
	 "", "", NULL},
	{"probability as a number",
	 "kind: ClusterColocationProfile\nmetadata: {name: p}\nspec: {probability: 10}\n",
	 "", "", NULL},
	{"a wrong profile",
	 "kind: ClusterColocationProfile\nmetadata: {name: p}\nspec: {qosClass: LX, probability: "
	 "true, selector: {matchExpressions: [{key: a}]}, labels: {a: 1}}\n",
	 "spec.labels[a] FieldValueTypeInvalid | spec.probability FieldValueTypeInvalid | "
	 "spec.qosClass FieldValueNotSupported | spec.selector.matchExpressions[0].operator "
	 "FieldValueRequired",
	 "", NULL},

	{"a quota",
	 "kind: ElasticQuota\nmetadata: {name: q, namespace: ns, labels: "
	 "{quota.scheduling.koordinator.sh/is-parent: 'true'}}\nspec: {min: {cpu: 10, memory: "
	 "20Gi}, max: {cpu: '40', memory: 40Gi}}\nstatus: {used: {cpu: 100m}}\n",
	 "", "", NULL},
	{"a wrong quota",
	 "kind: ElasticQuota\nmetadata: {name: q}\nspec: {min: {cpu: ten}, max: [cpu]}\n",
	 "spec.max FieldValueTypeInvalid | spec.min[cpu] FieldValueInvalid", "", NULL},
	{"a gang",
	 "kind: PodGroup\nmetadata: {name: g}\nspec: {minMember: 3, minResources: {cpu: 3}, "
	 "scheduleTimeoutSeconds: 100}\nstatus: {phase: Running, occupiedBy: a/b, scheduled: 3, "
	 "running: 3, scheduleStartTime: '2026-11-20T23:19:38Z'}\n",
	 "", "", NULL},
	{"a wrong gang",
	 "kind: PodGroup\nmetadata: {name: g}\nspec: {minMember: three, scheduleTimeoutSeconds: "
	 "1.5}\n",
	 "spec.minMember FieldValueTypeInvalid | spec.scheduleTimeoutSeconds "
	 "FieldValueTypeInvalid",
	 "", NULL},
	{"a topology",
	 "kind: NodeResourceTopology\nmetadata: {name: x, annotations: "
	 "{node.koordinator.sh/cpu-topology: '{}'}}\n"
	 "topologyPolicies: [SingleNUMANodePodLevel]\n"
	 "zones:\n"
	 "- {name: node-0, type: Node, parent: s, costs: [{name: node-1, value: 21}], attributes: "
	 "[{name: a, value: b}], resources: [{name: cpu, capacity: 4, allocatable: 3500m, "
	 "available: '3'}]}\n",
	 "", "", NULL},
	{"a wrong topology",
	 "kind: NodeResourceTopology\nmetadata: {name: x}\nzones: [{resources: [{name: cpu}]}]\n",
	 "topologyPolicies FieldValueRequired | zones[0].name FieldValueRequired | "
	 "zones[0].resources[0].allocatable FieldValueRequired | zones[0].resources[0].available "
	 "FieldValueRequired | zones[0].resources[0].capacity FieldValueRequired | zones[0].type "
	 "FieldValueRequired",
	 "", NULL},
};

static const struct neap_kube_kind *kind_named(const char *name)
{
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(files); i++)
		if (strcmp(files[i].kind->kind, name) == 0)
			return files[i].kind;
	fail_msg("no kind %s", name);
	return NULL;
}

static int by_field(const void *a, const void *b)
{
	const struct neap_cause *one = a, *other = b;

	return strcmp(one->field, other->field);
}

static void add_path(void *arg, const char *path)
{
	struct neap_buf *buf = arg;

	neap_buf_addf(buf, "%s%s", buf->len ? " " : "", path);
}

static void object_check(const struct object *row)
{
	neap_auto_buf struct neap_buf unknown = {0}, got = {0};
	json_t *object = crd_yaml(row->yaml, row->name);
	const struct neap_kube_kind *kind =
		kind_named(json_string_value(json_object_get(object, "kind")));
	size_t i;

	neap_buf_init(&unknown, NEAP_BUF_LINE);
	neap_buf_init(&got, NEAP_BUF_LINE);
	memset(&crd_causes, 0, sizeof(crd_causes));
	assert_true(neap_schema_prune(kind->schema, object, add_path, &unknown));
	assert_true(neap_schema_default(kind->schema, object));
	neap_schema_check(kind->schema, object, &crd_causes);
	qsort(crd_causes.list, crd_causes.count, sizeof(*crd_causes.list), by_field);
	for (i = 0; i < crd_causes.count; i++)
		neap_buf_addf(&got, "%s%s %s", i ? " | " : "", crd_causes.list[i].field,
			      crd_causes.list[i].reason);
	if (strcmp(got.data, row->causes) != 0)
		fail_msg("%s: %s\n%s", row->name, got.data, crd_causes_text());
	if (strcmp(unknown.data, row->unknown) != 0)
		fail_msg("%s: unknown: %s", row->name, unknown.data);
	if (row->dump != NULL) {
		neap_auto_free char *text = neap_json_dump(
			json_object_get(object, "spec"), JSON_COMPACT | JSON_SORT_KEYS);

		if (text == NULL || strcmp(text, row->dump) != 0)
			fail_msg("%s: %s", row->name, text);
	}
	json_decref(object);
}

static void test_objects(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(objects); i++)
		object_check(&objects[i]);
}

static int setup(void **state)
{
	(void)state;
	neap_json_setup();
	return 0;
}

static int teardown(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(files); i++)
		neap_kube_crd_free(files[i].kind);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_docs),
		cmocka_unit_test(test_objects),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
