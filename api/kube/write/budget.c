/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides whether budgets allow a pod's eviction. Each question counts the newest state;
 * the status of a budget is only for display.
 *
 * Matching the labels of 50,000 pods takes seconds, and the result is true only for a
 * moment. So all budgets and pods are walked in rounds. What a round finds out about an
 * object holds as long as the object is unchanged. The last round is one that fits into
 * one piece, because so little is left to find out: its counts are true now. */
#include "api/kube/write/budget_priv.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/request/call.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

static bool is_phase(const json_t *status, const char *name)
{
	const char *phase = json_string_value(json_object_get(status, "phase"));

	return phase && strcmp(phase, name) == 0;
}

static bool is_pending(const json_t *status)
{
	return is_phase(status, "Pending");
}

/* The value of "50%" or 3; all is 100%. -1: none given. */
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

/* A budget that selects the pod. */
struct voice {
	char name[NEAP_OBJECT_NAME];
	json_t *tree; /* counted reference; NULL: unused */
	struct neap_budget_count *count;
};

/* An object that a round has walked, and what it found. */
struct seen {
	struct neap_object *object; /* counted reference */
	unsigned generation;        /* of the voices */
	/* one bit each: for a pod, the voices that count it; for a budget, its own */
	uint8_t voices;
};

/* The objects of a round, by name; and those of the round before that this one has not
 * reached yet. */
struct roll {
	struct seen *list, *before;
	size_t count, size, before_count, before_at;
};

struct neap_budget_question {
	struct neap_kube *kube;
	struct neap_object *pod; /* counted reference */
	bool is_ready, is_short_of_memory, is_crowded;
	struct voice voices[NEAP_BUDGETS_OF_POD];
	unsigned generation; /* changes with the voices, and what they select */
	struct budget_controllers *controllers;
	struct roll budgets, pods;
	enum { TO_BEGIN, AT_BUDGETS, AT_PODS } at;
	struct neap_store_place place; /* position among the budgets */
	char last[NEAP_OBJECT_NAME];   /* the last pod walked */
	int rounds;
	int64_t steps, most; /* of this piece */
	size_t taken;        /* objects of this piece that took steps */
	bool is_cut;         /* more is left for the next piece */
	size_t owners;
	const struct voice *wide; /* its pods have too many controllers */
	struct neap_budget_answer answer;
};

/* --- rounds --- */

static void seen_free(struct seen *list, size_t from, size_t count)
{
	for (size_t i = from; i < count; i++)
		neap_object_unref(list[i].object);
	free(list);
}

static void roll_clear(struct roll *roll)
{
	seen_free(roll->list, 0, roll->count);
	seen_free(roll->before, roll->before_at, roll->before_count);
	*roll = (struct roll){0};
}

static void roll_begin(struct roll *roll)
{
	seen_free(roll->before, roll->before_at, roll->before_count);
	*roll = (struct roll){.before = roll->list, .before_count = roll->count};
}

/* Takes what the last round found about the name; object NULL: nothing. The caller gets
 * the reference. */
static struct seen roll_take(struct roll *roll, const char *name)
{
	while (roll->before_at < roll->before_count) {
		struct seen *seen = &roll->before[roll->before_at];
		int order = strcmp(seen->object->name, name);

		if (order > 0)
			break;
		roll->before_at++;
		if (order == 0)
			return *seen;
		neap_object_unref(seen->object);
	}
	return (struct seen){0};
}

static bool roll_add(struct roll *roll, const struct seen *seen)
{
	if (!neap_grow(&roll->list, roll->count, &roll->size, sizeof(*roll->list)))
		return false;
	roll->list[roll->count] = *seen;
	(void)neap_object_ref(roll->list[roll->count++].object);
	return true;
}

static void spend(struct neap_budget_question *question, int64_t steps)
{
	question->steps += steps;
	question->taken++;
	if (question->steps > question->most)
		question->most = question->steps;
}

/* A piece does at least one thing. */
static bool is_piece_over(struct neap_budget_question *question)
{
	question->is_cut = question->taken && question->steps >= NEAP_BUDGET_STEPS;
	return question->is_cut;
}

/* --- budgets --- */

static void voice_done(struct voice *voice)
{
	neap_budget_count_free(voice->count);
	json_decref(voice->tree);
	*voice = (struct voice){0};
}

/* Adds a voice; all findings about other voices become invalid. False: there are too
 * many. */
static bool add_voice_take(struct neap_budget_question *question, const char *name,
			   json_t *tree, struct neap_budget_count *count, uint8_t *ret)
{
	for (int i = 0; i < NEAP_BUDGETS_OF_POD; i++) {
		struct voice *voice = &question->voices[i];

		if (voice->tree)
			continue;
		voice->tree = json_incref(tree);
		voice->count = count;
		(void)neap_strcopy(voice->name, sizeof(voice->name), name);
		question->generation++;
		*ret = (uint8_t)(1U << i);
		return true;
	}
	neap_budget_count_free(count);
	return false;
}

static struct voice *voice_of(struct neap_budget_question *question, uint8_t bit)
{
	for (int i = 0; i < NEAP_BUDGETS_OF_POD; i++)
		if (bit == 1U << i)
			return &question->voices[i];
	return NULL;
}

/* A budget changes all the time, as its status does. It keeps its voice while it selects
 * the same pods. */
static uint8_t hear_tree(struct neap_budget_question *question,
			 const struct neap_object *object, json_t *tree, uint8_t before)
{
	struct voice *voice = voice_of(question, before);
	struct neap_budget_count *count;
	struct neap_error err;
	uint8_t bit = 0;

	if (neap_budget_count_new(question->kube, tree, &count, &err) < 0) {
		question->is_short_of_memory = err.code == NEAP_ENOMEM;
		if (voice)
			voice_done(voice);
		return 0;
	}
	if (budget_count_selector(count))
		spend(question, neap_object_selection_steps(
					question->pod, budget_count_selector(count)));
	if (voice && budget_count_selector(count) &&
	    neap_selector_is_same(budget_count_selector(voice->count),
				  budget_count_selector(count))) {
		json_decref(voice->tree);
		voice->tree = json_incref(tree);
		neap_budget_count_free(count);
		return before;
	}
	if (voice)
		voice_done(voice);
	if (!neap_budget_count_has(count, question->pod))
		neap_budget_count_free(count);
	else if (!add_voice_take(question, object->name, tree, count, &bit))
		question->is_crowded = true;
	return bit;
}

static void forget_before(struct neap_budget_question *question, const char *name)
{
	struct roll *roll = &question->budgets;

	/* Passes over deleted objects, up to the name. */
	while (roll->before_at < roll->before_count &&
	       (!name || strcmp(roll->before[roll->before_at].object->name, name) < 0)) {
		struct seen *seen = &roll->before[roll->before_at++];
		struct voice *voice = voice_of(question, seen->voices);

		if (voice)
			voice_done(voice);
		neap_object_unref(seen->object);
	}
}

static bool hear_budget(void *arg, struct neap_object *object)
{
	struct neap_budget_question *question = arg;
	struct seen now = {.object = object}, before;
	json_t *tree;

	if (is_piece_over(question))
		return false;
	forget_before(question, object->name);
	before = roll_take(&question->budgets, object->name);
	now.voices = before.voices;
	if (before.object != object) {
		spend(question, budget_steps_of_text(object));
		tree = neap_object_tree(object);
		question->is_short_of_memory = !tree;
		if (tree)
			now.voices = hear_tree(question, object, tree, before.voices);
		json_decref(tree);
	}
	neap_object_unref(before.object);
	if (!roll_add(&question->budgets, &now))
		question->is_short_of_memory = true;
	return !question->is_short_of_memory;
}

/* --- pods --- */

/* Finds which budgets select a pod that is new, or not matched with these budgets yet.
 * False without memory. */
static bool ask_pod(struct neap_budget_question *question, struct seen *pod)
{
	pod->voices = 0;
	pod->generation = question->generation;
	for (int i = 0; i < NEAP_BUDGETS_OF_POD; i++) {
		const struct voice *voice = &question->voices[i];

		if (!voice->tree)
			continue;
		spend(question,
		      neap_object_selection_steps(pod->object,
						  budget_count_selector(voice->count)));
		if (neap_budget_count_has(voice->count, pod->object))
			pod->voices |= (uint8_t)(1U << i);
	}
	if (!pod->voices || neap_budget_count_knows(pod->object))
		return true;
	spend(question, budget_steps_of_text(pod->object));
	return neap_budget_count_note(pod->object);
}

/* Counts a pod for all budgets at once: there may be many pods. */
static bool count_pod(void *arg, struct neap_object *object)
{
	struct neap_budget_question *question = arg;
	struct seen pod;
	bool is_fine = true;

	if (is_piece_over(question))
		return false;
	pod = roll_take(&question->pods, object->name);
	if (pod.object != object || pod.generation != question->generation) {
		neap_object_unref(pod.object);
		pod.object = neap_object_ref(object);
		is_fine = ask_pod(question, &pod);
	}
	is_fine = is_fine && roll_add(&question->pods, &pod);
	neap_object_unref(pod.object);
	for (int i = 0; is_fine && i < NEAP_BUDGETS_OF_POD; i++) {
		struct voice *voice = &question->voices[i];
		size_t owners;
		int64_t steps;

		if (!(pod.voices & 1U << i) || !voice->tree)
			continue;
		owners = neap_budget_count_owners(voice->count);
		is_fine = neap_budget_count_add(voice->count, object);
		question->owners += neap_budget_count_owners(voice->count) - owners;
		steps = budget_controllers_take_steps(question->controllers);
		if (steps)
			spend(question, steps);
		if (question->owners > NEAP_BUDGET_OWNERS_MAX) {
			question->wide = voice;
			return false;
		}
	}
	question->is_short_of_memory = !is_fine;
	(void)neap_strcopy(question->last, sizeof(question->last), object->name);
	return is_fine;
}

/* --- the answer --- */

static void refuse(struct neap_budget_question *question, const char *budget,
		   int64_t need, int64_t healthy)
{
	question->answer.is_allowed = false;
	(void)snprintf(question->answer.why, sizeof(question->answer.why),
		       "The disruption budget %.120s needs %lld healthy pods and has "
		       "%lld currently",
		       budget, (long long)need, (long long)healthy);
}

static void refuse_now(struct neap_budget_question *question, const char *budget)
{
	question->answer.is_allowed = false;
	(void)snprintf(question->answer.why, sizeof(question->answer.why),
		       "The disruption budget %.120s is still being processed by the "
		       "server.",
		       budget);
}

static void refuse_wide(struct neap_budget_question *question, const char *budget)
{
	question->answer.is_allowed = false;
	(void)snprintf(
		question->answer.why, sizeof(question->answer.why),
		"The disruption budget %.120s has pods of too many controllers: %d "
		"are looked up for an eviction",
		budget, NEAP_BUDGET_OWNERS_MAX);
}

static bool may_go(const struct neap_budget_question *question, const json_t *budget,
		   const struct neap_budget_figures *figures)
{
	const char *policy = json_string_value(
		neap_json_at(budget, "spec.unhealthyPodEvictionPolicy"));

	/* A pod that is not ready is not counted as healthy. It may go while there are
	 * enough others, or always if the budget says so. */
	if (question->is_ready)
		return figures->allowed > 0;
	return figures->healthy >= figures->need ||
	       (policy && strcmp(policy, "AlwaysAllow") == 0);
}

static void judge(struct neap_budget_question *question)
{
	question->answer.is_allowed = true;
	if (question->wide)
		refuse_wide(question, question->wide->name);
	for (int i = 0; i < NEAP_BUDGETS_OF_POD && question->answer.is_allowed; i++) {
		const struct voice *voice = &question->voices[i];
		struct neap_budget_figures figures;

		if (!voice->tree)
			continue;
		neap_budget_count_end(voice->count, &figures);
		if (!may_go(question, voice->tree, &figures))
			refuse(question, voice->name, figures.need, figures.healthy);
	}
}

/* True: some budget selects the pod. */
static bool begin_counts(struct neap_budget_question *question)
{
	struct neap_error err;
	bool has = false;

	for (int i = 0; i < NEAP_BUDGETS_OF_POD; i++) {
		struct voice *voice = &question->voices[i];
		struct neap_budget_count *count;

		if (!voice->tree)
			continue;
		has = true;
		if (neap_budget_count_new(question->kube, voice->tree, &count, &err) <
		    0) {
			question->is_short_of_memory = true;
			continue;
		}
		neap_budget_count_free(voice->count);
		voice->count = count;
		budget_count_share(count, question->controllers);
	}
	return has;
}

static void begin_round(struct neap_budget_question *question)
{
	roll_begin(&question->budgets);
	question->place = (struct neap_store_place){0};
	question->is_crowded = false;
	question->at = AT_BUDGETS;
}

/* True: all budgets are walked. */
static bool go_through_budgets(struct neap_budget_question *question)
{
	struct neap_store *store = question->kube->store;
	struct neap_error err;
	int more;

	question->place.version = neap_store_version(store);
	more = neap_store_list(store, "poddisruptionbudgets.policy", question->pod->ns,
			       &question->place, hear_budget, question, &err);
	if (more < 0)
		question->is_short_of_memory = true;
	if (more != 0)
		return false;
	forget_before(question, NULL);
	return true;
}

/* True: the round is over; question->answer has its result if it was one piece. */
static bool go_round(struct neap_budget_question *question)
{
	if (question->at == AT_BUDGETS) {
		if (!go_through_budgets(question))
			return question->is_short_of_memory;
		question->answer.is_allowed = !question->is_crowded;
		if (question->is_crowded)
			(void)snprintf(question->answer.why, sizeof(question->answer.why),
				       "More than %d disruption budgets select the pod",
				       NEAP_BUDGETS_OF_POD);
		if (question->is_crowded || !begin_counts(question))
			return true;
		roll_begin(&question->pods);
		question->last[0] = '\0';
		question->owners = 0;
		question->wide = NULL;
		question->at = AT_PODS;
	}
	question->is_cut = false;
	neap_store_list_newest(question->kube->store, "pods", question->pod->ns,
			       question->last, count_pod, question);
	if (question->is_cut)
		return false;
	judge(question);
	return true;
}

/* --- a question --- */

struct neap_budget_question *neap_budget_question_new(struct neap_kube *kube)
{
	struct neap_budget_question *question = neap_alloc(sizeof(*question));

	if (question)
		question->kube = kube;
	return question;
}

static void forget(struct neap_budget_question *question)
{
	for (int i = 0; i < NEAP_BUDGETS_OF_POD; i++)
		voice_done(&question->voices[i]);
	roll_clear(&question->budgets);
	roll_clear(&question->pods);
	budget_controllers_free(question->controllers);
	question->controllers = NULL;
	question->pod = neap_object_unref(question->pod);
	question->at = TO_BEGIN;
}

void neap_budget_question_free(struct neap_budget_question *question)
{
	if (!question)
		return;
	forget(question);
	free(question);
}

/* True: the pod may go regardless of budgets, or memory is short. */
static bool begin(struct neap_budget_question *question, const struct neap_object *pod)
{
	json_t *tree = neap_object_tree(pod);
	const json_t *status = json_object_get(tree, "status");

	forget(question);
	question->pod = neap_object_ref((struct neap_object *)(uintptr_t)pod);
	question->controllers = budget_controllers_new(question->kube, pod->ns);
	question->is_ready = neap_budget_is_true(status, "Ready");
	question->answer = (struct neap_budget_answer){
		.is_allowed = tree && (neap_budget_is_finished(status) ||
				       is_pending(status) || pod->is_deleting)};
	json_decref(tree);
	return !tree || !question->controllers || question->answer.is_allowed;
}

bool neap_budget_question_go(struct neap_budget_question *question,
			     const struct neap_object *pod,
			     struct neap_budget_answer *ret)
{
	bool is_whole = question->at == TO_BEGIN, is_over;

	question->steps = 0;
	question->taken = 0;
	if (question->pod != pod) {
		is_whole = true;
		if (begin(question, pod)) {
			*ret = question->answer;
			return true;
		}
	}
	if (question->at == TO_BEGIN)
		begin_round(question);
	is_over = go_round(question);
	if (question->is_short_of_memory) {
		*ret = (struct neap_budget_answer){0};
		return true;
	}
	if (is_over) {
		question->at = TO_BEGIN;
		question->rounds++;
	}
	*ret = question->answer;
	if (is_over && is_whole)
		return true;
	if (question->rounds < NEAP_BUDGET_ROUNDS)
		return false;
	for (int i = 0; i < NEAP_BUDGETS_OF_POD; i++)
		if (question->voices[i].tree)
			refuse_now(question, question->voices[i].name);
	*ret = question->answer;
	ret->is_allowed = false;
	return true;
}

int64_t neap_budget_question_most(const struct neap_budget_question *question)
{
	return question->most;
}
