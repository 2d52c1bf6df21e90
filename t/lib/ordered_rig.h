/* SPDX-License-Identifier: Apache-2.0
 *
 * The controller of StatefulSets beside the API, and what its tests look at. */
#ifndef NEAP_T_LIB_ORDERED_RIG_H
#define NEAP_T_LIB_ORDERED_RIG_H

#include "t/lib/workload_rig.h"

#define APPS      "/apis/apps/v1/namespaces/default/"
#define SETS      APPS "statefulsets"
#define REVISIONS APPS "controllerrevisions"
#define PODS      "/api/v1/namespaces/default/pods"
#define CLAIMS    "/api/v1/namespaces/default/persistentvolumeclaims"
#define EVENTS    "/api/v1/namespaces/default/events"
#define SECOND    INT64_C(1000000)
/* more: members of the spec, with a comma behind each. */
#define SET(name, n, more, image)                                                        \
	"{'metadata':{'name':'" name "'},'spec':{" more "'replicas':" #n                 \
	",'serviceName':'s','selector':{'matchLabels':{'a':'b'}},'template':{"           \
	"'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c',"             \
	"'image':'" image "'}]}}}}"
#define IMAGE(image)                                                                     \
	"{'spec':{'template':{'spec':{'containers':[{'name':'c','image':'" image "'}]}}}}"
#define VOLUME                                                                           \
	"'volumeClaimTemplates':[{'metadata':{'name':'data'},'spec':{'accessModes':["    \
	"'ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}}],"

struct ordered_rig {
	struct kube_rig *kube;
	struct neap_statefulsets *sets;
};

void ordered_start(struct ordered_rig *rig);
/* States of cmocka: the API, and the controller. */
int ordered_setup(void **state);
int ordered_teardown(void **state);
/* As kube_ask, with the status that it must have. */
void ordered_must(struct ordered_rig *rig, const char *ask, const char *body, int status);
/* Until it is so, and until it is quiet; all pods become ready. */
void ordered_until(struct ordered_rig *rig, struct kube_step step);
void ordered_settle(struct ordered_rig *rig);
/* Fates: the pod of that name, or all with NULL, is not ready; those of that image. */
enum workload_fate ordered_unready(void *arg, const json_t *pod);
enum workload_fate ordered_bad_image(void *arg, const json_t *pod);
/* "web-0 web-1": what there is, and of which image. */
const char *ordered_names(struct ordered_rig *rig);
const char *ordered_images(struct ordered_rig *rig);
int ordered_events(struct ordered_rig *rig, const char *reason);

#endif
