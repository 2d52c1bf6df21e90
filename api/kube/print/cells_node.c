/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes: readiness, roles, addresses. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/print/cells_priv.h"
#include "engine/base/mem.h"

#define ROLE_PREFIX "node-role.kubernetes.io/"
#define ROLE_LABEL  "kubernetes.io/role"

/* If several conditions have the type, the last one counts. */
void neap_kube_put_node_status(struct neap_kube_row *row,
			       const struct neap_kube_column *column)
{
	const json_t *list = neap_kube_cell_get(row->object, "status.conditions");
	const char *word = "Unknown";

	(void)column;
	for (size_t i = json_array_size(list); i-- > 0;) {
		const json_t *c = json_array_get(list, i);

		if (strcmp(neap_kube_cell_text(c, "type"), "Ready") != 0)
			continue;
		word = strcmp(neap_kube_cell_text(c, "status"), "True") == 0 ? "Ready"
									     : "NotReady";
		break;
	}
	neap_buf_adds(&row->buf, word);
	if (neap_kube_cell_is_true(row->object, "spec.unschedulable"))
		neap_buf_adds(&row->buf, ",SchedulingDisabled");
	neap_kube_row_buf(row);
}

/* "" if the label names no role. */
static const char *role_of(const char *label, const char *value)
{
	if (strncmp(label, ROLE_PREFIX, strlen(ROLE_PREFIX)) == 0)
		return label + strlen(ROLE_PREFIX);
	return strcmp(label, ROLE_LABEL) == 0 ? value : "";
}

/* Sorted, without duplicates. */
void neap_kube_put_roles(struct neap_kube_row *row, const struct neap_kube_column *column)
{
	const json_t *labels = neap_kube_cell_get(row->object, "metadata.labels");
	const char **roles =
		neap_alloc_array(json_object_size(labels) + 1, sizeof(const char *));
	const char *label;
	json_t *value;
	size_t n = 0;

	(void)column;
	if (roles == NULL) {
		row->buf.failed = true;
		neap_kube_row_buf(row);
		return;
	}
	json_object_foreach ((json_t *)labels, label, value) {
		roles[n] = role_of(label, neap_kube_cell_text(value, ""));
		n += *roles[n] != '\0';
	}
	neap_kube_cell_set(roles, n, &row->buf);
	free(roles);
	if (n == 0)
		neap_buf_adds(&row->buf, "<none>");
	neap_kube_row_buf(row);
}

void neap_kube_put_address(struct neap_kube_row *row,
			   const struct neap_kube_column *column)
{
	const json_t *list = neap_kube_cell_get(row->object, "status.addresses");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *a = json_array_get(list, i);

		if (strcmp(neap_kube_cell_text(a, "type"), column->from) != 0)
			continue;
		neap_kube_row_text(row, neap_kube_cell_text(a, "address"));
		return;
	}
	neap_kube_row_text(row, "<none>");
}
