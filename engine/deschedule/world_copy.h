/* SPDX-License-Identifier: Apache-2.0
 *
 * A copy of what a policy can see of a world, for a record of a round. Texts are copied
 * as they are while nobody changes the world, which takes a few milliseconds; they are
 * narrowed and written later, on any thread. A world that is too large is copied in part:
 * whole nodes with their pods, spread evenly over all nodes by name. */
#ifndef NEAP_ENGINE_DESCHEDULE_WORLD_COPY_H
#define NEAP_ENGINE_DESCHEDULE_WORLD_COPY_H

#include "engine/base/buf.h"
#include "engine/deschedule/world.h"

/* Limit of the texts of one copy. */
#define NEAP_WORLD_COPY_BYTES ((size_t)4 * 1024 * 1024)

struct neap_world_copy {
	bool *has_node, *has_pod; /* by index in the world */
	size_t nodes, pods;
	size_t nodes_cut, pods_cut; /* what there was no room for */
	size_t others_cut;          /* likewise: namespaces, budgets, claims */
	size_t aside;               /* bytes of these three */
	char *texts;
	size_t len, size;
};

/* The world is settled. bytes: limit of the texts. -NEAP_ENOMEM. */
int neap_world_copy_new(const struct neap_world *world, size_t bytes,
			struct neap_world_copy **ret, struct neap_error *err);
/* Accepts NULL. */
void neap_world_copy_free(struct neap_world_copy *copy);
/* Writes { "nodes": [...], "pods": [...], "namespaces": [...], "budgets": [...],
 * "claims": [...], "nodeMetrics": [...] }, as in examples. Of each object only what
 * policies can ask for: no commands, environments, arguments, names of secrets.
 * -NEAP_ENOMEM, -NEAP_ETOOLARGE (of out). */
int neap_world_copy_write(const struct neap_world_copy *copy, struct neap_buf *out,
			  struct neap_error *err);

/* Adds what neap_world_copy_write wrote to a world. The same objects may be shared with a
 * cluster: each is told to heard first (NULL: nobody), which returns a pod that was read
 * already, or NULL. -NEAP_EINVAL with the list in field; -NEAP_ENOMEM. */
struct neap_world_hearer {
	int (*heard)(void *arg, const char *list, struct neap_object *object,
		     struct neap_pod **ret_pod, struct neap_error *err);
	void *arg;
};
int neap_world_copy_read(struct neap_world *world, const json_t *cluster,
			 const struct neap_world_hearer *hearer, struct neap_error *err);

#endif
