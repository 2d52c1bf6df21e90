/* SPDX-License-Identifier: Apache-2.0
 *
 * Lives of pods: short stories with what is to be done after each turn, and random ones,
 * held against a second, obvious view of what may never happen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/pod/pod_life.h"

#define SECOND INT64_C(1000000)
#define BEGIN  (INT64_C(1790000000) * SECOND)

/* A story, word by word; containers have names of one letter, capitals come first ("I").
 *   @5 it is 5 s after the beginning; ?x,y this is to be done now: P prepare, Sa0 start
 *   a's attempt 0, Ta ask it to end, Ka kill it, Ba it pauses, R release; ?- nothing. +P,
 *   -P the groups are made, are not. a^ it runs; a:3 it ended so; a! could not start; a*
 *   is lost; a=2 attempt 2 is taken over; aw that waits; au is not well, 5 s to end; ax
 *   put off for 10 s; D7 deleted with 7 s to end; G gone; L9 deadline of 9 s; N nobody
 *   can start anything, Y again &F the stored phase begins so; #P the phase begins so;
 *   a~text: its state, with its reason; %True: Ready; >20: next to be asked at 20 s, >-:
 *   never */
/* clang-format off */
static const struct {
	const char *name;
	enum neap_pod_restart restart;
	const char *containers, *story;
} stories[] = {
	{"runs", NEAP_POD_ALWAYS, "a", "?P ?- #P +P ?Sa0 #P a~ContainerCreating a^ ?- #R a~running %True"},
	{"two", NEAP_POD_ALWAYS, "ab", "?P +P ?Sa0,Sb0 a^ ?- #P %False b^ ?- #R %True"},
	{"groups fail", NEAP_POD_ALWAYS, "a", "?P -P ?- >5 @4 ?- @5 ?P +P ?Sa0"},
	{"nobody starts", NEAP_POD_ALWAYS, "a", "N ?- Y ?P +P N ?- Y ?Sa0"},
	{"completes", NEAP_POD_NEVER, "a", "?P +P ?Sa0 a^ ?- a:0 ?R #S a~Completed ?- %False"},
	{"fails", NEAP_POD_NEVER, "ab", "?P +P ?Sa0,Sb0 a^ b^ ?- a:3 ?- #R b:0 ?R #F a~Error"},
	{"on failure", NEAP_POD_ON_FAILURE, "a", "?P +P ?Sa0 a^ @1 a:1 ?Sa1 #R a^ @2 a:0 ?R #S"},
	{"always again", NEAP_POD_ALWAYS, "a", "?P +P ?Sa0 a^ @1 a:0 ?Sa1 a^ @2 a:0 ?Ba >12 a~CrashLoopBackOff @11 ?- @12 ?Sa2"},
	{"back-off doubles", NEAP_POD_ALWAYS, "a", "?P +P ?Sa0 a:1 ?Sa1 a:1 ?Ba >10 @10 ?Sa2 a:1 ?Ba >30 @30 ?Sa3 a:1 ?Ba >70 @70 ?Sa4 "
	 "a:1 ?Ba >150 @150 ?Sa5 a:1 ?Ba >310 @310 ?Sa6 a:1 ?Ba >610 @610 ?Sa7 a:1 ?Ba >910 @910 ?Sa8"},
	{"back-off ends", NEAP_POD_ALWAYS, "a", "?P +P ?Sa0 a:1 ?Sa1 a:1 ?Ba @10 ?Sa2 a^ @611 a:1 ?Sa3 a:1 ?Ba >621"},
	{"just not", NEAP_POD_ALWAYS, "a", "?P +P ?Sa0 a:1 ?Sa1 a:1 ?Ba @10 ?Sa2 a^ @610 a:1 ?Ba >630"},
	{"not started", NEAP_POD_ALWAYS, "a", "?P +P ?Sa0 a! ?Sa1 a! ?Ba #R a~CrashLoopBackOff"},
	{"not started, never", NEAP_POD_NEVER, "a", "?P +P ?Sa0 a! ?R #F a~StartError"},
	{"lost", NEAP_POD_ALWAYS, "a", "?P +P ?Sa0 a^ ?- a* ?Sa1"},
	{"lost, never", NEAP_POD_NEVER, "a", "?P +P ?Sa0 a^ ?- a* ?R #F a~ContainerStatusUnknown"},
	{"init in order", NEAP_POD_ALWAYS, "IJa", "?P +P ?SI0 a~PodInitializing I^ ?- I:0 ?SJ0 J^ J:0 ?Sa0 #P a^ ?- #R %True"},
	{"init again", NEAP_POD_ALWAYS, "Ia", "?P +P ?SI0 I:1 ?SI1 I:1 ?BI @10 ?SI2 #P I:0 ?Sa0"},
	{"init fails", NEAP_POD_NEVER, "Ia", "?P +P ?SI0 I:1 ?R #F"},
	{"init deleted", NEAP_POD_ALWAYS, "Ia", "?P +P ?SI0 I^ D5 ?TI >5 @5 ?KI I:137 ?R #F"},
	{"deleted", NEAP_POD_ALWAYS, "ab", "?P +P ?Sa0,Sb0 a^ b^ ?- D7 ?Ta,Tb >7 @3 a:0 ?- >7 @7 ?Kb >- b:137 ?R #F"},
	{"deleted, well", NEAP_POD_ALWAYS, "a", "?P +P ?Sa0 a^ ?- D7 ?Ta a:0 ?R #S ?-"},
	{"deleted before", NEAP_POD_ALWAYS, "a", "D7 ?R ?-"},
	{"deleted while it starts", NEAP_POD_ALWAYS, "a", "?P +P ?Sa0 D7 ?Ka a:137 ?R"},
	{"deleted sooner", NEAP_POD_ALWAYS, "a", "?P +P ?Sa0 a^ D30 ?Ta >30 @5 D2 ?Ka"},
	{"deleted in a pause", NEAP_POD_ALWAYS, "a", "?P +P ?Sa0 a:1 ?Sa1 a:1 ?Ba D7 ?R #F a~Error"},
	{"no grace", NEAP_POD_ALWAYS, "a", "?P +P ?Sa0 a^ D0 ?Ka a:137 ?R"},
	{"gone", NEAP_POD_ALWAYS, "a", "?P +P ?Sa0 a^ ?- G ?Ka ?- a:137 ?R ?-"},
	{"gone while it ends", NEAP_POD_ALWAYS, "a", "?P +P ?Sa0 a^ D30 ?Ta G ?Ka ?-"},
	{"deadline", NEAP_POD_ALWAYS, "a", "L9 ?P >9 +P ?Sa0 a^ ?- @9 ?Ta >39 #R a:143 ?R #F"},
	{"deadline before", NEAP_POD_ALWAYS, "a", "L9 N ?- >9 @9 ?R #F"},
	{"deadline, ends well", NEAP_POD_NEVER, "a", "L9 ?P +P ?Sa0 a^ @9 ?Ta a:0 ?R #F"},
	{"in time", NEAP_POD_NEVER, "a", "L9 ?P +P ?Sa0 a^ @8 a:0 ?R #S @10 ?- #S >-"},
	{"ended by others", NEAP_POD_ALWAYS, "a", "?P +P ?Sa0 a^ ?- &F ?Ta a:0 ?R #F D0 ?- #F"},
	{"had ended before", NEAP_POD_ALWAYS, "a", "&S a=0 ?P a:3 ?R #S"},
	{"not well", NEAP_POD_ALWAYS, "a", "?P +P ?Sa0 a^ au ?Ta >5 @5 ?Ka a:137 ?Sa1 a^ ?- a~running"},
	{"not well, never", NEAP_POD_NEVER, "a", "?P +P ?Sa0 a^ au ?Ta a:143 ?R #F"},
	{"put off", NEAP_POD_ALWAYS, "a", "?P +P ?Sa0 ax ?- >10 a~CreateContainerConfigError #P @10 ?Sa0"},
	{"put off again", NEAP_POD_ALWAYS, "a", "?P +P ?Sa0 a:1 ?Sa1 ax ?- a~CreateContainerConfigError @10 ?Sa1 a:1 ?Ba >20"},
	{"taken over", NEAP_POD_ALWAYS, "a", "a=2 ?P +P ?- #R a^ ?- #R a:1 ?Ba >20"},
	{"taken over, has ended", NEAP_POD_NEVER, "a", "a=0 ?P +P ?- a:0 ?R #S"},
	{"taken over, lost", NEAP_POD_ALWAYS, "a", "a=0 a* ?P +P ?Sa1"},
	{"taken over, is deleted", NEAP_POD_ALWAYS, "a", "a=0 D5 ?P +P ?- a^ ?Ta >5"},
	{"taken over, waits, is deleted", NEAP_POD_ALWAYS, "a", "a=0 D5 ?P aw ?Ka"},
	{"taken over, waits, no groups", NEAP_POD_ALWAYS, "a", "a=0 ?P aw -P ?- >5 @5 ?P +P ?- a^ ?- #R"},
	{"taken over, no groups", NEAP_POD_ALWAYS, "a", "a=0 ?P a^ -P ?- >5 @5 ?P +P ?- #R"},
	{"taken over, is gone", NEAP_POD_ALWAYS, "a", "a=0 G ?Ka a:137 ?R"},
	{"taken over beside init", NEAP_POD_ALWAYS, "Ia", "a=0 ?P a* ?- +P ?Sa1"},
	{"init taken over beside", NEAP_POD_ALWAYS, "Ia", "I=0 a=0 ?P +P ?- I:0 a^ ?- #R"},
};
/* clang-format on */

struct stage {
	struct neap_pod_life life;
	int64_t now;
	const char *name;
	char did[512];
	int64_t next;
};

static size_t find(const struct stage *stage, char name)
{
	for (size_t i = 0; i < stage->life.count; i++)
		if (stage->life.containers[i].name[0] == name)
			return i;
	fail_msg("%s: no container %c", stage->name, name);
	return 0;
}

static void set_up(struct stage *stage, const char *name, enum neap_pod_restart restart,
		   const char *containers)
{
	struct neap_error err;

	*stage = (struct stage){.now = BEGIN, .name = name};
	assert_int_equal(neap_pod_life_init(&stage->life, strlen(containers), &err), 0);
	stage->life.restart = restart;
	stage->life.grace_s = 30;
	stage->life.start_usec = BEGIN;
	stage->life.may_start = true;
	for (size_t i = 0; containers[i]; i++) {
		stage->life.containers[i].name[0] = containers[i];
		stage->life.containers[i].is_init = containers[i] < 'a';
	}
}

static void turn(struct stage *stage)
{
	static const char letters[] = "PSTKBR";
	struct neap_pod_step step;
	size_t at = 0;

	neap_pod_life_step(&stage->life, stage->now, &step);
	stage->did[0] = '\0';
	for (size_t i = 0; i < step.count; i++) {
		const struct neap_pod_action *action = &step.actions[i];
		char letter = letters[action->act];

		at += (size_t)snprintf(stage->did + at, sizeof(stage->did) - at, "%s%c",
				       at ? "," : "", letter);
		if (letter != 'P' && letter != 'R')
			at += (size_t)snprintf(
				stage->did + at, sizeof(stage->did) - at, "%c",
				stage->life.containers[action->container].name[0]);
		if (letter == 'S')
			at += (size_t)snprintf(stage->did + at, sizeof(stage->did) - at,
					       "%u", action->attempt);
	}
	if (at == 0)
		(void)neap_strcopy(stage->did, sizeof(stage->did), "-");
	stage->next = step.next_usec;
}

static json_t *make_status(struct stage *stage)
{
	static const struct neap_pod_who who = {"default", "p", "uid-1", "127.0.0.1",
						NULL};
	json_t *status = json_object();

	assert_true(neap_pod_life_set_status(&stage->life, &who, stage->now, status));
	return status;
}

static const json_t *find_named(const json_t *list, const char *member, const char *name)
{
	const json_t *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (strcmp(json_string_value(json_object_get(one, member)), name) == 0)
			return one;
	return NULL;
}

/* "running", or the reason of a state. */
static void check_state(struct stage *stage, size_t container, const char *want)
{
	const struct neap_pod_container *one = &stage->life.containers[container];
	json_t *status = make_status(stage);
	const json_t *list = json_object_get(
		status, one->is_init ? "initContainerStatuses" : "containerStatuses");
	json_t *state = json_object_get(find_named(list, "name", one->name), "state");
	void *at = json_object_iter(state);
	const char *reason;

	assert_non_null(at);
	assert_int_equal(json_object_size(state), 1);
	reason = json_string_value(json_object_get(json_object_iter_value(at), "reason"));
	if (reason == NULL)
		reason = json_object_iter_key(at);
	if (strcmp(reason, want) != 0)
		fail_msg("%s: %s is %s, not %s", stage->name, one->name, reason, want);
	json_decref(status);
}

static void check_ready(struct stage *stage, const char *want)
{
	json_t *status = make_status(stage);
	const json_t *ready =
		find_named(json_object_get(status, "conditions"), "type", "Ready");
	const char *says = json_string_value(json_object_get(ready, "status"));

	if (strcmp(says, want) != 0)
		fail_msg("%s: Ready is %s", stage->name, says);
	json_decref(status);
}

static void happen(struct stage *stage, size_t i, const char *what)
{
	struct neap_pod_end end = {.ended_usec = stage->now};
	struct neap_pod_life *life = &stage->life;

	switch (what[0]) {
	case '^':
		neap_pod_life_started(life, i, stage->now);
		break;
	case ':':
		end.exit_code = (int)strtol(what + 1, NULL, 10);
		neap_pod_life_ended(life, i, &end);
		break;
	case '!':
		neap_pod_life_failed(life, i, "no such file", stage->now);
		break;
	case '*':
		neap_pod_life_lost(life, i, stage->now);
		break;
	case '=':
		neap_pod_life_adopt(life, i, (unsigned)strtol(what + 1, NULL, 10));
		break;
	case 'w':
		neap_pod_life_waiting(life, i);
		break;
	case 'u':
		neap_pod_life_unwell(life, i, 5);
		break;
	case 'x':
		neap_pod_life_put_off(life, i, "no such key", stage->now + 10 * SECOND);
		break;
	case '~':
		check_state(stage, i, what + 1);
		break;
	default:
		fail_msg("%s: what is %s?", stage->name, what);
	}
}

static void tell(struct stage *stage, const char *word, size_t nth)
{
	struct neap_pod_life *life = &stage->life;
	long number = strtol(word + 1, NULL, 10);
	int64_t next;

	switch (word[0]) {
	case '@':
		stage->now = BEGIN + number * SECOND;
		break;
	case '?':
		turn(stage);
		if (strcmp(stage->did, word + 1) != 0)
			fail_msg("%s: word %zu: %s, not %s", stage->name, nth, stage->did,
				 word + 1);
		break;
	case '>':
		next = word[1] == '-' ? 0 : BEGIN + number * SECOND;
		if (stage->next != next)
			fail_msg("%s: word %zu: next at %lld", stage->name, nth,
				 (long long)((stage->next - BEGIN) / SECOND));
		break;
	case '+':
	case '-':
		neap_pod_life_prepared(life, word[0] == '+', stage->now);
		break;
	case 'D':
		life->is_deleting = true;
		life->delete_grace_s = number;
		break;
	case 'G':
		life->is_gone = true;
		break;
	case 'L':
		life->deadline_s = number;
		break;
	case 'N':
	case 'Y':
		life->may_start = word[0] == 'Y';
		break;
	case '#':
		if ("PRSF"[life->phase] != word[1])
			fail_msg("%s: word %zu: phase %d", stage->name, nth, life->phase);
		break;
	case '&':
		life->phase = word[1] == 'F' ? NEAP_POD_FAILED : NEAP_POD_SUCCEEDED;
		break;
	case '%':
		check_ready(stage, word + 1);
		break;
	default:
		happen(stage, find(stage, word[0]), word + 1);
	}
}

static void test_stories(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(stories); i++) {
		char *text = neap_strdup(stories[i].story), *save = NULL;
		struct stage stage;
		size_t nth = 0;

		assert_non_null(text);
		set_up(&stage, stories[i].name, stories[i].restart,
		       stories[i].containers);
		for (char *word = strtok_r(text, " ", &save); word != NULL;
		     word = strtok_r(NULL, " ", &save))
			tell(&stage, word, ++nth);
		neap_pod_life_done(&stage.life);
		free(text);
	}
}

/* --- random histories --- */

#define ONES 4

/* What is known of one container from outside alone. */
struct watched {
	bool is_live, is_ever;
	unsigned attempt;
	int64_t ended, started;
	int starts_in_a_row;
};

struct world {
	struct stage stage;
	struct watched ones[ONES];
	uint64_t seed;
	bool was_terminal;
	enum neap_pod_phase terminal;
};

static unsigned draw(struct world *world, unsigned below)
{
	world->seed = world->seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)(world->seed >> 33) % below;
}

static void check_start(struct world *world, size_t i, unsigned attempt)
{
	const struct neap_pod_life *life = &world->stage.life;
	struct watched *one = &world->ones[i];

	assert_false(one->is_live);
	assert_int_equal(attempt, one->is_ever ? one->attempt + 1 : 0);
	assert_false(life->is_deleting || life->is_gone || world->was_terminal);
	assert_true(life->groups == NEAP_POD_GROUPS_MADE);
	/* No two starts after a start that follow each other in less than the shortest
	 * pause. */
	if (one->is_ever && one->attempt > 0 &&
	    one->ended - one->started <= NEAP_POD_CALM_S * SECOND)
		assert_true(world->stage.now - one->ended >= NEAP_POD_BACKOFF_S * SECOND);
	/* Those that come first have ended well before any other starts, one at a
	 * time. */
	for (size_t k = 0; k < life->count; k++) {
		if (k == i || !life->containers[k].is_init)
			continue;
		if (!life->containers[i].is_init || k < i)
			assert_true(life->containers[k].state == NEAP_POD_ENDED &&
				    life->containers[k].end.exit_code == 0);
		assert_false(world->ones[k].is_live);
	}
	one->is_live = one->is_ever = true;
	one->attempt = attempt;
	one->started = world->stage.now;
}

static void random_turn(struct world *world)
{
	struct neap_pod_life *life = &world->stage.life;
	struct neap_pod_step step;
	bool is_live = false;

	neap_pod_life_step(life, world->stage.now, &step);
	for (size_t i = 0; i < step.count; i++) {
		size_t at = step.actions[i].container;

		switch (step.actions[i].act) {
		case NEAP_POD_START:
			check_start(world, at, step.actions[i].attempt);
			break;
		case NEAP_POD_TERM:
		case NEAP_POD_KILL:
			assert_true(world->ones[at].is_live);
			break;
		case NEAP_POD_RELEASE:
			for (size_t k = 0; k < life->count; k++)
				assert_false(world->ones[k].is_live);
			break;
		default:
			break;
		}
	}
	for (size_t k = 0; k < life->count; k++)
		is_live = is_live || world->ones[k].is_live;
	assert_int_equal(is_live, neap_pod_life_has_live(life));
	if (world->was_terminal)
		assert_int_equal(life->phase, world->terminal);
	else if (life->phase >= NEAP_POD_SUCCEEDED)
		assert_false(is_live);
	if (life->phase >= NEAP_POD_SUCCEEDED) {
		world->was_terminal = true;
		world->terminal = life->phase;
	}
	if (step.next_usec != 0)
		assert_true(step.next_usec > world->stage.now);
}

static void random_event(struct world *world)
{
	struct neap_pod_life *life = &world->stage.life;
	size_t i = draw(world, (unsigned)life->count);
	struct neap_pod_container *one = &life->containers[i];
	struct neap_pod_end end = {.exit_code = draw(world, 2) ? 1 : 0};

	switch (draw(world, 12)) {
	case 0:
	case 1:
	case 2:
		world->stage.now += (int64_t)draw(world, 400) * SECOND;
		break;
	case 3:
	case 4:
		neap_pod_life_prepared(life, draw(world, 4) != 0, world->stage.now);
		break;
	case 5:
	case 6:
		neap_pod_life_started(life, i, world->stage.now);
		break;
	case 7:
	case 8:
		if (!world->ones[i].is_live)
			break;
		end.ended_usec = world->stage.now;
		if (draw(world, 5) == 0)
			neap_pod_life_lost(life, i, world->stage.now);
		else
			neap_pod_life_ended(life, i, &end);
		world->ones[i].is_live = false;
		world->ones[i].ended = world->stage.now;
		break;
	case 9:
		neap_pod_life_unwell(life, i, draw(world, 30));
		break;
	case 10:
		life->may_start = draw(world, 3) != 0;
		break;
	default:
		if (draw(world, 20) == 0) {
			life->is_deleting = true;
			life->delete_grace_s = draw(world, 40);
		} else if (draw(world, 60) == 0) {
			life->is_gone = true;
		}
	}
	assert_true(one->attempt == world->ones[i].attempt);
}

/* A daemon is replaced: all that the next one knows is the status and what left a
 * trace. */
static void replace(struct world *world)
{
	struct neap_pod_life *old = &world->stage.life, *life;
	json_t *status = make_status(&world->stage);
	static const char *const shapes[] = {"a", "Ia", "ab", "IJab"};
	struct stage next;
	int newest[ONES];

	set_up(&next, "replaced", old->restart, shapes[old->count - 1]);
	for (size_t i = 0; i < old->count; i++) {
		(void)neap_strcopy(next.life.containers[i].name, NEAP_POD_NAME,
				   old->containers[i].name);
		next.life.containers[i].is_init = old->containers[i].is_init;
		newest[i] = world->ones[i].is_ever ? (int)world->ones[i].attempt : -1;
	}
	life = &next.life;
	life->is_deleting = old->is_deleting;
	life->delete_grace_s = old->delete_grace_s;
	life->is_gone = old->is_gone;
	next.now = world->stage.now;
	neap_pod_life_get_status(life, status, newest, next.now);
	json_decref(status);
	for (size_t i = 0; i < old->count; i++) {
		if (!world->ones[i].is_ever) {
			assert_int_equal(life->containers[i].state, NEAP_POD_UNBORN);
		} else if (!world->ones[i].is_live) {
			struct neap_pod_end end = old->containers[i].end;

			neap_pod_life_ended(life, i, &end);
		}
	}
	neap_pod_life_done(old);
	world->stage = next;
}

static void test_random(void **state)
{
	static const char *const shapes[] = {"a", "ab", "Ia", "IJab"};

	(void)state;
	for (unsigned seed = 1; seed <= 3000; seed++) {
		struct world world = {.seed = seed};

		set_up(&world.stage, "random", (enum neap_pod_restart)(seed % 3),
		       shapes[seed % 4]);
		for (int turns = 0; turns < 120; turns++) {
			random_event(&world);
			random_turn(&world);
			if (seed % 2 && draw(&world, 60) == 0 &&
			    world.stage.life.groups == NEAP_POD_GROUPS_MADE)
				replace(&world);
		}
		neap_pod_life_done(&world.stage.life);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stories),
		cmocka_unit_test(test_random),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
