/* SPDX-License-Identifier: Apache-2.0
 *
 * Path patterns of routes. "{name}" stands for one segment, never empty; a trailing "*" for the rest,
 * which may be empty; everything else for itself. They are matched against decoded paths, in which
 * every slash is one that the client sent as a slash. */
#ifndef NEAP_API_HTTP_ROUTE_H
#define NEAP_API_HTTP_ROUTE_H

#include <stddef.h>

#include "engine/base/base.h"

#define NEAP_ROUTE_SEGMENT_MAX 4

/* What a pattern took from the path it matched; points into that path. */
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
/* Starts with a slash, closed braces that fill a segment, few enough, a star only at the end. */
bool neap_route_is_pattern(const char *pattern);

#endif
