/* SPDX-License-Identifier: Apache-2.0
 *
 * The client of another server, over HTTP to one in the same thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/remote/reflector.h"
#include "engine/base/base.h"
#include "engine/log/log.h"
#include "t/lib/patience.h"
#include "t/lib/remote_rig.h"
#include "t/lib/schedule_rig.h"

#define POD_SPEC "'spec':{'containers':[{'name':'c','image':'i'}]}"

static struct remote_rig remote;

static int setup(void **state)
{
	if (kube_rig_setup(state) < 0)
		return -1;
	remote_rig_start(&remote, *state, NULL);
	return 0;
}

static int teardown(void **state)
{
	remote_rig_stop(&remote);
	return kube_rig_teardown(state);
}

static void make_pod(struct kube_rig *rig, const char *name, const char *meta)
{
	char body[512];

	(void)snprintf(body, sizeof(body), "{'metadata':{'name':'%s'%s}," POD_SPEC "}",
		       name, meta);
	assert_int_equal(kube_ask(rig, "POST /api/v1/namespaces/default/pods", body),
			 201);
}

static const struct neap_client_ask *ask_of(const char *name,
					    struct remote_rig_told *told)
{
	static struct neap_client_ask ask;

	*told = (struct remote_rig_told){0};
	ask = (struct neap_client_ask){.resource = "pods",
				       .ns = "default",
				       .name = name,
				       .told = remote_rig_told,
				       .arg = told};
	return &ask;
}

/* --- reading --- */

static void test_versions(void **state)
{
	(void)state;
	assert_true(neap_remote_version_compare("9", "10") < 0);
	assert_true(neap_remote_version_compare("18446744073709551616",
						"18446744073709551615") > 0);
	assert_true(neap_remote_version_compare("007", "7") == 0);
	assert_true(neap_remote_version_compare("", "1") < 0);
	assert_true(neap_remote_version_compare("x", "y") == 0);
}

/* A text here ends at a NUL, so one of the server's is another character. */
static void test_parse(void **state)
{
	static const char text[] = "{\"a\":\"x\\u0000y\",\"b\":\"\\\\u0000\"}";
	struct neap_error err;
	json_t *json;

	(void)state;
	assert_int_equal(neap_remote_parse(text, strlen(text), &json, &err), 0);
	assert_string_equal(json_string_value(json_object_get(json, "a")),
			    "x\xef\xbf\xbdy");
	assert_string_equal(json_string_value(json_object_get(json, "b")), "\\u0000");
	json_decref(json);
	assert_int_equal(neap_remote_parse("<html>", 6, &json, &err), -NEAP_EINVAL);
}

static void test_fill_and_follow(void **state)
{
	struct kube_rig *rig = *state;
	char name[16];

	for (int i = 0; i < 40; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		make_pod(rig, name, "");
	}
	remote_rig_wait_same(&remote, "pods");
	assert_int_equal(neap_client_count(remote.client, "pods"), 40);
	assert_int_equal(kube_ask(rig, "MERGE /api/v1/namespaces/default/pods/p3",
				  "{'metadata':{'labels':{'a':'b'}}}"),
			 200);
	assert_int_equal(kube_ask(rig,
				  "DELETE /api/v1/namespaces/default/pods/"
				  "p4?gracePeriodSeconds=0",
				  NULL),
			 200);
	make_pod(rig, "p4", ",'labels':{'again':'yes'}");
	remote_rig_wait_same(&remote, "pods");
	remote_rig_wait_same(&remote, "namespaces");
}

static void ready(void *arg)
{
	(void)arg;
}

/* A watch sees every change once, in order. */
static void test_watch(void **state)
{
	struct kube_rig *rig = *state;
	const struct neap_client_event *event;
	struct neap_client_watch *watch;
	char seen[256] = "";
	size_t len = 0;
	struct neap_error err;

	assert_int_equal(neap_client_watch_new(remote.client, "pods",
					       neap_client_version(remote.client), ready,
					       NULL, &watch, &err),
			 0);
	make_pod(rig, "a", "");
	assert_int_equal(kube_ask(rig, "MERGE /api/v1/namespaces/default/pods/a",
				  "{'metadata':{'labels':{'a':'b'}}}"),
			 200);
	assert_int_equal(kube_ask(rig,
				  "DELETE /api/v1/namespaces/default/pods/"
				  "a?gracePeriodSeconds=0",
				  NULL),
			 200);
	make_pod(rig, "b", "");
	remote_rig_wait_same(&remote, "pods");
	while (neap_client_watch_next(watch, &event, &err) > 0)
		len += (size_t)snprintf(seen + len, sizeof(seen) - len, "%d%s ",
					event->what, event->object->name);
	assert_string_equal(seen, "0a 1a 2a 0b ");
	neap_client_watch_free(watch);
}

/* --- lists that come through a watch, as newer servers have them --- */

static void nothing(void *arg)
{
	(void)arg;
}

static void test_streamed_list(void **state)
{
	static const struct neap_log quiet = {.fd = 2, .level = NEAP_LOG_ERROR};
	struct kube_rig *rig = *state;
	struct neap_store *mirror;
	struct neap_reflector *reflector;
	struct neap_error err;
	struct neap_reflector_config config = {.base = rig->base,
					       .transport = remote.transport,
					       .kind = neap_remote_kind_find("pods"),
					       .ns = "default",
					       .has_watch_list = true,
					       .changed = nothing,
					       .synced = nothing,
					       .log = &quiet};
	char name[16];

	for (int i = 0; i < 30; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		make_pod(rig, name, "");
	}
	assert_int_equal(neap_mirror_new(60000000, 1 << 20, &mirror, &err), 0);
	config.mirror = mirror;
	assert_int_equal(neap_reflector_new(&config, &reflector, &err), 0);
	assert_true(comes_true_in(rig->base, neap_reflector_is_synced(reflector)));
	assert_int_equal(neap_store_count(mirror, "pods"), 30);
	make_pod(rig, "later", "");
	assert_true(comes_true_in(rig->base, neap_store_count(mirror, "pods") == 31));
	/* One watch did both. */
	assert_int_equal(neap_reflector_counts(reflector).watches, 1);
	neap_reflector_free(reflector);
	neap_store_free(mirror);
}

/* --- writing --- */

static void test_create_and_patch(void **state)
{
	struct remote_rig_told told;

	(void)state;
	neap_client_create_take(remote.client, ask_of(NULL, &told),
				json_pack("{s:{s:s}, s:{s:[{s:s, s:s}]}}", "metadata",
					  "name", "made", "spec", "containers", "name",
					  "c", "image", "i"));
	assert_string_equal(remote_rig_answer(&remote, &told), "");
	assert_string_equal(told.object->name, "made");
	/* It is known at once. */
	assert_string_equal(
		neap_client_newest(remote.client, "pods", "default", "made")->uid,
		told.object->uid);
	(void)neap_object_unref(told.object);
	neap_client_create_take(remote.client, ask_of(NULL, &told),
				json_pack("{s:{s:s}, s:{s:[{s:s, s:s}]}}", "metadata",
					  "name", "made", "spec", "containers", "name",
					  "c", "image", "i"));
	(void)remote_rig_answer(&remote, &told);
	assert_int_equal(told.reason, NEAP_CLIENT_ALREADY_EXISTS);
	assert_int_equal(told.code, 409);
	assert_false(told.is_unknown);

	neap_client_patch_take(
		remote.client, ask_of("made", &told), false,
		json_pack("{s:{s:{s:s}}}", "metadata", "labels", "x", "y"));
	assert_string_equal(remote_rig_answer(&remote, &told), "");
	assert_string_equal(neap_object_label(told.object, "x"), "y");
	(void)neap_object_unref(told.object);
	remote_rig_wait_same(&remote, "pods");

	neap_client_patch_take(remote.client, ask_of("made", &told), false,
			       json_pack("{s:{s:s, s:{s:s}}}", "metadata",
					 "resourceVersion", "1", "labels", "x", "z"));
	(void)remote_rig_answer(&remote, &told);
	assert_int_equal(told.reason, NEAP_CLIENT_CONFLICT);

	neap_client_patch_take(
		remote.client, ask_of("made", &told), false,
		json_pack("{s:{s:{s:s}}}", "metadata", "labels", "x", "no label !"));
	(void)remote_rig_answer(&remote, &told);
	assert_int_equal(told.reason, NEAP_CLIENT_INVALID);
	assert_non_null(strstr(told.message, "metadata.labels"));
}

static void test_delete_and_evict(void **state)
{
	struct kube_rig *rig = *state;
	struct remote_rig_told told;

	make_pod(rig, "a", "");
	make_pod(rig, "b", "");
	remote_rig_wait_same(&remote, "pods");
	neap_client_delete(remote.client, ask_of("a", &told), "another-uid", 0);
	(void)remote_rig_answer(&remote, &told);
	assert_int_equal(told.reason, NEAP_CLIENT_CONFLICT);
	neap_client_delete(remote.client, ask_of("a", &told), NULL, 0);
	assert_string_equal(remote_rig_answer(&remote, &told), "");
	(void)neap_object_unref(told.object);
	neap_client_delete(remote.client, ask_of("none", &told), NULL, -1);
	(void)remote_rig_answer(&remote, &told);
	assert_int_equal(told.reason, NEAP_CLIENT_NOT_FOUND);
	neap_client_evict(remote.client, ask_of("b", &told), NULL, 0);
	assert_string_equal(remote_rig_answer(&remote, &told), "");
	(void)neap_object_unref(told.object);
	remote_rig_wait_same(&remote, "pods");
	assert_int_equal(neap_client_count(remote.client, "pods"), 0);
}

static void test_bind(void **state)
{
	struct kube_rig *rig = *state;
	struct remote_rig_told told;
	json_t *notes = json_pack("{s:s, s:n}", "set/by", "it", "old/note");
	const struct neap_client_binding binding = {.node = "n1", .annotations = notes};

	assert_int_equal(
		kube_ask(rig, "POST /api/v1/nodes", "{'metadata':{'name':'n1'}}"), 201);
	make_pod(rig, "a", ",'annotations':{'old/note':'x'}");
	remote_rig_wait_same(&remote, "pods");
	neap_client_bind(remote.client, ask_of("a", &told), &binding);
	assert_string_equal(remote_rig_answer(&remote, &told), "");
	assert_string_equal(neap_object_field(told.object, "spec.nodeName"), "n1");
	(void)neap_object_unref(told.object);
	/* Bound, whether or not the watch has brought it. */
	assert_string_equal(neap_object_field(neap_client_newest(remote.client, "pods",
								 "default", "a"),
					      "spec.nodeName"),
			    "n1");
	remote_rig_wait_same(&remote, "pods");
	assert_int_equal(kube_ask(rig, "GET /api/v1/namespaces/default/pods/a", NULL),
			 200);
	assert_string_equal(kube_text(rig->body, "spec.nodeName"), "n1");
	assert_string_equal(
		json_string_value(json_object_get(
			kube_at(rig->body, "metadata.annotations"), "set/by")),
		"it");
	assert_null(
		json_object_get(kube_at(rig->body, "metadata.annotations"), "old/note"));
	neap_client_bind(remote.client, ask_of("a", &told), &binding);
	(void)remote_rig_answer(&remote, &told);
	assert_int_equal(told.reason, NEAP_CLIENT_CONFLICT);
	assert_string_equal(told.part, "binding");
	json_decref(notes);
}

/* --- a loop over it --- */

static void test_schedule(void **state)
{
	static const char *const names[] = {"neap-scheduler", NULL};
	struct kube_rig *rig = *state;
	struct neap_scheduler_config config = {
		.base = rig->base, .client = remote.client, .names = names};
	struct neap_scheduler *scheduler;
	struct neap_error err;
	char name[16];

	for (int i = 0; i < 3; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		schedule_add_node(rig, name, "", "", "'cpu':'4','memory':'8Gi'");
	}
	remote_rig_wait_same(&remote, "nodes");
	assert_int_equal(neap_scheduler_new(&config, &scheduler, &err), 0);
	for (int i = 0; i < 12; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		schedule_add_pod(rig, name, "", "'cpu':'1'", "");
	}
	for (int i = 0; i < 12; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		assert_string_not_equal(schedule_wait_node(rig, name), "");
	}
	schedule_add_pod(rig, "late", "", "'cpu':'1'", "");
	schedule_wait_message(rig, "late",
			      "0/3 nodes are available: 3 Insufficient cpu.");
	neap_scheduler_free(scheduler);
	remote_rig_wait_same(&remote, "pods");
}

/* --- scales --- */

/* Whether the answer is there; it is then in scale and replicas. */
static enum neap_client_scale scale;
static int64_t replicas;

static bool is_told(const struct neap_client_owner *owner)
{
	scale = neap_client_scale(remote.client, owner, &replicas);
	return scale != NEAP_CLIENT_SCALE_IS_LATE;
}

static void test_scales(void **state)
{
	static const char uid[] = "00000000-0000-4000-8000-000000000000";
	struct kube_rig *rig = *state;
	const char *of_game;
	const struct {
		struct neap_client_owner owner;
		enum neap_client_scale want;
		bool at_once;
	} rows[] = {
		{{"play.example.com/v1", "Game", "four", NULL, "default"},
		 NEAP_CLIENT_HAS_SCALE,
		 false},
		{{"play.example.com/v1", "Game", "four", NULL, "default"},
		 NEAP_CLIENT_HAS_SCALE,
		 true},
		{{"play.example.com/v1", "Game", "four", uid, "default"},
		 NEAP_CLIENT_NO_SCALE,
		 false},
		{{"play.example.com/v1", "Game", "none", uid, "default"},
		 NEAP_CLIENT_NO_SCALE,
		 false},
		{{"play.example.com/v1", "Player", "four", uid, "default"},
		 NEAP_CLIENT_NO_SCALE,
		 false},
		{{"none.example.com/v1", "Game", "four", uid, "default"},
		 NEAP_CLIENT_NO_SCALE,
		 false},
		/* Nothing is asked for what cannot be a name. */
		{{"play.example.com/v1", "Game", "a/../b", uid, "default"},
		 NEAP_CLIENT_NO_SCALE,
		 true},
		{{"play.example.com/v1/..", "Game", "b", uid, "default"},
		 NEAP_CLIENT_NO_SCALE,
		 true},
	};

	assert_int_equal(
		kube_ask(rig,
			 "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions",
			 "{'metadata':{'name':'games.play.example.com'},'spec':{'group':"
			 "'play.example.com','scope':'Namespaced','names':{'plural':"
			 "'games','kind':'Game'},'versions':[{'name':'v1','served':true,"
			 "'storage':true,'subresources':{'scale':{'specReplicasPath':"
			 "'.spec.players','statusReplicasPath':'.status.players'}},"
			 "'schema':{'openAPIV3Schema':{'type':'object',"
			 "'x-kubernetes-preserve-unknown-fields':true}}}]}}"),
		201);
	kube_until(rig,
		   &(const struct kube_step){.ask = "GET /apis/play.example.com/v1/games",
					     .status = 200});
	assert_int_equal(
		kube_ask(rig, "POST /apis/play.example.com/v1/namespaces/default/games",
			 "{'metadata':{'name':'four'},'spec':{'players':4}}"),
		201);
	of_game = kube_text(rig->body, "metadata.uid");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_client_owner owner = rows[i].owner;

		owner.uid = owner.uid ? owner.uid : of_game;
		if (is_told(&owner) != rows[i].at_once)
			fail_msg("row %zu: %d", i, rows[i].at_once);
		if (!comes_true_in(rig->base, is_told(&owner)) || scale != rows[i].want)
			fail_msg("row %zu: %d", i, (int)scale);
		if (scale == NEAP_CLIENT_HAS_SCALE)
			assert_int_equal(replicas, 4);
	}
}

/* Those under way end with the client. */
static void test_scales_end(void **state)
{
	const struct neap_client_owner owner = {"play.example.com/v1", "Game", "a", "u",
						"default"};

	(void)state;
	assert_false(is_told(&owner));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_parse),
		cmocka_unit_test_setup_teardown(test_fill_and_follow, setup, teardown),
		cmocka_unit_test_setup_teardown(test_watch, setup, teardown),
		cmocka_unit_test_setup_teardown(test_streamed_list, setup, teardown),
		cmocka_unit_test_setup_teardown(test_create_and_patch, setup, teardown),
		cmocka_unit_test_setup_teardown(test_delete_and_evict, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bind, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scales, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scales_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_schedule, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
