/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/serve/route.h"

#include "api/http/serve/server_priv.h"

#include <string.h>

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
