/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens in an Authorization header. */
#ifndef NEAP_API_HTTP_USERS_BEARER_H
#define NEAP_API_HTTP_USERS_BEARER_H

#include "api/http/server.h"

/* Returns whether the header's value is "Bearer " plus the token; false if token is NULL
 * or empty. Constant time for equal lengths; the length of the given token may show. */
bool neap_bearer_is_right(const char *token, const char *value);
/* Returns the text after "Bearer "; NULL when value does not start so. */
const char *neap_bearer_text(const char *value);

/* The accepted tokens. */
struct neap_bearers {
	const char *token; /* the admin token; may be NULL */
	struct neap_tokens *tokens;
	const struct neap_grants *grants;
};

/* Finds the token's user and role (NEAP_HTTP_ANYBODY: none); false: unknown token.
 * *ret_user is borrowed from the tokens. */
bool neap_bearers_find(const struct neap_bearers *bearers, const char *value,
		       enum neap_http_role *ret_role,
		       const struct neap_http_user **ret_user);

#endif
