/* SPDX-License-Identifier: Apache-2.0
 *
 * Without maxSurge, old pods are deleted, as many as may be unavailable, and the nodes
 * get new ones. With it, new pods are created beside the old ones, which are deleted when
 * the new ones are available. */
#include "api/workload/daemonset/daemonsets_priv.h"

/* The pods of a node that are not being deleted. */
struct pair {
	const struct daemon_pod *fresh, *old; /* NULL: none */
	bool is_odd;                          /* more than one of either */
};

static struct pair pair_of(const struct daemon *look, const struct daemon_node *node)
{
	struct pair pair = {NULL, NULL, false};

	for (size_t i = node->first; i < node->first + node->count; i++) {
		const struct daemon_pod *pod = &look->pods[i];
		const struct daemon_pod **one =
			daemon_is_new(look, pod) ? &pair.fresh : &pair.old;

		if (pod->facts->pod.is_deleting)
			continue;
		pair.is_odd = pair.is_odd || *one;
		*one = pod;
	}
	return pair;
}

/* Whether the node counts: those that should have a pod, or have one. */
static bool counts(const struct daemon_node *node)
{
	return node->should_run || node->count;
}

/* How many nodes have no pod that is available, old ones that are to go included. */
static int64_t missing(struct daemon *look)
{
	const struct daemon_nodes *nodes = look->sets->nodes;
	int64_t count = 0;

	for (size_t i = 0; i < daemon_nodes_count(nodes); i++) {
		const struct daemon_node *node = daemon_nodes_at(nodes, i);
		struct pair pair = pair_of(look, node);
		const struct daemon_pod *only = pair.fresh ? pair.fresh : pair.old;

		count += counts(node) &&
			 (pair.is_odd || !only || (pair.fresh && pair.old) ||
			  !daemon_is_available(look, only));
	}
	return count;
}

static void replace(struct daemon *look)
{
	const struct daemon_nodes *nodes = look->sets->nodes;
	int64_t room = look->unavailable - missing(look);

	for (size_t i = 0; i < daemon_nodes_count(nodes); i++) {
		const struct daemon_node *node = daemon_nodes_at(nodes, i);
		struct pair pair = pair_of(look, node);

		if (!counts(node) || pair.is_odd || pair.fresh || !pair.old)
			continue;
		/* One that is not available may always go. */
		if (!daemon_is_available(look, pair.old))
			daemon_delete(look, pair.old);
		else if (room-- > 0)
			daemon_delete(look, pair.old);
	}
}

static int64_t surging(struct daemon *look)
{
	const struct daemon_nodes *nodes = look->sets->nodes;
	int64_t count = 0;

	for (size_t i = 0; i < daemon_nodes_count(nodes); i++) {
		struct pair pair = pair_of(look, daemon_nodes_at(nodes, i));

		count += pair.is_odd || (pair.old && pair.fresh &&
					 !daemon_is_available(look, pair.fresh));
	}
	return count;
}

static void surge(struct daemon *look)
{
	const struct daemon_nodes *nodes = look->sets->nodes;
	int64_t room = look->surge - surging(look);

	for (size_t i = 0; i < daemon_nodes_count(nodes); i++) {
		const struct daemon_node *node = daemon_nodes_at(nodes, i);
		struct pair pair = pair_of(look, node);

		if (pair.is_odd || !pair.old)
			continue;
		if (pair.fresh) {
			if (daemon_is_available(look, pair.fresh))
				daemon_delete(look, pair.old);
		} else if (!daemon_is_available(look, pair.old) || room-- > 0) {
			daemon_create(look, node->object->name);
		}
	}
}

void daemon_update(struct daemon *look)
{
	if (look->surge > 0)
		surge(look);
	else
		replace(look);
}
