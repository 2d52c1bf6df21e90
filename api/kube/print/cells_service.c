/* SPDX-License-Identifier: Apache-2.0
 *
 * Services and their addresses. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/print/cells_priv.h"
#include "engine/base/mem.h"

/* The addresses, or else names, of load balancers: sorted, without duplicates. */
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

void neap_kube_put_external_ip(struct neap_kube_row *row,
			       const struct neap_kube_column *column)
{
	const char *type = neap_kube_cell_or(
		neap_kube_cell_text(row->object, "spec.type"), "ClusterIP");
	const json_t *fixed = neap_kube_cell_get(row->object, "spec.externalIPs");
	bool is_balanced = strcmp(type, "LoadBalancer") == 0;
	const char *nothing = is_balanced ? "<pending>" : "<none>";

	(void)column;
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
void neap_kube_put_ports(struct neap_kube_row *row, const struct neap_kube_column *column)
{
	const json_t *list = neap_kube_cell_get(row->object, "spec.ports");

	(void)column;
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

void neap_kube_put_cluster_ip(struct neap_kube_row *row,
			      const struct neap_kube_column *column)
{
	const json_t *addresses = neap_kube_cell_get(row->object, "spec.clusterIPs");
	const char *address =
		neap_kube_cell_or(neap_kube_cell_text(json_array_get(addresses, 0), ""),
				  neap_kube_cell_text(row->object, "spec.clusterIP"));

	(void)column;
	neap_kube_row_text(row, neap_kube_cell_or(address, "<none>"));
}
