/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of a declared kind: group, kind, plural, and the rest of spec.names. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "api/kube/crd/crd_priv.h"

#define LABEL_MAX  63
#define DOMAIN_MAX 253
#define APPROVAL   "api-approved.kubernetes.io"

static const char label_rule[] =
	"a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
	"start with an alphabetic character, and end with an alphanumeric character "
	"(e.g. 'my-name',  or 'abc-123', regex used for validation is "
	"'[a-z]([-a-z0-9]*[a-z0-9])?')";
static const char domain_rule[] =
	"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
	"characters, '-' or '.', and must start and end with an alphanumeric character "
	"(e.g. 'example.com', regex used for validation is "
	"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* len: bytes of text. is_mixed: capital letters are allowed too. */
static bool is_label(const char *text, size_t len, bool is_mixed)
{
	size_t i;

	for (i = 0; i < len; i++) {
		char c = text[i];

		if (is_mixed && c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (i == 0 ? !(c >= 'a' && c <= 'z') : !(is_alnum(c) || c == '-'))
			return false;
		if (i + 1 == len && c == '-')
			return false;
	}
	return len > 0;
}

static bool is_domain(const char *text)
{
	size_t i;

	for (i = 0; text[i] != '\0'; i++) {
		bool is_edge = i == 0 || text[i - 1] == '.' || text[i + 1] == '.' ||
			       text[i + 1] == '\0';

		if (!is_alnum(text[i]) && (is_edge || (text[i] != '-' && text[i] != '.')))
			return false;
	}
	return i > 0;
}

/* Reports wrong length and form in one cause. */
static void tell(struct neap_crd *crd, const char *path, const char *text,
		 const char *before, size_t max, const char *rule)
{
	json_t *value = json_string(text);
	char length[64] = "";

	if (!value) {
		crd->is_short = true;
		return;
	}
	if (strlen(text) > max)
		snprintf(length, sizeof(length), "must be no more than %zu characters",
			 max);
	neap_causes_invalid(crd->causes, path, value, "%s%s%s%s", before, length,
			    *length && rule ? "," : "", rule ? rule : "");
	json_decref(value);
}

static void check_label(struct neap_crd *crd, const char *path, const char *label,
			bool is_mixed)
{
	size_t len = strlen(label);
	bool is_right = is_label(label, len, is_mixed);

	if (!is_right || len > LABEL_MAX)
		tell(crd, path, label,
		     is_mixed ? "may have mixed case, but should otherwise match: " : "",
		     LABEL_MAX, is_right ? NULL : label_rule);
}

void neap_crd_check_label(struct neap_crd *crd, const char *path, const char *label)
{
	check_label(crd, path, label, false);
}

static void names_list(struct neap_crd *crd, const json_t *names, const char *name,
		       const char *const **ret)
{
	const json_t *list =
		neap_crd_list(crd, names, "spec.names", name, NEAP_KUBE_CRD_NAMES);
	char path[NEAP_CRD_PATH];
	const char **texts;
	size_t i;

	if (json_array_size(list) == 0)
		return;
	texts = neap_crd_keep(crd, json_array_size(list) + 1, sizeof(*texts));
	for (i = 0; texts && i < json_array_size(list); i++) {
		const char *text = json_string_value(json_array_get(list, i));

		snprintf(path, sizeof(path), "spec.names.%s[%zu]", name, i);
		if (!text) {
			neap_causes_add(crd->causes, "FieldValueTypeInvalid", path,
					"Invalid value: must be of type string");
			texts[i] = "";
			continue;
		}
		neap_crd_check_label(crd, path, text);
		texts[i] = neap_crd_keep_text(crd, text);
	}
	*ret = texts;
}

static const char *lower(struct neap_crd *crd, const char *text)
{
	char *copy = neap_crd_keep(crd, strlen(text) + 1, 1);
	size_t i;

	if (!copy)
		return "";
	for (i = 0; text[i] != '\0'; i++)
		copy[i] = (char)tolower((unsigned char)text[i]);
	return copy;
}

static const char *with_list(struct neap_crd *crd, const char *kind)
{
	size_t size = strlen(kind) + sizeof("List");
	char *text = neap_crd_keep(crd, size, 1);

	if (!text)
		return "";
	snprintf(text, size, "%sList", kind);
	return text;
}

static void names(struct neap_crd *crd, const json_t *spec)
{
	const json_t *all = neap_crd_object(crd, spec, "spec", "names");
	struct neap_kube_kind *kind = &crd->kind;
	const char *text;

	text = neap_crd_need(crd, all, "spec.names", "plural", "");
	if (text) {
		check_label(crd, "spec.names.plural", text, false);
		kind->plural = neap_crd_keep_text(crd, text);
	}
	text = neap_crd_need(crd, all, "spec.names", "kind", "");
	if (!text)
		return;
	check_label(crd, "spec.names.kind", text, true);
	kind->kind = neap_crd_keep_text(crd, text);

	text = neap_crd_text(crd, all, "spec.names", "singular");
	if (text && *text != '\0')
		check_label(crd, "spec.names.singular", text, false);
	kind->singular = text && *text != '\0' ? neap_crd_keep_text(crd, text)
					       : lower(crd, kind->kind);
	text = neap_crd_text(crd, all, "spec.names", "listKind");
	if (text && *text != '\0')
		check_label(crd, "spec.names.listKind", text, true);
	kind->list_kind = text && *text != '\0' ? neap_crd_keep_text(crd, text)
						: with_list(crd, kind->kind);
	if (strcmp(kind->kind, kind->list_kind) == 0)
		tell(crd, "spec.names.listKind", kind->list_kind,
		     "kind and listKind may not be the same", LABEL_MAX, NULL);
	names_list(crd, all, "shortNames", &kind->short_names);
	names_list(crd, all, "categories", &kind->categories);
}

static void group(struct neap_crd *crd, const json_t *spec)
{
	const char *text = neap_crd_need(crd, spec, "spec", "group", "");

	if (!text)
		return;
	if (!is_domain(text) || strlen(text) > DOMAIN_MAX)
		tell(crd, "spec.group", text, "", DOMAIN_MAX,
		     is_domain(text) ? NULL : domain_rule);
	else if (!strchr(text, '.'))
		tell(crd, "spec.group", text, "should be a domain with at least one dot",
		     DOMAIN_MAX, NULL);
	crd->kind.group = neap_crd_keep_text(crd, text);
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* The groups of the Kubernetes community need an annotation, so that nobody uses one by
 * accident. */
static void approval(struct neap_crd *crd, const json_t *meta)
{
	static const char path[] = "metadata.annotations[" APPROVAL "]";
	const char *group_name = crd->kind.group, *text;

	if (!ends_with(group_name, ".k8s.io") && strcmp(group_name, "k8s.io") != 0 &&
	    !ends_with(group_name, ".kubernetes.io") &&
	    strcmp(group_name, "kubernetes.io") != 0)
		return;
	text = json_string_value(
		json_object_get(json_object_get(meta, "annotations"), APPROVAL));
	if (!text || *text == '\0')
		neap_causes_required(
			crd->causes, path,
			"protected groups must have approval annotation \"" APPROVAL
			"\", see https://github.com/kubernetes/enhancements/pull/1111");
	else if (strncmp(text, "unapproved", 10) != 0 &&
		 strncmp(text, "https://", 8) != 0 && strncmp(text, "http://", 7) != 0)
		tell(crd, path, text,
		     "protected groups must have approval annotation \"" APPROVAL
		     "\" with either a URL or a reason starting with \"unapproved\", see "
		     "https://github.com/kubernetes/enhancements/pull/1111",
		     SIZE_MAX, NULL);
}

void neap_crd_names(struct neap_crd *crd, const json_t *definition, const json_t *spec)
{
	static const char *const scopes[] = {"Cluster", "Namespaced", NULL};
	const json_t *meta = neap_crd_object(crd, definition, "", "metadata");
	char full[LABEL_MAX + DOMAIN_MAX + 2];
	const char *text;

	names(crd, spec);
	group(crd, spec);
	text = neap_crd_need(crd, spec, "spec", "scope", "");
	if (text) {
		crd->kind.is_namespaced = strcmp(text, "Namespaced") == 0;
		if (!crd->kind.is_namespaced && strcmp(text, "Cluster") != 0)
			neap_causes_unsupported(crd->causes, "spec.scope",
						json_object_get(spec, "scope"), scopes);
	}
	text = neap_crd_need(crd, meta, "metadata", "name",
			     "name or generateName is required");
	if (!crd->kind.group)
		return;
	approval(crd, meta);
	if (!text || !crd->kind.plural)
		return;
	snprintf(full, sizeof(full), "%s.%s", crd->kind.plural, crd->kind.group);
	if (strcmp(full, text) != 0)
		tell(crd, "metadata.name", text,
		     "must be spec.names.plural+\".\"+spec.group", SIZE_MAX, NULL);
}
