/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a pod may go is counted when somebody asks, over the newest state: the status of a budget is for
 * those who look. */
#include "api/kube/loops/budget.h"

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

/* A budget that has a say about the pod. */
struct voice {
	const char *name;
	json_t *tree; /* counted */
	struct neap_budget_count *count;
};

struct question {
	struct neap_kube *kube;
	const struct neap_object *pod;
	bool is_ready, is_short_of_memory;
	struct voice voices[NEAP_BUDGETS_OF_POD];
	int asked;
	int new_pods;
	size_t owners;
	const struct voice *wide; /* one of too many controllers' pods */
	const struct voice *late; /* one of whose pods too many were never looked at */
	struct neap_budget_answer answer;
};

/* For all budgets in one look: there may be many pods. */
static bool count_pod(void *arg, struct neap_object *object)
{
	struct question *question = arg;
	bool is_new = !neap_budget_count_knows(object);

	for (int i = 0; i < question->asked; i++) {
		struct voice *voice = &question->voices[i];
		size_t owners = neap_budget_count_owners(voice->count);

		if (!neap_budget_count_has(voice->count, object))
			continue;
		if (is_new && ++question->new_pods > NEAP_BUDGET_NEW_PODS_MAX) {
			question->late = voice;
			return false;
		}
		is_new = false;
		if (!neap_budget_count_add(voice->count, object)) {
			question->is_short_of_memory = true;
			return false;
		}
		question->owners += neap_budget_count_owners(voice->count) - owners;
		if (question->owners > NEAP_BUDGET_OWNERS_MAX) {
			question->wide = voice;
			return false;
		}
	}
	return true;
}

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

static void refuse_wide(struct question *question, const char *budget)
{
	question->answer.is_allowed = false;
	(void)snprintf(
		question->answer.why, sizeof(question->answer.why),
		"The disruption budget %.120s has pods of too many controllers: %d "
		"are looked up for an eviction",
		budget, NEAP_BUDGET_OWNERS_MAX);
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
static bool hear(struct question *question, const struct neap_object *object,
		 json_t *tree)
{
	struct neap_budget_count *count;
	struct neap_error err;

	if (neap_budget_count_new(question->kube, tree, &count, &err) < 0)
		return err.code != NEAP_ENOMEM;
	if (!neap_budget_count_has(count, question->pod)) {
		neap_budget_count_free(count);
		return true;
	}
	if (question->asked == NEAP_BUDGETS_OF_POD) {
		neap_budget_count_free(count);
		(void)snprintf(question->answer.why, sizeof(question->answer.why),
			       "More than %d disruption budgets select the pod",
			       NEAP_BUDGETS_OF_POD);
		return false;
	}
	question->voices[question->asked++] = (struct voice){
		.name = object->name, .tree = json_incref(tree), .count = count};
	return true;
}

static bool hear_budget(void *arg, struct neap_object *object)
{
	struct question *question = arg;
	json_t *tree = neap_object_tree(object);

	question->answer.is_allowed = tree && hear(question, object, tree);
	json_decref(tree);
	return question->answer.is_allowed;
}

static void judge(struct question *question)
{
	neap_store_list_newest(question->kube->store, "pods", question->pod->ns,
			       count_pod, question);
	question->answer.is_allowed = !question->is_short_of_memory;
	if (question->late)
		refuse_now(question, question->late->name);
	else if (question->wide)
		refuse_wide(question, question->wide->name);
	for (int i = 0; i < question->asked && question->answer.is_allowed; i++) {
		const struct voice *voice = &question->voices[i];
		struct neap_budget_figures figures;

		neap_budget_count_end(voice->count, &figures);
		if (!may_go(question, voice->tree, &figures))
			refuse(question, voice->name, figures.need, figures.healthy);
	}
}

static void question_done(struct question *question)
{
	for (int i = 0; i < question->asked; i++) {
		neap_budget_count_free(question->voices[i].count);
		json_decref(question->voices[i].tree);
	}
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
				 &place, hear_budget, &question, &err) < 0)
		question.answer.is_allowed = false;
	if (question.answer.is_allowed && question.asked)
		judge(&question);
	question_done(&question);
	return question.answer;
}
