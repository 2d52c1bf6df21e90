/* SPDX-License-Identifier: Apache-2.0
 *
 * All Reservations that a scheduler knows, and pods in operating mode, found by name and by whom they are for. Their
 * stands are in the cluster (engine/cluster/kept.h), where what they keep is counted. Shaped for ten thousand of them
 * of which none or a few are for the pod at hand: that costs a look-up for each of its labels and owners. Of one
 * thread. */
#ifndef NEAP_ENGINE_RESERVE_BOOK_H
#define NEAP_ENGINE_RESERVE_BOOK_H

#include "engine/cluster/cluster.h"
#include "engine/reserve/matcher.h"

struct neap_reserve_book;

/* cluster: borrowed, must live longer. */
int neap_reserve_book_new(struct neap_cluster *cluster, struct neap_reserve_book **ret,
			  struct neap_error *err);
/* The stands stay in the cluster. NULL is fine. */
void neap_reserve_book_free(struct neap_reserve_book *book);

/* A Reservation as it is now; its stand is told to the cluster. *ret_moved: NEAP_MOVED_*. -NEAP_ENOMEM,
 * -NEAP_ETOOLARGE (its node, see neap_cluster_set_pod): it is as it was. */
int neap_reserve_book_set(struct neap_reserve_book *book, struct neap_object *object,
			  unsigned *ret_moved, struct neap_error *err);
void neap_reserve_book_remove(struct neap_reserve_book *book, const char *name,
			      unsigned *ret_moved);
/* A pod that was just told to the cluster: in operating mode it is a reservation, else it is none (any more).
 * -NEAP_ENOMEM: as before. */
int neap_reserve_book_set_pod(struct neap_reserve_book *book, struct neap_object *object,
			      unsigned *ret_moved, struct neap_error *err);
void neap_reserve_book_remove_pod(struct neap_reserve_book *book, const char *ns,
				  const char *name);
/* After a node was told, which may have told of resources that pods in operating mode ask for by name alone: those are
 * read again. -NEAP_ENOMEM: not all of them. */
int neap_reserve_book_resolve(struct neap_reserve_book *book, unsigned *ret_moved,
			      struct neap_error *err);

size_t neap_reserve_book_count(const struct neap_reserve_book *book);
/* By name of the Reservation; NULL: there is none. Borrowed until it is told again. */
struct neap_reserve *neap_reserve_book_find(const struct neap_reserve_book *book,
					    const char *name);
/* The one that a pod of the cluster stands for, be it a real one; NULL: it stands for none. */
struct neap_reserve *neap_reserve_book_of(const struct neap_reserve_book *book,
					  const struct neap_pod *stand);
/* By index below the count. */
struct neap_reserve *neap_reserve_book_at(const struct neap_reserve_book *book,
					  size_t index);
/* What is on a node in its place: the stand, or the pod in operating mode; NULL: not told (any more). Borrowed. */
struct neap_pod *neap_reserve_book_stand(const struct neap_reserve_book *book,
					 const struct neap_reserve *reserve);

/* Those that can be used and may be for the pod, each once, in no order; all others are not. by: how they are found, NULL:
 * by their owners. is_every: whoever they are for. *ret: borrowed until the next call. -NEAP_ENOMEM. */
int neap_reserve_book_candidates(struct neap_reserve_book *book,
				 const struct neap_pod *pod,
				 const struct neap_reserve_asked *by, bool is_every,
				 struct neap_reserve ***ret, size_t *ret_count,
				 struct neap_error *err);

#endif
