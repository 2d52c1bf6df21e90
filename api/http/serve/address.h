/* SPDX-License-Identifier: Apache-2.0
 *
 * Strict percent decoding of paths and queries: malformed escapes, NUL, control
 * characters and encoded slashes in a path are errors. */
#ifndef NEAP_API_HTTP_SERVE_ADDRESS_H
#define NEAP_API_HTTP_SERVE_ADDRESS_H

#include <stddef.h>

#include "engine/base/base.h"
#include "engine/base/error.h"

/* Decodes in place; the text only gets shorter. is_query: "+" is a blank, and "%2F" is
 * allowed. */
int neap_url_decode(char *text, bool is_query, struct neap_error *err);
/* Splits "a=1&b=2" in place into decoded pairs. Returns the number of pairs, at most
 * max. */
int neap_url_query_parse(char *query, const char **names, const char **values, int max,
			 struct neap_error *err);

/* --- routes ---
 *
 * Path patterns of routes. "{name}" matches one non-empty segment, a trailing "*" the
 * possibly empty rest, and anything else itself. Matching uses decoded paths, in which
 * every slash was a literal slash of the client. */

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
