/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats of strings, quantities and whole numbers; patterns. A text with NUL has no
 * format. */
#include <arpa/inet.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/quantity.h"
#include "engine/schema/schema_priv.h"
#include "engine/schema/schema_text.h"

/* Longer than any text of a format whose texts have a bound. */
#define SHORT_MAX 256

/* "T" and "Z" are capitals, as Go wants them. */
static bool is_time(const char *text, size_t len)
{
	struct neap_error err;
	int64_t usec;

	return len < SHORT_MAX && !strpbrk(text, "tz") &&
	       neap_time_parse(text, &usec, &err) == 0;
}

static bool is_micro_time(const char *text, size_t len)
{
	const char *point = strchr(text, '.');

	return is_time(text, len) && point && strspn(point + 1, "0123456789") == 6;
}

static bool is_date(const char *text, size_t len)
{
	char whole[32];

	if (len != 10)
		return false;
	memcpy(whole, text, len);
	memcpy(whole + len, "T00:00:00Z", sizeof("T00:00:00Z"));
	return is_time(whole, strlen(whole));
}

/* As Go reads durations: a sign, then numbers with units; or a single 0. In nanoseconds
 * it has to fit 64 bits; the sum is kept as a double, which is exact enough to tell. */
static bool is_duration(const char *text, size_t len)
{
	static const struct {
		const char *name;
		double nsec;
	} units[] = {
		{"ns", 1},   {"us", 1e3}, {"\302\265s", 1e3}, {"\316\274s", 1e3},
		{"ms", 1e6}, {"s", 1e9},  {"m", 6e10},        {"h", 3.6e12},
	};
	double sum = 0;
	const char *s = text;

	if (len >= SHORT_MAX)
		return false;
	s += *s == '-' || *s == '+';
	if (strcmp(s, "0") == 0)
		return true;
	if (*s == '\0')
		return false;
	while (*s != '\0') {
		size_t whole = strspn(s, "0123456789"), part = 0, unit, i;
		double number = strtod(s, NULL);

		/* Only digits and one point, so that strtod reads no "inf" and no
		 * hexadecimal. */
		if (s[whole] == '.')
			part = 1 + strspn(s + whole + 1, "0123456789");
		if (whole == 0 && part < 2)
			return false;
		s += whole + part;
		unit = strcspn(s, ".0123456789");
		for (i = 0; i < NEAP_ARRAY_LEN(units); i++)
			if (strlen(units[i].name) == unit &&
			    strncmp(units[i].name, s, unit) == 0)
				break;
		if (i == NEAP_ARRAY_LEN(units))
			return false;
		sum += number * units[i].nsec;
		s += unit;
	}
	return sum < 9223372036854775807.0;
}

static bool is_base64_char(char c)
{
	return isalnum((unsigned char)c) || c == '+' || c == '/';
}

/* With its padding; Go passes over ends of lines. */
static bool is_bytes(const char *text, size_t len)
{
	size_t count = 0, padding = 0, i;

	for (i = 0; i < len; i++) {
		if (text[i] == '\n' || text[i] == '\r')
			continue;
		if (text[i] == '=')
			padding++;
		else if (padding > 0 || !is_base64_char(text[i]))
			return false;
		count++;
	}
	return count % 4 == 0 && padding <= 2 && padding <= count;
}

static bool is_ipv4(const char *text, size_t len)
{
	struct in_addr address;

	return len < SHORT_MAX && inet_pton(AF_INET, text, &address) == 1;
}

static bool is_ipv6(const char *text, size_t len)
{
	struct in6_addr address;

	return len < SHORT_MAX && inet_pton(AF_INET6, text, &address) == 1;
}

static bool is_cidr(const char *text, size_t len)
{
	const char *slash = strchr(text, '/');
	char address[64];
	size_t address_len, digits;
	long bits;
	bool is_4;

	if (len >= sizeof(address) || !slash)
		return false;
	address_len = (size_t)(slash - text);
	memcpy(address, text, address_len);
	address[address_len] = '\0';
	is_4 = is_ipv4(address, address_len);
	if (!is_4 && !is_ipv6(address, address_len))
		return false;
	digits = strspn(slash + 1, "0123456789");
	if (digits == 0 || digits > 3 || slash[1 + digits] != '\0')
		return false;
	bits = strtol(slash + 1, NULL, 10);
	return bits <= (is_4 ? 32 : 128);
}

/* Six or eight pairs of hexadecimal digits between colons or hyphens, or fours between
 * dots. */
static bool is_mac(const char *text, size_t len)
{
	size_t i;

	for (i = 0; (len == 14 || len == 19) && i < len; i++)
		if (i % 5 == 4 ? text[i] != '.' : !isxdigit((unsigned char)text[i]))
			return false;
	if (len == 14 || len == 19)
		return true;
	if (len != 17 && len != 23)
		return false;
	for (i = 0; i < len; i++) {
		bool is_fine = i % 3 == 2 ? text[i] == text[2] && strchr(":-", text[i])
					  : isxdigit((unsigned char)text[i]) != 0;

		if (!is_fine)
			return false;
	}
	return true;
}

/* Declared kinds can name these. */
static bool is_any_duration(const char *text, size_t len)
{
	return is_duration(text, len) ||
	       (len < SHORT_MAX && schema_text_is_words_duration(text, len));
}

static const struct {
	const char *name;
	bool (*fits)(const char *text, size_t len);
} formats[] = {
	[NEAP_FORMAT_NONE] = {"", NULL},
	[NEAP_FORMAT_TIME] = {"date-time", is_time},
	[NEAP_FORMAT_MICRO_TIME] = {"date-time", is_micro_time},
	[NEAP_FORMAT_ANY_DURATION] = {"duration", is_any_duration},
	[NEAP_FORMAT_DURATION] = {"duration", is_duration},
	[NEAP_FORMAT_BYTES] = {"byte", is_bytes},
	[NEAP_FORMAT_INT32] = {"int32", NULL},
	[NEAP_FORMAT_DATE] = {"date", is_date},
	[NEAP_FORMAT_IPV4] = {"ipv4", is_ipv4},
	[NEAP_FORMAT_IPV6] = {"ipv6", is_ipv6},
	[NEAP_FORMAT_CIDR] = {"cidr", is_cidr},
	[NEAP_FORMAT_UUID] = {"uuid", schema_text_is_uuid},
	[NEAP_FORMAT_UUID3] = {"uuid3", schema_text_is_uuid3},
	[NEAP_FORMAT_UUID4] = {"uuid4", schema_text_is_uuid4},
	[NEAP_FORMAT_UUID5] = {"uuid5", schema_text_is_uuid5},
	[NEAP_FORMAT_MAC] = {"mac", is_mac},
	[NEAP_FORMAT_HOSTNAME] = {"hostname", schema_text_is_hostname},
	[NEAP_FORMAT_EMAIL] = {"email", schema_text_is_email},
	[NEAP_FORMAT_URI] = {"uri", schema_text_is_uri},
	[NEAP_FORMAT_HEX_COLOR] = {"hexcolor", schema_text_is_hex_color},
	[NEAP_FORMAT_RGB_COLOR] = {"rgbcolor", schema_text_is_rgb_color},
	[NEAP_FORMAT_BSON_ID] = {"bsonobjectid", schema_text_is_bson_id},
	[NEAP_FORMAT_SSN] = {"ssn", schema_text_is_ssn},
};

bool schema_format_fits(enum neap_schema_format format, const char *text, size_t len)
{
	if (!formats[format].fits)
		return true;
	return strlen(text) == len && formats[format].fits(text, len);
}

const char *schema_format_name(enum neap_schema_format format)
{
	return formats[format].name;
}

enum neap_schema_format schema_format_parse(const char *name)
{
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(formats); i++)
		if (strcmp(formats[i].name, name) == 0)
			return (enum neap_schema_format)i;
	return NEAP_FORMAT_NONE;
}

bool neap_schema_amount(const json_t *value, char buf[NEAP_QUANTITY_SIZE])
{
	const char *text = json_string_value(value);
	char number[64];

	if (json_is_integer(value)) {
		(void)snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT,
			       json_integer_value(value));
		text = number;
	} else if (json_is_real(value)) {
		text = schema_show_number(json_real_value(value), number, sizeof(number));
	} else if (!text || strlen(text) != json_string_length(value)) {
		return false;
	}
	return neap_quantity_canonical(text, buf, NULL) == 0;
}

bool schema_is_whole(const json_t *value, int64_t *ret)
{
	double real;

	if (json_is_integer(value)) {
		*ret = json_integer_value(value);
		return true;
	}
	if (!json_is_real(value))
		return false;
	real = json_real_value(value);
	/* Above that, a double represents several integers, and Go does not take it for
	 * one. */
	if (real != floor(real) || fabs(real) > 9007199254740991.0)
		return false;
	*ret = (int64_t)real;
	return true;
}

/* --- patterns ---
 *
 * Patterns of schemas, by PCRE2. They are written for RE2, which is linear in the text;
 * PCRE2 backtracks, possibly forever, and restarts at each position. So a match runs in
 * slices of positions, each with a step limit per position: small at first, because
 * nearly all need few, then larger, up to the budget of the whole check. What an attempt
 * might have taken is charged, because PCRE2 does not report its steps; one step can scan
 * the whole text, so steps on long texts cost more. */

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/schema/schema_priv.h"

#define PATTERN_LEN_MAX 16384
/* Steps of the first try, and how many times more each further one has. */
#define FIRST_STEPS 40
#define MORE_TIMES  6
/* The first slice is one position; each further one is this many times as long. */
#define SLICE_TIMES 4
/* Work for a try by itself; bytes of a text for which a step costs one more. */
#define TRY_WORK     16
#define BYTES_A_WORK 16
#define HEAP_KIB_MAX 16384

struct subject {
	const char *text;
	size_t len;
	uint64_t cost; /* of a step */
};

static void *take(size_t size, void *arg NEAP_UNUSED)
{
	return neap_realloc_array(NULL, size, 1);
}

static void give(void *block, void *arg NEAP_UNUSED)
{
	free(block);
}

/* RE2 takes "$" for the end of the text alone, and has no \C. */
int schema_pattern_compile(const char *pattern, void **ret_code, size_t *ret_bytes,
			   struct neap_error *err)
{
	pcre2_general_context *general = pcre2_general_context_create(take, give, NULL);
	pcre2_compile_context *context = NULL;
	pcre2_code *code = NULL;
	PCRE2_SIZE at = 0;
	char text[128];
	int number = PCRE2_ERROR_NOMEMORY;

	if (general)
		context = pcre2_compile_context_create(general);
	if (context) {
		(void)pcre2_set_max_pattern_length(context, PATTERN_LEN_MAX);
		code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
				     PCRE2_UTF | PCRE2_DOLLAR_ENDONLY |
					     PCRE2_NEVER_BACKSLASH_C |
					     PCRE2_USE_OFFSET_LIMIT,
				     &number, &at, context);
	}
	pcre2_compile_context_free(context);
	pcre2_general_context_free(general);
	if (code) {
		PCRE2_SIZE bytes = 0;

		(void)pcre2_pattern_info(code, PCRE2_INFO_SIZE, &bytes);
		*ret_code = code;
		*ret_bytes = bytes;
		return 0;
	}
	if (number == PCRE2_ERROR_NOMEMORY || number == PCRE2_ERROR_HEAP_FAILED)
		return neap_error_nomem(err);
	if (pcre2_get_error_message(number, (PCRE2_UCHAR *)text, sizeof(text)) < 0)
		(void)neap_strcopy(text, sizeof(text), "unknown error");
	return neap_error_set(err, NEAP_EINVAL, "%s at byte %zu", text, (size_t)at);
}

void schema_pattern_free(void *code)
{
	pcre2_code_free(code);
}

void schema_matcher_done(struct schema_matcher *matcher)
{
	pcre2_match_data_free(matcher->data);
	pcre2_match_context_free(matcher->context);
	pcre2_general_context_free(matcher->general);
	*matcher = (struct schema_matcher){0};
}

static bool is_ready(struct schema_matcher *matcher)
{
	if (!matcher->general)
		matcher->general = pcre2_general_context_create(take, give, NULL);
	if (matcher->general && !matcher->context)
		matcher->context = pcre2_match_context_create(matcher->general);
	if (matcher->context && !matcher->data) {
		(void)pcre2_set_heap_limit(matcher->context, HEAP_KIB_MAX);
		matcher->data = pcre2_match_data_create(1, matcher->general);
	}
	return matcher->data != NULL;
}

/* One slice of count places from at on, with more and more steps. */
static enum schema_match match_slice(struct schema_matcher *matcher, const void *code,
				     const struct subject *subject, size_t at,
				     uint64_t count, uint64_t *work)
{
	uint64_t steps = FIRST_STEPS;

	(void)pcre2_set_offset_limit(matcher->context, at + count - 1);
	for (;; steps *= MORE_TIMES) {
		uint64_t most = *work / (subject->cost * count);
		int rc;

		if (most <= TRY_WORK) {
			*work = 0;
			return SCHEMA_MATCH_TOO_LONG;
		}
		if (steps > most - TRY_WORK)
			steps = most - TRY_WORK;
		(void)pcre2_set_match_limit(matcher->context, (uint32_t)steps);
		*work -= (TRY_WORK + steps * count) * subject->cost;
		rc = pcre2_match(code, (PCRE2_SPTR)subject->text, subject->len, at, 0,
				 matcher->data, matcher->context);
		if (rc >= 0)
			return SCHEMA_MATCH_YES;
		if (rc == PCRE2_ERROR_NOMEMORY)
			return SCHEMA_MATCH_NOMEM;
		if (rc != PCRE2_ERROR_MATCHLIMIT)
			return rc == PCRE2_ERROR_HEAPLIMIT ? SCHEMA_MATCH_TOO_LONG
							   : SCHEMA_MATCH_NO;
	}
}

static bool is_anchored(const void *code)
{
	uint32_t options = 0;

	(void)pcre2_pattern_info(code, PCRE2_INFO_ALLOPTIONS, &options);
	return (options & PCRE2_ANCHORED) != 0;
}

enum schema_match schema_pattern_match(struct schema_matcher *matcher, const void *code,
				       const char *text, size_t len, uint64_t *work)
{
	const struct subject subject = {text, len, 1 + len / BYTES_A_WORK};
	enum schema_match match = SCHEMA_MATCH_NO;
	size_t at = 0, count = 1;

	if (!is_ready(matcher))
		return SCHEMA_MATCH_NOMEM;
	while (match == SCHEMA_MATCH_NO && at <= len) {
		match = match_slice(matcher, code, &subject, at, count, work);
		if (is_anchored(code))
			break;
		at += count;
		while (at < len && ((unsigned char)text[at] & 0xc0) == 0x80)
			at++;
		count *= SLICE_TIMES;
	}
	return match;
}
