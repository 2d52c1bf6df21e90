/* SPDX-License-Identifier: Apache-2.0
 *
 * Cleans, measures and cuts texts for a terminal. */
#include "api/ctl/draw/text.h"

#include <string.h>
#include <wchar.h>

#include "engine/base/utf8.h"

/* Decodes the character at text: returns its length in bytes, 0 for invalid UTF-8. */
static size_t decode(const char *text, uint32_t *ret)
{
	*ret = (unsigned char)*text;
	return neap_utf8_next(text, SIZE_MAX, ret);
}

/* Bytes of kept stay as they are. */
static void clean(struct neap_buf *out, const char *text, const char *kept)
{
	char escaped[NEAP_UTF8_ESCAPE];
	size_t len;

	for (; *text; text += len) {
		len = neap_utf8_escape(text, escaped);
		if (*escaped && strchr(kept, *text) == NULL)
			neap_buf_adds(out, escaped);
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
