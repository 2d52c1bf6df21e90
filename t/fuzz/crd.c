/* SPDX-License-Identifier: Apache-2.0
 *
 * Definitions of kinds: YAML with a CustomResourceDefinition in it. Either there are
 * causes, each with words, or there is a row in which nothing is missing that readers of
 * rows take for granted. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/crd/crd.h"
#include "api/kube/print/table.h"
#include "api/yaml/yaml.h"
#include "t/fuzz/lib/fuzz.h"

static bool is_ended(const char *const *list)
{
	size_t count = 0;

	for (; list != NULL && *list != NULL; list++)
		count += strlen(*list) + 1;
	return count < 65536;
}

static void check_columns(const struct neap_kube_kind *kind)
{
	size_t i;

	FUZZ_CHECK(kind->column_count >= 2 &&
		   strcmp(kind->columns[0].format, "name") == 0);
	for (i = 0; i < kind->column_count; i++) {
		const struct neap_kube_column *column = &kind->columns[i];

		FUZZ_CHECK(*column->name != '\0' && *column->type != '\0');
		FUZZ_CHECK(column->format != NULL && column->doc != NULL);
		FUZZ_CHECK(neap_kube_path_check(column->path, NULL) == 0);
	}
}

static void check_row(const struct neap_kube_kind *kind)
{
	json_t *object = json_object(), *cells;

	FUZZ_CHECK(*kind->kind != '\0' && *kind->list_kind != '\0');
	FUZZ_CHECK(*kind->plural != '\0' && *kind->singular != '\0');
	FUZZ_CHECK(strchr(kind->group, '.') != NULL);
	FUZZ_CHECK(kind->versions[0] != NULL && is_ended(kind->versions));
	FUZZ_CHECK(is_ended(kind->short_names) && is_ended(kind->categories) &&
		   is_ended(kind->fields));
	FUZZ_CHECK((kind->replicas_path != NULL) == (kind->status_replicas_path != NULL));
	FUZZ_CHECK(kind->schema->type == NEAP_SCHEMA_OBJECT &&
		   *kind->schema->name != '\0');
	check_columns(kind);
	cells = neap_kube_cells(kind, object, 0);
	FUZZ_CHECK(json_array_size(cells) == kind->column_count);
	json_decref(cells);
	json_decref(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct neap_causes causes;
	struct neap_kube_kind *kind = NULL;
	struct neap_error err = {0};
	json_t *documents = NULL;
	struct fuzz_in in;
	const char *text;
	size_t len, i;
	int r;

	fuzz_in_init(&in, data, size);
	text = fuzz_rest(&in, &len);
	memset(&causes, 0, sizeof(causes));
	if (neap_yaml_parse(text, len, "fuzz.yaml", &documents, &err) == 0) {
		r = neap_kube_crd_parse(json_array_get(documents, 0), &kind, &causes,
					&err);
		/* The row keeps nothing of it. */
		json_decref(documents);
		FUZZ_CHECK((r == 0) == (kind != NULL));
		FUZZ_CHECK(r == 0 || ((int)err.code == -r && *err.msg != '\0'));
		FUZZ_CHECK((r == -NEAP_EINVAL) == (causes.count > 0) ||
			   r == -NEAP_ETOOLARGE);
		for (i = 0; i < causes.count; i++)
			FUZZ_CHECK(*causes.list[i].reason != '\0' &&
				   *causes.list[i].message != '\0');
		if (r == 0)
			check_row(kind);
		neap_kube_crd_free(kind);
	}
	fuzz_in_done(&in);
	return 0;
}
