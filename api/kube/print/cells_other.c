/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds of the small groups: disruption budgets, priority classes, leases, declared
 * kinds. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/kube/print/cells_priv.h"

const struct neap_kube_column neap_kube_columns_poddisruptionbudget[] = {
	NEAP_KUBE_COLUMN_NAME,
	NEAP_KUBE_COLUMN("Min Available", "string", 0, "Pods that have to stay."),
	NEAP_KUBE_COLUMN("Max Unavailable", "string", 0, "Pods that may be missing."),
	NEAP_KUBE_COLUMN("Allowed Disruptions", "integer", 0,
			 "Pods that may be taken away now."),
	NEAP_KUBE_COLUMN_AGE,
};

/* A number or a share such as "50%". */
static void add_bound(struct neap_kube_row *row, const char *path)
{
	const json_t *bound = neap_kube_cell_get(row->object, path);

	if (json_is_integer(bound))
		neap_buf_addf(&row->buf, "%" JSON_INTEGER_FORMAT,
			      json_integer_value(bound));
	else
		neap_buf_adds(&row->buf,
			      json_is_string(bound) ? json_string_value(bound) : "N/A");
	neap_kube_row_buf(row);
}

json_t *neap_kube_cells_poddisruptionbudget(const struct neap_kube_kind *kind,
					    const json_t *object, int64_t now)
{
	struct neap_kube_row row;

	(void)kind;
	neap_kube_row_init(&row, object, now);
	neap_kube_row_name(&row);
	add_bound(&row, "spec.minAvailable");
	add_bound(&row, "spec.maxUnavailable");
	neap_kube_row_int(&row,
			  neap_kube_cell_int(object, "status.disruptionsAllowed", 0));
	neap_kube_row_age(&row);
	return neap_kube_row_take(&row);
}

const struct neap_kube_column neap_kube_columns_priorityclass[] = {
	NEAP_KUBE_COLUMN_NAME,
	NEAP_KUBE_COLUMN("Value", "integer", 0, "Priority of its pods."),
	NEAP_KUBE_COLUMN("Global-Default", "boolean", 0,
			 "Whether pods that name no class are of this one."),
	NEAP_KUBE_COLUMN_AGE,
};

json_t *neap_kube_cells_priorityclass(const struct neap_kube_kind *kind,
				      const json_t *object, int64_t now)
{
	struct neap_kube_row row;

	(void)kind;
	neap_kube_row_init(&row, object, now);
	neap_kube_row_name(&row);
	neap_kube_row_int(&row, neap_kube_cell_int(object, "value", 0));
	neap_kube_row_bool(&row, neap_kube_cell_is_true(object, "globalDefault"));
	neap_kube_row_age(&row);
	return neap_kube_row_take(&row);
}

const struct neap_kube_column neap_kube_columns_lease[] = {
	NEAP_KUBE_COLUMN_NAME,
	NEAP_KUBE_COLUMN("Holder", "string", 0, "Who holds it."),
	NEAP_KUBE_COLUMN_AGE,
};

json_t *neap_kube_cells_lease(const struct neap_kube_kind *kind, const json_t *object,
			      int64_t now)
{
	struct neap_kube_row row;

	(void)kind;
	neap_kube_row_init(&row, object, now);
	neap_kube_row_name(&row);
	neap_kube_row_text(&row, neap_kube_cell_text(object, "spec.holderIdentity"));
	neap_kube_row_age(&row);
	return neap_kube_row_take(&row);
}

const struct neap_kube_column neap_kube_columns_controllerrevision[] = {
	NEAP_KUBE_COLUMN_NAME,
	NEAP_KUBE_COLUMN("Controller", "string", 0, "Whose state it is."),
	NEAP_KUBE_COLUMN("Revision", "string", 0, "Which one it is."),
	NEAP_KUBE_COLUMN_AGE,
};

/* "statefulset.apps/web" */
static void put_controller(const json_t *object, char *buf, size_t size)
{
	const json_t *owners = neap_kube_cell_get(object, "metadata.ownerReferences");
	const json_t *owner;
	size_t i, len;

	(void)snprintf(buf, size, "<none>");
	json_array_foreach (owners, i, owner) {
		const char *version = neap_kube_cell_text(owner, "apiVersion");

		if (!neap_kube_cell_is_true(owner, "controller"))
			continue;
		(void)snprintf(buf, size, "%.63s", neap_kube_cell_text(owner, "kind"));
		for (char *at = buf; *at; at++)
			*at = (char)tolower((unsigned char)*at);
		len = strlen(buf);
		(void)snprintf(buf + len, size - len, "%s%.*s/%.253s",
			       strchr(version, '/') ? "." : "",
			       strchr(version, '/') ? (int)strcspn(version, "/") : 0,
			       version, neap_kube_cell_text(owner, "name"));
		return;
	}
}

json_t *neap_kube_cells_controllerrevision(const struct neap_kube_kind *kind,
					   const json_t *object, int64_t now)
{
	char controller[640], revision[24];
	struct neap_kube_row row;

	(void)kind;
	put_controller(object, controller, sizeof(controller));
	(void)snprintf(revision, sizeof(revision), "%" PRId64,
		       neap_kube_cell_int(object, "revision", 0));
	neap_kube_row_init(&row, object, now);
	neap_kube_row_name(&row);
	neap_kube_row_text(&row, controller);
	neap_kube_row_text(&row, revision);
	neap_kube_row_age(&row);
	return neap_kube_row_take(&row);
}

const struct neap_kube_column neap_kube_columns_customresourcedefinition[] = {
	NEAP_KUBE_COLUMN_NAME,
	NEAP_KUBE_COLUMN("Created At", "date", 0, "When it was made."),
};

/* The time itself, as it stands there: no age. */
json_t *neap_kube_cells_customresourcedefinition(const struct neap_kube_kind *kind,
						 const json_t *object, int64_t now)
{
	struct neap_kube_row row;

	(void)kind;
	neap_kube_row_init(&row, object, now);
	neap_kube_row_name(&row);
	neap_kube_row_text(&row,
			   neap_kube_cell_text(object, "metadata.creationTimestamp"));
	return neap_kube_row_take(&row);
}
