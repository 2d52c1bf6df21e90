/* SPDX-License-Identifier: Apache-2.0 */
#include "api/extender/scan.h"

#include <endian.h>
#include <string.h>

void neap_json_scan_init(struct neap_json_scan *scan, const char *text, size_t len)
{
	*scan = (struct neap_json_scan){.at = text, .end = text + len, .start = text};
}

bool neap_json_scan_fail(struct neap_json_scan *scan, const char *wrong)
{
	if (!scan->wrong)
		scan->wrong = wrong;
	return false;
}

int neap_json_scan_error(const struct neap_json_scan *scan, struct neap_error *err)
{
	return neap_error_set(err, NEAP_EINVAL, "byte %zu: %s",
			      (size_t)(scan->at - scan->start),
			      scan->wrong ? scan->wrong : "not what was expected");
}

int neap_json_scan_peek(struct neap_json_scan *scan)
{
	if (scan->wrong)
		return 0;
	while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\n' ||
					*scan->at == '\t' || *scan->at == '\r'))
		scan->at++;
	return scan->at < scan->end ? (unsigned char)*scan->at : 0;
}

bool neap_json_scan_is_end(struct neap_json_scan *scan)
{
	(void)neap_json_scan_peek(scan);
	return !scan->wrong && (scan->at == scan->end ||
				neap_json_scan_fail(scan, "more behind the value"));
}

static bool take_word(struct neap_json_scan *scan, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(scan->end - scan->at) < len || memcmp(scan->at, word, len) != 0)
		return neap_json_scan_fail(scan, "not JSON");
	scan->at += len;
	return true;
}

bool neap_json_scan_open(struct neap_json_scan *scan, char open, const char *expected)
{
	int next = neap_json_scan_peek(scan);

	if (next == 'n') {
		(void)take_word(scan, "null");
		return false;
	}
	if (next != open)
		return neap_json_scan_fail(scan, expected);
	scan->at++;
	return true;
}

bool neap_json_scan_more(struct neap_json_scan *scan, char close, size_t *count)
{
	int next = neap_json_scan_peek(scan);

	if (next == close) {
		scan->at++;
		return false;
	}
	if (!next)
		return neap_json_scan_fail(scan, "it ends too early");
	if ((*count)++ == 0)
		return true;
	if (next != ',')
		return neap_json_scan_fail(scan,
					   "neither a comma nor the end of the value");
	scan->at++;
	return true;
}

static bool is_hex(int c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* At the backslash; the text ends in NUL, so that no byte behind it is looked at. */
static bool skip_escape(struct neap_json_scan *scan)
{
	scan->at++;
	if (*scan->at == 'u') {
		for (int i = 1; i <= 4; i++)
			if (!is_hex((unsigned char)scan->at[i]))
				return neap_json_scan_fail(scan, "a wrong escape");
		scan->at += 5;
		return true;
	}
	if (!*scan->at || !strchr("\"\\/bfnrt", *scan->at))
		return neap_json_scan_fail(scan, "a wrong escape");
	scan->at++;
	return true;
}

/* In each byte of a word. */
#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The high bits of the bytes that a string does not simply go on with: quotes,
 * backslashes, control characters. Only the lowest is to be gone by, as subtraction
 * carries into those above. */
static uint64_t find_special(uint64_t word)
{
	uint64_t quotes = word ^ EACH('"'), slashes = word ^ EACH('\\');

	return ((quotes - EACH(1)) & ~quotes & EACH(0x80)) |
	       ((slashes - EACH(1)) & ~slashes & EACH(0x80)) |
	       ((word - EACH(' ')) & ~word & EACH(0x80));
}

/* Skips ordinary bytes, eight at a time where possible; the NUL after the text ends
 * it. */
static const char *skip_plain_bytes(const char *at, const char *end)
{
	while (end - at >= 8) {
		uint64_t word, special;

		memcpy(&word, at, sizeof(word));
		special = find_special(le64toh(word));
		if (special)
			return at + __builtin_ctzll(special) / 8;
		at += 8;
	}
	while ((unsigned char)*at >= ' ' && *at != '"' && *at != '\\')
		at++;
	return at;
}

bool neap_json_scan_string(struct neap_json_scan *scan, struct neap_text *ret)
{
	const char *start, *at;

	if (neap_json_scan_peek(scan) != '"')
		return neap_json_scan_fail(scan, "a string is expected");
	start = at = scan->at + 1;
	for (;;) {
		at = skip_plain_bytes(at, scan->end);
		if (*at == '"')
			break;
		scan->at = at;
		if (*at != '\\')
			return neap_json_scan_fail(scan, "a string without an end, or a "
							 "control character in it");
		if (!skip_escape(scan))
			return false;
		at = scan->at;
	}
	if (ret)
		*ret = (struct neap_text){start, (size_t)(at - start)};
	scan->at = at + 1;
	return true;
}

size_t neap_json_scan_strings(struct neap_json_scan *scan, size_t *count,
			      struct neap_text *ret, size_t most)
{
	size_t n = 0;

	while (n < most) {
		const char *at = scan->at, *end;

		/* As programs write lists: nothing but a comma between two strings
		 * without escapes. */
		if (*count && !scan->wrong && at[0] == ',' && at[1] == '"') {
			end = skip_plain_bytes(at + 2, scan->end);
			if (*end == '"') {
				ret[n++] = (struct neap_text){at + 2,
							      (size_t)(end - at - 2)};
				scan->at = end + 1;
				(*count)++;
				continue;
			}
		}
		if (!neap_json_scan_more(scan, ']', count) ||
		    !neap_json_scan_string(scan, &ret[n]))
			break;
		n++;
	}
	return n;
}

bool neap_json_scan_key(struct neap_json_scan *scan, struct neap_text *ret)
{
	if (!neap_json_scan_string(scan, ret))
		return false;
	if (neap_json_scan_peek(scan) != ':')
		return neap_json_scan_fail(scan, "a colon is expected");
	scan->at++;
	return true;
}

static bool skip_digits(struct neap_json_scan *scan)
{
	const char *start = scan->at;

	while (*scan->at >= '0' && *scan->at <= '9')
		scan->at++;
	return scan->at > start || neap_json_scan_fail(scan, "not a number");
}

static bool skip_number(struct neap_json_scan *scan)
{
	if (*scan->at == '-')
		scan->at++;
	if (*scan->at == '0')
		scan->at++;
	else if (!skip_digits(scan))
		return false;
	if (*scan->at == '.') {
		scan->at++;
		if (!skip_digits(scan))
			return false;
	}
	if (*scan->at == 'e' || *scan->at == 'E') {
		scan->at++;
		if (*scan->at == '+' || *scan->at == '-')
			scan->at++;
		return skip_digits(scan);
	}
	return true;
}

static bool skip_plain(struct neap_json_scan *scan, int first)
{
	switch (first) {
	case '"':
		return neap_json_scan_string(scan, NULL);
	case 't':
		return take_word(scan, "true");
	case 'f':
		return take_word(scan, "false");
	case 'n':
		return take_word(scan, "null");
	default:
		if (first == '-' || (first >= '0' && first <= '9'))
			return skip_number(scan);
		return neap_json_scan_fail(scan, "a value is expected");
	}
}

/* Not recursive: closers holds what is open. */
bool neap_json_scan_value(struct neap_json_scan *scan, struct neap_text *ret)
{
	char closers[NEAP_SCAN_DEPTH_MAX];
	size_t counts[NEAP_SCAN_DEPTH_MAX], depth = 0;
	int next = neap_json_scan_peek(scan);
	const char *start = scan->at;

	for (;; next = neap_json_scan_peek(scan)) {
		if (next == '{' || next == '[') {
			if (depth == NEAP_SCAN_DEPTH_MAX)
				return neap_json_scan_fail(scan, "nested too deep");
			closers[depth] = next == '{' ? '}' : ']';
			counts[depth++] = 0;
			scan->at++;
		} else if (!skip_plain(scan, next)) {
			return false;
		}
		while (depth && !neap_json_scan_more(scan, closers[depth - 1],
						     &counts[depth - 1])) {
			if (scan->wrong)
				return false;
			depth--;
		}
		if (!depth)
			break;
		if (closers[depth - 1] == '}' && !neap_json_scan_key(scan, NULL))
			return false;
	}
	if (ret)
		*ret = (struct neap_text){start, (size_t)(scan->at - start)};
	return true;
}

bool neap_text_is_key(const struct neap_text *text, const char *name)
{
	size_t i;

	for (i = 0; i < text->len && name[i]; i++) {
		char c = text->at[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (c != name[i])
			return false;
	}
	return i == text->len && !name[i];
}

bool neap_text_name(const struct neap_text *text, char *buf, size_t size)
{
	if (!text->len || text->len >= size)
		return false;
	for (size_t i = 0; i < text->len; i++) {
		char c = text->at[i];

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
		      c == '.' || (c >= 'A' && c <= 'Z') || c == '_' || c == ':'))
			return false;
		buf[i] = c;
	}
	buf[text->len] = '\0';
	return true;
}
