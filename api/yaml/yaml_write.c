/* SPDX-License-Identifier: Apache-2.0
 *
 * libyaml decides which style a scalar can have; this file decides what a plain one would
 * mean. */
#include "api/yaml/yaml_write.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "engine/json/json.h"

#define DEPTH_MAX 128

/* Some YAML readers take these words for booleans or null, so they are written in
 * quotes. */
static const char *const words[] = {"y",  "n",   "yes",  "no",   "true",
				    "on", "off", "null", "false"};

static bool is_plain(const char *text)
{
	size_t i;

	/* Numbers, dates and signs begin otherwise. */
	if (!isalpha((unsigned char)*text) && *text != '/')
		return false;
	for (i = 0; i < NEAP_ARRAY_LEN(words); i++) {
		if (strcasecmp(text, words[i]) == 0)
			return false;
	}
	return true;
}

static bool emit_scalar(yaml_emitter_t *emitter, const char *text,
			yaml_scalar_style_t style)
{
	yaml_event_t event;

	return yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
					    (int)strlen(text), 1, 1, style) &&
	       yaml_emitter_emit(emitter, &event);
}

static bool emit_text(yaml_emitter_t *emitter, const char *text)
{
	yaml_scalar_style_t style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;

	if (strchr(text, '\n'))
		style = YAML_LITERAL_SCALAR_STYLE;
	else if (is_plain(text))
		style = YAML_PLAIN_SCALAR_STYLE;
	return emit_scalar(emitter, text, style);
}

static bool emit_number(yaml_emitter_t *emitter, const json_t *value)
{
	char *text = neap_json_dump(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
	bool is_done = text && emit_scalar(emitter, text, YAML_PLAIN_SCALAR_STYLE);

	free(text);
	return is_done;
}

static bool emit_value(yaml_emitter_t *emitter, const json_t *value, int depth);

static bool emit_array(yaml_emitter_t *emitter, const json_t *value, int depth)
{
	bool is_empty = json_array_size(value) == 0;
	const json_t *item;
	yaml_event_t event;
	size_t i;

	if (!yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
						  is_empty ? YAML_FLOW_SEQUENCE_STYLE
							   : YAML_BLOCK_SEQUENCE_STYLE) ||
	    !yaml_emitter_emit(emitter, &event))
		return false;
	json_array_foreach (value, i, item) {
		if (!emit_value(emitter, item, depth))
			return false;
	}
	return yaml_sequence_end_event_initialize(&event) &&
	       yaml_emitter_emit(emitter, &event);
}

static bool emit_object(yaml_emitter_t *emitter, const json_t *value, int depth)
{
	bool is_empty = json_object_size(value) == 0;
	yaml_event_t event;
	const char *name;
	json_t *member;

	if (!yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
						 is_empty ? YAML_FLOW_MAPPING_STYLE
							  : YAML_BLOCK_MAPPING_STYLE) ||
	    !yaml_emitter_emit(emitter, &event))
		return false;
	json_object_foreach ((json_t *)value, name, member) {
		if (!emit_text(emitter, name) || !emit_value(emitter, member, depth))
			return false;
	}
	return yaml_mapping_end_event_initialize(&event) &&
	       yaml_emitter_emit(emitter, &event);
}

static bool emit_value(yaml_emitter_t *emitter, const json_t *value, int depth)
{
	const char *text = json_string_value(value);

	if (depth >= DEPTH_MAX)
		return false;
	if (json_is_object(value))
		return emit_object(emitter, value, depth + 1);
	if (json_is_array(value))
		return emit_array(emitter, value, depth + 1);
	if (text)
		return emit_text(emitter, text);
	return emit_number(emitter, value);
}

static int write_buf(void *arg, unsigned char *text, size_t len)
{
	neap_buf_add(arg, (const char *)text, len);
	return !neap_buf_failed(arg);
}

void neap_yaml_add(struct neap_buf *out, const json_t *value)
{
	yaml_emitter_t emitter;
	yaml_event_t event;

	if (!yaml_emitter_initialize(&emitter)) {
		out->failed = true;
		return;
	}
	yaml_emitter_set_output(&emitter, write_buf, out);
	yaml_emitter_set_width(&emitter, -1);
	yaml_emitter_set_unicode(&emitter, 0);
	if (!yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) ||
	    !yaml_emitter_emit(&emitter, &event) ||
	    !yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1) ||
	    !yaml_emitter_emit(&emitter, &event) || !emit_value(&emitter, value, 0) ||
	    !yaml_document_end_event_initialize(&event, 1) ||
	    !yaml_emitter_emit(&emitter, &event) ||
	    !yaml_stream_end_event_initialize(&event) ||
	    !yaml_emitter_emit(&emitter, &event))
		out->failed = true;
	yaml_emitter_delete(&emitter);
}
