/* SPDX-License-Identifier: Apache-2.0
 *
 * Patterns of schemas, by PCRE2. They are written for RE2, which takes time in line with the text; PCRE2
 * goes back and tries again, for ever if it is let. So a match gets a number of steps: first few, as
 * nearly all need few, then more, up to a ceiling and up to what the whole check may take. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/schema_priv.h"

#define PATTERN_LEN_MAX 16384
/* Steps of the first try, and how many times more each further one has. */
#define FIRST_STEPS     50
#define STEPS_A_BYTE    20
#define MORE_TIMES      30
#define MATCH_STEPS_MAX 5000000
#define HEAP_KIB_MAX    16384

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
					     PCRE2_NEVER_BACKSLASH_C,
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

enum schema_match schema_pattern_match(struct schema_matcher *matcher, const void *code,
				       const char *text, size_t len, uint64_t *work)
{
	uint64_t steps = FIRST_STEPS + len * STEPS_A_BYTE;

	if (!is_ready(matcher))
		return SCHEMA_MATCH_NOMEM;
	for (;;) {
		int rc;

		if (steps > MATCH_STEPS_MAX)
			steps = MATCH_STEPS_MAX;
		if (steps > *work)
			steps = *work;
		if (steps == 0)
			return SCHEMA_MATCH_TOO_LONG;
		(void)pcre2_set_match_limit(matcher->context, (uint32_t)steps);
		*work -= steps;
		rc = pcre2_match(code, (PCRE2_SPTR)text, len, 0, 0, matcher->data,
				 matcher->context);
		if (rc >= 0)
			return SCHEMA_MATCH_YES;
		if (rc == PCRE2_ERROR_NOMEMORY)
			return SCHEMA_MATCH_NOMEM;
		if (rc != PCRE2_ERROR_MATCHLIMIT)
			return rc == PCRE2_ERROR_HEAPLIMIT ? SCHEMA_MATCH_TOO_LONG
							   : SCHEMA_MATCH_NO;
		if (steps == MATCH_STEPS_MAX || *work == 0)
			return SCHEMA_MATCH_TOO_LONG;
		steps *= MORE_TIMES;
	}
}
