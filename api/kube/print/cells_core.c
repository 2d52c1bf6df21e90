/* SPDX-License-Identifier: Apache-2.0
 *
 * Small kinds of the core group: namespaces, config maps, service accounts. */
#include "api/kube/print/cells_priv.h"

const struct neap_kube_column neap_kube_columns_namespace[] = {
	NEAP_KUBE_COLUMN_NAME,
	NEAP_KUBE_COLUMN("Status", "string", 0, "Active, or Terminating."),
	NEAP_KUBE_COLUMN_AGE,
};

json_t *neap_kube_cells_namespace(const struct neap_kube_kind *kind, const json_t *object,
				  int64_t now)
{
	struct neap_kube_row row;

	(void)kind;
	neap_kube_row_init(&row, object, now);
	neap_kube_row_name(&row);
	neap_kube_row_text(
		&row,
		neap_kube_cell_or(neap_kube_cell_text(object, "status.phase"), "Active"));
	neap_kube_row_age(&row);
	return neap_kube_row_take(&row);
}

const struct neap_kube_column neap_kube_columns_configmap[] = {
	NEAP_KUBE_COLUMN_NAME,
	NEAP_KUBE_COLUMN("Data", "string", 0, "How many entries there are."),
	NEAP_KUBE_COLUMN_AGE,
};

json_t *neap_kube_cells_configmap(const struct neap_kube_kind *kind, const json_t *object,
				  int64_t now)
{
	struct neap_kube_row row;

	(void)kind;
	neap_kube_row_init(&row, object, now);
	neap_kube_row_name(&row);
	neap_kube_row_int(
		&row,
		(int64_t)(json_object_size(neap_kube_cell_get(object, "data")) +
			  json_object_size(neap_kube_cell_get(object, "binaryData"))));
	neap_kube_row_age(&row);
	return neap_kube_row_take(&row);
}

const struct neap_kube_column neap_kube_columns_serviceaccount[] = {
	NEAP_KUBE_COLUMN_NAME,
	NEAP_KUBE_COLUMN("Secrets", "string", 0, "How many secrets it lists."),
	NEAP_KUBE_COLUMN_AGE,
};

json_t *neap_kube_cells_serviceaccount(const struct neap_kube_kind *kind,
				       const json_t *object, int64_t now)
{
	struct neap_kube_row row;

	(void)kind;
	neap_kube_row_init(&row, object, now);
	neap_kube_row_name(&row);
	neap_kube_row_int(
		&row, (int64_t)json_array_size(neap_kube_cell_get(object, "secrets")));
	neap_kube_row_age(&row);
	return neap_kube_row_take(&row);
}
