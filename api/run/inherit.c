/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups created narrow. A v1 group copies its parent's CPU set when it is created, even
 * one that neap narrowed. Then it already has the wanted value, nothing is written, and
 * the hand would have nothing to restore; the group would stay narrow for good. So the
 * hand is asked to write the present value and to record the parent's original one. */
#include <string.h>

#include "api/run/node_priv.h"
#include "engine/base/mem.h"

/* The sets that the parent had since the group was made, as far as that can be told: the
 * one it has, and the one before neap's last write. */
static bool is_of_parent(struct neap_node *node, const struct node_kept *parent,
			 const struct neap_cpuset *own)
{
	struct neap_value value;
	struct neap_error err;

	if (neap_node_read_key(node, parent->group, parent->key, &value, &err) == 1 &&
	    neap_cpuset_is_equal(own, &value.cpus))
		return true;
	return parent->previous != NULL &&
	       neap_value_parse(parent->key, false, parent->previous, &value, &err) ==
		       0 &&
	       neap_cpuset_is_equal(own, &value.cpus);
}

const char *neap_inherited_found(struct neap_node *node, const char *dir,
				 enum neap_key key, struct neap_value *ret_own)
{
	char parent[NEAP_PATH_MAX];
	const struct node_kept *kept;
	struct neap_value found;
	struct neap_error err;
	char *slash;

	if (key != NEAP_KEY_CPUSET_CPUS || neap_kept_find(node, dir, key) != NULL)
		return NULL;
	(void)neap_strcopy(parent, sizeof(parent), dir);
	slash = strrchr(parent, '/');
	if (slash == NULL)
		return NULL;
	*slash = '\0';
	kept = neap_kept_find(node, parent, key);
	if (kept == NULL || kept->found[0] == '\0' ||
	    neap_value_parse(key, false, kept->found, &found, &err) < 0 ||
	    neap_node_read_key(node, dir, key, ret_own, &err) != 1 ||
	    neap_cpuset_is_empty(&ret_own->cpus) ||
	    neap_cpuset_is_equal(&ret_own->cpus, &found.cpus))
		return NULL;
	/* Nobody else sets what is neap's own. */
	if (!neap_node_is_own(node, dir) && !is_of_parent(node, kept, &ret_own->cpus))
		return NULL;
	return kept->found;
}

static void note(struct neap_node *node, struct node_group *group)
{
	struct neap_hand_request request = {
		.op = NEAP_HAND_SET, .group = group->dir, .key = NEAP_KEY_CPUSET_CPUS};
	struct node_pending pending = {.key = NEAP_KEY_CPUSET_CPUS,
				       .policy = "neapd",
				       .why = "made with the set of the group above"};
	neap_auto_free char *text = NULL;
	struct neap_value own;
	struct neap_error err;

	if (neap_node_read_key(node, group->dir, request.key, &own, &err) != 1 ||
	    neap_cpuset_is_empty(&own.cpus))
		return; /* not all made yet: at the next tick */
	request.found = neap_inherited_found(node, group->dir, request.key, &own);
	group->is_birth_noted = true;
	text = request.found == NULL ? NULL : neap_alloc(NEAP_CPUSET_TEXT);
	if (text == NULL ||
	    neap_value_format(request.key, false, node->config.curve, &own, text,
			      NEAP_CPUSET_TEXT) >= NEAP_CPUSET_TEXT)
		return;
	request.value = text;
	(void)neap_strcopy(pending.group, sizeof(pending.group), group->dir);
	if (!neap_kept_note(node, group->dir, request.key, request.found) ||
	    neap_node_send(node, &request, &pending, &err) < 0)
		group->is_birth_noted = false; /* at the next tick */
	else
		node->plan_inflight++;
}

/* Once for each group, as soon as it can be: later on only neap narrows its parent, and
 * its children with it. */
void neap_inherit_look(struct neap_node *node)
{
	bool v2 = false;
	size_t i, j;

	if (neap_cgroup_file(node->cgroup, NEAP_KEY_CPUSET_CPUS, NULL, &v2) == NULL || v2)
		return;
	for (i = 0; i < neap_map_count(node->workloads); i++) {
		struct node_workload *workload = neap_map_at(node->workloads, i, NULL);

		if (!workload->is_settled || workload->is_host_app)
			continue;
		if (!workload->group->is_birth_noted)
			note(node, workload->group);
		for (j = 0; j < workload->container_count; j++)
			if (!workload->containers[j]->is_birth_noted)
				note(node, workload->containers[j]);
	}
}
