/* SPDX-License-Identifier: Apache-2.0
 *
 * Strategic merge patches: what kubectl sends, each directive, orders of lists, what is
 * refused. Lists are compared with their order, which is that of a kube-apiserver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/json/json.h"
#include "t/lib/patch_rig.h"
#include "t/lib/patch_tables.h"

#define POD        &table_pod
#define DEPLOYMENT &table_deployment
#define SERVICE    &table_service
#define NODE       &table_node

/* A Deployment as `kubectl create deployment` and a few changes leave it. */
#define WEB                                                                                           \
	"{'metadata':{'name':'web','labels':{'app':'web','tier':'front'}},'spec':{'replicas':2,"      \
	"'strategy':{'type':'RollingUpdate','rollingUpdate':{'maxSurge':1}},"                         \
	"'template':{'metadata':{'labels':{'app':'web'}},'spec':{'containers':["                      \
	"{'name':'c','image':'busybox:2','env':[{'name':'A','value':'1'},{'name':'B','value':'2'}]}," \
	"{'name':'log','image':'log:1'}],'nodeSelector':{'pool':'batch'}}}}}"

/* clang-format off */
static const struct patch_case rows[] = {
	/* What kubectl sends. */
	{"cordon", NODE, "{'metadata':{'name':'node-0'},'spec':{'podCIDRs':['10.0.0.0/24']}}", "{'spec':{'unschedulable':true}}", "{'metadata':{'name':'node-0'},'spec':{'podCIDRs':['10.0.0.0/24'],'unschedulable':true}}"},
	{"uncordon", NODE, "{'spec':{'unschedulable':true,'podCIDRs':['10.0.0.0/24']}}", "{'spec':{'unschedulable':null}}", "{'spec':{'podCIDRs':['10.0.0.0/24']}}"},
	{"uncordon of one that is not", NODE, "{'metadata':{'name':'a'}}", "{'spec':{'unschedulable':null}}", "{'metadata':{'name':'a'},'spec':{}}"},
	{"taint", NODE, "{'spec':{'taints':[{'key':'a','effect':'NoSchedule'}]}}", "{'spec':{'taints':[{'key':'b','effect':'NoExecute'}]}}", "{'spec':{'taints':[{'key':'b','effect':'NoExecute'}]}}"},
	{"taints go", NODE, "{'spec':{'taints':[{'key':'a','effect':'NoSchedule'}]}}", "{'spec':{'taints':null}}", "{'spec':{}}"},
	{"set image", DEPLOYMENT, WEB,
		"{'spec':{'template':{'spec':{'$setElementOrder/containers':[{'name':'c'},{'name':'log'}],'containers':[{'image':'busybox:3','name':'c'}]}}}}",
		"{'metadata':{'name':'web','labels':{'app':'web','tier':'front'}},'spec':{'replicas':2,'strategy':{'type':'RollingUpdate','rollingUpdate':{'maxSurge':1}},'template':{'metadata':{'labels':{'app':'web'}},'spec':{'containers':[{'name':'c','image':'busybox:3','env':[{'name':'A','value':'1'},{'name':'B','value':'2'}]},{'name':'log','image':'log:1'}],'nodeSelector':{'pool':'batch'}}}}}"},
	{"a label goes", POD, "{'metadata':{'labels':{'a':'1','b':'2'}}}", "{'metadata':{'labels':{'a':null}}}", "{'metadata':{'labels':{'b':'2'}}}"},
	{"apply with its annotation", DEPLOYMENT, "{'metadata':{'annotations':{'kubectl.kubernetes.io/last-applied-configuration':'{}\\n','x':'y'}},'spec':{'replicas':1}}",
		"{'metadata':{'annotations':{'kubectl.kubernetes.io/last-applied-configuration':'{1}\\n'}},'spec':{'replicas':2}}",
		"{'metadata':{'annotations':{'kubectl.kubernetes.io/last-applied-configuration':'{1}\\n','x':'y'}},'spec':{'replicas':2}}"},
	{"apply takes an env away and adds one", DEPLOYMENT, "{'spec':{'template':{'spec':{'containers':[{'name':'c','env':[{'name':'A','value':'1'},{'name':'B','value':'2'}]}]}}}}",
		"{'spec':{'template':{'spec':{'$setElementOrder/containers':[{'name':'c'}],'containers':[{'$setElementOrder/env':[{'name':'C'},{'name':'B'}],'env':[{'name':'C','value':'3'},{'$patch':'delete','name':'A'}],'name':'c'}]}}}}",
		"{'spec':{'template':{'spec':{'containers':[{'name':'c','env':[{'name':'C','value':'3'},{'name':'B','value':'2'}]}]}}}}"},
	{"apply changes the strategy", DEPLOYMENT, "{'spec':{'strategy':{'type':'RollingUpdate','rollingUpdate':{'maxSurge':1}}}}",
		"{'spec':{'strategy':{'$retainKeys':['type'],'rollingUpdate':null,'type':'Recreate'}}}", "{'spec':{'strategy':{'type':'Recreate'}}}"},
	{"apply changes the kind of a volume", POD, "{'spec':{'volumes':[{'name':'v','emptyDir':{}},{'name':'w','emptyDir':{}}]}}",
		"{'spec':{'$setElementOrder/volumes':[{'name':'v'},{'name':'w'}],'volumes':[{'$retainKeys':['name','hostPath'],'hostPath':{'path':'/x'},'name':'v'}]}}",
		"{'spec':{'volumes':[{'name':'v','hostPath':{'path':'/x'}},{'name':'w','emptyDir':{}}]}}"},
	{"kube-scheduler's condition", POD, "{'status':{'phase':'Pending','conditions':[{'type':'Initialized','status':'True'},{'type':'PodScheduled','status':'False','reason':'Old'}]}}",
		"{'status':{'$setElementOrder/conditions':[{'type':'Initialized'},{'type':'PodScheduled'}],'conditions':[{'reason':'Unschedulable','status':'False','type':'PodScheduled'}]}}",
		"{'status':{'phase':'Pending','conditions':[{'type':'Initialized','status':'True'},{'type':'PodScheduled','status':'False','reason':'Unschedulable'}]}}"},
	{"a kubelet's conditions", NODE, "{'status':{'conditions':[{'type':'Ready','status':'False'},{'type':'DiskPressure','status':'False'}],'addresses':[{'type':'InternalIP','address':'10.0.0.1'}]}}",
		"{'status':{'$setElementOrder/conditions':[{'type':'DiskPressure'},{'type':'Ready'}],'conditions':[{'type':'Ready','status':'True'}],'addresses':[{'type':'Hostname','address':'n'}]}}",
		"{'status':{'conditions':[{'type':'DiskPressure','status':'False'},{'type':'Ready','status':'True'}],'addresses':[{'type':'Hostname','address':'n'},{'type':'InternalIP','address':'10.0.0.1'}]}}"},
	{"a port of a service", SERVICE, "{'spec':{'ports':[{'port':80,'protocol':'TCP'},{'port':443,'protocol':'TCP'}],'selector':{'app':'a'}}}",
		"{'spec':{'ports':[{'port':443,'name':'https'}],'selector':{'app':'b'}}}",
		"{'spec':{'ports':[{'port':80,'protocol':'TCP'},{'port':443,'protocol':'TCP','name':'https'}],'selector':{'app':'b'}}}"},

	/* Lists with a merge key. */
	{"a new item comes first", POD, "{'spec':{'containers':[{'name':'a','image':'1'}]}}", "{'spec':{'containers':[{'name':'b','image':'2'}]}}", "{'spec':{'containers':[{'name':'b','image':'2'},{'name':'a','image':'1'}]}}"},
	{"others keep their place between changed ones", POD, "{'spec':{'containers':[{'name':'a'},{'name':'b'},{'name':'c'},{'name':'d'}]}}", "{'spec':{'containers':[{'name':'b','image':'2'},{'name':'d','image':'4'}]}}",
		"{'spec':{'containers':[{'name':'a'},{'name':'b','image':'2'},{'name':'c'},{'name':'d','image':'4'}]}}"},
	{"the patch decides on the order of what it names", POD, "{'spec':{'containers':[{'name':'a'},{'name':'b'},{'name':'c'}]}}", "{'spec':{'containers':[{'name':'c','image':'3'},{'name':'a','image':'1'}]}}",
		"{'spec':{'containers':[{'name':'b'},{'name':'c','image':'3'},{'name':'a','image':'1'}]}}"},
	{"by a number", POD, "{'spec':{'containers':[{'name':'a','ports':[{'containerPort':80},{'containerPort':81}]}]}}", "{'spec':{'containers':[{'name':'a','ports':[{'containerPort':81.0,'name':'x'}]}]}}",
		"{'spec':{'containers':[{'name':'a','ports':[{'containerPort':80},{'containerPort':81.0,'name':'x'}]}]}}"},
	{"by a path", POD, "{'spec':{'containers':[{'name':'a','volumeMounts':[{'mountPath':'/x','name':'v'}]}]}}", "{'spec':{'containers':[{'name':'a','volumeMounts':[{'mountPath':'/y','name':'v'},{'mountPath':'/x','name':'w'}]}]}}",
		"{'spec':{'containers':[{'name':'a','volumeMounts':[{'mountPath':'/y','name':'v'},{'mountPath':'/x','name':'w'}]}]}}"},
	{"no items", POD, "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':[]}}", "{'spec':{'containers':[{'name':'a'}]}}"},
	{"none and none", POD, "{'spec':{'containers':[]}}", "{'spec':{'containers':[]}}", "{'spec':{'containers':[]}}"},
	{"a new list is taken as it is", POD, "{'spec':{}}", "{'spec':{'containers':[{'name':'b'},{'name':'a'},{'name':'b'}]}}", "{'spec':{'containers':[{'name':'b'},{'name':'a'},{'name':'b'}]}}"},
	{"two items of the patch with one key", SERVICE, "{'spec':{'ports':[{'port':80}]}}", "{'spec':{'ports':[{'port':53,'protocol':'TCP'},{'port':53,'name':'dns'}]}}", "{'spec':{'ports':[{'port':53,'protocol':'TCP','name':'dns'},{'port':80}]}}"},
	{"two items of the object with one key", SERVICE, "{'spec':{'ports':[{'port':53,'protocol':'TCP'},{'port':80},{'port':53,'protocol':'UDP'}]}}", "{'spec':{'ports':[{'port':53,'name':'dns'}]}}",
		"{'spec':{'ports':[{'port':53,'protocol':'TCP','name':'dns'},{'port':53,'protocol':'UDP'},{'port':80}]}}"},
	{"two that are not named stand together", SERVICE, "{'spec':{'ports':[{'port':53,'protocol':'TCP'},{'port':80},{'port':53,'protocol':'UDP'},{'port':443}]}}", "{'spec':{'ports':[{'port':443,'name':'x'}]}}",
		"{'spec':{'ports':[{'port':53,'protocol':'TCP'},{'port':53,'protocol':'UDP'},{'port':80},{'port':443,'name':'x'}]}}"},
	{"a list goes", POD, "{'spec':{'containers':[{'name':'a'}],'nodeName':'n'}}", "{'spec':{'containers':null}}", "{'spec':{'nodeName':'n'}}"},
	{"ownerReferences by uid", POD, "{'metadata':{'ownerReferences':[{'uid':'1','name':'a'}]}}", "{'metadata':{'ownerReferences':[{'uid':'1','controller':true},{'uid':'2','name':'b'}]}}",
		"{'metadata':{'ownerReferences':[{'uid':'1','name':'a','controller':true},{'uid':'2','name':'b'}]}}"},

	/* Lists that are replaced, and what is not known. */
	{"tolerations are replaced", POD, "{'spec':{'tolerations':[{'key':'a'},{'key':'b'}]}}", "{'spec':{'tolerations':[{'key':'c'}]}}", "{'spec':{'tolerations':[{'key':'c'}]}}"},
	{"args are replaced", POD, "{'spec':{'containers':[{'name':'a','args':['1','2']}]}}", "{'spec':{'containers':[{'name':'a','args':['3']}]}}", "{'spec':{'containers':[{'name':'a','args':['3']}]}}"},
	{"an order of what is replaced", NODE, "{'spec':{'taints':[{'key':'a'}]}}", "{'spec':{'$setElementOrder/taints':[{'key':'b'}],'taints':[{'key':'b'}]}}", "{'spec':{'taints':[{'key':'b'}]}}"},
	{"an unknown map merges", POD, "{'spec':{'new':{'a':{'x':1},'l':[1,2]}}}", "{'spec':{'new':{'a':{'y':2},'l':[3]}}}", "{'spec':{'new':{'a':{'x':1,'y':2},'l':[3]}}}"},
	{"no schema", NULL, "{'a':{'b':1},'c':[{'name':'x'}]}", "{'a':{'b':null,'d':2},'c':[{'name':'y'}]}", "{'a':{'d':2},'c':[{'name':'y'}]}"},
	{"another type", POD, "{'spec':{'containers':'x','nodeName':{'a':1},'nodeSelector':['l']}}", "{'spec':{'containers':[{'name':'a'}],'nodeName':'n','nodeSelector':{'a':'b','c':null}}}", "{'spec':{'containers':[{'name':'a'}],'nodeName':'n','nodeSelector':{'a':'b'}}}"},
	{"nulls of what is new", POD, "{}", "{'spec':{'nodeName':null,'nodeSelector':{'a':null},'containers':[{'name':'a','image':null}]}}", "{'spec':{'nodeSelector':{},'containers':[{'name':'a'}]}}"},
	{"nothing at all", POD, "{'a':[{}],'b':null}", "{}", "{'a':[{}],'b':null}"},
	{"what looks like a directive in the object", NULL, "{'$patch':'x','$retainKeys':5,'a':1}", "{'$patch':'merge','a':2}", "{'$patch':'x','$retainKeys':5,'a':2}"},

	/* $patch in maps */
	{"a map is replaced", POD, "{'spec':{'nodeSelector':{'a':'1','b':'2'}}}", "{'spec':{'nodeSelector':{'$patch':'replace','c':'3','d':null}}}", "{'spec':{'nodeSelector':{'c':'3'}}}"},
	{"a map is emptied", POD, "{'spec':{'nodeSelector':{'a':'1'},'nodeName':'n'}}", "{'spec':{'nodeSelector':{'$patch':'delete'}}}", "{'spec':{'nodeSelector':{},'nodeName':'n'}}"},
	{"a map is merged in so many words", POD, "{'spec':{'nodeSelector':{'a':'1'}}}", "{'spec':{'nodeSelector':{'$patch':'merge','b':'2'}}}", "{'spec':{'nodeSelector':{'a':'1','b':'2'}}}"},
	{"the object is replaced", POD, "{'metadata':{'name':'a'},'spec':{}}", "{'$patch':'replace','metadata':{'name':'b','labels':{'$patch':'replace','x':'y'}}}", "{'metadata':{'name':'b','labels':{'x':'y'}}}"},
	{"the object is emptied", POD, "{'metadata':{'name':'a'}}", "{'$patch':'delete','x':1}", "{}"},
	{"what is not there is replaced", POD, "{'spec':{}}", "{'spec':{'nodeSelector':{'$patch':'replace','c':'3'}}}", "{'spec':{'nodeSelector':{'c':'3'}}}"},
	{"what is not there is emptied", POD, "{'spec':{}}", "{'spec':{'nodeSelector':{'$patch':'delete'}}}", "{'spec':{}}"},

	/* $patch in lists */
	{"an item goes", POD, "{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}", "{'spec':{'containers':[{'$patch':'delete','name':'a'}]}}", "{'spec':{'containers':[{'name':'b'}]}}"},
	{"all items with the key go", SERVICE, "{'spec':{'ports':[{'port':53,'protocol':'TCP'},{'port':80},{'port':53,'protocol':'UDP'}]}}", "{'spec':{'ports':[{'$patch':'delete','port':53}]}}", "{'spec':{'ports':[{'port':80}]}}"},
	{"an item that is not there goes", POD, "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':[{'$patch':'delete','name':'x'}]}}", "{'spec':{'containers':[{'name':'a'}]}}"},
	{"an item goes and comes", POD, "{'spec':{'containers':[{'name':'a','image':'1'},{'name':'b'}]}}", "{'spec':{'containers':[{'$patch':'delete','name':'a'},{'name':'a','args':['x']}]}}", "{'spec':{'containers':[{'name':'a','args':['x']},{'name':'b'}]}}"},
	{"the list is replaced", POD, "{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}", "{'spec':{'containers':[{'name':'d'},{'$patch':'replace'},{'$patch':'delete','name':'a'},{'name':'c'},{'name':'d'}]}}", "{'spec':{'containers':[{'name':'d'},{'name':'c'},{'name':'d'}]}}"},
	{"the list is replaced in an order", POD, "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'$setElementOrder/containers':[{'name':'c'},{'name':'d'}],'containers':[{'$patch':'replace'},{'name':'c'},{'name':'d'}]}}", "{'spec':{'containers':[{'name':'c'},{'name':'d'}]}}"},
	{"the list is replaced whatever it was", POD, "{'spec':{'containers':[{'image':'a'},5]}}", "{'spec':{'containers':[{'name':'a'},{'$patch':'replace'}]}}", "{'spec':{'containers':[{'name':'a'}]}}"},
	{"the list is replaced by nothing", POD, "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':[{'$patch':'replace'}]}}", "{'spec':{'containers':[]}}"},
	{"an item is merged in so many words", POD, "{'spec':{'containers':[{'name':'a','image':'1'}]}}", "{'spec':{'containers':[{'$patch':'merge','name':'a','args':['x']},{'$patch':'merge','name':'b'}]}}", "{'spec':{'containers':[{'name':'a','image':'1','args':['x']},{'name':'b'}]}}"},
	{"directives of a new list", POD, "{'spec':{}}", "{'spec':{'containers':[{'$patch':'replace'},{'$patch':'delete','name':'x'},{'$patch':'merge'},{'name':'a','env':[{'$patch':'delete','name':'A'}],'$setElementOrder/env':[],'$retainKeys':['name','env']}]}}", "{'spec':{'containers':[{'name':'a','env':[]}]}}"},
	{"directives of a list that is replaced", POD, "{'spec':{'tolerations':[{'key':'a'}]}}", "{'spec':{'tolerations':[{'$patch':'replace'},{'key':'b','x':{'$patch':'delete'},'y':{'$retainKeys':['z'],'z':1}}]}}", "{'spec':{'tolerations':[{'key':'b','y':{'z':1}}]}}"},
	{"directives of a new item", POD, "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':[{'name':'b','resources':{'$patch':'replace','limits':{'$retainKeys':['cpu'],'cpu':'1','memory':null}},'$deleteFromPrimitiveList/args':['x']}]}}",
		"{'spec':{'containers':[{'name':'b','resources':{'limits':{'cpu':'1'}}},{'name':'a'}]}}"},

	/* $setElementOrder */
	{"only an order", POD, "{'spec':{'containers':[{'name':'a'},{'name':'b'},{'name':'c'}]}}", "{'spec':{'$setElementOrder/containers':[{'name':'c'},{'name':'a'}]}}", "{'spec':{'containers':[{'name':'b'},{'name':'c'},{'name':'a'}]}}"},
	{"an order with what is new and what is gone", POD, "{'spec':{'containers':[{'name':'a'},{'name':'b'},{'name':'c'}]}}",
		"{'spec':{'$setElementOrder/containers':[{'name':'c'},{'name':'n'},{'name':'a'}],'containers':[{'name':'n','image':'9'},{'$patch':'delete','name':'b'}]}}",
		"{'spec':{'containers':[{'name':'c'},{'name':'n','image':'9'},{'name':'a'}]}}"},
	{"server-side items between", POD, "{'spec':{'containers':[{'name':'a'},{'name':'side'},{'name':'b'}]}}", "{'spec':{'$setElementOrder/containers':[{'name':'a'},{'name':'b'},{'name':'c'}],'containers':[{'name':'c'}]}}", "{'spec':{'containers':[{'name':'a'},{'name':'side'},{'name':'b'},{'name':'c'}]}}"},
	{"an order of a new list", POD, "{'spec':{}}", "{'spec':{'$setElementOrder/containers':[{'name':'a'},{'name':'b'}],'containers':[{'name':'a'},{'name':'b'},{'$patch':'delete','name':'z'}]}}", "{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}"},
	{"an order of nothing", POD, "{'spec':{}}", "{'spec':{'$setElementOrder/containers':[{'name':'a'}]}}", "{'spec':{}}"},
	{"an empty order says nothing", POD, "{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}", "{'spec':{'$setElementOrder/containers':[],'containers':[{'name':'b','image':'1'}]}}", "{'spec':{'containers':[{'name':'a'},{'name':'b','image':'1'}]}}"},
	{"an order of a set", POD, "{'metadata':{'finalizers':['a','b','c']}}", "{'metadata':{'$setElementOrder/finalizers':['c','d','a'],'finalizers':['d']}}", "{'metadata':{'finalizers':['b','c','d','a']}}"},

	{"an order of a set that had one twice", POD, "{'metadata':{'finalizers':['a','b','a']}}", "{'metadata':{'$setElementOrder/finalizers':['b']}}", "{'metadata':{'finalizers':['a','a','b']}}"},

	/* Sets */
	{"a set grows", POD, "{'metadata':{'finalizers':['a','b']}}", "{'metadata':{'finalizers':['c','b','c']}}", "{'metadata':{'finalizers':['c','a','b']}}"},
	{"a set that had one twice", POD, "{'metadata':{'finalizers':['a','b','a']}}", "{'metadata':{'finalizers':['b']}}", "{'metadata':{'finalizers':['a','b']}}"},
	{"texts and numbers of a set", POD, "{'metadata':{'finalizers':[1,true]}}", "{'metadata':{'finalizers':['1',1.0,false,true]}}", "{'metadata':{'finalizers':['1',1,false,true]}}"},
	{"a new set", POD, "{}", "{'metadata':{'finalizers':['a']}}", "{'metadata':{'finalizers':['a']}}"},
	{"a set shrinks", POD, "{'metadata':{'finalizers':['a','b','c','b']}}", "{'metadata':{'$deleteFromPrimitiveList/finalizers':['b','x']}}", "{'metadata':{'finalizers':['a','c']}}"},
	{"a set shrinks and grows in an order", POD, "{'metadata':{'finalizers':['a','b']}}", "{'metadata':{'$deleteFromPrimitiveList/finalizers':['a'],'$setElementOrder/finalizers':['c','b'],'finalizers':['c']}}", "{'metadata':{'finalizers':['c','b']}}"},
	{"a set that is not there shrinks", POD, "{'metadata':{}}", "{'metadata':{'$deleteFromPrimitiveList/finalizers':['a']}}", "{'metadata':{}}"},
	{"a list that is no set shrinks", POD, "{'spec':{'containers':[{'name':'a','args':['-x','-y']}]}}", "{'spec':{'containers':[{'name':'a','$deleteFromPrimitiveList/args':['-x']}]}}", "{'spec':{'containers':[{'name':'a','args':['-y']}]}}"},

	/* $retainKeys */
	{"keys stay", DEPLOYMENT, "{'spec':{'strategy':{'type':'a','x':1,'y':2}}}", "{'spec':{'strategy':{'$retainKeys':['type','y']}}}", "{'spec':{'strategy':{'type':'a','y':2}}}"},
	{"without it an object is merged", DEPLOYMENT, "{'spec':{'strategy':{'type':'RollingUpdate','rollingUpdate':{}}}}", "{'spec':{'strategy':{'type':'Recreate'}}}", "{'spec':{'strategy':{'type':'Recreate','rollingUpdate':{}}}}"},
	{"a list may be told by a directive", POD, "{'spec':{'containers':[{'name':'a'}],'nodeName':'n'}}", "{'spec':{'$retainKeys':['containers'],'$setElementOrder/containers':[{'name':'a'}],'nodeName':null}}", "{'spec':{'containers':[{'name':'a'}]}}"},

	/* Refused. */
	{"an item without its key", POD, "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':[{'name':'a'},{'image':'nginx','args':['-x',1,1.5,null,true],'env':[{'value':'v','name':'e'}]}]}}", NULL, NEAP_EINVAL, "spec.containers[1]",
		"map: map[args:[-x 1 1.5 <nil> true] env:[map[name:e value:v]] image:nginx] does not contain declared merge key: name"},
	{"an item whose key is null", POD, "{'spec':{'containers':[]}}", "{'spec':{'containers':[{'name':null}]}}", NULL, NEAP_EINVAL, "spec.containers[0]", "map: map[name:<nil>] does not contain declared merge key: name"},
	{"an item whose key is a map", POD, "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':[{'name':{}}]}}", NULL, NEAP_EINVAL, "spec.containers[0].name", "expected a string, but received a map[string]interface {}"},
	{"deleted without its key", POD, "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':[{'$patch':'delete'}]}}", NULL, NEAP_EINVAL, "spec.containers[0]", "map: map[$patch:delete] does not contain declared merge key: name"},
	{"an item of the object without its key", POD, "{'spec':{'containers':[{'image':'a'}]}}", "{'spec':{'containers':[{'name':'a'}]}}", NULL, NEAP_ECONFLICT, "spec.containers[0]", "map: map[image:a] does not contain declared merge key: name"},
	{"a text for an item", POD, "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':['a']}}", NULL, NEAP_EINVAL, "spec.containers[0]", "expected a map[string]interface {}, but received a string"},
	{"a list for an item", POD, "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':[['a']]}}", NULL, NEAP_EINVAL, "spec.containers[0]", "lists of lists are not supported"},
	{"a list in a set", POD, "{'metadata':{'finalizers':['a']}}", "{'metadata':{'finalizers':[['a']]}}", NULL, NEAP_EINVAL, "metadata.finalizers[0]", "lists of lists are not supported"},
	{"a map in a set", POD, "{'metadata':{'finalizers':['a']}}", "{'metadata':{'finalizers':['b',{'a':1}]}}", NULL, NEAP_EINVAL, "metadata.finalizers[1]", "expected a string, but received a map[string]interface {}"},
	{"an unknown directive", POD, "{'spec':{'nodeSelector':{}}}", "{'spec':{'nodeSelector':{'$patch':'remove','a':'b'}}}", NULL, NEAP_EINVAL, "spec.nodeSelector", "unknown patch type: remove in map: map[$patch:remove a:b]"},
	{"a directive that is no text", POD, "{}", "{'$patch':5}", NULL, NEAP_EINVAL, "", "unknown patch type: 5 in map: map[$patch:5]"},
	{"an unknown directive of an item", POD, "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':[{'$patch':'x','name':'a'}]}}", NULL, NEAP_EINVAL, "spec.containers[0]", "unknown patch type: x"},
	{"an unknown directive in what is new", POD, "{}", "{'spec':{'containers':[{'name':'a','env':[{'$patch':'x'}]}]}}", NULL, NEAP_EINVAL, "spec.containers[0].env[0]", "unknown patch type: x"},
	{"lists cannot be told to merge", POD, "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':[{'$patch':'merge'}]}}", NULL, NEAP_EINVAL, "spec.containers[0]", "merging lists cannot yet be specified in the patch"},
	{"not in the order", POD, "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'$setElementOrder/containers':[{'name':'a'}],'containers':[{'name':'b'}]}}", NULL, NEAP_EINVAL, "spec.containers", "The order in patch list: [map[name:b]] doesn't match $setElementOrder list: [map[name:a]]"},
	{"in another order", POD, "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'$setElementOrder/containers':[{'name':'a'},{'name':'b'}],'containers':[{'name':'b'},{'name':'a'}]}}", NULL, NEAP_EINVAL, "spec.containers", "doesn't match $setElementOrder list"},
	{"twice in what is in the order once", POD, "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'$setElementOrder/containers':[{'name':'a'}],'containers':[{'name':'a'},{'name':'a'}]}}", NULL, NEAP_EINVAL, "spec.containers", "doesn't match $setElementOrder list"},
	{"a set in another order", POD, "{'metadata':{'finalizers':['a']}}", "{'metadata':{'$setElementOrder/finalizers':['a','b'],'finalizers':['b','a']}}", NULL, NEAP_EINVAL, "metadata.finalizers", "The order in patch list: [b a] doesn't match $setElementOrder list: [a b]"},
	{"an order without keys", POD, "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'$setElementOrder/containers':[{'image':'a'}]}}", NULL, NEAP_EINVAL, "spec.containers[0]", "does not contain declared merge key: name"},
	{"an order that is no list", POD, "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'$setElementOrder/containers':'a'}}", NULL, NEAP_EINVAL, "spec.$setElementOrder/containers", "expected a []interface {}, but received a string"},
	{"an order of what goes", POD, "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'$setElementOrder/containers':[{'name':'a'}],'containers':null}}", NULL, NEAP_EINVAL, "spec.containers", "expected a []interface {}, but received a <nil>"},
	{"an order of what is no list", POD, "{'spec':{'containers':5}}", "{'spec':{'$setElementOrder/containers':[{'name':'a'}]}}", NULL, NEAP_ECONFLICT, "spec.containers", "expected a []interface {}, but received a int64"},
	{"an order of no field", POD, "{}", "{'$setElementOrder':[]}", NULL, NEAP_EINVAL, "$setElementOrder", "invalid patch format of setElementOrder list"},
	{"deletions from no field", POD, "{}", "{'$deleteFromPrimitiveListx/a':[]}", NULL, NEAP_EINVAL, "$deleteFromPrimitiveListx/a", "invalid patch format of primitive list"},
	{"deletions that are no list", POD, "{'metadata':{}}", "{'metadata':{'$deleteFromPrimitiveList/finalizers':null}}", NULL, NEAP_EINVAL, "metadata.$deleteFromPrimitiveList/finalizers", "invalid patch format of primitive list"},
	{"deletions of maps", POD, "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'$deleteFromPrimitiveList/containers':[{'name':'a'}]}}", NULL, NEAP_EINVAL, "spec.containers", "invalid patch format of primitive list"},
	{"keys that stay are no list", DEPLOYMENT, "{'spec':{'strategy':{}}}", "{'spec':{'strategy':{'$retainKeys':'type'}}}", NULL, NEAP_EINVAL, "spec.strategy.$retainKeys", "invalid patch format of retainKeys"},
	{"keys that stay are no texts", DEPLOYMENT, "{'spec':{'strategy':{}}}", "{'spec':{'strategy':{'$retainKeys':[['type']]}}}", NULL, NEAP_EINVAL, "spec.strategy.$retainKeys", "invalid patch format of retainKeys"},
	{"what is set does not stay", DEPLOYMENT, "{'spec':{'strategy':{}}}", "{'spec':{'strategy':{'$retainKeys':['type'],'type':'a','x':1}}}", NULL, NEAP_EINVAL, "spec.strategy.$retainKeys", "invalid patch format of retainKeys"},
	{"no map", POD, "{}", "[{'op':'remove','path':'/a'}]", NULL, NEAP_EINVAL, "", "expected a map[string]interface {}, but received a []interface {}"},
};
/* clang-format on */

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		patch_case_run(NEAP_PATCH_STRATEGIC, &rows[i]);
}

/* A map with very many members is told in a message, and the message ends. */
static void test_long_message(void **state)
{
	json_t *object = patch_parse("{'spec':{'containers':[]}}"), *item = json_object();
	json_t *patch = json_pack("{s:{s:[o]}}", "spec", "containers", item);
	json_t *result = NULL;
	struct neap_error err = {0};
	char name[16];

	(void)state;
	for (int i = 0; i < 100000; i++) {
		(void)snprintf(name, sizeof(name), "\303\244%d", i);
		json_object_set_new(item, name, json_true());
	}
	assert_int_equal(
		neap_patch_apply(NEAP_PATCH_STRATEGIC, POD, object, patch, &result, &err),
		-NEAP_EINVAL);
	assert_non_null(strstr(err.msg, "map: map[\303\244"));
	assert_non_null(strstr(err.msg, " does not contain declared merge key: name"));
	json_decref(result);
	result = json_string(err.msg); /* NULL for what is no UTF-8 */
	assert_non_null(result);
	json_decref(result);
	json_decref(object);
	json_decref(patch);
}

static int setup(void **state)
{
	(void)state;
	neap_json_setup();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_long_message),
	};

	return cmocka_run_group_tests_name("patch_strategic", tests, setup, NULL);
}
