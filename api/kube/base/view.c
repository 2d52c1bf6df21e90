/* SPDX-License-Identifier: Apache-2.0 */
#include "api/kube/base/view.h"

#include <string.h>

/* --- texts; those of stored objects: JSON without blanks, as the store has written it
 * --- */

/* Returns the position after the closing quote of the string at text. */
static const char *string_end(const char *text)
{
	text++;
	for (;;) {
		text += strcspn(text, "\"\\");
		if (*text != '\\')
			return text + (*text == '"');
		text += text[1] ? 2 : 1;
	}
}

/* Returns the position of the comma or brace after the value. */
static const char *value_end(const char *text)
{
	int depth = 0;

	for (;;) {
		text += strcspn(text, "\"{}[],");
		if (!*text || (!depth && (*text == ',' || *text == '}')))
			return text;
		if (*text == '"') {
			text = string_end(text);
			continue;
		}
		depth += (*text == '{' || *text == '[') - (*text == '}' || *text == ']');
		text++;
	}
}

static bool is_word(const char *at, size_t len, const char *word)
{
	return word && strlen(word) == len && memcmp(at, word, len) == 0;
}

static const char *shown_name(const struct neap_kube_view *view, const char *at,
			      size_t len)
{
	for (const struct neap_kube_name *name = view->names; name->stored; name++)
		if (is_word(at, len, name->stored))
			return name->shown;
	return NULL;
}

static void write_shown(const struct neap_kube_view *view,
			const struct neap_object *object, struct neap_buf *out)
{
	const char *at = object->text + 1, *copied = at;
	bool is_nulled = view->nulled;

	neap_buf_addc(out, '{');
	while (*at == '"') {
		const char *end = string_end(at);
		size_t len = (size_t)(end - at) - 2;
		const char *name = shown_name(view, at + 1, len);

		is_nulled = is_nulled && !is_word(at + 1, len, view->nulled);
		if (name) {
			neap_buf_add(out, copied, (size_t)(at + 1 - copied));
			neap_buf_adds(out, name);
			copied = end - 1;
		}
		at = value_end(end);
		at += *at == ',';
	}
	neap_buf_add(out, copied, (size_t)(at - copied));
	if (is_nulled)
		neap_buf_addf(out, ",\"%s\":null", view->nulled);
	neap_buf_addc(out, '}');
}

void neap_kube_shown_done(struct neap_kube_shown *last)
{
	last->stored = neap_object_unref(last->stored);
	last->shown = neap_object_unref(last->shown);
}

struct neap_object *neap_kube_view_object(struct neap_kube_shown *last,
					  const struct neap_kube_view *view,
					  struct neap_object *object)
{
	neap_auto_buf struct neap_buf text = {0};
	struct neap_object *shown = NULL;

	if (last->stored == object && last->view == view)
		return neap_object_ref(last->shown);
	/* The view's names are slightly longer. */
	neap_buf_init(&text, NEAP_OBJECT_TEXT_MAX + NEAP_BUF_LINE);
	write_shown(view, object, &text);
	if (!neap_buf_failed(&text))
		shown = neap_object_with_text(object, text.data, text.len);
	if (!shown)
		return NULL;
	neap_kube_shown_done(last);
	last->view = view;
	last->stored = neap_object_ref(object);
	last->shown = neap_object_ref(shown);
	return shown;
}

struct neap_object *neap_kube_view_metadata(const struct neap_object *object)
{
	static const char name[] = "metadata";
	neap_auto_buf struct neap_buf text = {0};
	const char *at = object->text + 1;

	neap_buf_init(&text, NEAP_OBJECT_TEXT_MAX + NEAP_BUF_LINE);
	while (*at == '"') {
		const char *end = string_end(at);
		const char *value = value_end(end);

		if (is_word(at + 1, (size_t)(end - at) - 2, name)) {
			neap_buf_addc(&text, '{');
			neap_buf_add(&text, at, (size_t)(value - at));
			neap_buf_addc(&text, '}');
			break;
		}
		at = value + (*value == ',');
	}
	if (!text.len)
		neap_buf_adds(&text, "{}");
	return neap_buf_failed(&text)
		       ? NULL
		       : neap_object_with_text(object, text.data, text.len);
}

/* --- trees --- */

static bool rename_member(json_t *object, const char *from, const char *to)
{
	json_t *value = json_object_get(object, from);

	if (!value)
		return true;
	return json_object_set(object, to, value) == 0 &&
	       json_object_del(object, from) == 0;
}

bool neap_kube_view_store(const struct neap_kube_view *view, json_t *object)
{
	for (const struct neap_kube_name *name = view->names; name->stored; name++)
		if (!rename_member(object, name->shown, name->stored))
			return false;
	return true;
}

bool neap_kube_view_show(const struct neap_kube_view *view, json_t *object)
{
	for (const struct neap_kube_name *name = view ? view->names : NULL;
	     name && name->stored; name++)
		if (!rename_member(object, name->stored, name->shown))
			return false;
	return true;
}

const char *neap_kube_view_field(const struct neap_kube_kind *kind, const char *path)
{
	/* Other names are equal in both. */
	for (size_t i = 0; kind->view && kind->fields[i]; i++)
		if (strcmp(kind->fields[i], path) == 0)
			return kind->view->of->fields[i];
	return path;
}
