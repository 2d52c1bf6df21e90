/* SPDX-License-Identifier: Apache-2.0
 *
 * Measured load by row: from the newest report, plus estimates for pods that it does not
 * show yet. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/cluster/cluster_priv.h"
#include "engine/cluster/kept.h"
#include "engine/json/json.h"
#include "engine/pod/pod_priv.h"

#define LIMITS_ANNOTATION "scheduling.koordinator.sh/usage-thresholds"
#define RAW_ANNOTATION    "node.koordinator.sh/raw-allocatable"
/* Estimated usage of a pod without requests. */
#define CPU_MILLI_UNASKED 250
#define BYTES_UNASKED     (INT64_C(200) * 1024 * 1024)

/* --- settings --- */

/* Classes have names for cpu and memory only; other resources are not requested by
 * class. */
static int number_of(struct neap_cluster *cluster, enum neap_band band, const char *name,
		     uint32_t *ret, struct neap_error *err)
{
	static const char *const prefixes[NEAP_BAND_COUNT] = {
		[NEAP_BAND_PROD] = "",
		[NEAP_BAND_MID] = "kubernetes.io/mid-",
		[NEAP_BAND_BATCH] = "kubernetes.io/batch-"};
	bool is_plain = strcmp(name, "cpu") == 0 || strcmp(name, "memory") == 0;
	char full[NEAP_LOAD_NAME + 32];

	*ret = UINT32_MAX;
	if (!prefixes[band] || (band != NEAP_BAND_PROD && !is_plain))
		return 0;
	(void)snprintf(full, sizeof(full), "%s%s", prefixes[band], name);
	return neap_resources_add(cluster->resources, full, ret, err);
}

int neap_cluster_set_load(struct neap_cluster *cluster, const struct neap_load_args *args,
			  struct neap_error *err)
{
	struct neap_load *load = &cluster->load;
	uint32_t numbers[NEAP_BAND_COUNT][NEAP_LOAD_NAMES_MAX] = {{0}};

	if (cluster->columns.rows || neap_map_count(cluster->metrics))
		return neap_error_set(err, NEAP_ECONFLICT,
				      "nodes or reports are there already");
	for (int c = 0; c < NEAP_BAND_COUNT; c++)
		for (size_t i = 0; i < args->count; i++) {
			int ret = number_of(cluster, (enum neap_band)c, args->names[i],
					    &numbers[c][i], err);

			if (ret < 0)
				return ret;
		}
	load->args = *args;
	memcpy(load->numbers, numbers, sizeof(numbers));
	return 0;
}

const struct neap_load *neap_cluster_load(const struct neap_cluster *cluster)
{
	return &cluster->load;
}

/* --- columns --- */

void neap_cluster_free_load(struct neap_cluster *cluster)
{
	struct neap_load *load = &cluster->load;

	for (size_t i = cluster->metrics ? neap_map_count(cluster->metrics) : 0; i--;)
		neap_load_metric_free(neap_map_at(cluster->metrics, i, NULL));
	neap_map_free(cluster->metrics);
	free(load->flags);
	free(load->update_usec);
	for (int c = 0; c < NEAP_LOAD_COLUMN_COUNT; c++)
		for (size_t i = 0; i < NEAP_LOAD_NAMES_MAX; i++)
			free(load->columns[c][i]);
}

static bool grow(struct neap_load *load, size_t old, size_t size)
{
	if (!neap_cluster_grow(&load->update_usec, old, size, sizeof(int64_t)))
		return false;
	for (int c = 0; c < NEAP_LOAD_COLUMN_COUNT; c++)
		for (size_t i = 0; i < load->args.count; i++)
			if (!neap_cluster_grow(&load->columns[c][i], old, size,
					       sizeof(int64_t)))
				return false;
	/* The last one: it says that all are there. */
	return neap_cluster_grow(&load->flags, old, size, sizeof(uint8_t));
}

bool neap_cluster_grow_load(struct neap_cluster *cluster, size_t old, size_t size)
{
	if (!cluster->load.flags && !neap_map_count(cluster->metrics))
		return true;
	return grow(&cluster->load, cluster->load.flags ? old : 0, size);
}

/* With the first report. */
static bool make_columns(struct neap_cluster *cluster)
{
	if (cluster->load.flags || !cluster->row_size)
		return true;
	if (!grow(&cluster->load, 0, cluster->row_size))
		return false;
	for (size_t row = 0; row < cluster->columns.rows; row++)
		if (cluster->columns.nodes[row])
			neap_cluster_mark(cluster, cluster->columns.nodes[row]);
	return true;
}

/* --- what is told --- */

int neap_cluster_set_metric(struct neap_cluster *cluster, struct neap_object *object,
			    unsigned *ret_moved, struct neap_error *err)
{
	struct neap_cluster_node *node = neap_map_find(cluster->nodes, object->name);
	struct neap_load_metric *before = neap_map_find(cluster->metrics, object->name);
	struct neap_load_metric *metric = NULL;
	json_t *tree = neap_object_tree(object);
	int ret = tree ? neap_load_metric_new(&cluster->load.args, tree, &metric, err)
		       : neap_error_nomem(err);

	json_decref(tree);
	if (ret < 0)
		return ret;
	if (!make_columns(cluster) ||
	    !neap_map_set(cluster->metrics, object->name, metric)) {
		neap_load_metric_free(metric);
		return neap_error_nomem(err);
	}
	neap_load_metric_free(before);
	cluster->generation++;
	if (node)
		neap_cluster_mark(cluster, node);
	*ret_moved = NEAP_MOVED_LOAD;
	return 0;
}

void neap_cluster_remove_metric(struct neap_cluster *cluster, const char *name,
				unsigned *ret_moved)
{
	struct neap_cluster_node *node = neap_map_find(cluster->nodes, name);
	struct neap_load_metric *metric = neap_map_remove(cluster->metrics, name);

	*ret_moved = metric ? NEAP_MOVED_LOAD : 0;
	neap_load_metric_free(metric);
	cluster->generation++;
	if (node)
		neap_cluster_mark(cluster, node);
}

static bool read_limits(const struct neap_load_args *args, struct neap_cluster_node *node,
			const char *text)
{
	struct neap_load_limits *limits = neap_arena_alloc(&node->arena, sizeof(*limits));
	int ret;

	if (!limits)
		return false;
	*limits = args->limits;
	ret = neap_load_limits_put(args, text, limits);
	if (ret > 0)
		node->load_limits = limits;
	return ret >= 0;
}

/* As the reference: one amount that cannot be read spoils all of them. False without
 * memory. */
static bool read_raw(const struct neap_load_args *args, struct neap_cluster_node *node,
		     const char *text)
{
	int64_t *raw = neap_arena_array(&node->arena, args->count, sizeof(*raw));
	json_error_t where;
	neap_auto_json json_t *map = NULL;
	int ret;

	if (!raw)
		return false;
	ret = neap_json_parse(text, strlen(text), 0, &map, &where);
	if (ret < 0)
		return ret != -NEAP_ENOMEM;
	for (size_t i = 0; i < args->count; i++)
		raw[i] = -1;
	if (neap_load_vector(args, map, raw))
		node->load_raw = raw;
	return true;
}

bool neap_cluster_read_load(const struct neap_cluster *cluster,
			    struct neap_cluster_node *node, const json_t *annotations)
{
	const struct neap_load_args *args = &cluster->load.args;
	const char *limits = neap_json_text(annotations, LIMITS_ANNOTATION);
	const char *raw = neap_json_text(annotations, RAW_ANNOTATION);

	return (!*limits || read_limits(args, node, limits)) &&
	       (!*raw || read_raw(args, node, raw));
}

static bool is_same(const void *a, const void *b, size_t size)
{
	return a && b ? memcmp(a, b, size) == 0 : a == b;
}

bool neap_cluster_has_same_load(const struct neap_cluster *cluster,
				const struct neap_cluster_node *a,
				const struct neap_cluster_node *b)
{
	return is_same(a->load_limits, b->load_limits, sizeof(*a->load_limits)) &&
	       is_same(a->load_raw, b->load_raw,
		       cluster->load.args.count * sizeof(*a->load_raw));
}

/* --- the estimate of a pod --- */

static int64_t amount_of(const struct neap_amount *list, size_t count, uint32_t resource)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].resource == resource)
			return list[i].amount;
	return 0;
}

/* The pod's own, else that of the settings. False: there is none, and nothing is
 * estimated. */
static bool factor_of(const struct neap_load *load, const struct neap_pod *pod,
		      size_t name, int64_t *ret)
{
	const struct neap_load_args *args = &load->args;

	for (size_t i = 0; args->may_customize && i < pod->load.factor_count; i++)
		if (strcmp(pod->load.factors[i].name, args->names[name]) == 0) {
			*ret = pod->load.factors[i].percent;
			return true;
		}
	*ret = args->factors[name];
	return *ret >= 0;
}

static int64_t unasked(const struct neap_load *load, const struct neap_pod *pod,
		       size_t name)
{
	if (pod->load.band == NEAP_BAND_MID)
		return 0;
	if (strcmp(load->args.names[name], "cpu") == 0)
		return CPU_MILLI_UNASKED;
	return strcmp(load->args.names[name], "memory") == 0 ? BYTES_UNASKED : 0;
}

void neap_load_estimate(const struct neap_load *load, const struct neap_pod *pod,
			int64_t *ret)
{
	for (size_t i = 0; i < load->args.count; i++) {
		uint32_t number = load->numbers[pod->load.band][i];
		int64_t factor, limit, most;
		double used;

		ret[i] = 0;
		if (number == UINT32_MAX || !factor_of(load, pod, i, &factor))
			continue;
		limit = amount_of(pod->load.limits, pod->load.limit_count, number);
		most = amount_of(pod->requests, pod->request_count, number);
		most = limit > most ? limit : most;
		if (!most) {
			ret[i] = unasked(load, pod, i);
			continue;
		}
		used = round((double)most * (double)factor / 100);
		/* Factors of the pod's own may be below 0: it does not make the node
		 * emptier. */
		ret[i] = used >= 0x1p63 ? INT64_MAX : used > 0 ? (int64_t)used : 0;
		if (limit && ret[i] > limit)
			ret[i] = limit;
	}
}

/* --- counting --- */

/* Sums of the pods of one node, by name. */
struct sums {
	int64_t delta[NEAP_LOAD_NAMES_MAX]; /* beyond what is reported */
	int64_t estimated[NEAP_LOAD_NAMES_MAX];
	int64_t prod[NEAP_LOAD_NAMES_MAX], prod_delta[NEAP_LOAD_NAMES_MAX];
};

/* Until when the estimate counts besides the report; INT64_MIN: never. */
static int64_t deadline_of(const struct neap_load_args *args,
			   const struct neap_pod_load *pod, int64_t assigned)
{
	int64_t scheduled = args->after_scheduled_usec,
		initialized = args->after_initialized_usec;

	if (args->may_customize && pod->after_scheduled_usec >= 0)
		scheduled = pod->after_scheduled_usec;
	if (args->may_customize && pod->after_initialized_usec >= 0)
		initialized = pod->after_initialized_usec;
	if (initialized > 0 && pod->initialized_usec)
		return neap_amount_sum(pod->initialized_usec, initialized);
	return scheduled > 0 ? neap_amount_sum(assigned, scheduled) : INT64_MIN;
}

static void add_beyond(int64_t *sum, int64_t estimate, int64_t used)
{
	if (estimate > used)
		*sum = neap_amount_sum(*sum, estimate - used);
}

static void count_pod(const struct neap_load *load, const struct neap_load_metric *metric,
		      const struct neap_pod *pod, struct sums *sums)
{
	static const int64_t nothing[NEAP_LOAD_NAMES_MAX];
	const struct neap_load_pod *reported;
	const int64_t *used = nothing, *prod_used = nothing;
	int64_t assigned = pod->seat.is_assumed ? INT64_MAX : pod->load.assigned_usec;
	int64_t estimate[NEAP_LOAD_NAMES_MAX];
	bool is_prod = pod->load.band == NEAP_BAND_PROD, is_new, is_new_prod;
	char key[NEAP_POD_KEY];

	neap_load_estimate(load, pod, estimate);
	reported = neap_map_find(metric->pods,
				 neap_pod_key(pod->object->ns, pod->object->name, key));
	is_new = is_new_prod =
		!reported || !metric->has_time ||
		assigned > metric->update_usec - metric->interval_usec ||
		deadline_of(&load->args, &pod->load, assigned) > metric->update_usec;
	if (reported)
		used = reported->used;
	if (reported && reported->is_prod)
		prod_used = used;
	else
		is_new_prod = true;
	for (size_t i = 0; i < load->args.count; i++) {
		sums->estimated[i] = neap_amount_sum(sums->estimated[i], estimate[i]);
		if (is_new)
			add_beyond(&sums->delta[i], estimate[i], used[i]);
		if (!is_prod)
			continue;
		sums->prod[i] = neap_amount_sum(sums->prod[i], prod_used[i]);
		if (is_new_prod)
			add_beyond(&sums->prod_delta[i], estimate[i], prod_used[i]);
	}
}

/* The selected usage plus estimates. One over a duration that is not reported is
 * estimated. */
static int64_t used_of(const struct neap_load_metric *metric,
		       struct neap_load_which which, const struct sums *sums, size_t i)
{
	const int64_t *used = neap_load_metric_get(metric, which);

	if (!used && which.usec)
		return sums->estimated[i];
	return neap_amount_sum(used ? used[i] : metric->used[i], sums->delta[i]);
}

static void fill(struct neap_load *load, const struct neap_cluster_node *node,
		 const struct neap_load_metric *metric, const struct sums *sums)
{
	const struct neap_load_args *args = &load->args;
	const struct neap_load_limits *limits =
		node->load_limits ? node->load_limits : &args->limits;
	const int64_t *limit = limits->which.type == NEAP_LOAD_PLAIN ? limits->usage
								     : limits->aggregated;
	uint32_t row = node->row;
	uint8_t flags = NEAP_LOAD_HAS_METRIC;

	flags |= metric->has_time ? NEAP_LOAD_HAS_TIME : 0;
	flags |= metric->has_usage ? NEAP_LOAD_HAS_USAGE : 0;
	flags |= limit == limits->aggregated ? NEAP_LOAD_IS_AGGREGATED : 0;
	load->update_usec[row] = metric->update_usec;
	for (size_t i = 0; i < args->count; i++) {
		int64_t capacity = neap_amounts_get(&node->allocatable,
						    load->numbers[NEAP_BAND_PROD][i]);
		int64_t prod = neap_amount_sum(sums->prod[i], sums->prod_delta[i]);

		if (node->load_raw && node->load_raw[i] >= 0)
			capacity = node->load_raw[i];
		if (args->includes_system)
			prod = neap_amount_sum(prod, metric->system[i]);
		load->columns[NEAP_LOAD_CAPACITY][i][row] = capacity;
		load->columns[NEAP_LOAD_PROD][i][row] = prod;
		load->columns[NEAP_LOAD_USED][i][row] =
			used_of(metric, limits->which, sums, i);
		load->columns[NEAP_LOAD_SCORED][i][row] =
			used_of(metric, args->scored, sums, i);
		load->columns[NEAP_LOAD_LIMIT][i][row] = limit[i];
		load->columns[NEAP_LOAD_PROD_LIMIT][i][row] = limits->prod[i];
		flags |= limit[i] ? NEAP_LOAD_HAS_LIMITS : 0;
		flags |= limits->prod[i] ? NEAP_LOAD_HAS_PROD_LIMITS : 0;
	}
	load->flags[row] = flags;
}

void neap_cluster_count_load(struct neap_cluster *cluster,
			     const struct neap_cluster_node *node)
{
	struct neap_load *load = &cluster->load;
	const struct neap_load_metric *metric;
	struct sums sums = {.delta = {0}};

	if (!load->flags)
		return;
	load->flags[node->row] = 0;
	metric = neap_map_find(cluster->metrics, node->name);
	if (!metric || !node->object)
		return;
	for (size_t i = 0; i < node->pod_count; i++)
		if (!neap_pod_is_stand(node->pods[i]))
			count_pod(load, metric, node->pods[i], &sums);
	fill(load, node, metric, &sums);
}
