/* SPDX-License-Identifier: Apache-2.0
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

static void *take(size_t size, void *arg)
{
	(void)arg;
	return neap_realloc_array(NULL, size, 1);
}

static void give(void *block, void *arg)
{
	(void)arg;
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

	if (general != NULL)
		context = pcre2_compile_context_create(general);
	if (context != NULL) {
		(void)pcre2_set_max_pattern_length(context, PATTERN_LEN_MAX);
		code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
				     PCRE2_UTF | PCRE2_DOLLAR_ENDONLY |
					     PCRE2_NEVER_BACKSLASH_C |
					     PCRE2_USE_OFFSET_LIMIT,
				     &number, &at, context);
	}
	pcre2_compile_context_free(context);
	pcre2_general_context_free(general);
	if (code != NULL) {
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
	if (matcher->general == NULL)
		matcher->general = pcre2_general_context_create(take, give, NULL);
	if (matcher->general != NULL && matcher->context == NULL)
		matcher->context = pcre2_match_context_create(matcher->general);
	if (matcher->context != NULL && matcher->data == NULL) {
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
