/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of garbage collection share. */
#ifndef NEAP_API_KUBE_LOOPS_GC_PRIV_H
#define NEAP_API_KUBE_LOOPS_GC_PRIV_H

#include "api/kube/loops/gc.h"
#include "api/kube/request/call.h"
#include "engine/base/map.h"

/* Where something was that has gone. */
struct neap_collect_scope {
	bool is_namespaced;
};

struct source {
	struct neap_kube_collect *collect;
	const struct neap_kube_kind *kind;
	char resource[NEAP_STORE_RESOURCE];
	struct neap_store_watch *watch; /* after the version that is counted */
	bool is_ready;                  /* has something to take */
};

/* Its writes that are not durable yet: they may be told of when it is no more. */
struct collect_writes {
	struct neap_kube_collect *collect; /* NULL: is no more */
	size_t waiting;
};

/* The namespace that is being emptied. */
struct emptying {
	char name[NEAP_OBJECT_NAME]; /* "": none */
	size_t source;
	struct neap_store_place place;
	bool has_any;
};

struct neap_kube_collect {
	struct neap_kube *kube;
	struct neap_task *turn;
	struct collect_writes *writes;
	/* Something was not taken: nothing more is asked for until the retry, which looks
	 * at everything again. */
	bool is_refused;
	struct event *retry;
	int64_t retry_usec;
	struct emptying emptying;
	struct source *sources;
	size_t source_count;
	uint64_t generation;    /* of the registry, for which the sources are */
	struct neap_map *owned; /* uid: how many name it as an owner */
	/* uid: struct neap_collect_scope, whose dependents the next pass looks for */
	struct neap_map *gone;
	struct neap_map *orphans; /* uid: struct orphaned, whose dependents are let go */
	struct neap_map
		*namespaces; /* names of those to look at, as they are being deleted */
	bool is_lost;        /* an event was missed */
	/* The owners of what is stored are being counted, from that place on; no event is
	 * taken meanwhile, as each takes off what was counted. */
	bool is_counting;
	bool has_forgotten; /* what was counted before is gone */
	size_t count_source;
	struct neap_store_place count_place;
	/* The pass that is under way. */
	bool is_passing, is_all;
	size_t pass_source;
	struct neap_store_place pass_place;
	size_t pass_gone, pass_orphans; /* how many it began with; at its end, are left */
	uint64_t count;
};

/* gc_pass.c */
/* One whose finalizer "orphan" is to be worked off, if it has it. */
void neap_collect_note_orphans(struct neap_kube_collect *collect,
			       const struct source *source,
			       const struct neap_object *object);
/* Forgets so many of them; returns whether none is left. */
bool neap_collect_forget_orphans(struct neap_kube_collect *collect, size_t *left);
/* Deletes it when none of its owners is there any more; takes out references to those
 * that are not. */
void neap_collect_judge(struct neap_kube_collect *collect, const struct source *source,
			const struct neap_object *object);
/* Everything that has an owner is judged in the next pass. */
void neap_collect_pass_all(struct neap_kube_collect *collect);
bool neap_collect_is_namespace(const struct source *source);
/* A namespace to look at, as it is being deleted. */
void neap_collect_put_namespace(struct neap_kube_collect *collect, const char *name);
/* Takes what an object is of a piece: one of many owners, or of a long text, is as
 * many. */
void neap_collect_take_left(size_t *left, const struct neap_object *object);
/* Goes on with the pass, or begins one that is due; left: objects that may still be
 * looked at. */
void neap_collect_pass(struct neap_kube_collect *collect, size_t *left);
/* Empties namespaces that are being deleted. */
void neap_collect_namespaces(struct neap_kube_collect *collect, size_t *left);
/* Whether more may be asked for at present. */
bool neap_collect_may_write(const struct neap_kube_collect *collect);
/* Callback and argument for the next write: neap_collect_write counts it,
 * neap_collect_told takes its answer. */
neap_kube_told neap_collect_told;
struct collect_writes *neap_collect_write(struct neap_kube_collect *collect);

#endif
