/* SPDX-License-Identifier: Apache-2.0
 *
 * pods/NAME/log over HTTP, as "kubectl logs" asks: which container, which attempt, what
 * of it, who may. */
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

/* --- what is refused --- */

static void refusals(void **state)
{
	static const struct kube_step steps[] = {
		{"GET " PODS "/none/log", NULL, 404, {"message=pods \"none\" not found"}},
		{"GET " PODS "/two/log",
		 NULL,
		 400,
		 {"reason=BadRequest",
		  "message=a container name must be specified for pod two, choose one of: "
		  "[a b] or one of the init containers: [i]"}},
		{"GET " PODS "/two/log?container=z",
		 NULL,
		 400,
		 {"message=container z is not valid for pod two"}},
		{"GET " PODS "/two/log?container=..%2Fa",
		 NULL,
		 400,
		 {"message=container ../a is not valid for pod two"}},
		{"GET " PODS "/new/log",
		 NULL,
		 400,
		 {"reason=BadRequest",
		  "message=container \"c\" in pod \"new\" is waiting to start: "
		  "ContainerCreating"}},
		{"MERGE " PODS "/new/status",
		 "{'status':{'containerStatuses':[{'name':'c','image':'x','imageID':'',"
		 "'ready':false,'restartCount':0,'state':{'waiting':{'reason':"
		 "'CreateContainerConfigError'}}}]}}",
		 200,
		 {NULL}},
		{"GET " PODS "/new/log?follow=true",
		 NULL,
		 400,
		 {"message=container \"c\" in pod \"new\" is waiting to start: "
		  "CreateContainerConfigError"}},
		{"MERGE " PODS "/new/status",
		 "{'status':{'containerStatuses':[{'name':'c','image':'x','imageID':'',"
		 "'ready':false,'restartCount':0,'state':{'running':{}}}]}}",
		 200,
		 {NULL}},
		{"GET " PODS "/new/log",
		 NULL,
		 404,
		 {"message~printed is not kept on this machine"}},
		{"GET " PODS "/one/log?previous=true",
		 NULL,
		 400,
		 {"message=previous terminated container \"main\" in pod \"one\" not "
		  "found"}},
		{"GET " PODS "/one/log?tailLines=x", NULL, 400, {"message~tailLines"}},
		{"GET " PODS "/one/log?tailLines=-1", NULL, 422, {"message~tailLines"}},
		{"GET " PODS "/one/log?limitBytes=0",
		 NULL,
		 422,
		 {"message=PodLogOptions \"one\" is invalid: limitBytes: Invalid value: "
		  "\"0\": must be greater than 0"}},
		{"GET " PODS "/one/log?sinceSeconds=0",
		 NULL,
		 422,
		 {"message~sinceSeconds"}},
		{"GET " PODS "/one/log?sinceTime=noon", NULL, 400, {"message~sinceTime"}},
		{"GET " PODS "/one/log?sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z",
		 NULL,
		 422,
		 {"message~at most one of"}},
		{"POST " PODS "/one/log", "{}", 405, {NULL}},
		{"DELETE " PODS "/one/log", NULL, 405, {NULL}},
		{"GET /api/v1/namespaces/default/services/x/log", NULL, 404, {NULL}},
	};
	struct kube_rig *rig = *state;

	log_file_put(LOG_ONE, "main/0/log", F(1, "a"), "w");
	kube_steps(rig, steps, NEAP_ARRAY_LEN(steps));
	/* In discovery, with one verb. */
	assert_int_equal(kube_ask(rig, "GET /api/v1", NULL), 200);
	{
		const json_t *entry, *found = NULL;
		size_t i;

		json_array_foreach (json_object_get(rig->body, "resources"), i, entry) {
			if (strcmp(kube_text(entry, "name"), "pods/log") == 0)
				found = entry;
		}
		assert_null(kube_differs(found, "verbs=[\"get\"]"));
		assert_null(kube_differs(found, "kind=Pod"));
	}
}

static void access_to_logs(void **state)
{
	static const struct {
		const char *token;
		int status;
	} rows[] = {
		{"", 401},
		{"mall-token-of-16", 403},
		{"rose-token-of-16", 200},
		{"node-token-of-16", 200},
		{"eddy-token-of-16", 200},
	};
	struct kube_rig *rig = *state;

	log_file_put(LOG_ONE, "main/0/log", F(1, "a"), "w");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		int status;

		kube_as(rig, rows[i].token);
		status = kube_ask(rig, "GET " PODS "/one/log", NULL);
		if (status != rows[i].status)
			fail_msg("'%s': %d", rows[i].token, status);
	}
	kube_as(rig, NULL);
	assert_int_equal(kube_ask(rig, "HEAD " PODS "/one/log", NULL), 200);
	assert_non_null(strcasestr(rig->head, "Content-Type: text/plain"));
}

/* --- what is given --- */

static const struct {
	const char *name;
	const char *files[8]; /* of pod two */
	const char *query, *want;
} texts[] = {
	{"all", {"a/0/log", F(1, "a") F(2, "b")}, "container=a", "a\nb\n"},
	{"nothing printed", {"a/0/log", ""}, "container=a", ""},
	{"not even a file", {"a/0/x", ""}, "container=a", ""},
	{"an init container", {"i/0/log", F(1, "i")}, "container=i", "i\n"},
	{"the newest attempt",
	 {"a/0/log", F(1, "a"), "a/10/log", F(2, "b"), "a/9/log", F(3, "c")},
	 "container=a",
	 "b\n"},
	{"the one before",
	 {"a/0/log", F(1, "a"), "a/10/log", F(2, "b"), "a/9/log", F(3, "c")},
	 "container=a&previous=true",
	 "c\n"},
	{"the one before, followed",
	 {"a/0/log", F(1, "a"), "a/1/log", F(2, "b")},
	 "container=a&previous=true&follow=true",
	 "a\n"},
	{"older files",
	 {"a/0/log", F(2, "b"), "a/0/log.1", F(1, "a")},
	 "container=a",
	 "a\nb\n"},
	{"the last ones",
	 {"a/0/log", F(2, "b"), "a/0/log.1", F(1, "a")},
	 "container=a&tailLines=1",
	 "b\n"},
	{"with times",
	 {"a/0/log", F(2, "b")},
	 "container=a&timestamps=true",
	 T(2) " b\n"},
	{"since a time",
	 {"a/0/log", F(1, "a") F(2, "b")},
	 "container=a&sinceTime=2026-09-21T14:13:02Z",
	 "b\n"},
	{"of the last seconds",
	 {"a/0/log", F(1, "a") F(2, "b")},
	 "container=a&sinceSeconds=18",
	 "b\n"},
	{"of all seconds",
	 {"a/0/log", F(1, "a")},
	 "container=a&sinceSeconds=9000000000000000000",
	 "a\n"},
	{"a limit", {"a/0/log", F(1, "abc")}, "container=a&limitBytes=2", "ab"},
	{"half a line", {"a/0/log", F(1, "a") "2026"}, "container=a", "a\n"},
	{"followed to its end",
	 {"a/0/log", F(1, "a") "2026", "a/0/exit", "0"},
	 "container=a&follow=true",
	 "a\n"},
};

static void each_text(void **state)
{
	struct kube_rig *rig = *state;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(texts); i++) {
		struct log_client client;
		char query[256], path[256];

		for (int k = 0; k < 8 && texts[i].files[k]; k += 2)
			log_file_put(LOG_TWO, texts[i].files[k], texts[i].files[k + 1],
				     "w");
		(void)snprintf(query, sizeof(query), "two/log?%s", texts[i].query);
		log_client_open(rig, &client, query);
		log_client_until_end(&client, texts[i].name);
		if (strcmp(client.text.data, texts[i].want) != 0)
			fail_msg("%s: '%s'", texts[i].name, client.text.data);
		log_client_close(&client);
		(void)snprintf(path, sizeof(path), "%s/%s", log_dir, log_uids[LOG_TWO]);
		assert_int_equal(nftw(path, log_file_remove, 16, FTW_DEPTH | FTW_PHYS),
				 0);
	}
}

/* Between two starts the one that ended last is both. */
static void between_starts(void **state)
{
	static const struct kube_step waits = {
		"MERGE " PODS "/one/status",
		"{'status':{'containerStatuses':[{'name':'main','image':'x','imageID':'',"
		"'ready':false,'restartCount':1,'state':{'waiting':{'reason':"
		"'CrashLoopBackOff'}},'lastState':{'terminated':{'exitCode':1}}}]}}",
		200,
		{NULL}};
	static const char *const queries[] = {"one/log", "one/log?previous=true"};
	struct kube_rig *rig = *state;

	log_file_put(LOG_ONE, "main/0/log", F(1, "a"), "w");
	log_file_put(LOG_ONE, "main/1/log", F(1, "b"), "w");
	log_file_put(LOG_ONE, "main/1/exit", "1", "w");
	kube_steps(rig, &waits, 1);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(queries); i++) {
		struct log_client client;

		log_client_open(rig, &client, queries[i]);
		log_client_until_end(&client, queries[i]);
		assert_string_equal(client.text.data, "b\n");
		log_client_close(&client);
	}
}

/* A link in place of a folder or a file leads nowhere. */
static void links(void **state)
{
	struct kube_rig *rig = *state;
	struct log_client client;
	char from[256], to[256];

	log_file_put(LOG_NEW, "real/0/log", F(1, "secret"), "w");
	(void)snprintf(to, sizeof(to), "%s/%s/real", log_dir, log_uids[LOG_NEW]);
	(void)snprintf(from, sizeof(from), "%s/%s/c", log_dir, log_uids[LOG_NEW]);
	assert_int_equal(symlink(to, from), 0);
	assert_int_equal(kube_ask(rig, "GET " PODS "/new/log", NULL), 400);
	assert_int_equal(unlink(from), 0);
	log_file_put(LOG_NEW, "c/0/x", "", "w");
	(void)snprintf(to, sizeof(to), "%s/%s/real/0/log", log_dir, log_uids[LOG_NEW]);
	(void)snprintf(from, sizeof(from), "%s/%s/c/0/log", log_dir, log_uids[LOG_NEW]);
	assert_int_equal(symlink(to, from), 0);
	log_client_open(rig, &client, "new/log");
	log_client_until_end(&client, "a link");
	assert_string_equal(client.text.data, "");
	log_client_close(&client);
}

static void without_a_folder(void **state)
{
	static const struct kube_step step = {"GET " PODS "/one/log",
					      NULL,
					      404,
					      {"reason=NotFound", "message~no pods run"}};
	struct neap_error err = {0};
	struct kube_rig *rig = *state;

	assert_int_equal(
		kube_ask(
			rig, "POST " PODS,
			"{'metadata':{'name':'one'},'spec':{'containers':[{'name':'main','image':'x'}]}}"),
		201);
	kube_steps(rig, &step, 1);
	assert_int_equal(neap_kube_logs_set(rig->kube, "/nonexistent/x", &err),
			 -NEAP_ESYS);
	kube_steps(rig, &step, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(refusals),
		TEST(access_to_logs),
		TEST(each_text),
		TEST(between_starts),
		TEST(links),
		cmocka_unit_test_setup_teardown(without_a_folder, kube_rig_setup,
						kube_rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
