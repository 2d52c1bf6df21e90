/* SPDX-License-Identifier: Apache-2.0
 *
 * Input before evhttp parses it: counts the bytes and, while the client is unidentified,
 * searches its lines for the token. evhttp passes on only complete requests, so this is
 * the only place that can stop an upload midway. evhttp does not keep the request line
 * either, so the line's end is checked here.
 *
 * The scanner does not parse: a line with a valid token identifies its sender, in a
 * header or not, because only its owner can send it. After that, nothing is scanned any
 * more. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "api/http/serve/guard.h"
#include "api/http/serve/guard_priv.h"
#include "api/http/serve/server_priv.h"
#include "api/http/users/tokens.h"
#include "engine/base/buf.h"
#include "engine/json/json.h"

/* libevent reads this much at a time, which no call of 2.1 can change; and the amount
 * that is read in addition in the same turn of the loop. */
#define LIBEVENT_READ_MAX 4096
#define READ_ON_MAX       (64 * 1024)
/* A stream's client has nothing to send. */
#define STREAM_INPUT_MAX 4096

void neap_guard_set_unfinished(struct neap_guard *guard, size_t len)
{
	struct neap_guards *guards = guard->guards;

	guards->unfinished += len - guard->unfinished; /* modulo, as sizes are */
	if (guard->share)
		guard->share->unfinished += len - guard->unfinished;
	else
		guards->unfinished_unknown += len - guard->unfinished;
	guard->unfinished = len;
}

/* {"code", "message"}, or the tree's own format; NULL without memory. */
static char *refusal_text(const struct neap_guard *guard, int status,
			  const struct neap_error *err)
{
	const struct neap_http_tree *tree = guard->guards->tree;
	json_t *body = tree && guard->asks_in_tree
			       ? tree->refusal(status, err)
			       : json_pack("{s:s, s:s}", "code",
					   status == 429 ? "TooManyRequests"
							 : neap_code_name(err->code),
					   "message", err->msg);
	char *text = body ? neap_json_dump(body, JSON_COMPACT) : NULL;

	json_decref(body);
	return text;
}

void neap_guard_tell(struct neap_guard *guard, const char *status, const char *headers,
		     const struct neap_error *err)
{
	neap_auto_buf struct neap_buf out = {0};
	neap_auto_free char *text = NULL;

	if (guard->is_busy || evbuffer_get_length(bufferevent_get_output(guard->bev)) > 0)
		return; /* it would come in the middle of another answer */
	text = refusal_text(guard, (int)strtol(status, NULL, 10), err);
	neap_buf_init(&out, NEAP_BUF_LINE);
	neap_buf_addf(&out,
		      "HTTP/1.1 %s\r\nContent-Type: application/json\r\n%sConnection: "
		      "close\r\n\r\n%s\n",
		      status, headers, text ? text : "");
	if (neap_buf_failed(&out))
		return;
	if (guard->is_tls)
		neap_tls_say(guard->bev, out.data, out.len);
	else
		(void)send(bufferevent_getfd(guard->bev), out.data, out.len,
			   MSG_NOSIGNAL | MSG_DONTWAIT); /* see above */
}

static void tell_unknown(struct neap_guard *guard)
{
	struct neap_error err;

	if (guard->peer.is_unix) {
		neap_error_set(&err, NEAP_EFORBIDDEN,
			       "only who has a role may send large bodies");
		neap_guard_tell(guard, "403 Forbidden", "", &err);
		return;
	}
	neap_error_set(&err, NEAP_EAUTH,
		       "no token or a wrong one: send \"Authorization: Bearer TOKEN\" "
		       "before a large body");
	neap_guard_tell(guard, "401 Unauthorized", "WWW-Authenticate: Bearer\r\n", &err);
}

static void tell_too_large(struct neap_guard *guard, size_t max)
{
	struct neap_error err;

	neap_error_set(&err, NEAP_ETOOLARGE, "the request has more than %zu bytes", max);
	neap_guard_tell(guard, "413 Content Too Large", "", &err);
}

static void tell_busy(struct neap_guard *guard)
{
	struct neap_error err;

	neap_error_set(&err, NEAP_EUNAVAILABLE,
		       "too many large requests are on their way: try again");
	neap_guard_tell(guard, "503 Service Unavailable", "Retry-After: 1\r\n", &err);
}

/* For evhttp its first lines may never end, and the client would wait half a minute. */
static void tell_plain(struct neap_guard *guard)
{
	struct neap_error err;

	neap_error_set(&err, NEAP_EINVAL,
		       "plain HTTP is spoken here, not TLS: ask http://");
	neap_guard_tell(guard, "400 Bad Request", "", &err);
}

/* The line identifies a user with a role, who gets the connection. */
static bool join_by_line(struct neap_guard *guard)
{
	static const char name[] = "Authorization:";
	char *value = guard->line + sizeof(name) - 1;
	char *end = guard->line + guard->line_len;
	const struct neap_http_user *user;
	enum neap_http_role role;

	if (guard->line_len < sizeof(name) || guard->line_len == NEAP_GUARD_LINE ||
	    strncasecmp(guard->line, name, sizeof(name) - 1) != 0)
		return false;
	while (end > value && (end[-1] == '\r' || end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*end = '\0';
	value += strspn(value, " \t");
	if (!neap_bearers_find(&guard->guards->bearers, value, &role, &user) ||
	    role == NEAP_HTTP_ANYBODY)
		return false;
	neap_guard_join(guard, user, role);
	return guard->share != NULL;
}

/* Lines may come in any number of pieces. */
static void scan(struct neap_guard *guard, const char *data, size_t len)
{
	while (len) {
		const char *end = memchr(data, '\n', len);
		size_t part = end ? (size_t)(end - data) : len;
		size_t room = NEAP_GUARD_LINE - guard->line_len;
		size_t kept = part < room ? part : room;

		memcpy(guard->line + guard->line_len, data, kept);
		guard->line_len += kept;
		if (!end)
			return;
		if (join_by_line(guard))
			return;
		guard->line_len = 0;
		data += part + 1;
		len -= part + 1;
	}
}

/* evhttp reads the version with sscanf, which takes "+1.\r01" as 1.1, and drops blanks
 * after it. A proxy in front may read this line in another way, or not at all. */
static bool ends_in_version(struct evbuffer *buffer, size_t len)
{
	char end[sizeof(" HTTP/1.1") - 1];
	struct evbuffer_ptr at;

	return len >= sizeof(end) &&
	       evbuffer_ptr_set(buffer, &at, len - sizeof(end), EVBUFFER_PTR_SET) == 0 &&
	       evbuffer_copyout_from(buffer, &at, end, sizeof(end)) ==
		       (ev_ssize_t)sizeof(end) &&
	       (memcmp(end, " HTTP/1.1", sizeof(end)) == 0 ||
		memcmp(end, " HTTP/1.0", sizeof(end)) == 0);
}

/* evhttp does not close after its answer to a CONNECT, and reads its body as the next
 * request without a callback. This line stays the checked one, so the rest is refused
 * with it. */
static bool begins_with_connect(struct evbuffer *buffer)
{
	char start[sizeof("CONNECT ") - 1];

	return evbuffer_copyout(buffer, start, sizeof(start)) ==
		       (ev_ssize_t)sizeof(start) &&
	       memcmp(start, "CONNECT ", sizeof(start)) == 0;
}

/* A request line begins with a method, a blank, and the path. */
static bool asks_in_tree(const struct neap_guard *guard, struct evbuffer *buffer)
{
	char start[64];
	ev_ssize_t n;
	const char *path;

	if (!guard->guards->tree)
		return false;
	n = evbuffer_copyout(buffer, start, sizeof(start) - 1);
	start[n > 0 ? n : 0] = '\0';
	path = strchr(start, ' ');
	return path && neap_http_tree_has(guard->guards->tree, path + 1);
}

void neap_guard_look_at_line(struct neap_guard *guard)
{
	struct evbuffer *buffer = bufferevent_get_input(guard->bev);
	/* Searches as evhttp does. */
	struct evbuffer_ptr end =
		evbuffer_search_eol(buffer, NULL, NULL, EVBUFFER_EOL_CRLF);

	guard->has_line = end.pos >= 0;
	guard->asks_in_tree = end.pos >= 0 && asks_in_tree(guard, buffer);
	guard->is_line_good = end.pos >= 0 && ends_in_version(buffer, (size_t)end.pos) &&
			      !begins_with_connect(buffer);
}

/* A NUL would end a header's value for evhttp, but not for a proxy in front. Most bodies
 * are text; in others NULs are subtracted (server.c). */
static size_t count_nuls(const char *data, size_t len)
{
	const char *end = data + len;
	size_t count = 0;

	while ((data = memchr(data, '\0', (size_t)(end - data)))) {
		count++;
		data++;
	}
	return count;
}

/* Checks the last len bytes of the buffer. */
static void look_through(struct neap_guard *guard, struct evbuffer *buffer, size_t len)
{
	struct evbuffer_iovec
		pieces[8]; /* libevent's 4 KB are two at most, the added read is one */
	struct evbuffer_ptr at;
	size_t size = evbuffer_get_length(buffer);
	int count, i;

	if (len > size || evbuffer_ptr_set(buffer, &at, size - len, EVBUFFER_PTR_SET) < 0)
		return;
	count = evbuffer_peek(buffer, (ev_ssize_t)len, &at, pieces, 8);
	for (i = 0; i < count && i < 8; i++) {
		guard->nuls += count_nuls(pieces[i].iov_base, pieces[i].iov_len);
		if (!guard->has_line &&
		    memchr(pieces[i].iov_base, '\n', pieces[i].iov_len))
			neap_guard_look_at_line(guard);
		if (!guard->share)
			scan(guard, pieces[i].iov_base, pieces[i].iov_len);
	}
}

/* After a full read of libevent there is mostly more to read. 4 KB at a time, 200 KB
 * would take 50 turns of the loop with three system calls each. The connection's end and
 * errors are left to libevent. */
static void read_on(struct neap_guard *guard, struct evbuffer *buffer)
{
	int fd = bufferevent_getfd(guard->bev), there = 0;
	struct evbuffer_iovec space;
	ssize_t n;

	if (ioctl(fd, FIONREAD, &there) < 0 || there <= 0)
		return;
	there = there < READ_ON_MAX ? there : READ_ON_MAX;
	if (evbuffer_reserve_space(buffer, there, &space, 1) != 1)
		return;
	n = recv(fd, space.iov_base, (size_t)there, MSG_DONTWAIT);
	if (n <= 0)
		return;
	space.iov_len = (size_t)n;
	guard->is_reading_on = true;
	(void)evbuffer_commit_space(buffer, &space, 1); /* counted like all input */
	guard->is_reading_on = false;
}

static size_t largest(const struct neap_guard *guard)
{
	return guard->asks_in_tree ? NEAP_HTTP_REQUEST_LARGE_MAX : NEAP_HTTP_REQUEST_MAX;
}

/* The requests of one user that are being received. */
static bool is_over_share(const struct neap_guard *guard)
{
	return neap_guard_rank(guard) == NEAP_HTTP_RANK_USER &&
	       guard->share->unfinished > NEAP_HTTP_UNFINISHED_USER_MAX;
}

/* Limit for all clients together with this one, so that users leave room for admins, and
 * admins for root. */
static size_t all_unfinished(const struct neap_guard *guard)
{
	switch (neap_guard_rank(guard)) {
	case NEAP_HTTP_RANK_LOCAL:
		return NEAP_HTTP_UNFINISHED_MAX + NEAP_HTTP_UNFINISHED_RESERVE;
	case NEAP_HTTP_RANK_ADMIN:
		return NEAP_HTTP_UNFINISHED_MAX + NEAP_HTTP_UNFINISHED_RESERVE / 2;
	default:
		return NEAP_HTTP_UNFINISHED_MAX;
	}
}

void neap_guard_input_changed(struct evbuffer *buffer,
			      const struct evbuffer_cb_info *info, void *arg)
{
	struct neap_guard *guard = arg;
	struct neap_guards *guards = guard->guards;

	if (!info->n_added || guard->is_refused)
		return;
	guards->last = guard;
	if (guard->is_admitted) {
		TAILQ_REMOVE(&guards->list, guard, next);
		TAILQ_INSERT_TAIL(&guards->list, guard, next);
	}
	if (guard->is_tls && !guard->is_greeted)
		neap_guard_handshake_done(guard);
	if (!guard->is_tls && !guard->unfinished && neap_guard_is_handshake(buffer)) {
		tell_plain(guard);
		neap_guard_refuse(guard);
		return;
	}
	if (!guard->since.tv_sec)
		event_base_gettimeofday_cached(guards->base, &guard->since);
	neap_guard_set_unfinished(guard, guard->unfinished + info->n_added);
	if (guard->is_stream && guard->unfinished > STREAM_INPUT_MAX) {
		neap_guard_refuse(guard);
		return;
	}
	look_through(guard, buffer, info->n_added);
	if (guard->is_refused)
		return;
	if (!guard->share && guard->unfinished > NEAP_HTTP_UNFINISHED_UNKNOWN_MAX) {
		tell_unknown(guard);
		neap_guard_refuse(guard);
		return;
	}
	neap_guards_make_room(guards);
	if (guard->unfinished > largest(guard)) {
		tell_too_large(guard, largest(guard));
		neap_guard_refuse(guard);
	} else if (is_over_share(guard) || guards->unfinished > all_unfinished(guard)) {
		tell_busy(guard);
		neap_guard_refuse(guard);
	} else if (info->n_added >= LIBEVENT_READ_MAX && guard->asks_in_tree &&
		   guard->share && !guard->is_tls && !guard->is_reading_on) {
		read_on(guard, buffer);
	}
}

/* --- header forms ---
 *
 * Header forms used for request smuggling; evhttp accepts most of them. Each is a row of
 * t/test_http.c that expects a 400. */

bool neap_http_is_token(const char *text)
{
	static const char others[] = "!#$%&'*+-.^_`|~";
	const char *c;

	for (c = text; *c; c++)
		if (!(*c >= '0' && *c <= '9') && !(*c >= 'A' && *c <= 'Z') &&
		    !(*c >= 'a' && *c <= 'z') && !strchr(others, *c))
			return false;
	return c > text;
}

static int refused(struct neap_error *err, const char *why)
{
	return neap_error_set(err, NEAP_EINVAL, "refused: %s", why);
}

/* evhttp accepts a CR before a blank, and everything but CR and LF. */
static bool has_control(const char *value)
{
	for (; *value; value++)
		if (((unsigned char)*value < ' ' && *value != '\t') || *value == 0x7f)
			return true;
	return false;
}

enum kind { HOST, LENGTH, ENCODING, AUTHORIZATION, KIND_COUNT };

static const char *const names[KIND_COUNT] = {
	[HOST] = "Host",
	[LENGTH] = "Content-Length",
	[ENCODING] = "Transfer-Encoding",
	[AUTHORIZATION] = "Authorization",
};

static enum kind kind_of(const char *name)
{
	int kind;

	/* Other headers seldom start with these letters. */
	if (!strchr("HhCcTtAa", *name))
		return KIND_COUNT;
	for (kind = 0; kind < KIND_COUNT; kind++)
		if (evutil_ascii_strcasecmp(name, names[kind]) == 0)
			break;
	return (enum kind)kind;
}

static int check_value(enum kind kind, const char *value, struct neap_error *err)
{
	switch (kind) {
	case HOST:
		if (value[strspn(value, "abcdefghijklmnopqrstuvwxyz"
					"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					"0123456789.-_:[]%")])
			return refused(err, "a Host that is no name and port");
		return 0;
	case LENGTH:
		if (!*value || value[strspn(value, "0123456789")])
			return refused(err, "a Content-Length that is not all digits");
		return 0;
	case ENCODING:
		if (evutil_ascii_strcasecmp(value, "chunked") != 0)
			return refused(err, "a Transfer-Encoding other than chunked");
		return 0;
	default:
		return 0;
	}
}

static int check_together(const struct evhttp_request *request, const int *counts,
			  bool has_length, struct neap_error *err)
{
	int kind;

	for (kind = 0; kind < KIND_COUNT; kind++)
		if (counts[kind] > 1)
			return neap_error_set(err, NEAP_EINVAL,
					      "refused: %s more than once", names[kind]);
	if (counts[LENGTH] && counts[ENCODING])
		return refused(err, "Content-Length beside Transfer-Encoding");
	if (counts[ENCODING] && !request->minor)
		return refused(err, "Transfer-Encoding in HTTP/1.0");
	if (!counts[HOST] && request->minor)
		return refused(err, "no Host");
	/* evhttp reads the body of a HEAD as the next request. */
	if (request->type == EVHTTP_REQ_HEAD && (has_length || counts[ENCODING]))
		return refused(err, "a HEAD with a body");
	return 0;
}

int neap_guard_check_headers(struct evhttp_request *request, bool *ret_is_last,
			     struct neap_error *err)
{
	const struct evkeyval *header;
	int counts[KIND_COUNT + 1] = {0};
	bool has_length = false; /* a length over 0 */
	size_t size = 0;

	TAILQ_FOREACH(header, evhttp_request_get_input_headers(request), next)
	{
		enum kind kind = kind_of(header->key);

		/* evhttp checks its limit only for incomplete lines. */
		size += strlen(header->key) + strlen(header->value) + 4;
		if (size > NEAP_HTTP_HEADER_MAX)
			return refused(err, "headers over 16 KiB");
		if (!neap_http_is_token(header->key))
			return refused(err,
				       "a header name with other than token characters");
		if (has_control(header->value))
			return refused(err, "a control character in a header");
		counts[kind]++;
		if (check_value(kind, header->value, err) < 0)
			return -NEAP_EINVAL;
		if (kind == LENGTH && header->value[strspn(header->value, "0")])
			has_length = true;
	}
	if (check_together(request, counts, has_length, err) < 0)
		return -NEAP_EINVAL;
	/* evhttp reads "0x5", "+5" and "5 6" as chunk sizes, and does not check the line
	 * end after a chunk. */
	*ret_is_last = counts[ENCODING] > 0;
	return 0;
}
