/* SPDX-License-Identifier: Apache-2.0
 *
 * The verbs that change objects, and the steps of a write. */
#ifndef NEAP_API_KUBE_WRITE_WRITE_H
#define NEAP_API_KUBE_WRITE_WRITE_H

#include "api/kube/request/call.h"

call_fn call_create, call_update, call_patch, call_apply /* server-side */, call_delete,
	call_delete_collection, call_bind, call_evict, call_finalize, call_scale_get,
	call_scale_set;

/* --- the steps of a write: -1 with call->failure --- */

/* admit.c: adds what an object gets because of others, and refuses what the server does
 * not allow. object is complete and not validated yet, for a deletion the state before;
 * before: NULL for a new one. */
enum admit_verb { ADMIT_CREATE = 1, ADMIT_UPDATE = 2, ADMIT_DELETE = 4 };
int call_admit(struct call *call, enum admit_verb verb, json_t *object,
	       const json_t *before);

/* admit.c: checks that object fits: a new one (newest NULL), or an update of newest. -1
 * with call->failure. */
int call_check_quota(struct call *call, const json_t *object,
		     const struct neap_object *newest);
/* write.c: the common part of POST, PUT and PATCH; object is taken. A body that replaces
 * or applies an object must name the one of the path. -1 with call->failure. */
int call_check_named(struct call *call, const json_t *object);
/* Returns whether the namespace accepts the new object, or what is created through one (a
 * binding, an eviction), of that name; not while it terminates. -1 with call->failure. */
int call_check_ending(struct call *call, const char *name);
int call_create_take(struct call *call, json_t *object);
int call_update_take(struct call *call, json_t *object);
int call_patch_with(struct call *call, enum neap_patch_type type, const json_t *patch);
/* subresources.c: like POST of pods/NAME/binding, and of pods/NAME/eviction. */
int call_bind_with(struct call *call, const json_t *binding);
int call_evict_with(struct call *call, const json_t *body);
/* write.c: passes object to the store and answers with status and the object when it is
 * durable. */
int call_store_take(struct call *call, int status, enum neap_store_verb verb,
		    json_t *object, int64_t version);
/* Validates object as an update of before, which is newest as a tree and is decoded here
 * too, and stores it. */
int call_change_take(struct call *call, json_t *object, json_t *before,
		     const struct neap_object *newest);

/* delete.c: like DELETE, with DeleteOptions that may be NULL. */
int call_delete_with(struct call *call, json_t *options, struct neap_object *newest,
		     int status);
/* subresources.c: sets the condition of an evicted pod; false without memory. */
bool call_tell_evicted(const struct call *call, json_t *tree);

/* --- cpu_double_booking.c --- */

/* Refuses a pod, in its new state, that would hold a CPU of its node already held by as
 * many pods as may share it. before: its present state; NULL: new, or on no node. -1 with
 * call->failure. */
int call_check_cpus(struct call *call, const json_t *pod, const json_t *before);
/* Called after a write was accepted. */
void kube_cpus_note(const struct call *call);
void kube_cpus_free(struct kube_cpus *cpus); /* NULL is fine */

/* --- without a client --- */

/* delete.c: deletes the newest state as a client that asks for background
 * propagation. told: see status.h; may be NULL. */
void neap_kube_remove(struct neap_kube *kube, const struct neap_kube_kind *kind,
		      struct neap_object *object, neap_kube_told *told, void *arg);
/* ... and at once, whatever the deletion would have waited for. */
void neap_kube_end(struct neap_kube *kube, const struct neap_kube_kind *kind,
		   const struct neap_object *newest, neap_kube_told *told, void *arg);
/* Stores tree as a change of newest. An object whose last finalizer goes is deleted. */
void neap_kube_change_take(struct neap_kube *kube, const struct neap_kube_kind *kind,
			   json_t *tree, const struct neap_object *newest,
			   neap_kube_told *told, void *arg);

#endif
