/* SPDX-License-Identifier: Apache-2.0
 *
 * YAML to JSON, event by event, so that all growth is counted. Anyone may send manifests:
 * depth, values and bytes have limits, and an alias counts each time it is used. (The
 * documents that libyaml builds itself search a list of all anchors at each anchor, and
 * have no limits.)
 *
 * An unfinished mapping or list is in a frame; the frames are the path to the reader's
 * position. */
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "api/yaml/yaml.h"
#include "api/yaml/yaml_priv.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/base/utf8.h"

struct frame {
	json_t *value; /* what is being filled */
	char *anchor;  /* its name, if it has one */
	char *key;     /* of the member whose value comes next */
	json_t *merge; /* what "<<" names: a list of objects */
	bool is_merge; /* the value of "<<" comes next */
};

struct reader {
	yaml_parser_t parser;
	const char *file;
	struct neap_error *err;
	size_t line;          /* of the event at hand, from 1 on */
	size_t document_line; /* where the document at hand begins */
	size_t depth;
	struct frame frames[NEAP_YAML_DEPTH];
	/* Anchors of the current document; name to json_t, or to the reader itself while
	 * its node is unfinished. NULL: none. */
	struct neap_map *anchors;
	size_t values_max;
	bool is_one;          /* what follows the first document is not read */
	size_t values, bytes; /* so far, in the whole file */
	json_t *root;         /* of the document at hand */
	json_t *documents;
};

static int wrong(struct reader *reader, const char *what)
{
	return neap_error_set(reader->err, NEAP_EINVAL, "%s:%zu: %s", reader->file,
			      reader->line, what);
}

static int over(struct reader *reader, int count, const char *what)
{
	return neap_error_set(reader->err, NEAP_ETOOLARGE, "%s:%zu: over %d %s",
			      reader->file, reader->line, count, what);
}

/* One more value, with the bytes of its text. */
static int spend(struct reader *reader, size_t bytes)
{
	if (reader->values == reader->values_max)
		return over(reader, reader->values_max, "values");
	reader->values++;
	if (bytes > NEAP_YAML_TEXT - reader->bytes)
		return over(reader, NEAP_YAML_TEXT,
			    "bytes of text, aliases counted as what they stand for");
	reader->bytes += bytes;
	return 0;
}

/* --- anchors --- */

static void anchors_clear(struct reader *reader)
{
	size_t i;

	for (i = 0; reader->anchors && i < neap_map_count(reader->anchors); i++) {
		void *value = neap_map_at(reader->anchors, i, NULL);

		if (value != reader)
			json_decref(value);
	}
	neap_map_free(reader->anchors);
	reader->anchors = NULL;
}

/* A name may be given again. value NULL: its node begins. */
static int anchor_set(struct reader *reader, const char *name, json_t *value)
{
	void *before;

	if (!reader->anchors)
		reader->anchors = neap_map_new();
	if (!reader->anchors)
		return neap_error_nomem(reader->err);
	before = neap_map_find(reader->anchors, name);
	if (!neap_map_set(reader->anchors, name, value ? (void *)value : reader))
		return neap_error_nomem(reader->err);
	json_incref(value);
	if (before && before != reader)
		json_decref(before);
	return 0;
}

/* Copies what an alias refers to: the tree will be changed in one place and not in the
 * other. Scalars are never changed. */
static int copy(struct reader *reader, json_t *value, size_t depth, json_t **ret)
{
	json_t *whole, *item, *part = NULL;
	const char *key;
	size_t i;
	int r = spend(reader, json_string_length(value));

	if (r < 0)
		return r;
	if (!json_is_object(value) && !json_is_array(value)) {
		*ret = json_incref(value);
		return 0;
	}
	if (depth == NEAP_YAML_DEPTH)
		return over(reader, NEAP_YAML_DEPTH, "levels");
	whole = json_is_object(value) ? json_object() : json_array();
	if (!whole)
		return neap_error_nomem(reader->err);
	json_array_foreach (value, i, item) {
		r = copy(reader, item, depth + 1, &part);
		if (r == 0 && json_array_append_new(whole, part) < 0)
			r = neap_error_nomem(reader->err);
		if (r < 0)
			break;
	}
	json_object_foreach (value, key, item) {
		r = spend(reader, strlen(key));
		if (r == 0)
			r = copy(reader, item, depth + 1, &part);
		if (r == 0 && json_object_set_new_nocheck(whole, key, part) < 0)
			r = neap_error_nomem(reader->err);
		if (r < 0)
			break;
	}
	if (r < 0)
		json_decref(whole);
	else
		*ret = whole;
	return r;
}

/* --- building --- */

/* Takes value as the key of the next member. */
static int key_take(struct reader *reader, struct frame *frame, json_t *value,
		    bool is_merge)
{
	bool is_key =
		json_is_string(value) || json_is_number(value) || json_is_boolean(value);

	if (is_merge)
		is_key = frame->merge == NULL;
	else if (is_key)
		frame->key = neap_yaml_key(value);
	json_decref(value);
	if (is_merge && is_key) {
		frame->is_merge = true;
		return 0;
	}
	if (is_merge)
		return wrong(reader, "key \"<<\" already set in map");
	if (!is_key)
		return wrong(reader, "a key must be a text, a number or a boolean");
	if (!frame->key)
		return neap_error_nomem(reader->err);
	if (json_object_get(frame->value, frame->key))
		return neap_error_set(reader->err, NEAP_EINVAL,
				      "%s:%zu: key \"%.80s\" already set in map",
				      reader->file, reader->line, frame->key);
	return 0;
}

/* Takes what "<<" names. */
static int merge_take(struct reader *reader, struct frame *frame, json_t *value)
{
	json_t *item;
	size_t i;

	frame->is_merge = false;
	if (json_is_object(value)) {
		frame->merge = json_array();
		if (!frame->merge)
			json_decref(value);
		if (!frame->merge || json_array_append_new(frame->merge, value) < 0)
			return neap_error_nomem(reader->err);
		return 0;
	}
	json_array_foreach (value, i, item) {
		if (!json_is_object(item))
			break;
	}
	if (!json_is_array(value) || i < json_array_size(value)) {
		json_decref(value);
		return wrong(reader,
			     "map merge requires map or sequence of maps as the value");
	}
	frame->merge = value;
	return 0;
}

/* Members written in the mapping itself win, then the first merged one. (With kubectl a
 * "<<" wins over what is above it.) */
static int merge_do(struct reader *reader, struct frame *frame)
{
	json_t *from, *value;
	const char *key;
	size_t i;

	json_array_foreach (frame->merge, i, from) {
		json_object_foreach (from, key, value) {
			if (!json_object_get(frame->value, key) &&
			    json_object_set_nocheck(frame->value, key, value) < 0)
				return neap_error_nomem(reader->err);
		}
	}
	return 0;
}

/* Takes a finished value to its place. is_merge: it is the text << without quotes. */
static int put_take(struct reader *reader, json_t *value, bool is_merge)
{
	struct frame *frame;
	int r;

	if (reader->depth == 0) {
		reader->root = value;
		return 0;
	}
	frame = &reader->frames[reader->depth - 1];
	if (json_is_array(frame->value)) {
		r = json_array_append_new(frame->value, value);
		return r < 0 ? neap_error_nomem(reader->err) : 0;
	}
	if (frame->is_merge)
		return merge_take(reader, frame, value);
	if (!frame->key)
		return key_take(reader, frame, value, is_merge);
	r = json_object_set_new_nocheck(frame->value, frame->key, value);
	free(frame->key);
	frame->key = NULL;
	return r < 0 ? neap_error_nomem(reader->err) : 0;
}

static void frame_done(struct frame *frame)
{
	json_decref(frame->value);
	json_decref(frame->merge);
	free(frame->anchor);
	free(frame->key);
	memset(frame, 0, sizeof(*frame));
}

/* --- events --- */

static int check_tag(struct reader *reader, const yaml_char_t *tag)
{
	if (!tag)
		return 0;
	return neap_error_set(reader->err, NEAP_EINVAL,
			      "%s:%zu: a tag stands here (%.60s): tags are not read, "
			      "texts go in quotes",
			      reader->file, reader->line, (const char *)tag);
}

static int scalar_event(struct reader *reader, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	const char *anchor = (const char *)event->data.scalar.anchor;
	size_t len = event->data.scalar.length;
	bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	json_t *value = NULL;
	int r = check_tag(reader, event->data.scalar.tag);

	if (r == 0)
		r = spend(reader, len);
	if (r < 0)
		return r;
	if (strlen(text) != len || !neap_utf8_is_valid(text, len))
		return wrong(reader, "a text with a NUL, or one that is no UTF-8");
	if (is_plain) {
		struct neap_error err = {0};

		r = neap_yaml_plain(text, &value, &err);
		if (r == -NEAP_EINVAL)
			return wrong(reader, err.msg);
	} else {
		value = json_string(text);
	}
	if (!value)
		return neap_error_nomem(reader->err);
	if (anchor)
		r = anchor_set(reader, anchor, value);
	if (r < 0) {
		json_decref(value);
		return r;
	}
	return put_take(reader, value, is_plain && strcmp(text, "<<") == 0);
}

/* Takes value, which is empty, as the one to fill from here on. */
static int begin_take(struct reader *reader, json_t *value, const yaml_char_t *anchor,
		      const yaml_char_t *tag)
{
	struct frame *above =
		reader->depth > 0 ? &reader->frames[reader->depth - 1] : NULL;
	struct frame *frame;
	int r = 0;

	if (!value)
		return neap_error_nomem(reader->err);
	if (reader->depth == NEAP_YAML_DEPTH) {
		r = over(reader, NEAP_YAML_DEPTH, "levels");
	} else if (above && json_is_object(above->value) && !above->key &&
		   !above->is_merge) {
		r = wrong(reader, "a key must be a text, a number or a boolean");
	} else {
		r = check_tag(reader, tag);
		if (r == 0)
			r = spend(reader, 0);
	}
	if (r < 0) {
		json_decref(value);
		return r;
	}
	frame = &reader->frames[reader->depth++];
	frame->value = value;
	if (!anchor)
		return 0;
	frame->anchor = neap_strdup((const char *)anchor);
	if (!frame->anchor)
		return neap_error_nomem(reader->err);
	return anchor_set(reader, frame->anchor, NULL);
}

static int end_event(struct reader *reader)
{
	struct frame *frame = &reader->frames[reader->depth - 1];
	json_t *value;
	int r = merge_do(reader, frame);

	if (r == 0 && frame->anchor)
		r = anchor_set(reader, frame->anchor, frame->value);
	if (r < 0)
		return r;
	value = json_incref(frame->value);
	frame_done(frame);
	reader->depth--;
	return put_take(reader, value, false);
}

static int alias_event(struct reader *reader, const char *name)
{
	void *value = reader->anchors ? neap_map_find(reader->anchors, name) : NULL;
	json_t *whole = NULL;
	int r;

	if (!value || value == reader)
		return neap_error_set(
			reader->err, NEAP_EINVAL,
			!value ? "%s:%zu: unknown anchor '%.80s' referenced"
			       : "%s:%zu: anchor '%.80s' value contains itself",
			reader->file, reader->line, name);
	r = copy(reader, value, reader->depth, &whole);
	return r < 0 ? r : put_take(reader, whole, false);
}

static int document_end(struct reader *reader)
{
	json_t *root = neap_steal(reader->root);

	reader->line = reader->document_line;
	anchors_clear(reader);
	if (!root || json_is_null(root)) {
		json_decref(root);
		return 0;
	}
	if (json_array_size(reader->documents) == NEAP_YAML_DOCUMENTS) {
		json_decref(root);
		return over(reader, NEAP_YAML_DOCUMENTS, "documents");
	}
	if (json_array_append_new(reader->documents, root) < 0)
		return neap_error_nomem(reader->err);
	return 0;
}

static int event_read(struct reader *reader, const yaml_event_t *event)
{
	reader->line = event->start_mark.line + 1;
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		reader->document_line = reader->line;
		return 0;
	case YAML_SCALAR_EVENT:
		return scalar_event(reader, event);
	case YAML_ALIAS_EVENT:
		return alias_event(reader, (const char *)event->data.alias.anchor);
	case YAML_SEQUENCE_START_EVENT:
		return begin_take(reader, json_array(), event->data.sequence_start.anchor,
				  event->data.sequence_start.tag);
	case YAML_MAPPING_START_EVENT:
		return begin_take(reader, json_object(), event->data.mapping_start.anchor,
				  event->data.mapping_start.tag);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return end_event(reader);
	case YAML_DOCUMENT_END_EVENT:
		return document_end(reader);
	default:
		return 0;
	}
}

static int parser_error(const struct reader *reader)
{
	const yaml_parser_t *parser = &reader->parser;

	/* libyaml does not note the error in some places where a copy fails. */
	if (parser->error == YAML_MEMORY_ERROR || parser->error == YAML_NO_ERROR)
		return neap_error_nomem(reader->err);
	if (parser->error == YAML_READER_ERROR)
		return neap_error_set(reader->err, NEAP_EINVAL, "%s: %s at byte %zu",
				      reader->file, parser->problem,
				      parser->problem_offset);
	return neap_error_set(reader->err, NEAP_EINVAL, "%s:%zu: %s", reader->file,
			      parser->problem_mark.line + 1, parser->problem);
}

static int read_all(struct reader *reader)
{
	bool is_end = false;
	yaml_event_t event;
	int r = 0;

	while (r == 0 && !is_end) {
		if (!yaml_parser_parse(&reader->parser, &event))
			return parser_error(reader);
		is_end = event.type == YAML_STREAM_END_EVENT ||
			 (reader->is_one && event.type == YAML_DOCUMENT_END_EVENT);
		r = event_read(reader, &event);
		yaml_event_delete(&event);
	}
	return r;
}

static int parse(const char *text, size_t len, const char *file, size_t values_max,
		 bool is_one, json_t **ret, struct neap_error *err)
{
	struct reader *reader;
	int r;

	if (len > NEAP_YAML_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "%s: over %d bytes", file,
				      NEAP_YAML_MAX);
	reader = neap_alloc(sizeof(*reader));
	if (!reader)
		return neap_error_nomem(err);
	reader->file = file;
	reader->err = err;
	reader->values_max = values_max;
	reader->is_one = is_one;
	reader->documents = json_array();
	if (!reader->documents || !yaml_parser_initialize(&reader->parser)) {
		json_decref(reader->documents);
		free(reader);
		return neap_error_nomem(err);
	}
	yaml_parser_set_input_string(&reader->parser, (const unsigned char *)text, len);
	r = read_all(reader);
	if (r == 0)
		*ret = neap_steal(reader->documents);
	while (reader->depth > 0)
		frame_done(&reader->frames[--reader->depth]);
	anchors_clear(reader);
	json_decref(reader->root);
	json_decref(reader->documents);
	yaml_parser_delete(&reader->parser);
	free(reader);
	return r;
}

int neap_yaml_parse(const char *text, size_t len, const char *file, json_t **ret,
		    struct neap_error *err)
{
	return parse(text, len, file, NEAP_YAML_VALUES, false, ret, err);
}

int neap_yaml_parse_one(const char *text, size_t len, size_t values_max, json_t **ret,
			struct neap_error *err)
{
	json_t *documents;
	int r = parse(text, len, "line", values_max, true, &documents, err);

	if (r < 0)
		return r;
	*ret = json_array_size(documents) != 0 ? json_incref(json_array_get(documents, 0))
					       : json_null();
	json_decref(documents);
	return 0;
}
