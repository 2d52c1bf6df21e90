/* SPDX-License-Identifier: Apache-2.0
 *
 * The address of a request: decoding it, and the route that it matches. */
#include <event2/http.h>
#include <event2/util.h>
#include <string.h>

#include "api/http/serve/address.h"
#include "api/http/serve/server_priv.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"

/* Finds path and query in the request line, literally. evhttp_uri reads "//x/y" as the
 * path "/y" of a host x; a second reading could let a refused path through. */
static int find_path(const char *uri, const char **ret_path, size_t *ret_len,
		     const char **ret_query, struct neap_error *err)
{
	static const char scheme[] = "http://";
	const char *path = uri;
	size_t len;

	if (evutil_ascii_strncasecmp(uri, scheme, sizeof(scheme) - 1) == 0) {
		path = uri + sizeof(scheme) - 1;
		path += strcspn(path, "/?#");
	}
	if (*path != '/') {
		neap_error_set(err, NEAP_EINVAL, "refused: an address without a path");
		return -NEAP_EINVAL;
	}
	if (path[strcspn(path, " \t#")]) {
		neap_error_set(err, NEAP_EINVAL,
			       "refused: a blank or a '#' in the address");
		return -NEAP_EINVAL;
	}
	len = strcspn(path, "?");
	*ret_path = path;
	*ret_len = len;
	*ret_query = path[len] ? path + len + 1 : "";
	return 0;
}

int neap_http_read_address(struct neap_http_request *request, struct neap_error *err)
{
	const char *uri = evhttp_request_get_uri(request->ev), *path, *query;
	size_t len;
	int count;

	if (!uri)
		return neap_error_nomem(err);
	if (find_path(uri, &path, &len, &query, err) < 0)
		return -NEAP_EINVAL;
	request->path = neap_strndup(path, len);
	request->query = *query ? neap_strdup(query) : NULL;
	if (!request->path || (*query && !request->query))
		return neap_error_nomem(err);
	if (neap_url_decode(request->path, false, err) < 0)
		return -NEAP_EINVAL;
	count = neap_url_query_parse(request->query, request->names, request->values,
				     NEAP_HTTP_QUERY_MAX, err);
	if (count < 0)
		return count;
	request->query_count = count;
	return 0;
}

/* --- decoding --- */

int neap_url_decode(char *text, bool is_query, struct neap_error *err)
{
	const char *from = text;
	char *to = text;

	while (*from) {
		unsigned char c = (unsigned char)*from++;

		if (c == '+' && is_query) {
			c = ' ';
		} else if (c == '%') {
			int high = neap_text_hex(from[0]);
			int low = high < 0 ? -1 : neap_text_hex(from[1]);

			if (low < 0)
				return neap_error_set(
					err, NEAP_EINVAL,
					"a '%%' in the address is not followed by "
					"two hex digits");
			c = (unsigned char)(high << 4 | low);
			from += 2;
			if (c == '/' && !is_query)
				return neap_error_set(err, NEAP_EINVAL,
						      "an encoded slash in a path");
		}
		if (c < 0x20 || c == 0x7f)
			return neap_error_set(err, NEAP_EINVAL,
					      "a control character in the address");
		*to++ = (char)c;
	}
	*to = '\0';
	return 0;
}

int neap_url_query_parse(char *query, const char **names, const char **values, int max,
			 struct neap_error *err)
{
	int count = 0;

	while (query && *query) {
		char *item = strsep(&query, "&");
		char *value = strchr(item, '=');

		if (!*item)
			continue;
		if (count == max)
			return neap_error_set(err, NEAP_EINVAL,
					      "more than %d query parameters", max);
		if (value)
			*value++ = '\0';
		else
			value = item + strlen(item); /* "?dryRun": present and empty */
		if (neap_url_decode(item, true, err) < 0 ||
		    neap_url_decode(value, true, err) < 0)
			return -NEAP_EINVAL;
		names[count] = item;
		values[count++] = value;
	}
	return count;
}

/* --- routes --- */

bool neap_route_match(const char *pattern, const char *path,
		      struct neap_route_match *ret_match)
{
	struct neap_route_match match = {.rest = ""};

	while (*pattern) {
		if (*pattern == '*') {
			match.rest = path;
			*ret_match = match;
			return true;
		}
		if (*pattern == '{') {
			size_t len = strcspn(path, "/");

			if (!len || match.count == NEAP_ROUTE_SEGMENT_MAX)
				return false;
			match.segments[match.count].start = path;
			match.segments[match.count++].len = len;
			path += len;
			pattern += strcspn(pattern, "/");
			continue;
		}
		if (*pattern++ != *path++)
			return false;
	}
	if (*path)
		return false;
	*ret_match = match;
	return true;
}

bool neap_http_tree_has(const struct neap_http_tree *tree, const char *path)
{
	const char *const *own;

	for (own = tree ? tree->paths : NULL; own && *own; own++) {
		size_t len = strlen(*own);

		if (strncmp(path, *own, len) == 0 &&
		    (!path[len] || strchr("/? ", path[len])))
			return true;
	}
	return false;
}

bool neap_route_is_pattern(const char *pattern)
{
	const char *c;
	int count = 0;

	if (*pattern != '/')
		return false;
	for (c = pattern; *c; c++) {
		if (*c == '*' && c[1])
			return false;
		if (*c == '}')
			return false; /* the "}" of "{name}" is skipped below */
		if (*c != '{')
			continue;
		if (c[-1] != '/' || ++count > NEAP_ROUTE_SEGMENT_MAX)
			return false;
		c += strcspn(c, "/}");
		if (*c != '}' || (c[1] && c[1] != '/'))
			return false;
	}
	return true;
}
