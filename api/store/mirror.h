/* SPDX-License-Identifier: Apache-2.0
 *
 * A store in memory that mirrors another server: a reflector (api/remote) adds what it
 * receives from that server, and loops read and watch it like any store. The results of
 * this process's own writes are laid over it, as newest, until the reflector receives
 * them.
 *
 * Objects are made by neap_object_new_seen_take with neap_mirror_next as their version.
 * neap_store_write_take does not work: NEAP_EUNSUPPORTED. */
#ifndef NEAP_API_STORE_MIRROR_H
#define NEAP_API_STORE_MIRROR_H

#include "api/store/store.h"

/* The history is bounded as in the embedded store, for slow watches. The caller frees
 * *ret by neap_store_free, after its watches have ended. */
int neap_mirror_new(int64_t history_usec, size_t history_bytes, struct neap_store **ret,
		    struct neap_error *err);
/* Number for the next object or deletion; each is used once, in this order. */
int64_t neap_mirror_next(struct neap_store *store);

/* Shows object (taken): a new name, or a newer state of one. is_settled: it includes what
 * this process wrote, or that is obsolete; otherwise the laid-over state stays newest.
 * NEAP_ENOMEM: watches of the resource start over, and so must the reflector. */
int neap_mirror_show_take(struct neap_store *store, const char *resource,
			  struct neap_object *object, bool is_settled, int64_t now_usec,
			  struct neap_error *err);
/* Shows a deletion. last (taken): the last state; NULL: the one that was shown. An
 * unknown name is fine. NEAP_ENOMEM: as above. */
int neap_mirror_hide_take(struct neap_store *store, const char *resource, const char *ns,
			  const char *name, struct neap_object *last, int64_t now_usec,
			  struct neap_error *err);
/* Lays object (taken) over its name, as newest. */
int neap_mirror_lay_take(struct neap_store *store, const char *resource,
			 struct neap_object *object, struct neap_error *err);
/* Lays a deletion over the name: this process deleted the object. */
void neap_mirror_lay_gone(struct neap_store *store, const char *resource, const char *ns,
			  const char *name);
/* Removes what is laid over the name: newest is what is shown. */
void neap_mirror_lift(struct neap_store *store, const char *resource, const char *ns,
		      const char *name);

/* For a list of the whole resource: names passed to neap_mirror_show_take or
 * neap_mirror_keep since the mark stay, and neap_mirror_sweep hides the others. */
void neap_mirror_mark(struct neap_store *store, const char *resource);
void neap_mirror_keep(struct neap_store *store, const char *resource, const char *ns,
		      const char *name);
int neap_mirror_sweep(struct neap_store *store, const char *resource, int64_t now_usec,
		      struct neap_error *err);

/* Calls ready of watches that have events, and drops old history. True: more must be
 * called, in another turn of the loop. */
bool neap_mirror_call(struct neap_store *store, int64_t now_usec);

#endif
