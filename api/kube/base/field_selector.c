/* SPDX-License-Identifier: Apache-2.0 */
#include "api/kube/base/field_selector.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"

static bool is_known(const char *path, const char *const *known, bool has_namespace)
{
	if (strcmp(path, "metadata.name") == 0 ||
	    (has_namespace && strcmp(path, "metadata.namespace") == 0))
		return true;
	for (; known && *known; known++) {
		size_t len = strcspn(*known, "=");

		if (strlen(path) == len && memcmp(path, *known, len) == 0)
			return true;
	}
	return false;
}

/* Only characters with a meaning may be escaped. */
static int check_escapes(const char *text, struct neap_error *err)
{
	for (; (text = strchr(text, '\\')); text += 2)
		if (!text[1] || !strchr(",=\\", text[1]))
			return neap_error_set(err, NEAP_EINVAL,
					      "invalid escape sequence: \\%.1s",
					      text + 1);
	return 0;
}

/* Cuts at the next comma that is not escaped, and removes escapes in place. Returns the
 * rest; NULL at the end. */
static char *cut_term(char *text)
{
	char *to = text;

	for (; *text && *text != ','; text++) {
		if (*text == '\\' && (text[1] == ',' || text[1] == '\\'))
			text++;
		else if (*text == '\\' && text[1] == '=')
			text++;
		*to++ = *text;
	}
	if (!*text) {
		*to = '\0';
		return NULL;
	}
	*to = '\0';
	return text + 1;
}

static int parse_term(char *text, const char *const *known, bool has_namespace,
		      struct neap_field_term *ret, struct neap_error *err)
{
	char *equals = strchr(text, '=');

	if (!equals || equals == text)
		return neap_error_set(err, NEAP_EINVAL,
				      "invalid selector: '%.80s'; can't understand it",
				      text);
	ret->is_not = equals[-1] == '!';
	equals[ret->is_not ? -1 : 0] = '\0';
	ret->value = equals + (!ret->is_not && equals[1] == '=' ? 2 : 1);
	ret->path = text;
	if (!is_known(text, known, has_namespace))
		return neap_error_set(err, NEAP_EINVAL,
				      "field label not supported: %.80s", text);
	return 0;
}

int neap_field_selector_parse(const char *text, const char *const *known,
			      bool has_namespace, struct neap_field_selector *ret,
			      struct neap_error *err)
{
	char *at;
	int code = 0;

	memset(ret, 0, sizeof(*ret));
	if (strlen(text) >= NEAP_BUF_LINE)
		return neap_error_set(err, NEAP_ETOOLARGE, "over %d bytes",
				      NEAP_BUF_LINE);
	if (check_escapes(text, err) < 0)
		return -(int)err->code;
	ret->text = neap_strdup(text);
	if (!ret->text)
		return neap_error_nomem(err);
	for (at = ret->text; at && *at && !code;) {
		char *next = cut_term(at);

		if (*at && ret->count == NEAP_FIELD_SELECTOR_TERMS)
			code = neap_error_set(err, NEAP_ETOOLARGE, "over %d terms",
					      NEAP_FIELD_SELECTOR_TERMS);
		else if (*at)
			code = parse_term(at, known, has_namespace,
					  &ret->terms[ret->count++], err);
		at = next;
	}
	if (code < 0)
		neap_field_selector_done(ret);
	return code;
}

void neap_field_selector_done(struct neap_field_selector *selector)
{
	free(selector->text);
	memset(selector, 0, sizeof(*selector));
}

bool neap_field_selector_matches(const struct neap_field_selector *selector,
				 const struct neap_object *object)
{
	json_t *tree = NULL;
	bool matches = true;

	for (size_t i = 0; i < selector->count && matches; i++) {
		const struct neap_field_term *term = &selector->terms[i];
		const char *value = neap_object_field(object, term->path);
		char buf[32];

		/* Stored before the field became selectable. */
		if (!value) {
			if (!tree)
				tree = neap_object_tree(object);
			value = neap_object_value(tree, term->path, buf, sizeof(buf));
		}
		matches = (strcmp(value, term->value) == 0) != term->is_not;
	}
	json_decref(tree);
	return matches;
}
