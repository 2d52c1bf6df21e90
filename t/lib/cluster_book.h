/* SPDX-License-Identifier: Apache-2.0
 *
 * Whoever checks where pods were put: takes nodes, NodeResourceTopology objects and pods
 * as JSON, and counts plainly again. Knows nothing of the code that decides, and shares
 * none with it. Names what is wrong; what it cannot read ends the test. */
#ifndef NEAP_T_LIB_CLUSTER_BOOK_H
#define NEAP_T_LIB_CLUSTER_BOOK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct book;

/* max_refs: pods that may share a CPU of a node. */
struct book *book_new(int max_refs);
void book_free(struct book *book);

/* Objects as they are now; borrowed. */
void book_set_node(struct book *book, const json_t *object);
void book_set_topology(struct book *book, const json_t *object);
void book_set_pod(struct book *book, const json_t *object);
void book_drop_node(struct book *book, const char *name);
void book_drop_topology(struct book *book, const char *name);
void book_drop_pod(struct book *book, const char *ns, const char *name);

/* --- more than one who binds --- */

/* From now on two who do not know of each other may put too much onto a node between two
 * rests: nodes on which two pods or more came since are not blamed, and not for what was
 * so at the rest. */
void book_allow_races(struct book *book);
/* The pod is bound by somebody who does not look; its node is not blamed for it. */
void book_blind(struct book *book, const char *ns, const char *name);
/* Everybody has heard of everything. */
void book_rest(struct book *book);

/* --- Reservations, and pods in operating mode, which act as such --- */

void book_set_reservation(struct book *book, const json_t *object);
void book_drop_reservation(struct book *book, const char *name);
/* Somebody is about to change what is on the node, what it has, or what a Reservation
 * there keeps, without looking: it is not blamed until the next rest, and then for what
 * came since. */
void book_excuse(struct book *book, const char *node);
/* ... changes what it keeps, or who uses it: it may have too many owners from now on. */
void book_excuse_reservation(struct book *book, const char *name);
/* When nothing moves any more: whether every Reservation says truly who uses it and what
 * they have. NULL: all is well. */
const char *book_check_owners(struct book *book);
/* What pods use of a node, and what is kept there and not in use; that CPU: how many have
 * it, owners and what they use each for itself. */
int64_t book_total(struct book *book, const char *on, const char *resource);
int book_holders(struct book *book, const char *on, int cpu);
size_t book_reservations(const struct book *book); /* that there are, but for pods */
size_t book_rooms(const struct book *book);        /* pods in operating mode */
size_t book_uses(const struct book *book);         /* pods that were bound to use one */
size_t book_room_uses(const struct book *book);    /* ... one that is a pod */
size_t book_available(const struct book *book); /* Reservations that became Available */

/* --- nobody goes --- */

/* No pod and no node goes from now on: then every binding has to be as even as the pod
 * wants, at its moment. */
void book_watch_spread(struct book *book);

/* --- what is asked --- */

/* Counts the nodes again on which something moved since the last time. NULL: all is well,
 * and always was; else what is wrong, kept until the next call. */
const char *book_check(struct book *book);
/* When nothing moves any more: whether each pod that waits and has told why says the
 * truth, as far as it is about cordons, taints, labels, ports, resources, CPUs without
 * NUMA policies, spreading, and anti-affinity between pods on one host; and whether it
 * may really go nowhere. nominated pods keep their room. */
const char *book_check_waiting(struct book *book);

size_t book_bound(const struct book *book); /* pods that have a node now */
size_t book_waiting(
	const struct book
		*book); /* that have none, and are neither on their way out nor gated */
size_t book_moves(const struct book *book); /* bindings, ends, changes of nominations */
size_t book_bindings(const struct book *book);     /* all that were seen */
size_t book_cpu_bindings(const struct book *book); /* of them with CPUs of their own */
/* "" when the pod has no node, or is not there. Borrowed. */
const char *book_node_of(const struct book *book, const char *ns, const char *name);

#endif
