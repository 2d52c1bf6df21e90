/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes stand in the cluster with name and labels; a column is made of the record when it
 * is asked for first, and kept until the end. */
#include "lua/replay/decision_play.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/decide/columns/same.h"
#include "engine/json/json.h"
#include "lua/place/place_priv.h"

/* --- columns --- */

static const json_t *node_of(const struct neap_play *play, size_t i)
{
	const char *name = neap_cluster_node_at(play->cluster, play->rows[i])->name;

	return json_object_get(json_object_get(play->json, "nodes"), name);
}

/* The recorded number; of pods_same that of the label alone. */
static const json_t *number_of(const struct neap_play *play,
			       const struct neap_column *column, size_t i)
{
	const json_t *value = json_object_get(node_of(play, i),
					      neap_column_family_name(column->family));
	char key[NEAP_COLUMN_KEY];

	if (!column->key[0])
		return value;
	(void)neap_strcopy(key, sizeof(key), column->key); /* it is of that size */
	if (column->family == NEAP_COLUMN_PODS_SAME)
		key[strcspn(key, (const char[]){NEAP_SAME_IN, '\0'})] = '\0';
	return json_object_get(value, key);
}

static const char *label_of(const struct neap_play *play, size_t i, const char *key)
{
	const struct neap_cluster_node *node =
		neap_cluster_node_at(play->cluster, play->rows[i]);

	return neap_object_label(node->object, key);
}

/* Sums over the recorded nodes with the same value of a label. */
static void sum_up(const struct neap_play *play, const char *key, int64_t *amounts)
{
	int64_t sums[NEAP_DECISION_NODES];

	for (size_t i = 0; i < play->count; i++) {
		const char *value = label_of(play, i, key);

		sums[i] = value ? 0 : amounts[play->rows[i]];
		for (size_t n = 0; value && n < play->count; n++) {
			const char *is = label_of(play, n, key);

			if (is && strcmp(is, value) == 0)
				sums[i] =
					neap_amount_sum(sums[i], amounts[play->rows[n]]);
		}
	}
	for (size_t i = 0; i < play->count; i++)
		amounts[play->rows[i]] = sums[i];
}

static bool is_amount(enum neap_column_family family)
{
	return family >= NEAP_COLUMN_PODS && family <= NEAP_COLUMN_REQUESTED;
}

/* Of what no node has, neither is made. */
static void fill(const struct neap_play *play, struct neap_play_column *ret)
{
	const char *in = strchr(ret->column.key, NEAP_SAME_IN);
	size_t rows = neap_cluster_settle(play->cluster)->rows;
	bool is_whole = is_amount(ret->column.family);

	for (size_t i = 0; i < play->count; i++) {
		const json_t *value = number_of(play, &ret->column, i);

		if (!json_is_number(value))
			continue;
		if (is_whole && !ret->amounts)
			ret->amounts = neap_alloc_array(rows, sizeof(*ret->amounts));
		if (!is_whole && !ret->shares) {
			ret->shares = neap_alloc_array(rows, sizeof(*ret->shares));
			for (size_t n = 0; ret->shares && n < rows; n++)
				ret->shares[n] = NAN;
		}
		if (ret->amounts)
			ret->amounts[play->rows[i]] = json_integer_value(value);
		if (ret->shares)
			ret->shares[play->rows[i]] = json_number_value(value);
	}
	if (in && ret->amounts && ret->column.family == NEAP_COLUMN_PODS_SAME)
		sum_up(play, in + 1, ret->amounts);
}

static const struct neap_play_column *
column_of(struct neap_play *play, enum neap_column_family family, const char *key)
{
	struct neap_play_column *one = play->columns;

	while (one && (one->column.family != family || strcmp(one->column.key, key) != 0))
		one = one->next;
	if (one)
		return one;
	one = neap_alloc(sizeof(*one));
	if (!one)
		return NULL;
	one->column.family = family;
	(void)neap_strcopy(one->column.key, sizeof(one->column.key), key);
	fill(play, one);
	one->next = play->columns;
	play->columns = one;
	return one;
}

static const int64_t *amounts(void *arg, enum neap_column_family family, const char *key)
{
	const struct neap_play_column *column = column_of(arg, family, key);

	return column ? column->amounts : NULL;
}

static const double *shares(void *arg, enum neap_column_family family, const char *key)
{
	const struct neap_play_column *column = column_of(arg, family, key);

	return column ? column->shares : NULL;
}

/* --- objects --- */

/* What a pod asks for is found by the numbers of its cluster. */
static int add_resources(struct neap_play *play, const json_t *amounts,
			 struct neap_error *err)
{
	const char *name;
	json_t *value;
	uint32_t number;
	int rc = 0;

	json_object_foreach ((json_t *)amounts, name, value)
		if (rc == 0)
			rc = neap_resources_add(neap_cluster_resources(play->cluster),
						name, &number, err);
	return rc;
}

static int add_node(struct neap_play *play, const struct neap_place_row *row,
		    const char *name, const json_t *node)
{
	struct neap_object *object = NULL;
	unsigned moved;
	int rc = add_resources(play, json_object_get(node, "allocatable"), row->err);

	if (rc == 0)
		rc = neap_place_row_object(
			row,
			json_pack("{s:{s:s, s:s, s:o}, s:{}}", "metadata", "name", name,
				  "uid", name, "labels",
				  neap_place_row_map(json_object_get(node, "labels")),
				  "status"),
			&object);
	if (rc == 0)
		rc = neap_cluster_set_node(play->cluster, object, &moved, row->err);
	(void)neap_object_unref(object);
	return rc;
}

static int add_pod(struct neap_play *play, const struct neap_place_row *row)
{
	json_int_t band = json_integer_value(json_object_get(play->json, "band"));
	int rc = neap_place_row_pod(row, neap_cluster_resources(play->cluster),
				    &play->pod);

	if (rc < 0)
		return rc;
	if (band > 0 && band < NEAP_BAND_COUNT)
		play->pod->load.band = (enum neap_band)band;
	play->pod->load.is_daemon =
		json_is_true(json_object_get(play->json, "is_daemon"));
	return 0;
}

int neap_play_open(struct neap_play *play, const json_t *json, struct neap_error *err)
{
	/* Its JSON is only read. */
	const struct neap_place_row row = {.json = (json_t *)(uintptr_t)json, .err = err};
	const json_t *nodes = json_object_get(json, "nodes");
	const char *name;
	json_t *node;
	int rc;

	*play = (struct neap_play){.json = json, .told = {play, amounts, shares}};
	if (json_object_size(nodes) > NEAP_DECISION_NODES)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "at most %d nodes of a decision are taken",
				      NEAP_DECISION_NODES);
	rc = neap_cluster_new(&play->cluster, err);
	json_object_foreach ((json_t *)nodes, name, node) {
		if (rc == 0)
			rc = add_node(play, &row, name, node);
	}
	if (rc == 0)
		rc = add_pod(play, &row);
	if (rc < 0)
		return rc;
	neap_cluster_set_told(play->cluster, &play->told);
	(void)neap_cluster_settle(play->cluster);
	json_object_foreach ((json_t *)nodes, name, node) {
		play->rows[play->count++] =
			neap_cluster_find_node(play->cluster, name)->row;
	}
	play->place = (struct neap_place){
		play->cluster, play->pod,
		json_integer_value(json_object_get(json, "unix")) * 1000000};
	return 0;
}

void neap_play_close(struct neap_play *play)
{
	while (play->columns) {
		struct neap_play_column *one = play->columns;

		play->columns = one->next;
		free(one->amounts);
		free(one->shares);
		free(one);
	}
	(void)neap_pod_unref(play->pod);
	neap_cluster_free(play->cluster);
}
