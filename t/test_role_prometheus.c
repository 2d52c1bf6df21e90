/* SPDX-License-Identifier: Apache-2.0
 *
 * Which Prometheus a neapd asks for its strategies, and with which token: one of a file,
 * or one of a Secret in a cluster. Two servers in other processes play both. */
#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/daemon/role_prometheus.h"
#include "api/daemon/role_remote.h"
#include "api/http/tls/tls.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/patience.h"
#include "t/lib/tls_rig.h"

#define NOBODY 65534

/* --- the servers' side --- */

/* Nobody asks for a small body that is a large answer. */
static void give(void *arg, struct neap_http_request *request)
{
	bool is_plain = !neap_http_header_find(request, "accept-encoding");

	(void)arg;
	neap_http_answer_text(request, is_plain ? 200 : 500, "application/json", "{}", 2);
}

static void give_text(struct neap_http_request *request, const char *text)
{
	neap_http_answer_text(request, 200, "application/json", text, strlen(text));
}

/* "secret", with the line end that editors leave. */
static void give_secret(void *arg, struct neap_http_request *request)
{
	(void)arg;
	give_text(request, "{\"kind\":\"Secret\",\"data\":{\"prometheusAuthToken\":"
			   "\"c2VjcmV0Cg==\"}}");
}

static void give_other(void *arg, struct neap_http_request *request)
{
	(void)arg;
	give_text(request, "{\"kind\":\"Secret\",\"data\":{\"token\":\"c2VjcmV0\"}}");
}

static void give_two_lines(void *arg, struct neap_http_request *request)
{
	(void)arg;
	give_text(request, "{\"kind\":\"Secret\",\"data\":{\"prometheusAuthToken\":"
			   "\"c2Vj\\ncmV0CngK\"}}");
}

static void give_broken(void *arg, struct neap_http_request *request)
{
	(void)arg;
	give_text(request, "{\"kind\":\"Secret\",\"data\":{\"prometheusAuthToken\":"
			   "\"!\"}}");
}

static void forbid(void *arg, struct neap_http_request *request)
{
	static const char text[] =
		"{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\","
		"\"code\":403,\"message\":\"secrets \\\"no\\\" is forbidden\"}";

	(void)arg;
	neap_http_answer_text(request, 403, "application/json", text, strlen(text));
}

static void left(void *arg)
{
	(void)arg;
}

static void stay_silent(void *arg, struct neap_http_request *request)
{
	(void)arg;
	neap_http_defer(request, left, NULL);
}

#define SECRET(name) "/api/v1/namespaces/m/secrets/" name

static void add_routes(struct neap_http *http, struct event_base *base)
{
	static const struct neap_http_route routes[] = {
		{"POST", "/api/v1/query", NEAP_HTTP_ADMIN, give},
		{"POST", "/open/api/v1/query", NEAP_HTTP_ANYBODY, give},
		{"GET", SECRET("good"), NEAP_HTTP_ANYBODY, give_secret},
		{"GET", SECRET("other"), NEAP_HTTP_ANYBODY, give_other},
		{"GET", SECRET("lines"), NEAP_HTTP_ANYBODY, give_two_lines},
		{"GET", SECRET("broken"), NEAP_HTTP_ANYBODY, give_broken},
		{"GET", SECRET("no"), NEAP_HTTP_ANYBODY, forbid},
		{"GET", SECRET("slow"), NEAP_HTTP_ANYBODY, stay_silent},
		{0}};
	struct neap_error err;

	(void)base;
	if (neap_http_add_routes(http, routes, NULL, &err) < 0)
		exit(4);
}

static struct http_server plain, secret;
static char ca[96], token[96];

static int start(void **state)
{
	static char files[3][96];
	static const char *const names[][2] = {{"server.crt", "tls.crt"},
					       {"server.key", "tls.key"},
					       {"ca.crt", "c.crt"}};
	const struct neap_tls_config tls = {files[0], files[1], files[2], geteuid()};

	if (tls_rig_make(state) < 0)
		return -1;
	(void)chmod(tls_rig_dir, 0755);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		tls_copy(tls_rig_dir, names[i][0], names[i][1]);
		(void)snprintf(files[i], sizeof(files[i]), "%s/%s", tls_rig_dir,
			       names[i][1]);
	}
	(void)chmod(files[1], 0600);
	(void)snprintf(ca, sizeof(ca), "%s/ca.crt", tls_rig_dir);
	(void)snprintf(token, sizeof(token), "%s/token", tls_rig_dir);
	http_server_start(&plain, 0, add_routes);
	http_server_start_as(&secret, 0, add_routes, &(struct http_access){.tls = &tls});
	return 0;
}

static int stop(void **state)
{
	http_server_stop(&plain);
	http_server_stop(&secret);
	return tls_rig_remove(state);
}

static void write_token(const char *text)
{
	FILE *file = fopen(token, "w");

	assert_non_null(file);
	(void)fputs(text, file);
	assert_int_equal(fclose(file), 0);
	(void)chmod(token, 0644);
}

/* --- this side --- */

static struct neap_process *process;
static struct neap_role_remote remote;
static struct neap_role_prometheus role;

static struct {
	bool is_told;
	char text[64], why[768];
} answer;

static void told(void *arg, char *text, size_t len, const char *why)
{
	assert_ptr_equal(arg, &answer);
	assert_false(answer.is_told);
	answer.is_told = true;
	(void)snprintf(answer.text, sizeof(answer.text), "%s", text ? text : "");
	assert_int_equal(len, strlen(answer.text));
	(void)snprintf(answer.why, sizeof(answer.why), "%s", why ? why : "");
	free(text);
}

static int ready(void *arg, struct neap_error *err)
{
	(void)arg;
	(void)err;
	return 0;
}

static void lost(void *arg)
{
	(void)arg;
}

/* A kube-apiserver by plain HTTP. */
static void open_remote(void)
{
	static const struct neap_link_events events = {.ready = ready, .lost = lost};
	const struct neap_link_config link = {.name = "api server",
					      .uid = process->account.uid,
					      .gid = process->account.gid,
					      .jail = NEAP_JAIL_OFF,
					      .log = &process->log};
	struct neap_remote_target *target = neap_alloc(sizeof(*target));
	struct neap_error err = {0};

	target->server = neap_asprintf("http://127.0.0.1:%d", plain.port);
	target->source = neap_strdup("test");
	target->dial_host = neap_strdup("127.0.0.1");
	target->dial_port = (uint16_t)plain.port;
	if (neap_link_open(&link, target, &remote.link, &err) < 0 ||
	    neap_link_start(remote.link, process->base, &events, NULL, &err) < 0)
		fail_msg("%s", err.msg);
}

static int setup(void **state)
{
	(void)state;
	process = neap_alloc(sizeof(*process));
	process->base = event_base_new();
	process->log = (struct neap_log){.fd = -1, .program = "test"};
	process->account.uid = geteuid() == 0 ? NOBODY : geteuid();
	process->account.gid = geteuid() == 0 ? NOBODY : getegid();
	process->config.seccomp = NEAP_JAIL_OFF;
	process->config.roles = NEAP_ROLE_DESCHEDULER;
	remote = (struct neap_role_remote){0};
	role = (struct neap_role_prometheus){0};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	neap_role_prometheus_free(&role);
	neap_link_free(remote.link);
	event_base_free(process->base);
	free(process);
	return 0;
}

/* url: of the configuration; option: "" or the one of --prometheus. */
static void begin(const char *url, const char *option, const char *token_file)
{
	struct neap_config *config = &process->config;
	struct neap_error err = {0};

	(void)neap_strcopy(config->prometheus, sizeof(config->prometheus), option);
	(void)neap_strcopy(config->prometheus_ca, sizeof(config->prometheus_ca), ca);
	(void)neap_strcopy(config->prometheus_token, sizeof(config->prometheus_token),
			   token_file);
	if (neap_role_prometheus_open(&role, process, url, &err) < 0 ||
	    neap_role_prometheus_start(&role, &remote, &err) < 0)
		fail_msg("%s", err.msg);
}

static void query(const char *url, const char *secret_name)
{
	const struct neap_deschedule_prometheus from = {.url = url,
							.secret_ns =
								secret_name ? "m" : NULL,
							.secret_name = secret_name};

	memset(&answer, 0, sizeof(answer));
	neap_role_prometheus_query(&role, &from, "up", told, &answer);
}

static void ask(const char *url, const char *secret_name)
{
	query(url, secret_name);
	if (!comes_true_in(process->base, answer.is_told))
		fail_msg("nothing came");
}

static void is_good(void)
{
	if (strcmp(answer.text, "{}") != 0)
		fail_msg("%s", answer.why);
}

static void is_bad(const char *why)
{
	if (*answer.text || !strstr(answer.why, why))
		fail_msg("%s", answer.why);
}

static const char *url_of(const struct http_server *server, const char *path)
{
	static char url[128];

	(void)snprintf(url, sizeof(url), "%s://127.0.0.1:%d%s",
		       server == &secret ? "https" : "http", server->port, path);
	return url;
}

/* --- which one is asked --- */

static void test_nobody(void **state)
{
	(void)state;
	begin(NULL, "", "");
	ask(NULL, NULL);
	is_bad("no server is named: start neapd with --prometheus URL");
	ask("http://later:9090", NULL);
	is_bad("start it with --prometheus http://later:9090");
	ask("http://me:secret@later:9090", NULL);
	is_bad("the one of the configuration was not known when neapd started: start it "
	       "with --prometheus URL");
	assert_null(role.link);
}

static void test_configured(void **state)
{
	neap_auto_free char *url = neap_strdup(url_of(&plain, "/open"));
	char longer[160];

	(void)state;
	begin(url, "", "");
	ask(url, NULL);
	is_good();
	(void)snprintf(longer, sizeof(longer), "%s//", url);
	ask(longer, NULL);
	is_good();
	/* As under a DeschedulerConfiguration, which names none. */
	ask(NULL, NULL);
	is_good();
	(void)snprintf(longer, sizeof(longer), "%s/more", url);
	ask(longer, NULL);
	is_bad("start neapd with --prometheus");
	is_bad("/more");
	(void)snprintf(longer, sizeof(longer), "%.*s", (int)strlen(url) - 1, url);
	ask(longer, NULL);
	is_bad("and the configuration now names");
	ask("http://127.0.0.1:1", NULL);
	is_bad("and the configuration now names http://127.0.0.1:1");
	ask("http://me:secret@127.0.0.1:1", NULL);
	is_bad("now names another one: start neapd with --prometheus URL");
}

static void test_option(void **state)
{
	neap_auto_free char *url = neap_strdup(url_of(&plain, "/open"));

	(void)state;
	begin("http://127.0.0.1:1", url, "");
	ask("http://127.0.0.1:1", NULL);
	is_good();
	ask(NULL, NULL);
	is_good();
}

/* --- tokens --- */

static void test_token_file(void **state)
{
	(void)state;
	write_token("secret\n");
	begin(NULL, url_of(&secret, ""), token);
	ask(NULL, NULL);
	is_good();
	/* The file goes before a Secret, which is not read. */
	ask(NULL, "no");
	is_good();
	/* Another token: what the server refuses is read again. */
	write_token("old\n");
	neap_link_reread(role.link);
	for (int i = 0; i < PATIENCE_MS && !answer.why[0]; i += 20) {
		(void)usleep(20000);
		ask(NULL, NULL);
	}
	is_bad("HTTP status 401");
	write_token("secret");
	for (int i = 0; i < PATIENCE_MS && answer.why[0]; i += 20) {
		(void)usleep(20000);
		ask(NULL, NULL);
	}
	is_good();
}

static const struct {
	const char *name, *why;
} secrets[] = {
	{"other", "Secret m/other: it has no data prometheusAuthToken (or use "},
	{"lines", "Secret m/lines: its prometheusAuthToken is not a token"},
	{"broken", "Secret m/broken: "},
	{"no", "Secret m/no: secrets \"no\" is forbidden"},
	{"none", "Secret m/none: "},
	{"..", "Secret m/..: that cannot be a name"},
	{"a/b", "Secret m/a/b: that cannot be a name"},
};

static void test_secret(void **state)
{
	(void)state;
	open_remote();
	begin(NULL, url_of(&secret, ""), "");
	/* Without one nobody is known; with the good one, once. */
	ask(NULL, NULL);
	is_bad("HTTP status 401");
	ask(NULL, "good");
	is_good();
	ask(NULL, NULL);
	is_bad("HTTP status 401");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(secrets); i++) {
		ask(NULL, secrets[i].name);
		is_bad(secrets[i].why);
	}
}

static void test_secret_plain(void **state)
{
	(void)state;
	open_remote();
	begin(NULL, url_of(&plain, "/open"), "");
	ask(NULL, "good");
	is_bad("a token goes over https:// alone");
}

static void test_no_cluster(void **state)
{
	(void)state;
	begin(NULL, url_of(&secret, ""), "");
	ask(NULL, "good");
	is_bad("this neapd keeps no Secrets (or use --prometheus-token)");
}

/* What is asked before the credentials were read waits for them. */
static void test_early(void **state)
{
	(void)state;
	write_token("secret\n");
	begin(NULL, url_of(&secret, ""), token);
	assert_false(role.is_ready);
	ask(NULL, NULL);
	is_good();
	assert_true(role.is_ready);
}

/* Whoever waits for an answer is told of the end. */
static void test_end(void **state)
{
	(void)state;
	open_remote();
	begin(NULL, url_of(&secret, ""), "");
	query(NULL, "slow");
	for (int i = 0; i < 20; i++) {
		(void)event_base_loop(process->base, EVLOOP_NONBLOCK);
		(void)usleep(5000);
	}
	assert_false(answer.is_told);
	neap_role_prometheus_free(&role);
	assert_true(answer.is_told);
	is_bad("neapd is ending");
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		ROW(test_nobody), ROW(test_configured),   ROW(test_option),
		ROW(test_secret), ROW(test_secret_plain), ROW(test_no_cluster),
		ROW(test_early),  ROW(test_token_file),   ROW(test_end),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, start, stop);
}
