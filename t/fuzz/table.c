/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects as rows: a JSONPath on the first line, the object behind it. A declared kind
 * has that path in a column of each type; the built-in kinds make what they can of the
 * object. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/print/table.h"
#include "engine/base/mem.h"
#include "t/fuzz/lib/fuzz.h"

#define NOW INT64_C(1767355200000000)

static void check_cell(const struct neap_kube_column *column, const json_t *cell,
		       bool may_be_null)
{
	bool is_right = json_is_string(cell);

	if (strcmp(column->type, "integer") == 0)
		is_right = json_is_integer(cell);
	else if (strcmp(column->type, "number") == 0)
		is_right = json_is_number(cell);
	else if (strcmp(column->type, "boolean") == 0)
		is_right = json_is_boolean(cell);
	else if (column->path == NULL)
		is_right = json_is_string(cell) || json_is_integer(cell) ||
			   json_is_boolean(cell);
	FUZZ_CHECK(is_right || (may_be_null && json_is_null(cell)));
}

static void check_row(const struct neap_kube_kind *kind, const json_t *object)
{
	json_t *cells = neap_kube_cells(kind, object, NOW);

	FUZZ_CHECK(cells != NULL && json_array_size(cells) == kind->column_count);
	for (size_t i = 0; i < kind->column_count; i++)
		check_cell(&kind->columns[i], json_array_get(cells, i),
			   !kind->cells && !kind->columns[i].put);
	json_decref(cells);
}

/* Braces around a path, and reading it twice, change nothing. */
static void check_path(const json_t *object, const char *path)
{
	struct neap_error err = {0};
	bool is_path = neap_kube_path_check(path, &err) == 0;
	json_t *found = neap_kube_path_get(object, path), *again;
	char *braced = *path != '{' ? neap_asprintf("{%s}", path) : NULL;

	FUZZ_CHECK(is_path || (found == NULL && err.code == NEAP_EINVAL && *err.msg));
	FUZZ_CHECK(found == NULL || !json_is_null(found));
	if (braced != NULL && strlen(braced) <= 512) {
		FUZZ_CHECK((neap_kube_path_check(braced, NULL) == 0) == is_path);
		again = neap_kube_path_get(object, braced);
		FUZZ_CHECK(again == found || json_equal(again, found));
		json_decref(again);
	}
	free(braced);
	json_decref(found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct neap_kube_kind *const *const kinds[] = {
		neap_kube_core_kinds, neap_kube_apps_kinds, neap_kube_other_kinds};
	static const char *const types[] = {"string", "integer", "number", "boolean",
					    "date"};
	struct neap_kube_column columns[NEAP_ARRAY_LEN(types)];
	struct neap_kube_kind declared = {.columns = columns,
					  .column_count = NEAP_ARRAY_LEN(types)};
	struct fuzz_in in;
	json_t *object;
	char *path;

	fuzz_in_init(&in, data, size);
	path = fuzz_line(&in);
	object = fuzz_rest_json(&in);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(types); i++)
		columns[i] = (struct neap_kube_column){
			.name = "C", .type = types[i], .format = "", .path = path};
	if (object != NULL) {
		check_path(object, path);
		check_row(&declared, object);
		for (size_t i = 0; i < NEAP_ARRAY_LEN(kinds); i++)
			for (size_t k = 0; kinds[i][k]; k++)
				check_row(kinds[i][k], object);
	}
	json_decref(object);
	fuzz_in_done(&in);
	return 0;
}
