/* SPDX-License-Identifier: Apache-2.0
 *
 * Header forms used for request smuggling; evhttp accepts most of them. Each is a row of
 * t/test_http.c that expects a 400. */
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <string.h>
#include <sys/queue.h>

#include "api/http/serve/guard.h"
#include "api/http/serve/server_priv.h"

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
