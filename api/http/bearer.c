/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/bearer.h"

#include <string.h>
#include <strings.h>

bool neap_bearer_is_right(const char *token, const char *value)
{
	size_t want_len, given_len, i;
	unsigned char difference;

	if (!token || !*token || strncasecmp(value, "Bearer ", 7) != 0)
		return false;
	value += 7;
	want_len = strlen(token);
	given_len = strlen(value);
	difference = want_len != given_len;
	for (i = 0; i < given_len; i++)
		difference |= (unsigned char)(value[i] ^ token[i % want_len]);
	return !difference;
}
