/* SPDX-License-Identifier: Apache-2.0
 *
 * Who has which role. A user is what a certificate (CN, each O a group) or a line of a token file says; an
 * account of this machine is known by the uid of its end of the unix socket. Root, the daemon's own user and
 * the token in DATA_DIR are admins without a grant. */
#ifndef NEAP_API_HTTP_GRANTS_H
#define NEAP_API_HTTP_GRANTS_H

#include "api/http/server.h"

#define NEAP_GRANTS_MAX 64
/* X.509 allows a common name 64 characters, of up to 4 bytes each. */
#define NEAP_GRANT_NAME_SIZE 260
/* Of one user; those behind it count for nothing. */
#define NEAP_USER_GROUPS_MAX 32
/* Before the name of a node in the user name that it goes by. */
#define NEAP_NODE_USER_PREFIX "system:node:"

enum neap_grant_to {
	NEAP_GRANT_USER,
	NEAP_GRANT_GROUP,
	NEAP_GRANT_UNIX,
	NEAP_GRANT_ANONYMOUS /* who shows nothing at all, and whom no other row names */
};

struct neap_grant {
	enum neap_http_role role;
	enum neap_grant_to to;
	uid_t uid; /* of NEAP_GRANT_UNIX */
	char name[NEAP_GRANT_NAME_SIZE];
};

/* Zeroed memory is one without rows. */
struct neap_grants {
	struct neap_grant rows[NEAP_GRANTS_MAX];
	int count;
};

/* who: "user:NAME", "group:NAME", "unix:ACCOUNT" (a name or a uid), "anonymous". Accounts are looked up here
 * and now. */
int neap_grants_add(struct neap_grants *grants, const char *role, const char *who,
		    struct neap_error *err);
/* "ROLE=WHO" */
int neap_grants_parse(struct neap_grants *grants, const char *text,
		      struct neap_error *err);
/* Some row needs users or groups, which only certificates and token files have. */
bool neap_grants_need_users(const struct neap_grants *grants);

/* The highest role that the rows give; NEAP_HTTP_ANYBODY: none. grants may be NULL. */
enum neap_http_role neap_grants_find_user(const struct neap_grants *grants,
					  const struct neap_http_user *user);
enum neap_http_role neap_grants_find_unix(const struct neap_grants *grants, uid_t uid);
enum neap_http_role neap_grants_find_anonymous(const struct neap_grants *grants);

/* One block with everything in it, to be freed with free(3). At most NEAP_USER_GROUPS_MAX groups are taken.
 * NULL without memory. */
struct neap_http_user *neap_http_user_new(const char *name, const char *const *groups,
					  int group_count);

#endif
