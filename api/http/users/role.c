/* SPDX-License-Identifier: Apache-2.0
 *
 * Role names, and the anonymous user. */
#include <string.h>

#include "api/http/server.h"

static const char *const names[] = {
	[NEAP_HTTP_UNSET] = "",        [NEAP_HTTP_ANYBODY] = "nobody",
	[NEAP_HTTP_READER] = "reader", [NEAP_HTTP_NODE] = "node",
	[NEAP_HTTP_EDITOR] = "editor", [NEAP_HTTP_ADMIN] = "admin",
};

const char *neap_http_role_name(enum neap_http_role role)
{
	return names[role];
}

int neap_http_role_parse(const char *text, enum neap_http_role *ret,
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
