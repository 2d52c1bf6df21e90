/* SPDX-License-Identifier: Apache-2.0
 *
 * What a kube-scheduler sends: read in place, whatever the case of the names, unknown members skipped. What is there
 * twice, or contradicts itself, is refused. */
#ifndef NEAP_API_EXTENDER_ARGS_H
#define NEAP_API_EXTENDER_ARGS_H

#include "api/extender/scan.h"
#include "engine/object/object.h"

/* Nodes of one request. */
#define NEAP_EXTENDER_NODES_MAX 65536

/* What comes with the name of a node. Texts are pieces of the request. */
struct neap_extender_node {
	struct neap_text whole;      /* the Node, of whole ones */
	struct neap_text violations; /* a number; none: it was not told */
	size_t victims,
		victim_count; /* of preempt: the first one's place, and how many */
};

/* A list of names, as it stands between its brackets: names are pieces of text. */
struct neap_extender_list {
	const char *text;
	size_t len;
	struct neap_text *names;
	size_t count;
};

struct neap_extender_args {
	/* Of the pod. */
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME], uid[NEAP_OBJECT_UID];
	bool is_whole;           /* whole objects came, not names */
	bool is_likely;          /* the names are those of the list that was likely */
	struct neap_text *names; /* of the nodes, pieces of the request */
	struct neap_extender_node *nodes; /* of each; NULL where names alone came */
	size_t count, size;
	struct neap_text *victims; /* their uids */
	size_t victim_count, victim_size;
};

/* A list that is kept from one request to the next has room for so many names at most. */
#define NEAP_EXTENDER_NODES_KEPT 16384

/* All of them: 0; -NEAP_EINVAL, -NEAP_ETOOLARGE, -NEAP_ENOMEM with nothing left to free. body[len] must be NUL; it is
 * borrowed by *ret. read_nodes: names that are likely, to the byte, are not looked through; NULL: none are; *ret is zero, or what neap_extender_args_clear left. */
int neap_extender_read_nodes(const char *body, size_t len,
			     const struct neap_extender_list *likely,
			     struct neap_extender_args *ret, struct neap_error *err);
int neap_extender_read_victims(const char *body, size_t len,
			       struct neap_extender_args *ret, struct neap_error *err);
/* node: NEAP_OBJECT_NAME bytes. */
int neap_extender_read_binding(const char *body, size_t len,
			       struct neap_extender_args *ret, char *node,
			       struct neap_error *err);
/* Empty again, with the room for names that it has, so that the next request need not take it from the kernel anew. */
void neap_extender_args_clear(struct neap_extender_args *args);
void neap_extender_args_done(struct neap_extender_args *args);

#endif
