/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops learn the replicas of controllers (api/workload/loop/scaled.h) from a client
 * that answers late, or with an older value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/client/client_ops.h"
#include "api/workload/loop/scaled.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* The server: which answer it has, and how often it was asked. */
static enum neap_client_scale answer;
static int64_t answered;
static size_t asked;
static int late_of_each; /* answers to each controller that are late at first */

static enum neap_client_scale scale(struct neap_client *client,
				    const struct neap_client_owner *owner, int64_t *ret)
{
	static int late[64];
	long number = strtol(owner->name + 1, NULL, 10);

	(void)client;
	asked++;
	if (late_of_each > 0 && late[number] < late_of_each) {
		late[number]++;
		return NEAP_CLIENT_SCALE_IS_LATE;
	}
	*ret = answered;
	return answer;
}

static const struct neap_client_ops ops = {.scale = scale};
static struct neap_client client = {.ops = &ops};

static void set_pod(struct neap_migrate_cluster *cluster, int number)
{
	char name[16];
	json_t *pod;

	(void)snprintf(name, sizeof(name), "o%d", number);
	pod = json_pack("{s:{s:s, s:s, s:[{s:s, s:s, s:s, s:s, s:b}]}}", "metadata",
			"namespace", "n", "name", name, "ownerReferences", "apiVersion",
			"x.example.com/v1", "kind", "Game", "name", name, "uid", name,
			"controller", 1);
	assert_int_equal(neap_migrate_set_pod(cluster, pod, NULL), 0);
	json_decref(pod);
}

static const struct neap_migrate_owner *
owner_of(const struct neap_migrate_cluster *cluster, const char *name)
{
	return neap_migrate_owner_of(cluster, neap_migrate_find_pod(cluster, "n", name));
}

static void test_answers(void **state)
{
	static const struct {
		enum neap_client_scale answer;
		int64_t answered;
		bool is_fresh, is_known;
		int64_t replicas;
	} rows[] = {
		{NEAP_CLIENT_SCALE_IS_LATE, 9, false, false, 0},
		{NEAP_CLIENT_SCALE_IS_OLD, 4, false, true, 4},
		{NEAP_CLIENT_SCALE_IS_LATE, 9, false, true, 4},
		{NEAP_CLIENT_HAS_SCALE, 5, true, true, 5},
		{NEAP_CLIENT_NO_SCALE, 9, true, true, 0},
	};
	struct neap_migrate_cluster cluster;

	(void)state;
	late_of_each = 0;
	assert_int_equal(neap_migrate_cluster_init(&cluster, NULL), 0);
	set_pod(&cluster, 1);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		answer = rows[i].answer;
		answered = rows[i].answered;
		assert_int_equal(neap_scaled_learn(&client, &cluster, "n", "o1"),
				 rows[i].is_fresh);
		assert_int_equal(owner_of(&cluster, "o1")->is_known, rows[i].is_known);
		assert_int_equal(owner_of(&cluster, "o1")->replicas, rows[i].replicas);
	}
	neap_migrate_cluster_done(&cluster);
}

/* Late answers are looked for until all are there, some in a call; then nobody is asked
 * any more. */
static void test_walk(void **state)
{
	struct neap_scaled_walk walk = {0};
	struct neap_migrate_cluster cluster;
	int calls = 0;

	(void)state;
	answer = NEAP_CLIENT_HAS_SCALE;
	answered = 3;
	late_of_each = 3;
	assert_int_equal(neap_migrate_cluster_init(&cluster, NULL), 0);
	assert_true(neap_scaled_walk(&client, &cluster, &walk));
	for (int i = 0; i < 40; i++) {
		char name[16];

		set_pod(&cluster, i);
		(void)snprintf(name, sizeof(name), "o%d", i);
		neap_scaled_learn_new(&client, &cluster, &walk, "n", name);
	}
	for (; calls < 100; calls++) {
		size_t before = asked;
		bool is_over = neap_scaled_walk(&client, &cluster, &walk);

		assert_true(asked - before <= 16);
		if (is_over)
			break;
	}
	assert_in_range(calls, 3, 20);
	for (int i = 0; i < 40; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "o%d", i);
		assert_int_equal(owner_of(&cluster, name)->replicas, 3);
	}
	asked = 0;
	assert_true(neap_scaled_walk(&client, &cluster, &walk));
	assert_int_equal(asked, 0);
	neap_migrate_cluster_done(&cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
