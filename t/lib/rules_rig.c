/* SPDX-License-Identifier: Apache-2.0
 *
 * For the tests of rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/kube/crd/crd.h"
#include "api/kube/rules/rules.h"
#include "api/yaml/yaml.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/json_rig.h"
#include "t/lib/rules_rig.h"

#define TEMPLATE                                                                         \
	"  template:\n"                                                                  \
	"    metadata: {labels: {app: web, tier: front}}\n"                              \
	"    spec:\n"                                                                    \
	"      terminationGracePeriodSeconds: 60\n"                                      \
	"      containers:\n"                                                            \
	"      - name: web\n"                                                            \
	"        image: nginx:1.27\n"                                                    \
	"        ports: [{name: http, containerPort: 80}]\n"                             \
	"        resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: "     \
	"128Mi}}\n"
#define SELECTOR "  selector: {matchLabels: {app: web}}\n"

static const char *const manifests[] = {
	/* What a scheduler meets: a batch pod of Koordinator with nearly everything. */
	"kind: Pod\n"
	"metadata: {name: train-0, namespace: lab, labels: {app: train}}\n"
	"spec:\n"
	"  schedulerName: koord-scheduler\n"
	"  priorityClassName: koord-batch\n"
	"  priority: 5500\n"
	"  nodeSelector: {disk: ssd}\n"
	"  serviceAccountName: trainer\n"
	"  containers:\n"
	"  - name: main\n"
	"    image: registry.example.com/train:1.4\n"
	"    env:\n"
	"    - {name: RANK, value: '0'}\n"
	"    - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}\n"
	"    - {name: CPUS, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}\n"
	"    - {name: KEY, valueFrom: {secretKeyRef: {name: keys, key: api.key}}}\n"
	"    envFrom: [{configMapRef: {name: settings}}]\n"
	"    ports: [{name: http, containerPort: 8080}, {name: dns, containerPort: 53, "
	"protocol: UDP, hostPort: 5353}]\n"
	"    resources:\n"
	"      requests: {cpu: 500m, memory: 1Gi, kubernetes.io/mid-cpu: 1k}\n"
	"      limits: {cpu: 2, memory: 1.5Gi, example.com/gpu: 1}\n"
	"    livenessProbe: {httpGet: {path: /live, port: http}, periodSeconds: 5}\n"
	"    readinessProbe: {tcpSocket: {port: 8080}, successThreshold: 2}\n"
	"    lifecycle: {preStop: {exec: {command: [sync]}}}\n"
	"    volumeMounts:\n"
	"    - {name: data, mountPath: /data}\n"
	"    - {name: conf, mountPath: /etc/app, subPath: app/conf}\n"
	"  initContainers:\n"
	"  - {name: fetch, image: busybox, command: [wget, x], volumeMounts: [{name: data, "
	"mountPath: /data}]}\n"
	"  - {name: logs, image: fluent/bit, restartPolicy: Always, startupProbe: {exec: "
	"{command: [ready]}}}\n"
	"  volumes:\n"
	"  - {name: data, persistentVolumeClaim: {claimName: data-0}}\n"
	"  - {name: conf, configMap: {name: conf, items: [{key: a, path: app/conf}]}}\n"
	"  - {name: tmp, emptyDir: {medium: Memory, sizeLimit: 64Mi}}\n"
	"  - {name: info, downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: "
	"metadata.labels}}]}}\n"
	"  - {name: big, ephemeral: {volumeClaimTemplate: {spec: {accessModes: "
	"[ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}\n"
	"  tolerations:\n"
	"  - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, "
	"tolerationSeconds: 300}\n"
	"  - {key: batch, value: 'yes', effect: NoSchedule}\n"
	"  affinity:\n"
	"    nodeAffinity:\n"
	"      requiredDuringSchedulingIgnoredDuringExecution:\n"
	"        nodeSelectorTerms:\n"
	"        - matchExpressions: [{key: zone, operator: In, values: [a, b]}, {key: "
	"cores, operator: Gt, values: ['15']}]\n"
	"          matchFields: [{key: metadata.name, operator: NotIn, values: [node-9]}]\n"
	"      preferredDuringSchedulingIgnoredDuringExecution:\n"
	"      - {weight: 1, preference: {matchExpressions: [{key: gpu, operator: "
	"Exists}]}}\n"
	"    podAntiAffinity:\n"
	"      preferredDuringSchedulingIgnoredDuringExecution:\n"
	"      - weight: 100\n"
	"        podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: "
	"{matchLabels: {app: train}}}\n"
	"  topologySpreadConstraints:\n"
	"  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, minDomains: "
	"2, labelSelector: {matchLabels: {app: train}}}\n"
	"  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}\n",

	"kind: Node\n"
	"metadata: {name: node-1, labels: {kubernetes.io/hostname: node-1}}\n"
	"spec:\n"
	"  podCIDRs: [10.0.1.0/24, 'fd00:1::/64']\n"
	"  providerID: aws:///eu/i-1\n"
	"  taints: [{key: gpu, value: a100, effect: NoSchedule}, {key: gpu, effect: "
	"NoExecute}]\n"
	"status:\n"
	"  capacity: {cpu: 16, memory: 64Gi, pods: 110, kubernetes.io/batch-cpu: 12k}\n"
	"  addresses: [{type: InternalIP, address: 10.1.0.1}, {type: Hostname, address: "
	"node-1}]\n",

	"kind: Namespace\nmetadata: {name: lab}\nspec: {finalizers: [kubernetes, "
	"example.com/own]}\n",

	"kind: Service\n"
	"metadata: {name: web, namespace: lab}\n"
	"spec:\n"
	"  selector: {app: web}\n"
	"  ports: [{name: http, port: 80, targetPort: http}, {name: dns, port: 53, protocol: "
	"UDP}]\n",

	"kind: ConfigMap\nmetadata: {name: conf, namespace: lab}\n"
	"data: {app.conf: 'a=1', KEY_2: ''}\nbinaryData: {blob: AAEC}\n",

	"kind: Event\n"
	"metadata: {name: train-0.17, namespace: lab}\n"
	"involvedObject: {kind: Pod, namespace: lab, name: train-0}\n"
	"eventTime: '2026-01-02T03:04:05.000006Z'\n"
	"reportingComponent: koord-scheduler\n"
	"reportingInstance: koord-scheduler-0\n"
	"action: Binding\nreason: Scheduled\nmessage: assigned lab/train-0 to node-1\n"
	"type: Normal\n",

	"kind: PersistentVolume\n"
	"metadata: {name: pv-1}\n"
	"spec:\n"
	"  capacity: {storage: 10Gi}\n"
	"  accessModes: [ReadWriteOnce]\n"
	"  storageClassName: fast\n"
	"  local: {path: /mnt/disk1}\n"
	"  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: "
	"kubernetes.io/hostname, operator: In, values: [node-1]}]}]}}\n",

	"kind: PersistentVolumeClaim\n"
	"metadata: {name: data-0, namespace: lab}\n"
	"spec:\n"
	"  accessModes: [ReadWriteOnce, ReadOnlyMany]\n"
	"  resources: {requests: {storage: 5Gi}}\n"
	"  selector: {matchLabels: {disk: ssd}}\n"
	"  storageClassName: fast\n"
	"status: {phase: Bound, capacity: {storage: 5Gi}}\n",

	"kind: StorageClass\nmetadata: {name: fast}\n"
	"provisioner: ebs.csi.aws.com\nparameters: {type: gp3}\n",

	"kind: ReplicationController\n"
	"metadata: {name: web, namespace: lab}\n"
	"spec:\n  replicas: 2\n  selector: {app: web}\n" TEMPLATE,

	"kind: ReplicaSet\n"
	"metadata: {name: web, namespace: lab}\n"
	"spec:\n  replicas: 2\n" SELECTOR TEMPLATE,

	"kind: Deployment\n"
	"metadata: {name: web, namespace: lab}\n"
	"spec:\n"
	"  replicas: 3\n"
	"  strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 0}}\n" SELECTOR
		TEMPLATE,

	"kind: StatefulSet\n"
	"metadata: {name: web, namespace: lab}\n"
	"spec:\n"
	"  serviceName: web\n"
	"  updateStrategy: {rollingUpdate: {partition: 1}}\n" SELECTOR TEMPLATE,

	"kind: DaemonSet\n"
	"metadata: {name: web, namespace: lab}\n"
	"spec:\n"
	"  updateStrategy: {rollingUpdate: {maxUnavailable: 10%}}\n" SELECTOR TEMPLATE,

	"kind: Job\n"
	"metadata: {name: count, namespace: lab}\n"
	"spec:\n"
	"  completions: 8\n  parallelism: 8\n  completionMode: Indexed\n"
	"  backoffLimit: 3\n" TEMPLATE "      restartPolicy: Never\n",

	"kind: PodDisruptionBudget\n"
	"metadata: {name: web, namespace: lab}\n"
	"spec:\n  minAvailable: 50%\n" SELECTOR,

	"kind: PriorityClass\nmetadata: {name: koord-batch}\nvalue: 5500\n",

	"kind: Lease\n"
	"metadata: {name: kube-scheduler, namespace: kube-system}\n"
	"spec: {holderIdentity: a, leaseDurationSeconds: 15, leaseTransitions: 0, renewTime: "
	"'2026-01-02T03:04:05.000006Z'}\n",

	"kind: CustomResourceDefinition\n"
	"metadata: {name: widgets.example.com}\n"
	"spec:\n"
	"  group: example.com\n"
	"  scope: Namespaced\n"
	"  names: {kind: Widget, plural: widgets}\n"
	"  versions:\n"
	"  - name: v1\n"
	"    served: true\n"
	"    storage: true\n"
	"    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}\n",
};

const char *const rules_kinds[] = {"Pod",
				   "Node",
				   "Namespace",
				   "Service",
				   "ConfigMap",
				   "Event",
				   "PersistentVolume",
				   "PersistentVolumeClaim",
				   "StorageClass",
				   "ReplicationController",
				   "ReplicaSet",
				   "Deployment",
				   "StatefulSet",
				   "DaemonSet",
				   "Job",
				   "PodDisruptionBudget",
				   "PriorityClass",
				   "Lease",
				   "CustomResourceDefinition",
				   NULL};

const struct neap_kube_kind *rules_kind(const char *name)
{
	const struct neap_kube_kind *const *const tables[] = {
		neap_kube_core_kinds, neap_kube_apps_kinds, neap_kube_other_kinds};

	for (size_t t = 0; t < NEAP_ARRAY_LEN(tables); t++)
		for (size_t i = 0; tables[t][i] != NULL; i++)
			if (strcmp(tables[t][i]->kind, name) == 0)
				return tables[t][i];
	fail_msg("no kind %s", name);
	return NULL;
}

static json_t *manifest(const char *kind)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(manifests); i++) {
		const char *name = manifests[i] + strlen("kind: ");
		struct neap_error err;
		json_t *documents = NULL, *object;

		if (strncmp(name, kind, strlen(kind)) != 0 || name[strlen(kind)] != '\n')
			continue;
		if (neap_yaml_parse(manifests[i], strlen(manifests[i]), kind, &documents,
				    &err) < 0)
			fail_msg("%s", err.msg);
		object = json_incref(json_array_get(documents, 0));
		json_decref(documents);
		(void)json_object_del(object, "kind");
		return object;
	}
	fail_msg("no manifest of %s", kind);
	return NULL;
}

/* --- changes --- */

/* Sets what a path leads to, or takes it out where value is NULL; makes the objects on
 * the way. */
static void put(json_t *at, char *path, json_t *value)
{
	for (;;) {
		char *next = strchr(path, '/'), *tilde;
		char *end;
		long index = strtol(path, &end, 10);
		json_t *child;

		if (next != NULL)
			*next++ = '\0';
		while ((tilde = strstr(path, "~1")) != NULL) {
			*tilde = '/';
			memmove(tilde + 1, tilde + 2, strlen(tilde + 2) + 1);
		}
		if (next == NULL)
			break;
		child = json_is_array(at) ? json_array_get(at, (size_t)index)
					  : json_object_get(at, path);
		if (child == NULL) {
			child = *next >= '0' && *next <= '9' ? json_array()
							     : json_object();
			if (json_is_array(at))
				assert_int_equal(json_array_append_new(at, child), 0);
			else
				assert_int_equal(json_object_set_new(at, path, child), 0);
		}
		at = child;
		path = next;
	}
	if (json_is_array(at)) {
		size_t index = (size_t)strtoul(path, NULL, 10);

		if (value == NULL)
			assert_int_equal(json_array_remove(at, index), 0);
		else if (index < json_array_size(at))
			assert_int_equal(json_array_set_new(at, index, value), 0);
		else
			assert_int_equal(json_array_append_new(at, value), 0);
		return;
	}
	if (value == NULL)
		assert_int_equal(json_object_del(at, path), 0);
	else
		assert_int_equal(json_object_set_new(at, path, value), 0);
}

static void change(json_t *object, const char *changes)
{
	while (*changes != '\0') {
		const char *end = strstr(changes, "; ");
		size_t len = end != NULL ? (size_t)(end - changes) : strlen(changes);
		char *one = strndup(changes, len), *sign = strchr(one, '=');
		const json_t *spec = json_object_get(object, "spec");
		json_t *value = NULL;
		char path[512] = "";

		if (sign != NULL)
			value = json_rig_make(sign + 1);
		else
			sign = one + len - 1;
		*sign = '\0';
		if (one[0] == '@')
			strncat(path,
				json_object_get(spec, "template") != NULL
					? "spec/template/spec/containers/0/"
					: "spec/containers/0/",
				64);
		strncat(path, one + (one[0] == '@'), sizeof(path) - 65);
		put(object, path, value);
		free(one);
		changes += len + (end != NULL ? 2 : 0);
	}
}

json_t *rules_object(const char *name, const char *changes)
{
	const struct neap_kube_kind *kind = rules_kind(name);
	json_t *object = manifest(name);

	change(object, changes);
	assert_true(neap_schema_prune(kind->schema, object, NULL, NULL));
	assert_true(neap_schema_default(kind->schema, object));
	assert_true(kind->complete == NULL || kind->complete(object));
	/* One that has a uid was created. */
	if (strcmp(name, "Job") == 0 &&
	    json_object_get(json_object_get(object, "metadata"), "uid"))
		assert_true(neap_kube_begin_job(object));
	return object;
}

/* --- what is told --- */

void rules_check(const struct neap_kube_kind *kind, const json_t *object,
		 const json_t *before, struct neap_causes *causes)
{
	memset(causes, 0, sizeof(*causes));
	(void)neap_schema_check(kind->schema, object, causes);
	kind->check(object, before, causes);
}

char *rules_text(const struct neap_causes *causes)
{
	struct neap_buf buf;

	neap_buf_init(&buf, NEAP_BUF_FILE);
	neap_buf_addf(&buf, "%s", "");
	for (size_t i = 0; i < causes->count; i++)
		neap_buf_addf(&buf, "%s%s: %s", i > 0 ? "\n" : "", causes->list[i].field,
			      causes->list[i].message);
	if (causes->more > 0)
		neap_buf_addf(&buf, "\n+%zu", causes->more);
	return neap_buf_take(&buf);
}

static const struct {
	const char *reason, *words;
} reasons[] = {
	{"FieldValueInvalid", "Invalid value: "},
	{"FieldValueRequired", "Required value"},
	{"FieldValueForbidden", "Forbidden: "},
	{"FieldValueNotSupported", "Unsupported value: "},
	{"FieldValueDuplicate", "Duplicate value: "},
	{"FieldValueNotFound", "Not found: "},
	{"FieldValueTooLong", "Too long: "},
	{"FieldValueTooMany", "Too many: "},
	{"InternalError", "Internal error: "},
};

/* Reasons go with words. */
static void check_reasons(const struct neap_causes *causes)
{
	for (size_t i = 0; i < causes->count; i++) {
		bool is_known = false;

		for (size_t k = 0; k < NEAP_ARRAY_LEN(reasons); k++)
			is_known =
				is_known ||
				(strcmp(reasons[k].reason, causes->list[i].reason) == 0 &&
				 strncmp(reasons[k].words, causes->list[i].message,
					 strlen(reasons[k].words)) == 0);
		if (!is_known)
			fail_msg("%s: %s: %s", causes->list[i].field,
				 causes->list[i].reason, causes->list[i].message);
	}
}

/* A "*" at the end stands for any rest of a line. */
static bool is_wanted(const char *text, const char *want)
{
	size_t len = strlen(want);

	if (len == 0 || want[len - 1] != '*')
		return strcmp(text, want) == 0;
	return strncmp(text, want, len - 1) == 0 && strchr(text + len - 1, '\n') == NULL;
}

void rules_rows(const struct rules_row *rows, size_t count)
{
	static struct neap_causes causes;
	unsigned wrong = 0;

	for (size_t i = 0; i < count; i++) {
		const struct rules_row *row = &rows[i];
		json_t *object = rules_object(row->kind, row->now);
		json_t *before =
			row->was != NULL ? rules_object(row->kind, row->was) : NULL;
		char *text;

		rules_check(rules_kind(row->kind), object, before, &causes);
		text = rules_text(&causes);
		assert_non_null(text);
		check_reasons(&causes);
		if (!is_wanted(text, row->want)) {
			print_error("# %s %s (was: %s)\n# told: %s\n# want: %s\n",
				    row->kind, row->now,
				    row->was != NULL ? row->was : "-", text, row->want);
			wrong++;
		}
		free(text);
		json_decref(object);
		json_decref(before);
	}
	assert_int_equal(wrong, 0);
}

/* The same causes; of a value that is shown without memory a part may be missing. */
static bool same_causes(const struct neap_causes *a, const struct neap_causes *b)
{
	bool is_same = a->count == b->count;

	for (size_t i = 0; is_same && i < a->count; i++)
		is_same = strcmp(a->list[i].field, b->list[i].field) == 0 &&
			  strcmp(a->list[i].reason, b->list[i].reason) == 0;
	return is_same;
}

static bool is_short(const struct neap_causes *causes)
{
	for (size_t i = 0; i < causes->count; i++)
		if (strcmp(causes->list[i].message, "Internal error: out of memory") == 0)
			return true;
	return false;
}

static void check_short(const struct rules_row *row, const json_t *object,
			const json_t *before)
{
	static struct neap_causes causes, whole;
	const struct neap_kube_kind *kind = rules_kind(row->kind);
	uint64_t failures = 1;

	memset(&whole, 0, sizeof(whole));
	kind->check(object, before, &whole);
	for (uint64_t n = 1; failures > 0; n++) {
		failures = neap_mem_failures() + neap_json_failures();
		memset(&causes, 0, sizeof(causes));
		neap_mem_fail_at(n);
		kind->check(object, before, &causes);
		neap_mem_fail_at(0);
		failures = neap_mem_failures() + neap_json_failures() - failures;
		if (!is_short(&causes) && !same_causes(&causes, &whole))
			fail_msg("%s %s, allocation %u: %s", row->kind, row->now,
				 (unsigned)n, rules_text(&causes));
		assert_true(n < 2000);
	}
}

void rules_rows_short(const struct rules_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		json_t *object = rules_object(rows[i].kind, rows[i].now);
		json_t *before = rows[i].was != NULL
					 ? rules_object(rows[i].kind, rows[i].was)
					 : NULL;

		check_short(&rows[i], object, before);
		json_decref(object);
		json_decref(before);
	}
}
