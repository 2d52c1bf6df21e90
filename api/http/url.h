/* SPDX-License-Identifier: Apache-2.0
 *
 * Strict percent decoding of paths and queries: malformed escapes, NUL, control
 * characters and encoded slashes in a path are errors. */
#ifndef NEAP_API_HTTP_URL_H
#define NEAP_API_HTTP_URL_H

#include "engine/base/error.h"

/* Decodes in place; the text only gets shorter. is_query: "+" is a blank, and "%2F" is
 * allowed. */
int neap_url_decode(char *text, bool is_query, struct neap_error *err);
/* Splits "a=1&b=2" in place into decoded pairs. Returns the number of pairs, at most
 * max. */
int neap_url_query_parse(char *query, const char **names, const char **values, int max,
			 struct neap_error *err);

#endif
