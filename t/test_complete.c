/* SPDX-License-Identifier: Apache-2.0
 *
 * Defaults that follow from several fields, each alone; and without memory: all of them,
 * or an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/kube/rules/check_priv.h"
#include "api/kube/rules/rules.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* JSON with ' for ". */
static json_t *parse(const char *text)
{
	char *copy = strdup(text);
	json_error_t where;
	json_t *json = NULL;

	assert_non_null(copy);
	for (char *p = copy; *p != '\0'; p++)
		if (*p == '\'')
			*p = '"';
	if (neap_json_parse(copy, strlen(copy), 0, &json, &where) < 0)
		fail_msg("%s: %s", copy, where.text);
	free(copy);
	return json;
}

/* Images, and when they are pulled. */
#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct {
	const char *image, *policy;
} images[] = {
	{"nginx", "Always"},
	{"nginx:latest", "Always"},
	{"nginx:1.2", "IfNotPresent"},
	{"nginx:latest-1", "IfNotPresent"},
	{"nginx:lates", "IfNotPresent"},
	{"registry.example.com/nginx", "Always"},
	{"registry.example.com:5000/nginx", "Always"},
	{"registry.example.com:5000/a/nginx:1", "IfNotPresent"},
	{"latest", "Always"},
	{"nginx@sha256:00", "IfNotPresent"},
	{"nginx:1@sha256:00", "IfNotPresent"},
	{"nginx:latest@sha256:00", "IfNotPresent"},
	{"nginx:latest@sha256:" HEX64, "Always"},
	{"nginx:latest@sha256:" HEX64 "0", "IfNotPresent"},
	{"nginx:latest@md5:" HEX64, "IfNotPresent"},
	{"nginx@sha256:" HEX64, "IfNotPresent"},
	{"registry.example.com:5000/nginx@sha256:00", "IfNotPresent"},
	{"", "IfNotPresent"},
	{"@", "IfNotPresent"},
	{":", "IfNotPresent"},
	{"/", "IfNotPresent"},
	/* What is no name of an image has no newest one. */
	{"A b!", "IfNotPresent"},
	{"Nginx", "IfNotPresent"},
	{"Example.COM/nginx", "Always"},
	{"library/Nginx", "IfNotPresent"},
	{"localhost/nginx", "Always"},
	{"-a.example.com/nginx", "IfNotPresent"},
	{"a.example.com:/nginx", "IfNotPresent"},
	{"a.example.com:x/nginx", "IfNotPresent"},
	{"a..b/nginx", "IfNotPresent"},
	{"a/b/c/d_e__f-g--h.i", "Always"},
	{"a/b/c___d", "IfNotPresent"},
	{"a//b", "IfNotPresent"},
	{"a/", "IfNotPresent"},
	{"nginx:", "IfNotPresent"},
	{"nginx:.x", "IfNotPresent"},
	{"nginx:latest ", "IfNotPresent"},
	{"nginx:latest:latest", "IfNotPresent"},
	{HEX64, "IfNotPresent"},
	{HEX64 "0", "Always"},
	{HEX64 HEX64 HEX64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "Always"},
	{HEX64 HEX64 HEX64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	 "IfNotPresent"},
};

static void test_images(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(images); i++) {
		json_t *container = json_pack("{s:s}", "image", images[i].image);
		json_t *template =
			json_pack("{s:{s:[O]}}", "spec", "containers", container);

		assert_true(neap_kube_complete_pod_template(template));
		if (strcmp(neap_json_text(container, "imagePullPolicy"),
			   images[i].policy) != 0)
			fail_msg("%s: %s", images[i].image,
				 neap_json_text(container, "imagePullPolicy"));
		json_decref(template);
		json_decref(container);
	}
}

/* Requests and limits of containers ("|" between them), and the class of the pod. */
static const struct {
	const char *resources, *qos;
} classes[] = {
	{"{}", "BestEffort"},
	{"{'limits':{'example.com/gpu':1}}", "BestEffort"},
	{"{'requests':{'cpu':'0','memory':'0'}}", "BestEffort"},
	{"{'requests':{'cpu':'1m'}}", "Burstable"},
	{"{'limits':{'cpu':1}}", "Burstable"},
	{"{'limits':{'cpu':1,'memory':'1Gi'}}", "Guaranteed"},
	{"{'limits':{'cpu':1,'memory':'1Gi'},'requests':{'cpu':'1000m','memory':1073741824}}",
	 "Guaranteed"},
	{"{'limits':{'cpu':1.5,'memory':'1Gi'},'requests':{'cpu':'1500m'}}",
	 "Guaranteed"},
	{"{'limits':{'cpu':1,'memory':'1Gi'},'requests':{'cpu':'999m'}}", "Burstable"},
	{"{'limits':{'cpu':1,'memory':'1Gi'},'requests':{'memory':'1'}}", "Burstable"},
	{"{'limits':{'cpu':'9E','memory':'9E'}}", "Guaranteed"},
	{"{'requests':{'cpu':'1e30'}}", "Burstable"},
	{"{'limits':{'cpu':1,'memory':'7Ei'}}", "Guaranteed"},
	{"{'limits':{'cpu':'lots','memory':[]},'requests':5}", "BestEffort"},
	{"{'limits':{'cpu':1e300,'memory':-1}}", "Burstable"},
};

static void test_classes(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(classes); i++) {
		json_t *pod = json_pack("{s:{s:[{s:o}]}}", "spec", "containers",
					"resources", parse(classes[i].resources));
		const char *qos;

		assert_true(neap_kube_complete_pod(pod));
		qos = neap_json_text(json_object_get(pod, "status"), "qosClass");
		if (strcmp(qos, classes[i].qos) != 0)
			fail_msg("%s: %s", classes[i].resources, qos);
		json_decref(pod);
	}
}

/* --- objects --- */

static const struct {
	const char *name;
	neap_kube_complete_fn *complete;
	const char *before, *after;
} rows[] = {
	{"a status that is there stays", neap_kube_complete_pod,
	 "{'status':{'phase':'Running','qosClass':'Burstable','podIPs':[{'ip':'fd00::1'}]}}",
	 "{'status':{'phase':'Running','qosClass':'Burstable','podIP':'fd00::1','podIPs':[{'ip':'fd00::"
	 "1'}]}}"},
	{"podIP counts", neap_kube_complete_pod,
	 "{'status':{'phase':'Running','qosClass':'Burstable','podIP':'10.0.0.2','podIPs':[{'ip':'10.0."
	 "0.1'},{'ip':'fd00::1'}]}}",
	 "{'status':{'phase':'Running','qosClass':'Burstable','podIP':'10.0.0.2','podIPs':[{'ip':'10.0."
	 "0.2'}]}}"},
	{"ports of the host", neap_kube_complete_pod,
	 "{'spec':{'hostNetwork':true,'containers':[{'imagePullPolicy':'Never','ports':[{"
	 "'containerPort':1},{'containerPort':2,'hostPort':0},{'containerPort':3,'hostPort':4},{}]}]},"
	 "'status':{'phase':'a','qosClass':'b'}}",
	 "{'spec':{'hostNetwork':true,'enableServiceLinks':true,'containers':[{'imagePullPolicy':"
	 "'Never','ports':[{'containerPort':1,'hostPort':1},{'containerPort':2,'hostPort':2},{"
	 "'containerPort':3,'hostPort':4},{}]}]},'status':{'phase':'a','qosClass':'b'}}"},
	{"policies that are there, empty or of no type", neap_kube_complete_deployment,
	 "{'spec':{'template':{'spec':{'containers':[{'image':'a:1','imagePullPolicy':''},{'image':'a',"
	 "'imagePullPolicy':'Never'},{'image':'a','imagePullPolicy':5}],'volumes':[{'name':'a','image':{"
	 "'reference':'a'}}]}}}}",
	 "{'spec':{'template':{'spec':{'containers':[{'image':'a:1','imagePullPolicy':'IfNotPresent'},{"
	 "'image':'a','imagePullPolicy':'Never'},{'image':'a','imagePullPolicy':5}],'volumes':[{'name':"
	 "'a','image':{'reference':'a','pullPolicy':'Always'}}]}}}}"},
	{"claims of a StatefulSet", neap_kube_complete_statefulset,
	 "{'spec':{'updateStrategy':{'type':'OnDelete'},'volumeClaimTemplates':[{'metadata':{}}]}}",
	 "{'spec':{'updateStrategy':{'type':'OnDelete'},'volumeClaimTemplates':[{'apiVersion':'v1','kind':"
	 "'PersistentVolumeClaim','metadata':{},'status':{'phase':'Pending'}}]}}"},
	{"a load balancer", neap_kube_complete_service,
	 "{'spec':{'type':'LoadBalancer','externalTrafficPolicy':'Local'},'status':{'loadBalancer':{"
	 "'ingress':[{'ip':'10.0.0.1'},{'ip':'10.0.0.2','ipMode':'Proxy'},{'hostname':'a'}]}}}",
	 "{'spec':{'type':'LoadBalancer','externalTrafficPolicy':'Local','internalTrafficPolicy':"
	 "'Cluster','allocateLoadBalancerNodePorts':true},'status':{'loadBalancer':{'ingress':[{'ip':"
	 "'10.0.0.1','ipMode':'VIP'},{'ip':'10.0.0.2','ipMode':'Proxy'},{'hostname':'a'}]}}}"},
	{"the service account", neap_kube_complete_deployment,
	 "{'spec':{'template':{'spec':{'serviceAccount':'b','serviceAccountName':'a'}}}}",
	 "{'spec':{'template':{'spec':{'serviceAccount':'a','serviceAccountName':'a'}}}}"},
	{"a template asks for no more", neap_kube_complete_replicaset,
	 "{'spec':{'template':{'spec':{'hostNetwork':true,'containers':[{'image':'a:1','ports':[{"
	 "'containerPort':1}],'resources':{'limits':{'cpu':1}}}]}}}}",
	 "{'spec':{'template':{'spec':{'hostNetwork':true,'containers':[{'image':'a:1',"
	 "'imagePullPolicy':'IfNotPresent','ports':[{'containerPort':1}],'resources':{'limits':{'cpu':"
	 "1}}}]}}}}"},
	{"allocatable", neap_kube_complete_node, "{'status':{'capacity':{'cpu':'1'}}}",
	 "{'status':{'capacity':{'cpu':'1'},'allocatable':{'cpu':'1'}}}"},
	{"allocatable that is there", neap_kube_complete_node,
	 "{'spec':{'podCIDRs':['10.0.0.0/24']},'status':{'capacity':{'cpu':'1'},'allocatable':{}}}",
	 "{'spec':{'podCIDR':'10.0.0.0/24','podCIDRs':['10.0.0.0/24']},'status':{'capacity':{'cpu':'1'"
	 "},'allocatable':{}}}"},
	{"a namespace's label", neap_kube_complete_namespace,
	 "{'metadata':{'name':'a','labels':{'kubernetes.io/metadata.name':'b','c':'d'}},'status':{"
	 "'phase':'Terminating'}}",
	 "{'metadata':{'name':'a','labels':{'kubernetes.io/metadata.name':'a','c':'d'}},'status':{"
	 "'phase':'Terminating'}}"},
	{"a namespace without a name", neap_kube_complete_namespace,
	 "{'metadata':{'generateName':'a-'}}",
	 "{'metadata':{'generateName':'a-'},'status':{'phase':'Active'}}"},
	{"labels of its own", neap_kube_complete_replicationcontroller,
	 "{'metadata':{'labels':{'a':'b'}},'spec':{'selector':{},'template':{'metadata':{'labels':{'c':"
	 "'d'}}}}}",
	 "{'metadata':{'labels':{'a':'b'}},'spec':{'selector':{'c':'d'},'template':{'metadata':{"
	 "'labels':{'c':'d'}}}}}"},
	{"a job with a selector of its own", neap_kube_complete_job,
	 "{'metadata':{'name':'a','uid':'u'},'spec':{'manualSelector':true,'parallelism':2,'selector':{"
	 "},'template':{}}}",
	 "{'metadata':{'name':'a','uid':'u'},'spec':{'manualSelector':true,'parallelism':2,'selector':{"
	 "},'template':{},'backoffLimit':6,'podReplacementPolicy':'TerminatingOrFailed'}}"},
	{"a claim's source in the same namespace",
	 neap_kube_complete_persistentvolumeclaim,
	 "{'spec':{'dataSourceRef':{'kind':'a','name':'b'}},'status':{'phase':'Bound'}}",
	 "{'spec':{'dataSourceRef':{'kind':'a','name':'b'},'dataSource':{'kind':'a','name':'b'}},"
	 "'status':{'phase':'Bound'}}"},
	{"names that are given", neap_kube_complete_customresourcedefinition,
	 "{'spec':{'names':{'kind':'A','singular':'one','listKind':'Many'},'versions':[{'name':'v1'},{"
	 "'name':'v2','storage':true}]},'status':{'storedVersions':['v1']}}",
	 "{'spec':{'names':{'kind':'A','singular':'one','listKind':'Many'},'versions':[{'name':'v1'},{"
	 "'name':'v2','storage':true}]},'status':{'storedVersions':['v1']}}"},
	{"names that are not", neap_kube_complete_customresourcedefinition,
	 "{'spec':{'names':{'kind':'PodMigrationJob','singular':''},'versions':[{'name':'v1'},{'name':"
	 "'v2','storage':true}]}}",
	 "{'spec':{'names':{'kind':'PodMigrationJob','singular':'podmigrationjob','listKind':"
	 "'PodMigrationJobList'},'versions':[{'name':'v1'},{'name':'v2','storage':true}]},'status':{"
	 "'storedVersions':['v2']}}"},
	{"a service of nodes", neap_kube_complete_service,
	 "{'spec':{'type':'NodePort','clusterIP':'10.0.0.1','sessionAffinity':'ClientIP'}}",
	 "{'spec':{'type':'NodePort','clusterIP':'10.0.0.1','clusterIPs':['10.0.0.1'],'ipFamilies':["
	 "'IPv4'],'ipFamilyPolicy':'SingleStack','externalTrafficPolicy':'Cluster',"
	 "'internalTrafficPolicy':'Cluster','sessionAffinity':'ClientIP','sessionAffinityConfig':{"
	 "'clientIP':{'timeoutSeconds':10800}}}}"},
};

static void test_objects(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *object = parse(rows[i].before), *want = parse(rows[i].after);
		char *text;

		for (int times = 0; times < 2; times++) {
			assert_true(rows[i].complete(object));
			text = neap_json_dump(object, JSON_SORT_KEYS);
			if (!json_equal(object, want))
				fail_msg("%s: %s", rows[i].name, text);
			free(text);
		}
		json_decref(object);
		json_decref(want);
	}
}

/* What has the wrong type stays as it is, for the check to tell. */
static void test_types(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{'spec':5,'status':[],'metadata':'a'}",
		"{'spec':{'template':[],'containers':{},'volumes':'a','strategy':'a','updateStrategy':[],"
		"'ports':5,'clusterIP':['a'],'type':5,'names':[],'versions':{}},'metadata':{'labels':5,"
		"'name':'a','uid':'b'}}",
		"{'spec':{'containers':[5,null,{'image':5,'ports':[5],'resources':{'limits':{'cpu':5},"
		"'requests':'a'}}],'volumes':[5,{},{'a':5}],'ports':[5,{'port':'a','targetPort':''}],"
		"'hostNetwork':true,'serviceAccountName':5,'selector':'a','template':{'metadata':5,'spec':"
		"'a'},'names':{'kind':5},'versions':[5,{'storage':true,'name':5}],'clusterIP':'a',"
		"'clusterIPs':5,'sessionAffinity':'ClientIP','sessionAffinityConfig':5,'strategy':{'type':"
		"'RollingUpdate','rollingUpdate':'a'}},'status':{'podIP':5,'podIPs':[5],'capacity':5}}",
	};

	(void)state;
	for (size_t t = 0; t < NEAP_ARRAY_LEN(texts); t++)
		for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
			json_t *object = parse(texts[t]);

			assert_true(rows[i].complete(object));
			json_decref(object);
		}
}

static void test_memory(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *want = parse(rows[i].after);
		bool done = false;

		for (uint64_t n = 1; !done; n++) {
			json_t *object = parse(rows[i].before);

			neap_mem_fail_at(n);
			done = rows[i].complete(object);
			neap_mem_fail_at(0);
			if (done && !json_equal(object, want))
				fail_msg("%s: allocation %u is missed", rows[i].name,
					 (unsigned)n);
			json_decref(object);
			assert_true(n < 1000);
		}
		json_decref(want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_images),  cmocka_unit_test(test_classes),
		cmocka_unit_test(test_objects), cmocka_unit_test(test_types),
		cmocka_unit_test(test_memory),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
