/* SPDX-License-Identifier: Apache-2.0
 *
 * Cleaning, measuring and cutting of texts for a terminal. */
#include "api/ctl/text.h"

#include <string.h>
#include <wchar.h>

/* The character at text: its length in bytes, 0 for what is no UTF-8. */
static size_t decode(const char *text, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *c = (const unsigned char *)text;
	size_t len = 1, i;

	*ret = c[0];
	if (c[0] < 0x80)
		return 1;
	if (c[0] < 0xc2 || c[0] > 0xf4)
		return 0;
	len = c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
	*ret = c[0] & (0xffU >> (len + 1));
	for (i = 1; i < len; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
		*ret = *ret << 6 | (c[i] & 0x3f);
	}
	if (*ret < least[len] || *ret > 0x10ffff || (*ret >= 0xd800 && *ret <= 0xdfff))
		return 0;
	return len;
}

static bool is_harmful(uint32_t point)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{0x00, 0x1f},     {0x7f, 0x9f},     {0x061c, 0x061c}, {0x200b, 0x200f},
		{0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xe0000, 0xe007f},
	};
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(ranges); i++)
		if (point >= ranges[i].first && point <= ranges[i].last)
			return true;
	return false;
}

/* Bytes of kept stay as they are. */
static void clean(struct neap_buf *out, const char *text, const char *kept)
{
	uint32_t point;
	size_t len;

	for (; *text; text += len > 0 ? len : 1) {
		len = decode(text, &point);
		if (strchr(kept, *text) != NULL)
			neap_buf_addc(out, *text);
		else if (len == 0 || is_harmful(point))
			neap_buf_addc(out, '?');
		else
			neap_buf_add(out, text, len);
	}
}

void neap_text_add_clean(struct neap_buf *out, const char *text, bool keep_lines)
{
	clean(out, text, keep_lines ? "\n" : "");
}

void neap_text_add_source(struct neap_buf *out, const char *text)
{
	clean(out, text, "\n\t");
}

static int columns_of(uint32_t point)
{
	int columns = wcwidth((wchar_t)point);

	return columns < 0 ? 1 : columns;
}

int neap_text_columns(const char *text)
{
	int columns = 0;
	uint32_t point;
	size_t len;

	for (; *text; text += len > 0 ? len : 1) {
		len = decode(text, &point);
		columns += columns_of(point);
	}
	return columns;
}

void neap_text_add_cut(struct neap_buf *out, const char *text, int columns)
{
	uint32_t point;
	size_t len;
	int used = 0;

	if (neap_text_columns(text) <= columns) {
		neap_buf_adds(out, text);
		return;
	}
	for (; *text; text += len) {
		len = decode(text, &point);
		if (len == 0 || used + columns_of(point) > columns - 1)
			break;
		used += columns_of(point);
		neap_buf_add(out, text, len);
	}
	if (columns > 0)
		neap_buf_addc(out, '~');
}

/* Bytes at text that make one line: to the last blank that fits, or as many as fit. */
static size_t line_fit(const char *text, int columns)
{
	size_t len, at = 0, blank = 0;
	uint32_t point;
	int used = 0;

	while (text[at]) {
		len = decode(text + at, &point);
		len += len == 0;
		used += columns_of(point);
		if (text[at] == ' ')
			blank = at;
		else if (used > columns && at > 0)
			return blank > 0 ? blank : at;
		at += len;
	}
	return at;
}

void neap_text_add_wrapped(struct neap_buf *out, const char *text, int columns,
			   int indent)
{
	size_t len;

	for (;;) {
		len = line_fit(text, columns);
		neap_buf_add(out, text, len);
		text += len;
		text += strspn(text, " ");
		if (!*text)
			return;
		neap_buf_addf(out, "\n%*s", indent, "");
	}
}
