/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/base.h"
#include "engine/base/mem.h"

#define DEEP_MAX       2000
#define WIDE_MAX       30000
#define LONG_MAX       200000
#define PATH_MAX_BYTES 512

uint32_t mutate_draw(struct mutate *mutate, uint32_t below)
{
	mutate->state = mutate->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(mutate->state >> 33) % below;
}

const char *mutate_pick(struct mutate *mutate, const char *const *texts, size_t count)
{
	return texts[mutate_draw(mutate, (uint32_t)count)];
}

static const char *const words[] = {
	"",
	"a",
	"default",
	"kube-system",
	"A_B",
	"..",
	"a/b",
	"-1",
	"0",
	"1e99",
	"9223372036854775807",
	"99999999999999999999999999",
	"0.000000001",
	"5Gi",
	"1000m",
	"-5Ki",
	"100%",
	"200%",
	"2026-01-02T03:04:05Z",
	"0000-00-00T00:00:00Z",
	"10m",
	"-1ns",
	"Always",
	"Never",
	"Recreate",
	"NoExecute",
	"In",
	"Exists",
	"^(a+)+$",
	"(",
	"127.0.0.1",
	"::1",
	"0-1,3",
	"4000",
	"\xe2\x80\xae txt.exe",
	"\n",
	"\x7f",
	"kubernetes.io/hostname",
	"scheduling.koordinator.sh/resource-spec",
	"{\"preferredCPUBindPolicy\":\"FullPCPUs\"}",
	"[[[[[[[[",
	"$patch",
	"metadata",
	"koordinator.sh/qosClass",
	"LSR",
	"BE",
};

static json_t *make_long(struct mutate *mutate)
{
	size_t len = 1u << mutate_draw(mutate, 18);
	neap_auto_free char *text = neap_alloc(LONG_MAX + 1);

	memset(text, "a-A0.("[mutate_draw(mutate, 6)], len);
	return json_stringn(text, len);
}

static json_t *make_deep(struct mutate *mutate)
{
	json_t *all = json_integer(1);
	uint32_t depth = 1 + mutate_draw(mutate, DEEP_MAX);

	for (uint32_t i = 0; i < depth; i++)
		all = mutate_draw(mutate, 2) ? json_pack("{s:o}", "a", all)
					     : json_pack("[o]", all);
	return all;
}

static uint32_t draw_width(struct mutate *mutate)
{
	return 1 + mutate_draw(mutate, 1u << mutate_draw(mutate, 15)) % WIDE_MAX;
}

/* A map or a list of so many of the same. */
static json_t *make_wide(struct mutate *mutate, bool is_map, const json_t *of)
{
	uint32_t width = draw_width(mutate);
	bool is_same = mutate_draw(mutate, 2);
	json_t *all = is_map ? json_object() : json_array();
	char name[32];

	/* A large one a few times only. */
	if (of && json_dumpb(of, NULL, 0, JSON_ENCODE_ANY) * width > 2 * LONG_MAX)
		of = NULL;
	for (uint32_t i = 0; i < width; i++) {
		(void)snprintf(name, sizeof(name), "n%u", is_same && !is_map ? 0 : i);
		if (is_map)
			json_object_set_new(all, name,
					    of ? json_copy((json_t *)of)
					       : json_string("v"));
		else
			json_array_append_new(all, of ? json_deep_copy(of)
						      : json_string(name));
	}
	return all;
}

/* A body of any kind, or what stands at its members. */
static json_t *make_other(struct mutate *mutate)
{
	void *iter = json_object_iter((json_t *)mutate->others);
	uint32_t skip = mutate_draw(mutate, (uint32_t)json_object_size(mutate->others));
	const json_t *list, *value;

	while (skip-- > 0)
		iter = json_object_iter_next((json_t *)mutate->others, iter);
	list = json_object_iter_value(iter);
	value = json_array_get(list,
			       mutate_draw(mutate, (uint32_t)json_array_size(list)));
	for (int i = 0; i < 3 && json_object_size(value) > 0 && mutate_draw(mutate, 3);
	     i++) {
		iter = json_object_iter((json_t *)value);
		for (skip = mutate_draw(mutate, (uint32_t)json_object_size(value));
		     skip > 0; skip--)
			iter = json_object_iter_next((json_t *)value, iter);
		value = json_object_iter_value(iter);
	}
	return json_deep_copy(value);
}

static json_t *make_value(struct mutate *mutate, const json_t *was)
{
	static const int64_t numbers[] = {
		0,     1,         -1,        2,         10,        255,
		65536, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, INT64_C(1) << 53};

	switch (mutate_draw(mutate, 14)) {
	case 0:
		return json_null();
	case 1:
		return json_boolean(mutate_draw(mutate, 2));
	case 2:
	case 3:
		return json_integer(
			numbers[mutate_draw(mutate, NEAP_ARRAY_LEN(numbers))]);
	case 4:
		return json_real(mutate_draw(mutate, 2) ? 1e308 : -0.5);
	case 5:
		return json_object();
	case 6:
		return json_array();
	case 7:
		return make_long(mutate);
	case 8:
		return mutate_draw(mutate, 4) ? json_string("b") : make_deep(mutate);
	case 9:
		return make_wide(mutate, mutate_draw(mutate, 2), was);
	case 10:
		return make_other(mutate);
	default:
		return json_string(mutate_pick(mutate, words, NEAP_ARRAY_LEN(words)));
	}
}

static json_t *make_value(struct mutate *mutate, const json_t *was);

/* Of the same type, so that it comes further: another number or word, the same item many
 * times. */
static json_t *make_alike(struct mutate *mutate, const json_t *was)
{
	switch (json_typeof(was)) {
	case JSON_STRING:
		return mutate_draw(mutate, 6)
			       ? json_string(mutate_pick(mutate, words,
							 NEAP_ARRAY_LEN(words)))
			       : make_long(mutate);
	case JSON_INTEGER:
		return json_integer((int64_t)1 << mutate_draw(mutate, 63));
	case JSON_ARRAY:
		return make_wide(mutate, false, json_array_get(was, 0));
	case JSON_OBJECT:
		return make_wide(mutate, true,
				 json_object_iter_value(json_object_iter((json_t *)was)));
	default:
		return make_value(mutate, was);
	}
}

static const char *key_at(const json_t *object, uint32_t index)
{
	void *iter = json_object_iter((json_t *)object);

	while (index-- > 0)
		iter = json_object_iter_next((json_t *)object, iter);
	return json_object_iter_key(iter);
}

static void change_member(struct mutate *mutate, json_t *in)
{
	uint32_t size = (uint32_t)json_object_size(in);
	neap_auto_free char *key = NULL;
	json_t *value;

	if (size == 0 || mutate_draw(mutate, 8) == 0) {
		json_object_set_new(in, mutate_pick(mutate, words, NEAP_ARRAY_LEN(words)),
				    make_value(mutate, NULL));
		return;
	}
	key = neap_strdup(key_at(in, mutate_draw(mutate, size)));
	value = json_object_get(in, key);
	switch (mutate_draw(mutate, 5)) {
	case 0:
		(void)json_object_del(in, key);
		return;
	case 1:
		json_incref(value);
		(void)json_object_del(in, key);
		json_object_set_new(in,
				    key_at(in, 0) && mutate_draw(mutate, 2)
					    ? key_at(in, mutate_draw(mutate, size - 1))
					    : "renamed",
				    value);
		return;
	default:
		json_object_set_new(in, key,
				    mutate_draw(mutate, 3) ? make_alike(mutate, value)
							   : make_value(mutate, value));
	}
}

static void change_item(struct mutate *mutate, json_t *in)
{
	uint32_t size = (uint32_t)json_array_size(in), at, more;
	json_t *value;

	if (size == 0) {
		json_array_append_new(in, make_value(mutate, NULL));
		return;
	}
	at = mutate_draw(mutate, size);
	value = json_array_get(in, at);
	switch (mutate_draw(mutate, 4)) {
	case 0:
		(void)json_array_remove(in, at);
		return;
	case 1: /* many times */
		more = draw_width(mutate);
		if (json_dumpb(value, NULL, 0, JSON_ENCODE_ANY) * more > 2 * LONG_MAX)
			more = 3;
		while (more-- > 0)
			json_array_append_new(in, json_deep_copy(value));
		return;
	default:
		json_array_set_new(in, at,
				   mutate_draw(mutate, 3) ? make_alike(mutate, value)
							  : make_value(mutate, value));
	}
}

/* A container below the object, each as likely as the way to it; the object itself if
 * there is none. */
static json_t *find_place(struct mutate *mutate, json_t *object)
{
	json_t *at = object, *next = object;

	while (next) {
		uint32_t size = (uint32_t)(json_is_object(next) ? json_object_size(next)
								: json_array_size(next));

		if (!json_is_object(next) && !json_is_array(next))
			break;
		at = next;
		if (size == 0 || mutate_draw(mutate, 4) == 0)
			break;
		next = json_is_object(at)
			       ? json_object_get(at,
						 key_at(at, mutate_draw(mutate, size)))
			       : json_array_get(at, mutate_draw(mutate, size));
	}
	return at;
}

void mutate_object(struct mutate *mutate, json_t *object, int most)
{
	for (uint32_t left = mutate_draw(mutate, (uint32_t)most + 1); left > 0; left--) {
		json_t *place = find_place(mutate, object);

		if (json_is_object(place))
			change_member(mutate, place);
		else
			change_item(mutate, place);
	}
}

size_t mutate_bytes(struct mutate *mutate, char *text, size_t len, size_t size)
{
	for (uint32_t left = 1 + mutate_draw(mutate, 4); left > 0 && len > 0; left--) {
		uint32_t at = mutate_draw(mutate, (uint32_t)len);
		size_t more = len - at;

		switch (mutate_draw(mutate, 4)) {
		case 0:
			text[at] = (char)mutate_draw(mutate, 256);
			break;
		case 1:
			text[at] ^= (char)(1 << mutate_draw(mutate, 8));
			break;
		case 2:
			len = at;
			break;
		default:
			more = more > 64 ? 1 + mutate_draw(mutate, 64) : more;
			if (len + more > size)
				break;
			memmove(text + at + more, text + at, len - at);
			len += more;
		}
	}
	return len;
}

/* "/a/0/b" to somewhere in the object. */
static void draw_path(struct mutate *mutate, const json_t *at, char *path, size_t size)
{
	size_t len = 0;

	path[0] = '\0';
	while (at && len + 64 < size) {
		uint32_t count = (uint32_t)(json_is_object(at) ? json_object_size(at)
							       : json_array_size(at));

		if (count == 0 || (len > 0 && mutate_draw(mutate, 4) == 0))
			break;
		if (json_is_object(at)) {
			const char *key = key_at(at, mutate_draw(mutate, count));

			len += (size_t)snprintf(path + len, size - len, "/%.60s", key);
			at = json_object_get(at, key);
		} else {
			uint32_t i = mutate_draw(mutate, count + 1);

			len += (size_t)snprintf(path + len, size - len,
						i < count ? "/%u" : "/-", i);
			at = json_array_get(at, i);
		}
	}
}

json_t *mutate_json_patch(struct mutate *mutate, const json_t *object)
{
	static const char *const ops[] = {"add",  "add",  "replace", "remove",
					  "copy", "move", "test",    "ADD"};
	uint32_t count = mutate_draw(mutate, 12) ? 1 + mutate_draw(mutate, 6)
						 : draw_width(mutate) % 12000;
	json_t *patch = json_array(), *op;
	char path[PATH_MAX_BYTES], from[PATH_MAX_BYTES];

	for (uint32_t i = 0; i < count; i++) {
		draw_path(mutate, object, path, sizeof(path));
		draw_path(mutate, object, from, sizeof(from));
		op = json_pack("{s:s, s:s}", "op",
			       mutate_pick(mutate, ops, NEAP_ARRAY_LEN(ops)), "path",
			       path);
		if (mutate_draw(mutate, 2))
			json_object_set_new(op, "from", json_string(from));
		if (mutate_draw(mutate, 4))
			json_object_set_new(op, "value",
					    count < 100 ? make_value(mutate, NULL)
							: json_string("x"));
		json_array_append_new(patch, op);
	}
	if (mutate_draw(mutate, 6) == 0)
		mutate_object(mutate, patch, 2);
	return patch;
}
