/* SPDX-License-Identifier: Apache-2.0
 *
 * Roles by name. */
#include <string.h>

#include "api/http/server.h"

static const char *const names[] = {
	[NEAP_HTTP_UNSET] = "",        [NEAP_HTTP_ANYBODY] = "nobody",
	[NEAP_HTTP_VIEWER] = "viewer", [NEAP_HTTP_OPERATOR] = "operator",
	[NEAP_HTTP_ADMIN] = "admin",
};

const char *neap_http_role_name(enum neap_http_role role)
{
	return names[role];
}

int neap_http_role_parse(const char *text, enum neap_http_role *ret,
			 struct neap_error *err)
{
	enum neap_http_role role;

	for (role = NEAP_HTTP_VIEWER; role <= NEAP_HTTP_ADMIN; role++)
		if (strcmp(names[role], text) == 0) {
			*ret = role;
			return 0;
		}
	return neap_error_set(err, NEAP_EINVAL,
			      "'%.40s' is no role: there are viewer, operator, admin",
			      text);
}
