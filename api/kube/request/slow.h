/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests that need more than a moment: they run in slices (api/task), and the loop
 * serves others between them. Each is a struct that starts with a struct slow. */
#ifndef NEAP_API_KUBE_REQUEST_SLOW_H
#define NEAP_API_KUBE_REQUEST_SLOW_H

#include "api/kube/request/call.h"
#include "api/store/store.h"
#include "api/task/task.h"

struct slow {
	struct slow *next, **prev; /* of kube->slow */
	struct call call;          /* its own copy, with a reference to the kind */
	/* owned by the client's peer; its step receives the struct */
	struct neap_task *task;
	/* neapd ends: answers the request if it is pending, and frees it. */
	void (*end)(struct slow *slow);
};

/* slow must be zero, and the first member of what step gets. -1 without memory, with
 * call->failure and nothing to undo. */
int slow_begin(struct slow *slow, struct call *call, neap_task_step *step,
	       void (*end)(struct slow *slow));
/* The copy in slow answers the client from now on; gone, with slow, if it leaves. */
void slow_defer(struct slow *slow, struct call *call, void (*gone)(void *slow));
/* Call before its memory is freed, also if it did not begin. */
void slow_done(struct slow *slow);
/* Returns the peer of a pending call; "": neapd itself. */
const char *slow_peer(const struct call *call);
/* Answers that neapd is ending. */
void slow_refuse_end(struct slow *slow);

/* list.c: the objects of a collection at one version. */
struct gather {
	struct neap_kube *kube;
	struct choice choice;
	struct neap_store_place place;
	int64_t limit;  /* 0: none */
	bool is_shown;  /* in the shown form, where they are stored as another kind */
	bool is_newest; /* may start over when its version leaves the history */
	/* Collected so far, with references. */
	struct neap_object **objects;
	size_t count, size;
	int tries;
	bool is_short_of_memory;
};

/* Runs a slice. Returns 1 when there is more to examine; 0 at the end, with *ret_more
 * whether more exist than the limit allows; -NEAP_EGONE, -NEAP_ENOMEM with err. task
 * NULL: all at once. */
int gather_step(struct call *call, const struct neap_task *task, struct gather *gather,
		bool *ret_more, struct neap_error *err);
/* Adds an object if it is selected. False: no memory. */
bool gather_take(struct call *call, struct gather *gather, struct neap_object *object);
void gather_done(struct gather *gather);
/* Releases references from index from on, and frees the array; many are released in
 * slices. */
void objects_free(struct neap_kube *kube, struct neap_object **objects, size_t from,
		  size_t count);

/* --- tokens to continue ---
 *
 * The "continue" token of a list: the version that all pages show, and the last object
 * returned. Opaque to clients; a forged one can do no more than a query. */

/* base64url of "VERSION/NAMESPACE/NAME", with NUL. */
#define NEAP_KUBE_CONTINUE_SIZE 512

/* Returns buf, of NEAP_KUBE_CONTINUE_SIZE bytes. */
char *neap_kube_continue_format(const struct neap_store_place *place, char *buf);
/* -NEAP_EINVAL for what neap_kube_continue_format does not write. */
int neap_kube_continue_parse(const char *token, struct neap_store_place *ret,
			     struct neap_error *err);

#endif
