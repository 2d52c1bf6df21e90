/* SPDX-License-Identifier: Apache-2.0
 *
 * Watches budgets, pods, and owners with replicas, and updates the status of budgets.
 *
 * A change makes its namespace due. Its budgets are counted shortly after, so that many
 * changes share one count; one budget after the other, a piece of the pods per turn. A
 * status is written only when it changed. A periodic recount every few minutes repairs
 * missed events and refused writes. */
#include "api/kube/loops/budget_loop.h"

#include <stdlib.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/loops/gc_priv.h"
#include "api/kube/write/budget.h"
#include "api/kube/write/write.h"
#include "api/task/task.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

#define BUDGETS "poddisruptionbudgets.policy"
/* Microseconds from a change to the count, and between full recounts. */
#define DELAY_USEC  50000
#define RETRY_USEC  500000 /* after a lack of memory, or a refused write */
#define RESYNC_USEC (300 * 1000000LL)
/* When a written namespace is checked again: the disk may have refused the write. */
#define UNSURE_USEC 2000000

static const char *const resources[] = {
	BUDGETS,
	"pods",
	"deployments.apps",
	"replicasets.apps",
	"statefulsets.apps",
	"replicationcontrollers",
};

#define SOURCES NEAP_ARRAY_LEN(resources)

struct looked_at {
	struct neap_kube_budgets *budgets;
	const char *resource;
	struct neap_store_watch *watch;
	bool is_ready;
};

struct neap_kube_budgets {
	struct neap_kube *kube;
	struct neap_task *turn;
	struct looked_at sources[SOURCES];
	struct neap_map *due;    /* names of namespaces */
	struct neap_map *unsure; /* namespaces that were written to lately */
	bool is_lost;            /* changes were missed */
	/* The budget being counted. */
	bool is_at_work;
	char ns[NEAP_OBJECT_NAMESPACE];
	struct neap_store_place place, pod_place;
	struct neap_object *budget; /* NULL: find the next one */
	json_t *tree;
	struct neap_budget_count *count;
	uint64_t written;
};

static void wake(struct neap_kube_budgets *budgets, int64_t usec)
{
	neap_task_wake_later(budgets->turn, usec);
}

static void ready(void *arg)
{
	struct looked_at *source = arg;

	source->is_ready = true;
	if (!source->budgets->is_at_work)
		wake(source->budgets, DELAY_USEC);
}

static void put(struct neap_kube_budgets *budgets, struct neap_map *set, const char *ns)
{
	static char here;

	if (!neap_map_set(set, ns, &here))
		budgets->is_lost = true;
}

static void make_due(struct neap_kube_budgets *budgets, const char *ns)
{
	put(budgets, budgets->due, ns);
}

static void make_unsure_due(struct neap_kube_budgets *budgets)
{
	const char *ns;

	while (neap_map_count(budgets->unsure)) {
		(void)neap_map_at(budgets->unsure, neap_map_count(budgets->unsure) - 1,
				  &ns);
		make_due(budgets, ns);
		(void)neap_map_remove(budgets->unsure, ns);
	}
}

static bool note_listed(void *arg, struct neap_object *object)
{
	make_due(arg, object->ns);
	return true;
}

static int make_all_due(struct neap_kube_budgets *budgets, struct neap_error *err)
{
	struct neap_store *store = budgets->kube->store;
	struct neap_store_place place = {.version = neap_store_version(store)};

	return neap_store_list(store, BUDGETS, NULL, &place, note_listed, budgets, err);
}

/* --- what happens --- */

static int restart(struct neap_kube_budgets *budgets, struct neap_error *err)
{
	struct neap_store *store = budgets->kube->store;

	budgets->is_lost = false;
	for (size_t i = 0; i < SOURCES; i++) {
		struct looked_at *source = &budgets->sources[i];
		int ret;

		neap_store_watch_free(source->watch);
		source->watch = NULL;
		source->is_ready = true; /* no callback comes for events that exist */
		ret = neap_store_watch_new(store, source->resource,
					   neap_store_version(store), ready, source,
					   &source->watch, err);
		if (ret < 0)
			return ret;
	}
	return make_all_due(budgets, err);
}

static void take_events(struct neap_kube_budgets *budgets, struct looked_at *source,
			size_t *left)
{
	struct neap_store_event *event;
	struct neap_error err;

	for (; *left; (*left)--) {
		int ret = neap_store_watch_next(source->watch, &event, &err);

		if (ret <= 0) {
			source->is_ready = false;
			budgets->is_lost = budgets->is_lost || ret < 0;
			return;
		}
		make_due(budgets, event->object->ns);
	}
}

/* --- the status --- */

static bool set_number(json_t *status, const char *name, int64_t value)
{
	return json_object_set_new(status, name, json_integer(value)) == 0;
}

static bool set_status(struct neap_kube *kube, json_t *tree,
		       const struct neap_budget_figures *figures)
{
	json_t *generation = neap_json_at(tree, "metadata.generation");
	json_t *status = neap_json_need_take(tree, "status", json_object());
	bool may = figures->allowed > 0;

	return status && set_number(status, "currentHealthy", figures->healthy) &&
	       set_number(status, "desiredHealthy", figures->need) &&
	       set_number(status, "expectedPods", figures->expected) &&
	       set_number(status, "disruptionsAllowed", figures->allowed) &&
	       (!generation ||
		json_object_set(status, "observedGeneration", generation) == 0) &&
	       neap_kube_condition_set(tree, "DisruptionAllowed", may ? "True" : "False",
				       may ? "SufficientPods" : "InsufficientPods", "",
				       kube->now()) &&
	       (!generation ||
		json_object_set(neap_json_condition(status, "DisruptionAllowed"),
				"observedGeneration", generation) == 0);
}

/* --- counting --- */

static void drop_budget(struct neap_kube_budgets *budgets)
{
	neap_budget_count_free(budgets->count);
	budgets->count = NULL;
	json_decref(budgets->tree);
	budgets->tree = NULL;
	budgets->budget = neap_object_unref(budgets->budget);
}

/* Writes the status after all pods were counted. A pod that changed meanwhile makes the
 * namespace due again. */
static void finish(struct neap_kube_budgets *budgets)
{
	struct neap_kube *kube = budgets->kube;
	const struct neap_object *budget = budgets->budget;
	const struct neap_kube_kind *kind = neap_kube_registry_find(
		kube->registry, "policy", NULL, "poddisruptionbudgets");
	struct neap_object *newest =
		neap_store_newest(kube->store, BUDGETS, budget->ns, budget->name);
	struct neap_budget_figures figures;
	json_t *tree;

	if (!kind || !newest || newest->version != budget->version)
		return;
	neap_budget_count_end(budgets->count, &figures);
	tree = neap_json_deep_copy(budgets->tree);
	if (!tree || !set_status(kube, tree, &figures)) {
		budgets->is_lost = true;
		json_decref(tree);
	} else if (json_equal(tree, budgets->tree)) {
		json_decref(tree);
	} else {
		int64_t version = newest->version;

		neap_kube_change_take(kube, kind, tree, newest, NULL, NULL);
		newest =
			neap_store_newest(kube->store, BUDGETS, budget->ns, budget->name);
		if (newest && newest->version == version)
			budgets->is_lost = true;
		else
			budgets->written++;
		put(budgets, budgets->unsure, budgets->ns);
	}
}

static bool take_first(void *arg, struct neap_object *object)
{
	struct neap_kube_budgets *budgets = arg;

	if (budgets->budget)
		return false;
	budgets->budget = neap_object_ref(object);
	return true;
}

/* False: there is none. A budget that cannot be counted is skipped. */
static bool next_budget(struct neap_kube_budgets *budgets)
{
	struct neap_store *store = budgets->kube->store;
	struct neap_error err;

	if (neap_store_list(store, BUDGETS, budgets->ns, &budgets->place, take_first,
			    budgets, &err) < 0)
		make_due(budgets, budgets->ns);
	if (!budgets->budget)
		return false;
	budgets->tree = neap_object_tree(budgets->budget);
	if (!budgets->tree || neap_budget_count_new(budgets->kube, budgets->tree,
						    &budgets->count, &err) < 0) {
		if (!budgets->tree || err.code == NEAP_ENOMEM)
			budgets->is_lost = true;
		drop_budget(budgets);
		return true;
	}
	budgets->pod_place =
		(struct neap_store_place){.version = neap_store_version(store)};
	return true;
}

struct piece {
	struct neap_kube_budgets *budgets;
	size_t *left, seen;
};

static bool count_pod(void *arg, struct neap_object *object)
{
	struct piece *piece = arg;

	/* Pods with many labels, or a megabyte of text, are expensive. */
	if (!*piece->left || (piece->seen++ && !neap_task_has_time(piece->budgets->turn)))
		return false;
	(*piece->left)--;
	if (neap_budget_count_has(piece->budgets->count, object) &&
	    !neap_budget_count_add(piece->budgets->count, object)) {
		piece->budgets->is_lost = true;
		return false;
	}
	return true;
}

static void count_pods(struct neap_kube_budgets *budgets, size_t *left)
{
	struct piece piece = {.budgets = budgets, .left = left};
	struct neap_error err;
	int more = neap_store_list(budgets->kube->store, "pods", budgets->ns,
				   &budgets->pod_place, count_pod, &piece, &err);

	if (more > 0 && !budgets->is_lost)
		return;
	if (more == 0)
		finish(budgets);
	else
		make_due(budgets,
			 budgets->ns); /* the version is forgotten, or out of memory */
	drop_budget(budgets);
}

static bool begin(struct neap_kube_budgets *budgets)
{
	size_t count = neap_map_count(budgets->due);
	const char *ns;

	budgets->is_at_work = count > 0;
	if (!count)
		return false;
	(void)neap_map_at(budgets->due, count - 1, &ns);
	(void)neap_strcopy(budgets->ns, sizeof(budgets->ns), ns);
	(void)neap_map_remove(budgets->due, budgets->ns);
	budgets->place = (struct neap_store_place){
		.version = neap_store_version(budgets->kube->store)};
	return true;
}

static void work(struct neap_kube_budgets *budgets, size_t *left)
{
	while (*left && !budgets->is_lost && neap_task_has_time(budgets->turn)) {
		if (budgets->budget) {
			count_pods(budgets, left);
		} else if (!budgets->is_at_work) {
			if (!begin(budgets))
				return;
		} else if (!next_budget(budgets)) {
			budgets->is_at_work = false;
		}
		if (*left)
			(*left)--; /* a step is work too */
	}
}

static bool is_any_ready(const struct neap_kube_budgets *budgets)
{
	for (size_t i = 0; i < SOURCES; i++)
		if (budgets->sources[i].is_ready)
			return true;
	return false;
}

static enum neap_task_next turn(void *arg)
{
	struct neap_kube_budgets *budgets = arg;
	size_t left = NEAP_KUBE_BUDGETS_PIECE;
	struct neap_error err;

	if (budgets->is_lost) {
		drop_budget(budgets);
		budgets->is_at_work = false;
		if (restart(budgets, &err) < 0) {
			budgets->is_lost = true;
			wake(budgets, RETRY_USEC);
			return NEAP_TASK_WAITS;
		}
	} else if (!budgets->is_at_work && !neap_map_count(budgets->due) &&
		   !is_any_ready(budgets)) {
		if (neap_map_count(budgets->unsure))
			make_unsure_due(budgets);
		else
			(void)make_all_due(budgets, &err); /* retried next time */
	}
	for (size_t i = 0; i < SOURCES && left; i++)
		if (budgets->sources[i].is_ready)
			take_events(budgets, &budgets->sources[i], &left);
	work(budgets, &left);
	if (budgets->is_lost)
		wake(budgets, RETRY_USEC);
	else if (budgets->is_at_work || !left || neap_map_count(budgets->due))
		return NEAP_TASK_GOES_ON;
	else
		wake(budgets,
		     neap_map_count(budgets->unsure) ? UNSURE_USEC : RESYNC_USEC);
	return NEAP_TASK_WAITS;
}

int neap_kube_budgets_new(struct neap_kube *kube, struct neap_kube_budgets **ret,
			  struct neap_error *err)
{
	struct neap_kube_budgets *budgets = neap_alloc(sizeof(*budgets));

	*ret = NULL;
	if (!budgets)
		return neap_error_nomem(err);
	budgets->kube = kube;
	for (size_t i = 0; i < SOURCES; i++)
		budgets->sources[i] =
			(struct looked_at){.budgets = budgets, .resource = resources[i]};
	budgets->due = neap_map_new();
	budgets->unsure = neap_map_new();
	budgets->turn = neap_task_new(kube->tasks, "", turn, budgets);
	if (!budgets->due || !budgets->unsure || !budgets->turn) {
		neap_kube_budgets_free(budgets);
		return neap_error_nomem(err);
	}
	budgets->is_lost = true;
	wake(budgets, 0);
	*ret = budgets;
	return 0;
}

void neap_kube_budgets_free(struct neap_kube_budgets *budgets)
{
	if (!budgets)
		return;
	drop_budget(budgets);
	for (size_t i = 0; i < SOURCES; i++)
		neap_store_watch_free(budgets->sources[i].watch);
	neap_map_free(budgets->due);
	neap_map_free(budgets->unsure);
	neap_task_free(budgets->turn);
	free(budgets);
}

uint64_t neap_kube_budgets_count(const struct neap_kube_budgets *budgets)
{
	return budgets->written;
}
