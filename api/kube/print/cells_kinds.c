/* SPDX-License-Identifier: Apache-2.0
 *
 * Workloads: readiness, completions and durations. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/print/cells_priv.h"
#include "api/kube/print/table.h"
#include "engine/base/mem.h"

void neap_kube_put_ready(struct neap_kube_row *row)
{
	row_ratio(row, cell_int(row->object, "status.readyReplicas", 0),
		  cell_int(row->object, "spec.replicas", 1));
}

/* Only here an empty selector prints as nothing. */
void neap_kube_put_deployment_selector(struct neap_kube_row *row)
{
	bool is_valid;

	cell_selector(cell_get(row->object, "spec.selector"), &row->buf, &is_valid);
	if (!is_valid)
		neap_buf_adds(&row->buf, "<invalid>");
}

/* Without completions a job needs one pod to succeed, whichever. */
void neap_kube_put_completions(struct neap_kube_row *row)
{
	int64_t done = cell_int(row->object, "status.succeeded", 0);
	int64_t wanted = cell_int(row->object, "spec.completions", -1);
	int64_t beside = cell_int(row->object, "spec.parallelism", 0);

	if (wanted >= 0) {
		row_ratio(row, done, wanted);
		return;
	}
	neap_buf_addf(&row->buf, "%" PRId64 "/1", done);
	if (beside > 1)
		neap_buf_addf(&row->buf, " of %" PRId64, beside);
}

void neap_kube_put_duration(struct neap_kube_row *row)
{
	int64_t start = cell_time(row->object, "status.startTime");
	int64_t end = cell_time(row->object, "status.completionTime");
	char age[24];

	if (start == NEAP_MISSING)
		row_text(row, "");
	else
		row_text(row, neap_kube_age(start, end != NEAP_MISSING ? end : row->now,
					    age, sizeof(age)));
}

/* --- nodes ---
 *
 * Nodes: readiness, roles, addresses. */

#define ROLE_PREFIX "node-role.kubernetes.io/"
#define ROLE_LABEL  "kubernetes.io/role"

/* If several conditions have the type, the last one counts. */
void neap_kube_put_node_status(struct neap_kube_row *row)
{
	const json_t *list = cell_get(row->object, "status.conditions");
	const char *word = "Unknown";

	for (size_t i = json_array_size(list); i-- > 0;) {
		const json_t *c = json_array_get(list, i);

		if (strcmp(cell_text(c, "type"), "Ready") != 0)
			continue;
		word = strcmp(cell_text(c, "status"), "True") == 0 ? "Ready" : "NotReady";
		break;
	}
	neap_buf_adds(&row->buf, word);
	if (cell_is_true(row->object, "spec.unschedulable"))
		neap_buf_adds(&row->buf, ",SchedulingDisabled");
}

/* "" if the label names no role. */
static const char *role_of(const char *label, const char *value)
{
	if (strncmp(label, ROLE_PREFIX, strlen(ROLE_PREFIX)) == 0)
		return label + strlen(ROLE_PREFIX);
	return strcmp(label, ROLE_LABEL) == 0 ? value : "";
}

/* Sorted, without duplicates. */
void neap_kube_put_roles(struct neap_kube_row *row)
{
	const json_t *labels = cell_get(row->object, "metadata.labels");
	const char **roles =
		neap_alloc_array(json_object_size(labels) + 1, sizeof(const char *));
	const char *label;
	json_t *value;
	size_t n = 0;

	if (!roles) {
		row->buf.failed = true;
		return;
	}
	json_object_foreach ((json_t *)labels, label, value) {
		roles[n] = role_of(label, cell_text(value, ""));
		n += *roles[n] != '\0';
	}
	cell_set(roles, n, &row->buf);
	free(roles);
	if (n == 0)
		neap_buf_adds(&row->buf, "<none>");
}

void neap_kube_put_address(struct neap_kube_row *row)
{
	const json_t *list = cell_get(row->object, "status.addresses");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *a = json_array_get(list, i);

		if (strcmp(cell_text(a, "type"), row->column->from) != 0)
			continue;
		row_text(row, cell_text(a, "address"));
		return;
	}
	row_text(row, "<none>");
}

/* --- services ---
 *
 * Services and their addresses. */

/* The addresses, or else names, of load balancers: sorted, without duplicates. */
static void add_ingress(const json_t *list, struct neap_buf *buf)
{
	size_t count = json_array_size(list), n = 0;
	const char **texts = neap_alloc_array(count, sizeof(const char *));

	if (!texts) {
		buf->failed = true;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const json_t *one = json_array_get(list, i);

		texts[n] = cell_or(cell_text(one, "ip"), cell_text(one, "hostname"));
		n += *texts[n] != '\0';
	}
	cell_set(texts, n, buf);
	free(texts);
}

void neap_kube_put_external_ip(struct neap_kube_row *row)
{
	const char *type = cell_or(cell_text(row->object, "spec.type"), "ClusterIP");
	const json_t *fixed = cell_get(row->object, "spec.externalIPs");
	bool is_balanced = strcmp(type, "LoadBalancer") == 0;
	const char *nothing = is_balanced ? "<pending>" : "<none>";

	if (strcmp(type, "ExternalName") == 0) {
		row_text(row, cell_text(row->object, "spec.externalName"));
		return;
	}
	if (is_balanced)
		add_ingress(cell_get(row->object, "status.loadBalancer.ingress"),
			    &row->buf);
	else if (strcmp(type, "ClusterIP") != 0 && strcmp(type, "NodePort") != 0)
		nothing = "<unknown>";
	if (strcmp(nothing, "<unknown>") != 0 && json_array_size(fixed) > 0) {
		if (row->buf.len > 0)
			neap_buf_addc(&row->buf, ',');
		cell_join(fixed, "", &row->buf);
	}
	if (row->buf.len == 0)
		neap_buf_adds(&row->buf, nothing);
}

/* "80/TCP,443:30443/TCP" */
void neap_kube_put_ports(struct neap_kube_row *row)
{
	const json_t *list = cell_get(row->object, "spec.ports");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *port = json_array_get(list, i);
		int64_t on_node = cell_int(port, "nodePort", 0);

		neap_buf_addf(&row->buf, "%s%" PRId64, i > 0 ? "," : "",
			      cell_int(port, "port", 0));
		if (on_node > 0)
			neap_buf_addf(&row->buf, ":%" PRId64, on_node);
		neap_buf_addc(&row->buf, '/');
		neap_buf_adds(&row->buf, cell_or(cell_text(port, "protocol"), "TCP"));
	}
	if (json_array_size(list) == 0)
		neap_buf_adds(&row->buf, "<none>");
}

void neap_kube_put_cluster_ip(struct neap_kube_row *row)
{
	const json_t *addresses = cell_get(row->object, "spec.clusterIPs");
	const char *address = cell_or(cell_text(json_array_get(addresses, 0), ""),
				      cell_text(row->object, "spec.clusterIP"));

	row_text(row, cell_or(address, "<none>"));
}

/* --- storage ---
 *
 * Storage: volumes, claims, classes. */

#define BETA_CLASS    "volume.beta.kubernetes.io/storage-class"
#define DEFAULT_CLASS "storageclass.kubernetes.io/is-default-class"
#define BETA_DEFAULT  "storageclass.beta.kubernetes.io/is-default-class"

/* --- what several of them show --- */

/* Annotations have dots in their names. */
static const char *annotation(const json_t *object, const char *name)
{
	const json_t *all = cell_get(object, "metadata.annotations");

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
			has = strcmp(cell_text(json_array_get(modes, j), ""),
				     all[i].mode) == 0;
		if (has)
			neap_buf_addf(&row->buf, "%s%s", row->buf.len > 0 ? "," : "",
				      all[i].text);
	}
}

void neap_kube_put_modes(struct neap_kube_row *row)
{
	add_modes(row, cell_get(row->object, row->column->from));
}

void neap_kube_put_phase(struct neap_kube_row *row)
{
	bool goes = cell_get(row->object, "metadata.deletionTimestamp") != NULL;

	row_text(row, goes ? "Terminating"
			   : cell_or(cell_text(row->object, "status.phase"), "Pending"));
}

void neap_kube_put_class(struct neap_kube_row *row)
{
	const char *beta = annotation(row->object, BETA_CLASS);

	row_text(row, beta ? beta : cell_text(row->object, "spec.storageClassName"));
}

/* --- volumes and claims --- */

void neap_kube_put_claim(struct neap_kube_row *row)
{
	const json_t *claim = cell_get(row->object, "spec.claimRef");

	if (json_is_object(claim)) {
		neap_buf_adds(&row->buf, cell_text(claim, "namespace"));
		neap_buf_addc(&row->buf, '/');
		neap_buf_adds(&row->buf, cell_text(claim, "name"));
	}
}

/* The status of a bound claim; NULL: it has no volume. */
static const json_t *bound_status(const struct neap_kube_row *row)
{
	return *cell_text(row->object, "spec.volumeName")
		       ? cell_get(row->object, "status")
		       : NULL;
}

void neap_kube_put_bound_capacity(struct neap_kube_row *row)
{
	cell_quantity(cell_get(bound_status(row), "capacity.storage"), &row->buf);
}

void neap_kube_put_bound_modes(struct neap_kube_row *row)
{
	add_modes(row, cell_get(bound_status(row), "accessModes"));
}

/* --- classes --- */

static bool is_default(const json_t *object)
{
	const char *now = annotation(object, DEFAULT_CLASS);
	const char *beta = annotation(object, BETA_DEFAULT);

	return (now && strcmp(now, "true") == 0) || (beta && strcmp(beta, "true") == 0);
}

void neap_kube_put_class_name(struct neap_kube_row *row)
{
	neap_buf_adds(&row->buf, cell_text(row->object, "metadata.name"));
	if (is_default(row->object))
		neap_buf_adds(&row->buf, " (default)");
}

/* --- ConfigMaps, PodDisruptionBudgets, ControllerRevisions ---
 *
 * ConfigMaps, PodDisruptionBudgets, ControllerRevisions. */

void neap_kube_put_entries(struct neap_kube_row *row)
{
	const json_t *data = cell_get(row->object, "data"),
		     *binary = cell_get(row->object, "binaryData");

	row_int(row, (int64_t)(json_object_size(data) + json_object_size(binary)));
}

/* A number or a percentage such as "50%". */
void neap_kube_put_bound(struct neap_kube_row *row)
{
	const json_t *bound = cell_get(row->object, row->column->from);

	if (json_is_integer(bound))
		neap_buf_addf(&row->buf, "%" JSON_INTEGER_FORMAT,
			      json_integer_value(bound));
	else
		neap_buf_adds(&row->buf,
			      json_is_string(bound) ? json_string_value(bound) : "N/A");
}

/* "statefulset.apps/web" */
static void put_controller(const json_t *object, char *buf, size_t size)
{
	const json_t *owners = cell_get(object, "metadata.ownerReferences");
	const json_t *owner;
	size_t i, len;

	(void)snprintf(buf, size, "<none>");
	json_array_foreach (owners, i, owner) {
		const char *version = cell_text(owner, "apiVersion");

		if (!cell_is_true(owner, "controller"))
			continue;
		(void)snprintf(buf, size, "%.63s", cell_text(owner, "kind"));
		for (char *at = buf; *at; at++)
			*at = (char)tolower((unsigned char)*at);
		len = strlen(buf);
		(void)snprintf(buf + len, size - len, "%s%.*s/%.253s",
			       strchr(version, '/') ? "." : "",
			       strchr(version, '/') ? (int)strcspn(version, "/") : 0,
			       version, cell_text(owner, "name"));
		return;
	}
}

void neap_kube_put_controller(struct neap_kube_row *row)
{
	char controller[640];

	put_controller(row->object, controller, sizeof(controller));
	row_text(row, controller);
}
