/* SPDX-License-Identifier: Apache-2.0
 *
 * A configuration inside a ConfigMap, as users apply it; and helpful messages for errors
 * of indentation, which YAML parsers describe badly. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/deschedule/config/config_priv.h"
#include "api/yaml/yaml.h"
#include "engine/base/mem.h"

#define KEYS_MAX 16

/* --- indentation --- */

struct key {
	int column; /* from 0 on */
	size_t line, len;
	const char *text;
};

/* The key of a line, or of a line's item: *text moves behind "- ". */
static bool find_key(const char **text, const char *end, struct key *ret)
{
	const char *at = *text, *colon;

	while (at < end && *at == ' ')
		at++;
	if (at == end || *at == '#' || *at == '\n')
		return false;
	colon = at;
	while (colon < end && *colon != ':' && *colon != '\n')
		colon++;
	ret->text = at;
	ret->len = (size_t)(colon - at);
	*text = at;
	return true;
}

/* The keys that are open before a line: of the outermost and on. */
static size_t open_keys(const char *text, size_t len, size_t line, struct key *keys)
{
	const char *end = text + len, *at = text;
	size_t count = 0, number = 1;

	while (at < end && number < line) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *next = newline ? newline + 1 : end, *inside = at;
		struct key key = {.line = number++};

		while (find_key(&inside, next, &key)) {
			bool is_item = key.text[0] == '-' && inside + 1 < next &&
				       key.text[1] == ' ';

			key.column = (int)(inside - at);
			while (count && keys[count - 1].column >= key.column)
				count--;
			if (!is_item && count < KEYS_MAX)
				keys[count++] = key;
			if (!is_item)
				break;
			/* The item's first key; its column is that of its text. */
			inside++;
			while (inside < next && *inside == ' ')
				inside++;
			key.column = (int)(inside - at);
			if (!find_key(&inside, next, &key))
				break;
			if (count < KEYS_MAX)
				keys[count++] = key;
			break;
		}
		at = next;
	}
	return count;
}

void deschedule_indentation(const char *text, size_t len, size_t line, size_t above,
			    char *buf, size_t size)
{
	struct key keys[KEYS_MAX], wrong = {0};
	size_t count = open_keys(text, len, line, keys);
	const char *at = text, *end = text + len, *start;

	*buf = '\0';
	for (size_t number = 1; at && number < line; number++) {
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	start = at;
	if (!at || !find_key(&at, end, &wrong) || wrong.text[0] == '-')
		return;
	wrong.column = (int)(at - start);
	for (size_t i = 0; i < count; i++) {
		int blanks = keys[i].column - wrong.column;

		if (keys[i].column == wrong.column)
			return;
		if (blanks <= 0)
			continue;
		(void)snprintf(buf, size,
			       "column %d: '%.*s' stands %d blank%s left of '%.*s' (line "
			       "%zu)",
			       wrong.column + 1, (int)wrong.len, wrong.text, blanks,
			       blanks == 1 ? "" : "s", (int)keys[i].len, keys[i].text,
			       keys[i].line + above);
		if (i)
			(void)snprintf(
				buf + strlen(buf), size - strlen(buf),
				"; where it belongs beside it, under '%.*s', add %d",
				(int)keys[i - 1].len, keys[i - 1].text, blanks);
		return;
	}
}

/* --- ConfigMap --- */

/* Only a block text ("key: |") keeps its lines; else lines are unknown: 0. */
static size_t lines_above(const struct config_reader *reader, const char *key)
{
	const char *at = reader->text, *end = reader->text + reader->len;
	size_t len = strlen(key);

	for (size_t line = 1; at < end; line++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *next = newline ? newline + 1 : end;
		bool is_quoted;

		while (at < next && *at == ' ')
			at++;
		is_quoted = at < next && (*at == '"' || *at == '\'');
		at += is_quoted;
		if ((size_t)(next - at) > len + is_quoted && strncmp(at, key, len) == 0 &&
		    at[len + is_quoted] == ':') {
			at += len + is_quoted + 1;
			while (at < next && *at == ' ')
				at++;
			return at < next && *at == '|' ? line : 0;
		}
		at = next;
	}
	return 0;
}

static bool is_configuration(const char *text)
{
	return strstr(text, "DeschedulerPolicy") ||
	       strstr(text, "DeschedulerConfiguration");
}

bool deschedule_open_map(struct config_reader *reader, const json_t *map, char **ret_text)
{
	const json_t *data = json_object_get(map, "data");
	const char *key, *found = NULL;
	size_t count = 0;
	json_t *value;

	json_object_foreach ((json_t *)data, key, value) {
		if (!json_is_string(value) || !is_configuration(json_string_value(value)))
			continue;
		found = key;
		count++;
	}
	if (count != 1) {
		deschedule_fault(
			reader, "data",
			count ? "has several keys with a DeschedulerConfiguration "
				"or DeschedulerPolicy, and may have one"
			      : "has no key with a DeschedulerConfiguration or "
				"DeschedulerPolicy");
		return false;
	}
	*ret_text = neap_strdup(json_string_value(json_object_get(data, found)));
	if (!*ret_text) {
		reader->is_short_of_memory = true;
		return false;
	}
	reader->above = lines_above(reader, found);
	reader->key = deschedule_keep(reader, found);
	reader->text = *ret_text;
	reader->len = strlen(*ret_text);
	return true;
}
