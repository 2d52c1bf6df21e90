/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows and columns. Free rows are reused; all columns grow together, so that a failure
 * changes none. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/cluster/cluster_priv.h"
#include "engine/cluster/cpus_priv.h"
#include "engine/cluster/kept.h"

#define ROWS_FIRST 16
#define PODS_FIRST 8

/* Without memory the old block stays; a block larger than recorded is harmless. */
bool neap_cluster_grow(void *place, size_t old, size_t count, size_t size)
{
	void *was, *block;

	memcpy(&was, place, sizeof(was));
	block = neap_realloc_array(was, count, size);
	if (!block)
		return false;
	memset((char *)block + old * size, 0, (count - old) * size);
	memcpy(place, &block, sizeof(block));
	return true;
}

static bool grow_columns(struct neap_cluster *cluster, size_t size)
{
	struct neap_columns *columns = &cluster->columns;
	size_t old = cluster->row_size;

	if (!neap_cluster_grow(&columns->nodes, old, size,
			       sizeof(struct neap_cluster_node *)) ||
	    !neap_cluster_grow(&columns->names, old, size,
			       sizeof(struct neap_row_name)) ||
	    !neap_cluster_grow(&columns->flags, old, size, sizeof(uint8_t)) ||
	    !neap_cluster_grow(&columns->pods, old, size, sizeof(uint32_t)) ||
	    !neap_cluster_grow(&columns->kinds, old, size,
			       sizeof(struct neap_row_kinds)) ||
	    !neap_cluster_grow(&columns->cpu_class, old, size, sizeof(uint16_t)) ||
	    !neap_cluster_grow(&cluster->dirty, old, size, sizeof(uint32_t)) ||
	    !neap_cluster_grow(&columns->scored_cpu_milli, old, size, sizeof(int64_t)) ||
	    !neap_cluster_grow(&columns->scored_bytes, old, size, sizeof(int64_t)))
		return false;
	for (uint32_t i = 0; i < neap_resources_count(cluster->resources); i++)
		if (columns->allocatable[i] &&
		    (!neap_cluster_grow(&columns->allocatable[i], old, size,
					sizeof(int64_t)) ||
		     !neap_cluster_grow(&columns->used[i], old, size, sizeof(int64_t))))
			return false;
	if (!neap_cluster_grow_load(cluster, old, size))
		return false;
	cluster->row_size = size;
	return true;
}

int neap_cluster_add_column(struct neap_cluster *cluster, uint32_t resource,
			    struct neap_error *err)
{
	struct neap_columns *columns = &cluster->columns;
	int64_t *allocatable, *used;

	if (columns->allocatable[resource])
		return 0;
	allocatable = neap_alloc_array(cluster->row_size, sizeof(*allocatable));
	used = neap_alloc_array(cluster->row_size, sizeof(*used));
	if (!allocatable || !used) {
		free(allocatable);
		free(used);
		return neap_error_nomem(err);
	}
	columns->allocatable[resource] = allocatable;
	columns->used[resource] = used;
	/* Its pods' amounts of it were not counted so far. */
	for (size_t row = 0; row < columns->rows; row++)
		if (columns->nodes[row])
			neap_cluster_mark(cluster, columns->nodes[row]);
	return 0;
}

static bool find_row(struct neap_cluster *cluster, uint32_t *ret)
{
	struct neap_columns *columns = &cluster->columns;

	if (neap_map_count(cluster->nodes) < columns->rows)
		for (size_t row = 0; row < columns->rows; row++)
			if (!columns->nodes[row]) {
				*ret = (uint32_t)row;
				return true;
			}
	if (columns->rows == cluster->row_size &&
	    !grow_columns(cluster,
			  cluster->row_size ? cluster->row_size * 2 : ROWS_FIRST))
		return false;
	*ret = (uint32_t)columns->rows;
	return true;
}

static void name_row(struct neap_row_name *to, const char *name)
{
	size_t len = strlen(name);

	to->len = 0;
	if (len > sizeof(to->text))
		return;
	memcpy(to->text, name, len);
	to->len = (uint8_t)len;
}

int neap_cluster_row(struct neap_cluster *cluster, const char *name,
		     struct neap_cluster_node **ret, struct neap_error *err)
{
	struct neap_cluster_node *node = neap_map_find(cluster->nodes, name);
	uint32_t row = 0;

	if (node) {
		*ret = node;
		return 0;
	}
	if (neap_map_count(cluster->nodes) == NEAP_CLUSTER_NODES_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "more than %d nodes",
				      NEAP_CLUSTER_NODES_MAX);
	node = neap_alloc(sizeof(*node));
	if (!node)
		return neap_error_nomem(err);
	node->name = neap_strdup(name);
	if (!node->name || !find_row(cluster, &row) ||
	    !neap_map_set(cluster->nodes, name, node)) {
		free(node->name);
		free(node);
		return neap_error_nomem(err);
	}
	node->row = row;
	cluster->columns.nodes[row] = node;
	name_row(&cluster->columns.names[row], name);
	if (row == cluster->columns.rows)
		cluster->columns.rows++;
	neap_cluster_mark(cluster, node);
	*ret = node;
	return 0;
}

void neap_cluster_mark(struct neap_cluster *cluster, struct neap_cluster_node *node)
{
	node->generation = ++cluster->generation;
	if (node->is_dirty)
		return;
	node->is_dirty = true;
	cluster->dirty[cluster->dirty_count++] = node->row;
}

static void count_flags(struct neap_columns *columns, uint32_t row, int step)
{
	uint8_t flags = columns->flags[row];

	columns->away_rows += flags & NEAP_ROW_HAS_AWAY ? (size_t)step : 0;
	columns->near_rows += flags & NEAP_ROW_HAS_NEAR ? (size_t)step : 0;
}

/* The row is empty until it is used again. */
static void clear_row(struct neap_cluster *cluster, uint32_t row)
{
	struct neap_columns *columns = &cluster->columns;

	columns->nodes[row] = NULL;
	columns->names[row].len = 0;
	count_flags(columns, row, -1);
	columns->flags[row] = 0;
	columns->cpu_class[row] = NEAP_CPUS_NONE;
	columns->pods[row] = 0;
	columns->kinds[row] = (struct neap_row_kinds){0};
	if (cluster->load.flags)
		cluster->load.flags[row] = 0;
	columns->scored_cpu_milli[row] = columns->scored_bytes[row] = 0;
	for (uint32_t i = 0; i < neap_resources_count(cluster->resources); i++)
		if (columns->allocatable[i])
			columns->allocatable[i][row] = columns->used[i][row] = 0;
	for (size_t i = 0; i < cluster->dirty_count; i++)
		if (cluster->dirty[i] == row) {
			cluster->dirty[i] = cluster->dirty[--cluster->dirty_count];
			break;
		}
}

void neap_cluster_drop_row(struct neap_cluster *cluster, struct neap_cluster_node *node)
{
	if (node->object || node->pod_count)
		return;
	cluster->generation++;
	neap_cluster_clear_node(cluster, node);
	clear_row(cluster, node->row);
	(void)neap_map_remove(cluster->nodes, node->name);
	free(node->pods);
	free(node->kinds);
	free(node->name);
	free(node);
}

int neap_cluster_seat(struct neap_cluster *cluster, struct neap_pod *pod,
		      struct neap_cluster_node *node, struct neap_error *err)
{
	if (node->pod_count == node->pod_size) {
		size_t size = node->pod_size ? node->pod_size * 2 : PODS_FIRST;
		struct neap_row_kind *kinds =
			neap_realloc_array(node->kinds, size, sizeof(*kinds));
		struct neap_pod **pods;

		if (!kinds)
			return neap_error_nomem(err);
		node->kinds = kinds;
		/* Until the row is counted, which is before anybody looks. */
		cluster->columns.kinds[node->row] = (struct neap_row_kinds){0};
		neap_cluster_mark(cluster, node);
		pods = neap_realloc_array(node->pods, size, sizeof(struct neap_pod *));
		if (!pods)
			return neap_error_nomem(err);
		node->pods = pods;
		node->pod_size = size;
	}
	pod->seat.node = node;
	pod->seat.at = (uint32_t)node->pod_count;
	node->pods[node->pod_count++] = pod;
	pod->seat.is_owner = *neap_pod_reservation(pod) != '\0';
	node->owner_count += pod->seat.is_owner;
	neap_cluster_hold_cpus(cluster, pod);
	neap_cluster_mark(cluster, node);
	return 0;
}

void neap_cluster_unseat(struct neap_cluster *cluster, struct neap_pod *pod)
{
	struct neap_cluster_node *node = pod->seat.node;

	if (!node)
		return;
	neap_cluster_release_cpus(pod);
	node->owner_count -= pod->seat.is_owner;
	node->pods[pod->seat.at] = node->pods[--node->pod_count];
	node->pods[pod->seat.at]->seat.at = pod->seat.at;
	pod->seat.node = NULL;
	neap_cluster_mark(cluster, node);
	neap_cluster_drop_row(cluster, node);
}

/* --- counting --- */

static void flag(struct neap_columns *columns, uint32_t row, const struct neap_pod *pod)
{
	if (pod->keep)
		columns->flags[row] |= NEAP_ROW_HAS_KEPT;
	if (pod->keep && pod->keep->waits)
		columns->flags[row] |= NEAP_ROW_HAS_WAITING;
	if (pod->port_count)
		columns->flags[row] |= NEAP_ROW_HAS_PORTS;
	if (pod->near[NEAP_AWAY_REQUIRED].count)
		columns->flags[row] |= NEAP_ROW_HAS_AWAY;
	for (int i = 0; i < NEAP_NEAR_COUNT; i++)
		if (pod->near[i].count)
			columns->flags[row] |= NEAP_ROW_HAS_NEAR;
}

static void count_pod(struct neap_columns *columns, uint32_t row,
		      const struct neap_pod *pod)
{
	for (size_t i = 0; i < pod->request_count; i++) {
		int64_t *used = columns->used[pod->requests[i].resource];

		if (used)
			used[row] = neap_amount_sum(used[row], pod->requests[i].amount);
	}
	columns->scored_cpu_milli[row] =
		neap_amount_sum(columns->scored_cpu_milli[row], pod->scored_cpu_milli);
	columns->scored_bytes[row] =
		neap_amount_sum(columns->scored_bytes[row], pod->scored_bytes);
	flag(columns, row, pod);
}

static void count_kinds(struct neap_cluster *cluster,
			const struct neap_cluster_node *node)
{
	uint64_t stamp = ++cluster->kind_stamp;
	struct neap_row_kinds *kinds = &cluster->columns.kinds[node->row];

	*kinds = (struct neap_row_kinds){.list = node->kinds};
	for (size_t i = 0; i < node->pod_count; i++) {
		const struct neap_pod *pod = node->pods[i];
		struct neap_pod_kind *kind = pod->seat.kind;

		if (kind->stamp != stamp) {
			kind->stamp = stamp;
			kind->at = (uint32_t)kinds->count;
			node->kinds[kinds->count++] = (struct neap_row_kind){
				.one = pod, .number = kind->number};
		}
		node->kinds[kind->at].count++;
		node->kinds[kind->at].deleting += pod->object->is_deleting;
	}
}

/* Adds or removes one of its kind; the pod that represents the kind may have left the
 * row, but is not freed. */
static void shift_kind(struct neap_cluster *cluster, const struct neap_cluster_node *node,
		       const struct neap_pod *pod, int by)
{
	struct neap_row_kinds *kinds = &cluster->columns.kinds[node->row];
	struct neap_row_kind *kind = node->kinds;
	uint32_t number = pod->seat.kind->number;

	while (kind < node->kinds + kinds->count && kind->number != number)
		kind++;
	if (kind == node->kinds + kinds->count) {
		*kind = (struct neap_row_kind){.one = pod, .number = number};
		kinds->count++;
	}
	kind->count += (uint32_t)by;
	kind->deleting += pod->object->is_deleting ? (uint32_t)by : 0;
	if (!kind->count)
		*kind = node->kinds[--kinds->count];
}

void neap_cluster_end_shift(struct neap_cluster *cluster, struct neap_cluster_node *node,
			    const struct neap_pod *stand, int by)
{
	struct neap_columns *columns = &cluster->columns;

	columns->pods[node->row] = (uint32_t)node->pod_count;
	shift_kind(cluster, node, stand, by);
	if (by > 0) {
		count_flags(columns, node->row, -1);
		flag(columns, node->row, stand);
		count_flags(columns, node->row, 1);
	}
	/* It was marked just now, and was clean before. */
	node->is_dirty = false;
	cluster->dirty_count--;
}

static void count_row(struct neap_cluster *cluster, uint32_t row)
{
	struct neap_columns *columns = &cluster->columns;
	struct neap_cluster_node *node = columns->nodes[row];
	uint32_t resources = neap_resources_count(cluster->resources);

	for (uint32_t i = 0; i < resources; i++)
		if (columns->used[i])
			columns->used[i][row] = 0;
	columns->scored_cpu_milli[row] = columns->scored_bytes[row] = 0;
	count_flags(columns, row, -1);
	columns->flags[row] &= NEAP_ROW_IS_THERE | NEAP_ROW_IS_CORDONED;
	if (node->taint_count)
		columns->flags[row] |= NEAP_ROW_HAS_TAINTS;
	columns->pods[row] = (uint32_t)node->pod_count;
	for (size_t i = 0; i < node->pod_count; i++)
		count_pod(columns, row, node->pods[i]);
	count_flags(columns, row, 1);
	count_kinds(cluster, node);
	neap_cluster_uncount_kept(cluster, node);
	neap_cluster_count_load(cluster, node);
	neap_cluster_count_cpus(cluster, node);
	neap_cluster_uncount_cells(cluster, node);
	node->is_dirty = false;
}

/* There are new names: what pods ask of those counts from now on. */
static void resolve_pods(struct neap_cluster *cluster)
{
	for (size_t i = neap_map_count(cluster->pods); i--;) {
		struct neap_pod *pod = neap_map_at(cluster->pods, i, NULL);

		if (pod->unknown_count && neap_pod_resolve(pod, cluster->resources) &&
		    pod->seat.node)
			neap_cluster_mark(cluster, pod->seat.node);
	}
	cluster->resolved = neap_resources_count(cluster->resources);
}

const struct neap_columns *neap_cluster_settle(struct neap_cluster *cluster)
{
	if (cluster->resolved < neap_resources_count(cluster->resources))
		resolve_pods(cluster);
	while (cluster->dirty_count)
		count_row(cluster, cluster->dirty[--cluster->dirty_count]);
	return &cluster->columns;
}
