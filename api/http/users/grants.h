/* SPDX-License-Identifier: Apache-2.0
 *
 * Who has which role. A user comes from a certificate (CN; each O is a group) or from a
 * line of a token file; a local account is the uid at the other end of the unix socket.
 * Root, the daemon's own user and the token in DATA_DIR are admins without a grant. */
#ifndef NEAP_API_HTTP_USERS_GRANTS_H
#define NEAP_API_HTTP_USERS_GRANTS_H

#include "api/http/server.h"

#define NEAP_GRANTS_MAX 64
/* X.509 allows a common name 64 characters, of up to 4 bytes each. */
#define NEAP_GRANT_NAME_SIZE 260
/* Of one user; further groups are ignored. */
#define NEAP_USER_GROUPS_MAX 32
/* Prefix of a node's user name. */
#define NEAP_NODE_USER_PREFIX "system:node:"

enum neap_grant_to {
	NEAP_GRANT_USER,
	NEAP_GRANT_GROUP,
	NEAP_GRANT_UNIX,
	NEAP_GRANT_ANONYMOUS /* clients without credentials that no other row matches */
};

struct neap_grant {
	enum neap_http_role role;
	enum neap_grant_to to;
	uid_t uid; /* of NEAP_GRANT_UNIX */
	char name[NEAP_GRANT_NAME_SIZE];
};

/* Zeroed memory is an empty table. */
struct neap_grants {
	struct neap_grant rows[NEAP_GRANTS_MAX];
	int count;
};

/* "ROLE=WHO" */
int neap_grants_parse(struct neap_grants *grants, const char *text,
		      struct neap_error *err);
/* Returns whether some row needs users or groups, which only certificates and token files
 * provide. */
bool neap_grants_need_users(const struct neap_grants *grants);

/* Returns the highest role granted; NEAP_HTTP_ANYBODY: none. grants may be NULL. */
enum neap_http_role neap_grants_find_user(const struct neap_grants *grants,
					  const struct neap_http_user *user);
enum neap_http_role neap_grants_find_unix(const struct neap_grants *grants, uid_t uid);
enum neap_http_role neap_grants_find_anonymous(const struct neap_grants *grants);

/* Returns one block that the caller frees with free(3), with at most NEAP_USER_GROUPS_MAX
 * groups. NULL without memory. */
struct neap_http_user *neap_http_user_new(const char *name, const char *const *groups,
					  int group_count);

#endif
