/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/decide/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define S INT64_C(1000000)

static void add(struct neap_queue *queue, const char *key, int32_t priority,
		int64_t since)
{
	assert_int_equal(neap_queue_add(queue, key, priority, since, NULL), 0);
}

static void takes(struct neap_queue *queue, int64_t now, const char *want)
{
	const char *key = neap_queue_take(queue, now);

	if (!want)
		assert_null(key);
	else if (!key || strcmp(key, want) != 0)
		fail_msg("%s and not %s", key ? key : "none", want);
}

static void test_order(void **state)
{
	struct neap_queue *queue = neap_queue_new();

	(void)state;
	add(queue, "old", 0, 10);
	add(queue, "new", 0, 20);
	add(queue, "urgent", 5, 30);
	add(queue, "second", 0, 20);
	add(queue, "lowest", -1, 0);
	add(queue, "gone", 9, 0);
	neap_queue_remove(queue, "gone");
	neap_queue_remove(queue, "never was");
	takes(queue, 0, "urgent");
	takes(queue, 0, "old");
	takes(queue, 0, "new");
	takes(queue, 0, "second");
	takes(queue, 0, "lowest");
	takes(queue, 0, NULL);
	assert_int_equal(neap_queue_count(queue).taken, 5);
	assert_int_equal(neap_queue_due(queue, 0), INT64_MAX);
	neap_queue_free(queue);
}

/* Parked ones are woken by what may help them, and only after their pause. */
static void test_park(void **state)
{
	struct neap_queue *queue = neap_queue_new();

	(void)state;
	add(queue, "a", 0, 0);
	takes(queue, 0, "a");
	neap_queue_park(queue, "a", 4, 0);
	neap_queue_wake(queue, 3, 5 * S);
	takes(queue, 5 * S, NULL);
	neap_queue_wake(queue, 4 | 1, 5 * S);
	takes(queue, 5 * S, "a");
	/* The second pause is two seconds. */
	neap_queue_park(queue, "a", 4, 5 * S);
	neap_queue_wake(queue, 4, 6 * S);
	assert_int_equal(neap_queue_due(queue, 6 * S), 7 * S);
	takes(queue, 6 * S, NULL);
	takes(queue, 7 * S, "a");
	/* Never longer than ten. */
	for (int i = 0; i < 6; i++)
		neap_queue_retry(queue, "a", 10 * S);
	assert_int_equal(neap_queue_due(queue, 10 * S), 20 * S);
	takes(queue, 20 * S - 1, NULL);
	takes(queue, 20 * S, "a");
	/* After five minutes in any case. */
	neap_queue_park(queue, "a", 0, 20 * S);
	assert_int_equal(neap_queue_due(queue, 21 * S), 320 * S);
	takes(queue, 320 * S, "a");
	/* Also when it was told again meanwhile, and others were parked behind it. */
	neap_queue_park(queue, "a", 0, 320 * S);
	add(queue, "b", 0, 0);
	takes(queue, 321 * S, "b");
	neap_queue_park(queue, "b", 0, 321 * S);
	assert_int_equal(neap_queue_add(queue, "a", 0, 0, NULL), 0);
	assert_int_equal(neap_queue_due(queue, 321 * S), 620 * S);
	takes(queue, 620 * S, "a");
	neap_queue_remove(queue, "b");
	/* A clock that was set back holds nobody up. */
	neap_queue_retry(queue, "a", 1000 * S);
	takes(queue, 1 * S, "a");
	neap_queue_free(queue);
}

/* One that was changed is tried as after any other event: its pauses stay what they
 * were. */
static void test_changed(void **state)
{
	struct neap_queue *queue = neap_queue_new();

	(void)state;
	neap_queue_wake_one(queue, "a", 0);
	add(queue, "a", 0, 0);
	takes(queue, 0, "a");
	/* Taken, it is to be told how that went. */
	neap_queue_wake_one(queue, "a", 0);
	takes(queue, 0, NULL);
	neap_queue_park(queue, "a", 0, 0);
	neap_queue_wake_one(queue, "a", S / 2);
	takes(queue, S - 1, NULL);
	/* Again, while its pause lasts. */
	neap_queue_wake_one(queue, "a", S - 1);
	assert_int_equal(neap_queue_due(queue, S - 1), S);
	takes(queue, S, "a");
	neap_queue_park(queue, "a", 0, S);
	neap_queue_wake_one(queue, "a", S);
	takes(queue, 3 * S - 1, NULL);
	takes(queue, 3 * S, "a");
	/* When the pause is over, at once. */
	neap_queue_park(queue, "a", 0, 3 * S);
	neap_queue_wake_one(queue, "a", 60 * S);
	takes(queue, 60 * S, "a");
	neap_queue_retry(queue, "a", 60 * S);
	neap_queue_wake_one(queue, "a", 60 * S);
	assert_int_equal(neap_queue_due(queue, 60 * S), 68 * S);
	neap_queue_free(queue);
}

#define KEYS 200

/* Against an array that is searched. */
static void test_against_array(void **state)
{
	struct {
		bool is_there, is_taken;
		int32_t priority;
		int64_t since;
	} model[KEYS] = {{0}};
	struct neap_queue *queue = neap_queue_new();
	uint32_t seed = 5;

	(void)state;
	for (int op = 0; op < 20000; op++) {
		int i, best = -1;
		char key[16];

		seed = seed * 1664525 + 1013904223;
		i = (int)((seed >> 8) % KEYS);
		(void)snprintf(key, sizeof(key), "%d", i);
		if (seed >> 30 == 0) {
			neap_queue_remove(queue, key);
			model[i].is_there = false;
		} else if (seed >> 30 < 3) {
			model[i].priority = (int32_t)((seed >> 4) % 5);
			model[i].since = op;
			model[i].is_taken = model[i].is_there && model[i].is_taken;
			model[i].is_there = true;
			add(queue, key, model[i].priority, op);
		} else {
			for (int n = 0; n < KEYS; n++)
				if (model[n].is_there && !model[n].is_taken &&
				    (best < 0 ||
				     model[n].priority > model[best].priority ||
				     (model[n].priority == model[best].priority &&
				      model[n].since < model[best].since)))
					best = n;
			(void)snprintf(key, sizeof(key), "%d", best);
			takes(queue, 0, best < 0 ? NULL : key);
			if (best >= 0)
				model[best].is_taken = true;
		}
	}
	neap_queue_free(queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_park),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_against_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
