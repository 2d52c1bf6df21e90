/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests of neapd's own parts: what a client could ask for, without one. An object goes through the same
 * defaults, admission and checks; nobody asks whether they may. For controllers, the scheduler, and what runs
 * pods. On the loop's thread. */
#ifndef NEAP_API_KUBE_SERVE_CLIENT_LOCAL_H
#define NEAP_API_KUBE_SERVE_CLIENT_LOCAL_H

#include "api/kube/base/status.h"
#include "api/kube/kube.h"

/* What an ask is about, and who is told. Texts are copied. */
struct neap_kube_ask {
	const char *resource; /* as the store names it: "pods", "replicasets.apps" */
	const char *ns;       /* "" for one of the whole cluster */
	const char *name;     /* of a creation: not needed, the object says it */
	/* Called once, be it before the function returns (refused at once) or from the loop. May be NULL. May ask
	 * again. */
	neap_kube_told *told;
	void *arg;
};

/* object, with metadata.name or metadata.generateName; kind and apiVersion may be left out. Taken. */
void neap_kube_ask_create_take(struct neap_kube *kube, const struct neap_kube_ask *ask,
			       json_t *object);
/* The whole object in place of what is there, as by PUT: where metadata.resourceVersion is there it must be the
 * newest's (NEAP_KUBE_CONFLICT). is_status: through /status. Taken. */
void neap_kube_ask_update_take(struct neap_kube *kube, const struct neap_kube_ask *ask,
			       bool is_status, json_t *object);
/* A JSON merge patch. patch may name metadata.uid and metadata.resourceVersion, which must be so. Taken. */
void neap_kube_ask_patch_take(struct neap_kube *kube, const struct neap_kube_ask *ask,
			      bool is_status, json_t *patch);
/* uid: only the object of that uid; NULL: any. grace_s: of a pod; -1: its own; 0: it is gone at once. */
void neap_kube_ask_delete(struct neap_kube *kube, const struct neap_kube_ask *ask,
			  const char *uid, int64_t grace_s);
/* As by pods/NAME/eviction: NEAP_KUBE_TOO_MANY_REQUESTS when a budget forbids it. */
void neap_kube_ask_evict(struct neap_kube *kube, const struct neap_kube_ask *ask,
			 const char *uid, int64_t grace_s);
/* As by pods/NAME/binding. annotations: put on the pod with it, in one write, null takes one away;
 * borrowed, may be NULL. */
void neap_kube_ask_bind(struct neap_kube *kube, const struct neap_kube_ask *ask,
			const char *uid, const char *node, json_t *annotations);

#endif
