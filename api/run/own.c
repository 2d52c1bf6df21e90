/* SPDX-License-Identifier: Apache-2.0
 *
 * Baselines of neap's own groups: weights and limits of workloads, and the weights above
 * them. Policies may write other values. Pods outlive neapd, so the hand must know the
 * baselines to leave a pod with them rather than with a policy's wish. They are sent
 * once, and again when they change. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/run/node_priv.h"
#include "engine/base/mem.h"

bool neap_node_is_own(const struct neap_node *node, const char *group)
{
	return neap_path_is_below(group, node->config.trees[0].root) ||
	       neap_path_is_below(group, node->config.trees[1].root);
}

static int tell(struct neap_node *node, const char *group, enum neap_key key,
		const char *own, struct neap_error *err)
{
	struct neap_hand_request request = {
		.op = NEAP_HAND_OWN, .group = group, .key = key, .value = own};
	struct node_pending pending = {
		.key = key, .policy = "neapd", .why = "what the group has by itself"};

	(void)neap_strcopy(pending.group, sizeof(pending.group), group);
	if (neap_node_send(node, &request, &pending, err) < 0)
		return -(int)err->code;
	node->plan_inflight++;
	return 0;
}

static int tell_wish(struct neap_node *node, size_t index, struct neap_error *err)
{
	const struct neap_wish *wish = neap_plan_wish_get(node->plan, index);
	const struct node_kept *kept;
	struct neap_value own;
	char text[sizeof(kept->own)];
	bool v2 = false;

	if (!neap_plan_wish_own(node->plan, index, &own))
		return 0;
	(void)neap_cgroup_file(node->cgroup, wish->key, NULL, &v2);
	if (neap_value_format(wish->key, v2, node->config.curve, &own, text,
			      sizeof(text)) >= sizeof(text))
		return 0; /* no number is as long */
	kept = neap_kept_find(node, wish->group, wish->key);
	if (kept != NULL && strcmp(kept->own, text) == 0)
		return 0;
	return tell(node, wish->group, wish->key, text, err);
}

int neap_own_tell(struct neap_node *node, struct neap_error *err)
{
	size_t i;
	int rc = 0;

	if (node->state == NODE_RELEASED)
		return 0;
	for (i = 0; rc == 0 && i < neap_plan_wish_count(node->plan); i++)
		rc = tell_wish(node, i, err);
	/* What an earlier neapd knew may still be found out. */
	for (i = 0;
	     rc == 0 && !neap_node_is_settling(node) && i < neap_map_count(node->kept);
	     i++) {
		const struct node_kept *kept = neap_map_at(node->kept, i, NULL);

		if (kept->own[0] != '\0' && kept->own_tick != node->ticks)
			rc = tell(node, kept->group, kept->key, "", err);
	}
	return rc;
}

void neap_own_answered(struct neap_node *node, const struct node_pending *pending,
		       const struct neap_hand_answer *answer)
{
	struct node_kept *kept = neap_kept_find(node, pending->group, pending->key);

	if (answer->errnum == ENOENT)
		neap_kept_drop(node, pending->group, pending->key);
	if (answer->errnum != 0) {
		neap_audit_write(node, pending, answer, "set");
		return;
	}
	if (kept == NULL && answer->new_value[0] != '\0' &&
	    neap_kept_note(node, pending->group, pending->key, answer->old_value)) {
		kept = neap_kept_find(node, pending->group, pending->key);
		(void)neap_strcopy(kept->policy, sizeof(kept->policy), pending->policy);
		(void)neap_strcopy(kept->why, sizeof(kept->why), pending->why);
		kept->wished_tick = node->ticks;
	}
	if (kept != NULL)
		(void)neap_strcopy(kept->own, sizeof(kept->own), answer->new_value);
}
