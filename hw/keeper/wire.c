/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets between loop, keeper and shims: a fixed header, then bytes whose number is in
 * the header. */
#include "hw/keeper/wire.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

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
