/* SPDX-License-Identifier: Apache-2.0
 *
 * What P3 to P6 are measured against: extender_limit scan|jansson|null NODES answers
 * filter and prioritize of as many nodes as extender_server has, with the same answer of
 * filter. scan: the physical work alone (read 256 KB at a time, find each name in a
 * table, compare a number or two, write); jansson: the same with its trees both ways;
 * null: the names back as they came, each with 0 points. Prints its port; ends when its
 * standard input does. */
#include <jansson.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/base.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

#define TABLE_SLOTS   ((size_t)1 << 17) /* twice the nodes of a request at the least */
#define REQUEST_MAX   ((size_t)4 * 1024 * 1024)
#define READ_MAX      ((size_t)256 * 1024)
#define HEAD_ROOM     ((size_t)256)
#define NAME_ROOM     64 /* of a name, and what stands around it in an answer */
#define REQUEST_MILLI 1000

struct node {
	char name[24];
	size_t len;
	int64_t milli;
	bool is_open;
};

static struct node *table;
static char *in, *out;
static size_t got;
static enum { SCAN, JANSSON, NONE } how;

static size_t slot_of(const char *name, size_t len)
{
	uint64_t hash = 14695981039346656037ULL;
	size_t slot;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)name[i]) * 1099511628211ULL;
	slot = (hash ^ hash >> 32) & (TABLE_SLOTS - 1);
	while (table[slot].len &&
	       (table[slot].len != len || memcmp(table[slot].name, name, len) != 0))
		slot = (slot + 1) & (TABLE_SLOTS - 1);
	return slot;
}

/* As those of extender_server. */
static void fill(int nodes)
{
	for (int i = 0; i < nodes; i++) {
		char name[24];
		size_t len = (size_t)snprintf(name, sizeof(name), "node-%05d", i), slot;

		slot = slot_of(name, len);
		memcpy(table[slot].name, name, len);
		table[slot].len = len;
		table[slot].milli = i % 20 ? 4000 + i % 61 * 1000 : 500;
		table[slot].is_open = i % 50 != 0;
	}
}

static bool fits(const struct node *node)
{
	return node->len && node->is_open && node->milli >= REQUEST_MILLI;
}

static int score(const struct node *node)
{
	return (int)(node->milli * 10 / 64000);
}

static char *add(char *at, const char *text, size_t len)
{
	memcpy(at, text, len);
	return at + len;
}
#define ADD(at, text) add(at, text, sizeof(text) - 1)

static char *answer_scan(char *at, const char *body, bool is_filter)
{
	const char *name = strstr(body, "\"NodeNames\":[");
	bool is_first = true;

	at = is_filter ? ADD(at, "{\"NodeNames\":[") : ADD(at, "[");
	for (name = name ? strchr(name, '[') + 1 : ""; *name == '"' || *name == ',';) {
		const char *start = name + (*name == ',') + 1, *end = strchr(start, '"');
		const struct node *node;

		if (!end)
			break;
		name = end + 1;
		node = how == NONE ? &table[0]
				   : &table[slot_of(start, (size_t)(end - start))];
		if (how != NONE && is_filter && !fits(node))
			continue;
		if (!is_first)
			*at++ = ',';
		is_first = false;
		if (!is_filter)
			at = ADD(at, "{\"Host\":");
		at = add(at, start - 1, (size_t)(end - start) + 2);
		if (!is_filter) {
			at = ADD(at, ",\"Score\":");
			*at++ = (char)('0' + (how == NONE ? 0 : score(node) % 10));
			*at++ = '}';
		}
	}
	return is_filter ? ADD(at, "],\"FailedNodes\":{},\"Error\":\"\"}") : ADD(at, "]");
}

static char *answer_jansson(char *at, const char *body, size_t len, bool is_filter)
{
	json_t *tree = NULL, *list = json_array(), *whole = list;
	const json_t *names;
	char *text;

	if (neap_json_parse(body, len, 0, &tree, NULL) < 0)
		return at;
	names = json_object_get(tree, "NodeNames");
	for (size_t i = 0; i < json_array_size(names); i++) {
		const json_t *name = json_array_get(names, i);
		const char *value = json_string_value(name);
		const struct node *node =
			&table[slot_of(value, json_string_length(name))];

		if (!is_filter)
			json_array_append_new(list, json_pack("{s:s, s:i}", "Host", value,
							      "Score", score(node)));
		else if (fits(node))
			json_array_append_new(list, json_string(value));
	}
	if (is_filter)
		whole = json_pack("{s:o, s:{}, s:s}", "NodeNames", list, "FailedNodes",
				  "Error", "");
	text = neap_json_dump(whole, JSON_COMPACT);
	at = add(at, text, strlen(text));
	free(text);
	json_decref(whole);
	json_decref(tree);
	return at;
}

static bool answer(int fd, const char *body, size_t len)
{
	bool is_filter = strncmp(in, "POST /extender/v1/filter", 24) == 0;
	char *start = out + HEAD_ROOM, *end, head[HEAD_ROOM];
	int head_len;

	end = how == JANSSON ? answer_jansson(start, body, len, is_filter)
			     : answer_scan(start, body, is_filter);
	head_len = snprintf(head, sizeof(head),
			    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
			    "Content-Length: %zu\r\n\r\n",
			    (size_t)(end - start));
	start -= head_len;
	memcpy(start, head, (size_t)head_len);
	while (start < end) {
		ssize_t n = send(fd, start, (size_t)(end - start), MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		start += n;
	}
	return true;
}

/* One connection at a time has a request, which is answered when it is whole. False: it
 * is to be closed. */
static bool serve(int fd)
{
	ssize_t n = got + READ_MAX < REQUEST_MAX ? recv(fd, in + got, READ_MAX, 0) : -1;
	const char *body, *length;
	size_t len;

	if (n <= 0) {
		got = 0;
		return false;
	}
	got += (size_t)n;
	in[got] = '\0';
	body = strstr(in, "\r\n\r\n");
	length = strstr(in, "Content-Length: ");
	if (!body || !length)
		return true;
	body += 4;
	len = strtoul(length + sizeof("Content-Length: ") - 1, NULL, 10);
	if (got < (size_t)(body - in) + len)
		return true;
	got = 0;
	return answer(fd, body, len);
}

static void watch(int epoll, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	(void)epoll_ctl(epoll, EPOLL_CTL_ADD, fd,
			&event); /* then it is just not served */
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = {.sin_family = AF_INET};
	socklen_t len = sizeof(addr);
	int epoll = epoll_create1(EPOLL_CLOEXEC), one = 1;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int nodes = argc == 3 ? (int)strtol(argv[2], NULL, 10) : 0;

	if (nodes < 1 || (size_t)nodes > TABLE_SLOTS / 2) {
		(void)fprintf(stderr, "usage: extender_limit scan|jansson|null NODES\n");
		return 2;
	}
	how = strcmp(argv[1], "jansson") == 0 ? JANSSON
	      : strcmp(argv[1], "null") == 0  ? NONE
					      : SCAN;
	neap_json_setup();
	table = neap_alloc_array(TABLE_SLOTS, sizeof(*table));
	in = neap_alloc(REQUEST_MAX);
	out = neap_alloc(HEAD_ROOM + TABLE_SLOTS / 2 * NAME_ROOM);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	(void)setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (!table || !in || !out ||
	    bind(listener, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    listen(listener, 64) < 0 ||
	    getsockname(listener, (struct sockaddr *)&addr, &len) < 0) {
		perror("extender_limit");
		return 1;
	}
	fill(nodes);
	printf("%d\n", ntohs(addr.sin_port));
	(void)fflush(stdout);
	watch(epoll, listener);
	watch(epoll, STDIN_FILENO);
	for (;;) {
		struct epoll_event events[16];
		int count = epoll_wait(epoll, events, 16, -1);

		for (int i = 0; i < count; i++) {
			int fd = events[i].data.fd;

			if (fd == STDIN_FILENO)
				return 0;
			if (fd == listener)
				watch(epoll, accept4(listener, NULL, NULL, SOCK_CLOEXEC));
			else if (!serve(fd))
				close(fd);
		}
	}
}
