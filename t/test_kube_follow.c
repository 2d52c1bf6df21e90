/* SPDX-License-Identifier: Apache-2.0
 *
 * Followers of pods/NAME/log: files that grow and are renamed, ends, slow clients, ones
 * that go, and too many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/kube/log/log.h"
#include "engine/base/mem.h"
#include "t/lib/log_rig.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, log_rig_setup, log_rig_teardown)

static void follow(void **state)
{
	struct kube_rig *rig = *state;
	struct log_client client;

	log_file_put(LOG_ONE, "main/0/log", F(1, "a"), "w");
	log_client_open(rig, &client, "one/log?follow=true&timestamps=true&tailLines=1");
	log_client_until(&client, T(1) " a\n");
	log_file_put(LOG_ONE, "main/0/log", T(2) " stdout F b", "a");
	kube_run(rig, 2 * NEAP_KUBE_LOGS_MSEC);
	log_client_until(&client, T(1) " a\n");
	log_file_put(LOG_ONE, "main/0/log", "\n", "a");
	log_client_until(&client, T(1) " a\n" T(2) " b\n");
	log_file_put(LOG_ONE, "main/0/log", F(3, "c"), "a");
	log_file_rename(LOG_ONE, "main/0/log", "main/0/log.1");
	log_file_put(LOG_ONE, "main/0/log", F(4, "d"), "a");
	log_client_until(&client, T(1) " a\n" T(2) " b\n" T(3) " c\n" T(4) " d\n");
	log_file_put(LOG_ONE, "main/0/log", F(5, "e") "2026", "a");
	log_file_put(LOG_ONE, "main/0/exit", "0", "w");
	log_client_until_end(&client, "follow");
	assert_string_equal(client.text.data,
			    T(1) " a\n" T(2) " b\n" T(3) " c\n" T(4) " d\n" T(5) " e\n");
	log_client_close(&client);
}

/* Where nobody wrote how it ended: the pod is done, runs anew, or is no more. */
static void ends(void **state)
{
	static const struct {
		const char *name;
		bool has_next;
		struct kube_step step;
	} cases[] = {
		{"runs anew",
		 true,
		 {"MERGE " PODS "/one",
		  "{'metadata':{'labels':{'a':'b'}}}",
		  200,
		  {NULL}}},
		{"is done",
		 false,
		 {"MERGE " PODS "/one/status",
		  "{'status':{'phase':'Failed'}}",
		  200,
		  {NULL}}},
		{"is no more",
		 false,
		 {"DELETE " PODS "/one?gracePeriodSeconds=0", NULL, 200, {NULL}}},
	};
	struct kube_rig *rig = *state;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(cases); i++) {
		struct log_client client;

		log_file_put(LOG_ONE, i ? "main/1/log" : "main/0/log", F(1, "a"), "w");
		log_client_open(rig, &client, "one/log?follow=true");
		log_client_until(&client, "a\n");
		if (cases[i].has_next)
			log_file_put(LOG_ONE, "main/1/log", F(2, "x"), "w");
		log_file_put(LOG_ONE, i ? "main/1/log" : "main/0/log", F(2, "b"), "a");
		kube_steps(rig, &cases[i].step, 1);
		log_client_until_end(&client, cases[i].name);
		assert_string_equal(client.text.data, "a\nb\n");
		log_client_close(&client);
	}
}

/* A client that reads nothing for a while gets all of it afterwards, though the files
 * were renamed; meanwhile others are served. */
static void slow(void **state)
{
	struct kube_rig *rig = *state;
	neap_auto_buf struct neap_buf file = {0}, want = {0};
	struct log_client client, other;

	neap_buf_init(&file, (size_t)16 << 20);
	neap_buf_init(&want, (size_t)16 << 20);
	for (int i = 0; i < 60000; i++) {
		neap_buf_addf(&file, T(1) " stdout F line %d of what is printed\n", i);
		neap_buf_addf(&want, "line %d of what is printed\n", i);
	}
	log_file_put(LOG_ONE, "main/0/log", file.data, "w");
	log_client_open(rig, &client, "one/log?follow=true");
	kube_run(rig, 100);
	log_file_rename(LOG_ONE, "main/0/log", "main/0/log.1");
	log_file_put(LOG_ONE, "main/0/log", F(2, "end"), "w");
	neap_buf_adds(&want, "end\n");
	log_client_open(rig, &other, "one/log?tailLines=2");
	log_client_until_end(&other, "another");
	assert_string_equal(other.text.data, "line 59999 of what is printed\nend\n");
	log_client_close(&other);
	log_file_put(LOG_ONE, "main/0/exit", "0", "w");
	log_client_until_end(&client, "slow");
	assert_int_equal(client.text.len, want.len);
	assert_string_equal(client.text.data, want.data);
	log_client_close(&client);
}

/* Clients that go make room for others; one more than may be is told to come again. */
static void many(void **state)
{
	static struct log_client clients[NEAP_KUBE_LOGS_MAX];
	static const struct kube_step full = {
		"GET " PODS "/one/log", NULL, 429, {"reason=TooManyRequests"}};
	struct kube_rig *rig = *state;

	log_file_put(LOG_ONE, "main/0/log", F(1, "a"), "w");
	for (int i = 0; i < NEAP_KUBE_LOGS_MAX; i++) {
		log_client_open(rig, &clients[i], "one/log?follow=true");
		log_client_until(&clients[i], "a\n");
	}
	kube_steps(rig, &full, 1);
	assert_non_null(strcasestr(rig->head, "Retry-After:"));
	log_file_put(LOG_ONE, "main/0/log", F(2, "b"), "a");
	for (int i = 0; i < NEAP_KUBE_LOGS_MAX; i++)
		log_client_until(&clients[i], "a\nb\n");
	for (int i = 0; i < NEAP_KUBE_LOGS_MAX; i++)
		log_client_close(&clients[i]);
	{
		const struct kube_step again = {
			"GET " PODS "/one/log", NULL, 200, {NULL}};

		kube_until(rig, &again);
	}
	/* And some are open when the server ends. */
	log_client_open(rig, &clients[0], "one/log?follow=true");
	log_client_until(&clients[0], "a\nb\n");
	kube_rig_stop_kube(rig);
	log_client_until_end(&clients[0], "the server ends");
	log_client_close(&clients[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(follow),
		TEST(ends),
		TEST(slow),
		TEST(many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
