/* SPDX-License-Identifier: Apache-2.0
 *
 * Storage: volumes, claims, classes. */
#include <string.h>

#include "api/kube/print/cells_priv.h"

#define BETA_CLASS    "volume.beta.kubernetes.io/storage-class"
#define DEFAULT_CLASS "storageclass.kubernetes.io/is-default-class"
#define BETA_DEFAULT  "storageclass.beta.kubernetes.io/is-default-class"

/* --- what several of them show --- */

/* Annotations have dots in their names. */
static const char *annotation(const json_t *object, const char *name)
{
	const json_t *all = neap_kube_cell_get(object, "metadata.annotations");

	return json_string_value(json_object_get(all, name));
}

/* "RWO,RWX": always in this order. */
static void add_modes(struct neap_kube_row *row, const json_t *modes)
{
	static const struct {
		const char *mode, *text;
	} all[] = {{"ReadWriteOnce", "RWO"},
		   {"ReadOnlyMany", "ROX"},
		   {"ReadWriteMany", "RWX"},
		   {"ReadWriteOncePod", "RWOP"}};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(all); i++) {
		bool has = false;

		for (size_t j = 0; j < json_array_size(modes) && !has; j++)
			has = strcmp(neap_kube_cell_text(json_array_get(modes, j), ""),
				     all[i].mode) == 0;
		if (has)
			neap_buf_addf(&row->buf, "%s%s", row->buf.len > 0 ? "," : "",
				      all[i].text);
	}
	neap_kube_row_buf(row);
}

void neap_kube_put_modes(struct neap_kube_row *row, const struct neap_kube_column *column)
{
	add_modes(row, neap_kube_cell_get(row->object, column->from));
}

void neap_kube_put_phase(struct neap_kube_row *row, const struct neap_kube_column *column)
{
	bool goes = neap_kube_cell_get(row->object, "metadata.deletionTimestamp") != NULL;

	(void)column;
	neap_kube_row_text(
		row,
		goes ? "Terminating"
		     : neap_kube_cell_or(neap_kube_cell_text(row->object, "status.phase"),
					 "Pending"));
}

void neap_kube_put_class(struct neap_kube_row *row, const struct neap_kube_column *column)
{
	const char *beta = annotation(row->object, BETA_CLASS);

	(void)column;
	neap_kube_row_text(
		row, beta != NULL
			     ? beta
			     : neap_kube_cell_text(row->object, "spec.storageClassName"));
}

/* --- volumes and claims --- */

void neap_kube_put_claim(struct neap_kube_row *row, const struct neap_kube_column *column)
{
	const json_t *claim = neap_kube_cell_get(row->object, "spec.claimRef");

	(void)column;
	if (json_is_object(claim)) {
		neap_buf_adds(&row->buf, neap_kube_cell_text(claim, "namespace"));
		neap_buf_addc(&row->buf, '/');
		neap_buf_adds(&row->buf, neap_kube_cell_text(claim, "name"));
	}
	neap_kube_row_buf(row);
}

/* The status of a bound claim; NULL: it has no volume. */
static const json_t *bound_status(const struct neap_kube_row *row)
{
	return *neap_kube_cell_text(row->object, "spec.volumeName")
		       ? neap_kube_cell_get(row->object, "status")
		       : NULL;
}

void neap_kube_put_bound_capacity(struct neap_kube_row *row,
				  const struct neap_kube_column *column)
{
	(void)column;
	neap_kube_cell_quantity(neap_kube_cell_get(bound_status(row), "capacity.storage"),
				&row->buf);
	neap_kube_row_buf(row);
}

void neap_kube_put_bound_modes(struct neap_kube_row *row,
			       const struct neap_kube_column *column)
{
	(void)column;
	add_modes(row, neap_kube_cell_get(bound_status(row), "accessModes"));
}

/* --- classes --- */

static bool is_default(const json_t *object)
{
	const char *now = annotation(object, DEFAULT_CLASS);
	const char *beta = annotation(object, BETA_DEFAULT);

	return (now != NULL && strcmp(now, "true") == 0) ||
	       (beta != NULL && strcmp(beta, "true") == 0);
}

void neap_kube_put_class_name(struct neap_kube_row *row,
			      const struct neap_kube_column *column)
{
	(void)column;
	neap_buf_adds(&row->buf, neap_kube_cell_text(row->object, "metadata.name"));
	if (is_default(row->object))
		neap_buf_adds(&row->buf, " (default)");
	neap_kube_row_buf(row);
}
