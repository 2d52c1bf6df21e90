/* SPDX-License-Identifier: Apache-2.0
 *
 * Node label values as numbers by row, for labels that decisions count pods by. A column
 * is built when it is first requested and then follows the nodes. Numbers that no node
 * uses any more stay until there are too many. A column that cannot be updated for lack
 * of memory is dropped and rebuilt later. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/cluster/cluster_priv.h"

/* Numbers, beyond twice the rows, that a column may have before it is rebuilt. */
#define LABEL_VALUES_MIN 64

struct labels {
	struct neap_label_column column; /* first: what callers hold */
	char *key;
	uint32_t *at;
	size_t size;
	struct neap_map *values; /* numbers as pointers */
	uint64_t used;
};

static void free_labels(struct labels *labels)
{
	if (!labels)
		return;
	neap_map_free(labels->values);
	free(labels->key);
	free(labels->at);
	free(labels);
}

void neap_cluster_free_labels(struct neap_cluster *cluster)
{
	for (size_t i = 0; i < cluster->label_count; i++)
		free_labels(cluster->labels[i]);
	free(cluster->labels);
}

static void drop(struct neap_cluster *cluster, size_t at)
{
	free_labels(cluster->labels[at]);
	cluster->labels[at] = cluster->labels[--cluster->label_count];
}

/* Rows without an object have no label. */
static bool grow(struct labels *labels, size_t rows)
{
	if (labels->size >= rows)
		return true;
	if (!neap_cluster_grow(&labels->at, labels->size, rows, sizeof(*labels->at)))
		return false;
	labels->size = rows;
	labels->column.at = labels->at;
	return true;
}

static bool set_row(struct labels *labels, const struct neap_cluster_node *node)
{
	const char *value =
		node->object ? neap_object_label(node->object, labels->key) : NULL;
	uintptr_t number = value ? (uintptr_t)neap_map_find(labels->values, value) : 0;

	if (value && !number) {
		number = labels->column.end;
		if (!neap_map_set(labels->values, value, (void *)number))
			return false;
		labels->column.end++;
	}
	labels->at[node->row] = (uint32_t)number;
	return true;
}

void neap_cluster_relabel(struct neap_cluster *cluster,
			  const struct neap_cluster_node *node)
{
	for (size_t i = cluster->label_count; i--;)
		if (!grow(cluster->labels[i], cluster->row_size) ||
		    !set_row(cluster->labels[i], node) ||
		    cluster->labels[i]->column.end >
			    2 * cluster->columns.rows + LABEL_VALUES_MIN)
			drop(cluster, i);
}

static struct labels *make(const struct neap_cluster *cluster, const char *key)
{
	struct labels *labels = neap_alloc(sizeof(*labels));

	if (!labels)
		return NULL;
	labels->column.end = 1;
	labels->key = neap_strdup(key);
	labels->values = neap_map_new();
	labels->at = neap_alloc_array(cluster->row_size, sizeof(*labels->at));
	labels->size = cluster->row_size;
	labels->column.at = labels->at;
	if (!labels->key || !labels->values || !labels->at) {
		free_labels(labels);
		return NULL;
	}
	for (size_t row = 0; row < cluster->columns.rows; row++)
		if (cluster->columns.nodes[row] &&
		    !set_row(labels, cluster->columns.nodes[row])) {
			free_labels(labels);
			return NULL;
		}
	return labels;
}

const struct neap_label_column *neap_cluster_label(struct neap_cluster *cluster,
						   const char *key)
{
	struct labels *labels, **list;

	for (size_t i = 0; i < cluster->label_count; i++) {
		labels = cluster->labels[i];
		if (strcmp(labels->key, key) != 0)
			continue;
		labels->used = ++cluster->label_used;
		return grow(labels, cluster->row_size) ? &labels->column : NULL;
	}
	list = neap_realloc_array(cluster->labels, cluster->label_count + 1,
				  sizeof(struct labels *));
	if (!list)
		return NULL;
	cluster->labels = list;
	labels = make(cluster, key);
	if (!labels)
		return NULL;
	labels->used = ++cluster->label_used;
	list[cluster->label_count++] = labels;
	return &labels->column;
}

void neap_cluster_trim_labels(struct neap_cluster *cluster)
{
	while (cluster->label_count > NEAP_CLUSTER_LABELS_MAX) {
		size_t oldest = 0;

		for (size_t i = 1; i < cluster->label_count; i++)
			if (cluster->labels[i]->used < cluster->labels[oldest]->used)
				oldest = i;
		drop(cluster, oldest);
	}
}
