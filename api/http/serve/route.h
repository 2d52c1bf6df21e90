/* SPDX-License-Identifier: Apache-2.0
 *
 * Path patterns of routes. "{name}" matches one non-empty segment, a trailing "*" the
 * possibly empty rest, and anything else itself. Matching uses decoded paths, in which
 * every slash was a literal slash of the client. */
#ifndef NEAP_API_HTTP_SERVE_ROUTE_H
#define NEAP_API_HTTP_SERVE_ROUTE_H

#include <stddef.h>

#include "engine/base/base.h"

#define NEAP_ROUTE_SEGMENT_MAX 4

/* What a pattern matched; points into the path. */
struct neap_route_match {
	const char *rest; /* "" without a star */
	int count;
	struct {
		const char *start;
		size_t len;
	} segments[NEAP_ROUTE_SEGMENT_MAX];
};

/* *ret_match is written on success only. */
bool neap_route_match(const char *pattern, const char *path,
		      struct neap_route_match *ret_match);
/* Checks a pattern: starts with a slash, "{}" fills a segment, few enough, a star only at
 * the end. */
bool neap_route_is_pattern(const char *pattern);

#endif
