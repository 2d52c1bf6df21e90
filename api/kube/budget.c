/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a pod may go is counted when somebody asks, over the newest state: the status of a budget is for
 * those who look. */
#include "api/kube/budget.h"

#include <stdlib.h>
#include <string.h>

#include "api/kube/kube_priv.h"
#include "engine/base/quantity.h"

static bool is_phase(const json_t *status, const char *name)
{
	const char *phase = json_string_value(json_object_get(status, "phase"));

	return phase && strcmp(phase, name) == 0;
}

static bool is_pending(const json_t *status)
{
	return is_phase(status, "Pending");
}

/* "50%" or 3, of all. -1: none given. */
static int64_t amount_of(const json_t *value, int64_t all)
{
	const char *text = json_string_value(value);
	int64_t percent;
	char digits[16];
	size_t len;

	if (json_is_integer(value))
		return json_integer_value(value);
	if (!text)
		return -1;
	len = strlen(text);
	if (len < 2 || len > sizeof(digits) || text[len - 1] != '%')
		return -1;
	memcpy(digits, text, len - 1);
	digits[len - 1] = '\0';
	if (neap_int_parse(digits, &percent, NULL) < 0 || percent < 0 || percent > 100)
		return -1;
	return (all * percent + 99) / 100;
}

int64_t neap_budget_need(const json_t *budget, int64_t expected)
{
	const json_t *spec = json_object_get(budget, "spec");
	int64_t least = amount_of(json_object_get(spec, "minAvailable"), expected);
	int64_t most = amount_of(json_object_get(spec, "maxUnavailable"), expected);

	if (least >= 0)
		return least;
	if (most >= 0)
		return most < expected ? expected - most : 0;
	return 0;
}

struct tally {
	struct neap_budget_count *count;
	int new_pods;
	bool is_short_of_memory, is_too_much;
};

static bool count_pod(void *arg, struct neap_object *object)
{
	struct tally *tally = arg;

	if (!neap_budget_count_has(tally->count, object))
		return true;
	tally->is_too_much = !neap_budget_count_knows(object) &&
			     ++tally->new_pods > NEAP_BUDGET_NEW_PODS_MAX;
	tally->is_short_of_memory =
		!tally->is_too_much && !neap_budget_count_add(tally->count, object);
	return !tally->is_too_much && !tally->is_short_of_memory;
}

struct question {
	struct neap_kube *kube;
	const struct neap_object *pod;
	bool is_ready;
	int asked; /* budgets that have counted all their pods */
	struct neap_budget_answer answer;
};

static void refuse(struct question *question, const char *budget, int64_t need,
		   int64_t healthy)
{
	question->answer.is_allowed = false;
	(void)snprintf(question->answer.why, sizeof(question->answer.why),
		       "The disruption budget %.120s needs %lld healthy pods and has "
		       "%lld currently",
		       budget, (long long)need, (long long)healthy);
}

static void refuse_now(struct question *question, const char *budget)
{
	question->answer.is_allowed = false;
	(void)snprintf(question->answer.why, sizeof(question->answer.why),
		       "The disruption budget %.120s is still being processed by the "
		       "server.",
		       budget);
}

static bool may_go(const struct question *question, const json_t *budget,
		   const struct neap_budget_figures *figures)
{
	const char *policy = json_string_value(json_object_get(
		json_object_get(budget, "spec"), "unhealthyPodEvictionPolicy"));

	/* One that is not ready takes nothing away: it may go while there are enough others, or always
	 * where the budget says so. */
	if (question->is_ready)
		return figures->allowed > 0;
	return figures->healthy >= figures->need ||
	       (policy && strcmp(policy, "AlwaysAllow") == 0);
}

/* What cannot be judged for want of memory is not allowed. */
static void judge(struct question *question, const struct neap_object *object,
		  const json_t *budget)
{
	struct neap_store *store = question->kube->store;
	struct tally tally = {0};
	struct neap_budget_figures figures;
	struct neap_error err;

	if (neap_budget_count_new(question->kube, budget, &tally.count, &err) < 0) {
		question->answer.is_allowed = err.code != NEAP_ENOMEM;
		return;
	}
	if (neap_budget_count_has(tally.count, question->pod) &&
	    question->asked++ == NEAP_BUDGETS_OF_POD) {
		question->answer.is_allowed = false;
		(void)snprintf(question->answer.why, sizeof(question->answer.why),
			       "More than %d disruption budgets select the pod",
			       NEAP_BUDGETS_OF_POD);
	} else if (neap_budget_count_has(tally.count, question->pod)) {
		neap_store_list_newest(store, "pods", object->ns, count_pod, &tally);
		if (tally.is_short_of_memory)
			question->answer.is_allowed = false;
		neap_budget_count_end(tally.count, &figures);
		if (tally.is_too_much)
			refuse_now(question, object->name);
		else if (!may_go(question, budget, &figures))
			refuse(question, object->name, figures.need, figures.healthy);
	}
	neap_budget_count_free(tally.count);
}

static bool ask_budget(void *arg, struct neap_object *object)
{
	struct question *question = arg;
	json_t *budget = neap_object_tree(object);

	if (budget)
		judge(question, object, budget);
	else
		question->answer.is_allowed = false;
	json_decref(budget);
	return question->answer.is_allowed;
}

struct neap_budget_answer neap_budget_ask(struct neap_kube *kube,
					  const struct neap_object *pod)
{
	struct question question = {
		.kube = kube, .pod = pod, .answer = {.is_allowed = true}};
	struct neap_store_place place = {.version = neap_store_version(kube->store)};
	json_t *tree = neap_object_tree(pod);
	const json_t *status = json_object_get(tree, "status");
	bool is_free =
		neap_budget_is_finished(status) || is_pending(status) || pod->is_deleting;
	struct neap_error err;

	question.is_ready = neap_budget_is_true(status, "Ready");
	json_decref(tree);
	if (!tree)
		question.answer.is_allowed = false;
	else if (!is_free &&
		 neap_store_list(kube->store, "poddisruptionbudgets.policy", pod->ns,
				 &place, ask_budget, &question, &err) < 0)
		question.answer.is_allowed = false;
	return question.answer;
}
