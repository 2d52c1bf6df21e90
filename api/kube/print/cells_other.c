/* SPDX-License-Identifier: Apache-2.0
 *
 * ConfigMaps, PodDisruptionBudgets, ControllerRevisions. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/kube/print/cells_priv.h"

void neap_kube_put_entries(struct neap_kube_row *row,
			   const struct neap_kube_column *column)
{
	const json_t *data = neap_kube_cell_get(row->object, "data"),
		     *binary = neap_kube_cell_get(row->object, "binaryData");

	(void)column;
	neap_kube_row_int(row,
			  (int64_t)(json_object_size(data) + json_object_size(binary)));
}

/* A number or a percentage such as "50%". */
void neap_kube_put_bound(struct neap_kube_row *row, const struct neap_kube_column *column)
{
	const json_t *bound = neap_kube_cell_get(row->object, column->from);

	if (json_is_integer(bound))
		neap_buf_addf(&row->buf, "%" JSON_INTEGER_FORMAT,
			      json_integer_value(bound));
	else
		neap_buf_adds(&row->buf,
			      json_is_string(bound) ? json_string_value(bound) : "N/A");
	neap_kube_row_buf(row);
}

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

void neap_kube_put_controller(struct neap_kube_row *row,
			      const struct neap_kube_column *column)
{
	char controller[640];

	(void)column;
	put_controller(row->object, controller, sizeof(controller));
	neap_kube_row_text(row, controller);
}
