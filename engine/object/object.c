/* SPDX-License-Identifier: Apache-2.0
 *
 * One block: the struct, meta, the text, and for many labels their sorted keys, because
 * selectors and labels both come from clients: 64 rules times a thousand labels would
 * take half a millisecond per object. Meta is four numbers followed by NUL-terminated
 * strings; the store saves it, so that a start need not parse a hundred megabytes of
 * JSON. */
#include "engine/object/object.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/json/json.h"

#define META_FORMAT  1
#define META_NUMBERS 8 /* bytes: format, flags, and three counts of two bytes */
#define META_MAX     ((size_t)1024 * 1024)

enum { FLAG_DELETING = 1, FLAG_FINALIZERS = 2, FLAG_ALL = 3 };

struct meta {
	struct neap_buf buf;
	uint16_t labels, fields, owners;
	unsigned flags;
};

static void add_text(struct meta *meta, const char *text)
{
	neap_buf_add(&meta->buf, text, strlen(text) + 1);
}

/* A JSON string with a NUL inside would be two here. */
static const char *plain_text(const json_t *value)
{
	const char *text = json_string_value(value);

	return text && strlen(text) == json_string_length(value) ? text : NULL;
}

static int count_one(uint16_t *count, const char *field, struct neap_error *err)
{
	if (*count == NEAP_OBJECT_ITEMS_MAX)
		return neap_error_field(err, NEAP_ETOOLARGE, field,
					"Too many: must have at most %d items",
					NEAP_OBJECT_ITEMS_MAX);
	(*count)++;
	return 0;
}

static int add_name(struct meta *meta, const json_t *metadata, const char *member,
		    size_t max, struct neap_error *err)
{
	const json_t *value = json_object_get(metadata, member);
	const char *text = !value || json_is_null(value) ? "" : plain_text(value);
	char field[32];

	(void)snprintf(field, sizeof(field), "metadata.%s", member);
	if (!text)
		return neap_error_field(err, NEAP_EINVAL, field,
					"Invalid value: must be a string");
	if (strlen(text) >= max)
		return neap_error_field(err, NEAP_EINVAL, field,
					"Too long: must have at most %zu bytes", max - 1);
	add_text(meta, text);
	return 0;
}

static int add_labels(struct meta *meta, json_t *metadata, struct neap_error *err)
{
	json_t *labels = json_object_get(metadata, "labels"), *value;
	const char *key;

	json_object_foreach (labels, key, value) {
		const char *text = plain_text(value);

		if (!text)
			return neap_error_field(err, NEAP_EINVAL, "metadata.labels",
						"Invalid value: '%s' must be a string",
						key);
		if (count_one(&meta->labels, "metadata.labels", err) < 0)
			return -(int)err->code;
		add_text(meta, key);
		add_text(meta, text);
	}
	return 0;
}

const char *neap_object_value(const json_t *tree, const char *path, char *buf,
			      size_t size)
{
	const json_t *at = tree;
	char part[64];

	while (at && *path != '\0' && *path != '|') {
		size_t len = strcspn(path, ".|");

		if (len >= sizeof(part))
			return "";
		memcpy(part, path, len);
		part[len] = '\0';
		at = json_object_get(at, part);
		path += len + (path[len] == '.');
	}
	if (json_is_integer(at)) {
		(void)snprintf(buf, size, "%" JSON_INTEGER_FORMAT,
			       json_integer_value(at));
		return buf;
	}
	if (json_is_boolean(at))
		return json_is_true(at) ? "true" : "false";
	at = json_is_string(at) ? at : NULL;
	return at && plain_text(at) ? plain_text(at) : "";
}

/* For "=spec.a|spec.b" the first value that is not ""; for a field without "=" the value
 * at its path. */
static const char *first_value(const json_t *tree, const char *paths, const char *name,
			       char *buf, size_t size)
{
	const char *value = "";

	if (*paths == '\0')
		return neap_object_value(tree, name, buf, size);
	while (*paths != '\0' && *value == '\0') {
		value = neap_object_value(tree, paths + 1, buf, size);
		paths += 1 + strcspn(paths + 1, "|");
	}
	return value;
}

static int add_fields(struct meta *meta, const json_t *tree, const char *const *field,
		      struct neap_error *err)
{
	char buf[32];

	for (; field && *field; field++) {
		size_t len = strcspn(*field, "=");

		if (count_one(&meta->fields, *field, err) < 0)
			return -(int)err->code;
		neap_buf_add(&meta->buf, *field, len);
		neap_buf_addc(&meta->buf, '\0');
		add_text(meta, first_value(tree, *field + len, *field, buf, sizeof(buf)));
	}
	return 0;
}

static int add_owners(struct meta *meta, const json_t *metadata, struct neap_error *err)
{
	const json_t *owners = json_object_get(metadata, "ownerReferences"), *owner;
	size_t i;

	json_array_foreach (owners, i, owner) {
		const char *uid = plain_text(json_object_get(owner, "uid"));

		if (!uid)
			return neap_error_field(err, NEAP_EINVAL,
						"metadata.ownerReferences.uid",
						"Required value");
		if (count_one(&meta->owners, "metadata.ownerReferences", err) < 0)
			return -(int)err->code;
		add_text(meta, uid);
	}
	return 0;
}

static void put_numbers(struct meta *meta)
{
	const uint16_t counts[] = {meta->labels, meta->fields, meta->owners};
	char *to = meta->buf.data;
	size_t i;

	to[0] = META_FORMAT;
	to[1] = (char)meta->flags;
	for (i = 0; i < NEAP_ARRAY_LEN(counts); i++) {
		to[2 + i * 2] = (char)(counts[i] & 0xff);
		to[3 + i * 2] = (char)(counts[i] >> 8);
	}
}

static int make_meta(json_t *tree, const char *const *fields, struct meta *meta,
		     struct neap_error *err)
{
	static const char numbers[META_NUMBERS];
	json_t *metadata = json_object_get(tree, "metadata");
	const json_t *gone = json_object_get(metadata, "deletionTimestamp");

	neap_buf_add(&meta->buf, numbers, sizeof(numbers));
	if (add_name(meta, metadata, "namespace", NEAP_OBJECT_NAMESPACE, err) < 0 ||
	    add_name(meta, metadata, "name", NEAP_OBJECT_NAME, err) < 0 ||
	    add_name(meta, metadata, "uid", NEAP_OBJECT_UID, err) < 0 ||
	    add_labels(meta, metadata, err) < 0 ||
	    add_fields(meta, tree, fields, err) < 0 ||
	    add_owners(meta, metadata, err) < 0)
		return -(int)err->code;
	if (gone && !json_is_null(gone))
		meta->flags |= FLAG_DELETING;
	if (json_array_size(json_object_get(metadata, "finalizers")) > 0)
		meta->flags |= FLAG_FINALIZERS;
	if (neap_buf_failed(&meta->buf))
		return neap_buf_error(&meta->buf, "names, labels and owners", err);
	put_numbers(meta);
	return 0;
}

/* --- the block --- */

/* Steps over count strings; false when they do not end before the end. */
static bool step(const char **at, const char *end, size_t count)
{
	while (count-- > 0) {
		const char *nul = memchr(*at, '\0', (size_t)(end - *at));

		if (!nul)
			return false;
		*at = nul + 1;
	}
	return true;
}

static uint16_t number_at(const char *meta, size_t at)
{
	const unsigned char *bytes = (const unsigned char *)meta + at;

	return (uint16_t)(bytes[0] | bytes[1] << 8);
}

/* Points into meta, which lies in the block. */
static bool take_meta(struct neap_object *object)
{
	const char *meta = object->block, *at = meta + META_NUMBERS;
	const char *end = meta + object->meta_len;

	if (object->meta_len < META_NUMBERS || meta[0] != META_FORMAT ||
	    ((unsigned char)meta[1] & ~(unsigned)FLAG_ALL) != 0)
		return false;
	object->is_deleting = (meta[1] & FLAG_DELETING) != 0;
	object->has_finalizers = (meta[1] & FLAG_FINALIZERS) != 0;
	object->label_count = number_at(meta, 2);
	object->field_count = number_at(meta, 4);
	object->owner_count = number_at(meta, 6);
	object->ns = at;
	if (!step(&at, end, 1))
		return false;
	object->name = at;
	if (!step(&at, end, 1))
		return false;
	object->uid = at;
	if (!step(&at, end, 1))
		return false;
	object->labels = at;
	if (!step(&at, end, (size_t)object->label_count * 2))
		return false;
	object->fields = at;
	if (!step(&at, end, (size_t)object->field_count * 2))
		return false;
	object->owners = at;
	return step(&at, end, object->owner_count) && at == end;
}

/* So many labels are looked through one after the other. */
#define LABELS_FEW 16

/* Behind the text there is room for them, aligned. */
static void sort_keys(struct neap_object *object, size_t at)
{
	const char *key = object->labels;

	object->by_key = (const char **)(void *)((char *)object + at);
	for (size_t i = 0; i < object->label_count; i++) {
		object->by_key[i] = key;
		key += strlen(key) + 1;
		key += strlen(key) + 1;
	}
	qsort(object->by_key, object->label_count, sizeof(*object->by_key),
	      neap_text_compare);
}

/* Bytes of an object before its keys. */
static size_t keys_at(size_t meta_len, size_t text_len)
{
	size_t align = _Alignof(const char *);
	size_t at = sizeof(struct neap_object) + meta_len + text_len + 1;

	return (at + align - 1) / align * align;
}

/* NULL without memory; no object yet. keys: that there is room for. */
static struct neap_object *block_new(const char *meta, size_t meta_len, const char *text,
				     size_t text_len, size_t keys, int64_t version)
{
	struct neap_object *object =
		neap_alloc(keys_at(meta_len, text_len) + keys * sizeof(char *));

	if (!object)
		return NULL;
	object->refs = 1;
	object->version = version;
	object->meta_len = (uint32_t)meta_len;
	object->text_len = (uint32_t)text_len;
	memcpy(object->block, meta, meta_len);
	memcpy(object->block + meta_len, text, text_len);
	object->text = object->block + meta_len;
	return object;
}

int neap_object_restore(const char *meta, size_t meta_len, const char *text,
			size_t text_len, int64_t version, struct neap_object **ret,
			struct neap_error *err)
{
	size_t keys = meta_len >= META_NUMBERS ? number_at(meta, 2) : 0;
	struct neap_object *object;

	if (meta_len > META_MAX || text_len > NEAP_OBJECT_TEXT_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "an object takes at most %d bytes",
				      NEAP_OBJECT_TEXT_MAX);
	keys = keys > LABELS_FEW ? keys : 0;
	object = block_new(meta, meta_len, text, text_len, keys, version);
	if (!object)
		return neap_error_nomem(err);
	if (text_len < 2 || text[0] != '{' || text[text_len - 1] != '}' ||
	    strlen(object->text) != text_len || !take_meta(object)) {
		free(object);
		return neap_error_set(err, NEAP_EINVAL, "no object of this format");
	}
	if (keys)
		sort_keys(object, keys_at(meta_len, text_len));
	*ret = object;
	return 0;
}

struct neap_object *neap_object_with_text(const struct neap_object *object,
					  const char *text, size_t text_len)
{
	struct neap_object *other = block_new(object->block, object->meta_len, text,
					      text_len, 0, object->version);

	if (other)
		(void)take_meta(other); /* it is the same */
	return other;
}

static int make(json_t *tree, const char *const *fields, int64_t version,
		bool keeps_version, struct neap_object **ret, struct neap_error *err)
{
	json_t *metadata = json_object_get(tree, "metadata");
	neap_auto_free char *text = NULL;
	struct meta meta = {0};
	char number[24];
	int r;

	(void)snprintf(number, sizeof(number), "%" PRId64, version);
	if (!tree)
		return neap_error_nomem(err);
	if (!json_is_object(metadata))
		return neap_error_field(err, NEAP_EINVAL, "metadata", "Required value");
	(void)json_object_del(tree, "kind");
	(void)json_object_del(tree, "apiVersion"); /* not there is fine */
	if (!keeps_version &&
	    json_object_set_new(metadata, "resourceVersion", json_string(number)) < 0)
		return neap_error_nomem(err);
	text = neap_json_dump(tree, JSON_COMPACT);
	if (!text)
		return neap_error_nomem(err);
	neap_buf_init(&meta.buf, META_MAX);
	r = make_meta(tree, fields, &meta, err);
	if (r == 0)
		r = neap_object_restore(meta.buf.data, meta.buf.len, text, strlen(text),
					version, ret, err);
	neap_buf_done(&meta.buf);
	return r;
}

int neap_object_new_take(json_t *tree, const char *const *fields, int64_t version,
			 struct neap_object **ret, struct neap_error *err)
{
	int r = make(tree, fields, version, false, ret, err);

	json_decref(tree);
	return r;
}

int neap_object_new_seen_take(json_t *tree, const char *const *fields, int64_t version,
			      struct neap_object **ret, struct neap_error *err)
{
	int r = make(tree, fields, version, true, ret, err);

	json_decref(tree);
	return r;
}

struct neap_object *neap_object_ref(struct neap_object *object)
{
	object->refs++;
	return object;
}

struct neap_object *neap_object_unref(struct neap_object *object)
{
	if (object && --object->refs == 0)
		free(object);
	return NULL;
}

/* --- reading --- */

json_t *neap_object_tree(const struct neap_object *object)
{
	json_t *tree = NULL;
	json_error_t where;

	(void)neap_json_parse(object->text, object->text_len, 0, &tree, &where);
	return tree;
}

void neap_object_write(const struct neap_object *object, const char *kind,
		       const char *api_version, struct neap_buf *out)
{
	if (!kind) {
		neap_buf_add(out, object->text, object->text_len);
		return;
	}
	neap_buf_addf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",", kind, api_version);
	neap_buf_add(out, object->text + 1, object->text_len - 1);
}

static const char *find_pair(const char *pairs, size_t count, const char *key)
{
	while (count-- > 0) {
		const char *value = pairs + strlen(pairs) + 1;

		if (strcmp(pairs, key) == 0)
			return value;
		pairs = value + strlen(value) + 1;
	}
	return NULL;
}

const char *neap_object_label(const struct neap_object *object, const char *key)
{
	size_t low = 0, high = object->label_count;

	if (!object->by_key)
		return find_pair(object->labels, high, key);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *is = object->by_key[middle];
		int sign = strcmp(is, key);

		if (sign == 0)
			return is + strlen(is) + 1;
		if (sign < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

const char *neap_object_field(const struct neap_object *object, const char *path)
{
	if (strcmp(path, "metadata.name") == 0)
		return object->name;
	if (strcmp(path, "metadata.namespace") == 0)
		return object->ns;
	return find_pair(object->fields, object->field_count, path);
}

/* --- owners and labels --- */

bool neap_object_has_owner(const struct neap_object *object, const char *uid)
{
	const char *owner = object->owners;
	size_t i;

	for (i = 0; i < object->owner_count; i++, owner += strlen(owner) + 1)
		if (strcmp(owner, uid) == 0)
			return true;
	return false;
}

static bool get_label(void *arg, const char *key, const char **ret_value, size_t *ret_len)
{
	const char *value = neap_object_label(arg, key);

	if (value == NULL)
		return false;
	*ret_value = value;
	*ret_len = strlen(value);
	return true;
}

bool neap_object_is_selected(const struct neap_object *object,
			     const struct neap_selector *labels)
{
	return neap_selector_matches_with(labels, get_label, (void *)(uintptr_t)object);
}

int64_t neap_object_selection_steps(const struct neap_object *object,
				    const struct neap_selector *labels)
{
	int64_t each = 1;

	if (!object->by_key)
		each += object->label_count;
	else
		for (unsigned left = object->label_count; left; left /= 2)
			each++;
	return each * (int64_t)neap_selector_count(labels);
}

bool neap_object_same_owners(const struct neap_object *a, const struct neap_object *b)
{
	const char *left = a->owners, *right = b->owners;

	if (a->owner_count != b->owner_count)
		return false;
	for (unsigned i = 0; i < a->owner_count; i++) {
		if (strcmp(left, right) != 0)
			return false;
		left += strlen(left) + 1;
		right += strlen(right) + 1;
	}
	return true;
}

int neap_object_compare(const struct neap_object *object, const char *ns,
			const char *name)
{
	int order = strcmp(object->ns, ns);

	return order != 0 ? order : strcmp(object->name, name);
}
