/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds declared at run time: every CustomResourceDefinition in the store is a row of the
 * registry while it exists. A new one is served and says so in its conditions; a changed
 * one replaces its row; a deleted one first deletes its objects in small pieces, and then
 * goes.
 *
 * The definitions shipped with neap are files. They are stored as ordinary objects:
 * created when missing, and updated when their file has changed. */
#ifndef NEAP_API_KUBE_LOOPS_CRD_LOOP_H
#define NEAP_API_KUBE_LOOPS_CRD_LOOP_H

#include "api/kube/kube.h"
#include "engine/log/log.h"

/* Objects of deleted kinds that one turn of the loop deletes. */
#define NEAP_KUBE_DECLARED_PIECE 200
/* Definitions that one turn of the loop reads; each may be 1.5 MB, which takes about 50
 * ms. */
#define NEAP_KUBE_DECLARED_TURN 4
/* On objects from a file: the file's SHA-256. */
#define NEAP_KUBE_DECLARED_ANNOTATION "neap.sh/crd-sha256"

struct neap_kube_declared;

/* A directory with definition files, "*.yaml". Only root may be able to reach it: then it
 * is opened before root is dropped, and its files are read later. */
struct neap_kube_declared_folder {
	char path[512];
	int fd; /* -1: it does not exist, which is logged */
};

/* Errors name the path; folder is then closed. */
int neap_kube_declared_folder_open(struct neap_kube_declared_folder *folder,
				   const char *path, struct neap_error *err);
/* Finds SHARE_DIR/crds, or in a source tree SHARE_DIR/doc/deploy/crds. */
int neap_kube_declared_folder_find(struct neap_kube_declared_folder *folder,
				   const char *share_dir, struct neap_error *err);
void neap_kube_declared_folder_close(struct neap_kube_declared_folder *folder);

struct neap_kube_declared_config {
	struct neap_kube *kube; /* borrowed */
	const struct neap_kube_declared_folder
		*folder;            /* NULL: none; used only during the start */
	const struct neap_log *log; /* may be NULL */
};

/* Registers the stored kinds, stores the files' definitions, and waits until these are
 * durable (10 s at most; a disk that does not accept them is logged). A stored definition
 * that cannot be used is reported in its conditions and the log. Errors: a damaged file
 * ("FILE:12: ...", "FILE: spec.group: ..."), NEAP_ENOMEM. For the start, before anybody
 * is served: it calls neap_store_hear meanwhile. */
int neap_kube_declared_new(const struct neap_kube_declared_config *config,
			   struct neap_kube_declared **ret, struct neap_error *err);
/* Removes all declared kinds from the registry. Call before its kube is freed; accepts
 * NULL. */
void neap_kube_declared_free(struct neap_kube_declared *declared);

#endif
