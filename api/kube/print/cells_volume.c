/* SPDX-License-Identifier: Apache-2.0
 *
 * Storage: volumes, claims, classes, and a node's drivers. */
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

/* "RWO,RWX": in this order, whatever theirs is. */
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

static void add_phase(struct neap_kube_row *row)
{
	bool goes = neap_kube_cell_get(row->object, "metadata.deletionTimestamp") != NULL;

	neap_kube_row_text(
		row,
		goes ? "Terminating"
		     : neap_kube_cell_or(neap_kube_cell_text(row->object, "status.phase"),
					 "Pending"));
}

static void add_class(struct neap_kube_row *row)
{
	const char *beta = annotation(row->object, BETA_CLASS);

	neap_kube_row_text(
		row, beta != NULL
			     ? beta
			     : neap_kube_cell_text(row->object, "spec.storageClassName"));
}

static void add_volume_mode(struct neap_kube_row *row)
{
	neap_kube_row_text(row, neap_kube_cell_or(neap_kube_cell_text(row->object,
								      "spec.volumeMode"),
						  "<unset>"));
}

/* --- volumes and claims --- */

const struct neap_kube_column neap_kube_columns_persistentvolume[] = {
	NEAP_KUBE_COLUMN_NAME,
	NEAP_KUBE_COLUMN("Capacity", "string", 0, "How much fits in."),
	NEAP_KUBE_COLUMN("Access Modes", "string", 0, "How it can be mounted."),
	NEAP_KUBE_COLUMN("Reclaim Policy", "string", 0,
			 "What becomes of it when its claim is gone."),
	NEAP_KUBE_COLUMN("Status", "string", 0, "Whether it is bound to a claim."),
	NEAP_KUBE_COLUMN("Claim", "string", 0, "The claim that it is bound to."),
	NEAP_KUBE_COLUMN("StorageClass", "string", 0, "Its storage class."),
	NEAP_KUBE_COLUMN("Reason", "string", 0, "Why it is in that status, in a word."),
	NEAP_KUBE_COLUMN_AGE,
	NEAP_KUBE_COLUMN("VolumeMode", "string", 1, "Filesystem or Block."),
};

json_t *neap_kube_cells_persistentvolume(const struct neap_kube_kind *kind,
					 const json_t *object, int64_t now)
{
	const json_t *claim = neap_kube_cell_get(object, "spec.claimRef");
	struct neap_kube_row row;

	(void)kind;
	neap_kube_row_init(&row, object, now);
	neap_kube_row_name(&row);
	neap_kube_cell_quantity(neap_kube_cell_get(object, "spec.capacity.storage"),
				&row.buf);
	neap_kube_row_buf(&row);
	add_modes(&row, neap_kube_cell_get(object, "spec.accessModes"));
	neap_kube_row_text(
		&row, neap_kube_cell_text(object, "spec.persistentVolumeReclaimPolicy"));
	add_phase(&row);
	if (json_is_object(claim)) {
		neap_buf_adds(&row.buf, neap_kube_cell_text(claim, "namespace"));
		neap_buf_addc(&row.buf, '/');
		neap_buf_adds(&row.buf, neap_kube_cell_text(claim, "name"));
	}
	neap_kube_row_buf(&row);
	add_class(&row);
	neap_kube_row_text(&row, neap_kube_cell_text(object, "status.reason"));
	neap_kube_row_age(&row);
	add_volume_mode(&row);
	return neap_kube_row_take(&row);
}

const struct neap_kube_column neap_kube_columns_persistentvolumeclaim[] = {
	NEAP_KUBE_COLUMN_NAME,
	NEAP_KUBE_COLUMN("Status", "string", 0, "Whether it is bound to a volume."),
	NEAP_KUBE_COLUMN("Volume", "string", 0, "The volume that it is bound to."),
	NEAP_KUBE_COLUMN("Capacity", "string", 0, "How much fits into that."),
	NEAP_KUBE_COLUMN("Access Modes", "string", 0, "How that can be mounted."),
	NEAP_KUBE_COLUMN("StorageClass", "string", 0, "The storage class it asks for."),
	NEAP_KUBE_COLUMN_AGE,
	NEAP_KUBE_COLUMN("VolumeMode", "string", 1, "Filesystem or Block."),
};

json_t *neap_kube_cells_persistentvolumeclaim(const struct neap_kube_kind *kind,
					      const json_t *object, int64_t now)
{
	const char *volume = neap_kube_cell_text(object, "spec.volumeName");
	/* Of a volume, which there has to be first. */
	const json_t *status = *volume ? neap_kube_cell_get(object, "status") : NULL;
	struct neap_kube_row row;

	(void)kind;
	neap_kube_row_init(&row, object, now);
	neap_kube_row_name(&row);
	add_phase(&row);
	neap_kube_row_text(&row, volume);
	neap_kube_cell_quantity(neap_kube_cell_get(status, "capacity.storage"), &row.buf);
	neap_kube_row_buf(&row);
	add_modes(&row, neap_kube_cell_get(status, "accessModes"));
	add_class(&row);
	neap_kube_row_age(&row);
	add_volume_mode(&row);
	return neap_kube_row_take(&row);
}

/* --- classes and drivers --- */

const struct neap_kube_column neap_kube_columns_storageclass[] = {
	NEAP_KUBE_COLUMN_NAME,
	NEAP_KUBE_COLUMN("Provisioner", "string", 0, "Who makes its volumes."),
	NEAP_KUBE_COLUMN("ReclaimPolicy", "string", 0,
			 "What becomes of a volume when its claim is gone."),
	NEAP_KUBE_COLUMN("VolumeBindingMode", "string", 0,
			 "When claims are bound: at once, or with their first pod."),
	NEAP_KUBE_COLUMN("AllowVolumeExpansion", "string", 0,
			 "Whether volumes can be made larger."),
	NEAP_KUBE_COLUMN_AGE,
};

static bool is_default(const json_t *object)
{
	const char *now = annotation(object, DEFAULT_CLASS);
	const char *beta = annotation(object, BETA_DEFAULT);

	return (now != NULL && strcmp(now, "true") == 0) ||
	       (beta != NULL && strcmp(beta, "true") == 0);
}

json_t *neap_kube_cells_storageclass(const struct neap_kube_kind *kind,
				     const json_t *object, int64_t now)
{
	struct neap_kube_row row;

	(void)kind;
	neap_kube_row_init(&row, object, now);
	neap_buf_adds(&row.buf, neap_kube_cell_text(object, "metadata.name"));
	if (is_default(object))
		neap_buf_adds(&row.buf, " (default)");
	neap_kube_row_buf(&row);
	neap_kube_row_text(&row, neap_kube_cell_text(object, "provisioner"));
	neap_kube_row_text(&row,
			   neap_kube_cell_or(neap_kube_cell_text(object, "reclaimPolicy"),
					     "Delete"));
	neap_kube_row_text(
		&row, neap_kube_cell_or(neap_kube_cell_text(object, "volumeBindingMode"),
					"Immediate"));
	neap_kube_row_bool(&row, neap_kube_cell_is_true(object, "allowVolumeExpansion"));
	neap_kube_row_age(&row);
	return neap_kube_row_take(&row);
}

const struct neap_kube_column neap_kube_columns_csinode[] = {
	NEAP_KUBE_COLUMN_NAME,
	NEAP_KUBE_COLUMN("Drivers", "integer", 0, "How many drivers the node has."),
	NEAP_KUBE_COLUMN_AGE,
};

json_t *neap_kube_cells_csinode(const struct neap_kube_kind *kind, const json_t *object,
				int64_t now)
{
	struct neap_kube_row row;

	(void)kind;
	neap_kube_row_init(&row, object, now);
	neap_kube_row_name(&row);
	neap_kube_row_int(&row, (int64_t)json_array_size(
					neap_kube_cell_get(object, "spec.drivers")));
	neap_kube_row_age(&row);
	return neap_kube_row_take(&row);
}
