/* SPDX-License-Identifier: Apache-2.0
 *
 * Definitions for the tests of kinds that are declared while the server runs. */
#ifndef NEAP_T_LIB_DECLARED_RIG_H
#define NEAP_T_LIB_DECLARED_RIG_H

#include "t/lib/kube_rig.h"

#define CRDS    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define GROUP   "/apis/example.com/v1"
#define WIDGETS GROUP "/namespaces/default/widgets"

/* version: members of spec.versions[0] beside those that all have; "," ends each. */
#define DEFINE(plural, names, version, properties)                                       \
	"{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition',"     \
	"'metadata':{'name':'" plural ".example.com'},'spec':{'group':'example.com',"    \
	"'scope':'Namespaced','names':{'plural':'" plural "'," names                     \
	"},'versions':[{'name':'v1','served':true,'storage':true," version               \
	"'schema':{'openAPIV3Schema':{'type':'object','properties':{'spec':{'type':"     \
	"'object','properties':{" properties "}}}}}}]}}"
#define SIZE   "'size':{'type':'integer','default':3}"
#define WIDGET DEFINE("widgets", "'kind':'Widget','shortNames':['wd']", "", SIZE)
#define IS(type, is, reason)                                                             \
	"\"reason\":\"" reason "\",\"status\":\"" is "\",\"type\":\"" type "\""

/* Creates it and waits until it is served. */
void declared_define(struct kube_rig *rig, const char *body, const char *name);

#endif
