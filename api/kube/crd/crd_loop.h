/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds that are declared at run time: every CustomResourceDefinition in the store is a row of the registry
 * while it is there. A new one is served, and says so in its conditions; a changed one takes the place
 * of the former; one that is deleted takes its objects with it, in small pieces, and then goes.
 *
 * The definitions that come with neap are files. They are kept as objects in the store as anybody's are: made
 * when they are missing, and changed when their file is another than it was. */
#ifndef NEAP_API_KUBE_CRD_CRD_LOOP_H
#define NEAP_API_KUBE_CRD_CRD_LOOP_H

#include "api/kube/kube.h"
#include "engine/base/log.h"

/* Objects of kinds that go which one turn of the loop deletes. */
#define NEAP_KUBE_DECLARED_PIECE 200
/* Definitions that one turn of the loop reads: each may be 1.5 MB, which takes some 50 ms. */
#define NEAP_KUBE_DECLARED_TURN 4
/* On an object that came out of a file: the SHA-256 of that file. */
#define NEAP_KUBE_DECLARED_ANNOTATION "neap.sh/crd-sha256"

struct neap_kube_declared;

/* A folder with files of definitions, "*.yaml". It may lie where only root can get to: then it is opened before
 * root is given up, and its files are read later. */
struct neap_kube_declared_folder {
	char path[512];
	int fd; /* -1: it is not there, which is told in the log */
};

/* Errors name the path; folder is then closed. */
int neap_kube_declared_folder_open(struct neap_kube_declared_folder *folder,
				   const char *path, struct neap_error *err);
/* SHARE_DIR/crds, and in a tree of sources SHARE_DIR/doc/deploy/crds. */
int neap_kube_declared_folder_find(struct neap_kube_declared_folder *folder,
				   const char *share_dir, struct neap_error *err);
void neap_kube_declared_folder_close(struct neap_kube_declared_folder *folder);

struct neap_kube_declared_config {
	struct neap_kube *kube; /* borrowed */
	const struct neap_kube_declared_folder
		*folder;            /* NULL: none; for the start alone */
	const struct neap_log *log; /* may be NULL */
};

/* Makes kinds of what is stored, takes over the files, and waits until these are durable (10 s at most; a disk
 * that does not take them is told in the log). A stored definition that is of no use is told in its conditions
 * and in the log. Errors: a file that is damaged ("FILE:12: ...", "FILE: spec.group: ..."), NEAP_ENOMEM. For the
 * start, before anybody is served: neap_store_hear is called meanwhile. */
int neap_kube_declared_new(const struct neap_kube_declared_config *config,
			   struct neap_kube_declared **ret, struct neap_error *err);
/* Takes all declared kinds out of the registry. Before its kube; NULL is fine. */
void neap_kube_declared_free(struct neap_kube_declared *declared);

#endif
