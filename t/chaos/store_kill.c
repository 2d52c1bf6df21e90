/* SPDX-License-Identifier: Apache-2.0
 *
 * Kills an API server repeatedly while writers create, update and delete ConfigMaps
 * through its unix socket and watchers follow, and compares the outcome with the answers.
 * Each writer has its own names and one request in progress; writes are numbered. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/json/json.h"
#include "t/chaos/lib/store_client.h"

#define WRITERS  6
#define NAMES    8 /* of a writer */
#define ALL      (WRITERS * NAMES)
#define WATCHERS 3

static const char help[] =
	"usage: store_kill DIR KILLS SEED COMMAND...\n"
	"Runs COMMAND, which serves on DIR/sock, and kills it that often. Says what it saw, and\n"
	"ends with 1 at the first thing that must not be.\n";

/* By name the number of the last write, 0 for nothing; and how many there were. */
struct name {
	int n, writes;
};

struct writer {
	int fd;
	struct neap_buf in;
	int name; /* of the request under way, -1 none */
	int n;    /* what it makes */
};

struct watcher {
	int fd;
	struct neap_buf in, text; /* as it came; without the chunks */
	size_t at, text_at;
	bool is_open;  /* the answer has begun */
	bool is_known; /* the world is that of version */
	bool is_gone;  /* was told that it comes too late */
	int64_t version;
	struct name names[ALL];
};

struct world {
	char socket[100];
	char **command;
	uint32_t seed;
	pid_t pid;
	struct name names[ALL]; /* of what was answered */
	int64_t version;        /* the newest that anybody was shown */
	struct writer writers[WRITERS];
	struct watcher watchers[WATCHERS];
	size_t answered, kept, lost, resumed, gone, events, reconnects, starts_killed;
};

static uint32_t draw(struct world *world, uint32_t below)
{
	world->seed = world->seed * 1664525 + 1013904223;
	return (world->seed >> 8) % below;
}

static int64_t now_usec(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* --- objects --- */

static void pad_of(int n, char *pad, size_t size)
{
	size_t len = (size_t)(n * 197) % size, i;

	for (i = 0; i < len; i++)
		pad[i] = (char)('a' + (i + (size_t)n * 5) % 26);
	pad[len] = '\0';
}

static void body_of(int name, int n, struct neap_buf *body)
{
	char pad[6000];

	pad_of(n, pad, sizeof(pad));
	neap_buf_addf(body,
		      "{\"metadata\":{\"name\":\"c-%d\",\"namespace\":\"default\"},"
		      "\"data\":{\"n\":\"%d\",\"pad\":\"%s\"}}",
		      name, n, pad);
}

/* The index of its name; the number must match its other content. -1: not ours. */
static int read_object(const json_t *object, int *ret_n)
{
	const json_t *data = json_object_get(object, "data");
	const char *text = json_string_value(
		json_object_get(json_object_get(object, "metadata"), "name"));
	const char *n = json_string_value(json_object_get(data, "n"));
	const char *pad = json_string_value(json_object_get(data, "pad"));
	char wanted[6000];
	int name;

	if (text == NULL || sscanf(text, "c-%d", &name) != 1)
		return -1;
	if (name < 0 || name >= ALL || n == NULL || pad == NULL) {
		store_client_wrong("an object that nobody wrote: %s", text);
		return -1;
	}
	*ret_n = (int)strtol(n, NULL, 10);
	pad_of(*ret_n, wanted, sizeof(wanted));
	if (strcmp(pad, wanted) != 0)
		store_client_wrong("%s is half there", text);
	return name;
}

static void seen(struct world *world, int64_t version)
{
	if (version > world->version)
		world->version = version;
}

/* --- writers --- */

static void writer_end(struct writer *writer)
{
	if (writer->fd >= 0)
		(void)close(writer->fd);
	writer->fd = -1;
	neap_buf_done(&writer->in);
	neap_buf_init(&writer->in, STORE_CLIENT_MAX);
}

static void writer_ask(struct world *world, struct writer *writer)
{
	int name = (int)(writer - world->writers) * NAMES + (int)draw(world, NAMES);
	const struct name *now = &world->names[name];
	neap_auto_buf struct neap_buf body = {0};
	char path[96];
	bool is_delete = now->n != 0 && draw(world, 4) == 0;
	int len = snprintf(path, sizeof(path), "/api/v1/namespaces/default/configmaps");

	if (now->n != 0)
		(void)snprintf(path + len, sizeof(path) - (size_t)len, "/c-%d", name);
	writer->name = name;
	writer->n = is_delete ? 0 : now->writes + 1;
	neap_buf_init(&body, STORE_CLIENT_MAX);
	if (!is_delete)
		body_of(name, writer->n, &body);
	else
		neap_buf_add(&body, "{}", 2);
	/* One that cannot be sent is one without an answer. */
	(void)store_client_ask(writer->fd,
			       is_delete     ? "DELETE"
			       : now->n != 0 ? "PUT"
					     : "POST",
			       path, body.data);
}

static void writer_hear(struct world *world, struct writer *writer)
{
	const char *body;
	size_t len;
	int status = store_client_whole(&writer->in, &body, &len);
	struct name *name = &world->names[writer->name];
	json_t *answer;
	int64_t version;

	if (status == 0)
		return;
	if (status != 200 && status != 201)
		store_client_wrong("c-%d: %d %.*s", writer->name, status, (int)len, body);
	answer = store_client_parse(body, len);
	version = store_client_version(answer);
	json_decref(answer);
	/* A deletion may be answered by a Status, without a version. */
	if (writer->n != 0 && version <= 0)
		store_client_wrong("c-%d: an answer without a version", writer->name);
	seen(world, version);
	name->writes++;
	name->n = writer->n;
	writer->name = -1;
	world->answered++;
	neap_buf_clear(&writer->in);
}

/* --- watchers --- */

static void watcher_end(struct watcher *watcher)
{
	if (watcher->fd >= 0)
		(void)close(watcher->fd);
	watcher->fd = -1;
	watcher->at = watcher->text_at = 0;
	watcher->is_open = false;
	neap_buf_done(&watcher->text);
	neap_buf_init(&watcher->text, STORE_CLIENT_MAX);
	neap_buf_done(&watcher->in);
	neap_buf_init(&watcher->in, STORE_CLIENT_MAX);
}

static bool watcher_start(struct world *world, struct watcher *watcher)
{
	char path[160];

	watcher_end(watcher);
	watcher->fd = store_client_dial(world->socket);
	(void)snprintf(
		path, sizeof(path),
		"/api/v1/configmaps?watch=1&allowWatchBookmarks=false&resourceVersion=%lld",
		(long long)watcher->version);
	return watcher->fd >= 0 && store_client_ask(watcher->fd, "GET", path, "");
}

/* Each write is told once, in its order, as what it is. */
static void watcher_take(struct world *world, struct watcher *watcher,
			 const json_t *event)
{
	const char *type = json_string_value(json_object_get(event, "type"));
	const json_t *object = json_object_get(event, "object");
	int64_t version = store_client_version(object);
	struct name *at;
	int n = 0, name;
	bool is_delete;

	if (type == NULL) {
		store_client_wrong("an event without a type");
		return;
	}
	if (strcmp(type, "ERROR") == 0) {
		if (json_integer_value(json_object_get(object, "code")) != 410)
			store_client_wrong("a watch ends with another error than 410");
		watcher->is_gone = true;
		return;
	}
	name = read_object(object, &n);
	if (version <= watcher->version)
		store_client_wrong("version %lld after %lld", (long long)version,
				   (long long)watcher->version);
	watcher->version = version;
	seen(world, version);
	world->events++;
	if (name < 0)
		return;
	at = &watcher->names[name];
	is_delete = strcmp(type, "DELETED") == 0;
	if ((strcmp(type, "ADDED") == 0) != (at->n == 0))
		store_client_wrong("c-%d: %s, and it %s", name, type,
				   at->n == 0 ? "was not there" : "was there");
	if (is_delete ? n != at->n : n != at->writes + 1)
		store_client_wrong("c-%d: %s with %d after %d", name, type, n,
				   at->writes);
	at->writes++;
	at->n = is_delete ? 0 : n;
}

/* What the chunks hold, as far as they are whole. */
static void watcher_unchunk(struct watcher *watcher)
{
	while (watcher->in.len > watcher->at) {
		const char *from = watcher->in.data + watcher->at;
		const char *end = strstr(from, "\r\n");
		size_t len = end != NULL ? strtoul(from, NULL, 16) : 0, head;

		if (len == 0)
			return;
		head = (size_t)(end + 2 - watcher->in.data);
		if (watcher->in.len < head + len + 2)
			return;
		neap_buf_add(&watcher->text, end + 2, len);
		watcher->at = head + len + 2;
	}
}

static void watcher_open(struct watcher *watcher)
{
	const char *end =
		watcher->in.len > 0 ? strstr(watcher->in.data, "\r\n\r\n") : NULL;

	if (end == NULL)
		return;
	watcher->is_gone = strncmp(watcher->in.data, "HTTP/1.1 410", 12) == 0;
	if (!watcher->is_gone && strncmp(watcher->in.data, "HTTP/1.1 200", 12) != 0)
		store_client_wrong("a watch is answered %.12s", watcher->in.data);
	watcher->at = (size_t)(end + 4 - watcher->in.data);
	watcher->is_open = !watcher->is_gone;
}

static void watcher_hear(struct world *world, struct watcher *watcher)
{
	const char *line, *end;

	if (!watcher->is_open)
		watcher_open(watcher);
	if (!watcher->is_open)
		return;
	watcher_unchunk(watcher);
	while (!watcher->is_gone && watcher->text.len > watcher->text_at) {
		json_t *event;

		line = watcher->text.data + watcher->text_at;
		end = strchr(line, '\n');
		if (end == NULL)
			return;
		event = store_client_parse(line, (size_t)(end - line));
		watcher_take(world, watcher, event);
		json_decref(event);
		watcher->text_at = (size_t)(end + 1 - watcher->text.data);
	}
}

/* --- the state --- */

struct state {
	int64_t version;
	struct name names[ALL]; /* n alone */
	int64_t versions[ALL];
};

static void state_read(struct world *world, struct state *state)
{
	json_t *list, *item;
	size_t i, j;
	int n = 0;

	memset(state, 0, sizeof(*state));
	if (store_client_ask_whole(world->socket, "GET", "/api/v1/configmaps", "",
				   &list) != 200)
		store_client_wrong("the list is refused");
	state->version = store_client_version(list);
	json_array_foreach (json_object_get(list, "items"), i, item) {
		int name = read_object(item, &n);

		if (name < 0)
			continue;
		if (state->names[name].n != 0)
			store_client_wrong("c-%d is there twice", name);
		state->names[name].n = n;
		state->versions[name] = store_client_version(item);
		for (j = 0; j < ALL; j++)
			if ((int)j != name && state->versions[j] == state->versions[name])
				store_client_wrong("two objects of one version");
		if (state->versions[name] > state->version)
			store_client_wrong("c-%d is newer than its list", name);
	}
	json_decref(list);
}

/* What was answered is there; what was not, is there or is not. */
static void check_state(struct world *world, const struct state *state)
{
	size_t i;

	if (state->version < world->version)
		store_client_wrong("the store is at %lld, somebody saw %lld",
				   (long long)state->version, (long long)world->version);
	for (i = 0; i < WRITERS; i++) {
		struct writer *writer = &world->writers[i];
		struct name *name;

		if (writer->name < 0)
			continue;
		name = &world->names[writer->name];
		if (state->names[writer->name].n == writer->n) {
			name->writes++;
			name->n = writer->n;
			world->kept++;
		} else {
			world->lost++;
		}
		writer->name = -1;
	}
	for (i = 0; i < ALL; i++)
		if (state->names[i].n != world->names[i].n)
			store_client_wrong("c-%zu is %d, and was answered as %d", i,
					   state->names[i].n, world->names[i].n);
	seen(world, state->version);
}

/* Nothing is written now: each watcher gets to the state, or has to begin anew. */
static void check_watcher(struct world *world, struct watcher *watcher,
			  const struct state *state)
{
	int64_t end = now_usec() + STORE_CLIENT_READY_MS * INT64_C(1000);
	bool is_behind = watcher->version < state->version;

	if (watcher->is_known && !watcher_start(world, watcher))
		store_client_wrong("the server went by itself");
	while (watcher->is_known && !watcher->is_gone &&
	       memcmp(watcher->names, world->names, sizeof(world->names)) != 0) {
		if (now_usec() > end)
			store_client_wrong("a watcher is not told what it missed");
		store_client_wait(watcher->fd);
		(void)store_client_take(watcher->fd, &watcher->in);
		watcher_hear(world, watcher);
	}
	world->resumed += watcher->is_known && !watcher->is_gone;
	world->gone += watcher->is_gone;
	if (watcher->is_gone && !is_behind)
		store_client_wrong(
			"a watcher that had seen everything has to begin anew");
	if (watcher->is_known && !watcher->is_gone)
		return;
	watcher->is_known = true;
	watcher->is_gone = false;
	watcher->version = state->version;
	memcpy(watcher->names, world->names, sizeof(world->names));
	if (!watcher_start(world, watcher))
		store_client_wrong("the server went by itself");
}

/* --- the server --- */

static void server_start(struct world *world)
{
	world->pid = fork();
	if (world->pid < 0)
		store_client_wrong("fork: %s", strerror(errno));
	store_client_server = world->pid;
	if (world->pid > 0)
		return;
	(void)execvp(world->command[0], world->command);
	(void)fprintf(stderr, "%s: %s\n", world->command[0], strerror(errno));
	_exit(127);
}

static void server_ready(struct world *world)
{
	int64_t end = now_usec() + STORE_CLIENT_READY_MS * INT64_C(1000);
	int fd = -1, status;

	while (fd < 0) {
		if (now_usec() > end || waitpid(world->pid, &status, WNOHANG) != 0)
			store_client_wrong("the server does not start");
		(void)poll(NULL, 0, 1);
		fd = store_client_dial(world->socket);
	}
	(void)close(fd);
}

static void server_kill(struct world *world)
{
	(void)kill(world->pid, SIGKILL);
	store_client_server = 0;
	if (waitpid(world->pid, NULL, 0) != world->pid)
		store_client_wrong("wait: %s", strerror(errno));
}

/* --- the load --- */

static void load_turn(struct world *world, int ms)
{
	struct pollfd ready[WRITERS + WATCHERS];
	size_t i;

	for (i = 0; i < WRITERS; i++)
		ready[i] = (struct pollfd){.fd = world->writers[i].fd, .events = POLLIN};
	for (i = 0; i < WATCHERS; i++)
		ready[WRITERS + i] =
			(struct pollfd){.fd = world->watchers[i].fd, .events = POLLIN};
	(void)poll(ready, WRITERS + WATCHERS, ms);
	for (i = 0; i < WRITERS; i++) {
		struct writer *writer = &world->writers[i];

		if (writer->name >= 0) {
			(void)store_client_take(writer->fd, &writer->in);
			writer_hear(world, writer);
		}
	}
	for (i = 0; i < WATCHERS; i++) {
		struct watcher *watcher = &world->watchers[i];

		(void)store_client_take(watcher->fd, &watcher->in);
		watcher_hear(world, watcher);
		if (watcher->is_gone)
			store_client_wrong(
				"a watch that follows is told that it comes too late");
	}
}

static void load(struct world *world, int64_t usec, bool is_quiet)
{
	int64_t end = now_usec() + usec, left;
	size_t i;

	for (i = 0; i < WRITERS; i++) {
		world->writers[i].fd = store_client_dial(world->socket);
		if (world->writers[i].fd < 0)
			store_client_wrong("the server went by itself");
	}
	while ((left = end - now_usec()) > 0) {
		for (i = 0; i < WRITERS; i++)
			if (world->writers[i].name < 0)
				writer_ask(world, &world->writers[i]);
		if (draw(world, 200) == 0) {
			world->reconnects++;
			(void)watcher_start(world,
					    &world->watchers[draw(world, WATCHERS)]);
		}
		load_turn(world, left < 2000 ? 0 : 1);
	}
	/* Sometimes all have seen everything when the end comes. */
	end = now_usec() + 30000;
	while (is_quiet && now_usec() < end)
		load_turn(world, 1);
}

/* What was sent before the end still counts. */
static void end_all(struct world *world)
{
	size_t i;

	load_turn(world, 0);
	for (i = 0; i < WRITERS; i++)
		writer_end(&world->writers[i]);
	for (i = 0; i < WATCHERS; i++)
		watcher_end(&world->watchers[i]);
}

/* What listens may not serve yet. */
static void make_namespace(struct world *world)
{
	int64_t end = now_usec() + STORE_CLIENT_READY_MS * INT64_C(1000);
	int status = 503;

	while (status == 503 && now_usec() < end) {
		json_t *answer;

		status = store_client_ask_whole(
			world->socket, "POST", "/api/v1/namespaces",
			"{\"metadata\":{\"name\":\"default\"}}", &answer);
		json_decref(answer);
		if (status == 503)
			(void)poll(NULL, 0, 5);
	}
	if (status != 201 && status != 409)
		store_client_wrong("the namespace is answered %d", status);
}

static void round_of(struct world *world)
{
	struct state state;
	size_t i;

	server_start(world);
	if (draw(world, 6) == 0) {
		(void)poll(NULL, 0, (int)draw(world, 12));
		server_kill(world);
		world->starts_killed++;
		return;
	}
	server_ready(world);
	make_namespace(world);
	state_read(world, &state);
	check_state(world, &state);
	for (i = 0; i < WATCHERS; i++)
		check_watcher(world, &world->watchers[i], &state);
	load(world, draw(world, 80000), draw(world, 4) == 0);
	server_kill(world);
	end_all(world);
}

int main(int argc, char **argv)
{
	static struct world world;
	long kills, i;

	if (argc < 5) {
		(void)fputs(help, stderr);
		return 2;
	}
	neap_json_setup();
	(void)snprintf(world.socket, sizeof(world.socket), "%s/sock", argv[1]);
	world.command = argv + 4;
	world.seed = (uint32_t)strtoul(argv[3], NULL, 10);
	kills = strtol(argv[2], NULL, 10);
	for (i = 0; i < WRITERS; i++) {
		world.writers[i].fd = world.writers[i].name = -1;
		writer_end(&world.writers[i]);
	}
	for (i = 0; i < WATCHERS; i++) {
		world.watchers[i].fd = -1;
		watcher_end(&world.watchers[i]);
	}
	for (i = 0; i < kills; i++)
		round_of(&world);
	printf("%ld kills, %zu of them while it started: %zu answered writes; of the others "
	       "%zu were there, %zu not; %zu events; watches: %zu reconnected, %zu went on, "
	       "%zu began anew\n",
	       kills, world.starts_killed, world.answered, world.kept, world.lost,
	       world.events, world.reconnects, world.resumed, world.gone);
	return world.answered == 0;
}
