/* SPDX-License-Identifier: Apache-2.0
 *
 * Zero values of built-in kinds, as a kube-apiserver stores them: "", 0, false, [] and {}
 * stay where Go has a pointer, and are as good as missing elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/store/write.h"
#include "t/lib/kube_rig.h"

#define STEPS(rig, steps) kube_steps(rig, steps, NEAP_ARRAY_LEN(steps))
#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

#define CORE    "/api/v1/namespaces/default/"
#define APPS    "/apis/apps/v1/namespaces/default/"
#define PODS    CORE "pods"
#define DEPLOY  APPS "deployments"
#define BUDGETS "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
#define LEASES  "/apis/coordination.k8s.io/v1/namespaces/default/leases"
#define JOBS    "/apis/batch/v1/namespaces/default/jobs"
#define EVENTS  "/apis/events.k8s.io/v1/namespaces/default/events"
#define CRDS    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

#define TEMPLATE                                                                         \
	"'selector':{'matchLabels':{'a':'b'},'matchExpressions':[]},'template':{"        \
	"'metadata':{'labels':{'a':'b'},'annotations':{}},'spec':{'hostNetwork':false,"  \
	"'containers':[{'name':'c','image':'x','tty':false,'ports':[{'containerPort':1," \
	"'hostPort':0}]}]}}"
#define T "spec.template.spec."

static void test_dropped(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " PODS,
		 "{'metadata':{'name':'p','labels':{},'finalizers':[]},'spec':{"
		 "'hostNetwork':false,'hostPID':false,'hostname':'','nodeSelector':{},"
		 "'imagePullSecrets':[{'name':''}],'volumes':[{'name':'v','emptyDir':{"
		 "'medium':''}}],'tolerations':[{'operator':'Exists','value':''}],"
		 "'initContainers':[],'securityContext':{'supplementalGroups':[]},"
		 "'dnsConfig':{'searches':[]},'containers':[{'name':'c','image':'x',"
		 "'args':[],'workingDir':'','stdin':false,'env':[{'name':'E','value':''}],"
		 "'ports':[{'containerPort':80,'hostPort':0,'name':''}],'volumeMounts':[{"
		 "'name':'v','mountPath':'/v','readOnly':false,'subPath':''}],"
		 "'livenessProbe':{'initialDelaySeconds':0,'tcpSocket':{'port':1,'host':''"
		 "}}}]}}",
		 201,
		 {"!metadata.labels", "!metadata.finalizers", "!spec.hostNetwork",
		  "!spec.hostPID", "!spec.hostname", "!spec.nodeSelector",
		  "spec.imagePullSecrets=[{}]", "spec.volumes.0.emptyDir={}",
		  "!spec.tolerations.0.value", "!spec.initContainers",
		  "spec.securityContext={}", "spec.dnsConfig={}"}},
		{"GET " PODS "/p",
		 NULL,
		 200,
		 {"!spec.containers.0.args", "!spec.containers.0.workingDir",
		  "!spec.containers.0.stdin", "spec.containers.0.env=[{\"name\":\"E\"}]",
		  "!spec.containers.0.ports.0.hostPort",
		  "!spec.containers.0.ports.0.name",
		  "!spec.containers.0.volumeMounts.0.readOnly",
		  "!spec.containers.0.volumeMounts.0.subPath",
		  "!spec.containers.0.livenessProbe.initialDelaySeconds",
		  "spec.containers.0.livenessProbe.tcpSocket={\"port\":1}"}},
		{"POST " CORE "configmaps",
		 "{'metadata':{'name':'c'},'data':{},'binaryData':{},'immutable':false}",
		 201,
		 {"!data", "!binaryData", "immutable=false"}},
		{"POST " CORE "configmaps",
		 "{'metadata':{'name':'d'},'data':{'':''}}",
		 422,
		 {"message~data[]"}},
		{"POST " DEPLOY,
		 "{'metadata':{'name':'d'},'spec':{'paused':false,'minReadySeconds':0,"
		 "'replicas':0," TEMPLATE "}}",
		 201,
		 {"!spec.paused", "!spec.minReadySeconds", "spec.replicas=0",
		  "spec.selector={\"matchLabels\":{\"a\":\"b\"}}",
		  "spec.template.metadata={\"labels\":{\"a\":\"b\"}}",
		  "!" T "hostNetwork", "!" T "containers.0.tty",
		  "!" T "containers.0.ports.0.hostPort"}},
		{"POST " CORE "services",
		 "{'metadata':{'name':'s'},'spec':{'selector':{},'ports':[{'port':80,"
		 "'name':'','nodePort':0}],'publishNotReadyAddresses':false,"
		 "'externalIPs':[]}}",
		 201,
		 {"!spec.selector", "!spec.ports.0.name", "!spec.ports.0.nodePort",
		  "!spec.publishNotReadyAddresses", "!spec.externalIPs"}},
		{"POST /apis/scheduling.k8s.io/v1/priorityclasses",
		 "{'metadata':{'name':'p'},'value':0,'globalDefault':false,"
		 "'description':''}",
		 201,
		 {"value=0", "!globalDefault", "!description"}},
		{"POST /apis/storage.k8s.io/v1/storageclasses",
		 "{'metadata':{'name':'s'},'provisioner':'x','parameters':{},"
		 "'mountOptions':[],'allowVolumeExpansion':false,'allowedTopologies':[]}",
		 201,
		 {"!parameters", "!mountOptions", "allowVolumeExpansion=false",
		  "!allowedTopologies"}},
		{"POST " EVENTS,
		 "{'metadata':{'name':'e'},'eventTime':'2026-01-02T03:04:05.000000Z',"
		 "'reportingController':'a/b','reportingInstance':'c','action':'d','reason':"
		 "'r','type':'Normal','note':'','regarding':{'kind':'Pod','name':'p','uid':"
		 "'','namespace':'default'},'deprecatedCount':0}",
		 201,
		 {"!note", "!regarding.uid", "!deprecatedCount"}},
		{"POST " CRDS,
		 "{'metadata':{'name':'rats.z.example.com'},'spec':{'group':"
		 "'z.example.com','scope':'Namespaced','names':{'kind':'Rat','plural':"
		 "'rats','shortNames':[],'categories':[]},'versions':[{'name':'v1','served':"
		 "true,'storage':true,'deprecated':false,'additionalPrinterColumns':[],"
		 "'schema':{'openAPIV3Schema':{'type':'object','required':[],'nullable':"
		 "false,'minProperties':0,'properties':{}}}}]}}",
		 201,
		 {"!spec.names.shortNames", "!spec.names.categories",
		  "!spec.versions.0.deprecated",
		  "!spec.versions.0.additionalPrinterColumns",
		  "!spec.versions.0.schema.openAPIV3Schema.required",
		  "!spec.versions.0.schema.openAPIV3Schema.nullable",
		  "!spec.versions.0.schema.openAPIV3Schema.properties",
		  "spec.versions.0.schema.openAPIV3Schema.minProperties=0"}},
		/* A wrong type is told, and is no zero. */
		{"POST " PODS,
		 "{'metadata':{'name':'q'},'spec':{'hostNetwork':0,'containers':[{'name':'c',"
		 "'image':'x'}]}}",
		 400,
		 {"message~spec.hostNetwork of type bool"}},
	};

	STEPS(*state, steps);
}

/* What Go has a pointer for. */
static void test_kept(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " PODS,
		 "{'metadata':{'name':'p'},'spec':{'automountServiceAccountToken':false,"
		 "'enableServiceLinks':false,'terminationGracePeriodSeconds':0,'affinity':{},"
		 "'shareProcessNamespace':false,'setHostnameAsFQDN':false,'hostUsers':false,"
		 "'securityContext':{'runAsUser':0,'runAsGroup':0,'fsGroup':0,"
		 "'runAsNonRoot':false},'tolerations':[{'operator':'Exists','effect':"
		 "'NoExecute','tolerationSeconds':0}],'volumes':[{'name':'c','configMap':{"
		 "'name':'x','defaultMode':0,'optional':false,'items':[{'key':'k','path':"
		 "'p','mode':0}]}},{'name':'e','emptyDir':{}}],'containers':[{'name':'c',"
		 "'image':'x','lifecycle':{},'securityContext':{'privileged':false,"
		 "'readOnlyRootFilesystem':false,'allowPrivilegeEscalation':false}}]}}",
		 201,
		 {"spec.automountServiceAccountToken=false",
		  "spec.enableServiceLinks=false", "spec.terminationGracePeriodSeconds=0",
		  "spec.affinity={}", "spec.shareProcessNamespace=false",
		  "spec.hostUsers=false", "spec.securityContext.runAsUser=0",
		  "spec.securityContext.fsGroup=0",
		  "spec.tolerations.0.tolerationSeconds=0",
		  "spec.volumes.0.configMap.defaultMode=0",
		  "spec.volumes.0.configMap.items.0.mode=0",
		  "spec.containers.0.securityContext={\"allowPrivilegeEscalation\":false,"
		  "\"privileged\":false,\"readOnlyRootFilesystem\":false}"}},
		{"POST " BUDGETS,
		 "{'metadata':{'name':'b'},'spec':{'minAvailable':0,'selector':{}}}",
		 201,
		 {"spec.minAvailable=0", "spec.selector={}"}},
		{"POST " LEASES,
		 "{'metadata':{'name':'l'},'spec':{'holderIdentity':'',"
		 "'leaseTransitions':0}}",
		 201,
		 {"spec.holderIdentity=", "spec.leaseTransitions=0"}},
		{"POST " JOBS,
		 "{'metadata':{'name':'j'},'spec':{'backoffLimit':0,'parallelism':0,"
		 "'completions':0,'suspend':false,'ttlSecondsAfterFinished':0,'template':{"
		 "'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'x'}]}}}}",
		 201,
		 {"spec.backoffLimit=0", "spec.parallelism=0", "spec.completions=0",
		  "spec.suspend=false", "spec.ttlSecondsAfterFinished=0"}},
		{"POST " APPS "daemonsets",
		 "{'metadata':{'name':'d'},'spec':{'updateStrategy':{'rollingUpdate':{"
		 "'maxUnavailable':1,'maxSurge':0}},'revisionHistoryLimit':0," TEMPLATE
		 "}}",
		 201,
		 {"spec.updateStrategy.rollingUpdate.maxSurge=0",
		  "spec.revisionHistoryLimit=0"}},
		{"POST " CORE "persistentvolumeclaims",
		 "{'metadata':{'name':'c'},'spec':{'accessModes':['ReadWriteOnce'],"
		 "'storageClassName':'','volumeName':'','resources':{'requests':{'storage':"
		 "'1'}}}}",
		 201,
		 {"spec.storageClassName=", "!spec.volumeName"}},
		/* Options of a deletion, of which 0 and false say something. */
		{"DELETE " PODS "/p",
		 "{'gracePeriodSeconds':0,'orphanDependents':false}",
		 200,
		 {NULL}},
		{"GET " PODS "/p", NULL, 404, {NULL}},
	};

	STEPS(*state, steps);
}

/* Zero or none is no change. */
static void test_changes(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " DEPLOY,
		 "{'metadata':{'name':'d'},'spec':{" TEMPLATE "}}",
		 201,
		 {"metadata.generation=1"}},
		{"MERGE " DEPLOY "/d",
		 "{'spec':{'paused':false,'template':{'spec':{'hostPID':false,'volumes':[]}}}}",
		 200,
		 {"metadata.generation=1"}},
		{"STRATEGIC " DEPLOY "/d",
		 "{'spec':{'template':{'spec':{'containers':[{'name':'c','stdin':false}]}}}}",
		 200,
		 {"metadata.generation=1"}},
		{"MERGE " DEPLOY "/d",
		 "{'spec':{'paused':true}}",
		 200,
		 {"metadata.generation=2"}},
		{"MERGE " DEPLOY "/d",
		 "{'spec':{'paused':false}}",
		 200,
		 {"metadata.generation=3", "!spec.paused"}},
	};

	STEPS(*state, steps);
}

static void stored(void *arg, struct neap_object *object, const struct neap_error *err)
{
	(void)err;
	*(bool *)arg = object != NULL;
}

/* As an older version stored them: what is fixed in a pod is not changed by their
 * going. */
static void test_older(void **state)
{
	static const struct kube_step before[] = {
		{"POST " PODS,
		 "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'x',"
		 "'ports':[{'containerPort':1}]}]}}",
		 201,
		 {NULL}},
		{"POST " DEPLOY,
		 "{'metadata':{'name':'d'},'spec':{" TEMPLATE "}}",
		 201,
		 {NULL}},
	};
	static const struct kube_step steps[] = {
		{"GET " PODS "/p",
		 NULL,
		 200,
		 {"spec.hostNetwork=false", "spec.containers.0.ports.0.hostPort=0"}},
		{"MERGE " PODS "/p",
		 "{'metadata':{'labels':{'a':'b'}}}",
		 200,
		 {"!spec.hostNetwork", "!spec.containers.0.ports.0.hostPort"}},
		{"MERGE " DEPLOY "/d",
		 "{'metadata':{'labels':{'a':'b'}}}",
		 200,
		 {"metadata.generation=1", "!spec.paused"}},
	};
	static const char *const zeros[] = {"pods", "deployments.apps"};
	struct kube_rig *rig = *state;

	STEPS(rig, before);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(zeros); i++) {
		const char *name = i ? "d" : "p";
		struct neap_object *object =
			neap_store_newest(rig->store.store, zeros[i], "default", name);
		json_t *tree = neap_object_tree(object),
		       *spec = json_object_get(tree, "spec"), *item;
		bool is_done = false;
		struct neap_store_write write = {.verb = NEAP_STORE_UPDATE,
						 .resource = zeros[i],
						 .ns = "default",
						 .name = name,
						 .object = tree,
						 .done = stored,
						 .arg = &is_done};

		if (i) {
			(void)json_object_set_new(spec, "paused", json_false());
		} else {
			item = json_array_get(json_object_get(spec, "containers"), 0);
			item = json_array_get(json_object_get(item, "ports"), 0);
			(void)json_object_set_new(item, "hostPort", json_integer(0));
			(void)json_object_set_new(spec, "hostNetwork", json_false());
		}
		assert_int_equal(neap_store_write_take(rig->store.store, &write, NULL),
				 0);
		while (!is_done)
			kube_run(rig, 1);
	}
	STEPS(rig, steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(dropped),
		TEST(kept),
		TEST(changes),
		TEST(older),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
