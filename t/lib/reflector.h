/* SPDX-License-Identifier: Apache-2.0
 *
 * A small watch client: keeps a copy of a collection as informers do. It lists in pages
 * (or as a watch that begins with what is there), watches from the version of the list,
 * goes on from the last version it saw when the stream ends or is cut, and lists anew
 * when that version is too old. It never waits. */
#ifndef NEAP_T_LIB_REFLECTOR_H
#define NEAP_T_LIB_REFLECTOR_H

#include <jansson.h>

#include "t/lib/wire.h"

struct reflector;

struct reflector_config {
	const char *path;       /* of the server's unix socket */
	const char *collection; /* "/api/v1/namespaces/a/pods" */
	const char *query;      /* "&labelSelector=a%3Db", "" */
	unsigned limit;         /* objects of a page; 0: all at once */
	unsigned timeout_s;     /* of a watch; 0: the server's */
	bool is_table;
	bool is_streaming; /* its lists are watches that end with a bookmark */
	/* A frame: "ADDED", "MODIFIED", "DELETED" with the object (of a Table: with the
	 * metadata of its row), or "BOOKMARK". */
	void (*saw)(void *arg, const char *type, const json_t *object, int64_t version);
	/* A list is whole: the copy is the state of version. */
	void (*listed)(void *arg, int64_t version);
	void *arg;
};

struct reflector_count {
	unsigned lists, pages, expired_pages; /* expired: 410 to a token */
	unsigned watches, ends, cuts, gone;   /* gone: 410 in a frame */
	unsigned frames, bookmarks;
};

struct reflector *reflector_new(const struct reflector_config *config);
void reflector_free(struct reflector *reflector);
/* Reads at most max bytes; false when nothing happened. */
bool reflector_step(struct reflector *reflector, size_t max);
/* The connection is gone, wherever it was; the next step begins to go on. */
void reflector_cut(struct reflector *reflector);
/* Last version seen; 0 before the first list. */
int64_t reflector_version(const struct reflector *reflector);
bool reflector_is_watching(const struct reflector *reflector);
int reflector_fd(const struct reflector *reflector); /* -1: none */
/* {"namespace/name": object} */
const json_t *reflector_copy(const struct reflector *reflector);
const struct reflector_count *reflector_counts(const struct reflector *reflector);

#endif
