/* SPDX-License-Identifier: Apache-2.0
 *
 * What a request needs more than a moment for: it goes on in slices (api/task), and the loop serves others between
 * them. Every such job is a struct that begins with a struct slow. */
#ifndef NEAP_API_KUBE_SLOW_H
#define NEAP_API_KUBE_SLOW_H

#include "api/kube/kube_priv.h"
#include "api/task/task.h"

struct slow {
	struct slow *next, **prev; /* of kube->slow */
	struct call call;          /* its own; the kind is held */
	struct neap_task *task;    /* of whoever asks; its step gets the struct */
	/* neapd ends: answers what is not answered yet, and frees it. */
	void (*end)(struct slow *slow);
};

/* slow is all zero. False without memory, and
 * nothing is to be undone. */
bool slow_begin(struct slow *slow, const struct call *call, neap_task_step *step,
		void (*end)(struct slow *slow));
/* Before its memory is freed; of one that did not begin, too. */
void slow_done(struct slow *slow);
/* Whose it is, as long as it is not answered; "": neapd's own. */
const char *slow_peer(const struct call *call);
/* Answers that neapd ends. */
void slow_refuse_end(struct slow *slow);
void call_fail_nomem(struct call *call);
/* Notes it in call->failure alone; -1. */
int call_nomem(struct call *call);

/* gather.c: objects of a collection, all as they were at one version. */
struct gather {
	struct neap_kube *kube;
	struct choice choice;
	struct neap_store_place place;
	int64_t limit;  /* 0: none */
	bool is_shown;  /* as they are shown, where they are stored as another kind */
	bool is_newest; /* may begin anew when its version is forgotten on the way */
	/* What there is up to now: counted references. */
	struct neap_object **objects;
	size_t count, size;
	int tries;
	bool is_short_of_memory;
};

/* A slice. 1: there is more to look at. 0: that was all, and *ret_more is whether there are more than the limit
 * allows. Else -NEAP_EGONE, -NEAP_ENOMEM, with err. task NULL: all at once. */
int gather_step(struct call *call, const struct neap_task *task, struct gather *gather,
		bool *ret_more, struct neap_error *err);
/* One more, if it is among those that are wanted. False: there is no room for it. */
bool gather_take(struct call *call, struct gather *gather, struct neap_object *object);
void gather_done(struct gather *gather);
/* Lets go of count references but for the first ones, and frees the array that they are in; of many in slices. */
void objects_free(struct neap_kube *kube, struct neap_object **objects, size_t from,
		  size_t count);

#endif
