/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole requests against a running neapd, by one who may everything: all kinds and verbs that discovery tells of, their
 * parts, the control API and what is served beside them, with bodies, paths and headers that were valid before they
 * were changed. What must hold for each: an answer, none of the server's own failures, and not more than half a second
 * of the loop's CPU time until it is there. At the end the server is alive, lists what it has, and keeps to its memory. */
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/base/buf.h"
#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "t/lib/patience.h"
#include "t/lib/strange.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HELD_MAX_USEC 5000000
#else
#define HELD_MAX_USEC 500000
#endif
#define ANON_MAX_KIB (400 * 1024)
#define ANSWER_MAX   ((size_t)32 * 1024 * 1024)
#define FAILURES_MAX 20

static const char help[] =
	"usage: requests SOCKET SEED COUNT DIR\n"
	"Sends COUNT requests to neapd at SOCKET. Those that broke something lie below DIR.\n";

static const char *socket_path, *found_dir;
static pid_t server;
static unsigned seed;
static int failures;
static size_t statuses[600];
static int64_t held_most;
static char held_what[256];

/* --- the server --- */

static int64_t loop_usec(void)
{
	char path[64], line[64] = "";
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)server,
		       (int)server);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	(void)fclose(file);
	return strtoll(line, NULL, 10) / 1000;
}

static long anon_kib(void)
{
	char path[64], line[128];
	long kib = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)server);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "RssAnon: %ld", &kib) == 1)
			break;
	if (file)
		(void)fclose(file);
	return kib;
}

static int dial(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct ucred who = {0};
	socklen_t len = sizeof(who);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)neap_strcopy(addr.sun_path, sizeof(addr.sun_path), socket_path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		if (fd >= 0)
			(void)close(fd);
		return -1;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0)
		server = who.pid;
	return fd;
}

static void send_all(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

		if (n <= 0)
			return; /* refused: the answer says why */
		bytes += n;
		len -= (size_t)n;
	}
}

/* Reads an answer to its end, of a stream only its head. Its status; 0: none came; -1: the server went. */
static int hear(int fd, bool is_raw, bool is_head, char *answer, const char **ret_body)
{
	size_t len = 0, want = 0;
	const char *end = NULL, *field;

	*ret_body = "";
	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t n;

		answer[len] = '\0';
		if (!end) {
			end = strstr(answer, "\r\n\r\n");
			field = end ? strcasestr(answer, "\r\nContent-Length: ") : NULL;
			if (end && field && field < end && !is_head)
				want = (size_t)(end + 4 - answer) +
				       strtoul(field + 18, NULL, 10);
			else if (end) /* a stream, or nothing more */
				break;
		}
		if (len == ANSWER_MAX || (want > 0 && len >= want))
			break;
		if (poll(&p, 1, is_raw ? 100 : PATIENCE_MS) <= 0)
			break;
		n = recv(fd, answer + len, ANSWER_MAX - len, 0);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	if (end)
		*ret_body = end + 4;
	return strncmp(answer, "HTTP/1.", 7) == 0 ? (int)strtol(answer + 9, NULL, 10) : 0;
}

static int ask(const struct strange_request *request, char *answer, const char **ret_body)
{
	int fd = dial(), status;

	*ret_body = "";
	if (fd < 0)
		return -1;
	send_all(fd, request->bytes.data, request->bytes.len);
	status = hear(fd, request->is_raw, strncmp(request->what, "HEAD", 4) == 0, answer,
		      ret_body);
	(void)close(fd);
	return status;
}

static json_t *get(const char *path)
{
	static char *answer;
	struct strange_request request = {0};
	const char *body;
	json_t *json = NULL;
	int status;

	answer = answer ? answer : neap_alloc(ANSWER_MAX + 1);
	neap_buf_init(&request.bytes, 65536);
	neap_buf_addf(&request.bytes, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
	status = ask(&request, answer, &body);
	if (status == 200)
		json = json_loads(body, JSON_DECODE_ANY, NULL);
	neap_buf_done(&request.bytes);
	return json;
}

/* --- judging --- */

static void broke(const struct strange_request *request, size_t n, const char *fmt, ...)
	NEAP_PRINTF(3, 4);
static void broke(const struct strange_request *request, size_t n, const char *fmt, ...)
{
	char path[512];
	va_list args;
	FILE *file;

	failures++;
	va_start(args, fmt);
	printf("request %zu of seed %u: %s: ", n, seed, request->what);
	(void)vprintf(fmt, args);
	va_end(args);
	(void)snprintf(path, sizeof(path), "%s/%u-%zu", found_dir, seed, n);
	file = fopen(path, "we");
	if (file) {
		(void)fwrite(request->bytes.data, 1, request->bytes.len, file);
		(void)fclose(file);
		printf(" (%s)", path);
	}
	(void)putchar('\n');
}

/* What is said when something is not there now, and when it will not be there. */
static bool is_told(const char *what, int status)
{
	if (status == 501 || status == 505)
		return true; /* of a method or a version of HTTP that there is not */
	if (status == 504)
		return strstr(what, "resourceVersion=") != NULL; /* a state yet to come */
	return status == 503 &&
	       strstr(what, "/control/v1/") != NULL; /* without the role node */
}

static void judge(const struct strange_request *request, size_t n, int status,
		  int64_t held, const char *body)
{
	if (status > 0 && status < 600)
		statuses[status]++;
	if (status == -1)
		broke(request, n, "nobody listens any more");
	else if (status == 0 && !request->is_raw)
		broke(request, n, "no answer");
	else if (status >= 500 && !request->is_raw && !is_told(request->what, status))
		broke(request, n, "%d %.300s", status, body);
	if (held > HELD_MAX_USEC)
		broke(request, n, "%lld ms of the loop's time", (long long)held / 1000);
	if (held > held_most) {
		held_most = held;
		(void)neap_strcopy(held_what, sizeof(held_what), request->what);
	}
}

/* Everything can be listed, from the first to the last. */
static void judge_lists(void)
{
	char path[512];
	size_t listed = 0;

	for (size_t i = 0; strange_list(i, path, sizeof(path)); i++) {
		json_t *list = get(path);

		if (!json_is_array(json_object_get(list, "items"))) {
			printf("%s cannot be listed at the end\n", path);
			failures++;
		}
		listed += json_array_size(json_object_get(list, "items"));
		json_decref(list);
	}
	printf("%zu objects at the end\n", listed);
}

int main(int argc, char **argv)
{
	char *answer = neap_alloc(ANSWER_MAX + 1);
	const char *body;
	size_t count, n;
	long before;

	if (argc != 5) {
		fputs(help, stderr);
		return 2;
	}
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	socket_path = argv[1];
	seed = (unsigned)strtoul(argv[2], NULL, 10);
	count = strtoul(argv[3], NULL, 10);
	found_dir = argv[4];
	if (!strange_init(get))
		return 1;
	printf("%zu verbs of discovery\n", strange_verbs());
	before = anon_kib();
	for (n = 0; n < count && failures < FAILURES_MAX; n++) {
		struct strange_request request = {0};
		int64_t from;
		int status;

		strange_make(seed, n, &request);
		from = loop_usec();
		status = ask(&request, answer, &body);
		judge(&request, n, status, loop_usec() - from, body);
		neap_buf_done(&request.bytes);
		if (status == -1)
			break;
	}
	judge_lists();
	printf("%zu requests:", n);
	for (int i = 0; i < 600; i++)
		if (statuses[i])
			printf(" %zu of %d", statuses[i], i);
	printf("\nat most %lld ms of the loop's time: %s\n", (long long)held_most / 1000,
	       held_what);
	printf("private memory: %ld KiB, then %ld KiB\n", before, anon_kib());
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	if (anon_kib() > before + ANON_MAX_KIB) {
		printf("that is too much\n");
		failures++;
	}
#endif
	strange_done();
	free(answer);
	return failures > 0;
}
