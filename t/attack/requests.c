/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole requests against a running neapd, by root, by every role over TCP and by
 * strangers: all kinds and verbs that discovery tells of, their parts, the control API,
 * the extender over TLS and what is served beside them, with bodies, paths and headers
 * that were valid before they were changed. What must hold for each: an answer, none of
 * the server's own failures, not more than half a second of the loop's CPU time until it
 * is there, nothing done for who may not do it, and of what is wrong in a body no path
 * twice. At the end the server is alive, lists what it has, and has used no more CPU time
 * and memory than its bounds. */
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/patience.h"
#include "t/lib/strange.h"
#include "t/lib/tls.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HELD_MAX_USEC 5000000
#define MEAN_MAX_USEC 200000
#else
#define HELD_MAX_USEC 500000
#define MEAN_MAX_USEC 2500 /* of all threads, a request */
#endif
/* Beside what is stored: a copy of it, and what is kept for the next request. */
#define ANON_MAX_KIB  (40 * 1024)
#define AGAIN_MAX_KIB 768
#define ROUNDS        12
#define ANSWER_MAX    ((size_t)32 * 1024 * 1024)
#define FAILURES_MAX  20
#define RAW_MS        100 /* for an answer that may not come */

static const char help[] =
	"usage: requests SOCKET PORT EXTENDER_PORT CERTIFICATES SEED COUNT DIR\n"
	"Sends COUNT requests to neapd at SOCKET, at PORT, and at EXTENDER_PORT with certificates of these folder. "
	"Those that broke something lie below DIR.\n";

enum may { MAY_ALL, MAY_CHANGE, MAY_READ, MAY_NOTHING };

/* Who asks. */
static const struct who {
	const char *name;
	const char *token; /* NULL: over the unix socket; "": none is shown */
	enum may may;
	int share; /* of the requests */
} whos[] = {
	{"root", NULL, MAY_ALL, 6},
	{"admin", "ada-token-of-16b", MAY_ALL, 3},
	{"editor", "eve-token-of-16b", MAY_CHANGE, 3},
	{"node", "nod-token-of-16b", MAY_CHANGE, 2},
	{"reader", "rea-token-of-16b", MAY_READ, 1},
	{"stranger", "", MAY_NOTHING, 1},
	{"liar", "lie-token-of-16b", MAY_NOTHING, 1},
};
/* With which certificate; NULL: with none. */
#define NO_CERT 6
static const char *const asking[NO_CERT + 1] = {"scheduler", "scheduler", "scheduler",
						"scheduler", "reader",    "none"};

static const char *socket_path, *certs, *found_dir;
static long port, extender_port;
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

/* CPU time of all its threads. */
static int64_t cpu_usec(void)
{
	struct timespec ts = {0};
	clockid_t clock;

	if (clock_getcpuclockid(server, &clock) == 0)
		(void)clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* --- connections --- */

struct conn {
	int fd;
	SSL *ssl;
};

static int dial_unix(void)
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

/* By whom: NO_CERT, or one of asking. */
static SSL *dial_tls(long to, size_t by, int ms)
{
	static SSL_CTX *contexts[NO_CERT + 1];
	const struct http_server at = {.port = (int)to};
	struct timeval wait = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
	SSL *ssl;

	if (!contexts[by])
		contexts[by] = tls_context(certs, asking[by], 0);
	ssl = tls_dial(&at, contexts[by]);
	if (ssl)
		(void)setsockopt(SSL_get_fd(ssl), SOL_SOCKET, SO_RCVTIMEO, &wait,
				 sizeof(wait));
	return ssl;
}

static bool dial(struct conn *conn, const struct who *who,
		 const struct strange_request *request, size_t by)
{
	int ms = request->is_raw ? RAW_MS : PATIENCE_MS;

	*conn = (struct conn){.fd = -1};
	if (request->is_extender)
		conn->ssl = dial_tls(extender_port, by, ms);
	else if (who->token)
		conn->ssl = dial_tls(port, NO_CERT, ms);
	else
		conn->fd = dial_unix();
	return conn->ssl || conn->fd >= 0;
}

static void hang_up(struct conn *conn)
{
	tls_close(conn->ssl);
	if (conn->fd >= 0)
		(void)close(conn->fd);
}

static ssize_t put(const struct conn *conn, const char *bytes, size_t len)
{
	return conn->ssl ? SSL_write(conn->ssl, bytes, len > 16000 ? 16000 : (int)len)
			 : send(conn->fd, bytes, len, MSG_NOSIGNAL);
}

static ssize_t take(const struct conn *conn, char *bytes, size_t len, int ms)
{
	struct pollfd p = {.fd = conn->fd, .events = POLLIN};

	if (conn->ssl) /* waits as long, as was said when it was dialled */
		return SSL_read(conn->ssl, bytes, len > 16000 ? 16000 : (int)len);
	return poll(&p, 1, ms) > 0 ? recv(conn->fd, bytes, len, 0) : 0;
}

static void send_all(const struct conn *conn, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = put(conn, bytes, len);

		if (n <= 0)
			return; /* refused: the answer says why */
		bytes += n;
		len -= (size_t)n;
	}
}

/* Reads an answer to its end, of a stream only its head. Its status; 0: none came; -1:
 * the server went. */
static int hear(const struct conn *conn, bool is_raw, bool is_head, char *answer,
		const char **ret_body)
{
	size_t len = 0, want = 0;
	const char *end = NULL, *field;

	*ret_body = "";
	for (;;) {
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
		n = take(conn, answer + len, ANSWER_MAX - len,
			 is_raw ? RAW_MS : PATIENCE_MS);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	if (end)
		*ret_body = end + 4;
	return strncmp(answer, "HTTP/1.", 7) == 0 ? (int)strtol(answer + 9, NULL, 10) : 0;
}

static int ask(const struct strange_request *request, const struct who *who, size_t by,
	       char *answer, const char **ret_body)
{
	struct conn conn;
	int status;

	*ret_body = "";
	if (!dial(&conn, who, request, by))
		return -1;
	send_all(&conn, request->bytes.data, request->bytes.len);
	status = hear(&conn, request->is_raw, strncmp(request->what, "HEAD", 4) == 0,
		      answer, ret_body);
	hang_up(&conn);
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
	status = ask(&request, &whos[0], NO_CERT, answer, &body);
	if (status == 200)
		json = json_loads(body, JSON_DECODE_ANY, NULL);
	neap_buf_done(&request.bytes);
	return json;
}

static int64_t stored_kib(void)
{
	static const char field[] = "\nneap_store_bytes ";
	struct strange_request request = {0};
	char *answer = neap_alloc(ANSWER_MAX + 1);
	const char *body, *at;
	int64_t kib = 0;

	neap_buf_init(&request.bytes, 65536);
	neap_buf_adds(&request.bytes, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
	(void)ask(&request, &whos[0], NO_CERT, answer, &body);
	at = strstr(body, field);
	if (at)
		kib = strtoll(at + sizeof(field) - 1, NULL, 10) / 1024;
	neap_buf_done(&request.bytes);
	free(answer);
	return kib;
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
	/* In a dry run. */
	return status == 503 && (strncmp(what, "POST /control/v1/freeze", 23) == 0 ||
				 strncmp(what, "POST /control/v1/release", 24) == 0 ||
				 strncmp(what, "POST /control/v1/resume", 23) == 0);
}

/* Done for somebody who may not have it done. */
static bool is_beyond(const struct strange_request *request, const struct who *who,
		      int status)
{
	static const char *const open[] = {"/version", "/readyz", "/livez", "/healthz"};
	const char *what = request->what, *path = strchr(what, ' ');

	if (request->is_raw || request->is_extender || status < 200 || status > 299)
		return false;
	for (size_t i = 0; path && i < NEAP_ARRAY_LEN(open); i++)
		if (strncmp(path + 1, open[i], strlen(open[i])) == 0)
			return false;
	return who->may == MAY_NOTHING ||
	       (who->may == MAY_READ && strncmp(what, "GET", 3) != 0 &&
		strncmp(what, "HEAD", 4) != 0 && !strstr(what, "reviews"));
}

/* The next path of a message ("spec.a[0].b") and its length. What stands between quotes
 * is passed over: a client said it. */
static const char *next_path(const char *at, size_t *ret_len)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-./[]";

	for (; *at; at++) {
		size_t len = strspn(at, chars);

		if (*at == '"')
			while (at[1] && *++at != '"')
				at += *at == '\\' && at[1];
		while (len && at[len - 1] == '.')
			len--;
		if (len && (memchr(at, '.', len) || memchr(at, '[', len))) {
			*ret_len = len;
			return at;
		}
		at += len ? len - 1 : 0;
		if (!*at)
			break;
	}
	return NULL;
}

/* A wrong body is told with the place of what is wrong, once. */
static bool is_told_twice(const char *body)
{
	json_t *json = json_loads(body, 0, NULL);
	const char *text = json_string_value(json_object_get(json, "message"));
	bool is_twice = false;
	size_t len, other;

	for (const char *at = text ? next_path(text, &len) : NULL; at && !is_twice;
	     at = next_path(at + len, &len))
		for (const char *to = next_path(at + len, &other); to && !is_twice;
		     to = next_path(to + other, &other))
			is_twice = len == other && strncmp(at, to, len) == 0;
	json_decref(json);
	return is_twice;
}

static void judge(const struct strange_request *request, const struct who *who, size_t n,
		  int status, int64_t held, const char *body)
{
	if (status > 0 && status < 600)
		statuses[status]++;
	if (status == -1)
		broke(request, n, "nobody listens any more");
	else if (status == 0 && !request->is_raw)
		broke(request, n, "no answer");
	else if (status >= 500 && !request->is_raw && !is_told(request->what, status))
		broke(request, n, "%d %.300s", status, body);
	else if (is_beyond(request, who, status))
		broke(request, n, "%d for %s", status, who->name);
	if (status == 400 && !request->is_raw && is_told_twice(body))
		broke(request, n, "a path twice: %.300s", body);
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

static const struct who *draw_who(size_t n)
{
	size_t at = 0, i = 0, sum = 0;

	for (size_t k = 0; k < NEAP_ARRAY_LEN(whos); k++)
		sum += (size_t)whos[k].share;
	/* Neighbours are of different ones. */
	at = (n * 7919 + seed) % sum;
	while (at >= (size_t)whos[i].share)
		at -= (size_t)whos[i++].share;
	return &whos[i];
}

/* Returns how it ended. */
static int ask_one(size_t n, char *answer)
{
	const struct who *who = draw_who(n);
	struct strange_request request;
	char head[128] = "";
	const char *body;
	int64_t from;
	int status;

	if (who->token && *who->token)
		(void)snprintf(head, sizeof(head), "Authorization: Bearer %s\r\n",
			       who->token);
	strange_make(seed, n, head, &request);
	from = loop_usec();
	status = ask(&request, who, n % NEAP_ARRAY_LEN(asking), answer, &body);
	judge(&request, who, n, status, loop_usec() - from, body);
	neap_buf_done(&request.bytes);
	return status;
}

/* All of them; false: it is not worth while to go on. */
static bool ask_all(size_t count, char *answer)
{
	size_t n = 0;

	while (n < count && failures < FAILURES_MAX && ask_one(n, answer) != -1)
		n++;
	return n == count;
}

static void judge_cpu(size_t count, int64_t cpu)
{
	int64_t mean = count ? cpu / (int64_t)count : 0;

	printf("at most %lld ms of the loop's time: %s\n", (long long)held_most / 1000,
	       held_what);
	printf("%lld us of CPU time for each, at most %d\n", (long long)mean,
	       MEAN_MAX_USEC);
	if (mean <= MEAN_MAX_USEC)
		return;
	printf("that is too much CPU time\n");
	failures++;
}

static void judge_memory(const char *when, long more, long most)
{
	printf("%s: %ld KiB of private memory more, at most %ld\n", when, more, most);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	if (more > most) {
		printf("that is too much memory\n");
		failures++;
	}
#endif
}

/* Sends the same requests in rounds. The first rounds leave what is stored, and what is
 * kept for the next request and for watches. Only lost memory grows with each round: so
 * the first round that leaves next to nothing more is the last. */
static void attack(size_t count, char *answer)
{
	int64_t cpu = cpu_usec();
	long before = anon_kib(), least = LONG_MAX;
	bool goes_on = ask_all(count, answer);

	judge_cpu(count, cpu_usec() - cpu);
	judge_memory("first round", anon_kib() - before,
		     ANON_MAX_KIB + 3 * (long)stored_kib());
	for (int i = 1; goes_on && least > AGAIN_MAX_KIB && i < ROUNDS; i++) {
		int64_t stored = stored_kib();
		long more;

		before = anon_kib();
		goes_on = ask_all(count, answer);
		more = anon_kib() - before - 3 * (long)(stored_kib() - stored);
		least = more < least ? more : least;
	}
	if (goes_on)
		judge_memory("the least of another", least, AGAIN_MAX_KIB);
}

int main(int argc, char **argv)
{
	char *answer = neap_alloc(ANSWER_MAX + 1);
	size_t count;

	if (argc != 8) {
		fputs(help, stderr);
		return 2;
	}
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	(void)signal(SIGPIPE, SIG_IGN);
	socket_path = argv[1];
	port = strtol(argv[2], NULL, 10);
	extender_port = strtol(argv[3], NULL, 10);
	certs = argv[4];
	seed = (unsigned)strtoul(argv[5], NULL, 10);
	count = strtoul(argv[6], NULL, 10);
	found_dir = argv[7];
	if (!strange_init(get))
		return 1;
	printf("%zu verbs of discovery\n", strange_verbs());
	attack(count, answer);
	judge_lists();
	printf("%zu requests in each round, all together:", count);
	for (int i = 0; i < 600; i++)
		if (statuses[i])
			printf(" %zu of %d", statuses[i], i);
	(void)putchar('\n');
	strange_done();
	free(answer);
	return failures > 0;
}
