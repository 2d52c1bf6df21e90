/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/users/grants.h"

#include <errno.h>
#include <pwd.h>
#include <stdint.h>
#include <string.h>

#include "api/http/server.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"

/* --- roles ---
 *
 * Role names, and the anonymous user. */

static const char *const names[] = {
	[NEAP_HTTP_UNSET] = "",        [NEAP_HTTP_ANYBODY] = "nobody",
	[NEAP_HTTP_READER] = "reader", [NEAP_HTTP_NODE] = "node",
	[NEAP_HTTP_EDITOR] = "editor", [NEAP_HTTP_ADMIN] = "admin",
};

const char *neap_http_role_name(enum neap_http_role role)
{
	return names[role];
}

/* Parses one of the four grantable roles. */
static int neap_http_role_parse(const char *text, enum neap_http_role *ret,
				struct neap_error *err)
{
	enum neap_http_role role;

	for (role = NEAP_HTTP_READER; role <= NEAP_HTTP_ADMIN; role++)
		if (strcmp(names[role], text) == 0) {
			*ret = role;
			return 0;
		}
	return neap_error_set(err, NEAP_EINVAL,
			      "'%.40s' is no role: there are reader, editor, admin, node",
			      text);
}

static const char *const strangers[] = {"system:unauthenticated"};
const struct neap_http_user neap_http_anonymous = {"system:anonymous", strangers, 1};

const char *neap_http_user_standing(const struct neap_http_user *user)
{
	return user == &neap_http_anonymous ? strangers[0] : "system:authenticated";
}

/* --- grants --- */

static int account_find(const char *account, uid_t *ret, struct neap_error *err)
{
	const struct passwd *entry;
	int64_t number;

	if (neap_int_parse(account, &number, NULL) == 0 && number >= 0 &&
	    number < UINT32_MAX) {
		*ret = (uid_t)number;
		return 0;
	}
	errno = 0;
	entry = getpwnam(account);
	if (!entry && errno == ENOMEM)
		return neap_error_nomem(err);
	if (!entry)
		return neap_error_set(err, NEAP_ENOTFOUND,
				      "unix:%.60s: there is no such account here: give "
				      "its name or its uid",
				      account);
	*ret = entry->pw_uid;
	return 0;
}

static int take_name(struct neap_grant *row, const char *what, const char *name,
		     struct neap_error *err)
{
	if (*name && neap_strcopy(row->name, sizeof(row->name), name))
		return 0;
	return neap_error_set(err, NEAP_EINVAL, "the %s's name must have 1 to %zu bytes",
			      what, sizeof(row->name) - 1);
}

static int parse_who(struct neap_grant *row, const char *who, struct neap_error *err)
{
	if (strcmp(who, "anonymous") == 0) {
		row->to = NEAP_GRANT_ANONYMOUS;
		return 0;
	}
	if (strncmp(who, "user:", 5) == 0) {
		row->to = NEAP_GRANT_USER;
		return take_name(row, "user", who + 5, err);
	}
	if (strncmp(who, "group:", 6) == 0) {
		row->to = NEAP_GRANT_GROUP;
		return take_name(row, "group", who + 6, err);
	}
	if (strncmp(who, "unix:", 5) == 0) {
		row->to = NEAP_GRANT_UNIX;
		if (take_name(row, "account", who + 5, err) < 0)
			return -(int)err->code;
		return account_find(row->name, &row->uid, err);
	}
	return neap_error_set(err, NEAP_EINVAL,
			      "'%.60s' is nobody: there are user:NAME, group:NAME, "
			      "unix:ACCOUNT and anonymous",
			      who);
}

/* A node needs a name, and anonymous clients must not be admins. */
static int check_row(const struct neap_grant *row, struct neap_error *err)
{
	if (row->role == NEAP_HTTP_NODE &&
	    (row->to == NEAP_GRANT_UNIX || row->to == NEAP_GRANT_ANONYMOUS))
		return neap_error_set(err, NEAP_EINVAL,
				      "the role node is for user:NAME and group:NAME "
				      "only: the user's name says which node it is");
	if (row->role == NEAP_HTTP_ADMIN && row->to == NEAP_GRANT_ANONYMOUS)
		return neap_error_set(err, NEAP_EINVAL,
				      "anonymous can be reader or editor, not admin");
	return 0;
}

/* who: "user:NAME", "group:NAME", "unix:ACCOUNT" (a name or uid), "anonymous". Accounts
 * are resolved at once. */
static int neap_grants_add(struct neap_grants *grants, const char *role, const char *who,
			   struct neap_error *err)
{
	struct neap_grant row = {0};
	struct neap_error unheard;

	if (!err)
		err = &unheard;
	if (neap_http_role_parse(role, &row.role, err) < 0 ||
	    parse_who(&row, who, err) < 0 || check_row(&row, err) < 0)
		return -(int)err->code;
	if (grants->count == NEAP_GRANTS_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "more than %d grants",
				      NEAP_GRANTS_MAX);
	grants->rows[grants->count++] = row;
	return 0;
}

int neap_grants_parse(struct neap_grants *grants, const char *text,
		      struct neap_error *err)
{
	const char *who = strchr(text, '=');
	char role[16];

	if (!who || (size_t)(who - text) >= sizeof(role))
		return neap_error_set(err, NEAP_EINVAL,
				      "'%.60s' grants nothing: give for example "
				      "editor=user:alice or reader=group:developers",
				      text);
	memcpy(role, text, (size_t)(who - text));
	role[who - text] = '\0';
	return neap_grants_add(grants, role, who + 1, err);
}

bool neap_grants_need_users(const struct neap_grants *grants)
{
	for (int i = 0; i < grants->count; i++)
		if (grants->rows[i].to == NEAP_GRANT_USER ||
		    grants->rows[i].to == NEAP_GRANT_GROUP)
			return true;
	return false;
}

static bool is_for(const struct neap_grant *row, const struct neap_http_user *user)
{
	if (row->to == NEAP_GRANT_USER)
		return strcmp(row->name, user->name) == 0;
	if (row->to != NEAP_GRANT_GROUP)
		return false;
	for (int i = 0; i < user->group_count; i++)
		if (strcmp(row->name, user->groups[i]) == 0)
			return true;
	return false;
}

enum neap_http_role neap_grants_find_user(const struct neap_grants *grants,
					  const struct neap_http_user *user)
{
	enum neap_http_role role = NEAP_HTTP_ANYBODY;

	for (int i = 0; grants && i < grants->count; i++)
		if (grants->rows[i].role > role && is_for(&grants->rows[i], user))
			role = grants->rows[i].role;
	return role;
}

enum neap_http_role neap_grants_find_unix(const struct neap_grants *grants, uid_t uid)
{
	enum neap_http_role role = NEAP_HTTP_ANYBODY;

	for (int i = 0; grants && i < grants->count; i++)
		if (grants->rows[i].to == NEAP_GRANT_UNIX && grants->rows[i].uid == uid &&
		    grants->rows[i].role > role)
			role = grants->rows[i].role;
	return role;
}

enum neap_http_role neap_grants_find_anonymous(const struct neap_grants *grants)
{
	enum neap_http_role role = NEAP_HTTP_ANYBODY;

	for (int i = 0; grants && i < grants->count; i++)
		if (grants->rows[i].to == NEAP_GRANT_ANONYMOUS &&
		    grants->rows[i].role > role)
			role = grants->rows[i].role;
	return role;
}

/* Returns the end of the text in to. */
static char *put(char *to, const char *text)
{
	size_t len = strlen(text) + 1;

	memcpy(to, text, len);
	return to + len;
}

struct neap_http_user *neap_http_user_new(const char *name, const char *const *groups,
					  int group_count)
{
	int count =
		group_count < NEAP_USER_GROUPS_MAX ? group_count : NEAP_USER_GROUPS_MAX;
	size_t size = sizeof(struct neap_http_user) + (size_t)count * sizeof(*groups) +
		      strlen(name) + 1;
	struct neap_http_user *user;
	const char **list;
	char *text;

	for (int i = 0; i < count; i++)
		size += strlen(groups[i]) + 1;
	user = neap_alloc(size);
	if (!user)
		return NULL;
	list = (const char **)(user + 1);
	text = (char *)(list + count);
	user->name = text;
	user->groups = list;
	user->group_count = count;
	text = put(text, name);
	for (int i = 0; i < count; i++) {
		list[i] = text;
		text = put(text, groups[i]);
	}
	return user;
}
