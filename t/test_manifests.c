/* SPDX-License-Identifier: Apache-2.0
 *
 * Manifests as people and controllers write them, against the tables of the built-in
 * kinds: case folders (t/cases/manifests) with what goes in and, of each, what comes out:
 * unknown fields, the first type that does not fit, causes, and the object with its
 * defaults where nothing is wrong. Rules (check) are not asked. NEAP_UPDATE=1 rewrites
 * the wanted side, CASE=name runs one. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/kube/base/kind.h"
#include "engine/json/json.h"

#define CASES "t/cases/manifests"

static char *read_all(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = calloc(1, 1 << 20);
	size_t n;

	assert_non_null(text);
	if (file == NULL) {
		free(text);
		return NULL;
	}
	n = fread(text, 1, (1 << 20) - 1, file);
	text[n] = '\0';
	fclose(file);
	return text;
}

static void compare(const char *name, const char *got)
{
	char path[512];
	char *want;
	size_t len;

	snprintf(path, sizeof(path), CASES "/%s/want.json", name);
	if (getenv("NEAP_UPDATE")) {
		FILE *out = fopen(path, "we");

		assert_non_null(out);
		fprintf(out, "%s\n", got);
		fclose(out);
		return;
	}
	want = read_all(path);
	if (want == NULL)
		fail_msg("%s: missing; NEAP_UPDATE=1 makes it", path);
	len = strlen(want);
	if (len > 0 && want[len - 1] == '\n')
		want[len - 1] = '\0';
	if (strcmp(want, got) != 0)
		fail_msg("%s: got\n%s\nwant\n%s", path, got, want);
	free(want);
}

/* --- kinds --- */

static const struct neap_kube_kind *in_table(const struct neap_kube_kind *const *table,
					     const char *version, const char *kind)
{
	for (; *table != NULL; table++) {
		if (strcmp((*table)->kind, kind) != 0)
			continue;
		for (size_t i = 0; (*table)->versions[i] != NULL; i++) {
			char text[128];

			snprintf(text, sizeof(text), "%s%s%s", (*table)->group,
				 (*table)->group[0] == '\0' ? "" : "/",
				 (*table)->versions[i]);
			if (strcmp(text, version) == 0)
				return *table;
		}
	}
	return NULL;
}

static const struct neap_kube_kind *kind_of(const json_t *object)
{
	const char *version = json_string_value(json_object_get(object, "apiVersion"));
	const char *name = json_string_value(json_object_get(object, "kind"));
	const struct neap_kube_kind *kind;

	assert_non_null(version);
	assert_non_null(name);
	kind = in_table(neap_kube_core_kinds, version, name);
	if (kind == NULL)
		kind = in_table(neap_kube_apps_kinds, version, name);
	return kind != NULL ? kind : in_table(neap_kube_other_kinds, version, name);
}

/* --- cases --- */

static void unknown(void *arg, const char *path)
{
	assert_int_equal(json_array_append_new(arg, json_string(path)), 0);
}

static void set(json_t *object, const char *name, json_t *value)
{
	assert_int_equal(json_object_set_new(object, name, value), 0);
}

static json_t *causes_json(const struct neap_causes *causes)
{
	json_t *list = json_array();

	for (size_t i = 0; i < causes->count; i++)
		assert_int_equal(json_array_append_new(
					 list, json_pack("{s:s, s:s}", "field",
							 causes->list[i].field, "reason",
							 causes->list[i].reason)),
				 0);
	assert_int_equal(causes->more, 0);
	return list;
}

static json_t *run(const struct neap_kube_kind *kind, json_t *object)
{
	json_t *out = json_object(), *names = json_array();
	struct neap_causes causes = {0};
	struct neap_error err = {0};

	assert_true(neap_schema_prune(kind->schema, object, unknown, names));
	if (json_array_size(names) > 0)
		set(out, "unknown", names);
	else
		json_decref(names);
	if (neap_schema_decode(kind->schema, object, &err) < 0) {
		set(out, "decode", json_string(err.field));
		return out;
	}
	assert_true(neap_schema_default(kind->schema, object));
	assert_true(kind->complete == NULL || kind->complete(object));
	neap_schema_check(kind->schema, object, &causes);
	if (causes.count > 0)
		set(out, "causes", causes_json(&causes));
	if (json_object_size(out) == 0)
		set(out, "object", json_incref(object));
	return out;
}

static void check_case(const char *name)
{
	const struct neap_kube_kind *kind;
	json_error_t where;
	json_t *object, *out, *again;
	char path[512], *text;

	snprintf(path, sizeof(path), CASES "/%s/input.json", name);
	object = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
	if (object == NULL)
		fail_msg("%s:%d: %s", path, where.line, where.text);
	kind = kind_of(object);
	if (kind == NULL)
		fail_msg("%s: no such kind", name);
	out = run(kind, object);
	text = neap_json_dump(out, JSON_INDENT(1) | JSON_SORT_KEYS);
	assert_non_null(text);
	compare(name, text);

	/* What has its defaults gets no others. */
	if (json_object_get(out, "object") != NULL) {
		again = run(kind, json_object_get(out, "object"));
		free(text);
		text = neap_json_dump(again, JSON_INDENT(1) | JSON_SORT_KEYS);
		assert_non_null(text);
		compare(name, text);
		json_decref(again);
	}
	free(text);
	json_decref(out);
	json_decref(object);
}

static void test_cases(void **state)
{
	const char *one = getenv("CASE");
	struct dirent **list;
	int count;

	(void)state;
	count = scandir(CASES, &list, NULL, alphasort);
	assert_true(count > 2);
	for (int i = 0; i < count; i++) {
		if (list[i]->d_name[0] != '.' && (!one || !strcmp(one, list[i]->d_name)))
			check_case(list[i]->d_name);
		free(list[i]);
	}
	free(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
