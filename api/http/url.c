/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/url.h"

#include <string.h>

#include "engine/base/text.h"

int neap_url_decode(char *text, bool is_query, struct neap_error *err)
{
	const char *from = text;
	char *to = text;

	while (*from) {
		unsigned char c = (unsigned char)*from++;

		if (c == '+' && is_query) {
			c = ' ';
		} else if (c == '%') {
			int high = neap_text_hex(from[0]);
			int low = high < 0 ? -1 : neap_text_hex(from[1]);

			if (low < 0)
				return neap_error_set(
					err, NEAP_EINVAL,
					"a '%%' in the address is not followed by "
					"two hex digits");
			c = (unsigned char)(high << 4 | low);
			from += 2;
			if (c == '/' && !is_query)
				return neap_error_set(err, NEAP_EINVAL,
						      "an encoded slash in a path");
		}
		if (c < 0x20 || c == 0x7f)
			return neap_error_set(err, NEAP_EINVAL,
					      "a control character in the address");
		*to++ = (char)c;
	}
	*to = '\0';
	return 0;
}

int neap_url_query_parse(char *query, const char **names, const char **values, int max,
			 struct neap_error *err)
{
	int count = 0;

	while (query && *query) {
		char *item = strsep(&query, "&");
		char *value = strchr(item, '=');

		if (!*item)
			continue;
		if (count == max)
			return neap_error_set(err, NEAP_EINVAL,
					      "more than %d query parameters", max);
		if (value)
			*value++ = '\0';
		else
			value = item + strlen(item); /* "?dryRun": present and empty */
		if (neap_url_decode(item, true, err) < 0 ||
		    neap_url_decode(value, true, err) < 0)
			return -NEAP_EINVAL;
		names[count] = item;
		values[count++] = value;
	}
	return count;
}
