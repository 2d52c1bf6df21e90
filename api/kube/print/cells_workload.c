/* SPDX-License-Identifier: Apache-2.0
 *
 * Workloads. All show the containers of their template. */
#include <inttypes.h>

#include "api/kube/print/cells_priv.h"
#include "api/kube/print/table.h"

/* priority: 1 with -o wide alone. */
#define CONTAINERS(priority)                                                             \
	NEAP_KUBE_COLUMN("Containers", "string", (priority),                             \
			 "Names of the containers of its pods."),                        \
		NEAP_KUBE_COLUMN("Images", "string", (priority), "Images of these.")
#define SELECTOR                                                                         \
	NEAP_KUBE_COLUMN("Selector", "string", 1, "What tells its pods from others.")

static void add_containers(struct neap_kube_row *row)
{
	neap_kube_row_containers(
		row, neap_kube_cell_get(row->object, "spec.template.spec.containers"));
}

static void add_selector(struct neap_kube_row *row)
{
	neap_kube_row_selector(row, neap_kube_cell_get(row->object, "spec.selector"));
}

static void add_number(struct neap_kube_row *row, const char *path, int64_t fallback)
{
	neap_kube_row_int(row, neap_kube_cell_int(row->object, path, fallback));
}

/* --- none --- */

const struct neap_kube_column neap_kube_columns_podtemplate[] = {
	NEAP_KUBE_COLUMN_NAME,
	CONTAINERS(0),
	NEAP_KUBE_COLUMN("Pod Labels", "string", 0, "Labels of its pods."),
};

json_t *neap_kube_cells_podtemplate(const struct neap_kube_kind *kind,
				    const json_t *object, int64_t now)
{
	struct neap_kube_row row;

	(void)kind;
	neap_kube_row_init(&row, object, now);
	neap_kube_row_name(&row);
	neap_kube_row_containers(&row,
				 neap_kube_cell_get(object, "template.spec.containers"));
	neap_kube_row_labels(&row,
			     neap_kube_cell_get(object, "template.metadata.labels"));
	return neap_kube_row_take(&row);
}

/* --- a number of equal pods --- */

#define REPLICAS                                                                         \
	NEAP_KUBE_COLUMN_NAME,                                                           \
		NEAP_KUBE_COLUMN("Desired", "integer", 0,                                \
				 "How many pods there are to be."),                      \
		NEAP_KUBE_COLUMN("Current", "integer", 0, "How many there are."),        \
		NEAP_KUBE_COLUMN("Ready", "integer", 0, "How many of them are ready."),  \
		NEAP_KUBE_COLUMN_AGE, CONTAINERS(1), SELECTOR

const struct neap_kube_column neap_kube_columns_replicationcontroller[] = {REPLICAS};
const struct neap_kube_column neap_kube_columns_replicaset[] = {REPLICAS};

static void begin_replicas(struct neap_kube_row *row, const json_t *object, int64_t now)
{
	neap_kube_row_init(row, object, now);
	neap_kube_row_name(row);
	add_number(row, "spec.replicas", 1);
	add_number(row, "status.replicas", 0);
	add_number(row, "status.readyReplicas", 0);
	neap_kube_row_age(row);
	add_containers(row);
}

json_t *neap_kube_cells_replicationcontroller(const struct neap_kube_kind *kind,
					      const json_t *object, int64_t now)
{
	struct neap_kube_row row;

	(void)kind;
	begin_replicas(&row, object, now);
	neap_kube_row_labels(&row, neap_kube_cell_get(object, "spec.selector"));
	return neap_kube_row_take(&row);
}

json_t *neap_kube_cells_replicaset(const struct neap_kube_kind *kind,
				   const json_t *object, int64_t now)
{
	struct neap_kube_row row;

	(void)kind;
	begin_replicas(&row, object, now);
	add_selector(&row);
	return neap_kube_row_take(&row);
}

static void add_ready(struct neap_kube_row *row)
{
	neap_kube_row_ratio(row,
			    neap_kube_cell_int(row->object, "status.readyReplicas", 0),
			    neap_kube_cell_int(row->object, "spec.replicas", 1));
}

const struct neap_kube_column neap_kube_columns_deployment[] = {
	NEAP_KUBE_COLUMN_NAME,
	NEAP_KUBE_COLUMN("Ready", "string", 0, "Pods that are ready, of how many."),
	NEAP_KUBE_COLUMN("Up-to-date", "string", 0,
			 "Pods made of the template as it is."),
	NEAP_KUBE_COLUMN("Available", "string", 0,
			 "Pods that have been ready for long enough."),
	NEAP_KUBE_COLUMN_AGE,
	CONTAINERS(1),
	SELECTOR,
};

/* Here, and only here, a selector without anything in it is nothing at all. */
static void add_deployment_selector(struct neap_kube_row *row)
{
	bool is_valid;

	neap_kube_cell_selector(neap_kube_cell_get(row->object, "spec.selector"),
				&row->buf, &is_valid);
	if (!is_valid)
		neap_buf_adds(&row->buf, "<invalid>");
	neap_kube_row_buf(row);
}

json_t *neap_kube_cells_deployment(const struct neap_kube_kind *kind,
				   const json_t *object, int64_t now)
{
	struct neap_kube_row row;

	(void)kind;
	neap_kube_row_init(&row, object, now);
	neap_kube_row_name(&row);
	add_ready(&row);
	add_number(&row, "status.updatedReplicas", 0);
	add_number(&row, "status.availableReplicas", 0);
	neap_kube_row_age(&row);
	add_containers(&row);
	add_deployment_selector(&row);
	return neap_kube_row_take(&row);
}

const struct neap_kube_column neap_kube_columns_statefulset[] = {
	NEAP_KUBE_COLUMN_NAME,
	NEAP_KUBE_COLUMN("Ready", "string", 0, "Pods that are ready, of how many."),
	NEAP_KUBE_COLUMN_AGE,
	CONTAINERS(1),
};

json_t *neap_kube_cells_statefulset(const struct neap_kube_kind *kind,
				    const json_t *object, int64_t now)
{
	struct neap_kube_row row;

	(void)kind;
	neap_kube_row_init(&row, object, now);
	neap_kube_row_name(&row);
	add_ready(&row);
	neap_kube_row_age(&row);
	add_containers(&row);
	return neap_kube_row_take(&row);
}

/* --- a pod a node --- */

const struct neap_kube_column neap_kube_columns_daemonset[] = {
	NEAP_KUBE_COLUMN_NAME,
	NEAP_KUBE_COLUMN("Desired", "integer", 0, "Nodes that are to have a pod."),
	NEAP_KUBE_COLUMN("Current", "integer", 0, "Nodes of these that have one."),
	NEAP_KUBE_COLUMN("Ready", "integer", 0, "Nodes whose pod is ready."),
	NEAP_KUBE_COLUMN("Up-to-date", "integer", 0,
			 "Nodes whose pod is made of the template as it is."),
	NEAP_KUBE_COLUMN("Available", "integer", 0,
			 "Nodes whose pod has been ready for long enough."),
	NEAP_KUBE_COLUMN("Node Selector", "string", 0, "Labels of the nodes."),
	NEAP_KUBE_COLUMN_AGE,
	CONTAINERS(1),
	SELECTOR,
};

json_t *neap_kube_cells_daemonset(const struct neap_kube_kind *kind, const json_t *object,
				  int64_t now)
{
	struct neap_kube_row row;

	(void)kind;
	neap_kube_row_init(&row, object, now);
	neap_kube_row_name(&row);
	add_number(&row, "status.desiredNumberScheduled", 0);
	add_number(&row, "status.currentNumberScheduled", 0);
	add_number(&row, "status.numberReady", 0);
	add_number(&row, "status.updatedNumberScheduled", 0);
	add_number(&row, "status.numberAvailable", 0);
	neap_kube_row_labels(
		&row, neap_kube_cell_get(object, "spec.template.spec.nodeSelector"));
	neap_kube_row_age(&row);
	add_containers(&row);
	add_selector(&row);
	return neap_kube_row_take(&row);
}

/* --- pods that end --- */

const struct neap_kube_column neap_kube_columns_job[] = {
	NEAP_KUBE_COLUMN_NAME,
	NEAP_KUBE_COLUMN("Completions", "string", 0,
			 "Pods that succeeded, of how many have to."),
	NEAP_KUBE_COLUMN("Duration", "string", 0, "How long it took, or has taken."),
	NEAP_KUBE_COLUMN_AGE,
	CONTAINERS(1),
	SELECTOR,
};

/* Without a number of completions one is enough, whichever of those that run at a time it
 * is. */
static void add_completions(struct neap_kube_row *row)
{
	int64_t done = neap_kube_cell_int(row->object, "status.succeeded", 0);
	int64_t wanted = neap_kube_cell_int(row->object, "spec.completions", -1);
	int64_t beside = neap_kube_cell_int(row->object, "spec.parallelism", 0);

	if (wanted >= 0) {
		neap_kube_row_ratio(row, done, wanted);
		return;
	}
	neap_buf_addf(&row->buf, "%" PRId64 "/1", done);
	if (beside > 1)
		neap_buf_addf(&row->buf, " of %" PRId64, beside);
	neap_kube_row_buf(row);
}

static void add_duration(struct neap_kube_row *row)
{
	int64_t start = neap_kube_cell_time(row->object, "status.startTime");
	int64_t end = neap_kube_cell_time(row->object, "status.completionTime");
	char age[24];

	if (start == NEAP_MISSING)
		neap_kube_row_text(row, "");
	else
		neap_kube_row_text(
			row, neap_kube_age(start, end != NEAP_MISSING ? end : row->now,
					   age, sizeof(age)));
}

json_t *neap_kube_cells_job(const struct neap_kube_kind *kind, const json_t *object,
			    int64_t now)
{
	struct neap_kube_row row;

	(void)kind;
	neap_kube_row_init(&row, object, now);
	neap_kube_row_name(&row);
	add_completions(&row);
	add_duration(&row);
	neap_kube_row_age(&row);
	add_containers(&row);
	add_selector(&row);
	return neap_kube_row_take(&row);
}
