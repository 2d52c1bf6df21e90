/* SPDX-License-Identifier: Apache-2.0
 *
 * Fills the file of a store, before a neapd opens it: for what has to be many. Whatever
 * fails ends the program. */
#ifndef NEAP_T_LIB_FILL_H
#define NEAP_T_LIB_FILL_H

#include <jansson.h>

struct filler;

struct filler *filler_open(const char *file);
/* Durable when it returns. */
void filler_close(struct filler *filler);
/* The tree is taken; it gets a time and, where it has none, a uid. */
void filler_put(struct filler *filler, const char *resource, json_t *object);
void filler_put_namespace(struct filler *filler, const char *name);
/* A list of variables of so many bytes as stored, in many small members, as costly to
 * read as a text of that length can be. */
json_t *filler_variables_new(size_t bytes);

#endif
