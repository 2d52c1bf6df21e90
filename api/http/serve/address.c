/* SPDX-License-Identifier: Apache-2.0
 *
 * The address of a request. */
#include <event2/http.h>
#include <event2/util.h>
#include <string.h>

#include "api/http/serve/server_priv.h"
#include "api/http/url.h"
#include "engine/base/mem.h"

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
