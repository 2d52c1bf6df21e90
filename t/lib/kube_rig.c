/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/kube_rig.h"
#include "t/lib/patience.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/http/users/grants.h"
#include "api/http/users/tokens.h"
#include "api/kube/base/registry.h"
#include "api/kube/serve/client_local.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

#define ANSWER_MAX ((size_t)64 * 1024 * 1024)
/* Longer than the delays of controllers, but for those after failures. */
#define REST_TURNS   24
#define REST_TURN_MS 5

int64_t kube_version;
int64_t kube_now = INT64_C(1790000000) * 1000000;

static int64_t rig_now(void)
{
	return kube_now;
}

static int64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- the server --- */

static void hear(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	neap_store_hear(arg);
}

static void start_kinds(struct kube_rig *rig)
{
	static const struct neap_kube_kind *const *const tables[] = {
		neap_kube_core_kinds, neap_kube_apps_kinds, neap_kube_other_kinds};
	struct neap_error err = {0};

	rig->registry = neap_kube_registry_new();
	assert_non_null(rig->registry);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(tables); i++)
		if (neap_kube_registry_add_all(rig->registry, tables[i], &err) < 0)
			fail_msg("%s", err.msg);
}

static void start_http(struct kube_rig *rig, const char *listen)
{
	static const struct neap_grants grants = {
		{{NEAP_HTTP_READER, NEAP_GRANT_USER, 0, "rose"},
		 {NEAP_HTTP_EDITOR, NEAP_GRANT_GROUP, 0, "dev"},
		 {NEAP_HTTP_NODE, NEAP_GRANT_GROUP, 0, "system:nodes"}},
		3};
	struct neap_http_config config = {
		.token = "secret", .own_uid = geteuid(), .grants = &grants};
	char tokens[] = KUBE_TOKENS;
	struct neap_error err = {0};
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);

	(void)snprintf(rig->path, sizeof(rig->path), "%s/sock", rig->store.dir);
	if (neap_http_bind_tcp(listen, &config.tcp_fd, &err) < 0 ||
	    neap_http_bind_unix(rig->path, &config.unix_fd, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(getsockname(config.tcp_fd, (struct sockaddr *)&addr, &len), 0);
	rig->port = ntohs(addr.sin_port);
	if (neap_tokens_parse(tokens, strlen(tokens), "tokens", &rig->tokens, &err) < 0)
		fail_msg("%s", err.msg);
	config.tokens = rig->tokens;
	if (neap_http_new(rig->base, &config, &rig->http, &err) < 0 ||
	    neap_kube_serve(rig->kube, rig->http, &err) < 0)
		fail_msg("%s", err.msg);
}

struct kube_rig *kube_rig_start_with(const char *listen, const char *folder,
				     size_t history_bytes)
{
	struct kube_rig *rig = neap_alloc(sizeof(*rig));
	struct neap_kube_config config = {.now = rig_now};
	struct neap_kube_declared_folder files = {.fd = -1};
	struct neap_kube_declared_config declared = {.folder = folder != NULL ? &files
									      : NULL};
	struct neap_error err = {0};

	(void)signal(SIGPIPE, SIG_IGN); /* as neapd has it: clients go at any time */
	assert_non_null(rig);
	neap_json_setup();
	rig->fd = -1;
	store_rig_init(&rig->store);
	rig->store.config.history_bytes = history_bytes;
	store_rig_open(&rig->store);
	rig->base = neap_http_base_new();
	assert_non_null(rig->base);
	start_kinds(rig);
	config.base = rig->base;
	config.store = rig->store.store;
	config.registry = rig->registry;
	if (neap_kube_new(&config, &rig->kube, &err) < 0 ||
	    neap_kube_collect_new(rig->kube, &rig->collect, &err) < 0)
		fail_msg("%s", err.msg);
	rig->client = neap_kube_client(rig->kube);
	declared.kube = rig->kube;
	if (folder != NULL && neap_kube_declared_folder_open(&files, folder, &err) < 0)
		fail_msg("%s", err.msg);
	if (neap_kube_declared_new(&declared, &rig->declared, &err) < 0)
		fail_msg("%s", err.msg);
	neap_kube_declared_folder_close(&files);
	start_http(rig, listen);
	rig->heard = event_new(rig->base, neap_store_fd(rig->store.store),
			       EV_READ | EV_PERSIST, hear, rig->store.store);
	assert_non_null(rig->heard);
	assert_int_equal(event_add(rig->heard, NULL), 0);
	kube_version = neap_store_version(rig->store.store);
	return rig;
}

int kube_rig_setup(void **state)
{
	struct kube_rig *rig = kube_rig_start("127.0.0.1:0", KUBE_CRDS);
	int status = kube_ask(rig, "POST /api/v1/namespaces",
			      "{'metadata':{'name':'default'}}");

	if (status != 201)
		fail_msg("namespace default: %d %s", status,
			 kube_text(rig->body, "message"));
	*state = rig;
	return 0;
}

void kube_rig_stop_kube(struct kube_rig *rig)
{
	neap_kube_collect_free(rig->collect);
	neap_kube_declared_free(rig->declared);
	neap_kube_free(rig->kube);
	rig->collect = NULL;
	rig->declared = NULL;
	rig->kube = NULL;
	rig->client = NULL;
}

int kube_rig_teardown(void **state)
{
	struct kube_rig *rig = *state;

	if (rig->fd >= 0)
		(void)close(rig->fd);
	json_decref(rig->body);
	kube_run(rig, 5); /* the server sees that its clients went */
	kube_rig_stop_kube(rig);
	neap_http_free(rig->http);
	neap_tokens_unref(rig->tokens);
	event_free(rig->heard);
	(void)unlink(rig->path);
	store_rig_done(&rig->store);
	event_base_free(rig->base);
	neap_kube_registry_free(rig->registry);
	free(rig);
	return 0;
}

/* --- the client --- */

static void turn(struct kube_rig *rig, int fd, int ms)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	assert_true(event_base_loop(rig->base, EVLOOP_NONBLOCK) >= 0);
	(void)poll(&ready, 1, ms);
}

void kube_run(struct kube_rig *rig, int ms)
{
	int64_t end = now_ms() + ms;

	for (int turns = 0; turns < ms / 2 || now_ms() < end; turns++)
		turn(rig, -1, 1);
}

static int dial_tcp(const struct kube_rig *rig)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_port = htons((uint16_t)rig->port),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

void kube_as(struct kube_rig *rig, const char *token)
{
	if (rig->fd >= 0)
		(void)close(rig->fd);
	rig->fd = -1;
	rig->token = token;
}

static int dial(const struct kube_rig *rig)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	assert_true(neap_strcopy(addr.sun_path, sizeof(addr.sun_path), rig->path));
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static void say(struct kube_rig *rig, int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n > 0) {
			text += n;
			len -= (size_t)n;
		} else if (errno != EAGAIN) {
			return; /* a refusing server closes early */
		} else {
			assert_true(event_base_loop(rig->base, EVLOOP_NONBLOCK) >= 0);
		}
	}
}

/* False at the end of the connection, or after ms. */
static bool hear_more(struct kube_rig *rig, int fd, struct neap_buf *to, int ms)
{
	int64_t end = now_ms() + ms;

	for (;;) {
		char piece[65536];
		ssize_t n = recv(fd, piece, sizeof(piece), 0);

		if (n > 0) {
			neap_buf_add(to, piece, (size_t)n);
			assert_false(neap_buf_failed(to));
			return true;
		}
		if (n == 0 || errno != EAGAIN || now_ms() >= end)
			return false;
		turn(rig, fd, 1);
	}
}

static int read_answer(struct kube_rig *rig, bool *ret_closes)
{
	neap_auto_buf struct neap_buf in = {0};
	const char *end = NULL, *field;
	size_t want = 0;
	json_error_t where;
	int status = 0;

	neap_buf_init(&in, ANSWER_MAX);
	while (end == NULL || in.len < want) {
		if (!hear_more(rig, rig->fd, &in, PATIENCE_MS))
			return 0;
		end = strstr(in.data, "\r\n\r\n");
		if (end == NULL)
			continue;
		field = strcasestr(in.data, "Content-Length: ");
		want = (size_t)(end + 4 - in.data) +
		       (field != NULL && field < end ? strtoul(field + 16, NULL, 10) : 0);
	}
	(void)snprintf(rig->head, sizeof(rig->head), "%.*s", (int)(end - in.data),
		       in.data);
	*ret_closes = strcasestr(rig->head, "Connection: close") != NULL;
	assert_int_equal(sscanf(rig->head, "HTTP/1.%*c %d", &status), 1);
	json_decref(rig->body); /* of an answer that was not asked for in between */
	rig->body = NULL;
	(void)neap_json_parse(end + 4, in.len - (size_t)(end + 4 - in.data),
			      JSON_DECODE_ANY, &rig->body, &where);
	return status;
}

static const struct {
	const char *method, *type;
} patches[] = {
	{"MERGE ", "application/merge-patch+json"},
	{"STRATEGIC ", "application/strategic-merge-patch+json"},
	{"JSON ", "application/json-patch+json"},
	{"APPLY ", "application/apply-patch+yaml"},
};

static void send_with(struct kube_rig *rig, const char *ask, const char *headers,
		      const char *body, size_t len)
{
	neap_auto_buf struct neap_buf out = {0};
	const char *method = ask, *path = strchr(ask, ' ') + 1, *type = NULL;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(patches); i++)
		if (strncmp(ask, patches[i].method, strlen(patches[i].method)) == 0) {
			method = "PATCH ";
			type = patches[i].type;
		}
	neap_buf_init(&out, ANSWER_MAX);
	neap_buf_addf(&out, "%.*s %s HTTP/1.1\r\nHost: x\r\n%s",
		      (int)(strchr(method, ' ') - method), method, path, headers);
	if (rig->token != NULL && *rig->token != '\0')
		neap_buf_addf(&out, "Authorization: Bearer %s\r\n", rig->token);
	if (type != NULL)
		neap_buf_addf(&out, "Content-Type: %s\r\n", type);
	if (body != NULL)
		neap_buf_addf(&out, "Content-Length: %zu\r\n", len);
	neap_buf_adds(&out, "\r\n");
	if (body != NULL)
		neap_buf_add(&out, body, len);
	json_decref(rig->body);
	rig->body = NULL;
	if (rig->fd < 0)
		rig->fd = rig->token != NULL ? dial_tcp(rig) : dial(rig);
	say(rig, rig->fd, out.data, out.len);
}

int kube_receive(struct kube_rig *rig)
{
	bool closes = false;
	int status = read_answer(rig, &closes);

	if (closes || status == 0) {
		(void)close(rig->fd);
		rig->fd = -1;
	}
	return status;
}

int kube_ask_with(struct kube_rig *rig, const char *ask, const char *headers,
		  const char *body, size_t len)
{
	send_with(rig, ask, headers, body, len);
	return kube_receive(rig);
}

/* The same for whom a Binding or an Eviction without metadata is meant. */
static size_t add_name(const char *ask, const char *body, struct neap_buf *text)
{
	const char *end = strstr(ask, "/binding"), *name;

	if (end == NULL)
		end = strstr(ask, "/eviction");
	if (end == NULL || body == NULL || *body != '{' || strstr(body, "'metadata'"))
		return 0;
	for (name = end; name > ask && name[-1] != '/'; name--)
		;
	if (strncmp(name, "default", 7) == 0)
		return 0; /* POST namespaces/default/bindings */
	neap_buf_addf(text, "{\"metadata\":{\"name\":\"%.*s\"}%s", (int)(end - name),
		      name, body[1] == '}' ? "" : ",");
	return 1;
}

/* Puts what it is before a whole object of a declared kind that does not begin with it,
 * as rows of tables leave it out. Returns how much of body is in text then. */
static size_t add_type(struct kube_rig *rig, const char *ask, const char *body,
		       struct neap_buf *text)
{
	struct neap_kube_target target;
	const char *path = strstr(ask, " /apis/");
	char rest[512];

	if (body == NULL || *body != '{' || strncmp(body, "{'kind'", 7) == 0 ||
	    strncmp(body, "{'apiVersion'", 13) == 0 || path == NULL ||
	    (strncmp(ask, "POST ", 5) != 0 && strncmp(ask, "PUT ", 4) != 0))
		return 0;
	path += strlen(" /apis/");
	(void)snprintf(rest, sizeof(rest), "%.*s", (int)strcspn(path, "?"), path);
	if (neap_kube_target_parse(rig->registry, false, rest, &target, NULL) < 0 ||
	    target.kind == NULL || !target.kind->is_custom ||
	    strcmp(target.sub, "scale") == 0)
		return 0;
	neap_buf_addf(text, "{\"kind\":\"%s\",\"apiVersion\":\"%s/%s\"%s",
		      target.kind->kind, target.group, target.version,
		      body[1] == '}' ? "" : ",");
	return 1;
}

void kube_send(struct kube_rig *rig, const char *ask, const char *body)
{
	neap_auto_buf struct neap_buf text = {0};
	size_t done;

	neap_buf_init(&text, ANSWER_MAX);
	done = add_type(rig, ask, body, &text);
	if (done == 0)
		done = add_name(ask, body, &text);
	body = body != NULL ? body + done : NULL;
	for (const char *at = body; at != NULL && *at != '\0'; at++) {
		if (at[0] == '\'' && at[1] == '@' && at[2] >= '0' && at[2] <= '9') {
			char *end;
			long offset = strtol(at + 2, &end, 10);

			neap_buf_addf(&text, "\"%lld", (long long)kube_version + offset);
			at = end - 1;
		} else {
			neap_buf_addc(&text, *at == '\'' ? '"' : *at);
		}
	}
	send_with(rig, ask, "", body != NULL ? text.data : NULL, text.len);
}

int kube_ask(struct kube_rig *rig, const char *ask, const char *body)
{
	kube_send(rig, ask, body);
	return kube_receive(rig);
}

/* A disk may take longer than any time of quiet: a change that changes nothing is
 * answered after all that was written before it. */
static void wait_for_disk(struct kube_rig *rig)
{
	assert_int_equal(kube_ask(rig, "MERGE /api/v1/namespaces/default", "{}"), 200);
}

/* Turns are counted, not only time, for a machine that has no time for the test. */
bool kube_is_at_rest(struct kube_rig *rig)
{
	struct neap_store *store = rig->store.store;
	int64_t version = neap_store_version(store);

	wait_for_disk(rig);
	for (int i = 0; i < REST_TURNS && neap_store_version(store) == version; i++)
		kube_run(rig, REST_TURN_MS);
	wait_for_disk(rig);
	return neap_store_version(store) == version;
}

/* --- steps --- */

const char *kube_try(struct kube_rig *rig, const struct kube_step *step)
{
	static char why[4600];
	int status = kube_ask(rig, step->ask, step->body);
	const char *fault = NULL;
	char *text;

	for (int i = 0; i < KUBE_WANTS && step->want[i] != NULL && fault == NULL; i++)
		fault = kube_differs(rig->body, step->want[i]);
	if (status == step->status && fault == NULL)
		return NULL;
	text = rig->body ? json_dumps(rig->body, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	(void)snprintf(why, sizeof(why), "%s: %d, wanted %d: %.4000s", step->ask, status,
		       step->status,
		       fault != NULL ? fault
		       : text        ? text
				     : "");
	free(text);
	return why;
}

void kube_steps(struct kube_rig *rig, const struct kube_step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *why = kube_try(rig, &steps[i]);

		if (why != NULL)
			fail_msg("step %zu: %s", i + 1, why);
	}
}

void kube_until(struct kube_rig *rig, const struct kube_step *step)
{
	int64_t end = now_ms() + PATIENCE_MS;
	const char *why;

	while ((why = kube_try(rig, step)) != NULL) {
		if (now_ms() > end)
			fail_msg("%s", why);
		kube_run(rig, 5);
	}
}

/* --- watches --- */

void kube_watch_open(struct kube_rig *rig, struct kube_watch *watch, const char *query)
{
	char text[4096];
	const char *end;
	int len =
		snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", query);

	memset(watch, 0, sizeof(*watch));
	watch->rig = rig;
	watch->fd = dial(rig);
	neap_buf_init(&watch->raw, ANSWER_MAX);
	neap_buf_init(&watch->text, ANSWER_MAX);
	say(rig, watch->fd, text, (size_t)len);
	do {
		if (!hear_more(rig, watch->fd, &watch->raw, PATIENCE_MS))
			fail_msg("%s: no answer", query);
		end = strstr(watch->raw.data, "\r\n\r\n");
	} while (end == NULL);
	assert_int_equal(sscanf(watch->raw.data, "HTTP/1.%*c %d", &watch->status), 1);
	watch->raw_at = (size_t)(end + 4 - watch->raw.data);
}

/* Takes whole chunks out of what came. */
static void unchunk(struct kube_watch *watch)
{
	for (;;) {
		const char *at = watch->raw.data + watch->raw_at;
		const char *line = strstr(at, "\r\n");
		size_t size;

		if (line == NULL)
			return;
		size = strtoul(at, NULL, 16);
		if (size == 0)
			watch->is_ended = true;
		if (size == 0 ||
		    watch->raw.len < (size_t)(line + 4 - watch->raw.data) + size)
			return;
		neap_buf_add(&watch->text, line + 2, size);
		watch->raw_at = (size_t)(line + 4 - watch->raw.data) + size;
	}
}

const json_t *kube_watch_next(struct kube_watch *watch, int ms)
{
	json_error_t where;

	json_decref(watch->frame);
	watch->frame = NULL;
	unchunk(watch);
	for (;;) {
		const char *line = watch->text.data + watch->text_at;
		const char *end = memchr(line, '\n', watch->text.len - watch->text_at);

		if (end != NULL) {
			watch->text_at = (size_t)(end + 1 - watch->text.data);
			if (neap_json_parse(line, (size_t)(end - line), 0, &watch->frame,
					    &where) < 0)
				fail_msg("frame: %s", where.text);
			return watch->frame;
		}
		if (watch->is_ended)
			return NULL;
		if (!hear_more(watch->rig, watch->fd, &watch->raw, ms))
			return NULL;
		unchunk(watch);
	}
}

void kube_watch_wants(struct kube_watch *watch, const char *want)
{
	bool is_none = strcmp(want, "-") == 0, is_end = strcmp(want, "end") == 0;
	const json_t *frame = kube_watch_next(watch, is_none ? 50 : PATIENCE_MS);
	char text[512];

	if (frame == NULL)
		(void)snprintf(text, sizeof(text), "%s", watch->is_ended ? "end" : "-");
	else
		(void)snprintf(text, sizeof(text), "%s %s", kube_text(frame, "type"),
			       kube_text(frame, "object.metadata.name"));
	(void)is_end;
	assert_string_equal(text, want);
}

void kube_watch_close(struct kube_watch *watch)
{
	(void)close(watch->fd);
	neap_buf_done(&watch->raw);
	neap_buf_done(&watch->text);
	json_decref(watch->frame);
	kube_run(watch->rig, 2);
}
