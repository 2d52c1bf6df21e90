/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens of users, from a file as Kubernetes has it for static tokens: a line for each, in CSV,
 *     TOKEN,USER,UID[,"GROUP1,GROUP2"]
 * of which only the SHA-256 of the token is kept. */
#ifndef NEAP_API_HTTP_TOKENS_H
#define NEAP_API_HTTP_TOKENS_H

#include "api/http/server.h"

#define NEAP_TOKENS_MAX     1000
#define NEAP_TOKEN_MIN      16
#define NEAP_TOKEN_MAX      200
#define NEAP_TOKEN_FILE_MAX (1024 * 1024)

struct neap_tokens;

/* The file must be closed to others, and belong to root or own_uid. Errors begin with "--token-file FILE", and
 * name the line. An empty file is a table without rows. */
int neap_tokens_load(const char *file, uid_t own_uid, struct neap_tokens **ret,
		     struct neap_error *err);
/* The same from text, which is overwritten; name: for messages. */
int neap_tokens_parse(char *text, size_t len, const char *name, struct neap_tokens **ret,
		      struct neap_error *err);
struct neap_tokens *neap_tokens_ref(struct neap_tokens *tokens); /* of NULL: NULL */
void neap_tokens_unref(struct neap_tokens *tokens);              /* NULL is fine */
size_t neap_tokens_count(const struct neap_tokens *tokens);
/* Whose token it is, borrowed from tokens (which may be NULL); NULL: nobody's. Takes the same time whichever
 * it is, and for none. */
const struct neap_http_user *neap_tokens_find(const struct neap_tokens *tokens,
					      const char *token, size_t len);

#endif
