/* SPDX-License-Identifier: Apache-2.0
 *
 * The controller of ReplicaSets beside the API, and what its tests look at. */
#ifndef NEAP_T_LIB_SETS_RIG_H
#define NEAP_T_LIB_SETS_RIG_H

#include "api/workload/replicaset/replicasets_priv.h"
#include "t/lib/workload_rig.h"

#define PODS   "/api/v1/namespaces/default/pods"
#define SETS   "/apis/apps/v1/namespaces/default/replicasets"
#define EVENTS "/api/v1/namespaces/default/events"
#define SECOND INT64_C(1000000)
#define TEMPLATE                                                                         \
	"'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c','image':'i'}]}}"
#define SET(name, n)                                                                     \
	"{'metadata':{'name':'" name "'},'spec':{'replicas':" #n                         \
	",'selector':{'matchLabels':{'a':'b'}}," TEMPLATE "}}"

struct sets_rig {
	struct kube_rig *kube;
	struct neap_replicasets *sets;
};

/* The controller, with kube_now as its time. */
void sets_start(struct sets_rig *rig);
void sets_restart(struct sets_rig *rig);
/* States of cmocka: the API, and the controller. */
int sets_setup(void **state);
int sets_teardown(void **state);
/* As kube_ask, with the status that it must have. */
void sets_must(struct sets_rig *rig, const char *ask, const char *body, int status);
void sets_until(struct sets_rig *rig, struct kube_step step);
/* How many pods there are that nobody deletes; of these those that have an owner. */
size_t sets_count_pods(struct sets_rig *rig);
int sets_count_owned(struct sets_rig *rig);

#endif
