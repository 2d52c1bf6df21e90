/* SPDX-License-Identifier: Apache-2.0
 *
 * Percent decoding of paths and queries, strict: a malformed escape, a NUL, a control character or
 * an encoded slash in a path is an error, never passed on. */
#ifndef NEAP_API_HTTP_URL_H
#define NEAP_API_HTTP_URL_H

#include "engine/base/error.h"

/* In place; the text only gets shorter. is_query: "+" is a blank, and "%2F" is allowed. */
int neap_url_decode(char *text, bool is_query, struct neap_error *err);
/* Cuts "a=1&b=2" in place into pairs and decodes them. Returns the number of pairs, at most max. */
int neap_url_query_parse(char *query, const char **names, const char **values, int max,
			 struct neap_error *err);

#endif
