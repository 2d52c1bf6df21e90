/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files about disruption budgets. Steps, some 50 ns each, bound the pieces
 * of a question. */
#ifndef NEAP_API_KUBE_WRITE_BUDGET_PRIV_H
#define NEAP_API_KUBE_WRITE_BUDGET_PRIV_H

#include "api/kube/write/budget.h"

/* budget_count.c: controllers of the pods of one namespace, each read once. */
struct budget_controllers;

struct budget_controller {
	bool has_replicas;
	int64_t replicas;
	/* The controller's own controller, and whether that has replicas. */
	bool has_upper, upper_has_replicas;
	int64_t upper_replicas;
	char upper_uid[NEAP_OBJECT_UID];
};

/* NULL without memory. */
struct budget_controllers *budget_controllers_new(struct neap_kube *kube, const char *ns);
void budget_controllers_free(struct budget_controllers *controllers);
/* Returns the controller's present state; NULL when it was not read, or was replaced.
 * Borrowed until the next call. */
const struct budget_controller *
budget_controllers_find(struct budget_controllers *controllers, const char *uid);
/* Reads a controller that was not found, by its owner reference, which has a uid. NULL
 * without memory. */
const struct budget_controller *
budget_controllers_read(struct budget_controllers *controllers, const json_t *owner);
/* Returns the steps since the last call. */
int64_t budget_controllers_take_steps(struct budget_controllers *controllers);

int64_t budget_steps_of_text(const struct neap_object *object);

/* --- budget_count.c --- */

/* Sets the controllers (borrowed); call it before the first pod. Without it a count has
 * its own. */
void budget_count_share(struct neap_budget_count *count,
			struct budget_controllers *controllers);
/* Returns the selector, borrowed; NULL: it selects no pod. */
const struct neap_selector *budget_count_selector(const struct neap_budget_count *count);

#endif
