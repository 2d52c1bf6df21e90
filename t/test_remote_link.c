/* SPDX-License-Identifier: Apache-2.0
 *
 * The way to a server whose credentials change: who asks, as the server sees it. */
#include <event2/event.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/remote/link/link.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/patience.h"
#include "t/lib/tls_rig.h"

#define NOBODY 65534

struct world {
	struct http_server *server;
	struct event_base *base;
	struct neap_link *link;
	int log[2];
	struct neap_log to;
	char said[16384]; /* the log so far */
	size_t len;
	bool is_ready, is_lost, is_told;
	int status;
	char name[64]; /* of whoever asked last, as the server says it */
};

static struct world world;

static int ready(void *arg, struct neap_error *err)
{
	(void)err;
	((struct world *)arg)->is_ready = true;
	return 0;
}

static void lost(void *arg)
{
	((struct world *)arg)->is_lost = true;
}

static const struct neap_link_events events = {.ready = ready, .lost = lost};

static char *path_of(const char *name)
{
	return neap_asprintf("%s/%s", tls_rig_dir, name);
}

/* is_other_key: the rotation is half done at the start. */
static void start(void **state, bool is_other_key)
{
	struct neap_remote_target *target = neap_alloc(sizeof(*target));
	const struct neap_link_config config = {.name = "server",
						.uid = geteuid() == 0 ? NOBODY : 0,
						.gid = geteuid() == 0 ? NOBODY : 0,
						.jail = NEAP_JAIL_OFF,
						.log = &world.to};
	struct neap_error err = {0};

	world = (struct world){.server = *state};
	assert_int_equal(pipe2(world.log, O_NONBLOCK | O_CLOEXEC), 0);
	world.to = (struct neap_log){
		.fd = world.log[1], .level = NEAP_LOG_INFO, .program = "link"};
	tls_copy(tls_rig_dir, "bob.crt", "me.crt");
	tls_copy(tls_rig_dir, is_other_key ? "alice.key" : "bob.key", "me.key");
	target->server = neap_asprintf("https://127.0.0.1:%d", world.server->port);
	target->source = neap_strdup("test");
	target->dial_host = neap_strdup("127.0.0.1");
	target->dial_port = (uint16_t)world.server->port;
	target->is_insecure = true;
	target->cert_file = path_of("me.crt");
	target->key_file = path_of("me.key");
	world.base = event_base_new();
	if (neap_link_open(&config, target, &world.link, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(neap_link_start(world.link, world.base, &events, &world, &err),
			 0);
}

static void stop(void)
{
	assert_false(world.is_lost);
	neap_link_free(world.link);
	event_base_free(world.base);
	close(world.log[0]);
	close(world.log[1]);
}

/* Whether the log says so, now. */
static bool has_said(const char *text)
{
	ssize_t n = read(world.log[0], world.said + world.len,
			 sizeof(world.said) - 1 - world.len);

	world.len += n > 0 ? (size_t)n : 0;
	return strstr(world.said, text) != NULL;
}

static void answered(void *arg, const struct neap_transport_answer *answer)
{
	json_t *json;
	json_error_t where;

	(void)arg;
	world.is_told = true;
	world.status = answer->status;
	world.name[0] = '\0';
	if (neap_json_parse(answer->body, answer->len, 0, &json, &where) < 0)
		return;
	(void)neap_strcopy(world.name, sizeof(world.name), neap_json_text(json, "name"));
	json_decref(json);
}

static const char *who_asks(void)
{
	struct neap_transport_ask ask = {.method = "GET",
					 .path = "/view",
					 .timeout_usec = 600000000,
					 .is_impatient = true,
					 .done = answered};
	struct neap_error err;

	world.is_told = false;
	assert_int_equal(neap_transport_ask_take(neap_link_transport(world.link), &ask,
						 NULL, &err),
			 0);
	assert_true(comes_true_in(world.base, world.is_told));
	return world.status == 200 ? world.name : "nobody";
}

#define says(text) comes_true_in(world.base, has_said(text))

/* A rotation writes two files, and each read comes between. */
static void test_half_rotated(void **state)
{
	start(state, false);
	assert_true(comes_true_in(world.base, world.is_ready));
	assert_string_equal(who_asks(), "cert:bob");
	tls_copy(tls_rig_dir, "alice.crt", "me.crt");
	neap_link_reread(world.link);
	assert_true(says("is not the key of the client certificate; the pair of before "
			 "stays: both are read again"));
	assert_string_equal(who_asks(), "cert:bob");
	/* No further word is needed. */
	tls_copy(tls_rig_dir, "alice.key", "me.key");
	assert_true(comes_true_in(world.base, strcmp(who_asks(), "cert:alice") == 0));
	stop();
}

/* Nothing is asked before there is a pair. */
static void test_half_rotated_at_first(void **state)
{
	start(state, true);
	assert_true(says("is not the key of the client certificate: both are read "
			 "again"));
	assert_false(world.is_ready);
	tls_copy(tls_rig_dir, "alice.crt", "me.crt");
	assert_true(comes_true_in(world.base, world.is_ready));
	assert_string_equal(who_asks(), "cert:alice");
	stop();
}

/* A file that is gone for a while takes nothing away. */
static void test_file_is_gone(void **state)
{
	neap_auto_free char *key = path_of("me.key"), *away = path_of("away.key");

	start(state, false);
	assert_true(comes_true_in(world.base, world.is_ready));
	assert_int_equal(rename(key, away), 0);
	tls_copy(tls_rig_dir, "alice.crt", "me.crt");
	neap_link_reread(world.link);
	assert_true(says("what was read before stays"));
	assert_string_equal(who_asks(), "cert:bob");
	tls_copy(tls_rig_dir, "alice.key", "me.key");
	assert_true(comes_true_in(world.base, strcmp(who_asks(), "cert:alice") == 0));
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_half_rotated, tls_rig_start,
						tls_rig_stop),
		cmocka_unit_test_setup_teardown(test_half_rotated_at_first, tls_rig_start,
						tls_rig_stop),
		cmocka_unit_test_setup_teardown(test_file_is_gone, tls_rig_start,
						tls_rig_stop),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, tls_rig_make, tls_rig_remove);
}
