/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes: readiness, roles, addresses. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/print/cells_priv.h"
#include "engine/base/mem.h"

#define ROLE_PREFIX "node-role.kubernetes.io/"
#define ROLE_LABEL  "kubernetes.io/role"

const struct neap_kube_column neap_kube_columns_node[] = {
	NEAP_KUBE_COLUMN_NAME,
	NEAP_KUBE_COLUMN("Status", "string", 0,
			 "Whether the node is ready, and whether it takes new pods."),
	NEAP_KUBE_COLUMN("Roles", "string", 0, "Roles that its labels name."),
	NEAP_KUBE_COLUMN_AGE,
	NEAP_KUBE_COLUMN("Version", "string", 0, "Version of its kubelet."),
	NEAP_KUBE_COLUMN("Internal-IP", "string", 1, "Its first address inside."),
	NEAP_KUBE_COLUMN("External-IP", "string", 1, "Its first address outside."),
	NEAP_KUBE_COLUMN("OS-Image", "string", 1,
			 "Operating system, as it names itself."),
	NEAP_KUBE_COLUMN("Kernel-Version", "string", 1, "Version of the kernel."),
	NEAP_KUBE_COLUMN("Container-Runtime", "string", 1,
			 "Container runtime and its version."),
};

/* Of several conditions with that type the last one counts. */
static void add_status(struct neap_kube_row *row)
{
	const json_t *list = neap_kube_cell_get(row->object, "status.conditions");
	const char *word = "Unknown";

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

/* "" for a label that names none. */
static const char *role_of(const char *label, const char *value)
{
	if (strncmp(label, ROLE_PREFIX, strlen(ROLE_PREFIX)) == 0)
		return label + strlen(ROLE_PREFIX);
	return strcmp(label, ROLE_LABEL) == 0 ? value : "";
}

/* Sorted, each once. */
static void add_roles(struct neap_kube_row *row)
{
	const json_t *labels = neap_kube_cell_get(row->object, "metadata.labels");
	const char **roles =
		neap_alloc_array(json_object_size(labels) + 1, sizeof(const char *));
	const char *label;
	json_t *value;
	size_t n = 0;

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

static void add_address(struct neap_kube_row *row, const char *type)
{
	const json_t *list = neap_kube_cell_get(row->object, "status.addresses");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *a = json_array_get(list, i);

		if (strcmp(neap_kube_cell_text(a, "type"), type) != 0)
			continue;
		neap_kube_row_text(row, neap_kube_cell_text(a, "address"));
		return;
	}
	neap_kube_row_text(row, "<none>");
}

json_t *neap_kube_cells_node(const struct neap_kube_kind *kind, const json_t *object,
			     int64_t now)
{
	const json_t *info = neap_kube_cell_get(object, "status.nodeInfo");
	struct neap_kube_row row;

	(void)kind;
	neap_kube_row_init(&row, object, now);
	neap_kube_row_name(&row);
	add_status(&row);
	add_roles(&row);
	neap_kube_row_age(&row);
	neap_kube_row_text(&row, neap_kube_cell_text(info, "kubeletVersion"));
	add_address(&row, "InternalIP");
	add_address(&row, "ExternalIP");
	neap_kube_row_text(&row, neap_kube_cell_or(neap_kube_cell_text(info, "osImage"),
						   "<unknown>"));
	neap_kube_row_text(&row,
			   neap_kube_cell_or(neap_kube_cell_text(info, "kernelVersion"),
					     "<unknown>"));
	neap_kube_row_text(
		&row,
		neap_kube_cell_or(neap_kube_cell_text(info, "containerRuntimeVersion"),
				  "<unknown>"));
	return neap_kube_row_take(&row);
}
