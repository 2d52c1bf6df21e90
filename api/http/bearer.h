/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens in an Authorization header. */
#ifndef NEAP_API_HTTP_BEARER_H
#define NEAP_API_HTTP_BEARER_H

#include "api/http/server.h"

/* Whether the header's value is "Bearer " and the token; false if token is NULL or empty. Takes the
 * same time whatever the difference; the length of what was given may show. */
bool neap_bearer_is_right(const char *token, const char *value);
/* What stands behind "Bearer "; NULL when it does not begin so. */
const char *neap_bearer_text(const char *value);

/* What tokens are good for. */
struct neap_bearers {
	const char *token; /* of the admin; may be NULL */
	struct neap_tokens *tokens;
	const struct neap_grants *grants;
};

/* Whose token value is, with the role that the user has (NEAP_HTTP_ANYBODY: none); false: nobody's. *ret_user is
 * borrowed from the tokens. */
bool neap_bearers_find(const struct neap_bearers *bearers, const char *value,
		       enum neap_http_role *ret_role,
		       const struct neap_http_user **ret_user);

#endif
