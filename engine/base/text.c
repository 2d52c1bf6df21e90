/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/text.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/utf8.h"

#define DISTANCE_MAX 64

int neap_text_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool neap_text_is_in(const char *text, const char *const *list)
{
	for (; list && *list; list++)
		if (strcmp(*list, text) == 0)
			return true;
	return false;
}

bool neap_text_starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t neap_text_distance(const char *a, const char *b)
{
	size_t row[DISTANCE_MAX + 1];
	size_t a_len = strnlen(a, DISTANCE_MAX), b_len = strnlen(b, DISTANCE_MAX);

	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t above = row[j];

			row[j] = least(least(above, row[j - 1]) + 1,
				       corner + (a[i - 1] != b[j - 1]));
			corner = above;
		}
	}
	return row[b_len];
}

bool neap_text_is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

int neap_text_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* --- UTF-8 ---
 *
 * UTF-8, a character at a time. */

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

void neap_utf8_mend(char *text)
{
	if (neap_utf8_is_valid(text, strlen(text)))
		return;
	for (; *text; text++) {
		if (*text & 0x80)
			*text = '?';
	}
}

/* Returns whether the character acts on a terminal, changes how neighbouring text reads,
 * or is invisible: control characters (C0, C1, DEL), direction marks, line separators,
 * joiners, zero-width characters, tags. */
static bool neap_utf8_is_hidden(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{0x00, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},
		{0x34f, 0x34f},     {0x600, 0x605},     {0x61c, 0x61c},
		{0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x115f, 0x1160},
		{0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},
		{0x2028, 0x202e},   {0x2060, 0x206f},   {0x3164, 0x3164},
		{0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
		{0xfff0, 0xfffb},   {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
		{0xe0000, 0xe0fff},
	};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(ranges); i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

size_t neap_utf8_escape(const char *text, char to[NEAP_UTF8_ESCAPE])
{
	static const char from[] = "\n\t\r", name[] = "ntr";
	const char *at = strchr(from, *text);
	uint32_t code = 0;
	/* The NUL at the end is not a continuation byte, so nothing after it is read. */
	size_t len = neap_utf8_next(text, SIZE_MAX, &code);

	to[0] = '\0';
	if (at)
		(void)snprintf(to, NEAP_UTF8_ESCAPE, "\\%c", name[at - from]);
	else if (!len || (code < 0x80 && neap_utf8_is_hidden(code)))
		(void)snprintf(to, NEAP_UTF8_ESCAPE, "\\x%02x", (unsigned char)*text);
	else if (neap_utf8_is_hidden(code))
		(void)snprintf(to, NEAP_UTF8_ESCAPE,
			       code < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)code);
	return len ? len : 1;
}
