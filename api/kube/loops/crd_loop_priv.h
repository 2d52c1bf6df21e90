/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of declared kinds. */
#ifndef NEAP_API_KUBE_LOOPS_CRD_LOOP_PRIV_H
#define NEAP_API_KUBE_LOOPS_CRD_LOOP_PRIV_H

#include "api/kube/loops/crd_loop.h"
#include "api/kube/request/call.h"
#include "engine/base/map.h"
#include "engine/base/sha256.h"

#define FINALIZER "customresourcecleanup.apiextensions.k8s.io"

/* One definition by its name, which is also the resource of its objects. */
struct declared_entry {
	struct neap_kube_declared *declared;
	struct neap_kube_kind
		*kind; /* in the registry, with a reference; NULL: not served */
	char uid[NEAP_OBJECT_UID];
	/* The state it was last processed in, and the result. */
	int64_t generation; /* 0: not yet */
	/* digest of the spec, because a deletion raises the generation too */
	char sum[NEAP_SHA256_HEX];
	json_t *names;             /* names it is served under, or would be */
	int64_t settled;           /* version at which it was fully processed; 0: none */
	bool has_conflict;         /* of names: retried when another kind goes */
	bool is_broken;            /* can never be served in this form */
	char reason[32], why[512]; /* of both */
	/* Watch on its objects while they are being deleted; NULL: they are not. */
	struct neap_store_watch *watch;
	struct neap_store_place place;
	bool is_ready;    /* some have gone */
	bool is_due;      /* a pass is in progress */
	bool was_asked;   /* the pass had something to delete */
	int64_t asked_ms; /* when it ended */
};

struct neap_kube_declared {
	struct neap_kube *kube;
	const struct neap_kube_kind *definition; /* the built-in row */
	const struct neap_log *log;
	struct neap_task *turn;
	struct event *tick;
	struct neap_store_watch *watch; /* of definitions */
	struct neap_map *entries;       /* name: struct declared_entry */
	struct neap_map *due;           /* names to process */
	bool is_lost;                   /* an event was missed: process all */
	struct declared_file *files;    /* content of the files, not durable yet */
	bool is_short;                  /* memory was short for one */
};

/* --- crd_loop.c --- */

void declared_wake(struct neap_kube_declared *declared);
/* Processes the name in the next turn. */
void declared_note(struct neap_kube_declared *declared, const char *name);

/* --- crd_loop_entry.c --- */

/* Updates the kind to the definition stored under the name. Returns true when nothing is
 * left to do until it changes. *left: how many definitions may still be read; unchanged
 * if none was. */
bool declared_look(struct neap_kube_declared *declared, const char *name, size_t *left);
void declared_entry_free(struct neap_kube_declared *declared,
			 struct declared_entry *entry);

/* --- crd_loop_entry.c --- */

/* Continues; *left: how many objects may still be examined. Returns true when none
 * exist. */
bool declared_empty(const char *name, struct declared_entry *entry, size_t *left);

/* --- crd_loop_status.c --- */

bool declared_is_true(const json_t *tree, const char *condition);
/* Sets a condition of the tree; false without memory. */
bool declared_set_condition(json_t *tree, const char *type, bool is, const char *reason,
			    const char *message, int64_t now);
/* Sets the status of a processed definition; names: those it is served under. False
 * without memory. */
bool declared_set_status(json_t *tree, const struct declared_entry *entry,
			 const json_t *names, int64_t now);

/* --- crd_loop_files.c --- */

/* Stores what the files of the directory contain. */
int declared_take_files(struct neap_kube_declared *declared,
			const struct neap_kube_declared_folder *folder,
			struct neap_error *err);
/* Stops waiting for them. */
void declared_forget_files(struct neap_kube_declared *declared);

#endif
