/* SPDX-License-Identifier: Apache-2.0
 *
 * Merges the wishes of a tick into one plan: those of every policy, neap's base values
 * for its groups (weights by request as a kubelet sets them, limits of `neapctl run` or a
 * pod), what a v1 kernel needs below a narrowed group, and original values for keys that
 * no wish asks for any more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/run/node_priv.h"
#include "engine/base/mem.h"
#include "engine/machine/path.h"
#include "lua/vm/budget.h"

/* Order of equal claims: assigned CPUs, policies in the order of the configuration, then
 * neap's own base values. */
#define RANK_PIN     (-1)
#define RANK_BASE    1000
#define RANK_IMPLIED 2000
/* How long values of an earlier neapd stay though no wish asks for them. Policies that
 * were just loaded have no rates and no memo, and nothing may be loosened until they
 * have. The unit is ticks; fewer count if ticks are long. */
#define SETTLE_TICKS     10
#define SETTLE_TICKS_MIN 3
#define SETTLE_USEC      20000000

/* Sets all fields except group and value. The value's CPU set is a kilobyte, of which
 * only the used words count, so it is not cleared. */
bool neap_key_is_v2(const struct neap_cgroup *cgroup, enum neap_key key)
{
	return cgroup->mount[neap_key_get(key)->controller].is_v2;
}

static void wish_start(struct neap_wish *wish, enum neap_key key, const char *policy,
		       const char *why, int rank)
{
	wish->group[0] = '\0';
	wish->key = key;
	wish->value.form = neap_key_get(key)->form;
	wish->value.number = 0;
	neap_cpuset_clear(&wish->value.cpus);
	(void)neap_strcopy(wish->policy, sizeof(wish->policy), policy);
	(void)neap_strcopy(wish->why, sizeof(wish->why), why);
	wish->rank = rank;
	wish->is_restore = wish->is_own = false;
}

static void wish_add(struct node_plan *plan, struct neap_wish *wish)
{
	struct node_kept *kept = neap_kept_find(plan, wish->group, wish->key);
	struct neap_error err;

	if ((plan->cgroup->supports & (1u << wish->key)) == 0)
		return; /* neapctl status names the keys that this kernel lacks */
	if (kept != NULL) {
		kept->wished_tick = plan->observe->ticks;
		if (wish->is_own)
			kept->own_tick = plan->observe->ticks;
		kept->is_restoring = false;
		kept->is_taken_over = false;
	}
	if (neap_plan_add(plan->plan, wish, &err) < 0)
		neap_log_from(&plan->config->log, wish->policy, NEAP_LOG_WARN,
			      "%s %s: %s", wish->group, neap_key_get(wish->key)->name,
			      err.msg);
}

void neap_wish_number(struct node_plan *plan, const char *group, enum neap_key key,
		      int64_t number, const char *why)
{
	struct neap_wish wish;

	wish_start(&wish, key, "neapd", why, RANK_BASE);
	(void)neap_strcopy(wish.group, sizeof(wish.group), group);
	wish.value.number = number;
	wish.is_own = neap_node_is_own(plan->config, group);
	wish_add(plan, &wish);
}

void neap_wish_cpus(struct node_plan *plan, const char *group,
		    const struct neap_cpuset *cpus, const char *why)
{
	struct neap_wish wish;

	wish_start(&wish, NEAP_KEY_CPUSET_CPUS, "neapd", why, RANK_PIN);
	(void)neap_strcopy(wish.group, sizeof(wish.group), group);
	neap_cpuset_copy(&wish.value.cpus, cpus);
	wish_add(plan, &wish);
}

/* --- below a narrowed group --- */

/* A v1 kernel refuses a CPU set or quota of a parent that a child exceeds. So children
 * follow: each gets its original value, cut to its parent's. */
static void imply_for(struct node_plan *plan, const struct neap_wish *parent,
		      const char *dir)
{
	const struct node_kept *kept = neap_kept_find(plan, dir, parent->key);
	const bool v2 = neap_key_is_v2(plan->cgroup, parent->key);
	struct neap_wish wish;
	struct neap_error err;

	if (strcmp(dir, parent->group) == 0 || !neap_path_is_below(dir, parent->group))
		return;
	wish_start(&wish, parent->key, parent->policy, "follows the group above",
		   RANK_IMPLIED);
	(void)neap_strcopy(wish.group, sizeof(wish.group), dir);
	if (kept != NULL) {
		if (neap_value_parse(parent->key, v2, kept->found, &wish.value, &err) < 0)
			return;
	} else if (neap_observe_read_key(plan->observe, dir, parent->key, &wish.value,
					 &err) != 1) {
		return;
	}
	if (wish.value.form == NEAP_FORM_CPUSET) {
		/* A v1 group without CPUs is still being made and blocks no write. */
		if (kept == NULL && !v2 && neap_cpuset_is_empty(&wish.value.cpus))
			return;
		neap_cpuset_and(&wish.value.cpus, &wish.value.cpus, &parent->value.cpus);
		if (neap_cpuset_is_empty(&wish.value.cpus))
			neap_cpuset_copy(&wish.value.cpus, &parent->value.cpus);
	} else if (parent->value.number != NEAP_UNLIMITED &&
		   wish.value.number != NEAP_UNLIMITED &&
		   wish.value.number > parent->value.number) {
		wish.value.number = parent->value.number;
	} else if (kept == NULL) {
		return; /* it fits already */
	}
	wish_add(plan, &wish);
}

/* Whether this kernel wants children narrowed before their parent. */
static bool must_imply(const struct node_plan *plan, enum neap_key key)
{
	return (key == NEAP_KEY_CPUSET_CPUS || key == NEAP_KEY_CPU_MAX_MILLI) &&
	       plan->cgroup->mount[neap_key_get(key)->controller].is_present &&
	       !neap_key_is_v2(plan->cgroup, key);
}

static void imply_for_workload(struct node_plan *plan, const struct neap_wish *parent,
			       const struct node_workload *workload)
{
	imply_for(plan, parent, workload->group->dir);
	for (size_t i = 0; i < workload->container_count; i++)
		imply_for(plan, parent, workload->containers[i]->dir);
}

/* --- targets --- */

/* A pod in creation is left alone: the kubelet writes its weight after the group, and
 * that write fails on an idle group (spec decisions 20). */
static void wish_for_workload(struct node_plan *plan, const struct neap_wish *from,
			      const struct node_workload *workload, enum neap_scope scope)
{
	struct neap_wish one = *from, *wish = &one;

	if (!workload->is_own && !workload->is_settled)
		return;
	if (wish->key == NEAP_KEY_CPUSET_CPUS) {
		if (!neap_node_pins_cut(plan, workload, &wish->value.cpus))
			return;
		if (!neap_node_pins_may_narrow(plan,
					       workload->is_own ? 0 : NEAP_TREES_OWN))
			scope = NEAP_SCOPE_CONTAINERS;
	}
	if (scope != NEAP_SCOPE_CONTAINERS) {
		(void)neap_strcopy(wish->group, sizeof(wish->group),
				   workload->group->dir);
		wish_add(plan, wish);
		if (must_imply(plan, wish->key))
			imply_for_workload(plan, wish, workload);
		return;
	}
	for (size_t i = 0; i < workload->container_count; i++) {
		if (!workload->is_own && !workload->containers[i]->is_settled)
			continue;
		(void)neap_strcopy(wish->group, sizeof(wish->group),
				   workload->containers[i]->dir);
		wish_add(plan, wish);
	}
}

static void wish_for_members(struct node_plan *plan, const struct neap_wish *wish,
			     const struct neap_target *target)
{
	for (size_t i = 0; i < neap_map_count(plan->observe->workloads); i++) {
		const struct node_workload *workload =
			neap_map_at(plan->observe->workloads, i, NULL);

		if (workload->kube_qos == target->qos && !workload->is_removing)
			wish_for_workload(plan, wish, workload, target->scope);
	}
}

/* A workload with CPUs apart from its class keeps them. The directory must include them,
 * so each other workload is narrowed by itself, even if the kernel would do it. */
static void wish_for_class_cpus(struct node_plan *plan, const struct neap_wish *wish)
{
	bool is_v1 = must_imply(plan, wish->key), is_any_apart;
	struct neap_wish whole = *wish;

	is_any_apart = neap_node_pins_add_below(plan, wish->group, &whole.value.cpus);
	wish_add(plan, &whole);
	for (size_t i = 0;
	     (is_v1 || is_any_apart) && i < neap_map_count(plan->observe->workloads);
	     i++) {
		const struct node_workload *workload =
			neap_map_at(plan->observe->workloads, i, NULL);
		bool is_apart =
			is_any_apart && neap_node_pins_is_apart(plan->given, workload);

		if (is_v1)
			imply_for_workload(plan, is_apart ? &whole : wish, workload);
		else if (!is_apart && (workload->is_own || workload->is_settled))
			imply_for_workload(plan, wish, workload);
	}
}

/* Where the directory must stay wide, only the containers are narrowed. */
static void wish_below_class(struct node_plan *plan, const struct neap_wish *wish,
			     const char *dir)
{
	for (size_t i = 0; i < neap_map_count(plan->observe->workloads); i++) {
		const struct node_workload *workload =
			neap_map_at(plan->observe->workloads, i, NULL);

		if (!workload->is_removing &&
		    neap_path_is_below(workload->group->dir, dir))
			wish_for_workload(plan, wish, workload, NEAP_SCOPE_CONTAINERS);
	}
}

static void wish_for_class(struct node_plan *plan, struct neap_wish *wish,
			   enum neap_kube_qos qos)
{
	if (wish->key == NEAP_KEY_CPUSET_CPUS &&
	    !neap_node_pins_cut_class(plan, qos, &wish->value.cpus))
		return;
	for (int i = 0; i < plan->config->tree_count; i++) {
		const struct neap_tree *tree = &plan->config->trees[i];

		if (!neap_tree_class_dir(tree, qos, wish->group, sizeof(wish->group)))
			continue;
		if (wish->key == NEAP_KEY_CPUSET_CPUS &&
		    !neap_node_pins_may_narrow(plan, i)) {
			wish_below_class(plan, wish, wish->group);
			continue;
		}
		if (wish->key == NEAP_KEY_CPUSET_CPUS) {
			wish_for_class_cpus(plan, wish);
			continue;
		}
		wish_add(plan, wish);
		for (size_t j = 0; must_imply(plan, wish->key) &&
				   j < neap_map_count(plan->observe->workloads);
		     j++)
			imply_for_workload(
				plan, wish,
				neap_map_at(plan->observe->workloads, j, NULL));
	}
}

void neap_wish_besteffort_cpus(struct node_plan *plan, const struct neap_cpuset *cpus,
			       const char *why)
{
	struct neap_wish wish;

	wish_start(&wish, NEAP_KEY_CPUSET_CPUS, "neapd", why, RANK_PIN);
	neap_cpuset_copy(&wish.value.cpus, cpus);
	for (int i = 0; i < plan->config->tree_count; i++) {
		const struct neap_tree *tree = &plan->config->trees[i];

		if (neap_node_pins_may_narrow(plan, i) &&
		    neap_tree_class_dir(tree, NEAP_KUBE_BESTEFFORT, wish.group,
					sizeof(wish.group)))
			wish_for_class_cpus(plan, &wish);
	}
}

/* Maps ids to workloads, which are borrowed; of two with the same id it has the first.
 * NULL without memory. */
static struct neap_map *map_ids(const struct node_plan *plan)
{
	struct neap_map *ids = neap_map_new();

	for (size_t i = 0; ids != NULL && i < neap_map_count(plan->observe->workloads);
	     i++) {
		struct node_workload *workload =
			neap_map_at(plan->observe->workloads, i, NULL);

		if (neap_map_find(ids, workload->id) == NULL &&
		    !neap_map_set(ids, workload->id, workload)) {
			neap_map_free(ids);
			return NULL;
		}
	}
	return ids;
}

/* Without memory, wishes for workloads by id are left out, and their values stay. */
static void wish_for_target(struct node_plan *plan, struct neap_wish *wish,
			    const char *text, struct neap_map **ids)
{
	const struct node_workload *workload;
	struct neap_target target;
	struct neap_error ignored; /* refused already when the result was read */

	if (!neap_target_parse(text, &target, &ignored))
		return;
	switch (target.scope) {
	case NEAP_SCOPE_CLASS:
		wish_for_class(plan, wish, target.qos);
		break;
	case NEAP_SCOPE_PODS:
	case NEAP_SCOPE_CONTAINERS:
		wish_for_members(plan, wish, &target);
		break;
	case NEAP_SCOPE_WORKLOAD:
		if (*ids == NULL)
			*ids = map_ids(plan);
		workload = *ids != NULL ? neap_map_find(*ids, target.id) : NULL;
		/* else it ended after the policy looked, which is normal */
		if (workload != NULL)
			wish_for_workload(plan, wish, workload, NEAP_SCOPE_WORKLOAD);
	}
}

static void wish_for_slot(struct node_plan *plan, struct neap_registry_slot *slot,
			  int rank, struct neap_map **ids)
{
	for (size_t i = 0; i < slot->wish_count; i++) {
		const struct neap_policy_wish *from = &slot->wishes[i];
		struct neap_wish wish;

		wish_start(&wish, from->key, slot->wishes_label, from->why, rank);
		wish.value.number = from->value.number;
		neap_cpuset_copy(&wish.value.cpus, &from->value.cpus);
		wish_for_target(plan, &wish, from->target, ids);
	}
}

static void charge(struct neap_registry_slot *slot, int64_t cpu_usec)
{
	slot->plan_usec += cpu_usec;
	slot->stats.cpu_usec += cpu_usec;
}

/* The cost of planning is charged to the policies whose wishes are in the plan. */
static void wish_for_policies(struct node_plan *plan)
{
	struct neap_map *ids = NULL;

	for (size_t i = 0; i < neap_registry_count(plan->registry); i++) {
		struct neap_registry_slot *slot = neap_registry_get(plan->registry, i);
		size_t before = neap_plan_added(plan->plan);
		int64_t started = neap_budget_clock_usec();

		slot->planned = 0;
		slot->plan_usec = 0;
		if (slot->wish_count == 0)
			continue;
		wish_for_slot(plan, slot, (int)i, &ids);
		slot->planned = neap_plan_added(plan->plan) - before;
		charge(slot, neap_budget_clock_usec() - started);
	}
	neap_map_free(ids);
}

void neap_charge_plan(struct node_plan *plan, int64_t cpu_usec)
{
	size_t all = neap_plan_added(plan->plan);

	for (size_t i = 0; all > 0 && i < neap_registry_count(plan->registry); i++) {
		struct neap_registry_slot *slot = neap_registry_get(plan->registry, i);

		charge(slot, cpu_usec * (int64_t)slot->planned / (int64_t)all);
	}
}

/* --- base values of neap's own groups --- */

static void wish_base(struct node_plan *plan)
{
	const struct neap_tree *own = plan->config->trees;
	char dir[NEAP_PATH_MAX];
	int64_t burstable_milli = 0;

	for (size_t i = 0; i < neap_map_count(plan->observe->workloads); i++) {
		const struct node_workload *workload =
			neap_map_at(plan->observe->workloads, i, NULL);
		const char *group = workload->group->dir;

		if (!workload->is_own || workload->is_removing)
			continue;
		if (workload->cpu_request_milli != NEAP_MISSING || workload->is_pod) {
			int64_t milli = workload->cpu_request_milli == NEAP_MISSING
						? 0
						: workload->cpu_request_milli;

			if (workload->kube_qos == NEAP_KUBE_BURSTABLE)
				burstable_milli += milli;
			neap_wish_number(plan, group, NEAP_KEY_CPU_SHARES,
					 neap_milli_to_shares(milli),
					 "weight of the CPU request");
		}
		if (workload->cpu_limit_milli != NEAP_MISSING &&
		    !neap_node_pins_has_own(plan->given, workload))
			neap_wish_number(plan, group, NEAP_KEY_CPU_MAX_MILLI,
					 workload->cpu_limit_milli,
					 "CPU limit of the workload");
		if (workload->memory_limit_bytes != NEAP_MISSING)
			neap_wish_number(plan, group, NEAP_KEY_MEMORY_MAX_BYTES,
					 workload->memory_limit_bytes,
					 "memory limit of the workload");
		if (workload->is_pod)
			neap_pod_wish(plan, workload);
	}
	neap_wish_number(plan, own->root, NEAP_KEY_CPU_SHARES,
			 neap_milli_to_shares(plan->observe->sample.capacity_milli),
			 "weight of a whole machine for the services of neap");
	for (size_t i = 0; i < NEAP_TREES_OWN; i++)
		if (neap_tree_class_dir(&own[i], NEAP_KUBE_BESTEFFORT, dir, sizeof(dir)))
			neap_wish_number(plan, dir, NEAP_KEY_CPU_SHARES, 2,
					 "lowest weight for best-effort work");
	/* At least the kernel's default, because services without a request count too. */
	if (neap_tree_class_dir(own, NEAP_KUBE_BURSTABLE, dir, sizeof(dir)))
		neap_wish_number(plan, dir, NEAP_KEY_CPU_SHARES,
				 neap_milli_to_shares(
					 burstable_milli > 1000 ? burstable_milli : 1000),
				 "weight of all CPU requests of the class");
}

/* --- values that no wish asks for --- */

/* The value to restore. False when the kernel's text is not a value (an empty CPU set),
 * and the hand must restore that exact text. */
static bool kept_value(const struct node_plan *plan, const struct node_kept *kept,
		       struct neap_value *ret)
{
	if (neap_value_parse(kept->key, neap_key_is_v2(plan->cgroup, kept->key),
			     kept->found, ret, NULL) < 0)
		return false;
	return ret->form != NEAP_FORM_CPUSET || !neap_cpuset_is_empty(&ret->cpus);
}

bool neap_observe_is_settling(const struct node_observe *observe)
{
	return observe->ticks <= SETTLE_TICKS_MIN ||
	       (observe->ticks <= SETTLE_TICKS &&
		observe->mono_usec - observe->started_mono_usec < SETTLE_USEC);
}

/* Asks the hand to restore it and forget it. */
static void restore(struct node_plan *plan, struct node_kept *kept)
{
	kept->is_restore_due = true;
	plan->restores_due++;
}

/* Wishes for original values, so that the plan orders the writes. Values that are
 * restored already, or are not a value, are left to the hand: it restores and forgets
 * them. */
static void wish_back(struct node_plan *plan)
{
	for (size_t i = 0; i < neap_map_count(plan->kept); i++) {
		struct node_kept *kept = neap_map_at(plan->kept, i, NULL);
		struct neap_value now;
		struct neap_wish wish;
		struct neap_error err;

		if (kept->wished_tick == plan->observe->ticks || kept->is_restoring)
			continue;
		if (kept->is_taken_over && neap_observe_is_settling(plan->observe))
			continue;
		/* Only the hand knows whether a pod still runs in it. */
		if (kept->own[0] != '\0' && plan->is_released)
			continue;
		wish_start(&wish, kept->key, "neapd",
			   "no longer wanted: as it was before", RANK_BASE);
		(void)neap_strcopy(wish.group, sizeof(wish.group), kept->group);
		wish.is_restore = true;
		/* A release restores the original set, whatever happened since. */
		if (!plan->is_released && kept->key == NEAP_KEY_CPUSET_CPUS &&
		    kept_value(plan, kept, &wish.value)) {
			struct neap_cpuset found;

			neap_cpuset_copy(&found, &wish.value.cpus);
			if (!neap_node_pins_cut_back(plan, kept->group, &wish.value.cpus))
				continue;
			/* Only part of it can be restored now, so it stays kept. */
			if (!neap_cpuset_is_equal(&found, &wish.value.cpus)) {
				(void)neap_plan_add(plan->plan, &wish, &err);
				continue;
			}
		}
		if (!kept_value(plan, kept, &wish.value) ||
		    neap_observe_read_key(plan->observe, kept->group, kept->key, &now,
					  &err) != 1 ||
		    neap_value_is_equal(kept->key, &now, &wish.value)) {
			restore(plan, kept);
			continue;
		}
		if (neap_plan_add(plan->plan, &wish, &err) < 0)
			restore(plan, kept);
	}
}

void neap_gather_wishes(struct node_plan *plan)
{
	neap_plan_clear(plan->plan);
	if (!plan->is_released) {
		neap_node_pins_look(plan->given, plan->observe->topology);
		neap_node_pins_wish(plan);
		wish_for_policies(plan);
		wish_base(plan);
	}
	/* Values that the hand kept in a release stay, because pods run with them. */
	if (!plan->is_released || !plan->is_given_back)
		wish_back(plan);
}
