/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the faults and warnings of a configuration, each with file, line and path, and
 * reads single members. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/deschedule/config/config_priv.h"
#include "api/yaml/yaml.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/base/text.h"
#include "engine/json/json.h"

void neap_deschedule_lines_done(struct neap_deschedule_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		free(lines->line[i]);
	memset(lines, 0, sizeof(*lines));
}

static void say(struct config_reader *reader, bool is_fault, const char *path,
		size_t line, const char *fmt, va_list args)
{
	struct neap_deschedule_lines *lines = reader->lines;
	char place[320] = "", what[CONFIG_ROOM];
	char *text;

	lines->faults += is_fault;
	if (lines->count == NEAP_DESCHEDULE_LINES_MAX)
		return;
	(void)vsnprintf(what, sizeof(what), fmt, args);
	neap_utf8_trim(what);
	if (reader->key && !reader->above)
		(void)snprintf(place, sizeof(place), ": data[\"%.250s\"]", reader->key);
	if (line)
		(void)snprintf(place + strlen(place), sizeof(place) - strlen(place),
			       ":%zu", line + reader->above);
	text = neap_asprintf("%s%s: %s%s%s", reader->file, place, path, *path ? ": " : "",
			     what);
	if (!text) {
		reader->is_short_of_memory = true;
		return;
	}
	lines->is_fault[lines->count] = is_fault;
	lines->line[lines->count++] = text;
}

static size_t line_of(const struct config_reader *reader, const char *path)
{
	return neap_yaml_line(reader->text, reader->len, path);
}

void deschedule_fault(struct config_reader *reader, const char *path, const char *fmt,
		      ...)
{
	va_list args;

	va_start(args, fmt);
	say(reader, true, path, line_of(reader, path), fmt, args);
	va_end(args);
}

void deschedule_warn(struct config_reader *reader, const char *path, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(reader, false, path, line_of(reader, path), fmt, args);
	va_end(args);
}

void deschedule_fault_at(struct config_reader *reader, size_t line, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(reader, true, "", line, fmt, args);
	va_end(args);
}

void deschedule_field(const struct neap_error *err, char buf[NEAP_ERROR_FIELD])
{
	const char *from = err->field;
	size_t len = 0;

	/* A key of a map stands as ["key"]. */
	while (*from) {
		if (strncmp(from, "[\"", 2) == 0) {
			if (len)
				buf[len++] = '.';
			for (from += 2; *from && strncmp(from, "\"]", 2) != 0; from++)
				buf[len++] = *from;
			from += *from ? 2 : 0;
			continue;
		}
		buf[len++] = *from++;
	}
	buf[len] = '\0';
}

void deschedule_wrong(struct config_reader *reader, const char *path,
		      const struct neap_error *err)
{
	char whole[CONFIG_PATH], field[NEAP_ERROR_FIELD];

	if (err->code == NEAP_ENOMEM)
		reader->is_short_of_memory = true;
	if (err->code == NEAP_EUNAVAILABLE)
		reader->is_short_of_time = true;
	deschedule_field(err, field);
	(void)snprintf(whole, sizeof(whole), "%s%s%s", path,
		       *path && *field && *field != '[' ? "." : "", field);
	deschedule_fault(reader, whole, "%s", err->msg);
}

const char *deschedule_nearest(const char *name, const char *const *names, size_t count)
{
	size_t best = strlen(name) / 2 < 4 ? strlen(name) / 2 + 1 : 4;
	const char *nearest = NULL;

	for (size_t i = 0; i < count; i++) {
		size_t distance = neap_text_distance(name, names[i]);

		if (distance >= best)
			continue;
		best = distance;
		nearest = names[i];
	}
	return nearest;
}

const char *deschedule_join(char *buf, size_t size, const char *path, const char *name)
{
	(void)snprintf(buf, size, "%s%s%s", path, *path ? "." : "", name);
	return buf;
}

void deschedule_members(struct config_reader *reader, const json_t *json,
			const char *path, const char *const *names,
			const char *(*misplaced)(const char *name), bool is_lax)
{
	size_t count = 0;
	const char *name;
	json_t *value;

	while (names[count])
		count++;
	json_object_foreach ((json_t *)json, name, value) {
		const char *what = NULL, *nearest;
		char whole[CONFIG_PATH];
		size_t i = 0;

		while (i < count && strcmp(names[i], name) != 0)
			i++;
		if (i < count)
			continue;
		(void)deschedule_join(whole, sizeof(whole), path, name);
		if (misplaced)
			what = misplaced(name);
		if (what) {
			deschedule_fault(reader, whole, "%s", what);
			continue;
		}
		nearest = deschedule_nearest(name, names, count);
		if (nearest)
			deschedule_fault(reader, whole, "unknown field: did you mean %s?",
					 nearest);
		else if (is_lax)
			deschedule_warn(reader, whole, "unknown field: it has no effect");
		else
			deschedule_fault(reader, whole, "unknown field");
	}
}

bool deschedule_is_object(struct config_reader *reader, const json_t *json,
			  const char *path)
{
	if (json_is_object(json))
		return true;
	if (json && !json_is_null(json))
		deschedule_fault(reader, path, "must be an object");
	return false;
}

bool deschedule_is_list(struct config_reader *reader, const json_t *json,
			const char *path, size_t max)
{
	if (!json || json_is_null(json))
		return false;
	if (!json_is_array(json)) {
		deschedule_fault(reader, path, "must be a list");
		return false;
	}
	if (json_array_size(json) <= max)
		return true;
	deschedule_fault(reader, path, "has %zu items, and may have %zu",
			 json_array_size(json), max);
	return false;
}

const char *deschedule_keep(struct config_reader *reader, const char *text)
{
	const char *copy = neap_arena_strdup(&reader->config->arena, text);

	if (copy)
		return copy;
	reader->is_short_of_memory = true;
	return "";
}

void deschedule_int(struct config_reader *reader, const json_t *json, const char *path,
		    const char *name, int64_t *ret)
{
	struct neap_error err = {0};

	if (neap_members_int(json, name, 0, INT32_MAX, ret, &err) < 0)
		deschedule_wrong(reader, path, &err);
}

void deschedule_bool(struct config_reader *reader, const json_t *json, const char *path,
		     const char *name, bool *ret)
{
	struct neap_error err = {0};

	if (neap_members_bool(json, name, ret, &err) < 0)
		deschedule_wrong(reader, path, &err);
}

void deschedule_text(struct config_reader *reader, const json_t *json, const char *path,
		     const char *name, const char **ret)
{
	struct neap_error err = {0};

	if (neap_members_text(json, name, ret, &err) < 0)
		deschedule_wrong(reader, path, &err);
}

void deschedule_duration(struct config_reader *reader, const json_t *json,
			 const char *path, const char *name, int64_t *ret)
{
	const json_t *value = json_object_get(json, name);
	char whole[CONFIG_PATH];
	struct neap_error err = {0};
	int64_t usec = 0;

	if (!value || json_is_null(value))
		return;
	(void)deschedule_join(whole, sizeof(whole), path, name);
	if (!json_is_string(value))
		deschedule_fault(reader, whole,
				 "must be a duration, a text like 5m or 90s");
	else if (neap_duration_parse(json_string_value(value), &usec, &err) < 0)
		deschedule_wrong(reader, whole, &err);
	else
		*ret = usec;
}
