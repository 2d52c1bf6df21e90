/* SPDX-License-Identifier: Apache-2.0 */
#include "api/kube/view.h"

#include <stdlib.h>
#include <string.h>

/* --- texts; those of stored objects: JSON without blanks, as the store has written it --- */

/* Behind the closing quote of the string that begins at text. */
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

/* Behind the value, at the comma or brace that follows it. */
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

/* Behind the brace that opens it. */
static void write_rest(const struct neap_kube_view *view,
		       const struct neap_object *object, struct neap_buf *out)
{
	const char *at = object->text + 1, *copied = at;
	bool is_nulled = view->nulled;

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

void neap_kube_shown_done(struct neap_kube_shown *shown)
{
	shown->object = neap_object_unref(shown->object);
	free(shown->text);
	shown->text = NULL;
}

/* False without memory: it is made each time, then. */
static bool keep(struct neap_kube_shown *shown, const struct neap_kube_view *view,
		 const struct neap_object *object)
{
	struct neap_buf text = {0};

	if (shown->object == object && shown->view == view)
		return true;
	neap_kube_shown_done(shown);
	neap_buf_init(&text, 2 * (size_t)NEAP_OBJECT_TEXT_MAX);
	write_rest(view, object, &text);
	if (neap_buf_failed(&text)) {
		neap_buf_done(&text);
		return false;
	}
	shown->view = view;
	shown->len = text.len;
	shown->text = neap_buf_take(&text);
	/* It is counted, and not changed. */
	shown->object = neap_object_ref((struct neap_object *)(uintptr_t)object);
	return true;
}

void neap_kube_view_write(struct neap_kube_shown *shown,
			  const struct neap_kube_view *view,
			  const struct neap_object *object, const char *kind,
			  const char *api_version, struct neap_buf *out)
{
	if (kind)
		neap_buf_addf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",", kind,
			      api_version);
	else
		neap_buf_addc(out, '{');
	if (shown && object->text_len >= NEAP_KUBE_SHOWN_MIN && keep(shown, view, object))
		neap_buf_add(out, shown->text, shown->len);
	else
		write_rest(view, object, out);
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
	for (const struct neap_kube_name *name = view ? view->names : NULL;
	     name && name->stored; name++)
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
	/* Names that are no paths are the same in both. */
	for (size_t i = 0; kind->view && kind->fields[i]; i++)
		if (strcmp(kind->fields[i], path) == 0)
			return kind->view->of->fields[i];
	return path;
}
