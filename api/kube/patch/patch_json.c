/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON patches (RFC 6902): operations applied in order to a copy of the object, which is
 * discarded on an error. All operations are checked first, so a malformed one is reported
 * whatever the object contains. Messages are those of kube-apiserver's library. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/patch/patch_priv.h"
#include "engine/base/mem.h"

#define SHOWN_BYTES 100 /* of a path in messages */
#define INDEX_BYTES 15  /* digits of an index; no list is that long */
#define MOVED_ITEMS 64  /* how many pointers of a list one step moves */

struct doc {
	struct neap_patch_run *run;
	json_t *root;  /* owned */
	size_t copied; /* bytes of all copies so far */
	/* The current operation. */
	size_t index;
	const json_t *path, *from,
		*value; /* from and value NULL where they are not used */
	char shown[SHOWN_BYTES], shown_from[SHOWN_BYTES];
};

struct op {
	const char *name;
	bool has_from, has_value;
	int (*apply)(struct doc *doc);
};

/* The target of a pointer: the container, and the name or index in it. */
struct place {
	char *token; /* the last one, decoded; owned */
	size_t token_len;
	size_t count;   /* of tokens; 0: the whole document, which has no parent */
	json_t *parent; /* NULL with tokens: no container there */
};

/* member: the operation's; "" for the whole operation. */
static int NEAP_PRINTF(4, 5) refuse(struct doc *doc, const char *member,
				    enum neap_code code, const char *fmt, ...)
{
	char msg[NEAP_ERROR_MSG], field[NEAP_ERROR_FIELD];
	va_list args;

	va_start(args, fmt);
	if (vsnprintf(msg, sizeof(msg), fmt, args) >= (int)sizeof(msg))
		neap_utf8_trim(msg);
	va_end(args);
	(void)snprintf(field, sizeof(field), "[%zu]%s%s", doc->index, *member ? "." : "",
		       member);
	return neap_error_field(doc->run->err, code, field, "%s", msg);
}

/* --- pointers (RFC 6901) --- */

static bool is_pointer(const json_t *pointer)
{
	const char *text = json_string_value(pointer);
	size_t len = json_string_length(pointer);

	if (len == 0)
		return true;
	if (text[0] != '/' || memchr(text, '\0', len))
		return false;
	for (size_t i = 0; i < len; i++)
		if (text[i] == '~' && text[i + 1] != '0' && text[i + 1] != '1')
			return false;
	return true;
}

static size_t token_count(const json_t *pointer)
{
	size_t count = 0;

	for (const char *at = json_string_value(pointer); *at != '\0'; at++)
		count += *at == '/';
	return count;
}

/* Decodes a token. Returns the slash that follows, or the end. */
static const char *token_read(const char *at, struct place *place)
{
	place->token_len = 0;
	for (; *at != '\0' && *at != '/'; at++) {
		char c = *at;

		if (c == '~')
			c = *++at == '1' ? '/' : '~';
		place->token[place->token_len++] = c;
	}
	place->token[place->token_len] = '\0';
	return at;
}

/* Digits without a sign or leading zero. */
static bool is_index(const char *token)
{
	size_t len = strspn(token, "0123456789");

	return len > 0 && token[len] == '\0' && (token[0] != '0' || len == 1);
}

/* SIZE_MAX if it is longer than any index. */
static size_t index_of(const char *token)
{
	if (!is_index(token) || strlen(token) > INDEX_BYTES)
		return SIZE_MAX;
	return (size_t)strtoull(token, NULL, 10);
}

static json_t *child_get(const json_t *parent, const char *token)
{
	if (json_is_array(parent))
		return json_array_get(parent, index_of(token));
	return json_object_get(parent, token);
}

/* Follows a pointer to the container of its target. */
static int place_find(struct doc *doc, const json_t *pointer, struct place *place)
{
	const char *at = json_string_value(pointer);
	json_t *here = doc->root;

	*place = (struct place){.token = neap_alloc(strlen(at) + 1)};
	if (!place->token)
		return neap_error_nomem(doc->run->err);
	while (*at != '\0') {
		if (place->count > 0)
			here = child_get(here, place->token);
		place->count++;
		place->parent = NULL;
		if (!here || neap_patch_is_scalar(here))
			return 0;
		at = token_read(at + 1, place);
		place->parent = here;
	}
	return 0;
}

static void place_done(struct place *place)
{
	free(place->token);
}

#define auto_place __attribute__((cleanup(place_done)))

static json_t *place_get(const struct doc *doc, const struct place *place)
{
	if (place->count == 0)
		return doc->root;
	return place->parent ? child_get(place->parent, place->token) : NULL;
}

/* Spends steps for moving the items after index: many operations on a long list could add
 * up. */
static int spend_move(struct doc *doc, const json_t *list, size_t index)
{
	return neap_patch_spend(doc->run,
				(json_array_size(list) - index) / MOVED_ITEMS + 1);
}

/* what: the operation's name, for the message. */
static int index_refuse(struct doc *doc, const char *what, const char *path,
			const char *token)
{
	char shown[SHOWN_BYTES];

	(void)neap_strcopy(shown, sizeof(shown), token); /* may be cut */
	if (is_index(token) || (token[0] == '-' && is_index(token + 1)))
		return refuse(doc, "", NEAP_ECONFLICT,
			      "error in %s for path: '%s': Unable to access invalid "
			      "index: %s: invalid index referenced",
			      what, path, shown);
	return refuse(doc, "", NEAP_ECONFLICT,
		      "error in %s for path: '%s': value was not a proper array index: "
		      "'%s'",
		      what, path, shown);
}

/* Adds a value at doc->path, whose container exists. Takes the value. */
static int place_add_take(struct doc *doc, const struct place *place, const char *what,
			  json_t *value)
{
	size_t index, size;
	int rc = 0;

	if (place->count == 0) {
		json_decref(doc->root);
		doc->root = value;
		return 0;
	}
	if (json_is_object(place->parent)) {
		if (json_object_set_new_nocheck(place->parent, place->token, value) < 0)
			return neap_error_nomem(doc->run->err);
		return 0;
	}
	size = json_array_size(place->parent);
	index = strcmp(place->token, "-") == 0 ? size : index_of(place->token);
	if (index > size)
		rc = index_refuse(doc, what, doc->shown, place->token);
	if (rc == 0)
		rc = spend_move(doc, place->parent, index);
	if (rc < 0) {
		json_decref(value);
		return rc;
	}
	if (json_array_insert_new(place->parent, index, value) < 0)
		return neap_error_nomem(doc->run->err);
	return 0;
}

/* Removes the target, which exists. */
static int place_remove(struct doc *doc, const struct place *place)
{
	size_t index;
	int rc;

	if (json_is_object(place->parent)) {
		(void)json_object_del(place->parent, place->token);
		return 0;
	}
	index = index_of(place->token);
	rc = spend_move(doc, place->parent, index);
	if (rc == 0)
		(void)json_array_remove(place->parent, index);
	return rc;
}

static int too_deep(struct doc *doc)
{
	return refuse(doc, "path", NEAP_ETOOLARGE, "the result has more than %d levels",
		      NEAP_PATCH_DEPTH_MAX);
}

/* --- operations --- */

/* A copy of the operation's value. Its depth below the place is checked. */
static int value_copy(struct doc *doc, const struct place *place, json_t **ret)
{
	struct neap_patch_size size;

	if (!neap_patch_measure(doc->value, &size) ||
	    size.height + place->count > NEAP_PATCH_DEPTH_MAX)
		return too_deep(doc);
	return neap_patch_copy(doc->run, doc->value, ret);
}

static int op_add(struct doc *doc)
{
	struct place auto_place place = {0};
	json_t *value = NULL;
	int rc = place_find(doc, doc->path, &place);

	if (rc < 0)
		return rc;
	if (place.count > 0 && !place.parent)
		return refuse(doc, "", NEAP_ECONFLICT,
			      "add operation does not apply: doc is missing path: "
			      "\"%s\": missing value",
			      doc->shown);
	rc = value_copy(doc, &place, &value);
	if (rc < 0)
		return rc;
	return place_add_take(doc, &place, "add", value);
}

static int op_remove(struct doc *doc)
{
	struct place auto_place place = {0};
	char shown[SHOWN_BYTES];
	int rc = place_find(doc, doc->path, &place);

	if (rc < 0)
		return rc;
	if (!place.parent)
		return refuse(doc, "", NEAP_ECONFLICT,
			      "remove operation does not apply: doc is missing path: "
			      "\"%s\": missing value",
			      doc->shown);
	if (place_get(doc, &place))
		return place_remove(doc, &place);
	if (json_is_array(place.parent))
		return index_refuse(doc, "remove", doc->shown, place.token);
	(void)neap_strcopy(shown, sizeof(shown), place.token); /* may be cut */
	return refuse(doc, "", NEAP_ECONFLICT,
		      "error in remove for path: '%s': Unable to remove nonexistent key: "
		      "%s: missing value",
		      doc->shown, shown);
}

static int op_replace(struct doc *doc)
{
	struct place auto_place place = {0};
	json_t *value = NULL;
	int rc = place_find(doc, doc->path, &place);

	if (rc < 0)
		return rc;
	if (!place_get(doc, &place))
		return refuse(doc, "", NEAP_ECONFLICT,
			      "replace operation does not apply: doc is missing %s: %s: "
			      "missing value",
			      place.parent ? "key" : "path", doc->shown);
	rc = value_copy(doc, &place, &value);
	if (rc < 0)
		return rc;
	if (json_is_array(place.parent)) {
		(void)json_array_set_new(place.parent, index_of(place.token), value);
		return 0; /* exists, so nothing is allocated */
	}
	return place_add_take(doc, &place, "replace", value);
}

static int from_missing(struct doc *doc, const char *what)
{
	return refuse(
		doc, "", NEAP_ECONFLICT,
		"%s operation does not apply: doc is missing from path: %s: missing "
		"value",
		what, doc->shown_from);
}

static int destination_missing(struct doc *doc, const char *what)
{
	return refuse(doc, "", NEAP_ECONFLICT,
		      "%s operation does not apply: doc is missing destination path: %s: "
		      "missing value",
		      what, doc->shown);
}

/* Checks the depth of a value that moves from from_count tokens deep. */
static int levels_check(struct doc *doc, const json_t *value, size_t from_count)
{
	struct neap_patch_size size;
	size_t count = token_count(doc->path);

	if (count <= from_count)
		return 0;
	if (!neap_patch_measure(value, &size) ||
	    size.height + count > NEAP_PATCH_DEPTH_MAX)
		return too_deep(doc);
	return neap_patch_spend(doc->run, size.nodes);
}

static int op_move(struct doc *doc)
{
	struct place auto_place from = {0};
	struct place auto_place to = {0};
	json_t *value;
	int rc = place_find(doc, doc->from, &from);

	if (rc < 0)
		return rc;
	value = place_get(doc, &from);
	if (!value)
		return from_missing(doc, "move");
	if (json_equal(doc->from, doc->path))
		return 0;
	rc = levels_check(doc, value, from.count);
	if (rc < 0)
		return rc;
	json_incref(value);
	rc = place_remove(doc, &from);
	if (rc == 0)
		rc = place_find(doc, doc->path, &to);
	if (rc == 0 && to.count > 0 && !to.parent)
		rc = destination_missing(doc, "move");
	if (rc < 0) {
		json_decref(value);
		return rc;
	}
	return place_add_take(doc, &to, "move", value);
}

static int op_copy(struct doc *doc)
{
	struct place auto_place from = {0};
	struct place auto_place to = {0};
	struct neap_patch_size size;
	json_t *value, *copy = NULL;
	int rc = place_find(doc, doc->from, &from);

	if (rc < 0)
		return rc;
	value = place_get(doc, &from);
	if (!value)
		return from_missing(doc, "copy");
	rc = place_find(doc, doc->path, &to);
	if (rc < 0)
		return rc;
	if (to.count > 0 && !to.parent)
		return destination_missing(doc, "copy");
	if (!neap_patch_measure(value, &size) ||
	    size.height + to.count > NEAP_PATCH_DEPTH_MAX)
		return too_deep(doc);
	doc->copied += size.bytes;
	if (doc->copied > NEAP_PATCH_COPY_MAX)
		return refuse(
			doc, "", NEAP_ETOOLARGE,
			"Unable to complete the copy, the accumulated size increase "
			"of copy is %zu, exceeding the limit %d",
			doc->copied, NEAP_PATCH_COPY_MAX);
	rc = neap_patch_copy(doc->run, value, &copy);
	if (rc < 0)
		return rc;
	return place_add_take(doc, &to, "copy", copy);
}

static int op_test(struct doc *doc)
{
	struct place auto_place place = {0};
	json_t *value;
	int rc = place_find(doc, doc->path, &place);

	if (rc < 0)
		return rc;
	if (place.count > 0 && !place.parent)
		return refuse(doc, "", NEAP_ECONFLICT,
			      "test operation does not apply: is missing path: %s: "
			      "missing value",
			      doc->shown);
	value = place_get(doc, &place);
	if (!value && json_is_array(place.parent))
		return index_refuse(doc, "test", doc->shown, place.token);
	if (!value || !neap_patch_is_equal(value, doc->value))
		return refuse(doc, "", NEAP_ECONFLICT,
			      "testing value %s failed: test failed", doc->shown);
	return 0;
}

static const struct op ops[] = {
	{"add", false, true, op_add},         {"remove", false, false, op_remove},
	{"replace", false, true, op_replace}, {"move", true, false, op_move},
	{"copy", true, false, op_copy},       {"test", false, true, op_test},
};

/* --- the patch --- */

/* Go's names of JSON types. */
static const char *json_kind(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "object";
	case JSON_ARRAY:
		return "array";
	case JSON_STRING:
		return "string";
	case JSON_TRUE:
	case JSON_FALSE:
		return "bool";
	case JSON_NULL:
		return "null";
	default:
		return "number";
	}
}

static const struct op *op_find(const json_t *row)
{
	const char *name = json_string_value(json_object_get(row, "op"));

	for (size_t i = 0; name && i < NEAP_ARRAY_LEN(ops); i++)
		if (strcmp(ops[i].name, name) == 0)
			return &ops[i];
	return NULL;
}

static int pointer_check(struct doc *doc, const struct op *op, const char *member,
			 const json_t *pointer, char *shown)
{
	if (!pointer)
		return refuse(doc, member, NEAP_ECONFLICT,
			      "%s operation failed to decode %s: operation missing %s "
			      "field: missing value",
			      op->name, member, member);
	if (!json_is_string(pointer))
		return refuse(doc, member, NEAP_ECONFLICT,
			      "%s operation failed to decode %s: json: cannot unmarshal "
			      "%s into Go value of type string",
			      op->name, member, json_kind(pointer));
	(void)neap_strcopy(shown, SHOWN_BYTES,
			   json_string_value(pointer)); /* may be cut */
	if (!is_pointer(pointer))
		return refuse(doc, member, NEAP_ECONFLICT,
			      "%s operation failed to decode %s: \"%s\" is no JSON "
			      "pointer (RFC 6901)",
			      op->name, member, shown);
	return 0;
}

/* A value cannot become its own child: from would be a prefix of path. */
static bool is_below(const json_t *path, const json_t *from)
{
	size_t path_len = json_string_length(path), from_len = json_string_length(from);

	return from_len < path_len &&
	       memcmp(json_string_value(path), json_string_value(from), from_len) == 0 &&
	       json_string_value(path)[from_len] == '/';
}

/* Reads the operation, and reports all that is wrong with it by itself. */
static int op_read(struct doc *doc, const json_t *row, const struct op **ret)
{
	const json_t *name;
	char shown[SHOWN_BYTES] = "unknown";
	int rc;

	if (!json_is_object(row))
		return refuse(doc, "", NEAP_EINVAL,
			      "json: cannot unmarshal %s into Go value of type "
			      "jsonpatch.Operation",
			      json_kind(row));
	*ret = op_find(row);
	if (!*ret) {
		name = json_object_get(row, "op");
		if (json_is_string(name))
			(void)neap_strcopy(shown, sizeof(shown), json_string_value(name));
		return refuse(doc, "op", NEAP_ECONFLICT, "Unexpected kind: %s", shown);
	}
	doc->path = json_object_get(row, "path");
	doc->from = (*ret)->has_from ? json_object_get(row, "from") : NULL;
	doc->value = (*ret)->has_value ? json_object_get(row, "value") : NULL;
	rc = pointer_check(doc, *ret, "path", doc->path, doc->shown);
	if (rc == 0 && (*ret)->has_from)
		rc = pointer_check(doc, *ret, "from", doc->from, doc->shown_from);
	if (rc < 0)
		return rc;
	if ((*ret)->has_value && !doc->value)
		return refuse(doc, "value", NEAP_ECONFLICT,
			      "%s operation missing value field: missing value",
			      (*ret)->name);
	if ((*ret)->apply == op_move && is_below(doc->path, doc->from))
		return refuse(doc, "from", NEAP_ECONFLICT,
			      "move operation cannot move '%s' into its own child '%s'",
			      doc->shown_from, doc->shown);
	return 0;
}

static int apply_all(struct doc *doc, const json_t *patch)
{
	const struct op *op = NULL;
	json_t *row;
	int rc = 0;

	json_array_foreach (patch, doc->index, row) {
		rc = op_read(doc, row, &op);
		if (rc < 0)
			return rc;
	}
	json_array_foreach (patch, doc->index, row) {
		rc = op_read(doc, row, &op);
		if (rc == 0)
			rc = op->apply(doc);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int neap_patch_json(struct neap_patch_run *run, const json_t *object, const json_t *patch,
		    json_t **ret)
{
	struct doc doc = {.run = run};
	int rc;

	if (!json_is_array(patch))
		return neap_error_set(run->err, NEAP_EINVAL,
				      "json: cannot unmarshal %s into Go value of type "
				      "jsonpatch.Patch",
				      json_kind(patch));
	if (json_array_size(patch) > NEAP_PATCH_OPERATIONS_MAX)
		return neap_error_set(run->err, NEAP_ETOOLARGE,
				      "The allowed maximum operations in a JSON patch is "
				      "%d, got %zu",
				      NEAP_PATCH_OPERATIONS_MAX, json_array_size(patch));
	rc = neap_patch_copy(run, object, &doc.root);
	if (rc == 0)
		rc = apply_all(&doc, patch);
	if (rc < 0) {
		json_decref(doc.root);
		return rc;
	}
	*ret = doc.root;
	return 0;
}
