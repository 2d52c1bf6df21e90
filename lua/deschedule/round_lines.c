/* SPDX-License-Identifier: Apache-2.0 */
#include "lua/deschedule/round_lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "lua/call/answer.h"

#define LINE_BYTES 1024

void neap_lines_add(struct neap_lines *lines, const char *fmt, ...)
{
	char line[LINE_BYTES];
	va_list args;
	char *copy;

	va_start(args, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	neap_utf8_trim(line);
	copy = neap_strdup(line);
	if (!copy ||
	    !neap_grow(&lines->of, lines->count, &lines->size, sizeof(*lines->of))) {
		free(copy);
		lines->is_failed = true;
		return;
	}
	lines->of[lines->count++] = copy;
}

void neap_lines_add_kept(struct neap_lines *lines, const struct neap_world_pod *pod,
			 const char *why)
{
	const struct neap_object *object = pod->pod->object;

	neap_lines_add(lines, "keep %s/%s: %s", object->ns, object->name, why);
}

static void add_said(struct neap_lines *lines, const struct neap_round_said *said)
{
	const struct neap_object *object = said->pod->pod->object;

	if (said->answer.outcome == NEAP_ROUND_EVICTED)
		neap_lines_add(lines, "evict %s/%s: %s", object->ns, object->name,
			       said->why);
	else
		neap_lines_add(lines, "keep %s/%s (%s): %s", object->ns, object->name,
			       neap_round_outcome_name(said->answer.outcome),
			       said->answer.reason);
}

static void add_wish(struct neap_lines *lines, const struct neap_round_wish *wish)
{
	if (wish->type == NEAP_WISH_DELETION_COST)
		neap_lines_add(lines, "deletion cost %d: %s/%s", wish->cost,
			       wish->pod->pod->object->ns, wish->pod->pod->object->name);
	else
		neap_lines_add(lines, "%s %s",
			       wish->type == NEAP_WISH_CORDON ? "cordon" : "uncordon",
			       wish->node->name);
}

void neap_lines_add_round(struct neap_lines *lines, const struct neap_round *round,
			  size_t said_from, size_t wish_from)
{
	for (size_t i = said_from; i < round->said_count; i++)
		add_said(lines, &round->said[i]);
	for (size_t i = wish_from; i < round->wish_count; i++)
		add_wish(lines, &round->wishes[i]);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static json_t *list_of(struct neap_lines *lines)
{
	json_t *list = json_array();

	if (lines->count)
		qsort(lines->of, lines->count, sizeof(*lines->of), by_text);
	for (size_t i = 0; i < lines->count; i++)
		if (i == 0 || strcmp(lines->of[i], lines->of[i - 1]) != 0)
			lines->is_failed |=
				json_array_append_new(list,
						      neap_text_json(lines->of[i])) < 0;
	return list;
}

json_t *neap_lines_take(struct neap_lines *lines, enum neap_tick_verdict verdict,
			const struct neap_error *err)
{
	struct neap_answer word = {.verdict = verdict, .err = *err};
	json_t *ret =
		verdict == NEAP_TICK_WISHES ? list_of(lines) : neap_answer_json(&word);

	for (size_t i = 0; i < lines->count; i++)
		free(lines->of[i]);
	free(lines->of);
	if (lines->is_failed) {
		json_decref(ret);
		ret = NULL;
	}
	*lines = (struct neap_lines){0};
	return ret;
}

static bool has_line(const json_t *list, const char *line, size_t *at)
{
	/* Both are sorted, so the search goes on where it was. */
	for (; *at < json_array_size(list); ++*at) {
		int order = strcmp(json_string_value(json_array_get(list, *at)), line);

		if (order >= 0)
			return order == 0;
	}
	return false;
}

json_t *neap_lines_only(const json_t *of, const json_t *other)
{
	size_t at = 0, more = 0;
	json_t *ret;

	if (!json_is_array(of))
		return json_incref((json_t *)(uintptr_t)of);
	ret = json_array();
	for (size_t i = 0; ret && i < json_array_size(of); i++) {
		json_t *line = json_array_get(of, i);

		if (has_line(other, json_string_value(line), &at))
			continue;
		if (json_array_size(ret) >= NEAP_ROUND_LINES_MAX)
			more++;
		else
			(void)json_array_append(ret, line);
	}
	if (more)
		(void)json_array_append_new(ret, json_sprintf("and %zu more", more));
	return ret;
}
