/* SPDX-License-Identifier: Apache-2.0
 *
 * See triggers.h. Each open trigger has its own epoll, for two reasons. The kernel
 * reports a trigger as EPOLLPRI (it is always readable), which event libraries do not
 * offer. And it reports each event to the first poll only: an epoll with many triggers
 * would poll all of them to find out whether it is readable, and the event would be gone
 * before the question which one it was. So the descriptor that wakes the loop must
 * identify the trigger. */
#include "api/run/triggers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"

/* Rounds until a refused trigger is tried again. */
#define RETRY_ROUNDS 60

struct spec;

enum state { ASKED, ARMED, COARSE, REFUSED };

/* A trigger on one group. */
struct arm {
	struct spec *spec;
	char group[NEAP_PATH_MAX];
	uint64_t id, round;
	uint64_t retry_round; /* REFUSED */
	enum state state;
	char why[96];
	int fd, leaf; /* the trigger, and the epoll around it; -1: closed */
	void *watch;
};

/* A trigger of a policy. */
struct spec {
	struct neap_triggers *set;
	char policy[80];
	struct neap_policy_trigger trigger;
	struct arm **arms;
	size_t count, size;
	size_t at; /* in this round: where the last one was found */
	uint64_t round, fired;
	size_t left_out; /* groups over the limit, in this round */
	size_t met;      /* arms with a wanted group, in this round */
	bool is_fired;
	int64_t fired_usec, told_usec;
};

struct neap_triggers {
	struct neap_triggers_config config;
	struct spec **specs;
	size_t count, size;
	size_t at, open; /* open: number of open arms */
	uint64_t round, next_id;
};

struct neap_triggers *neap_triggers_new(const struct neap_triggers_config *config)
{
	struct neap_triggers *set = neap_alloc(sizeof(*set));

	if (set != NULL)
		set->config = *config;
	return set;
}

/* --- one group --- */

static void arm_close(struct arm *arm)
{
	struct neap_triggers *set = arm->spec->set;

	if (arm->watch != NULL)
		set->config.loop.unwatch(set->config.loop.arg, arm->watch);
	arm->watch = NULL;
	neap_fd_close(&arm->leaf);
	if (arm->fd >= 0)
		(void)close(arm->fd); /* ends the trigger */
	arm->leaf = arm->fd = -1;
}

static void arm_refuse(struct arm *arm, const char *why)
{
	arm_close(arm);
	arm->state = REFUSED;
	arm->retry_round = arm->spec->set->round + RETRY_ROUNDS;
	(void)neap_strcopy(arm->why, sizeof(arm->why), why);
}

static void arm_free(struct arm *arm)
{
	arm->spec->set->open--;
	arm_close(arm);
	free(arm);
}

/* The loop says that the epoll is readable. That poll has taken the event, so a poll that
 * still reports one sees another event, or the end of the group, which is reported
 * forever. */
static void arm_ready(void *arg)
{
	struct arm *arm = arg;
	struct spec *spec = arm->spec;
	struct neap_triggers *set = spec->set;
	struct epoll_event event = {0};
	int64_t now = neap_clock_usec(CLOCK_MONOTONIC);

	if (epoll_wait(arm->leaf, &event, 1, 0) == 1 &&
	    (event.events & (EPOLLERR | EPOLLHUP)) != 0) {
		arm_refuse(arm, "the group is gone");
		return;
	}
	spec->fired++;
	if (now - spec->told_usec < NEAP_TRIGGER_SAME_USEC || spec->is_fired)
		return;
	spec->is_fired = true;
	spec->fired_usec = now;
	set->config.fired(set->config.arg);
}

static void arm_ask(struct arm *arm)
{
	struct neap_triggers *set = arm->spec->set;
	const struct neap_policy_trigger *want = &arm->spec->trigger;
	struct neap_hand_trigger trigger = {.is_full = want->is_full,
					    .stall_usec = want->stall_usec,
					    .window_usec = want->window_usec};
	char value[NEAP_HAND_TRIGGER_TEXT];
	struct neap_error err = {0};

	arm->state = ASKED;
	arm->id = ++set->next_id;
	(void)neap_strcopy(trigger.pressure, sizeof(trigger.pressure), want->pressure);
	if (neap_hand_trigger_format(&trigger, value, sizeof(value), &err) < 0 ||
	    set->config.open(set->config.arg, arm->id, arm->group, value, &err) < 0)
		arm_refuse(arm, err.msg);
}

/* --- one trigger --- */

static void spec_free(struct spec *spec)
{
	for (size_t i = 0; i < spec->count; i++)
		arm_free(spec->arms[i]);
	free(spec->arms);
	free(spec);
}

static bool is_same(const struct spec *spec, const char *policy,
		    const struct neap_policy_trigger *trigger)
{
	return strcmp(spec->policy, policy) == 0 &&
	       strcmp(spec->trigger.name, trigger->name) == 0;
}

static struct spec *spec_of(struct neap_triggers *set, const char *policy,
			    const struct neap_policy_trigger *trigger)
{
	struct spec *spec;

	for (size_t i = 0; i < set->count; i++) {
		spec = set->specs[(set->at + i) % set->count];
		if (!is_same(spec, policy, trigger))
			continue;
		set->at = (set->at + i) % set->count;
		return spec;
	}
	spec = neap_alloc(sizeof(*spec));
	if (spec == NULL ||
	    !neap_grow(&set->specs, set->count, &set->size, sizeof(void *))) {
		free(spec);
		return NULL;
	}
	spec->set = set;
	(void)neap_strcopy(spec->policy, sizeof(spec->policy), policy);
	spec->trigger = *trigger;
	set->specs[set->count++] = spec;
	return spec;
}

static struct arm *arm_of(struct spec *spec, const char *group)
{
	bool is_full = spec->count >= NEAP_TRIGGER_GROUPS_MAX ||
		       spec->set->open >= NEAP_TRIGGERS_OPEN_MAX;
	struct arm *arm;

	/* On a machine with many pods most groups are left out. They are not compared
	 * when every arm has found its group. */
	for (size_t i = 0; i < spec->count && !(is_full && spec->met == spec->count);
	     i++) {
		arm = spec->arms[(spec->at + i) % spec->count];
		if (strcmp(arm->group, group) != 0)
			continue;
		spec->at = (spec->at + i + 1) % spec->count;
		return arm;
	}
	if (is_full) {
		spec->left_out++;
		return NULL;
	}
	arm = neap_alloc(sizeof(*arm));
	if (arm == NULL ||
	    !neap_grow(&spec->arms, spec->count, &spec->size, sizeof(void *))) {
		free(arm);
		return NULL;
	}
	arm->spec = spec;
	arm->fd = arm->leaf = -1;
	arm->state = REFUSED; /* not requested yet */
	(void)neap_strcopy(arm->group, sizeof(arm->group), group);
	spec->arms[spec->count++] = arm;
	spec->set->open++;
	return arm;
}

/* --- a round --- */

void neap_triggers_begin(struct neap_triggers *set)
{
	set->round++;
	set->at = 0;
}

void neap_triggers_want(struct neap_triggers *set, const char *policy,
			const struct neap_policy_trigger *trigger, const char *group)
{
	struct spec *spec = spec_of(set, policy, trigger);
	struct arm *arm;

	if (spec == NULL)
		return; /* without memory the next round tries again */
	if (spec->round != set->round) {
		spec->round = set->round;
		spec->at = 0;
		spec->left_out = 0;
		spec->met = 0;
	}
	if (group == NULL)
		return;
	arm = arm_of(spec, group);
	if (arm == NULL)
		return;
	spec->met += arm->round != set->round;
	arm->round = set->round;
	if (arm->state == REFUSED && arm->retry_round <= set->round)
		arm_ask(arm);
}

void neap_triggers_end(struct neap_triggers *set)
{
	size_t i, j, kept = 0, kept_arms;

	for (i = 0; i < set->count; i++) {
		struct spec *spec = set->specs[i];

		if (spec->round != set->round) {
			spec_free(spec);
			continue;
		}
		for (j = 0, kept_arms = 0; j < spec->count; j++) {
			if (spec->arms[j]->round == set->round)
				spec->arms[kept_arms++] = spec->arms[j];
			else
				arm_free(spec->arms[j]);
		}
		spec->count = kept_arms;
		set->specs[kept++] = spec;
	}
	set->count = kept;
}

void neap_triggers_free(struct neap_triggers *set)
{
	if (set == NULL)
		return;
	for (size_t i = 0; i < set->count; i++)
		spec_free(set->specs[i]);
	free(set->specs);
	free(set);
}

/* --- answers --- */

static struct arm *find_asked(const struct neap_triggers *set, uint64_t id)
{
	for (size_t i = 0; i < set->count; i++) {
		for (size_t j = 0; j < set->specs[i]->count; j++) {
			struct arm *arm = set->specs[i]->arms[j];

			if (arm->id == id && arm->state == ASKED)
				return arm;
		}
	}
	return NULL;
}

static bool arm_watch(struct arm *arm)
{
	struct neap_triggers *set = arm->spec->set;
	struct epoll_event event = {.events = EPOLLPRI};

	arm->leaf = epoll_create1(EPOLL_CLOEXEC);
	if (arm->leaf < 0 || epoll_ctl(arm->leaf, EPOLL_CTL_ADD, arm->fd, &event) < 0)
		return false;
	errno = ENOMEM;
	arm->watch =
		set->config.loop.watch(set->config.loop.arg, arm->leaf, arm_ready, arm);
	return arm->watch != NULL;
}

void neap_triggers_opened(struct neap_triggers *set, uint64_t id, int fd, int errnum,
			  const char *text)
{
	struct arm *arm = find_asked(set, id);

	if (arm == NULL || errnum != 0 || fd < 0) {
		if (fd >= 0)
			(void)close(fd); /* no longer wanted */
		if (arm != NULL)
			arm_refuse(arm, text[0] != '\0' ? text : strerror(errnum));
		return;
	}
	arm->fd = fd;
	if (!arm_watch(arm)) {
		arm_refuse(arm, strerror(errno));
		return;
	}
	arm->state = strncmp(text, "coarse", 6) == 0 ? COARSE : ARMED;
	(void)neap_strcopy(arm->why, sizeof(arm->why), text);
}

const char *neap_triggers_fired(struct neap_triggers *set, const char *policy,
				int64_t *ret_usec)
{
	for (size_t i = 0; i < set->count; i++) {
		struct spec *spec = set->specs[i];

		if (!spec->is_fired || strcmp(spec->policy, policy) != 0)
			continue;
		spec->is_fired = false;
		spec->told_usec = neap_clock_usec(CLOCK_MONOTONIC);
		*ret_usec = spec->fired_usec;
		return spec->trigger.name;
	}
	return NULL;
}

bool neap_triggers_has_fired(const struct neap_triggers *set)
{
	for (size_t i = 0; i < set->count; i++) {
		if (set->specs[i]->is_fired)
			return true;
	}
	return false;
}

/* --- report --- */

/* The state of the whole trigger: the worst state of its groups. */
static const char *spec_state(const struct spec *spec)
{
	static const char *const names[] = {"opening", "armed", "coarse", ""};
	const struct arm *worst = NULL;

	for (size_t i = 0; i < spec->count; i++) {
		if (worst == NULL || spec->arms[i]->state > worst->state)
			worst = spec->arms[i];
	}
	if (worst == NULL)
		return "no group";
	return worst->state == REFUSED || worst->state == COARSE ? worst->why
								 : names[worst->state];
}

json_t *neap_triggers_report(const struct neap_triggers *set, const char *policy)
{
	json_t *out = NULL;

	for (size_t i = 0; i < set->count; i++) {
		const struct spec *spec = set->specs[i];
		json_t *row;

		if (strcmp(spec->policy, policy) != 0)
			continue;
		if (out == NULL)
			out = json_array();
		row = json_pack("{s:s, s:s, s:s, s:I, s:I}", "name", spec->trigger.name,
				"of", spec->trigger.of, "state", spec_state(spec),
				"groups", (json_int_t)spec->count, "fired",
				(json_int_t)spec->fired);
		if (spec->left_out > 0)
			(void)json_object_set_new(
				row, "left_out",
				json_integer((json_int_t)spec->left_out));
		(void)json_array_append_new(out, row);
	}
	return out;
}
