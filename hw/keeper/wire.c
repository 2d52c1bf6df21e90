/* SPDX-License-Identifier: Apache-2.0
 *
 * What is sent and kept in bytes. Packets between loop, keeper and shims: a fixed header,
 * then bytes whose number is in the header. Orders: a header of numbers, then
 * NUL-terminated texts. Records of ended commands: lines of text. */
#include "hw/keeper/wire.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/base/text.h"
#include "engine/base/utf8.h"

#define REQUEST_MAGIC 0x4e4b5231u /* NKR1 */
#define EVENT_MAGIC   0x4e4b4531u /* NKE1 */
#define SIGNO_MAX     64

struct request_head {
	uint32_t magic;
	uint32_t op;
	int32_t signo;
	uint32_t total;
};

struct event_head {
	uint32_t magic;
	uint32_t what;
	int32_t pid, exit_code, signo, errnum;
	uint32_t is_timeout, text_len;
	int64_t started_usec, ended_usec;
};

/* --- requests --- */

static int request_check(const struct neap_keeper_request *request,
			 struct neap_error *err)
{
	bool is_order = request->op == NEAP_KEEPER_OP_ORDER;
	bool is_signal = request->op == NEAP_KEEPER_OP_SIGNAL;

	if ((unsigned)request->op >= NEAP_KEEPER_OP_COUNT)
		return neap_error_set(err, NEAP_EINVAL, "unknown operation %u",
				      (unsigned)request->op);
	if (is_order ? request->len < 1 || request->len > NEAP_KEEPER_PART ||
			       request->total < request->len ||
			       request->total > NEAP_KEEPER_ORDER
		     : request->len || request->total)
		return neap_error_set(err, NEAP_EINVAL, "%zu bytes of an order of %zu",
				      request->len, request->total);
	if (is_signal ? request->signo < 1 || request->signo > SIGNO_MAX : request->signo)
		return neap_error_set(err, NEAP_EINVAL, "no signal %d", request->signo);
	return 0;
}

int neap_keeper_request_format(const struct neap_keeper_request *request, void *buf,
			       size_t size, size_t *ret_len, struct neap_error *err)
{
	const struct request_head head = {
		.magic = REQUEST_MAGIC,
		.op = request->op,
		.signo = request->signo,
		.total = (uint32_t)request->total,
	};
	int rc = request_check(request, err);

	if (rc < 0)
		return rc;
	if (sizeof(head) + request->len > size)
		return neap_error_set(err, NEAP_ETOOLARGE, "message over %zu bytes",
				      size);
	memcpy(buf, &head, sizeof(head));
	if (request->len)
		memcpy((char *)buf + sizeof(head), request->part, request->len);
	*ret_len = sizeof(head) + request->len;
	return 0;
}

int neap_keeper_request_parse(const void *msg, size_t len,
			      struct neap_keeper_request *ret, struct neap_error *err)
{
	struct neap_keeper_request request = {0};
	struct request_head head;
	int rc;

	if (len < sizeof(head))
		return neap_error_set(err, NEAP_EINVAL, "message of %zu bytes", len);
	memcpy(&head, msg, sizeof(head));
	if (head.magic != REQUEST_MAGIC || head.op >= NEAP_KEEPER_OP_COUNT)
		return neap_error_set(err, NEAP_EINVAL, "not a message of this kind");
	request.op = head.op;
	request.signo = head.signo;
	request.total = head.total;
	request.len = len - sizeof(head);
	if (request.len)
		request.part = (const char *)msg + sizeof(head);
	rc = request_check(&request, err);
	if (rc < 0)
		return rc;
	*ret = request;
	return 0;
}

/* --- events --- */

int neap_keeper_event_format(const struct neap_keeper_event *event, void *buf,
			     size_t size, size_t *ret_len, struct neap_error *err)
{
	size_t len = event->text ? strnlen(event->text, NEAP_KEEPER_OUTPUT_MAX) : 0;
	const struct event_head head = {
		.magic = EVENT_MAGIC,
		.what = event->what,
		.pid = event->pid,
		.exit_code = event->exit_code,
		.signo = event->signo,
		.errnum = event->errnum,
		.is_timeout = event->is_timeout,
		.text_len = (uint32_t)len,
		.started_usec = event->started_usec,
		.ended_usec = event->ended_usec,
	};

	if (sizeof(head) + len > size)
		return neap_error_set(err, NEAP_ETOOLARGE, "message over %zu bytes",
				      size);
	memcpy(buf, &head, sizeof(head));
	if (len)
		memcpy((char *)buf + sizeof(head), event->text, len);
	*ret_len = sizeof(head) + len;
	return 0;
}

static bool numbers_are_sound(const struct neap_keeper_event *event)
{
	return event->pid >= 0 && event->exit_code >= 0 && event->exit_code <= 255 &&
	       event->signo >= 0 && event->signo <= SIGNO_MAX && event->errnum >= 0 &&
	       event->started_usec >= 0 && event->ended_usec >= 0;
}

int neap_keeper_event_parse(const void *msg, size_t len, char *text,
			    struct neap_keeper_event *ret, struct neap_error *err)
{
	struct neap_keeper_event event = {.fd = -1, .text = text};
	struct event_head head;

	if (len < sizeof(head))
		return neap_error_set(err, NEAP_EINVAL, "message of %zu bytes", len);
	memcpy(&head, msg, sizeof(head));
	/* That a command is lost is for the loop to find. */
	if (head.magic != EVENT_MAGIC || head.what >= NEAP_KEEPER_LOST ||
	    head.is_timeout > 1)
		return neap_error_set(err, NEAP_EINVAL, "not an event");
	if (head.text_len > NEAP_KEEPER_OUTPUT_MAX ||
	    head.text_len != len - sizeof(head) ||
	    memchr((const char *)msg + sizeof(head), 0, head.text_len))
		return neap_error_set(err, NEAP_EINVAL, "text with a wrong length");
	event.what = head.what;
	event.pid = head.pid;
	event.exit_code = head.exit_code;
	event.signo = head.signo;
	event.errnum = head.errnum;
	event.is_timeout = head.is_timeout;
	event.started_usec = head.started_usec;
	event.ended_usec = head.ended_usec;
	if (!numbers_are_sound(&event))
		return neap_error_set(err, NEAP_EINVAL, "number out of range");
	memcpy(text, (const char *)msg + sizeof(head), head.text_len);
	text[head.text_len] = '\0';
	*ret = event;
	return 0;
}

/* --- orders --- */

#define ORDER_MAGIC    0x4e4b4f31u /* NKO1 */
#define FILES_MAX      1000
#define OPEN_FILES_MAX (1024 * 1024)

struct order_head {
	uint32_t magic, attempt;
	uint32_t argc, envc;
	uint32_t has_cwd;
	int32_t log_files_max;
	int64_t open_files_max, log_bytes_max, probe_usec;
};

static bool is_pod_uid(const char *text)
{
	size_t i;

	for (i = 0; text[i]; i++)
		if (!neap_text_is_alnum(text[i]) &&
		    (i == 0 || (text[i] != '-' && text[i] != '.' && text[i] != '_')))
			return false;
	return i > 0 && i < NEAP_KEEPER_UID_MAX;
}

static bool is_label(const char *text)
{
	size_t i;

	for (i = 0; text[i]; i++)
		if ((!neap_text_is_alnum(text[i]) && text[i] != '-') ||
		    (text[i] >= 'A' && text[i] <= 'Z'))
			return false;
	return i > 0 && i < NEAP_KEEPER_NAME_MAX && text[0] != '-' && text[i - 1] != '-';
}

int neap_keeper_names_check(const char *pod_uid, const char *container, unsigned attempt,
			    struct neap_error *err)
{
	if (!pod_uid || !is_pod_uid(pod_uid))
		return neap_error_field(err, NEAP_EINVAL, "pod_uid",
					"'%.64s' is not the uid of a pod",
					pod_uid ? pod_uid : "");
	if (!container || !is_label(container))
		return neap_error_field(err, NEAP_EINVAL, "container",
					"'%.64s' is not the name of a container",
					container ? container : "");
	if (attempt > INT_MAX)
		return neap_error_field(err, NEAP_EINVAL, "attempt", "%u attempts",
					attempt);
	return 0;
}

/* Counts them, and their bytes with each NUL. */
static int list_check(const char *const *list, const char *what, bool is_env,
		      size_t *strings, size_t *bytes, struct neap_error *err)
{
	for (size_t i = 0; list && list[i]; i++) {
		if (++*strings > NEAP_KEEPER_STRINGS)
			return neap_error_field(err, NEAP_EINVAL, what,
						"more than %d arguments and variables",
						NEAP_KEEPER_STRINGS);
		*bytes += strlen(list[i]) + 1;
		if (*bytes > NEAP_KEEPER_TEXT_MAX)
			return neap_error_field(
				err, NEAP_EINVAL, what,
				"more than %d bytes of arguments and environment",
				NEAP_KEEPER_TEXT_MAX);
		if (is_env && (list[i][0] == '=' || !strchr(list[i], '=')))
			return neap_error_field(err, NEAP_EINVAL, what,
						"'%.64s' is not NAME=VALUE", list[i]);
	}
	return 0;
}

int neap_keeper_order_check(const struct neap_keeper_order *order, struct neap_error *err)
{
	size_t strings = 0, bytes = 0;
	int rc = neap_keeper_names_check(order->pod_uid, order->container, order->attempt,
					 err);

	if (rc < 0)
		return rc;
	if (!order->argv || !order->argv[0] || !*order->argv[0])
		return neap_error_field(err, NEAP_EINVAL, "argv", "there is no command");
	rc = list_check(order->argv, "argv", false, &strings, &bytes, err);
	if (rc == 0)
		rc = list_check(order->envp, "envp", true, &strings, &bytes, err);
	if (rc < 0)
		return rc;
	if (order->cwd && (order->cwd[0] != '/' || strlen(order->cwd) >= PATH_MAX))
		return neap_error_field(err, NEAP_EINVAL, "cwd",
					"'%.64s' is not an absolute path", order->cwd);
	if (order->open_files_max < 0 || order->open_files_max > OPEN_FILES_MAX)
		return neap_error_field(err, NEAP_EINVAL, "open_files_max",
					"0 to %d open files", OPEN_FILES_MAX);
	if (order->probe_usec < 0)
		return neap_error_field(err, NEAP_EINVAL, "probe_usec",
					"a negative time");
	if (order->probe_usec == 0 &&
	    (order->log_bytes_max < 1 || order->log_files_max < 1 ||
	     order->log_files_max > FILES_MAX))
		return neap_error_field(err, NEAP_EINVAL, "log_files_max",
					"a log of no bytes, or not of 1 to %d files",
					FILES_MAX);
	return 0;
}

static size_t text_put(unsigned char *to, const char *text)
{
	size_t len = strlen(text) + 1;

	if (to)
		memcpy(to, text, len);
	return len;
}

/* Without `to` only counts. */
static size_t texts_put(const struct neap_keeper_order *order, unsigned char *to,
			struct order_head *head)
{
	size_t at = sizeof(*head);
	size_t i;

#define PUT(text) at += text_put(to ? to + at : NULL, text)
	PUT(order->pod_uid);
	PUT(order->container);
	if (order->cwd)
		PUT(order->cwd);
	for (i = 0; order->argv[i]; i++)
		PUT(order->argv[i]);
	head->argc = (uint32_t)i;
	for (i = 0; order->envp && order->envp[i]; i++)
		PUT(order->envp[i]);
	head->envc = (uint32_t)i;
#undef PUT
	return at;
}

int neap_keeper_order_format(const struct neap_keeper_order *order, unsigned char **ret,
			     size_t *ret_len, struct neap_error *err)
{
	struct order_head head = {
		.magic = ORDER_MAGIC,
		.attempt = order->attempt,
		.has_cwd = order->cwd != NULL,
		.log_files_max = order->log_files_max,
		.open_files_max = order->open_files_max,
		.log_bytes_max = order->log_bytes_max,
		.probe_usec = order->probe_usec,
	};
	unsigned char *bytes;
	size_t len;
	int rc = neap_keeper_order_check(order, err);

	if (rc < 0)
		return rc;
	len = texts_put(order, NULL, &head);
	bytes = neap_alloc(len);
	if (!bytes)
		return neap_error_nomem(err);
	(void)texts_put(order, bytes, &head); /* as many as before */
	memcpy(bytes, &head, sizeof(head));
	*ret = bytes;
	*ret_len = len;
	return 0;
}

/* The next text, NULL when there is none. */
static const char *text_get(const char *bytes, size_t len, size_t *at)
{
	const char *text = bytes + *at;
	const char *end = *at < len ? memchr(text, 0, len - *at) : NULL;

	if (!end)
		return NULL;
	*at += (size_t)(end - text) + 1;
	return text;
}

static bool list_get(const char *bytes, size_t len, size_t *at, const char **list,
		     size_t count)
{
	for (size_t i = 0; i < count; i++) {
		list[i] = text_get(bytes, len, at);
		if (!list[i])
			return false;
	}
	return true;
}

static int parts_get(const char *bytes, size_t len, const struct order_head *head,
		     struct neap_keeper_job *job, struct neap_error *err)
{
	struct neap_keeper_order *order = &job->order;
	size_t at = sizeof(*head);

	order->pod_uid = text_get(bytes, len, &at);
	order->container = text_get(bytes, len, &at);
	if (head->has_cwd)
		order->cwd = text_get(bytes, len, &at);
	if (!order->pod_uid || !order->container || (head->has_cwd && !order->cwd) ||
	    !list_get(bytes, len, &at, job->strings, head->argc) ||
	    !list_get(bytes, len, &at, job->strings + head->argc + 1, head->envc))
		return neap_error_set(err, NEAP_EINVAL, "a text is missing");
	if (at != len)
		return neap_error_set(err, NEAP_EINVAL, "%zu bytes too many", len - at);
	order->argv = job->strings;
	order->envp = job->strings + head->argc + 1;
	return neap_keeper_order_check(order, err);
}

int neap_keeper_order_parse(const void *bytes, size_t len, struct neap_keeper_job *ret,
			    struct neap_error *err)
{
	struct neap_keeper_job job = {0};
	struct order_head head;
	int rc;

	if (len < sizeof(head) || len > NEAP_KEEPER_ORDER)
		return neap_error_set(err, NEAP_EINVAL, "an order of %zu bytes", len);
	memcpy(&head, bytes, sizeof(head));
	if (head.magic != ORDER_MAGIC || head.has_cwd > 1 ||
	    head.argc > NEAP_KEEPER_STRINGS || head.envc > NEAP_KEEPER_STRINGS)
		return neap_error_set(err, NEAP_EINVAL, "not an order");
	job.argc = head.argc;
	job.envc = head.envc;
	job.order.attempt = head.attempt;
	job.order.log_files_max = head.log_files_max;
	job.order.open_files_max = head.open_files_max;
	job.order.log_bytes_max = head.log_bytes_max;
	job.order.probe_usec = head.probe_usec;
	job.strings =
		neap_alloc_array((size_t)head.argc + head.envc + 2, sizeof(*job.strings));
	if (!job.strings)
		return neap_error_nomem(err);
	rc = parts_get(bytes, len, &head, &job, err);
	if (rc < 0) {
		neap_keeper_job_done(&job);
		return rc;
	}
	*ret = job;
	return 0;
}

void neap_keeper_job_done(struct neap_keeper_job *job)
{
	free((void *)job->strings);
	job->strings = NULL;
}

/* --- records --- */

#define RECORD_TEXT_MAX 1024

void neap_keeper_text_clean(char *text, size_t len)
{
	size_t at, step;

	for (at = 0; at < len; at += step) {
		step = neap_utf8_next(text + at, len - at, NULL);
		if (step == 0 ||
		    (step == 1 && (unsigned char)text[at] < ' ' && text[at] != '\t' &&
		     text[at] != '\n') ||
		    text[at] == 0x7f) {
			text[at] = '?';
			step = 1;
		}
	}
}

static const char *const words[] = {
	[NEAP_KEEPER_FAILED] = "failed",
	[NEAP_KEEPER_ENDED] = "ended",
};

int neap_keeper_record_format(const struct neap_keeper_event *event, char *buf,
			      size_t size, struct neap_error *err)
{
	char text[RECORD_TEXT_MAX];
	int n;

	if (event->what != NEAP_KEEPER_FAILED && event->what != NEAP_KEEPER_ENDED)
		return neap_error_set(err, NEAP_EINVAL, "nothing ended");
	(void)neap_strcopy(text, sizeof(text), event->text ? event->text : "");
	neap_keeper_text_clean(text, strlen(text));
	for (n = 0; text[n]; n++)
		if (text[n] == '\n')
			text[n] = ' ';
	n = snprintf(buf, size,
		     "neap-keeper 1\n%s\npid %d\nexit_code %d\nsigno %d\nerrno %d\n"
		     "started_usec %" PRId64 "\nended_usec %" PRId64 "\ntext %s\n",
		     words[event->what], event->pid, event->exit_code, event->signo,
		     event->errnum, event->started_usec, event->ended_usec, text);
	if (n < 0 || (size_t)n >= size)
		return neap_error_set(err, NEAP_ETOOLARGE, "record over %zu bytes", size);
	return n;
}

/* The rest of the line behind the name; the text goes on behind the line. */
static bool line_get(char **at, const char *name, char **ret)
{
	size_t len = strlen(name);
	char *end = strchr(*at, '\n');

	if (!end || strncmp(*at, name, len) != 0)
		return false;
	*end = '\0';
	*ret = *at + len;
	*at = end + 1;
	return true;
}

static bool number_get(char **at, const char *name, int64_t max, int64_t *ret)
{
	char *digits;

	return line_get(at, name, &digits) && neap_int_parse(digits, ret, NULL) == 0 &&
	       *ret >= 0 && *ret <= max;
}

int neap_keeper_record_parse(const char *bytes, size_t len, char *text,
			     struct neap_keeper_event *ret, struct neap_error *err)
{
	char copy[NEAP_KEEPER_RECORD_MAX + 1];
	int64_t pid, code, signo, errnum, started, ended;
	char *at = copy, *word, *words_text;

	if (len > NEAP_KEEPER_RECORD_MAX)
		return neap_error_set(err, NEAP_EINVAL, "a record of %zu bytes", len);
	memcpy(copy, bytes, len);
	copy[len] = '\0';
	if (!line_get(&at, "neap-keeper 1", &word) || *word ||
	    !line_get(&at, "", &word) || !number_get(&at, "pid ", INT_MAX, &pid) ||
	    !number_get(&at, "exit_code ", 255, &code) ||
	    !number_get(&at, "signo ", 64, &signo) ||
	    !number_get(&at, "errno ", INT_MAX, &errnum) ||
	    !number_get(&at, "started_usec ", INT64_MAX, &started) ||
	    !number_get(&at, "ended_usec ", INT64_MAX, &ended) ||
	    !line_get(&at, "text ", &words_text) ||
	    (strcmp(word, "failed") != 0 && strcmp(word, "ended") != 0))
		return neap_error_set(err, NEAP_EINVAL, "not a record of an end");
	(void)neap_strcopy(text, NEAP_KEEPER_OUTPUT_MAX + 1, words_text);
	*ret = (struct neap_keeper_event){
		.what = strcmp(word, "failed") == 0 ? NEAP_KEEPER_FAILED
						    : NEAP_KEEPER_ENDED,
		.pid = (int)pid,
		.exit_code = (int)code,
		.signo = (int)signo,
		.errnum = (int)errnum,
		.started_usec = started,
		.ended_usec = ended,
		.text = text,
		.fd = -1,
	};
	return 0;
}
