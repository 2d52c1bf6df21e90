/* SPDX-License-Identifier: Apache-2.0
 *
 * The client of a node's loops by a kubelet's /pods, which a route of the test's own
 * server plays; and the options that name a kubelet. */
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

#include "api/client/events.h"
#include "api/http/server.h"
#include "api/remote/kubelet/kubelet.h"
#include "api/remote/link/named_target.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/log/log.h"
#include "t/lib/kube_rig.h"
#include "t/lib/patience.h"
#include "t/lib/tls_rig.h"

/* --- the kubelet --- */

static struct {
	int status, answers;
	const char *pods; /* its answer, with ' for " */
} plays;

static void give_pods(void *arg, struct neap_http_request *request)
{
	neap_auto_free char *text = neap_strdup(plays.pods);

	(void)arg;
	plays.answers++;
	for (char *at = text; *at; at++)
		*at = *at == '\'' ? '"' : *at;
	neap_http_answer_text(request, plays.status, "application/json", text,
			      strlen(text));
}

static const struct neap_http_route routes[] = {
	{"GET", "/pods", NEAP_HTTP_READER, give_pods}, {0}};

/* --- who asks it --- */

static struct kube_rig *rig;
static struct neap_transport *transport;
static struct neap_kubelet *kubelet;
static struct neap_client *client;
static bool is_filled;
static int log_ends[2];
static struct neap_log to_log;
static char said[16384];
static size_t said_len;

static void filled(void *arg)
{
	(void)arg;
	assert_false(is_filled);
	is_filled = true;
}

static bool has_said(const char *text)
{
	ssize_t n = read(log_ends[0], said + said_len, sizeof(said) - 1 - said_len);

	said_len += n > 0 ? (size_t)n : 0;
	said[said_len] = '\0';
	return strstr(said, text) != NULL;
}

#define says(text) comes_true_in(rig->base, has_said(text))

static int setup(void **state)
{
	char url[64];
	struct neap_error err = {0};
	struct neap_transport_config config = {.url = url, .log = &to_log};
	const struct neap_transport_keys keys = {.token = "secret"};
	struct neap_kubelet_config of_kubelet = {
		.node_name = "n1", .every_usec = 20000, .filled = filled, .log = &to_log};

	if (kube_rig_setup(state) < 0)
		return -1;
	rig = *state;
	plays.status = 200;
	plays.answers = 0;
	plays.pods = "{'kind':'PodList','apiVersion':'v1','items':null}";
	is_filled = false;
	said_len = 0;
	assert_int_equal(pipe2(log_ends, O_NONBLOCK | O_CLOEXEC), 0);
	to_log = (struct neap_log){
		.fd = log_ends[1], .level = NEAP_LOG_INFO, .program = "kubelet"};
	assert_int_equal(neap_http_add_routes(rig->http, routes, NULL, &err), 0);
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%d", rig->port);
	config.base = of_kubelet.base = rig->base;
	assert_int_equal(neap_transport_setup(&err), 0);
	assert_int_equal(neap_transport_new(&config, &transport, &err), 0);
	assert_int_equal(neap_transport_set_keys(transport, &keys, &err), 0);
	of_kubelet.transport = transport;
	assert_int_equal(neap_kubelet_new(&of_kubelet, &kubelet, &err), 0);
	client = neap_kubelet_client(kubelet);
	return 0;
}

static int teardown(void **state)
{
	neap_kubelet_free(kubelet);
	neap_transport_free(transport);
	(void)close(log_ends[0]);
	(void)close(log_ends[1]);
	return kube_rig_teardown(state);
}

#define POD(name, uid, more)                                                             \
	"{'metadata':{'name':'" name "','namespace':'shop','uid':'" uid "'},"            \
	"'spec':{'nodeName':'n1','containers':[]}" more "}"
#define LIST(pods) "{'kind':'PodList','apiVersion':'v1','items':[" pods "]}"

static void ready(void *arg)
{
	(void)arg;
}

/* What a watch gives, as "0a 1a 2a", until it is as wanted. */
static bool gives(struct neap_client_watch *watch, char *seen, size_t size,
		  const char *want)
{
	const struct neap_client_event *event;
	struct neap_error err;
	size_t len = strlen(seen);

	while (neap_client_watch_next(watch, &event, &err) > 0)
		len += (size_t)snprintf(seen + len, size - len, "%d%s ", event->what,
					event->object->name);
	return strcmp(seen, want) == 0;
}

/* Each change is an event, and what stays the same is none. */
static void test_pods(void **state)
{
	struct neap_client_watch *watch;
	struct neap_error err;
	char seen[256] = "";
	int answers;

	(void)state;
	assert_true(comes_true_in(rig->base, is_filled));
	assert_int_equal(neap_client_count(client, "pods"), 0);
	assert_int_equal(neap_client_watch_new(client, "pods",
					       neap_client_version(client), ready, NULL,
					       &watch, &err),
			 0);
	plays.pods = LIST(POD("a", "1", "") "," POD("b", "2", ""));
	assert_true(comes_true_in(rig->base, gives(watch, seen, sizeof(seen), "0a 0b ")));
	answers = plays.answers;
	assert_true(comes_true_in(rig->base, plays.answers > answers + 3));
	assert_true(gives(watch, seen, sizeof(seen), "0a 0b "));
	plays.pods = LIST(POD("a", "1", ",'status':{'phase':'Running'}"));
	assert_true(comes_true_in(rig->base,
				  gives(watch, seen, sizeof(seen), "0a 0b 1a 2b ")));
	/* Another pod of that name. */
	plays.pods = LIST(POD("a", "3", ""));
	assert_true(comes_true_in(
		rig->base, gives(watch, seen, sizeof(seen), "0a 0b 1a 2b 2a 0a ")));
	assert_string_equal(neap_client_find(client, "pods", "shop", "a")->uid, "3");
	neap_client_watch_free(watch);
}

/* What was read before stays while it cannot be read. */
static void test_failures(void **state)
{
	static const struct {
		int status;
		const char *pods, *said;
	} rows[] = {
		{401, "Unauthorized\n",
		 "HTTP status 401 (Unauthorized): it does not know who asks: give a token "},
		{403, "Forbidden (user=u)",
		 "(Forbidden (user=u)): who asks needs the right to get nodes/proxy"},
		{500, "x", "HTTP status 500"},
		{200, "<html>", "the answer is no JSON"},
		{200, "{'kind':'Status'}", "/pods gives no PodList: is it a kubelet?"},
		{200, LIST("{'metadata':{'namespace':'shop'}}," POD("a", "1", "")),
		 "pod shop/ is left out"},
	};

	(void)state;
	plays.pods = LIST(POD("a", "1", ""));
	assert_true(comes_true_in(rig->base, is_filled));
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		plays.status = rows[i].status;
		plays.pods = rows[i].pods;
		if (!says(rows[i].said))
			fail_msg("row %zu: %s", i, said);
		assert_int_equal(neap_client_count(client, "pods"), 1);
	}
	assert_true(has_said("; the pods that were read before stay"));
	plays.pods = LIST("");
	assert_true(comes_true_in(rig->base, neap_client_count(client, "pods") == 0));
}

static void test_other_node(void **state)
{
	(void)state;
	plays.pods = LIST("{'metadata':{'name':'a','namespace':'shop','uid':'1'},"
			  "'spec':{'nodeName':'n2'}}");
	assert_true(says("its node is n2, and this one is n1: its pods are left out; "
			 "start neapd with --node-name n2"));
}

static void told(void *arg, struct neap_object *object,
		 const struct neap_client_failure *failure)
{
	assert_null(object);
	*(enum neap_client_reason *)arg = failure->reason;
}

/* Events are told in the log; a kubelet takes nothing. */
static void test_writes(void **state)
{
	const struct neap_client_note note = {.api_version = "v1",
					      .kind = "Pod",
					      .ns = "shop",
					      .name = "a",
					      .is_warning = true,
					      .reason = "CPUsInUse"};
	enum neap_client_reason reason = NEAP_CLIENT_CONFLICT;
	const struct neap_client_ask ask = {.resource = "pods",
					    .ns = "shop",
					    .name = "a",
					    .told = told,
					    .arg = &reason};

	(void)state;
	neap_client_note(client, &note, "another pod has %s", "them");
	assert_true(says("pod shop/a: CPUsInUse: another pod has them"));
	neap_client_patch_take(client, &ask, false, json_object());
	assert_int_equal(reason, NEAP_CLIENT_METHOD_NOT_ALLOWED);
}

/* --- options --- */

static const struct {
	const char *url, *ca, *cert, *key;
	bool is_insecure;
	const char *want; /* of the error; NULL: it is right */
} named[] = {
	{"https://127.0.0.1:10250/", "ca.crt", "bob.crt", "bob.key", false, NULL},
	{"https://127.0.0.1:10250", "", "", "", true, NULL},
	{"http://127.0.0.1:10255", "", "", "", false, NULL},
	{"127.0.0.1:10250", "", "", "", false, "--kubelet: '127.0.0.1:10250' must begin"},
	{"https://me:hidden@k", "", "", "", false, "--kubelet must name no user"},
	{"http://k", "", "bob.crt", "bob.key", false, "is plain HTTP"},
	{"https://k", "ca.crt", "", "", true, "one or the other"},
	{"https://k", "bob.key", "", "", false, "--kubelet-certificate-authority: "},
	{"https://k", "", "bob.crt", "", false, "go together"},
	{"https://k", "", "bob.crt", "alice.key", false,
	 "is not the key of the client certificate"},
	{"https://k", "", "bob.crt", "none.key", false, "--kubelet-client-key: "},
};

static const char *path(const char *name, char *buf, size_t size)
{
	(void)snprintf(buf, size, *name ? "%s/%s" : "", tls_rig_dir, name);
	return buf;
}

static void test_options(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(named); i++) {
		char ca[128], cert[128], key[128];
		const struct neap_named_server from = {
			.options = {.url = "--kubelet",
				    .ca = "--kubelet-certificate-authority",
				    .cert = "--kubelet-client-certificate",
				    .key = "--kubelet-client-key",
				    .token = "--kubelet-token-file",
				    .insecure = "--kubelet-insecure-tls"},
			.url = named[i].url,
			.ca_file = path(named[i].ca, ca, sizeof(ca)),
			.cert_file = path(named[i].cert, cert, sizeof(cert)),
			.key_file = path(named[i].key, key, sizeof(key)),
			.token_file = "",
			.is_insecure = named[i].is_insecure};
		struct neap_remote_target *target = NULL;
		struct neap_error err = {0};
		int rc = neap_named_target_new(&from, &target, &err);

		if ((rc < 0) != (named[i].want != NULL) ||
		    (rc < 0 && !strstr(err.msg, named[i].want)) ||
		    strstr(err.msg, "hidden"))
			fail_msg("row %zu: %s", i, err.msg);
		if (i == 0) {
			assert_string_equal(target->server, "https://127.0.0.1:10250");
			assert_string_equal(target->dial_host, "127.0.0.1");
			assert_int_equal(target->dial_port, 10250);
		}
		neap_remote_target_free(target);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pods, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failures, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_node, setup, teardown),
		cmocka_unit_test_setup_teardown(test_writes, setup, teardown),
		cmocka_unit_test(test_options),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, tls_rig_make, tls_rig_remove);
}
