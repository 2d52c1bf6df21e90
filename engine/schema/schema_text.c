/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/schema/schema_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/base/mem.h"

/* A letter beyond ASCII counts as one. */
static bool is_letter(char c)
{
	return isalpha((unsigned char)c) || (unsigned char)c >= 0x80;
}

static bool is_alnum(char c)
{
	return is_letter(c) || isdigit((unsigned char)c);
}

/* --- names of machines --- */

static bool is_label(const char *text, size_t len)
{
	if (len == 0 || len > 63 || !is_alnum(text[0]) || !is_alnum(text[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_alnum(text[i]) && text[i] != '-')
			return false;
	return true;
}

static bool is_only_label(const char *text, size_t len)
{
	if (!is_label(text, len))
		return false;
	for (size_t i = 2; i < len; i++)
		if (text[i] == '-')
			return false;
	return true;
}

bool schema_text_is_hostname(const char *text, size_t len)
{
	const char *end = text + len, *dot;

	if (len > 253)
		return false;
	if (!strchr(text, '.'))
		return is_only_label(text, len);
	for (; (dot = strchr(text, '.')); text = dot + 1)
		if (!is_label(text, (size_t)(dot - text)))
			return false;
	if (end - text < 2 || end - text > 63)
		return false;
	for (; text < end; text++)
		if (!is_letter(*text))
			return false;
	return true;
}

/* --- addresses --- */

static bool is_atom_char(char c)
{
	return is_alnum(c) || strchr("!#$%&'*+-/=?^_`{|}~", c);
}

/* Atoms with a dot between; its end, NULL: there is none. */
static const char *dot_atom(const char *s)
{
	for (;; s++) {
		const char *from = s;

		while (*s && is_atom_char(*s))
			s++;
		if (s == from)
			return NULL;
		if (*s != '.')
			return s;
	}
}

/* From a quotation mark to the next one; behind it, NULL: there is none. */
static const char *quoted(const char *s)
{
	for (s++; *s && *s != '"'; s++)
		if (*s == '\\' && s[1])
			s++;
	return *s ? s + 1 : NULL;
}

static const char *address(const char *s)
{
	s = *s == '"' ? quoted(s) : dot_atom(s);
	return s && *s == '@' ? dot_atom(s + 1) : NULL;
}

bool schema_text_is_email(const char *text, size_t len)
{
	const char *s = text, *end;

	while (s && *s && *s != '<')
		s = *s == '"' ? quoted(s) : s + 1;
	if (!s)
		return false;
	if (*s == '<') {
		end = address(s + 1);
		return end && *end == '>' && end + 1 == text + len;
	}
	end = address(text + strspn(text, " \t"));
	return end && end + strspn(end, " \t") == text + len;
}

/* "%41"; any other character of a path or host is allowed, except those in bad. */
static bool is_escaped(const char *text, size_t len, const char *bad)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '%' &&
		    (i + 2 >= len || !isxdigit((unsigned char)text[i + 1]) ||
		     !isxdigit((unsigned char)text[i + 2])))
			return false;
		if (strchr(bad, text[i]))
			return false;
	}
	return true;
}

static bool is_host(const char *text, size_t len)
{
	const char *at = memrchr(text, '@', len), *colon, *closes;

	if (at) {
		len -= (size_t)(at + 1 - text);
		text = at + 1;
	}
	colon = memrchr(text, ':', len);
	if (len && *text == '[') {
		closes = memrchr(text, ']', len);
		if (!closes)
			return false;
		colon = closes + 1 < text + len ? closes + 1 : NULL;
		if (colon && *colon != ':')
			return false;
	}
	if (colon) {
		for (const char *s = colon + 1; s < text + len; s++)
			if (!isdigit((unsigned char)*s))
				return false;
		len = (size_t)(colon - text);
	}
	return is_escaped(text, len, " \\^`{|}");
}

bool schema_text_is_uri(const char *text, size_t len)
{
	size_t scheme = 0, host, path;

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	if (strcmp(text, "*") == 0)
		return true;
	if (isalpha((unsigned char)text[0]) && (unsigned char)text[0] < 0x80)
		while (isalnum((unsigned char)text[scheme]) ||
		       (text[scheme] && strchr("+-.", text[scheme])))
			scheme++;
	if (text[0] == ':')
		return false;
	scheme = text[scheme] == ':' ? scheme + 1 : 0;
	if (text[scheme] != '/')
		return scheme > 0;
	path = scheme;
	if (scheme && text[scheme + 1] == '/') {
		host = strcspn(text + scheme + 2, "/?");
		if (!is_host(text + scheme + 2, host))
			return false;
		path = scheme + 2 + host;
	}
	return is_escaped(text + path, strcspn(text + path, "?"), "");
}

/* --- times --- */

/* Nanoseconds of a unit, by one of its names or by what begins as the longest; 0: it is
 * none. */
static double unit_of(const char *text, size_t len)
{
	static const struct {
		const char *name;
		double nsec;
		bool begins;
	} units[] = {
		{"ns", 1, false},         {"nano", 1, true},
		{"us", 1e3, false},       {"\302\265s", 1e3, false},
		{"micro", 1e3, true},     {"ms", 1e6, false},
		{"milli", 1e6, true},     {"s", 1e9, false},
		{"sec", 1e9, true},       {"m", 6e10, false},
		{"min", 6e10, true},      {"h", 3.6e12, false},
		{"hr", 3.6e12, false},    {"hour", 3.6e12, true},
		{"d", 8.64e13, false},    {"day", 8.64e13, true},
		{"w", 6.048e14, false},   {"wk", 6.048e14, false},
		{"week", 6.048e14, true},
	};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(units); i++) {
		size_t size = strlen(units[i].name);

		if ((units[i].begins ? len >= size : len == size) &&
		    strncasecmp(text, units[i].name, size) == 0)
			return units[i].nsec;
	}
	return 0;
}

bool schema_text_is_words_duration(const char *text, size_t len)
{
	const char *s = text, *end = text + len;
	double sum = 0;
	bool any = false;

	while (s < end) {
		size_t digits = strspn(s, "0123456789"), letters = 0;
		double count, nsec;

		if (digits == 0) {
			s++;
			continue;
		}
		count = (double)strtoull(s, NULL, 10);
		s += digits;
		s += strspn(s, " \t\r\n\f");
		while (isalpha((unsigned char)s[letters]) ||
		       strncmp(s + letters, "\302\265", 2) == 0)
			letters += (unsigned char)s[letters] < 0x80 ? 1 : 2;
		nsec = letters ? unit_of(s, letters) : 0;
		if (digits > 18 || count * nsec + sum >= 9.2e18)
			return false;
		sum += count * nsec;
		if (nsec > 0)
			any = true;
		s += letters;
	}
	return any;
}

/* --- digits --- */

/* 8-4-4-4-12 hexadecimal digits; the hyphens may be left out. version: the first digit of
 * the third part, 0: any. */
static bool is_uuid(const char *text, size_t len, char version, const char *variants)
{
	size_t digits = 0;

	for (size_t i = 0; i < len; i++) {
		char c = (char)tolower((unsigned char)text[i]);

		if (isxdigit((unsigned char)c)) {
			if ((digits == 12 && version && c != version) ||
			    (digits == 16 && variants && !strchr(variants, c)))
				return false;
			digits++;
			continue;
		}
		if (c != '-' || i == 0 || text[i - 1] == '-' ||
		    (digits != 8 && digits != 12 && digits != 16 && digits != 20))
			return false;
	}
	return digits == 32;
}

bool schema_text_is_uuid(const char *text, size_t len)
{
	return is_uuid(text, len, 0, NULL);
}

bool schema_text_is_uuid3(const char *text, size_t len)
{
	return is_uuid(text, len, '3', NULL);
}

bool schema_text_is_uuid4(const char *text, size_t len)
{
	return is_uuid(text, len, '4', "89ab");
}

bool schema_text_is_uuid5(const char *text, size_t len)
{
	return is_uuid(text, len, '5', "89ab");
}

static bool is_hex(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isxdigit((unsigned char)text[i]))
			return false;
	return true;
}

bool schema_text_is_hex_color(const char *text, size_t len)
{
	size_t from = *text == '#';

	return (len - from == 3 || len - from == 6) && is_hex(text + from, len - from);
}

bool schema_text_is_rgb_color(const char *text, size_t len)
{
	const char *s = text + 4;

	if (strncmp(text, "rgb(", 4) != 0)
		return false;
	for (int i = 0; i < 3; i++) {
		int value = 0, digits = 0;

		s += strspn(s, " \t\r\n\f");
		for (; isdigit((unsigned char)*s) && digits < 4; digits++, s++)
			value = value * 10 + (*s - '0');
		if (digits == 0 || value > 255 || (digits > 1 && s[-digits] == '0'))
			return false;
		s += strspn(s, " \t\r\n\f");
		if (*s++ != (i < 2 ? ',' : ')'))
			return false;
	}
	return s == text + len;
}

bool schema_text_is_bson_id(const char *text, size_t len)
{
	return len == 24 && is_hex(text, len);
}

bool schema_text_is_ssn(const char *text, size_t len)
{
	static const char form[] = "ddd-dd-dddd";

	if (len != sizeof(form) - 1)
		return false;
	for (size_t i = 0; i < len; i++)
		if (form[i] == 'd' ? !isdigit((unsigned char)text[i])
				   : text[i] != '-' && text[i] != ' ')
			return false;
	return true;
}
