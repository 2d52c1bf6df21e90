/* SPDX-License-Identifier: Apache-2.0
 *
 * Services and their addresses. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/print/cells_priv.h"
#include "engine/base/mem.h"

const struct neap_kube_column neap_kube_columns_service[] = {
	NEAP_KUBE_COLUMN_NAME,
	NEAP_KUBE_COLUMN("Type", "string", 0,
			 "ClusterIP, NodePort, LoadBalancer or ExternalName."),
	NEAP_KUBE_COLUMN("Cluster-IP", "string", 0, "Its address inside the cluster."),
	NEAP_KUBE_COLUMN("External-IP", "string", 0, "Its addresses outside."),
	NEAP_KUBE_COLUMN("Port(s)", "string", 0,
			 "Ports, with those on the nodes behind a colon."),
	NEAP_KUBE_COLUMN_AGE,
	NEAP_KUBE_COLUMN("Selector", "string", 1, "Labels of the pods behind it."),
};

/* Addresses, or else names, that load balancers gave: sorted, each once. */
static void add_ingress(const json_t *list, struct neap_buf *buf)
{
	size_t count = json_array_size(list), n = 0;
	const char **texts = neap_alloc_array(count, sizeof(const char *));

	if (texts == NULL) {
		buf->failed = true;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const json_t *one = json_array_get(list, i);

		texts[n] = neap_kube_cell_or(neap_kube_cell_text(one, "ip"),
					     neap_kube_cell_text(one, "hostname"));
		n += *texts[n] != '\0';
	}
	neap_kube_cell_set(texts, n, buf);
	free(texts);
}

static void add_external(struct neap_kube_row *row, const char *type)
{
	const json_t *fixed = neap_kube_cell_get(row->object, "spec.externalIPs");
	bool is_balanced = strcmp(type, "LoadBalancer") == 0;
	const char *nothing = is_balanced ? "<pending>" : "<none>";

	if (strcmp(type, "ExternalName") == 0) {
		neap_kube_row_text(row,
				   neap_kube_cell_text(row->object, "spec.externalName"));
		return;
	}
	if (is_balanced)
		add_ingress(
			neap_kube_cell_get(row->object, "status.loadBalancer.ingress"),
			&row->buf);
	else if (strcmp(type, "ClusterIP") != 0 && strcmp(type, "NodePort") != 0)
		nothing = "<unknown>";
	if (strcmp(nothing, "<unknown>") != 0 && json_array_size(fixed) > 0) {
		if (row->buf.len > 0)
			neap_buf_addc(&row->buf, ',');
		neap_kube_cell_join(fixed, "", &row->buf);
	}
	if (row->buf.len == 0)
		neap_buf_adds(&row->buf, nothing);
	neap_kube_row_buf(row);
}

/* "80/TCP,443:30443/TCP" */
static void add_ports(struct neap_kube_row *row)
{
	const json_t *list = neap_kube_cell_get(row->object, "spec.ports");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *port = json_array_get(list, i);
		int64_t on_node = neap_kube_cell_int(port, "nodePort", 0);

		neap_buf_addf(&row->buf, "%s%" PRId64, i > 0 ? "," : "",
			      neap_kube_cell_int(port, "port", 0));
		if (on_node > 0)
			neap_buf_addf(&row->buf, ":%" PRId64, on_node);
		neap_buf_addc(&row->buf, '/');
		neap_buf_adds(
			&row->buf,
			neap_kube_cell_or(neap_kube_cell_text(port, "protocol"), "TCP"));
	}
	if (json_array_size(list) == 0)
		neap_buf_adds(&row->buf, "<none>");
	neap_kube_row_buf(row);
}

json_t *neap_kube_cells_service(const struct neap_kube_kind *kind, const json_t *object,
				int64_t now)
{
	const char *type =
		neap_kube_cell_or(neap_kube_cell_text(object, "spec.type"), "ClusterIP");
	const json_t *addresses = neap_kube_cell_get(object, "spec.clusterIPs");
	const char *address =
		neap_kube_cell_or(neap_kube_cell_text(json_array_get(addresses, 0), ""),
				  neap_kube_cell_text(object, "spec.clusterIP"));
	struct neap_kube_row row;

	(void)kind;
	neap_kube_row_init(&row, object, now);
	neap_kube_row_name(&row);
	neap_kube_row_text(&row, type);
	neap_kube_row_text(&row, neap_kube_cell_or(address, "<none>"));
	add_external(&row, type);
	add_ports(&row);
	neap_kube_row_age(&row);
	neap_kube_row_labels(&row, neap_kube_cell_get(object, "spec.selector"));
	return neap_kube_row_take(&row);
}
