/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/reflector.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"

enum phase { LISTING, STREAMING, WATCHING };

struct reflector {
	struct reflector_config config;
	struct wire wire;
	enum phase phase;
	json_t *copy, *fresh;
	int64_t version;
	char token[512]; /* of the next page */
	struct reflector_count count;
};

#define TABLE "Accept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json\r\n"

static void start_list(struct reflector *reflector)
{
	reflector->phase = reflector->config.is_streaming ? STREAMING : LISTING;
	reflector->token[0] = '\0';
	json_decref(reflector->fresh);
	reflector->fresh = json_object();
	assert_non_null(reflector->fresh);
}

struct reflector *reflector_new(const struct reflector_config *config)
{
	struct reflector *reflector = neap_alloc(sizeof(*reflector));

	assert_non_null(reflector);
	reflector->config = *config;
	reflector->copy = json_object();
	assert_non_null(reflector->copy);
	wire_init(&reflector->wire, config->path);
	start_list(reflector);
	return reflector;
}

void reflector_free(struct reflector *reflector)
{
	wire_done(&reflector->wire);
	json_decref(reflector->copy);
	json_decref(reflector->fresh);
	free(reflector);
}

/* --- objects --- */

static const json_t *metadata_of(const json_t *object)
{
	return json_object_get(object, "metadata");
}

static const char *text_of(const json_t *json, const char *name)
{
	const char *text = json_string_value(json_object_get(json, name));

	return text != NULL ? text : "";
}

static int64_t version_of(const json_t *object)
{
	return strtoll(text_of(metadata_of(object), "resourceVersion"), NULL, 10);
}

static void put(json_t *into, const char *type, json_t *object)
{
	const json_t *metadata = metadata_of(object);
	char key[400];

	(void)snprintf(key, sizeof(key), "%s/%s", text_of(metadata, "namespace"),
		       text_of(metadata, "name"));
	if (strcmp(type, "DELETED") == 0)
		(void)json_object_del(into,
				      key); /* whether it was there, the model knows */
	else
		assert_int_equal(json_object_set(into, key, object), 0);
}

/* --- lists --- */

static void use_fresh(struct reflector *reflector, int64_t version)
{
	json_decref(reflector->copy);
	reflector->copy = reflector->fresh;
	reflector->fresh = NULL;
	reflector->version = version;
	reflector->phase = WATCHING;
	reflector->count.lists++;
	reflector->config.listed(reflector->config.arg, version);
}

static void take_page(struct reflector *reflector, const json_t *page)
{
	const char *member = reflector->config.is_table ? "rows" : "items";
	json_t *items = json_object_get(page, member), *item;
	size_t i;

	assert_true(json_is_array(items));
	if (reflector->config.limit != 0)
		assert_true(json_array_size(items) <= reflector->config.limit);
	json_array_foreach (items, i, item) {
		json_t *object = reflector->config.is_table
					 ? json_object_get(item, "object")
					 : item;
		size_t before = json_object_size(reflector->fresh);

		put(reflector->fresh, "ADDED", object);
		/* No object comes twice. */
		assert_int_equal(json_object_size(reflector->fresh), before + 1);
	}
	reflector->count.pages++;
	(void)neap_strcopy(reflector->token, sizeof(reflector->token),
			   text_of(metadata_of(page), "continue"));
	if (reflector->token[0] == '\0')
		use_fresh(reflector, version_of(page));
}

static void end_page(struct reflector *reflector)
{
	struct wire *wire = &reflector->wire;
	json_error_t where;
	json_t *page = NULL;

	if (wire->status == 410 && reflector->token[0] != '\0') {
		reflector->count.expired_pages++;
		start_list(reflector);
		return;
	}
	if (wire->status != 200)
		fail_msg("list: %d %s", wire->status, wire->body.data);
	if (neap_json_parse(wire->body.data, wire->body.len, 0, &page, &where) < 0)
		fail_msg("list: %s", where.text);
	take_page(reflector, page);
	json_decref(page);
}

/* --- watches --- */

static bool ends_initial(const json_t *object)
{
	const json_t *annotations = json_object_get(metadata_of(object), "annotations");

	return strcmp(text_of(annotations, "k8s.io/initial-events-end"), "true") == 0;
}

static void take_error(struct reflector *reflector, const json_t *object)
{
	if (json_integer_value(json_object_get(object, "code")) != 410)
		fail_msg("watch: %s", text_of(object, "message"));
	reflector->count.gone++;
	wire_cut(&reflector->wire);
	start_list(reflector);
}

static void take_object(struct reflector *reflector, const char *type, json_t *object)
{
	int64_t version = version_of(object);

	if (strcmp(type, "BOOKMARK") == 0) {
		reflector->count.bookmarks++;
		if (reflector->phase == STREAMING && ends_initial(object)) {
			use_fresh(reflector, version);
			return;
		}
		assert_true(version >= reflector->version);
		reflector->version = version;
	} else if (reflector->phase == STREAMING) {
		assert_string_equal(type, "ADDED");
		put(reflector->fresh, type, object);
		return;
	} else {
		put(reflector->copy, type, object);
		reflector->version = version;
	}
	reflector->config.saw(reflector->config.arg, type, object, version);
}

static void take_frame(struct reflector *reflector, const char *line, size_t len)
{
	json_error_t where;
	json_t *frame = NULL, *object;
	const char *type;

	if (neap_json_parse(line, len, 0, &frame, &where) < 0)
		fail_msg("frame: %s: %.*s", where.text, (int)(len < 300 ? len : 300),
			 line);
	reflector->count.frames++;
	type = text_of(frame, "type");
	object = json_object_get(frame, "object");
	assert_non_null(object);
	if (strcmp(type, "ERROR") == 0) {
		take_error(reflector, object);
	} else {
		json_t *rows = json_object_get(object, "rows");

		if (rows != NULL) {
			assert_int_equal(json_array_size(rows), 1);
			object = json_object_get(json_array_get(rows, 0), "object");
		}
		take_object(reflector, type, object);
	}
	json_decref(frame);
}

static void take_frames(struct reflector *reflector)
{
	struct wire *wire = &reflector->wire;
	size_t at = 0;

	if (wire->status != 200) /* once it is whole */
		return;
	for (;;) {
		const char *line = wire->body.data + at;
		const char *end = memchr(line, '\n', wire->body.len - at);

		if (end == NULL)
			break;
		take_frame(reflector, line, (size_t)(end - line));
		if (reflector->phase != WATCHING && wire->fd < 0)
			return; /* it lists anew */
		at = (size_t)(end + 1 - wire->body.data);
	}
	wire_drop(wire, at);
}

/* --- steps --- */

static void ask(struct reflector *reflector)
{
	const struct reflector_config *config = &reflector->config;
	neap_auto_buf struct neap_buf path = {0};

	neap_buf_init(&path, NEAP_BUF_LINE);
	neap_buf_addf(&path, "%s?", config->collection);
	if (reflector->phase == LISTING) {
		neap_buf_addf(&path, "limit=%u", config->limit);
		if (reflector->token[0] != '\0')
			neap_buf_addf(&path, "&continue=%s", reflector->token);
	} else {
		neap_buf_adds(&path, "watch=true&allowWatchBookmarks=true");
		if (config->timeout_s != 0)
			neap_buf_addf(&path, "&timeoutSeconds=%u", config->timeout_s);
		if (reflector->phase == STREAMING)
			neap_buf_adds(&path, "&sendInitialEvents=true"
					     "&resourceVersionMatch=NotOlderThan");
		else
			neap_buf_addf(&path, "&resourceVersion=%" PRId64,
				      reflector->version);
		reflector->count.watches++;
	}
	neap_buf_adds(&path, config->query);
	wire_ask(&reflector->wire, "GET", path.data, config->is_table ? TABLE : "", NULL);
}

/* What was begun is asked for again: a page by its token, a watch from the last
 * version. */
static void go_on(struct reflector *reflector)
{
	if (reflector->phase == STREAMING)
		start_list(reflector);
}

bool reflector_step(struct reflector *reflector, size_t max)
{
	enum wire_state state = wire_step(&reflector->wire, max);

	switch (state) {
	case WIRE_IDLE:
		ask(reflector);
		break;
	case WIRE_WAITS:
		return false;
	case WIRE_MORE:
		if (reflector->phase != LISTING)
			take_frames(reflector);
		break;
	case WIRE_DONE:
		if (reflector->phase == LISTING) {
			end_page(reflector);
			break;
		}
		if (reflector->wire.status != 200)
			fail_msg("watch: %d %s", reflector->wire.status,
				 reflector->wire.body.data);
		take_frames(reflector);
		reflector->count.ends++;
		go_on(reflector);
		break;
	case WIRE_BROKEN:
		go_on(reflector);
		break;
	}
	return true;
}

void reflector_cut(struct reflector *reflector)
{
	wire_cut(&reflector->wire);
	reflector->count.cuts++;
	go_on(reflector);
}

int64_t reflector_version(const struct reflector *reflector)
{
	return reflector->version;
}

bool reflector_is_watching(const struct reflector *reflector)
{
	return reflector->phase == WATCHING;
}

int reflector_fd(const struct reflector *reflector)
{
	return reflector->wire.fd;
}

const json_t *reflector_copy(const struct reflector *reflector)
{
	return reflector->copy;
}

const struct reflector_count *reflector_counts(const struct reflector *reflector)
{
	return &reflector->count;
}
