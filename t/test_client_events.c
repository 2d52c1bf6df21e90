/* SPDX-License-Identifier: Apache-2.0
 *
 * Events by client-go's rules, as they leave: what is sent and when, by a client that
 * only writes it down. As they are read: test_kube_note.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/client/client_ops.h"
#include "api/client/events.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

#define SECOND INT64_C(1000000)
#define ASKED  2000

static int64_t now_usec;

static int64_t now(void)
{
	return now_usec;
}

/* --- the client --- */

static struct asked {
	bool is_patch;
	char name[NEAP_OBJECT_NAME];
	json_t *body;
	neap_client_told *told;
	void *arg;
} asked[ASKED];
static size_t asked_count;
static int64_t wake_usec; /* when it wants to be called; 0: not at all */

static bool is_prompt; /* whatever is asked is done at once */

static void note(const struct neap_client_ask *ask, bool is_patch, json_t *body)
{
	struct asked *to = &asked[asked_count++];

	assert_true(asked_count < ASKED);
	*to = (struct asked){
		.is_patch = is_patch, .body = body, .told = ask->told, .arg = ask->arg};
	(void)neap_strcopy(to->name, sizeof(to->name), ask->name);
	if (is_prompt)
		neap_steal(to->told)(ask->arg, NULL, NULL);
}

static void create_take(struct neap_client *client, const struct neap_client_ask *ask,
			json_t *object)
{
	(void)client;
	note(ask, false, object);
}

static void patch_take(struct neap_client *client, const struct neap_client_ask *ask,
		       bool is_status, json_t *patch)
{
	(void)client, (void)is_status;
	note(ask, true, patch);
}

static void wake_after(struct neap_client *client, int64_t usec)
{
	(void)client;
	wake_usec = now_usec + usec;
}

static const struct neap_client_ops ops = {.create_take = create_take,
					   .patch_take = patch_take};
static struct neap_client client = {.ops = &ops, .now = now, .wake_after = wake_after};

/* Answers number at of what was asked; NULL: it was done. */
static void answer(size_t at, const struct neap_client_failure *failure)
{
	struct asked *to = &asked[at];
	neap_client_told *told = to->told;
	void *arg = to->arg;

	to->told = NULL;
	if (told)
		told(arg, NULL, failure);
}

static void answer_all(void)
{
	for (size_t i = 0; i < asked_count; i++) {
		answer(i, NULL);
		json_decref(asked[i].body);
	}
	asked_count = 0;
}

static int setup(void **state)
{
	(void)state;
	now_usec = INT64_C(1789997600) * SECOND;
	wake_usec = 0;
	is_prompt = false;
	return 0;
}

static int setup_prompt(void **state)
{
	(void)setup(state);
	is_prompt = true;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	answer_all();
	neap_client_done(&client);
	return 0;
}

static const struct neap_client_failure lost = {.reason = NEAP_CLIENT_UNAVAILABLE,
						.is_unanswered = true,
						.code = 503,
						.message = "no connection"};
static const struct neap_client_failure refused = {
	.reason = NEAP_CLIENT_UNAVAILABLE, .code = 503, .message = "not now"};
static const struct neap_client_failure gone = {
	.reason = NEAP_CLIENT_NOT_FOUND, .code = 404, .message = "gone"};
static const struct neap_client_failure exists = {
	.reason = NEAP_CLIENT_ALREADY_EXISTS, .code = 409, .message = "it is there"};

static struct neap_client_note pod = {.api_version = "v1",
				      .kind = "Pod",
				      .ns = "default",
				      .name = "p",
				      .uid = "u",
				      .reason = "Killing",
				      .component = "kubelet",
				      .host = "n1"};

static const char *message_of(size_t at)
{
	return neap_json_text(asked[at].body, "message");
}

/* --- what is sent --- */

/* From the tenth message on one event counts for all; ten minutes of rest end that. */
static void test_similar(void **state)
{
	(void)state;
	for (int i = 1; i <= 12; i++)
		neap_client_note(&client, &pod, "message %d", i);
	assert_int_equal(asked_count, 12);
	assert_string_equal(message_of(8), "message 9");
	assert_string_equal(message_of(9), "(combined from similar events): message 10");
	assert_false(asked[9].is_patch);
	for (size_t i = 10; i < 12; i++) {
		assert_true(asked[i].is_patch);
		assert_string_equal(asked[i].name, asked[9].name);
		assert_int_equal(json_object_size(asked[i].body), 3);
		assert_int_equal(
			json_integer_value(json_object_get(asked[i].body, "count")),
			i - 8);
	}
	assert_string_equal(message_of(11), "(combined from similar events): message 12");
	answer_all();
	now_usec += 600 * SECOND;
	neap_client_note(&client, &pod, "message 13");
	assert_string_equal(message_of(0), "(combined from similar events): message 13");
	now_usec += 601 * SECOND;
	neap_client_note(&client, &pod, "message 14");
	assert_string_equal(message_of(1), "message 14");
}

/* One source, object and type: 25 at once, then one in five minutes. What is dropped is
 * counted all the same. */
static void test_spam(void **state)
{
	struct neap_client_note warning = pod, other = pod;

	(void)state;
	warning.is_warning = true;
	other.uid = "v";
	for (int i = 0; i < 30; i++)
		neap_client_note(&client, &pod, "again");
	assert_int_equal(asked_count, 25);
	neap_client_note(&client, &warning, "again");
	neap_client_note(&client, &other, "again");
	assert_int_equal(asked_count, 27);
	now_usec += 299 * SECOND;
	neap_client_note(&client, &pod, "again");
	assert_int_equal(asked_count, 27);
	now_usec += 2 * SECOND;
	neap_client_note(&client, &pod, "again");
	assert_int_equal(asked_count, 28);
	assert_int_equal(json_integer_value(json_object_get(asked[27].body, "count")),
			 32);
}

/* 4096 are remembered, and the one that was used the longest ago is forgotten. */
static void test_memory(void **state)
{
	struct neap_client_note many = pod;
	char uid[16];

	(void)state;
	many.uid = uid;
	for (int i = 0; i < 4096; i++) {
		(void)snprintf(uid, sizeof(uid), "u%d", i);
		neap_client_note(&client, &many, "once");
		if (asked_count == 500)
			answer_all();
	}
	answer_all();
	many.uid = "u0";
	neap_client_note(&client, &many, "once");
	assert_true(asked[0].is_patch);
	many.uid = "one more";
	neap_client_note(&client, &many, "once");
	assert_false(asked[1].is_patch);
	many.uid = "u0";
	neap_client_note(&client, &many, "once");
	assert_true(asked[2].is_patch);
	many.uid = "u1";
	neap_client_note(&client, &many, "once");
	assert_false(asked[3].is_patch);
}

/* --- what is sent again --- */

static void pass_to(int64_t usec)
{
	now_usec = usec;
	wake_usec = 0;
	neap_client_notes_due(&client);
}

/* 12 tries: the first pause is drawn, the others have 10 s. */
static void test_no_answer(void **state)
{
	int64_t at;

	(void)state;
	neap_client_note(&client, &pod, "lost");
	for (size_t i = 1; i < 12; i++) {
		assert_int_equal(asked_count, i);
		at = now_usec;
		answer(i - 1, &lost);
		assert_true(wake_usec >= at && wake_usec <= at + 10 * SECOND);
		if (i > 1)
			assert_int_equal(wake_usec, at + 10 * SECOND);
		if (wake_usec > at)
			pass_to(wake_usec - 1);
		assert_int_equal(asked_count, i);
		pass_to(now_usec + 1);
		assert_string_equal(asked[i].name, asked[0].name);
		assert_string_equal(message_of(i), "lost");
	}
	answer(11, &lost);
	assert_int_equal(wake_usec, 0);
	assert_int_equal(asked_count, 12);
}

static void test_final(void **state)
{
	(void)state;
	neap_client_note(&client, &pod, "a");
	answer(0, &refused);
	assert_int_equal(wake_usec, 0);
	neap_client_note(&client, &pod, "a");
	assert_true(asked[1].is_patch);
	/* It expired meanwhile: it is made again, whole. */
	answer(1, &gone);
	assert_int_equal(asked_count, 3);
	assert_false(asked[2].is_patch);
	assert_int_equal(json_integer_value(json_object_get(asked[2].body, "count")), 2);
	answer(2, &gone);
	assert_int_equal(asked_count, 3);
}

static int64_t count_of(size_t at)
{
	return json_integer_value(json_object_get(asked[at].body, "count"));
}

/* One request of an event is under way at a time: two could arrive in either order. */
static void test_order(void **state)
{
	(void)state;
	neap_client_note(&client, &pod, "a");
	neap_client_note(&client, &pod, "a");
	neap_client_note(&client, &pod, "b");
	assert_int_equal(asked_count, 2);
	assert_string_equal(message_of(1), "b");
	answer(0, NULL);
	assert_int_equal(asked_count, 3);
	assert_true(asked[2].is_patch);
	assert_int_equal(count_of(2), 2);
	/* What comes while the change is under way joins, also where the event went. */
	neap_client_note(&client, &pod, "a");
	neap_client_note(&client, &pod, "a");
	answer(2, &gone);
	assert_int_equal(asked_count, 4);
	assert_false(asked[3].is_patch);
	assert_int_equal(count_of(3), 4);
	/* A server did late what it had not answered. */
	answer(3, &exists);
	assert_int_equal(asked_count, 5);
	assert_true(asked[4].is_patch);
	assert_int_equal(count_of(4), 4);
	answer(4, NULL);
	assert_int_equal(asked_count, 5);
	/* While it waits for the server, too. */
	answer(1, &lost);
	neap_client_note(&client, &pod, "b");
	pass_to(now_usec + 10 * SECOND);
	assert_int_equal(asked_count, 6);
	assert_true(asked[5].is_patch);
	assert_int_equal(count_of(5), 2);
	answer(5, &refused);
	assert_int_equal(asked_count, 6);
}

/* While the server is away no more than 1000 wait; the rest is dropped. */
static void test_queue(void **state)
{
	struct neap_client_note many = pod;
	char uid[16];

	(void)state;
	many.uid = uid;
	for (int i = 0; i < 1100; i++) {
		(void)snprintf(uid, sizeof(uid), "u%d", i);
		neap_client_note(&client, &many, "once");
	}
	assert_int_equal(asked_count, 1000);
	answer(0, NULL);
	many.uid = "later";
	neap_client_note(&client, &many, "once");
	assert_int_equal(asked_count, 1001);
	/* A client that ends forgets those that wait. */
	answer(1, &lost);
}

/* An answer may come after the client has ended. */
static void test_end(void **state)
{
	(void)state;
	neap_client_note(&client, &pod, "a");
	neap_client_done(&client);
	answer(0, &lost);
	assert_int_equal(wake_usec, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
#define TEST_PROMPT(name)                                                                \
	cmocka_unit_test_setup_teardown(test_##name, setup_prompt, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_PROMPT(similar), TEST_PROMPT(spam), TEST_PROMPT(memory),
		TEST(no_answer),      TEST(final),       TEST(order),
		TEST(queue),          TEST(end),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
