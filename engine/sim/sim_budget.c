/* SPDX-License-Identifier: Apache-2.0
 *
 * Disruption budgets, as their controller counts them and the Eviction API checks
 * them. */
#include <stdlib.h>
#include <string.h>

#include "engine/migrate/migrate_args.h"
#include "engine/sim/sim_priv.h"

static const char *const no_fields[] = {NULL};

void sim_free_budget(struct neap_sim_budget *budget)
{
	json_decref(budget->tree);
	neap_selector_free(budget->selector);
	free(budget->ns);
	free(budget);
}

int sim_add_budget(struct neap_sim *sim, const json_t *tree, struct neap_error *err)
{
	struct neap_sim_budget *budget = neap_alloc(sizeof(*budget));
	int rc = 0;

	if (!budget)
		return neap_error_nomem(err);
	budget->tree = neap_json_deep_copy(tree);
	budget->ns = neap_strdup(
		neap_json_text(json_object_get(tree, "metadata"), "namespace"));
	if (!budget->tree || !budget->ns ||
	    !neap_grow(&sim->budgets, sim->budget_count, &sim->budget_size,
		       sizeof(budget)))
		rc = neap_error_nomem(err);
	/* One that cannot be read takes no pod. */
	if (rc == 0)
		rc = neap_selector_parse(neap_json_at(tree, "spec.selector"),
					 &budget->selector, err);
	if (rc < 0 && rc != -NEAP_EINVAL) {
		sim_free_budget(budget);
		return rc;
	}
	sim->budgets[sim->budget_count++] = budget;
	return 0;
}

/* A number, or a percentage of all, rounded up; fallback without one. */
static int64_t scaled(const json_t *value, int64_t all, int64_t fallback)
{
	struct neap_scaled read = {.kind = NEAP_SCALED_UNSET};
	struct neap_error err;

	if (!value || neap_scaled_read(value, &read, &err) < 0)
		return fallback;
	if (read.kind == NEAP_SCALED_PERCENT)
		return (read.value * all + 99) / 100;
	return read.value;
}

static int64_t allowed_of(const struct neap_sim *sim,
			  const struct neap_sim_budget *budget)
{
	const json_t *spec = json_object_get(budget->tree, "spec");
	const json_t *most = json_object_get(spec, "maxUnavailable");
	int64_t all = 0, healthy = 0, least;

	for (size_t i = 0; budget->selector && i < sim->pod_count; i++) {
		const struct neap_sim_pod *pod = sim->pods[i];

		if (strcmp(pod->object->ns, budget->ns) != 0 ||
		    !neap_object_is_selected(pod->object, budget->selector))
			continue;
		/* Of those that leave, others take the place. */
		all += pod->state != NEAP_SIM_LEAVING;
		healthy += pod->state == NEAP_SIM_READY;
	}
	least = most ? all - scaled(most, all, 0)
		     : scaled(json_object_get(spec, "minAvailable"), all, 0);
	return healthy > least ? healthy - least : 0;
}

static int publish(struct neap_sim *sim, struct neap_sim_budget *budget, int64_t allowed,
		   struct neap_error *err)
{
	json_t *status = neap_json_need_take(budget->tree, "status", json_object());
	struct neap_object *object = NULL;
	json_t *copy;
	int rc;

	if (status)
		(void)json_object_set_new(status, "disruptionsAllowed",
					  json_integer((json_int_t)allowed));
	copy = neap_json_deep_copy(budget->tree);
	rc = copy ? neap_object_new_take(copy, no_fields, ++sim->last_version, &object,
					 err)
		  : neap_error_nomem(err);
	if (rc == 0)
		rc = neap_cluster_set_budget(sim->cluster, object, err);
	if (rc == 0)
		rc = neap_world_set_budget(sim->world, object, err);
	(void)neap_object_unref(object);
	return rc;
}

void sim_count_budgets(struct neap_sim *sim)
{
	for (size_t i = 0; i < sim->budget_count && sim->rc == 0; i++) {
		struct neap_error err;

		(void)sim_note(sim,
			       publish(sim, sim->budgets[i],
				       allowed_of(sim, sim->budgets[i]), &err),
			       &err);
	}
}

bool sim_may_evict(struct neap_sim *sim, const struct neap_sim_pod *pod)
{
	for (size_t i = 0; i < sim->budget_count; i++) {
		const struct neap_sim_budget *budget = sim->budgets[i];

		if (budget->selector && strcmp(pod->object->ns, budget->ns) == 0 &&
		    neap_object_is_selected(pod->object, budget->selector) &&
		    allowed_of(sim, budget) == 0)
			return false;
	}
	return true;
}
