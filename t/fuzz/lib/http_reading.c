/* SPDX-License-Identifier: Apache-2.0 */
#include "t/fuzz/lib/http_reading.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/base/mem.h"

struct cursor {
	const char *at, *end;
};

/* The line without its end; false when it is not there whole. */
static bool take_line(struct cursor *c, const char **ret, size_t *ret_len)
{
	const char *end = memchr(c->at, '\n', (size_t)(c->end - c->at));

	if (!end)
		return false;
	*ret = c->at;
	*ret_len = (size_t)(end - c->at);
	if (*ret_len && (*ret)[*ret_len - 1] == '\r')
		--*ret_len;
	c->at = end + 1;
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_name(const char *text, size_t len)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < len; i++)
		if (!(text[i] >= '0' && text[i] <= '9') &&
		    !(text[i] >= 'A' && text[i] <= 'Z') &&
		    !(text[i] >= 'a' && text[i] <= 'z') &&
		    (!text[i] || !strchr(others, text[i])))
			return false;
	return len > 0;
}

struct head {
	int minor;
	int hosts, lengths, encodings, tokens;
	size_t length;
};

static bool read_version(const char *at, const char *end, int *ret_minor)
{
	static const char start[] = "HTTP/1.";
	size_t len = sizeof(start) - 1;

	if ((size_t)(end - at) != len + 1 || memcmp(at, start, len) != 0 ||
	    (at[len] != '0' && at[len] != '1'))
		return false;
	*ret_minor = at[len] - '0';
	return true;
}

static bool read_first(const char *line, size_t len, struct http_read_request *request,
		       struct head *head)
{
	const char *blank = memchr(line, ' ', len), *version = line + len;
	size_t method_len = blank ? (size_t)(blank - line) : 0;

	while (version > line && version[-1] != ' ')
		version--;
	if (!blank || version - 1 <= blank || method_len >= sizeof(request->method) ||
	    !read_version(version, line + len, &head->minor))
		return false;
	memcpy(request->method, line, method_len);
	request->target = blank + 1;
	request->target_len = (size_t)(version - 1 - request->target);
	if (request->target_len > 7 && strncasecmp(request->target, "http://", 7) == 0) {
		const char *path = request->target + 7;

		while (path < version - 1 && !strchr("/?#", *path))
			path++;
		request->target_len = (size_t)(version - 1 - path);
		request->target = path;
	}
	return request->target_len && request->target[0] == '/' &&
	       !memchr(request->target, ' ', request->target_len);
}

/* Content-Length: digits only, and not more than there can be. */
static bool read_length(const char *text, size_t len, size_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9' || *ret > 100000000)
			return false;
		*ret = *ret * 10 + (size_t)(text[i] - '0');
	}
	return len > 0;
}

/* *ret_matters: it decides about framing, so that a value that goes on in the next line
 * ends the reading. */
static bool read_header(const char *line, size_t len, struct head *head,
			bool *ret_matters)
{
	const char *colon = memchr(line, ':', len), *value;
	size_t name_len, value_len;

	if (!colon)
		return false;
	name_len = (size_t)(colon - line);
	value = colon + 1;
	value_len = len - name_len - 1;
	while (value_len && is_blank(*value)) {
		value++;
		value_len--;
	}
	while (value_len && is_blank(value[value_len - 1]))
		value_len--;
	*ret_matters = false;
	if (!is_name(line, name_len))
		return false;
	if (name_len == 4 && strncasecmp(line, "Host", 4) == 0)
		return ++head->hosts == 1;
	if (name_len == 13 && strncasecmp(line, "Authorization", 13) == 0)
		return ++head->tokens == 1;
	*ret_matters = true;
	if (name_len == 14 && strncasecmp(line, "Content-Length", 14) == 0)
		return ++head->lengths == 1 &&
		       read_length(value, value_len, &head->length);
	if (name_len == 17 && strncasecmp(line, "Transfer-Encoding", 17) == 0)
		return ++head->encodings == 1 && value_len == 7 &&
		       strncasecmp(value, "chunked", 7) == 0;
	*ret_matters = false;
	return true;
}

static bool read_head(struct cursor *c, struct http_read_request *request,
		      struct head *head)
{
	const char *line;
	bool matters = true; /* no header yet to go on with */
	size_t len;

	if (!take_line(c, &line, &len) || !read_first(line, len, request, head))
		return false;
	for (;;) {
		if (!take_line(c, &line, &len))
			return false;
		if (!len)
			break;
		for (size_t i = 0; i < len; i++)
			if (((unsigned char)line[i] < ' ' && line[i] != '\t') ||
			    line[i] == 127)
				return false;
		if (is_blank(line[0])) {
			if (matters)
				return false;
			continue;
		}
		if (!read_header(line, len, head, &matters))
			return false;
	}
	if (head->encodings && (head->lengths || !head->minor))
		return false;
	if (!head->hosts && head->minor)
		return false;
	return strcmp(request->method, "HEAD") != 0 ||
	       (!head->length && !head->encodings);
}

/* False when it is cut off or not as the standard has it. */
static bool read_chunks(struct cursor *c, struct http_read_request *request)
{
	const char *line;
	size_t len;

	request->body = malloc((size_t)(c->end - c->at) + 1);
	if (!request->body)
		abort();
	for (;;) {
		size_t size = 0, digits = 0;

		if (!take_line(c, &line, &len))
			return false;
		for (; digits < len && digits < 6; digits++) {
			static const char hex[] = "0123456789abcdefABCDEF";
			const char *at = line[digits] ? strchr(hex, line[digits]) : NULL;

			if (!at)
				break;
			size = size * 16 +
			       (size_t)(at - hex > 15 ? at - hex - 6 : at - hex);
		}
		if (!digits || (digits < len && line[digits] != ';'))
			return false;
		if (!size)
			break;
		if ((size_t)(c->end - c->at) < size + 1)
			return false;
		memcpy(request->body + request->body_len, c->at, size);
		request->body_len += size;
		c->at += size;
		if (!take_line(c, &line, &len) || len)
			return false;
	}
	while (take_line(c, &line, &len))
		if (!len)
			return true;
	return false;
}

void http_reading_make(struct http_reading *reading, const char *bytes, size_t len)
{
	const char *nul = len ? memchr(bytes, '\0', len) : NULL;
	struct cursor c = {bytes, nul ? nul : bytes + len};

	memset(reading, 0, sizeof(*reading));
	while (c.at < c.end && reading->count < HTTP_READING_MAX) {
		struct http_read_request *request = &reading->requests[reading->count];
		struct head head = {0};

		memset(request, 0, sizeof(*request));
		if (!read_head(&c, request, &head))
			return;
		reading->count++;
		if (head.encodings) {
			request->is_chunked = true;
			request->has_body = read_chunks(&c, request);
			return; /* nothing behind it is read */
		}
		if ((size_t)(c.end - c.at) < head.length) {
			reading->count--;
			return;
		}
		request->body = malloc(head.length + 1);
		if (!request->body)
			abort();
		memcpy(request->body, c.at, head.length);
		request->body_len = head.length;
		request->has_body = true;
		c.at += head.length;
	}
}

void http_reading_done(struct http_reading *reading)
{
	for (size_t i = 0; i < HTTP_READING_MAX; i++)
		free(reading->requests[i].body);
	memset(reading, 0, sizeof(*reading));
}
