/* SPDX-License-Identifier: Apache-2.0 */
#include "api/store/sqlite/stamp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

#define MARK 48

static size_t make_mark(int64_t version, char mark[MARK])
{
	return (size_t)snprintf(mark, MARK, "\"resourceVersion\":\"%" PRId64 "\"",
				version);
}

/* Where the text has the object's own version, which may follow that of another object it
 * mentions. */
static const char *version_in(const struct neap_object *object, size_t *ret_len)
{
	char mark[MARK];

	*ret_len = make_mark(object->version, mark);
	return strstr(object->text, mark);
}

bool neap_stamp_is_same(const struct neap_object *a, const struct neap_object *b)
{
	size_t left_len, right_len;
	const char *left = version_in(a, &left_len), *right = version_in(b, &right_len);

	return left != NULL && right != NULL && left - a->text == right - b->text &&
	       memcmp(a->text, b->text, (size_t)(left - a->text)) == 0 &&
	       strcmp(left + left_len, right + right_len) == 0;
}

/* For texts in which the object's own version cannot be told from others. */
static int stamp_tree(const struct neap_object *object, int64_t version,
		      struct neap_object **ret, struct neap_error *err)
{
	neap_auto_free const char **fields =
		neap_alloc_array((size_t)object->field_count + 1, sizeof(*fields));
	const char *at = object->fields;
	size_t i;

	if (fields == NULL)
		return neap_error_nomem(err);
	for (i = 0; i < object->field_count; i++) {
		fields[i] = at;
		at += strlen(at) + 1;
		at += strlen(at) + 1;
	}
	return neap_object_new_take(neap_object_tree(object), fields, version, ret, err);
}

int neap_stamp_at(const struct neap_object *object, int64_t version,
		  struct neap_object **ret, struct neap_error *err)
{
	neap_auto_free char *text = NULL;
	size_t old_len, new_len, before, after;
	const char *old = version_in(object, &old_len);
	char mark[MARK];

	(void)make_mark(object->version, mark);
	if (old == NULL || strstr(old + old_len, mark) != NULL)
		return stamp_tree(object, version, ret, err);
	new_len = make_mark(version, mark);
	before = (size_t)(old - object->text);
	after = object->text_len - before - old_len;
	text = neap_alloc(before + new_len + after + 1);
	if (text == NULL)
		return neap_error_nomem(err);
	memcpy(text, object->text, before);
	memcpy(text + before, mark, new_len);
	memcpy(text + before + new_len, old + old_len, after);
	return neap_object_restore(object->block, object->meta_len, text,
				   before + new_len + after, version, ret, err);
}
