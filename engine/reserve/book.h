/* SPDX-License-Identifier: Apache-2.0
 *
 * All Reservations known to a scheduler, and pods in operating mode, found by name and by
 * owner. Their placeholders are in the cluster, where their amounts count
 * (engine/cluster/kept.h). Made for ten thousand reservations of which few concern a
 * given pod: finding them costs one lookup per label and owner of the pod.
 * Single-threaded. */
#ifndef NEAP_ENGINE_RESERVE_BOOK_H
#define NEAP_ENGINE_RESERVE_BOOK_H

#include "engine/cluster/cluster.h"
#include "engine/reserve/matcher.h"

struct neap_reserve_book;

/* cluster: borrowed, must live longer. */
int neap_reserve_book_new(struct neap_cluster *cluster, struct neap_reserve_book **ret,
			  struct neap_error *err);
/* The placeholders stay in the cluster. Accepts NULL. */
void neap_reserve_book_free(struct neap_reserve_book *book);

/* Adds or replaces a Reservation and its placeholder in the cluster. *ret_moved:
 * NEAP_MOVED_*. On -NEAP_ENOMEM and -NEAP_ETOOLARGE (from its node, see
 * neap_cluster_set_pod) nothing changed. */
int neap_reserve_book_set(struct neap_reserve_book *book, struct neap_object *object,
			  unsigned *ret_moved, struct neap_error *err);
void neap_reserve_book_remove(struct neap_reserve_book *book, const char *name,
			      unsigned *ret_moved);
/* Call after a pod was set in the cluster: in operating mode it becomes a reservation,
 * else it stops being one. On -NEAP_ENOMEM nothing changed. */
int neap_reserve_book_set_pod(struct neap_reserve_book *book, struct neap_object *object,
			      unsigned *ret_moved, struct neap_error *err);
void neap_reserve_book_remove_pod(struct neap_reserve_book *book, const char *ns,
				  const char *name);
/* Call after a node was set, which may have added resource names: reads again the
 * operating pods that request unknown resources. On -NEAP_ENOMEM some were not read. */
int neap_reserve_book_resolve(struct neap_reserve_book *book, unsigned *ret_moved,
			      struct neap_error *err);

size_t neap_reserve_book_count(const struct neap_reserve_book *book);
/* By name of the Reservation; NULL: there is none. Borrowed until it is set again. */
struct neap_reserve *neap_reserve_book_find(const struct neap_reserve_book *book,
					    const char *name);
/* Returns the reservation whose placeholder the pod is, which may be a real pod; NULL:
 * none. */
struct neap_reserve *neap_reserve_book_of(const struct neap_reserve_book *book,
					  const struct neap_pod *stand);
/* By index below the count. */
struct neap_reserve *neap_reserve_book_at(const struct neap_reserve_book *book,
					  size_t index);
/* Returns what sits on the node for it: the placeholder, or the operating pod; NULL: not
 * in the cluster (any more). Borrowed. */
struct neap_pod *neap_reserve_book_stand(const struct neap_reserve_book *book,
					 const struct neap_reserve *reserve);

/* Lists usable reservations that may be for the pod, each once, in no order; no others
 * are. by: how to find them, NULL: by owners. is_every: all, whoever they are for. *ret:
 * borrowed until the next call. -NEAP_ENOMEM. */
int neap_reserve_book_candidates(struct neap_reserve_book *book,
				 const struct neap_pod *pod,
				 const struct neap_reserve_asked *by, bool is_every,
				 struct neap_reserve ***ret, size_t *ret_count,
				 struct neap_error *err);

#endif
