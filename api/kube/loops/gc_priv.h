/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of garbage collection. */
#ifndef NEAP_API_KUBE_LOOPS_GC_PRIV_H
#define NEAP_API_KUBE_LOOPS_GC_PRIV_H

#include "api/kube/loops/gc.h"
#include "api/kube/request/call.h"
#include "engine/base/map.h"

/* Where a deleted owner was. */
struct neap_collect_scope {
	bool is_namespaced;
};

struct source {
	struct neap_kube_collect *collect;
	const struct neap_kube_kind *kind;
	char resource[NEAP_STORE_RESOURCE];
	struct neap_store_watch *watch; /* from the version that was counted */
	bool is_ready;                  /* has events to take */
};

/* Writes that are not durable yet. Their answers may come after the collector is
 * freed. */
struct collect_writes {
	struct neap_kube_collect *collect; /* NULL: freed */
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
	/* A write was refused. No more writes until the retry, which looks at everything
	 * again. */
	bool is_refused;
	struct event *retry;
	int64_t retry_usec;
	struct emptying emptying;
	struct source *sources;
	size_t source_count;
	uint64_t generation;    /* the registry's, when the sources were made */
	struct neap_map *owned; /* uid: how many objects name it as an owner */
	/* uid: struct neap_collect_scope; the next pass looks for its dependents */
	struct neap_map *gone;
	struct neap_map *orphans; /* uid: struct orphaned; its dependents are let go */
	struct neap_map
		*namespaces; /* names of those to look at, as they are being deleted */
	bool is_lost;        /* an event was missed */
	/* The owners of stored objects are being counted, from count_place on. No events
	 * are taken meanwhile: each would subtract what was counted. */
	bool is_counting;
	bool has_forgotten; /* the former counts were dropped */
	size_t count_source;
	struct neap_store_place count_place;
	/* The pass in progress. */
	bool is_passing, is_all;
	size_t pass_source;
	struct neap_store_place pass_place;
	size_t pass_gone, pass_orphans; /* at the begin; at the end: those left */
	uint64_t count;
};

/* gc_pass.c */
/* Notes an object whose finalizer "orphan" is to be processed, if it has it. */
void neap_collect_note_orphans(struct neap_kube_collect *collect,
			       const struct source *source,
			       const struct neap_object *object);
/* Forgets up to *left of them; returns whether none remain. */
bool neap_collect_forget_orphans(struct neap_kube_collect *collect, size_t *left);
/* Deletes the object when none of its owners exist; removes references to owners that do
 * not exist. */
void neap_collect_judge(struct neap_kube_collect *collect, const struct source *source,
			const struct neap_object *object);
/* Makes the next pass judge every object that has an owner. */
void neap_collect_pass_all(struct neap_kube_collect *collect);
bool neap_collect_is_namespace(const struct source *source);
/* Notes a namespace that is being deleted. */
void neap_collect_put_namespace(struct neap_kube_collect *collect, const char *name);
/* Subtracts an object's cost from a piece. Many owners, or a long text, count as several
 * objects. */
void neap_collect_take_left(size_t *left, const struct neap_object *object);
/* Continues the pass, or begins one that is due. left: how many objects may still be
 * looked at. */
void neap_collect_pass(struct neap_kube_collect *collect, size_t *left);
/* Empties namespaces that are being deleted. */
void neap_collect_namespaces(struct neap_kube_collect *collect, size_t *left);
/* Whether another write may be made at present. */
bool neap_collect_may_write(const struct neap_kube_collect *collect);
/* Callback and argument for the next write. neap_collect_write counts the write,
 * neap_collect_told takes its answer. */
neap_kube_told neap_collect_told;
struct collect_writes *neap_collect_write(struct neap_kube_collect *collect);

#endif
