/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of the built-in kinds: objects as they are in a cluster, objects that lack
 * something or have something else in its place, and rows for which memory is short. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/kube/print/table.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "t/lib/json_rig.h"
#include "t/lib/kind_named.h"

/* clang-format off */
#define META(rest) "'metadata':{'name':'x','creationTimestamp':'2026-01-02T11:55:00Z'" rest "}"
#define TEMPLATE                                                                         \
	"'template':{'spec':{'containers':[{'name':'a','image':'nginx:1.25'},"           \
	"{'name':'b','image':'busybox'}]}}"
#define SELECTOR                                                                         \
	"'selector':{'matchLabels':{'tier':'web','app':'shop'},'matchExpressions':["     \
	"{'key':'zone','operator':'In','values':['z2','z1']},"                           \
	"{'key':'old','operator':'DoesNotExist'},"                                       \
	"{'key':'track','operator':'NotIn','values':['canary']},"                        \
	"{'key':'owner','operator':'Exists'}]}"
#define SELECTED "'app=shop,!old,owner,tier=web,track notin (canary),zone in (z1,z2)'"
#define BAD_SELECTOR "'selector':{'matchLabels':{'a':'b'},'matchExpressions':["          \
	"{'key':'c','operator':'In'}]}"

/* Names of columns, those for -o wide in brackets. */
static const struct {
	const char *kind, *columns;
} kinds[] = {
	{"pod", "Name,Ready,Status,Restarts,Age,[IP],[Node],[Nominated Node],[Readiness Gates]"},
	{"node", "Name,Status,Roles,Age,Version,[Internal-IP],[External-IP],[OS-Image],"
	     "[Kernel-Version],[Container-Runtime]"},
	{"namespace", "Name,Status,Age"},
	{"configmap", "Name,Data,Age"},
	{"event", "Last Seen,Type,Reason,Object,[Subobject],[Source],Message,[First Seen],"
	     "[Count],[Name]"},
	{"service", "Name,Type,Cluster-IP,External-IP,Port(s),Age,[Selector]"},
	{"serviceaccount", "Name,Secrets,Age"},
	{"persistentvolume", "Name,Capacity,Access Modes,Reclaim Policy,Status,Claim,"
	     "StorageClass,Reason,Age,[VolumeMode]"},
	{"persistentvolumeclaim", "Name,Status,Volume,Capacity,Access Modes,StorageClass,Age,"
	     "[VolumeMode]"},
	{"replicationcontroller", "Name,Desired,Current,Ready,Age,[Containers],[Images],[Selector]"},
	{"deployment", "Name,Ready,Up-to-date,Available,Age,[Containers],[Images],[Selector]"},
	{"replicaset", "Name,Desired,Current,Ready,Age,[Containers],[Images],[Selector]"},
	{"statefulset", "Name,Ready,Age,[Containers],[Images]"},
	{"daemonset", "Name,Desired,Current,Ready,Up-to-date,Available,Node Selector,Age,"
	     "[Containers],[Images],[Selector]"},
	{"job", "Name,Completions,Duration,Age,[Containers],[Images],[Selector]"},
	{"poddisruptionbudget", "Name,Min Available,Max Unavailable,Allowed Disruptions,Age"},
	{"priorityclass", "Name,Value,Global-Default,Age"},
	{"storageclass", "Name,Provisioner,ReclaimPolicy,VolumeBindingMode,"
	     "AllowVolumeExpansion,Age"},
	{"csinode", "Name,Drivers,Age"},
	{"lease", "Name,Holder,Age"},
	{"customresourcedefinition", "Name,Created At"},
};

static const struct {
	const char *kind, *object, *want;
} rows[] = {
	{"node",
	 "{" META(",'labels':{'node-role.kubernetes.io/worker':'','kubernetes.io/role':'batch',"
		  "'node-role.kubernetes.io/control-plane':'','node-role.kubernetes.io/':'x',"
		  "'kubernetes.io/hostname':'x'}") ",'spec':{'unschedulable':true},"
	 "'status':{'conditions':[{'type':'MemoryPressure','status':'False'},"
	 "{'type':'Ready','status':'True'}],'addresses':[{'type':'Hostname','address':'x'},"
	 "{'type':'InternalIP','address':'10.0.0.1'},{'type':'InternalIP','address':'10.0.0.2'},"
	 "{'type':'ExternalIP','address':'192.0.2.1'}],'nodeInfo':{'kubeletVersion':'v1.27.3',"
	 "'osImage':'Debian GNU/Linux 12','kernelVersion':'6.1.0','containerRuntimeVersion':"
	 "'containerd://1.7.2'}}}",
	 "['x','Ready,SchedulingDisabled','batch,control-plane,worker','5m','v1.27.3','10.0.0.1',"
	 "'192.0.2.1','Debian GNU/Linux 12','6.1.0','containerd://1.7.2']"},
	{"node",
	 "{" META(",'labels':{'node-role.kubernetes.io/a':'','kubernetes.io/role':'a'}")
	 ",'status':{'conditions':[{'type':'Ready','status':'Unknown'}]}}",
	 "['x','NotReady','a','5m','','<none>','<none>','<unknown>','<unknown>','<unknown>']"},
	{"node", "{}",
	 "['','Unknown','<none>','<unknown>','','<none>','<none>','<unknown>','<unknown>',"
	 "'<unknown>']"},
	{"namespace", "{" META() ",'status':{'phase':'Terminating'}}", "['x','Terminating','5m']"},
	{"namespace", "{" META() "}", "['x','Active','5m']"},
	{"configmap", "{" META() ",'data':{'a':'1','b':'2'},'binaryData':{'c':'AA=='}}", "['x',3,'5m']"},
	{"configmap", "{" META() "}", "['x',0,'5m']"},
	{"serviceaccount", "{" META() ",'secrets':[{'name':'a'},{'name':'b'}]}", "['x',2,'5m']"},
	/* events */
	{"event",
	 "{" META() ",'type':'Warning','reason':'FailedScheduling','involvedObject':{'kind':'Pod',"
	 "'name':'web-1','fieldPath':'spec.containers{web}'},'source':{'component':'kubelet',"
	 "'host':'node-0'},'message':' 0/3 nodes are available\\n','firstTimestamp':"
	 "'2026-01-02T11:00:00Z','lastTimestamp':'2026-01-02T11:59:30Z','count':12}",
	 "['30s','Warning','FailedScheduling','pod/web-1','spec.containers{web}','kubelet, node-0',"
	 "'0/3 nodes are available','60m',12,'x']"},
	{"event",
	 "{" META() ",'type':'Normal','reason':'Scheduled','involvedObject':{'kind':'PodMigrationJob'},"
	 "'reportingComponent':'neap','reportingInstance':'neap-0','message':'a b',"
	 "'firstTimestamp':null,'lastTimestamp':null,'eventTime':'2026-01-02T11:58:00.123456Z'}",
	 "['119s','Normal','Scheduled','podmigrationjob','','neap, neap-0','a b','119s',1,'x']"},
	{"event",
	 "{" META() ",'involvedObject':{'kind':'Node','name':'n'},'source':{'component':'c'},"
	 "'eventTime':'2026-01-02T11:50:00.000000Z','series':{'count':3,'lastObservedTime':"
	 "'2026-01-02T11:59:59.000000Z'}}",
	 "['1s','','','node/n','','c','','10m',3,'x']"},
	{"event",
	 "{" META() ",'type':'Normal','reason':'R','regarding':{'kind':'Pod','name':'p'},'note':'n',"
	 "'deprecatedSource':{'component':'c','host':'h'},'deprecatedCount':2,"
	 "'deprecatedFirstTimestamp':'2026-01-02T11:50:00Z',"
	 "'deprecatedLastTimestamp':'2026-01-02T11:55:00Z'}",
	 "['5m','Normal','R','pod/p','','c, h','n','10m',2,'x']"},
	{"event", "{}", "['<unknown>','','','','','','','<unknown>',1,'']"},
	/* services */
	{"service",
	 "{" META() ",'spec':{'type':'ClusterIP','clusterIP':'10.96.0.1','clusterIPs':['10.96.0.1',"
	 "'fd00::1'],'ports':[{'port':443,'protocol':'TCP'},{'port':53,'protocol':'UDP'}],"
	 "'selector':{'b':'2','a':'1'}}}",
	 "['x','ClusterIP','10.96.0.1','<none>','443/TCP,53/UDP','5m','a=1,b=2']"},
	{"service",
	 "{" META() ",'spec':{'type':'NodePort','clusterIP':'10.96.0.2','externalIPs':['192.0.2.7'],"
	 "'ports':[{'port':80,'nodePort':30080}]}}",
	 "['x','NodePort','10.96.0.2','192.0.2.7','80:30080/TCP','5m','<none>']"},
	{"service",
	 "{" META() ",'spec':{'type':'LoadBalancer','clusterIP':'10.96.0.3','ports':[]}}",
	 "['x','LoadBalancer','10.96.0.3','<pending>','<none>','5m','<none>']"},
	{"service",
	 "{" META() ",'spec':{'type':'LoadBalancer','clusterIP':'10.96.0.3','externalIPs':['1.1.1.1']},"
	 "'status':{'loadBalancer':{'ingress':[{'hostname':'lb.example'},{'ip':'192.0.2.9'},{},"
	 "{'ip':'192.0.2.9','hostname':'y'},{'ip':'192.0.2.10'}]}}}",
	 "['x','LoadBalancer','10.96.0.3','192.0.2.10,192.0.2.9,lb.example,1.1.1.1','<none>','5m',"
	 "'<none>']"},
	{"service", "{" META() ",'spec':{'type':'ExternalName','externalName':'a.example'}}",
	 "['x','ExternalName','<none>','a.example','<none>','5m','<none>']"},
	{"service", "{" META() ",'spec':{'clusterIP':'None'}}",
	 "['x','ClusterIP','None','<none>','<none>','5m','<none>']"},
	{"service", "{" META() ",'spec':{'type':'Odd','externalIPs':['1.1.1.1']}}",
	 "['x','Odd','<none>','<unknown>','<none>','5m','<none>']"},
	/* storage */
	{"persistentvolume",
	 "{" META() ",'spec':{'capacity':{'storage':'1024Mi'},'accessModes':['ReadWriteMany',"
	 "'ReadWriteOnce','ReadWriteMany'],'persistentVolumeReclaimPolicy':'Retain','claimRef':"
	 "{'namespace':'shop','name':'data'},'storageClassName':'fast','volumeMode':'Filesystem'},"
	 "'status':{'phase':'Bound'}}",
	 "['x','1Gi','RWO,RWX','Retain','Bound','shop/data','fast','','5m','Filesystem']"},
	{"persistentvolume",
	 "{" META(",'deletionTimestamp':'2026-01-02T11:59:00Z','annotations':"
		  "{'volume.beta.kubernetes.io/storage-class':'old'}")
	 ",'spec':{'capacity':{'storage':'10G'},'accessModes':['ReadOnlyMany','ReadWriteOncePod'],"
	 "'storageClassName':'new'},'status':{'phase':'Failed','reason':'Gone'}}",
	 "['x','10G','ROX,RWOP','','Terminating','','old','Gone','5m','<unset>']"},
	{"persistentvolume", "{" META() "}", "['x','','','','Pending','','','','5m','<unset>']"},
	{"persistentvolumeclaim",
	 "{" META() ",'spec':{'volumeName':'pv-1','storageClassName':'fast','volumeMode':'Block',"
	 "'resources':{'requests':{'storage':'1Gi'}}},'status':{'phase':'Bound','capacity':{'storage':"
	 "'2500M'},'accessModes':['ReadWriteOnce']}}",
	 "['x','Bound','pv-1','2500M','RWO','fast','5m','Block']"},
	{"persistentvolumeclaim",
	 "{" META() ",'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}},"
	 "'status':{'phase':'Pending','capacity':{'storage':'1Gi'},'accessModes':['ReadWriteOnce']}}",
	 "['x','Pending','','','','','5m','<unset>']"},
	{"storageclass",
	 "{" META(",'annotations':{'storageclass.kubernetes.io/is-default-class':'true'}")
	 ",'provisioner':'csi.example','reclaimPolicy':'Retain','volumeBindingMode':"
	 "'WaitForFirstConsumer','allowVolumeExpansion':true}",
	 "['x (default)','csi.example','Retain','WaitForFirstConsumer',true,'5m']"},
	{"storageclass",
	 "{" META(",'annotations':{'storageclass.kubernetes.io/is-default-class':'false'}")
	 ",'provisioner':'csi.example'}",
	 "['x','csi.example','Delete','Immediate',false,'5m']"},
	{"csinode", "{" META() ",'spec':{'drivers':[{'name':'a'}]}}", "['x',1,'5m']"},
	/* workloads */
	{"deployment",
	 "{" META() ",'spec':{'replicas':3," SELECTOR "," TEMPLATE "},'status':{'readyReplicas':2,"
	 "'updatedReplicas':3,'availableReplicas':1}}",
	 "['x','2/3',3,1,'5m','a,b','nginx:1.25,busybox'," SELECTED "]"},
	{"deployment", "{" META() ",'spec':{'replicas':0,'selector':{}}}",
	 "['x','0/0',0,0,'5m','','','']"},
	{"deployment", "{" META() ",'spec':{" BAD_SELECTOR "}}",
	 "['x','0/1',0,0,'5m','','','<invalid>']"},
	{"replicaset",
	 "{" META() ",'spec':{'replicas':3," SELECTOR "," TEMPLATE "},'status':{'replicas':2,"
	 "'readyReplicas':1}}",
	 "['x',3,2,1,'5m','a,b','nginx:1.25,busybox'," SELECTED "]"},
	{"replicaset", "{" META() ",'spec':{" BAD_SELECTOR "}}", "['x',1,0,0,'5m','','','<error>']"},
	{"replicaset",
	 "{" META() ",'spec':{'selector':{'matchExpressions':[{'key':'a','operator':'Exists',"
	 "'values':['b']}]}}}",
	 "['x',1,0,0,'5m','','','<error>']"},
	{"replicaset",
	 "{" META() ",'spec':{'selector':{'matchExpressions':[{'key':'a','operator':'exists'}]}}}",
	 "['x',1,0,0,'5m','','','<error>']"},
	{"replicaset", "{" META() ",'spec':{'selector':{}}}", "['x',1,0,0,'5m','','','<none>']"},
	{"replicationcontroller",
	 "{" META() ",'spec':{'replicas':2,'selector':{'b':'2','a':'1'}," TEMPLATE "},'status':"
	 "{'replicas':2,'readyReplicas':2}}",
	 "['x',2,2,2,'5m','a,b','nginx:1.25,busybox','a=1,b=2']"},
	{"statefulset",
	 "{" META() ",'spec':{'replicas':5," TEMPLATE "},'status':{'readyReplicas':4}}",
	 "['x','4/5','5m','a,b','nginx:1.25,busybox']"},
	{"daemonset",
	 "{" META() ",'spec':{'selector':{'matchLabels':{'app':'log'}},'template':{'spec':{'nodeSelector':"
	 "{'os':'linux','arch':'amd64'},'containers':[{'name':'log','image':'fluent'}]}}},'status':"
	 "{'desiredNumberScheduled':5,'currentNumberScheduled':4,'numberReady':3,"
	 "'updatedNumberScheduled':2,'numberAvailable':1}}",
	 "['x',5,4,3,2,1,'arch=amd64,os=linux','5m','log','fluent','app=log']"},
	{"job",
	 "{" META() ",'spec':{'completions':4,'parallelism':2," TEMPLATE ",'selector':{'matchLabels':"
	 "{'job':'x'}}},'status':{'succeeded':1,'startTime':'2026-01-02T11:57:00Z'}}",
	 "['x','1/4','3m','5m','a,b','nginx:1.25,busybox','job=x']"},
	{"job",
	 "{" META() ",'spec':{'parallelism':3},'status':{'succeeded':2,'startTime':"
	 "'2026-01-02T11:55:00Z','completionTime':'2026-01-02T11:56:05Z'}}",
	 "['x','2/1 of 3','65s','5m','','','<none>']"},
	{"job", "{" META() ",'spec':{'parallelism':1}}", "['x','0/1','','5m','','','<none>']"},
	{"job", "{" META() ",'spec':{}}", "['x','0/1','','5m','','','<none>']"},
	/* others */
	{"poddisruptionbudget",
	 "{" META() ",'spec':{'minAvailable':'50%'},'status':{'disruptionsAllowed':2}}",
	 "['x','50%','N/A',2,'5m']"},
	{"poddisruptionbudget", "{" META() ",'spec':{'maxUnavailable':1}}", "['x','N/A','1',0,'5m']"},
	{"priorityclass", "{" META() ",'value':1000000,'globalDefault':true}", "['x',1000000,true,'5m']"},
	{"priorityclass", "{" META() ",'value':-10}", "['x',-10,false,'5m']"},
	{"lease", "{" META() ",'spec':{'holderIdentity':'node-0_ab'}}", "['x','node-0_ab','5m']"},
	{"lease", "{" META() ",'spec':{'holderIdentity':null}}", "['x','','5m']"},
	{"customresourcedefinition", "{" META() "}", "['x','2026-01-02T11:55:00Z']"},
	{"pod",
	 "{" META() ",'spec':{'nodeName':'n','containers':[{'name':'a'}],'initContainers':[{'name':'s',"
	 "'restartPolicy':'Always'}],'readinessGates':[{'conditionType':'g'}]},'status':{'phase':"
	 "'Running','podIPs':[{'ip':'10.0.0.7'}],'conditions':[{'type':'g','status':'True'}],"
	 "'initContainerStatuses':[{'name':'s','started':true,'ready':true}],'containerStatuses':["
	 "{'ready':true,'restartCount':1,'state':{'running':{}},'lastState':{'terminated':"
	 "{'finishedAt':'2026-01-02T11:59:00Z'}}}]}}",
	 "['x','2/2','Running','1 (60s ago)','5m','10.0.0.7','n','<none>','1/1']"},
};
/* clang-format on */

static int64_t now(void)
{
	int64_t usec = 0;

	assert_int_equal(neap_time_parse("2026-01-02T12:00:00Z", &usec, NULL), 0);
	return usec;
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *object = json_rig_make(rows[i].object);
		json_t *got = neap_kube_cells(kind_named(rows[i].kind), object, now());
		char name[64];

		(void)snprintf(name, sizeof(name), "%s, row %zu", rows[i].kind, i);
		json_rig_check(name, got, rows[i].want);
		json_decref(got);
		json_decref(object);
	}
	/* Each kind has one. */
	for (size_t i = 0; i < NEAP_ARRAY_LEN(kinds); i++) {
		size_t j = 0;

		while (j < NEAP_ARRAY_LEN(rows) &&
		       strcmp(rows[j].kind, kinds[i].kind) != 0)
			j++;
		if (j == NEAP_ARRAY_LEN(rows))
			fail_msg("no row of a %s", kinds[i].kind);
	}
}

static void test_columns(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(kinds); i++) {
		const struct neap_kube_kind *kind = kind_named(kinds[i].kind);
		char got[512] = "";
		size_t len = 0, names = 0;

		for (size_t j = 0; j < kind->column_count; j++) {
			const struct neap_kube_column *c = &kind->columns[j];

			len += (size_t)snprintf(got + len, sizeof(got) - len,
						c->priority > 0 ? "%s[%s]" : "%s%s",
						j > 0 ? "," : "", c->name);
			names += strcmp(c->format, "name") == 0;
			assert_true(c->doc[0] != '\0' && c->path == NULL);
			if (strcmp(c->type, "string") != 0 &&
			    strcmp(c->type, "integer") != 0 &&
			    strcmp(c->type, "boolean") != 0 &&
			    strcmp(c->type, "date") != 0)
				fail_msg("%s: %s", kind->kind, c->type);
		}
		if (strcmp(got, kinds[i].columns) != 0)
			fail_msg("%s: %s", kind->kind, got);
		assert_int_equal(names, 1);
	}
}

/* A row has its cells whatever the object looks like, and nothing but scalars in them. */
static void check_row(const struct neap_kube_kind *kind, const json_t *object,
		      const char *what)
{
	json_t *cells = neap_kube_cells(kind, object, now());
	json_t *cell;
	size_t i;

	if (json_array_size(cells) != kind->column_count)
		fail_msg("%s, %s: %zu cells", kind->kind, what, json_array_size(cells));
	json_array_foreach (cells, i, cell) {
		const char *type = kind->columns[i].type;

		if (json_is_array(cell) || json_is_object(cell) || json_is_null(cell) ||
		    (strcmp(type, "integer") == 0 && !json_is_integer(cell)) ||
		    (strcmp(type, "boolean") == 0 && !json_is_boolean(cell)))
			fail_msg("%s, %s: %s", kind->kind, what, kind->columns[i].name);
	}
	json_decref(cells);
}

/* Puts another value in the place of the n-th one, counted from the root; n is then what
 * is left. */
static void replace(json_t *in, int *n, json_t *by)
{
	const char *key;
	json_t *value;
	size_t i;

	json_object_foreach (in, key, value) {
		if (*n >= 0 && (*n)-- == 0) {
			json_object_set(in, key, by);
			return;
		}
		if (*n >= 0)
			replace(value, n, by);
	}
	for (i = 0; i < json_array_size(in); i++) {
		if (*n >= 0 && (*n)-- == 0) {
			json_array_set(in, i, by);
			return;
		}
		if (*n >= 0)
			replace(json_array_get(in, i), n, by);
	}
}

static void test_wrong_types(void **state)
{
	static const char *const others[] = {
		"null",    "true",   "-7",      "9223372036854775807",
		"1e300",   "'text'", "''",      "[]",
		"[[],{}]", "{}",     "{'a':[]}"};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(kinds); i++)
		for (size_t j = 0; j < NEAP_ARRAY_LEN(others); j++) {
			json_t *object = json_rig_make(others[j]);

			check_row(kind_named(kinds[i].kind), object, others[j]);
			json_decref(object);
		}
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *whole = json_rig_make(rows[i].object);

		for (size_t j = 0; j < NEAP_ARRAY_LEN(others); j++) {
			json_t *other = json_rig_make(others[j]);
			int left = -1, count;

			for (count = 0; left < 0; count++) {
				json_t *object = json_deep_copy(whole);
				char what[96];

				left = count;
				replace(object, &left, other);
				(void)snprintf(what, sizeof(what),
					       "row %zu, %s in place %d", i, others[j],
					       count);
				check_row(kind_named(rows[i].kind), object, what);
				json_decref(object);
			}
			assert_true(count > (int)json_object_size(whole));
			json_decref(other);
		}
		json_decref(whole);
	}
}

/* All of a row or nothing of it. */
static void test_no_memory(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const struct neap_kube_kind *kind = kind_named(rows[i].kind);
		json_t *object = json_rig_make(rows[i].object);
		uint64_t before, n;

		for (n = 1;; n++) {
			json_t *got;
			bool is_short;

			before = neap_mem_failures();
			neap_mem_fail_at(n);
			got = neap_kube_cells(kind, object, now());
			neap_mem_fail_at(0);
			is_short = neap_mem_failures() > before;
			if (got != NULL)
				json_rig_check(kind->kind, got, rows[i].want);
			if (is_short == (got != NULL))
				fail_msg("%s, allocation %llu", kind->kind,
					 (unsigned long long)n);
			json_decref(got);
			if (!is_short)
				break;
		}
		assert_true(n > 3);
		json_decref(object);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_wrong_types),
		cmocka_unit_test(test_no_memory),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
