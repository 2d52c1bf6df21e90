/* SPDX-License-Identifier: Apache-2.0
 *
 * A store in memory that shows what another server keeps: a reflector (api/remote) puts
 * into it what it hears of that server, and loops read and watch it like any store. What
 * this process wrote there lies over it, as newest, until it is heard of.
 *
 * Objects are made by neap_object_new_seen_take with neap_mirror_next as their version.
 * Nothing is written by neap_store_write_take: NEAP_EUNSUPPORTED. */
#ifndef NEAP_API_STORE_MIRROR_H
#define NEAP_API_STORE_MIRROR_H

#include "api/store/store.h"

/* History as in the embedded store: so much of it is kept for slow watches. The caller
 * frees *ret by neap_store_free, when its watches have ended. */
int neap_mirror_new(int64_t history_usec, size_t history_bytes, struct neap_store **ret,
		    struct neap_error *err);
/* Number for the next object or deletion; each is used once, in this order. */
int64_t neap_mirror_next(struct neap_store *store);

/* Shows object (taken): a name that is new, or a newer state of one. is_settled: what
 * this process wrote of it is in it, or is no more; else that stays the newest.
 * NEAP_ENOMEM: watches of the resource start over, and so must the reflector. */
int neap_mirror_show_take(struct neap_store *store, const char *resource,
			  struct neap_object *object, bool is_settled, int64_t now_usec,
			  struct neap_error *err);
/* Shows that it is gone. last (taken): its last state; NULL: the one that was shown. A
 * name that is not there is fine. NEAP_ENOMEM: as above. */
int neap_mirror_hide_take(struct neap_store *store, const char *resource, const char *ns,
			  const char *name, struct neap_object *last, int64_t now_usec,
			  struct neap_error *err);
/* Makes object (taken) the newest. */
int neap_mirror_lay_take(struct neap_store *store, const char *resource,
			 struct neap_object *object, struct neap_error *err);
/* The newest is that it is gone: this process deleted it. */
void neap_mirror_lay_gone(struct neap_store *store, const char *resource, const char *ns,
			  const char *name);
/* What lies over the name goes: newest is what is shown. */
void neap_mirror_lift(struct neap_store *store, const char *resource, const char *ns,
		      const char *name);

/* A list of the whole resource: what neap_mirror_show_take or neap_mirror_keep named
 * since the mark stays, and neap_mirror_sweep hides the rest. */
void neap_mirror_mark(struct neap_store *store, const char *resource);
void neap_mirror_keep(struct neap_store *store, const char *resource, const char *ns,
		      const char *name);
int neap_mirror_sweep(struct neap_store *store, const char *resource, int64_t now_usec,
		      struct neap_error *err);

/* Calls ready of watches that have events, and forgets old history. True: more are to be
 * called, in another turn of the loop. */
bool neap_mirror_call(struct neap_store *store, int64_t now_usec);

#endif
