/* SPDX-License-Identifier: Apache-2.0
 *
 * UTF-8, a character at a time. */
#include "engine/base/utf8.h"

size_t neap_utf8_next(const char *text, size_t left, uint32_t *ret_code)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t min;
	} forms[] = {{0x80, 0, 0},
		     {0xe0, 0xc0, 0x80},
		     {0xf0, 0xe0, 0x800},
		     {0xf8, 0xf0, 0x10000}};
	const unsigned char *s = (const unsigned char *)text;
	uint32_t code;

	for (size_t n = 0; n < NEAP_ARRAY_LEN(forms) && n < left; n++) {
		if ((s[0] & forms[n].mask) != forms[n].lead)
			continue;
		code = s[0] & (unsigned char)~forms[n].mask;
		for (size_t i = 1; i <= n; i++) {
			if ((s[i] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (s[i] & 0x3f);
		}
		if (code < forms[n].min || code > 0x10ffff ||
		    (code >= 0xd800 && code <= 0xdfff))
			return 0;
		if (ret_code)
			*ret_code = code;
		return n + 1;
	}
	return 0;
}

bool neap_utf8_is_valid(const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = neap_utf8_next(text + i, len - i, NULL);

		if (!n)
			return false;
		i += n;
	}
	return true;
}
