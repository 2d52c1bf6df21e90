/* SPDX-License-Identifier: Apache-2.0
 *
 * How much a scheduler reads in one turn of the loop: a long text is as much as many
 * objects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/schedule/schedule_priv.h"
#include "engine/base/mem.h"
#include "t/lib/schedule_rig.h"

#define PODS 12

/* Of a scheduler that is not here, so that it stays as it is. */
static void add_pod(struct kube_rig *rig, int number, size_t bytes)
{
	char *body = neap_alloc(bytes + 512);
	int len, status;

	assert_non_null(body);
	len = snprintf(body, bytes + 512,
		       "{\"metadata\":{\"name\":\"p-%d\",\"annotations\":{\"a\":\"",
		       number);
	memset(body + len, 'a', bytes);
	(void)snprintf(
		body + len + bytes, 256,
		"\"}},\"spec\":{\"schedulerName\":\"other\",\"containers\":[{\"name\":\"c\","
		"\"image\":\"x\"}]}}");
	status = kube_ask_with(rig, "POST " SCHEDULE_PODS,
			       "Content-Type: application/json\r\n", body, strlen(body));
	free(body);
	assert_int_equal(status, 201);
}

/* Turns until a scheduler that starts has read everything. */
static int count_turns(struct kube_rig *rig)
{
	int turns = 1;

	schedule_stop();
	schedule_start(rig);
	while (!scheduler_read(schedule_scheduler))
		turns++;
	return turns;
}

static void test_long_texts(void **state)
{
	struct kube_rig *rig = *state;

	for (int i = 0; i < PODS; i++)
		add_pod(rig, i, 100);
	assert_int_equal(count_turns(rig), 1);
	/* 200 KB are fifty pieces of the hundred that a turn may take. */
	for (int i = 0; i < PODS; i++)
		add_pod(rig, PODS + i, 200000);
	assert_true(count_turns(rig) >= PODS / 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_long_texts, schedule_setup,
						schedule_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
