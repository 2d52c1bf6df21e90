/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of declared kinds share. */
#ifndef NEAP_API_KUBE_CRD_CRD_LOOP_PRIV_H
#define NEAP_API_KUBE_CRD_CRD_LOOP_PRIV_H

#include "api/kube/crd/crd_loop.h"
#include "api/kube/kube_priv.h"
#include "engine/base/map.h"
#include "engine/base/sha256.h"

#define DEFINITIONS "customresourcedefinitions.apiextensions.k8s.io"
#define FINALIZER   "customresourcecleanup.apiextensions.k8s.io"

/* One definition, by its name, which is also the resource of its objects. */
struct declared_entry {
	struct neap_kube_declared *declared;
	struct neap_kube_kind
		*kind; /* in the registry, with a reference; NULL: it is not served */
	char uid[NEAP_OBJECT_UID];
	/* As it was looked at last, and what came of it. */
	int64_t generation;        /* 0: not yet */
	char sum[NEAP_SHA256_HEX]; /* of the spec: a deletion raises the generation, too */
	json_t *names;             /* under which it is served, or would be */
	int64_t settled;           /* version at which nothing was left to do; 0: none */
	bool has_conflict;         /* of names: looked at anew when another kind goes */
	bool is_broken; /* it is none that can be served, whatever else is there */
	char reason[32], why[512]; /* of both */
	/* While its objects are deleted: of them; NULL: they are not. */
	struct neap_store_watch *watch;
	struct neap_store_place place;
	bool is_ready;    /* some have gone */
	bool is_due;      /* a pass is under way */
	bool was_asked;   /* the pass had something to delete */
	int64_t asked_ms; /* when it had ended */
};

struct neap_kube_declared {
	struct neap_kube *kube;
	const struct neap_kube_kind *definition; /* the built-in row */
	const struct neap_log *log;
	struct neap_task *turn;
	struct event *tick;
	struct neap_store_watch *watch; /* of definitions */
	struct neap_map *entries;       /* name: struct declared_entry */
	struct neap_map *due;           /* names to be looked at */
	bool is_lost;                   /* a change was missed: all are looked at */
	struct declared_file *files;    /* what they hold, not durable yet */
	bool is_short;                  /* memory was missing for one */
};

/* --- crd_loop.c --- */

void declared_wake(struct neap_kube_declared *declared);
/* To be looked at at the next turn. */
void declared_note(struct neap_kube_declared *declared, const char *name);

/* --- crd_loop_entry.c --- */

/* Makes the kind fit what is stored under the name now. True: nothing is left to do until it changes. *left is
 * how many definitions may still be read; it stays as it was where none had to be. */
bool declared_look(struct neap_kube_declared *declared, const char *name, size_t *left);
void declared_entry_free(struct neap_kube_declared *declared,
			 struct declared_entry *entry);

/* --- crd_loop_end.c --- */

/* Begins to delete the objects of a kind that goes. */
void declared_empty_begin(struct declared_entry *entry);
/* Goes on; *left: how many may still be looked at. True when there are none. */
bool declared_empty(const char *name, struct declared_entry *entry, size_t *left);
void declared_empty_end(struct declared_entry *entry);

/* --- crd_loop_names.c --- */

/* spec.names with what others have already replaced by what was accepted before: a new reference, NULL without
 * memory. *ret_reason is "" when nothing was; else of the first in the way, as "PluralConflict". own:
 * the row that does not count. */
json_t *declared_names(const struct neap_kube_registry *registry, const json_t *tree,
		       const struct neap_kube_kind *own, char *reason, size_t reason_size,
		       char *why, size_t why_size);

/* --- crd_loop_status.c --- */

bool declared_is_true(const json_t *tree, const char *condition);
/* Sets a condition of the tree; false without memory. */
bool declared_set_condition(json_t *tree, const char *type, bool is, const char *reason,
			    const char *message, int64_t now);
/* The status of a definition that was looked at; names: those that it is served under. False without memory. */
bool declared_set_status(json_t *tree, const struct declared_entry *entry,
			 const json_t *names, int64_t now);

/* --- crd_loop_files.c --- */

/* Asks the store for what the files of the folder hold. */
int declared_take_files(struct neap_kube_declared *declared,
			const struct neap_kube_declared_folder *folder,
			struct neap_error *err);
/* Nobody waits for them any more. */
void declared_forget_files(struct neap_kube_declared *declared);

#endif
