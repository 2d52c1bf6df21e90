/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses the requests of a kube-scheduler in place: member names in any case, unknown
 * members skipped. Duplicate or contradictory members are refused. */
#ifndef NEAP_API_EXTENDER_ARGS_H
#define NEAP_API_EXTENDER_ARGS_H

#include "api/extender/scan.h"
#include "engine/object/object.h"

/* Nodes of one request. */
#define NEAP_EXTENDER_NODES_MAX 65536

/* What comes with a node's name. Texts point into the request. */
struct neap_extender_node {
	struct neap_text whole;      /* the Node object, when whole nodes are sent */
	struct neap_text violations; /* a number; none if it was not sent */
	size_t victims,
		victim_count; /* preempt: index of the first victim, and their number */
};

/* A list of names as it stands between its brackets; names point into the text. */
struct neap_extender_list {
	const char *text;
	size_t len;
	struct neap_text *names;
	size_t count;
};

struct neap_extender_args {
	/* Of the pod. */
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME], uid[NEAP_OBJECT_UID];
	bool is_whole;           /* whole objects were sent, not names */
	bool is_likely;          /* the names equal the likely list */
	struct neap_text *names; /* of the nodes, pointing into the request */
	/* one per name; NULL when only names were sent */
	struct neap_extender_node *nodes;
	size_t count, size;
	struct neap_text *victims; /* their uids */
	size_t victim_count, victim_size;
};

/* Limit on the names whose memory is kept between requests. */
#define NEAP_EXTENDER_NODES_KEPT 16384

/* All return 0, or -NEAP_EINVAL, -NEAP_ETOOLARGE, -NEAP_ENOMEM with nothing left to free.
 * body[len] must be NUL; *ret borrows body. read_nodes: names equal to likely, byte by
 * byte, are not parsed; NULL: none; *ret is zero, or what neap_extender_args_clear
 * left. */
int neap_extender_read_nodes(const char *body, size_t len,
			     const struct neap_extender_list *likely,
			     struct neap_extender_args *ret, struct neap_error *err);
int neap_extender_read_victims(const char *body, size_t len,
			       struct neap_extender_args *ret, struct neap_error *err);
/* node: NEAP_OBJECT_NAME bytes. */
int neap_extender_read_binding(const char *body, size_t len,
			       struct neap_extender_args *ret, char *node,
			       struct neap_error *err);
/* Empties it but keeps the memory for names, so that the next request need not allocate
 * it. */
void neap_extender_args_clear(struct neap_extender_args *args);
void neap_extender_args_done(struct neap_extender_args *args);

#endif
