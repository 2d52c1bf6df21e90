/* SPDX-License-Identifier: Apache-2.0
 *
 * Each step examines the whole pod: it has at most 64 containers, so derived state is not
 * stored. */
#include "engine/pod/pod_life.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

struct scene {
	struct neap_pod_life *life;
	struct neap_pod_step *step;
	int64_t now;
};

int neap_pod_life_init(struct neap_pod_life *life, size_t count, struct neap_error *err)
{
	*life = (struct neap_pod_life){0};
	if (count > NEAP_POD_CONTAINERS_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "more than %d containers",
				      NEAP_POD_CONTAINERS_MAX);
	life->containers = neap_alloc_array(count ? count : 1, sizeof(*life->containers));
	if (life->containers == NULL)
		return neap_error_nomem(err);
	life->count = count;
	return 0;
}

void neap_pod_life_done(struct neap_pod_life *life)
{
	for (size_t i = 0; i < life->count; i++)
		free(life->containers[i].image);
	free(life->containers);
	*life = (struct neap_pod_life){0};
}

/* Seconds of an object can be anything. */
static int64_t usec(const struct neap_pod_life *life, int64_t seconds)
{
	int64_t second = life->second_usec > 0 ? life->second_usec : 1000000;

	if (seconds <= 0)
		return 0;
	return seconds > INT32_MAX ? INT32_MAX * second : seconds * second;
}

static void act(struct scene *scene, enum neap_pod_act what, size_t container)
{
	struct neap_pod_step *step = scene->step;
	const struct neap_pod_container *one = &scene->life->containers[container];

	if (step->count < NEAP_ARRAY_LEN(step->actions))
		step->actions[step->count++] =
			(struct neap_pod_action){.act = what,
						 .container = container,
						 .attempt = one->attempt,
						 .is_unwell = one->is_unwell};
}

static void look_at(struct scene *scene, int64_t when)
{
	if (scene->step->next_usec == 0 || when < scene->step->next_usec)
		scene->step->next_usec = when;
}

static bool is_live(const struct neap_pod_container *container)
{
	return container->state == NEAP_POD_STARTING || container->state == NEAP_POD_UP;
}

bool neap_pod_life_has_live(const struct neap_pod_life *life)
{
	for (size_t i = 0; i < life->count; i++)
		if (is_live(&life->containers[i]))
			return true;
	return false;
}

static bool has_ended_well(const struct neap_pod_container *container)
{
	return container->state == NEAP_POD_ENDED && container->end.exit_code == 0;
}

/* Once one of the others was started they have done their work, whatever is known of
 * them. */
bool neap_pod_life_is_initialized(const struct neap_pod_life *life)
{
	bool is_done = true;

	for (size_t i = 0; i < life->count; i++) {
		const struct neap_pod_container *one = &life->containers[i];

		if (!one->is_init && one->state != NEAP_POD_UNBORN)
			return true;
		is_done = is_done && (!one->is_init || has_ended_well(one));
	}
	return is_done;
}

/* --- stopping --- */

/* One without any event has not begun: it needs no time to end. */
static void stop(struct scene *scene, size_t i, int64_t grace_s)
{
	struct neap_pod_container *one = &scene->life->containers[i];
	int64_t kill_usec;

	if (!is_live(one) || one->is_killed)
		return;
	/* It may run for long already; the answer comes soon. */
	if (one->is_adopted && grace_s > 0)
		return;
	if (one->term_usec == 0 && one->state == NEAP_POD_UP && grace_s > 0) {
		one->term_usec = scene->now;
		act(scene, NEAP_POD_TERM, i);
	}
	kill_usec = one->term_usec + usec(scene->life, grace_s);
	if (one->term_usec == 0 || grace_s <= 0 || scene->now >= kill_usec) {
		one->is_killed = true;
		act(scene, NEAP_POD_KILL, i);
	} else {
		look_at(scene, kill_usec);
	}
}

/* --- starting --- */

static void prepare(struct scene *scene, size_t i)
{
	struct neap_pod_life *life = scene->life;

	if (life->groups != NEAP_POD_GROUPS_NONE)
		return;
	if (scene->now < life->prepare_usec) {
		look_at(scene, life->prepare_usec);
		return;
	}
	life->groups = NEAP_POD_GROUPS_ASKED;
	act(scene, NEAP_POD_PREPARE, i);
}

static void start(struct scene *scene, size_t i)
{
	struct neap_pod_life *life = scene->life;
	struct neap_pod_container *one = &life->containers[i];

	if (!life->may_start) {
		scene->step->is_hindered = true;
		return;
	}
	prepare(scene, i);
	if (life->groups != NEAP_POD_GROUPS_MADE)
		return;
	one->before.state = one->state;
	one->before.end = one->end;
	one->before.last = one->last;
	one->before.pause_s = one->pause_s;
	one->before.paused_usec = one->paused_usec;
	if (one->state == NEAP_POD_ENDED) {
		one->last = one->end;
		one->attempt++;
	} else {
		one->attempt = 0;
	}
	one->end = (struct neap_pod_end){0};
	one->state = NEAP_POD_STARTING;
	one->is_pausing = one->is_startup_ok = one->is_ready_ok = false;
	one->is_unwell = one->is_killed = false;
	one->term_usec = one->started_usec = 0;
	act(scene, NEAP_POD_START, i);
}

/* The first time it starts again at once; then each pause is twice the one before, until
 * it runs for so long that it counts as healthy. */
static void start_again(struct scene *scene, size_t i)
{
	struct neap_pod_life *life = scene->life;
	struct neap_pod_container *one = &life->containers[i];
	int64_t ended = one->end.ended_usec > 0 ? one->end.ended_usec : scene->now;
	bool is_calm = one->pause_s == 0 ||
		       ended - one->paused_usec > usec(life, NEAP_POD_CALM_S);
	int64_t until = ended + usec(life, one->pause_s);

	/* A clock that was set back must not make a pause of years. */
	if (until > scene->now + usec(life, one->pause_s))
		until = scene->now + usec(life, one->pause_s);
	if (!is_calm && scene->now < until) {
		if (!one->is_pausing)
			act(scene, NEAP_POD_PAUSE, i);
		one->is_pausing = true;
		look_at(scene, until);
		return;
	}
	start(scene, i);
	if (one->state != NEAP_POD_STARTING)
		return;
	one->pause_s = is_calm ? NEAP_POD_BACKOFF_S : 2 * one->pause_s;
	if (one->pause_s > NEAP_POD_BACKOFF_MAX_S)
		one->pause_s = NEAP_POD_BACKOFF_MAX_S;
	one->paused_usec = scene->now;
}

static bool comes_again(const struct neap_pod_life *life,
			const struct neap_pod_container *one)
{
	return life->restart == NEAP_POD_ALWAYS ||
	       (life->restart == NEAP_POD_ON_FAILURE && one->end.exit_code != 0);
}

static bool is_refused(struct scene *scene, struct neap_pod_container *one)
{
	if (one->refused[0] == '\0')
		return false;
	if (one->refused_until_usec == 0)
		return true;
	if (scene->now < one->refused_until_usec) {
		look_at(scene, one->refused_until_usec);
		return true;
	}
	one->refused[0] = '\0';
	return false;
}

/* False: it has ended for good. */
static bool keep_up(struct scene *scene, size_t i)
{
	struct neap_pod_container *one = &scene->life->containers[i];

	switch (one->state) {
	case NEAP_POD_UNBORN:
		if (!is_refused(scene, one))
			start(scene, i);
		return true;
	case NEAP_POD_ENDED:
		if (!comes_again(scene->life, one))
			return false;
		if (!is_refused(scene, one))
			start_again(scene, i);
		return true;
	case NEAP_POD_STARTING:
		return true;
	case NEAP_POD_UP:
		if (one->is_unwell)
			stop(scene, i, one->unwell_grace_s);
		return true;
	}
	return true;
}

/* False: nothing comes any more. */
static bool run(struct scene *scene)
{
	struct neap_pod_life *life = scene->life;
	bool is_init = !neap_pod_life_is_initialized(life), goes_on = false;

	for (size_t i = 0; i < life->count; i++) {
		const struct neap_pod_container *one = &life->containers[i];

		if (is_init && one->is_init && !has_ended_well(one))
			return keep_up(scene, i);
		if (!one->is_init)
			goes_on = keep_up(scene, i) || goes_on;
		else if (is_live(one)) /* of an earlier neapd, beside the others */
			goes_on = true;
	}
	return goes_on;
}

/* --- the phase --- */

static bool is_last(enum neap_pod_phase phase)
{
	return phase == NEAP_POD_SUCCEEDED || phase == NEAP_POD_FAILED;
}

static bool have_ended_well(const struct neap_pod_life *life)
{
	if (!neap_pod_life_is_initialized(life))
		return false;
	for (size_t i = 0; i < life->count; i++)
		if (!life->containers[i].is_init && !has_ended_well(&life->containers[i]))
			return false;
	return true;
}

static enum neap_pod_phase find_phase(const struct neap_pod_life *life)
{
	bool is_born = neap_pod_life_is_initialized(life);

	if (is_last(life->phase))
		return life->phase;
	if (life->is_refused)
		return NEAP_POD_FAILED;
	if (life->is_over)
		return !life->is_overdue && have_ended_well(life) ? NEAP_POD_SUCCEEDED
								  : NEAP_POD_FAILED;
	for (size_t i = 0; i < life->count; i++) {
		const struct neap_pod_container *one = &life->containers[i];

		if (one->is_init)
			continue;
		is_born = is_born && one->state != NEAP_POD_UNBORN &&
			  (one->state != NEAP_POD_STARTING || one->attempt > 0);
	}
	/* A pod reported as running is not reported as pending again. */
	return is_born || life->phase == NEAP_POD_RUNNING ? NEAP_POD_RUNNING
							  : NEAP_POD_PENDING;
}

static void set_phase(struct neap_pod_life *life)
{
	enum neap_pod_phase phase = find_phase(life);

	if (phase == NEAP_POD_FAILED && !is_last(life->phase) && life->is_overdue) {
		(void)neap_strcopy(life->reason, sizeof(life->reason),
				   "DeadlineExceeded");
		(void)neap_strcopy(
			life->message, sizeof(life->message),
			"Pod was active on the node longer than the specified deadline");
	}
	life->phase = phase;
}

void neap_pod_life_step(struct neap_pod_life *life, int64_t now,
			struct neap_pod_step *ret)
{
	struct scene scene = {.life = life, .step = ret, .now = now};
	bool is_ending, was_last = is_last(life->phase);
	int64_t due = life->start_usec + usec(life, life->deadline_s);

	ret->count = 0;
	ret->next_usec = 0;
	ret->is_hindered = false;
	if (life->deadline_s > 0 && life->start_usec > 0 && !life->is_over && !was_last) {
		if (now >= due)
			life->is_overdue = true;
		else
			look_at(&scene, due);
	}
	is_ending = life->is_gone || life->is_deleting || life->is_refused ||
		    life->is_overdue || life->is_over || was_last;
	if (is_ending) {
		int64_t grace_s = life->is_gone       ? 0
				  : life->is_deleting ? life->delete_grace_s
						      : life->grace_s;

		for (size_t i = 0; i < life->count; i++)
			stop(&scene, i, grace_s);
	} else if (!run(&scene)) {
		is_ending = true;
	}
	/* The groups of what an earlier neapd started are taken over. */
	for (size_t i = 0; i < life->count; i++)
		if (is_live(&life->containers[i]) && !life->containers[i].is_killed)
			prepare(&scene, i);
	life->is_over = is_ending && !neap_pod_life_has_live(life);
	set_phase(life);
	if (life->is_over && !life->is_released) {
		life->is_released = true;
		if (life->count > 0)
			act(&scene, NEAP_POD_RELEASE, 0);
	}
}

/* --- what happened --- */

void neap_pod_life_prepared(struct neap_pod_life *life, bool is_made, int64_t now)
{
	if (life->groups != NEAP_POD_GROUPS_ASKED)
		return;
	life->groups = is_made ? NEAP_POD_GROUPS_MADE : NEAP_POD_GROUPS_NONE;
	life->prepare_usec = now + usec(life, NEAP_POD_PREPARE_S);
}

void neap_pod_life_adopt(struct neap_pod_life *life, size_t container, unsigned attempt)
{
	struct neap_pod_container *one = &life->containers[container];

	one->attempt = attempt;
	one->state = NEAP_POD_STARTING;
	one->is_adopted = true;
	/* The pause of an earlier neapd, as far as the number of starts tells it. */
	one->pause_s = 0;
	for (unsigned i = 0; i < attempt && one->pause_s < NEAP_POD_BACKOFF_MAX_S; i++)
		one->pause_s = one->pause_s ? 2 * one->pause_s : NEAP_POD_BACKOFF_S;
	if (one->pause_s > NEAP_POD_BACKOFF_MAX_S)
		one->pause_s = NEAP_POD_BACKOFF_MAX_S;
}

void neap_pod_life_waiting(struct neap_pod_life *life, size_t container)
{
	life->containers[container].is_adopted = false;
}

void neap_pod_life_put_off(struct neap_pod_life *life, size_t container, const char *why,
			   int64_t again_usec)
{
	struct neap_pod_container *one = &life->containers[container];

	if (one->state != NEAP_POD_STARTING || one->is_adopted)
		return;
	(void)neap_strcopy(one->refused, sizeof(one->refused), why[0] ? why : "?");
	one->refused_until_usec = again_usec;
	one->state = one->before.state;
	one->end = one->before.end;
	one->last = one->before.last;
	one->pause_s = one->before.pause_s;
	one->paused_usec = one->before.paused_usec;
	if (one->state == NEAP_POD_ENDED)
		one->attempt--;
}

void neap_pod_life_started(struct neap_pod_life *life, size_t container,
			   int64_t started_usec)
{
	struct neap_pod_container *one = &life->containers[container];

	if (one->state != NEAP_POD_STARTING)
		return;
	one->state = NEAP_POD_UP;
	one->is_adopted = false;
	one->started_usec = started_usec;
	if (one->paused_usec == 0 && one->pause_s > 0)
		one->paused_usec = started_usec;
}

void neap_pod_life_ended(struct neap_pod_life *life, size_t container,
			 const struct neap_pod_end *end)
{
	struct neap_pod_container *one = &life->containers[container];

	if (!is_live(one))
		return;
	if (one->paused_usec == 0 && one->pause_s > 0)
		one->paused_usec =
			end->started_usec > 0 ? end->started_usec : end->ended_usec;
	one->end = *end;
	one->end.is_there = true;
	one->end.attempt = one->attempt;
	if (one->end.started_usec <= 0)
		one->end.started_usec = one->started_usec;
	if (one->end.reason[0] == '\0')
		(void)neap_strcopy(one->end.reason, sizeof(one->end.reason),
				   end->exit_code == 0 ? "Completed" : "Error");
	one->state = NEAP_POD_ENDED;
	one->is_adopted = false;
	one->is_ready_ok = one->is_startup_ok = false;
	one->is_unwell = false;
}

void neap_pod_life_failed(struct neap_pod_life *life, size_t container, const char *why,
			  int64_t now)
{
	struct neap_pod_end end = {
		.exit_code = 128, .ended_usec = now, .reason = "StartError"};

	(void)neap_strcopy(end.message, sizeof(end.message), why);
	neap_pod_life_ended(life, container, &end);
}

void neap_pod_life_lost(struct neap_pod_life *life, size_t container, int64_t now)
{
	struct neap_pod_end end = {.exit_code = 137,
				   .ended_usec = now,
				   .reason = "ContainerStatusUnknown",
				   .message = "The container could not be located"};

	neap_pod_life_ended(life, container, &end);
}

void neap_pod_life_unwell(struct neap_pod_life *life, size_t container, int64_t grace_s)
{
	struct neap_pod_container *one = &life->containers[container];

	if (one->state != NEAP_POD_UP || one->is_unwell)
		return;
	one->is_unwell = true;
	one->unwell_grace_s = grace_s;
}

bool neap_pod_life_is_started(const struct neap_pod_container *container)
{
	return container->state == NEAP_POD_UP &&
	       (!container->has_startup || container->is_startup_ok);
}

bool neap_pod_life_is_ready(const struct neap_pod_container *container)
{
	return neap_pod_life_is_started(container) &&
	       (!container->has_readiness || container->is_ready_ok);
}
