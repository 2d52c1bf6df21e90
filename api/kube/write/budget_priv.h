/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files about disruption budgets share. Steps are some 50 ns each: of a
 * question, which is asked in pieces. */
#ifndef NEAP_API_KUBE_WRITE_BUDGET_PRIV_H
#define NEAP_API_KUBE_WRITE_BUDGET_PRIV_H

#include "api/kube/write/budget.h"

/* budget_count.c: controllers of the pods of one namespace, each read once. */
struct budget_controllers;

struct budget_controller {
	bool has_replicas;
	int64_t replicas;
	/* What controls it has replicas, too. */
	bool has_upper, upper_has_replicas;
	int64_t upper_replicas;
	char upper_uid[NEAP_OBJECT_UID];
};

/* NULL without memory. */
struct budget_controllers *budget_controllers_new(struct neap_kube *kube, const char *ns);
void budget_controllers_free(struct budget_controllers *controllers);
/* What it says now; NULL when it was not read, or is another one now. Borrowed until the
 * next call. */
const struct budget_controller *
budget_controllers_find(struct budget_controllers *controllers, const char *uid);
/* By its reference, which has a uid, after it was not found. NULL without memory. */
const struct budget_controller *
budget_controllers_read(struct budget_controllers *controllers, const json_t *owner);
/* Since the last time. */
int64_t budget_controllers_take_steps(struct budget_controllers *controllers);

int64_t budget_steps_of_text(const struct neap_object *object);

/* --- budget_count.c --- */

/* Borrowed; before the first pod. Without it a count has its own. */
void budget_count_share(struct neap_budget_count *count,
			struct budget_controllers *controllers);
/* Borrowed; NULL: it is of no pod. */
const struct neap_selector *budget_count_selector(const struct neap_budget_count *count);

#endif
