/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares answers. Texts are built only for answers that someone will read; comparing
 * two costs two sorts and a walk. */
#include "lua/call/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"

/* Writes that one answer as JSON names; the rest is counted. */
#define ANSWER_WRITES_MAX 64

void neap_answer_done(struct neap_answer *answer)
{
	free(answer->wishes);
	free(answer->sorted);
	memset(answer, 0, sizeof(*answer));
}

bool neap_answer_is_fault(const struct neap_answer *answer)
{
	return answer->verdict == NEAP_TICK_ERROR || answer->verdict == NEAP_TICK_WRONG ||
	       answer->verdict == NEAP_TICK_BUDGET;
}

/* --- as sets --- */

static int compare_cpus(const struct neap_cpuset *a, const struct neap_cpuset *b)
{
	uint32_t len = a->len > b->len ? a->len : b->len;

	for (uint32_t i = 0; i < len; i++) {
		uint64_t left = i < a->len ? a->word[i] : 0;
		uint64_t right = i < b->len ? b->word[i] : 0;

		if (left != right)
			return left < right ? -1 : 1;
	}
	return 0;
}

static int compare_wishes(const struct neap_policy_wish *a,
			  const struct neap_policy_wish *b)
{
	int order = strcmp(a->target, b->target);

	if (order)
		return order;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->value.form == NEAP_FORM_CPUSET)
		return compare_cpus(&a->value.cpus, &b->value.cpus);
	return (a->value.number > b->value.number) - (a->value.number < b->value.number);
}

static int compare_pointers(const void *a, const void *b)
{
	return compare_wishes(*(const struct neap_policy_wish *const *)a,
			      *(const struct neap_policy_wish *const *)b);
}

static int sort_answer(struct neap_answer *answer, struct neap_error *err)
{
	size_t kept = 0;

	answer->sorted = neap_alloc_array(answer->count + 1, sizeof(*answer->sorted));
	if (!answer->sorted)
		return neap_error_nomem(err);
	for (size_t i = 0; i < answer->count; i++)
		answer->sorted[i] = &answer->wishes[i];
	qsort(answer->sorted, answer->count, sizeof(*answer->sorted), compare_pointers);
	for (size_t i = 0; i < answer->count; i++)
		if (!kept ||
		    compare_wishes(answer->sorted[kept - 1], answer->sorted[i]) != 0)
			answer->sorted[kept++] = answer->sorted[i];
	answer->sorted_count = kept;
	return 0;
}

bool neap_answer_is_same(const struct neap_answer *a, const struct neap_answer *b)
{
	if (a->verdict != b->verdict)
		return false;
	if (a->verdict > NEAP_TICK_SKIPPED)
		return strcmp(a->err.msg, b->err.msg) == 0;
	if (a->sorted_count != b->sorted_count)
		return false;
	for (size_t i = 0; i < a->sorted_count; i++)
		if (compare_wishes(a->sorted[i], b->sorted[i]) != 0)
			return false;
	return true;
}

/* --- as text --- */

/* A script may put any bytes into its messages and targets; invalid UTF-8 becomes "?". */
json_t *neap_text_json(const char *text)
{
	json_t *json = json_string(text);
	char *plain;

	if (json)
		return json;
	plain = neap_strdup(text);
	for (char *c = plain; c && *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	json = plain ? json_string(plain) : NULL;
	free(plain);
	return json;
}

static json_t *list_json(const struct neap_answer *answer)
{
	json_t *list = json_array();
	int rc = list ? 0 : -1;

	for (size_t i = 0; rc == 0 && i < answer->sorted_count; i++) {
		const struct neap_policy_wish *wish = answer->sorted[i];
		char value[256], text[512];

		if (i == ANSWER_WRITES_MAX) {
			snprintf(text, sizeof(text), "and %zu more",
				 answer->sorted_count - i);
			rc = json_array_append_new(list, json_string(text));
			break;
		}
		(void)neap_value_print(wish->key, &wish->value, value,
				       sizeof(value)); /* cut is fine */
		snprintf(text, sizeof(text), "%s %s=%s", wish->target,
			 neap_key_get(wish->key)->name, value);
		rc = json_array_append_new(list, neap_text_json(text));
	}
	return neap_json_made(rc == 0, list);
}

json_t *neap_answer_json(const struct neap_answer *answer)
{
	char text[NEAP_ERROR_MSG + 8];

	switch (answer->verdict) {
	case NEAP_TICK_WISHES:
		return list_json(answer);
	case NEAP_TICK_HOLD:
		return json_string("hold");
	case NEAP_TICK_SKIPPED:
		return json_string("skip");
	default:
		snprintf(text, sizeof(text), "error: %s", answer->err.msg);
		return neap_text_json(text);
	}
}

int neap_answer_sort(struct neap_answer *answer, struct neap_error *err)
{
	return answer->verdict == NEAP_TICK_WISHES ? sort_answer(answer, err) : 0;
}
