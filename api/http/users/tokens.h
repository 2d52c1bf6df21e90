/* SPDX-License-Identifier: Apache-2.0
 *
 * User tokens, from a file in the static token format of Kubernetes, one CSV line each:
 *    TOKEN,USER,UID[,"GROUP1,GROUP2"]
 * Only the SHA-256 of each token is kept. */
#ifndef NEAP_API_HTTP_USERS_TOKENS_H
#define NEAP_API_HTTP_USERS_TOKENS_H

#include "api/http/server.h"

#define NEAP_TOKENS_MAX     1000
#define NEAP_TOKEN_MIN      16
#define NEAP_TOKEN_MAX      200
#define NEAP_TOKEN_FILE_MAX (1024 * 1024)

struct neap_tokens;

/* The file must not be accessible to others and must belong to root or own_uid. Errors
 * start with "--token-file FILE" and name the line. An empty file gives an empty
 * table. */
int neap_tokens_load(const char *file, uid_t own_uid, struct neap_tokens **ret,
		     struct neap_error *err);
/* The same from text, which is overwritten; name: for messages. */
int neap_tokens_parse(char *text, size_t len, const char *name, struct neap_tokens **ret,
		      struct neap_error *err);
struct neap_tokens *neap_tokens_ref(struct neap_tokens *tokens); /* of NULL: NULL */
void neap_tokens_unref(struct neap_tokens *tokens);              /* NULL is fine */
size_t neap_tokens_count(const struct neap_tokens *tokens);
/* Returns the token's user, borrowed from tokens (may be NULL); NULL: unknown. Takes the
 * same time for every token, known or not. */
const struct neap_http_user *neap_tokens_find(const struct neap_tokens *tokens,
					      const char *token, size_t len);

/* --- bearers ---
 *
 * Tokens in an Authorization header. */

/* Returns whether the header's value is "Bearer " plus the token; false if token is NULL
 * or empty. Constant time for equal lengths; the length of the given token may show. */
bool neap_bearer_is_right(const char *token, const char *value);

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
