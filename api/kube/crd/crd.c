/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns a CustomResourceDefinition into a row of kinds. All errors are reported at once,
 * with the messages of apiextensions. Validation and construction are one walk; a row
 * with errors is discarded. */
#include "api/kube/crd/crd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/crd/crd_priv.h"
#include "engine/base/mem.h"

struct neap_crd_piece {
	struct neap_crd_piece *next;
	_Alignas(max_align_t) char data[];
};

struct version {
	const json_t *json;
	const char *name, *warning;
	const struct neap_schema *checks; /* NULL: the storage version's */
	bool is_served, stores;
};

/* --- what the parts use --- */

void *neap_crd_keep(struct neap_crd *crd, size_t count, size_t size)
{
	struct neap_crd_piece *piece = NULL;

	if (count < (SIZE_MAX - sizeof(*piece)) / size)
		piece = neap_alloc(sizeof(*piece) + count * size);
	if (!piece) {
		crd->is_short = true;
		return NULL;
	}
	piece->next = crd->pieces;
	crd->pieces = piece;
	return piece->data;
}

const char *neap_crd_keep_text(struct neap_crd *crd, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = neap_crd_keep(crd, size, 1);

	if (!copy)
		return "";
	memcpy(copy, text, size);
	return copy;
}

static void path_of(const char *path, const char *name, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s", path, *path != '\0' ? "." : "", name);
}

/* A member of any type; NULL when absent or null. */
static const json_t *member(const json_t *in, const char *name)
{
	const json_t *value = json_object_get(in, name);

	return json_is_null(value) ? NULL : value;
}

static void wrong_type(struct neap_crd *crd, const char *path, const char *name,
		       const char *want)
{
	char field[NEAP_CRD_PATH + 64];

	path_of(path, name, field, sizeof(field));
	neap_causes_add(crd->causes, "FieldValueTypeInvalid", field,
			"Invalid value: must be of type %s", want);
}

const json_t *neap_crd_object(struct neap_crd *crd, const json_t *in, const char *path,
			      const char *name)
{
	const json_t *value = member(in, name);

	if (!value || json_is_object(value))
		return value;
	wrong_type(crd, path, name, "object");
	return NULL;
}

const json_t *neap_crd_list(struct neap_crd *crd, const json_t *in, const char *path,
			    const char *name, size_t max)
{
	const json_t *value = member(in, name);
	char field[NEAP_CRD_PATH + 64];

	if (!value)
		return NULL;
	if (!json_is_array(value)) {
		wrong_type(crd, path, name, "array");
		return NULL;
	}
	if (json_array_size(value) <= max)
		return value;
	path_of(path, name, field, sizeof(field));
	neap_causes_add(crd->causes, "FieldValueTooMany", field,
			"Too many: %zu: must have at most %zu items",
			json_array_size(value), max);
	return NULL;
}

const char *neap_crd_text(struct neap_crd *crd, const json_t *in, const char *path,
			  const char *name)
{
	const json_t *value = member(in, name);

	if (value && !json_is_string(value))
		wrong_type(crd, path, name, "string");
	return json_string_value(value);
}

/* False when absent. */
static bool neap_crd_bool(struct neap_crd *crd, const json_t *in, const char *path,
			  const char *name)
{
	const json_t *value = member(in, name);

	if (value && !json_is_boolean(value))
		wrong_type(crd, path, name, "boolean");
	return json_is_true(value);
}

const char *neap_crd_need(struct neap_crd *crd, const json_t *in, const char *path,
			  const char *name, const char *detail)
{
	const json_t *value = member(in, name);
	const char *text = neap_crd_text(crd, in, path, name);
	char field[NEAP_CRD_PATH + 64];

	if (text && *text != '\0')
		return text;
	if (!value || json_is_string(value)) {
		path_of(path, name, field, sizeof(field));
		neap_causes_required(crd->causes, field, detail);
	}
	return NULL;
}

/* --- versions --- */

/* Splits "v12beta3"; false when it has another form. */
static bool version_split(const char *name, unsigned long *ret_major, int *ret_stage,
			  unsigned long *ret_minor)
{
	char *end;

	if (*name++ != 'v' || *name < '0' || *name > '9')
		return false;
	*ret_major = strtoul(name, &end, 10);
	*ret_minor = 0;
	*ret_stage = 2;
	if (*end == '\0')
		return true;
	*ret_stage = strncmp(end, "beta", 4) == 0 ? 1 : 0;
	if (*ret_stage == 0 && strncmp(end, "alpha", 5) != 0)
		return false;
	name = end + (*ret_stage == 1 ? 4 : 5);
	if (*name < '0' || *name > '9')
		return false;
	*ret_minor = strtoul(name, &end, 10);
	return *end == '\0';
}

/* Whether a comes before b: v1, then v1beta1, v1alpha2, v1alpha1; others last, by
 * name. */
static bool version_is_before(const char *a, const char *b)
{
	unsigned long majors[2], minors[2];
	int stages[2];
	bool is_split = version_split(a, &majors[0], &stages[0], &minors[0]);

	if (is_split != version_split(b, &majors[1], &stages[1], &minors[1]))
		return is_split;
	if (!is_split)
		return strcmp(a, b) < 0;
	if (stages[0] != stages[1])
		return stages[0] > stages[1];
	if (majors[0] != majors[1])
		return majors[0] > majors[1];
	return minors[0] > minors[1];
}

static void version_path(size_t index, const char *name, char *buf, size_t size)
{
	snprintf(buf, size, "spec.versions[%zu]%s", index, name);
}

#define WARNING_MAX 256

static bool is_printable(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

/* The deprecation warning of the version; NULL: none. */
static const char *warning_of(struct neap_crd *crd, const struct version *version,
			      const char *path)
{
	bool is_deprecated = neap_crd_bool(crd, version->json, path, "deprecated");
	const char *text = neap_crd_text(crd, version->json, path, "deprecationWarning");
	const json_t *value = json_object_get(version->json, "deprecationWarning");
	char field[NEAP_CRD_PATH + 32], made[600];

	snprintf(field, sizeof(field), "%s.deprecationWarning", path);
	if (text && !is_deprecated)
		neap_causes_invalid(crd->causes, field, value,
				    "can only be set for deprecated versions");
	if (text && *text == '\0')
		neap_causes_invalid(crd->causes, field, value,
				    "must not be an empty string");
	if (text && strlen(text) > WARNING_MAX)
		neap_causes_invalid(crd->causes, field, value,
				    "must be <= %d characters long", WARNING_MAX);
	if (text && !is_printable(text))
		neap_causes_invalid(crd->causes, field, value,
				    "must only contain printable UTF-8 characters");
	if (!is_deprecated || text)
		return is_deprecated ? neap_crd_keep_text(crd, text) : NULL;
	snprintf(made, sizeof(made), "%s/%s %s is deprecated",
		 crd->kind.group ? crd->kind.group : "",
		 version->name ? version->name : "",
		 crd->kind.kind ? crd->kind.kind : "");
	return neap_crd_keep_text(crd, made);
}

static void served_names(struct neap_crd *crd, const struct version *versions,
			 size_t count)
{
	const char **names = neap_crd_keep(crd, count + 1, sizeof(*names));
	const char **warnings = neap_crd_keep(crd, count + 1, sizeof(*warnings));
	const struct neap_schema **checks =
		neap_crd_keep(crd, count + 1, sizeof(*checks));
	size_t served = 0, i, j;

	if (!names || !warnings || !checks)
		return;
	for (i = 0; i < count; i++) {
		if (!versions[i].is_served || !versions[i].name)
			continue;
		for (j = served++;
		     j > 0 && version_is_before(versions[i].name, names[j - 1]); j--) {
			names[j] = names[j - 1];
			warnings[j] = warnings[j - 1];
			checks[j] = checks[j - 1];
		}
		names[j] = neap_crd_keep_text(crd, versions[i].name);
		warnings[j] = versions[i].warning;
		checks[j] = versions[i].checks;
	}
	crd->kind.versions = names;
	crd->kind.warnings = warnings;
	crd->kind.checks = checks;
}

/* Checks that all versions are stored as the same kind. */
static int read_others(struct neap_crd *crd, struct version *versions, size_t count,
		       size_t stored, struct neap_error *err)
{
	const json_t *main_one = versions[stored].json;
	char field[NEAP_CRD_PATH];
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		const json_t *sub = member(versions[i].json, "subresources");
		const json_t *main_sub = member(main_one, "subresources");

		if (i == stored || !versions[i].is_served ||
		    !member(versions[i].json, "schema"))
			continue;
		r = neap_crd_check_schema(crd, versions[i].json, i, main_one,
					  &versions[i].checks, err);
		version_path(i, ".subresources", field, sizeof(field));
		if (sub != main_sub && !json_equal(sub, main_sub))
			neap_causes_forbidden(
				crd->causes, field,
				"must be equal to those of the version that "
				"stores: objects are not converted");
	}
	return r;
}

static void check_conversion(struct neap_crd *crd, const json_t *spec, size_t served)
{
	static const char *const strategies[] = {"None", "Webhook", NULL};
	const json_t *conversion = neap_crd_object(crd, spec, "spec", "conversion");
	const char *strategy =
		neap_crd_text(crd, conversion, "spec.conversion", "strategy");

	if (!conversion)
		return;
	if (!strategy)
		neap_causes_required(crd->causes, "spec.conversion.strategy", "");
	else if (strcmp(strategy, "Webhook") == 0 && served > 1)
		neap_causes_forbidden(crd->causes, "spec.conversion.strategy",
				      "objects are not converted: serve one version");
	else if (strcmp(strategy, "Webhook") != 0 && strcmp(strategy, "None") != 0)
		neap_causes_unsupported(crd->causes, "spec.conversion.strategy",
					json_object_get(conversion, "strategy"),
					strategies);
}

/* Fills versions. *ret_stored is the index of the storage version; count: none. */
static void read_versions(struct neap_crd *crd, const json_t *list,
			  struct version *versions, size_t *ret_stored)
{
	size_t count = json_array_size(list), stores = 0, i, j;
	char path[NEAP_CRD_PATH];
	bool is_unique = true;

	*ret_stored = count;
	for (i = 0; i < count; i++) {
		struct version *version = &versions[i];

		version->json = json_array_get(list, i);
		version_path(i, "", path, sizeof(path));
		version->name = neap_crd_text(crd, version->json, path, "name");
		version->is_served = neap_crd_bool(crd, version->json, path, "served");
		version->stores = neap_crd_bool(crd, version->json, path, "storage");
		if (version->stores) {
			stores++;
			*ret_stored = i;
		}
		version_path(i, ".name", path, sizeof(path));
		if (version->name)
			neap_crd_check_label(crd, path, version->name);
		else if (!member(version->json, "name"))
			neap_causes_required(crd->causes, path, "");
		for (j = 0; j < i && version->name; j++)
			is_unique = is_unique &&
				    (!versions[j].name ||
				     strcmp(versions[j].name, version->name) != 0);
	}
	if (!is_unique)
		neap_causes_add(crd->causes, "FieldValueInvalid", "spec.versions",
				"Invalid value: must contain unique version names");
	if (stores != 1) {
		neap_causes_add(crd->causes, "FieldValueInvalid", "spec.versions",
				"Invalid value: must have exactly one version marked as "
				"storage version");
		*ret_stored = count;
	}
}

static int read_all_versions(struct neap_crd *crd, const json_t *spec,
			     struct neap_error *err)
{
	const json_t *list =
		neap_crd_list(crd, spec, "spec", "versions", NEAP_KUBE_CRD_VERSIONS);
	struct version versions[NEAP_KUBE_CRD_VERSIONS] = {{0}};
	size_t count = json_array_size(list), served = 0, stored, i;
	char path[NEAP_CRD_PATH];
	int r;

	if (!list) {
		if (!member(spec, "versions"))
			neap_causes_required(crd->causes, "spec.versions", "");
		return 0;
	}
	read_versions(crd, list, versions, &stored);
	for (i = 0; i < count; i++) {
		version_path(i, "", path, sizeof(path));
		served += versions[i].is_served;
		versions[i].warning = warning_of(crd, &versions[i], path);
		neap_crd_subresources(crd, versions[i].json, path, i == stored);
		neap_crd_columns(crd, versions[i].json, path, i == stored);
	}
	check_conversion(crd, spec, served);
	if (stored == count)
		return 0;
	if (served == 0)
		neap_causes_add(crd->causes, "FieldValueInvalid", "spec.versions",
				"Invalid value: one of them must be served: nobody could "
				"ask for the kind");
	r = read_others(crd, versions, count, stored, err);
	served_names(crd, versions, count);
	if (r == 0)
		r = neap_crd_schema(crd, versions[stored].json, stored, err);
	version_path(stored, "", path, sizeof(path));
	if (r == 0 && crd->kind.schema)
		neap_crd_fields(crd, versions[stored].json, path);
	return r;
}

/* --- the whole --- */

/* Checks the definition's own type, if it has one: stored objects have none. */
static bool check_kind(struct neap_crd *crd, const json_t *definition)
{
	const char *kind = neap_crd_text(crd, definition, "", "kind");
	const char *version = neap_crd_text(crd, definition, "", "apiVersion");
	bool is_kind = !kind || strcmp(kind, "CustomResourceDefinition") == 0;
	bool is_version = !version || strcmp(version, "apiextensions.k8s.io/v1") == 0;

	if (!is_kind)
		neap_causes_invalid(crd->causes, "kind",
				    json_object_get(definition, "kind"),
				    "must be CustomResourceDefinition");
	if (!is_version)
		neap_causes_invalid(crd->causes, "apiVersion",
				    json_object_get(definition, "apiVersion"),
				    "must be apiextensions.k8s.io/v1");
	return is_kind && is_version;
}

static int read_definition(struct neap_crd *crd, const json_t *definition,
			   struct neap_error *err)
{
	const json_t *spec;

	if (!json_is_object(definition)) {
		neap_causes_add(crd->causes, "FieldValueTypeInvalid", "",
				"Invalid value: must be of type object");
		return 0;
	}
	if (!check_kind(crd, definition))
		return 0;
	spec = neap_crd_object(crd, definition, "", "spec");
	if (!spec) {
		if (!member(definition, "spec"))
			neap_causes_required(crd->causes, "spec", "");
		return 0;
	}
	crd->kind.is_custom = true;
	crd->kind.needs_version = true;
	crd->kind.generation = NEAP_GENERATION_SPEC;
	neap_crd_names(crd, definition, spec);
	if (neap_crd_bool(crd, spec, "spec", "preserveUnknownFields"))
		neap_causes_invalid(crd->causes, "spec.preserveUnknownFields",
				    json_object_get(spec, "preserveUnknownFields"),
				    "must be false");
	return read_all_versions(crd, spec, err);
}

void neap_kube_crd_free(struct neap_kube_kind *kind)
{
	struct neap_crd *crd = (struct neap_crd *)kind;
	struct neap_crd_piece *piece, *next;

	if (!crd)
		return;
	for (piece = crd->pieces; piece; piece = next) {
		next = piece->next;
		free(piece);
	}
	neap_schema_free(crd->parsed);
	for (size_t i = 0; i < crd->other_count; i++)
		neap_schema_free(crd->others[i]);
	free(crd);
}

int neap_kube_crd_parse(const json_t *definition, struct neap_kube_kind **ret,
			struct neap_causes *causes, struct neap_error *err)
{
	struct neap_crd *crd = neap_alloc(sizeof(*crd));
	size_t count = causes->count, told = causes->count + causes->more;
	int r;

	if (!crd)
		return neap_error_nomem(err);
	crd->causes = causes;
	crd->life = (struct neap_kube_life){.refs = 1, .free = neap_kube_crd_free};
	crd->kind.life = &crd->life;
	r = read_definition(crd, definition, err);
	if (r == 0 && crd->is_short)
		r = neap_error_nomem(err);
	if (r == 0 && causes->count + causes->more > told) {
		if (causes->count > count)
			r = neap_error_field(err, NEAP_EINVAL, causes->list[count].field,
					     "%s", causes->list[count].message);
		else
			r = neap_error_set(err, NEAP_EINVAL, "is wrong, see before");
	}
	crd->causes = NULL;
	if (r < 0)
		neap_kube_crd_free(&crd->kind);
	else
		*ret = &crd->kind;
	return r;
}
