/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/users/bearer.h"

#include <string.h>
#include <strings.h>

#include "api/http/users/grants.h"
#include "api/http/users/tokens.h"

static const char *const admin_groups[] = {"system:masters"};
static const struct neap_http_user admin = {"neap:admin", admin_groups, 1};

const char *neap_bearer_text(const char *value)
{
	return strncasecmp(value, "Bearer ", 7) == 0 ? value + 7 : NULL;
}

bool neap_bearer_is_right(const char *token, const char *value)
{
	size_t want_len, given_len, i;
	unsigned char difference;

	value = neap_bearer_text(value);
	if (!token || !*token || !value)
		return false;
	want_len = strlen(token);
	given_len = strlen(value);
	difference = want_len != given_len;
	for (i = 0; i < given_len; i++)
		difference |= (unsigned char)(value[i] ^ token[i % want_len]);
	return !difference;
}

bool neap_bearers_find(const struct neap_bearers *bearers, const char *value,
		       enum neap_http_role *ret_role,
		       const struct neap_http_user **ret_user)
{
	const char *text = neap_bearer_text(value);
	const struct neap_http_user *user;

	if (!text)
		return false;
	if (neap_bearer_is_right(bearers->token, value)) {
		*ret_role = NEAP_HTTP_ADMIN;
		*ret_user = &admin;
		return true;
	}
	user = neap_tokens_find(bearers->tokens, text, strlen(text));
	if (!user)
		return false;
	*ret_role = neap_grants_find_user(bearers->grants, user);
	*ret_user = user;
	return true;
}
