/* SPDX-License-Identifier: Apache-2.0
 *
 * Server-side apply over HTTP, and who owns which fields. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/kube_rig.h"

#define STEPS(rig, steps) kube_steps(rig, steps, NEAP_ARRAY_LEN(steps))
#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

#define MAPS   "/api/v1/namespaces/default/configmaps"
#define PODS   "/api/v1/namespaces/default/pods"
#define SERVES "/api/v1/namespaces/default/services"
#define NODES  "/api/v1/nodes"
#define EVENTS "/apis/events.k8s.io/v1/namespaces/default/events"
#define DEPLOY "/apis/apps/v1/namespaces/default/deployments"
#define DEFS   "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define TOYS   "/apis/toys.example.com/v1/namespaces/default/toys"

#define MAP(name, more)                                                                  \
	"{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'" name "'}" more "}"
#define POD(name, node, image)                                                           \
	"{'kind':'Pod','apiVersion':'v1','metadata':{'name':'" name                      \
	"'},'spec':{'nodeName':'" node "','containers':[{'name':'c','image':'" image     \
	"'}]}}"
#define OWNS(n, who, how)                                                                \
	"metadata.managedFields." n ".manager=" who,                                     \
		"metadata.managedFields." n ".operation=" how
#define FIELDS(n, set) "metadata.managedFields." n ".fieldsV1=" set

/* Made, changed, made smaller; what others own stays theirs. */
static void test_apply(void **state)
{
	static const struct kube_step steps[] = {
		{"APPLY " MAPS "/a?fieldManager=one",
		 MAP("a", ",'data':{'x':'1','y':'2'}"),
		 201,
		 {"data.x=1", OWNS("0", "one", "Apply"),
		  "metadata.managedFields.0.apiVersion=v1",
		  "metadata.managedFields.0.fieldsType=FieldsV1",
		  "metadata.managedFields.0.time=2026-09-21T14:13:20Z",
		  FIELDS("0", "{\"f:data\":{\"f:x\":{},\"f:y\":{}}}")}},
		/* The same is no change. */
		{"APPLY " MAPS "/a?fieldManager=one",
		 MAP("a", ",'data':{'x':'1','y':'2'}"),
		 200,
		 {"metadata.resourceVersion=@2"}},
		/* YAML is what its name says. */
		{"APPLY " MAPS "/a?fieldManager=two",
		 "kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: a\n"
		 "data:\n  z: \"3\"\n  \"y\": \"2\"\n",
		 200,
		 {"data.z=3", "data.x=1", "#metadata.managedFields=2",
		  FIELDS("1", "{\"f:data\":{\"f:y\":{},\"f:z\":{}}}")}},
		/* x was its own alone, y is also that of the other. */
		{"APPLY " MAPS "/a?fieldManager=one",
		 MAP("a", ",'data':{'w':'4'}"),
		 200,
		 {"!data.x", "data.y=2", "data.z=3", "data.w=4"}},
		{"APPLY " MAPS "/a?fieldManager=one",
		 MAP("a", ""),
		 200,
		 {"!data.w", "data.y=2", "#metadata.managedFields=1",
		  OWNS("0", "two", "Apply")}},
		{"APPLY " MAPS "/a?fieldManager=two",
		 MAP("a", ""),
		 200,
		 {"!data", "!metadata.managedFields"}},
		/* Metadata of null is none; a name of null takes the name away. */
		{"APPLY " MAPS "/a?fieldManager=two",
		 "{'kind':'ConfigMap','apiVersion':'v1','metadata':null}",
		 200,
		 {"metadata.name=a"}},
		{"APPLY " MAPS "/a?fieldManager=two",
		 "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':null}}",
		 400,
		 {"message~undeterminable: name must be provided"}},
		{"APPLY " MAPS "/new?fieldManager=two",
		 "{'kind':'ConfigMap','apiVersion':'v1','metadata':null}",
		 400,
		 {"message~undeterminable: name must be provided"}},
	};

	STEPS(*state, steps);
}

static void test_conflict(void **state)
{
	static const struct kube_step steps[] = {
		{"APPLY " MAPS "/a?fieldManager=one",
		 MAP("a", ",'data':{'x':'1','y':'2'}"),
		 201,
		 {NULL}},
		{"APPLY " MAPS "/a?fieldManager=two",
		 MAP("a", ",'data':{'x':'9'}"),
		 409,
		 {"reason=Conflict",
		  "message=Apply failed with 1 conflict: conflict with \"one\": .data.x",
		  "details.causes.0.reason=FieldManagerConflict",
		  "details.causes.0.field=.data.x",
		  "details.causes.0.message=conflict with \"one\"", "!details.kind"}},
		/* To want the same is none: then both own it. */
		{"APPLY " MAPS "/a?fieldManager=two",
		 MAP("a", ",'data':{'x':'1'}"),
		 200,
		 {"#metadata.managedFields=2"}},
		{"APPLY " MAPS "/a?fieldManager=three",
		 MAP("a", ",'data':{'x':'9','y':'9'}"),
		 409,
		 {"message=Apply failed with 3 conflicts: conflicts with \"one\":\n"
		  "- .data.x\n- .data.y\nconflicts with \"two\":\n- .data.x",
		  "#details.causes=3"}},
		{"APPLY " MAPS "/a?fieldManager=three&dryRun=All&force=true",
		 MAP("a", ",'data':{'x':'9','y':'9'}"),
		 200,
		 {"data.x=9", "#metadata.managedFields=1", OWNS("0", "three", "Apply")}},
		{"GET " MAPS "/a", NULL, 200, {"data.x=1", "#metadata.managedFields=2"}},
		{"APPLY " MAPS "/a?fieldManager=three&force=true",
		 MAP("a", ",'data':{'x':'9'}"),
		 200,
		 {"data.x=9", "data.y=2", FIELDS("0", "{\"f:data\":{\"f:y\":{}}}"),
		  OWNS("0", "one", "Apply"), OWNS("1", "three", "Apply"),
		  "#metadata.managedFields=2"}},
		/* An update takes without being asked. */
		{"MERGE " MAPS "/a?fieldManager=editor",
		 "{'data':{'x':'8'}}",
		 200,
		 {"#metadata.managedFields=2", OWNS("0", "one", "Apply"),
		  OWNS("1", "editor", "Update"),
		  FIELDS("1", "{\"f:data\":{\"f:x\":{}}}")}},
		{"APPLY " MAPS "/a?fieldManager=three",
		 MAP("a", ",'data':{'x':'9'}"),
		 409,
		 {"message~conflict with \"editor\" using v1: .data.x"}},
		/* What is gone is nobody's. */
		{"MERGE " MAPS "/a?fieldManager=editor",
		 "{'data':{'x':null,'y':null}}",
		 200,
		 {"!metadata.managedFields", "!data"}},
	};

	STEPS(*state, steps);
}

/* Whoever had all there was of a member takes it with him, but for the metadata: a patch
 * always says the name. */
static void test_last_label(void **state)
{
	static const struct kube_step steps[] = {
		{"APPLY " MAPS "/a?fieldManager=one",
		 "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'a','labels':{"
		 "'a':'b'},'annotations':{'c':'d'}}}",
		 201,
		 {"metadata.labels.a=b"}},
		{"APPLY " MAPS "/a?fieldManager=one",
		 MAP("a", ""),
		 200,
		 {"metadata.name=a", "!metadata.labels", "!metadata.annotations",
		  "!metadata.managedFields"}},
		{"MERGE " MAPS "/a", "{'metadata':{'labels':{'mine':'x'}}}", 200, {NULL}},
		/* Not even where a client wrote that it is one's own. */
		{"JSON " MAPS "/a",
		 "[{'op':'add','path':'/metadata/managedFields','value':[{'manager':"
		 "'one','operation':'Apply','apiVersion':'v1','fieldsType':'FieldsV1',"
		 "'fieldsV1':{'f:metadata':{'.':{},'f:name':{},'f:uid':{},"
		 "'f:labels':{'f:mine':{}}}}}]}]",
		 200,
		 {OWNS("0", "one", "Apply")}},
		{"APPLY " MAPS "/a?fieldManager=one",
		 MAP("a", ""),
		 200,
		 {"metadata.name=a", "metadata.uid", "!metadata.labels"}},
	};

	STEPS(*state, steps);
}

/* Keyed lists, sets, and what is one value. */
static void test_lists(void **state)
{
	static const struct kube_step steps[] = {
		/* Ports are told apart by two keys, one of which has a default. */
		{"APPLY " SERVES "/s?fieldManager=one",
		 "{'kind':'Service','apiVersion':'v1','metadata':{'name':'s','finalizers'"
		 ":['a/a']},'spec':{'selector':{'a':'b'},'ports':[{'name':'t','port':53},"
		 "{'name':'u','port':53,'protocol':'UDP'}]}}",
		 201,
		 {"#spec.ports=2",
		  "metadata.managedFields.0.fieldsV1.f:metadata.f:finalizers={"
		  "\"v:\\\"a/a\\\"\":{}}"}},
		{"APPLY " SERVES "/s?fieldManager=two",
		 "{'kind':'Service','apiVersion':'v1','metadata':{'name':'s','finalizers'"
		 ":['b/b']},'spec':{'ports':[{'port':80,'name':'h'}]}}",
		 200,
		 {"#spec.ports=3", "metadata.finalizers=[\"a/a\",\"b/b\"]"}},
		{"APPLY " SERVES "/s?fieldManager=one",
		 "{'kind':'Service','apiVersion':'v1','metadata':{'name':'s'},'spec':{"
		 "'selector':{'a':'b'},'ports':[{'name':'u','port':53,'protocol':'UDP'}]"
		 "}}",
		 200,
		 {"#spec.ports=2", "spec.ports.0.name=u", "spec.ports.1.name=h",
		  "metadata.finalizers=[\"b/b\"]"}},
		/* A selector of labels is one value. */
		{"APPLY " DEPLOY "/d?fieldManager=one",
		 "{'kind':'Deployment','apiVersion':'apps/v1','metadata':{'name':'d'},"
		 "'spec':{'replicas':2,'selector':{'matchLabels':{'a':'b'}},'template':"
		 "{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c',"
		 "'image':'i'}]}}}}",
		 201,
		 {"metadata.managedFields.0.fieldsV1.f:spec.f:selector={}",
		  "metadata.generation=1"}},
		{"APPLY " DEPLOY "/d?fieldManager=two",
		 "{'kind':'Deployment','apiVersion':'apps/v1','metadata':{'name':'d'},"
		 "'spec':{'template':{'spec':{'containers':[{'name':'e','image':'j'}]}}}}",
		 200,
		 {"#spec.template.spec.containers=2", "metadata.generation=2"}},
		{"APPLY " DEPLOY "/d?fieldManager=two",
		 "{'kind':'Deployment','apiVersion':'apps/v1','metadata':{'name':'d'}}",
		 200,
		 {"#spec.template.spec.containers=1", "#metadata.managedFields=1"}},
		/* Refused as they stand. */
		{"APPLY " PODS "/p?fieldManager=one",
		 "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'p'},'spec':{"
		 "'containers':[{'image':'i'}]}}",
		 400,
		 {"message~failed to create typed patch object: .spec.containers[0]: an "
		  "item of a list with keys omits key field \"name\""}},
		{"APPLY " PODS "/p?fieldManager=one",
		 "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'p'},'spec':{"
		 "'containers':[{'name':'c'},{'name':'c'}]}}",
		 400,
		 {"message~duplicate entries for key {\"name\":\"c\"}"}},
		/* An update that does the same makes one value of the list. */
		{"POST " PODS "?fieldManager=m",
		 "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'i',"
		 "'env':[{'name':'E','value':'1'},{'name':'E','value':'2'}]}]}}",
		 201,
		 {"#spec.containers.0.env=2", "#metadata.managedFields=1"}},
		{"GET " PODS "/p", NULL, 200, {"#metadata.managedFields=1"}},
	};

	STEPS(*state, steps);
}

/* /status and /scale are parts with owners of their own. */
static void test_parts(void **state)
{
	static const struct kube_step steps[] = {
		{"APPLY " DEPLOY "/d/status?fieldManager=one",
		 "{'kind':'Deployment','apiVersion':'apps/v1','metadata':{'name':'d'}}",
		 404,
		 {NULL}},
		{"APPLY " DEPLOY "/d?fieldManager=one",
		 "{'kind':'Deployment','apiVersion':'apps/v1','metadata':{'name':'d'},"
		 "'spec':{'replicas':2,'selector':{'matchLabels':{'a':'b'}},'template':"
		 "{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c',"
		 "'image':'i'}]}}},'status':{'replicas':9}}",
		 201,
		 {"!status.replicas", "!metadata.managedFields.0.fieldsV1.f:status"}},
		{"APPLY " DEPLOY "/d/status?fieldManager=one",
		 "{'kind':'Deployment','apiVersion':'apps/v1','metadata':{'name':'d'},"
		 "'spec':{'replicas':7},'status':{'replicas':2}}",
		 200,
		 {"status.replicas=2", "spec.replicas=2", "#metadata.managedFields=2",
		  "metadata.managedFields.1.subresource=status",
		  FIELDS("1", "{\"f:status\":{\"f:replicas\":{}}}")}},
		{"APPLY " DEPLOY "/d/scale?fieldManager=two",
		 "{'kind':'Scale','apiVersion':'autoscaling/v1','metadata':{'name':'d'},"
		 "'spec':{'replicas':5}}",
		 409,
		 {"message=Apply failed with 1 conflict: conflict with \"one\": "
		  ".spec.replicas"}},
		{"APPLY " DEPLOY "/d/scale?fieldManager=two&force=true",
		 "{'kind':'Scale','apiVersion':'autoscaling/v1','metadata':{'name':'d'},"
		 "'spec':{'replicas':5}}",
		 200,
		 {"kind=Scale", "spec.replicas=5"}},
		{"GET " DEPLOY "/d",
		 NULL,
		 200,
		 {"spec.replicas=5", "#metadata.managedFields=3",
		  "metadata.managedFields.2.subresource=scale",
		  FIELDS("2", "{\"f:spec\":{\"f:replicas\":{}}}")}},
		{"APPLY " DEPLOY "/d?fieldManager=three",
		 "{'kind':'Deployment','apiVersion':'apps/v1','metadata':{'name':'d'},"
		 "'spec':{'replicas':1}}",
		 409,
		 {"message~conflict with \"two\" with subresource \"scale\": "}},
		{"MERGE " DEPLOY "/d/scale?fieldManager=h",
		 "{'spec':{'replicas':6}}",
		 200,
		 {NULL}},
		{"GET " DEPLOY "/d",
		 NULL,
		 200,
		 {"#metadata.managedFields=3", OWNS("2", "h", "Update"),
		  "metadata.managedFields.2.subresource=scale"}},
	};

	STEPS(*state, steps);
}

static void test_refused(void **state)
{
	static const struct kube_step steps[] = {
		{"APPLY " MAPS "/a",
		 MAP("a", ""),
		 422,
		 {"message=PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: "
		  "Required value: is required for apply patch",
		  "details.causes.0.field=fieldManager"}},
		{"APPLY " MAPS "/a?fieldManager=%FF",
		 MAP("a", ""),
		 422,
		 {"details.causes.0.field=fieldManager"}},
		{"APPLY " MAPS "/a?fieldManager=one", "[]", 400, {NULL}},
		{"APPLY " MAPS "/a?fieldManager=one", "", 400, {NULL}},
		{"APPLY " MAPS "/a?fieldManager=one", "a: [", 400, {NULL}},
		{"APPLY " MAPS "/a?fieldManager=one",
		 "{}",
		 400,
		 {"message~Incorrect version"}},
		{"APPLY " MAPS "/a?fieldManager=one",
		 "{'kind':'ConfigMap'}",
		 400,
		 {"message=Incorrect version specified in apply patch. Specified patch version: , expected: v1"}},
		{"APPLY " MAPS "/a?fieldManager=one",
		 "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'a'}}",
		 400,
		 {NULL}},
		{"APPLY " MAPS "/a?fieldManager=one",
		 "{'kind':'ConfigMap','apiVersion':'v2','metadata':{'name':'a'}}",
		 400,
		 {NULL}},
		{"APPLY " MAPS "/a?fieldManager=one", MAP("b", ""), 400, {NULL}},
		{"APPLY " MAPS "/a?fieldManager=one",
		 MAP("a", ",'frob':1"),
		 400,
		 {"message=failed to create typed patch object: .frob: field not "
		  "declared in schema"}},
		{"APPLY " MAPS "/a?fieldManager=one",
		 "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'a',"
		 "'managedFields':[]}}",
		 400,
		 {"message=metadata.managedFields must be nil"}},
		{"APPLY " MAPS "/a?fieldManager=one",
		 "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'a','uid':'u'"
		 "}}",
		 409,
		 {"message~uid mismatch: the provided object specified uid u"}},
		{"APPLY " MAPS "/a?fieldManager=one",
		 MAP("a", ",'data':{'x':{'y':1}}"),
		 422,
		 {NULL}},
		{"APPLY " MAPS "/a?fieldManager=one",
		 "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'a','namespace':'other'}}",
		 400,
		 {"message=the namespace of the object (other) does not match the namespace on the request (default)"}},
		{"GET " MAPS "/a", NULL, 404, {NULL}},
		{"APPLY " MAPS "/a?fieldManager=one", MAP("a", ""), 201, {NULL}},
		{"APPLY " MAPS "/a?fieldManager=one",
		 "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'a',"
		 "'resourceVersion':'1'},'data':{'x':'1'}}",
		 409,
		 {"reason=Conflict", "message~the object has been modified"}},
		{"APPLY " MAPS "/a?fieldManager=one",
		 "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'a',"
		 "'resourceVersion':'@2'},'data':{'x':'1'}}",
		 200,
		 {"data.x=1"}},
		/* The fields of a view have other names than what is stored. */
		{"APPLY " EVENTS "/e?fieldManager=one",
		 "{'kind':'Event','apiVersion':'events.k8s.io/v1','metadata':{'name':'e'"
		 "}}",
		 415,
		 {"message~another version, v1"}},
	};

	STEPS(*state, steps);
}

/* As kubectl does it: what client-side apply set is its own still. */
static void test_kubectl(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " MAPS "?fieldManager=kubectl-client-side-apply",
		 "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'a',"
		 "'annotations':{'kubectl.kubernetes.io/last-applied-configuration':"
		 "'{\\'kind\\':\\'ConfigMap\\',\\'apiVersion\\':\\'v1\\',\\'metadata\\':"
		 "{\\'name\\':\\'a\\'},\\'data\\':{\\'x\\':\\'1\\'}}'}},'data':{'x':'1'}"
		 "}",
		 201,
		 {OWNS("0", "kubectl-client-side-apply", "Update")}},
		{"APPLY " MAPS "/a?fieldManager=other",
		 MAP("a", ",'data':{'x':'2'}"),
		 409,
		 {"message~conflict with \"kubectl-client-side-apply\" using v1: "
		  ".data.x"}},
		{"APPLY " MAPS "/a?fieldManager=kubectl",
		 MAP("a", ",'data':{'x':'2'}"),
		 200,
		 {"data.x=2",
		  "metadata.annotations={\"kubectl.kubernetes.io/"
		  "last-applied-configuration\":\"{\\\"apiVersion\\\":\\\"v1\\\","
		  "\\\"data\\\":{\\\"x\\\":\\\"2\\\"},\\\"kind\\\":\\\"ConfigMap\\\","
		  "\\\"metadata\\\":{\\\"name\\\":\\\"a\\\"}}\\n\"}",
		  OWNS("0", "kubectl", "Apply"),
		  FIELDS("0", "{\"f:data\":{\"f:x\":{}}}")}},
		/* What somebody changed since is not. */
		{"MERGE " MAPS "/a?fieldManager=editor",
		 "{'data':{'x':'3'}}",
		 200,
		 {NULL}},
		{"APPLY " MAPS "/a?fieldManager=kubectl",
		 MAP("a", ",'data':{'x':'4'}"),
		 409,
		 {"message~conflict with \"editor\" using v1: .data.x"}},
	};

	STEPS(*state, steps);
}

/* Lists and maps as a definition declares them. */
static void test_declared(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " DEFS,
		 "{'kind':'CustomResourceDefinition','apiVersion':"
		 "'apiextensions.k8s.io/v1','metadata':{'name':'toys.toys.example.com'},"
		 "'spec':{'group':'toys.example.com','scope':'Namespaced','names':{"
		 "'plural':'toys','kind':'Toy'},'versions':[{'name':'v1','served':true,"
		 "'storage':true,'subresources':{'status':{}},'schema':{"
		 "'openAPIV3Schema':{'type':'object','properties':{'status':{'type':"
		 "'object','x-kubernetes-preserve-unknown-fields':true},'spec':{'type':"
		 "'object','properties':{'keyed':{'type':'array','x-kubernetes-list-type'"
		 ":'map','x-kubernetes-list-map-keys':['a','b'],'items':{'type':'object',"
		 "'required':['a','b'],'properties':{'a':{'type':'string'},'b':{'type':"
		 "'integer'},'c':{'type':'string'}}}},'set':{'type':'array',"
		 "'x-kubernetes-list-type':'set','items':{'type':'string'}},'plain':{"
		 "'type':'array','items':{'type':'string'}},'whole':{'type':'object',"
		 "'x-kubernetes-map-type':'atomic','additionalProperties':{'type':"
		 "'string'}},'any':{'type':'object',"
		 "'x-kubernetes-preserve-unknown-fields':true}}}}}}}]}}",
		 201,
		 {NULL}},
		{"APPLY " TOYS "/t?fieldManager=one",
		 "{'kind':'Toy','apiVersion':'toys.example.com/v1','metadata':{'name':'t'"
		 "},'spec':{'keyed':[{'b':1,'a':'x','c':'c'}],'set':['s'],'plain':['p'],"
		 "'whole':{'k':'v'},'any':{'m':{'n':[1]}}}}",
		 201,
		 {FIELDS("0",
			 "{\"f:spec\":{\"f:any\":{\"f:m\":{\".\":{},\"f:n\":{}}},"
			 "\"f:keyed\":{\"k:{\\\"a\\\":\\\"x\\\",\\\"b\\\":1}\":{\".\":{},"
			 "\"f:a\":{},\"f:b\":{},\"f:c\":{}}},\"f:plain\":{},\"f:set\":{"
			 "\"v:\\\"s\\\"\":{}},\"f:whole\":{}}}")}},
		{"APPLY " TOYS "/t?fieldManager=two",
		 "{'kind':'Toy','apiVersion':'toys.example.com/v1','metadata':{'name':'t'"
		 "},'spec':{'keyed':[{'a':'x','b':2}],'set':['u'],'any':{'o':1}}}",
		 200,
		 {"#spec.keyed=2", "spec.set=[\"s\",\"u\"]", "spec.any.o=1"}},
		{"APPLY " TOYS "/t?fieldManager=two",
		 "{'kind':'Toy','apiVersion':'toys.example.com/v1','metadata':{'name':'t'"
		 "},'spec':{'keyed':[{'a':'x','b':1,'c':'d'}],'whole':{'l':'v'},'plain':["
		 "'q']}}",
		 409,
		 {"message=Apply failed with 3 conflicts: conflicts with \"one\":\n"
		  "- .spec.keyed[a=\"x\",b=1].c\n- .spec.plain\n- .spec.whole"}},
		{"APPLY " TOYS "/t?fieldManager=one",
		 "{'kind':'Toy','apiVersion':'toys.example.com/v1','metadata':{'name':'t'"
		 "},'spec':{'set':['s']}}",
		 200,
		 {"#spec.keyed=1", "!spec.plain", "!spec.whole", "!spec.any.m",
		  "spec.any.o=1"}},
		{"APPLY " TOYS "/t?fieldManager=one",
		 "{'kind':'Toy','apiVersion':'toys.example.com/v1','metadata':{'name':'t'"
		 "},'spec':{'odd':1}}",
		 400,
		 {"message~.spec.odd: field not declared in schema"}},
	};

	STEPS(*state, steps);
}

/* Whoever may change may not make all the same. */
static void test_rights(void **state)
{
	static const struct kube_step reader[] = {
		{"APPLY " MAPS "/a?fieldManager=one", MAP("a", ""), 403, {NULL}},
	};
	static const struct kube_step editor[] = {
		{"APPLY " MAPS "/a?fieldManager=one", MAP("a", ""), 201, {NULL}},
	};
	static const struct kube_step node[] = {
		{"APPLY " NODES "/n2?fieldManager=one",
		 "{'kind':'Node','apiVersion':'v1','metadata':{'name':'n2'}}",
		 403,
		 {NULL}},
		{"APPLY " NODES "/n1?fieldManager=one",
		 "{'kind':'Node','apiVersion':'v1','metadata':{'name':'n1'}}",
		 201,
		 {NULL}},
		{"APPLY " NODES "/n1?fieldManager=one",
		 "{'kind':'Node','apiVersion':'v1','metadata':{'name':'n1','labels':{"
		 "'node-restriction.kubernetes.io/a':'b'}}}",
		 403,
		 {NULL}},
		/* Of its own pods it may change the status, and nothing of others. */
		{"APPLY " PODS "/mine/status?fieldManager=one",
		 "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'mine','labels':{"
		 "'a':'b'}},'spec':{'nodeName':'n2'},'status':{'phase':'Running'}}",
		 200,
		 {"status.phase=Running", "spec.nodeName=n1", "!metadata.labels"}},
		{"APPLY " PODS "/mine?fieldManager=one&force=1",
		 POD("mine", "n1", "j"),
		 403,
		 {NULL}},
		{"APPLY " PODS "/other/status?fieldManager=one",
		 "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'other'},'status':{"
		 "'phase':'Failed'}}",
		 403,
		 {NULL}},
		{"APPLY " PODS "/new?fieldManager=one",
		 POD("new", "n2", "i"),
		 403,
		 {NULL}},
		{"APPLY " MAPS "/a?fieldManager=one", MAP("a", ""), 403, {NULL}},
	};
	static const struct kube_step pods[] = {
		{"POST " PODS, POD("mine", "n1", "i"), 201, {NULL}},
		{"POST " PODS, POD("other", "n2", "i"), 201, {NULL}},
	};

	STEPS(*state, pods);

	kube_as(*state, "rose-token-of-16");
	STEPS(*state, reader);
	kube_as(*state, "eddy-token-of-16");
	STEPS(*state, editor);
	kube_as(*state, "node-token-of-16");
	STEPS(*state, node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(apply),   TEST(conflict), TEST(last_label),
		TEST(lists),   TEST(parts),    TEST(refused),
		TEST(kubectl), TEST(declared), TEST(rights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
