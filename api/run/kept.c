/* SPDX-License-Identifier: Apache-2.0
 *
 * The values that neap changed (node_kept), and notes about them for the hand, sent
 * before the writes of a plan, so that it can restore the right ones.
 *
 * Own values: neap's own groups have the weights and limits of their workloads, and the
 * weights above them. A policy may write other values over these. Pods outlive neapd, so
 * the hand must leave a pod with its own values and not with a policy's. Own values are
 * sent once, and again when they change.
 *
 * Inherited CPU sets: a v1 group starts with a copy of its parent's CPU set, also if neap
 * narrowed that. The copy is already the wanted value, so no write follows, and the hand
 * would not know of anything to restore. So the hand is asked to write the present value
 * and to note the parent's original one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/run/node_priv.h"
#include "engine/base/mem.h"

/* --- kept values --- */

static void kept_name(const char *group, enum neap_key key, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%s\n%d", group, (int)key);
}

struct node_kept *neap_kept_find(const struct node_plan *plan, const char *group,
				 enum neap_key key)
{
	char name[NEAP_PATH_MAX + 16];

	kept_name(group, key, name, sizeof(name));
	return neap_map_find(plan->kept, name);
}

static void kept_free(struct node_kept *kept)
{
	if (kept == NULL)
		return;
	free(kept->found);
	free(kept->previous);
	free(kept);
}

struct node_kept *neap_kept_note(struct node_plan *plan, const char *group,
				 enum neap_key key, const char *found)
{
	char name[NEAP_PATH_MAX + 16];
	struct node_kept *kept = neap_kept_find(plan, group, key);

	if (kept != NULL)
		return kept;
	kept = neap_alloc(sizeof(*kept));
	if (kept == NULL)
		return NULL;
	(void)neap_strcopy(kept->group, sizeof(kept->group), group);
	kept->key = key;
	kept->found = neap_strdup(found);
	kept_name(group, key, name, sizeof(name));
	if (kept->found == NULL || !neap_map_set(plan->kept, name, kept)) {
		kept_free(kept);
		return NULL;
	}
	return kept;
}

void neap_kept_drop(struct node_plan *plan, const char *group, enum neap_key key)
{
	char name[NEAP_PATH_MAX + 16];

	kept_name(group, key, name, sizeof(name));
	kept_free(neap_map_remove(plan->kept, name));
}

void neap_kept_clear(struct node_plan *plan)
{
	while (neap_map_count(plan->kept) > 0) {
		const char *name;

		(void)neap_map_at(plan->kept, neap_map_count(plan->kept) - 1, &name);
		kept_free(neap_map_remove(plan->kept, name));
	}
}

/* --- own values --- */

bool neap_node_is_own(const struct neap_node_config *config, const char *group)
{
	return neap_path_is_below(group, config->trees[0].root) ||
	       neap_path_is_below(group, config->trees[1].root);
}

static int tell(struct node_write *write, const char *group, enum neap_key key,
		const char *own, struct neap_error *err)
{
	struct neap_hand_request request = {
		.op = NEAP_HAND_OWN, .group = group, .key = key, .value = own};
	struct node_pending pending = {
		.key = key, .policy = "neapd", .why = "what the group has by itself"};

	(void)neap_strcopy(pending.group, sizeof(pending.group), group);
	if (neap_node_send(write, &request, &pending, err) < 0)
		return -(int)err->code;
	write->plan_inflight++;
	return 0;
}

static int tell_wish(struct node_write *write, size_t index, struct neap_error *err)
{
	const struct neap_wish *wish = neap_plan_wish_get(write->plan->plan, index);
	const struct node_kept *kept;
	struct neap_value own;
	char text[sizeof(kept->own)];

	if (!neap_plan_wish_own(write->plan->plan, index, &own))
		return 0;
	if (neap_value_format(wish->key, neap_key_is_v2(write->cgroup, wish->key),
			      write->config->curve, &own, text,
			      sizeof(text)) >= sizeof(text))
		return 0; /* no number is so long */
	kept = neap_kept_find(write->plan, wish->group, wish->key);
	if (kept != NULL && strcmp(kept->own, text) == 0)
		return 0;
	return tell(write, wish->group, wish->key, text, err);
}

int neap_own_tell(struct node_write *write, struct neap_error *err)
{
	int rc = 0;

	if (write->plan->is_released)
		return 0;
	for (size_t i = 0; rc == 0 && i < neap_plan_wish_count(write->plan->plan); i++)
		rc = tell_wish(write, i, err);
	/* It is not known yet what an earlier neapd set. */
	for (size_t i = 0; rc == 0 && !neap_observe_is_settling(write->plan->observe) &&
			   i < neap_map_count(write->plan->kept);
	     i++) {
		const struct node_kept *kept = neap_map_at(write->plan->kept, i, NULL);

		if (kept->own[0] != '\0' && kept->own_tick != write->plan->observe->ticks)
			rc = tell(write, kept->group, kept->key, "", err);
	}
	return rc;
}

void neap_own_answered(struct node_write *write, const struct node_pending *pending,
		       const struct neap_hand_answer *answer)
{
	struct node_kept *kept =
		neap_kept_find(write->plan, pending->group, pending->key);

	if (answer->errnum == ENOENT)
		neap_kept_drop(write->plan, pending->group, pending->key);
	if (answer->errnum != 0) {
		neap_audit_write(write, pending, answer, "set");
		return;
	}
	if (kept == NULL && answer->new_value[0] != '\0' &&
	    neap_kept_note(write->plan, pending->group, pending->key,
			   answer->old_value)) {
		kept = neap_kept_find(write->plan, pending->group, pending->key);
		(void)neap_strcopy(kept->policy, sizeof(kept->policy), pending->policy);
		(void)neap_strcopy(kept->why, sizeof(kept->why), pending->why);
		kept->wished_tick = write->plan->observe->ticks;
	}
	if (kept != NULL)
		(void)neap_strcopy(kept->own, sizeof(kept->own), answer->new_value);
}

/* --- inherited CPU sets --- */

/* Whether the group's set is the parent's present set, or the one before neap's last
 * write. Older sets of the parent are not known. */
static bool is_of_parent(struct node_write *write, const struct node_kept *parent,
			 const struct neap_cpuset *own)
{
	struct neap_value value;
	struct neap_error err;

	if (neap_observe_read_key(write->plan->observe, parent->group, parent->key,
				  &value, &err) == 1 &&
	    neap_cpuset_is_equal(own, &value.cpus))
		return true;
	return parent->previous != NULL &&
	       neap_value_parse(parent->key, false, parent->previous, &value, &err) ==
		       0 &&
	       neap_cpuset_is_equal(own, &value.cpus);
}

const char *neap_inherited_found(struct node_write *write, const char *dir,
				 enum neap_key key, struct neap_value *ret_own)
{
	char parent[NEAP_PATH_MAX];
	const struct node_kept *kept;
	struct neap_value found;
	struct neap_error err;
	char *slash;

	if (key != NEAP_KEY_CPUSET_CPUS || neap_kept_find(write->plan, dir, key) != NULL)
		return NULL;
	(void)neap_strcopy(parent, sizeof(parent), dir);
	slash = strrchr(parent, '/');
	if (slash == NULL)
		return NULL;
	*slash = '\0';
	kept = neap_kept_find(write->plan, parent, key);
	if (kept == NULL || kept->found[0] == '\0' ||
	    neap_value_parse(key, false, kept->found, &found, &err) < 0 ||
	    neap_observe_read_key(write->plan->observe, dir, key, ret_own, &err) != 1 ||
	    neap_cpuset_is_empty(&ret_own->cpus) ||
	    neap_cpuset_is_equal(&ret_own->cpus, &found.cpus))
		return NULL;
	/* In neap's own groups only neap sets values. */
	if (!neap_node_is_own(write->config, dir) &&
	    !is_of_parent(write, kept, &ret_own->cpus))
		return NULL;
	return kept->found;
}

static void note(struct node_write *write, struct node_group *group)
{
	char text[NEAP_CPUSET_TEXT];
	struct neap_hand_request request = {.op = NEAP_HAND_SET,
					    .group = group->dir,
					    .key = NEAP_KEY_CPUSET_CPUS,
					    .value = text};
	struct node_pending pending = {.key = NEAP_KEY_CPUSET_CPUS,
				       .policy = "neapd",
				       .why = "made with the set of the group above"};
	struct neap_value own;
	struct neap_error err;

	if (neap_observe_read_key(write->plan->observe, group->dir, request.key, &own,
				  &err) != 1 ||
	    neap_cpuset_is_empty(&own.cpus))
		return; /* not completely made yet: the next tick tries again */
	request.found = neap_inherited_found(write, group->dir, request.key, &own);
	group->is_birth_noted = true;
	if (request.found == NULL ||
	    neap_value_format(request.key, false, write->config->curve, &own, text,
			      sizeof(text)) >= sizeof(text))
		return;
	(void)neap_strcopy(pending.group, sizeof(pending.group), group->dir);
	if (!neap_kept_note(write->plan, group->dir, request.key, request.found) ||
	    neap_node_send(write, &request, &pending, &err) < 0)
		group->is_birth_noted = false; /* the next tick tries again */
	else
		write->plan_inflight++;
}

/* Examines each group once, as early as possible: later only neap narrows its parent, and
 * its children too. */
void neap_inherit_look(struct node_write *write)
{
	const struct neap_cgroup_mount *mount = &write->cgroup->mount[NEAP_CTL_CPUSET];

	if (!mount->is_present || mount->is_v2)
		return;
	for (size_t i = 0; i < neap_map_count(write->plan->observe->workloads); i++) {
		struct node_workload *workload =
			neap_map_at(write->plan->observe->workloads, i, NULL);

		if (!workload->is_settled || workload->is_host_app)
			continue;
		if (!workload->group->is_birth_noted)
			note(write, workload->group);
		for (size_t j = 0; j < workload->container_count; j++)
			if (!workload->containers[j]->is_birth_noted)
				note(write, workload->containers[j]);
	}
}
