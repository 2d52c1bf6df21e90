/* SPDX-License-Identifier: Apache-2.0
 *
 * The scores, kube-scheduler's formulas over columns. */
#include <math.h>
#include <string.h>

#include "engine/decide/decide_priv.h"

/* --- taints and labels --- */

static void score_taints(struct neap_cycle *cycle, const uint32_t *rows, size_t count,
			 int64_t *ret)
{
	for (size_t i = 0; i < count; i++) {
		const struct neap_cluster_node *node;

		ret[i] = 0;
		if (!(cycle->columns->flags[rows[i]] & NEAP_ROW_HAS_TAINTS))
			continue;
		node = cycle->columns->nodes[rows[i]];
		for (size_t n = 0; n < node->taint_count; n++)
			if (node->taints[n]->effect == NEAP_TAINT_PREFER_NO_SCHEDULE &&
			    !neap_cycle_tolerates(cycle, node->taints[n]))
				ret[i]++;
	}
}

static bool prepare_affinity(struct neap_cycle *cycle)
{
	const struct neap_pod *pod = cycle->pod;
	int64_t rules = 0;

	for (size_t i = 0; i < pod->preferred_count; i++)
		rules += 1 + neap_cost_of_term(&pod->preferred[i].term);
	return (pod->preferred_count > 0 || cycle->settings->added_preferred_count > 0) &&
	       neap_cycle_spend(cycle, rules * (int64_t)cycle->row_count);
}

static int64_t weigh(const struct neap_preferred *list, size_t count,
		     const struct neap_object *node)
{
	int64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		if (neap_term_matches(&list[i].term, node))
			sum += list[i].weight;
	return sum;
}

static void score_affinity(struct neap_cycle *cycle, const uint32_t *rows, size_t count,
			   int64_t *ret)
{
	const struct neap_settings *settings = cycle->settings;
	const struct neap_pod *pod = cycle->pod;

	for (size_t i = 0; i < count; i++) {
		const struct neap_object *node = cycle->columns->nodes[rows[i]]->object;

		ret[i] = weigh(pod->preferred, pod->preferred_count, node) +
			 weigh(settings->added_preferred, settings->added_preferred_count,
			       node);
	}
}

/* --- room --- */

/* part of all in points; amounts of real nodes spare the division of 128 bits. */
static int64_t points_of(int64_t part, int64_t all)
{
	if (part >= 0 && part <= INT64_MAX / NEAP_SCORE_MAX)
		return part * NEAP_SCORE_MAX / all;
	return (int64_t)((__int128)part * NEAP_SCORE_MAX / all);
}

/* Points of one resource, before they are turned round for MostAllocated; -1: there is
 * none of it. */
static int64_t free_part(int64_t allocatable, int64_t used)
{
	if (allocatable <= 0)
		return -1;
	if (used > allocatable)
		return 0;
	return points_of(allocatable - used, allocatable);
}

static int64_t request_of(const struct neap_pod *pod, uint32_t resource)
{
	for (size_t i = 0; i < pod->request_count; i++)
		if (pod->requests[i].resource == resource)
			return pod->requests[i].amount;
	return 0;
}

/* A resource, its use by row (NULL: none), and the pod's request. */
struct compared {
	const int64_t *all, *used;
	int64_t more, weight;
};

static size_t compare(const struct neap_cycle *cycle, struct compared *ret)
{
	const struct neap_columns *columns = cycle->columns;
	const struct neap_pod *pod = cycle->pod;
	size_t count = 0;

	for (size_t i = 0; i < cycle->fit_count; i++) {
		uint32_t resource = cycle->fit[i].resource;
		struct compared *row = &ret[count];

		*row = (struct compared){columns->allocatable[resource],
					 columns->used[resource],
					 request_of(pod, resource), cycle->fit[i].weight};
		if (resource == NEAP_RESOURCE_CPU) {
			row->used = columns->scored_cpu_milli;
			row->more = pod->scored_cpu_milli;
		} else if (resource == NEAP_RESOURCE_MEMORY) {
			row->used = columns->scored_bytes;
			row->more = pod->scored_bytes;
		}
		if (row->all && (row->more || !cycle->fit[i].is_scalar))
			count++;
	}
	return count;
}

static void score_room(struct neap_cycle *cycle, const uint32_t *rows, size_t count,
		       bool is_most, int64_t *ret)
{
	struct compared of[NEAP_SETTINGS_ITEMS_MAX];
	size_t of_count = compare(cycle, of);

	memset(ret, 0, count * sizeof(*ret));
	for (size_t i = 0; i < count; i++) {
		int64_t sum = 0, weights = 0;

		for (size_t n = 0; n < of_count; n++) {
			int64_t all = of[n].all[rows[i]];
			int64_t now = neap_amount_sum(of[n].used[rows[i]], of[n].more);
			int64_t part = free_part(all, now);

			if (part < 0)
				continue;
			/* Pods that ask for nothing count with something, so that it may
			 * be over the brim. */
			if (is_most)
				part = points_of(now < all ? now : all, all);
			sum += part * of[n].weight;
			weights += of[n].weight;
		}
		ret[i] = weights ? sum / weights : 0;
	}
}

static void score_least(struct neap_cycle *cycle, const uint32_t *rows, size_t count,
			int64_t *ret)
{
	score_room(cycle, rows, count, false, ret);
}

static void score_most(struct neap_cycle *cycle, const uint32_t *rows, size_t count,
		       int64_t *ret)
{
	score_room(cycle, rows, count, true, ret);
}

static bool prepare_balance(struct neap_cycle *cycle)
{
	for (size_t i = 0; i < cycle->balance_count; i++)
		if (request_of(cycle->pod, cycle->balance[i].resource))
			return true;
	return false;
}

/* Standard deviation of shares. */
static double deviation(const double *shares, int count)
{
	double mean = 0, sum = 0;

	if (count == 2)
		return fabs(shares[0] - shares[1]) / 2;
	for (int i = 0; i < count; i++)
		mean += shares[i] / count;
	for (int i = 0; i < count; i++)
		sum += (shares[i] - mean) * (shares[i] - mean);
	return count > 2 ? sqrt(sum / count) : 0;
}

/* How alike the used shares of the resources are: 1 less their standard deviation. */
static void score_balance(struct neap_cycle *cycle, const uint32_t *rows, size_t count,
			  int64_t *ret)
{
	const struct neap_columns *columns = cycle->columns;
	int64_t asked[NEAP_SETTINGS_ITEMS_MAX];

	for (size_t n = 0; n < cycle->balance_count; n++)
		asked[n] = request_of(cycle->pod, cycle->balance[n].resource);
	for (size_t i = 0; i < count; i++) {
		double share[NEAP_SETTINGS_ITEMS_MAX];
		int kinds = 0;

		for (size_t n = 0; n < cycle->balance_count; n++) {
			uint32_t resource = cycle->balance[n].resource;
			const int64_t *column = columns->allocatable[resource];

			if (!column || column[rows[i]] <= 0 ||
			    (cycle->balance[n].is_scalar && !asked[n]))
				continue;
			share[kinds] =
				(double)neap_amount_sum(columns->used[resource][rows[i]],
							asked[n]) /
				(double)column[rows[i]];
			if (share[kinds] > 1)
				share[kinds] = 1;
			kinds++;
		}
		ret[i] = (int64_t)((1 - deviation(share, kinds)) * NEAP_SCORE_MAX);
	}
}

/* --- images --- */

#define IMAGE_BYTES_MIN (INT64_C(23) * 1024 * 1024)
#define IMAGE_BYTES_MAX (INT64_C(1000) * 1024 * 1024)

static bool prepare_images(struct neap_cycle *cycle)
{
	for (size_t i = 0; i < cycle->pod->image_count; i++)
		if (neap_cluster_find_image(cycle->cluster, cycle->pod->images[i]))
			return true;
	return false;
}

static bool has_image(const struct neap_cluster_node *node,
		      const struct neap_image *image)
{
	for (size_t i = 0; i < node->image_count; i++)
		if (node->images[i] == image)
			return true;
	return false;
}

/* Adds what one image is worth where it lies: less while it is on few nodes, so that they
 * are not all sent there. */
static void add_image(const struct neap_cycle *cycle, const struct neap_image *image,
		      const uint32_t *rows, size_t count, int64_t *ret)
{
	double spread =
		(double)image->uses / (double)neap_cluster_node_count(cycle->cluster);
	int64_t worth = (int64_t)((double)image->bytes * fmin(spread, 1));

	for (size_t i = 0; i < count; i++)
		if (has_image(cycle->columns->nodes[rows[i]], image))
			ret[i] = neap_amount_sum(ret[i], worth);
}

static void score_images(struct neap_cycle *cycle, const uint32_t *rows, size_t count,
			 int64_t *ret)
{
	const struct neap_pod *pod = cycle->pod;
	int64_t most = IMAGE_BYTES_MAX * (int64_t)pod->image_count;

	memset(ret, 0, count * sizeof(*ret));
	for (size_t i = 0; i < pod->image_count; i++) {
		const struct neap_image *image =
			neap_cluster_find_image(cycle->cluster, pod->images[i]);

		if (image)
			add_image(cycle, image, rows, count, ret);
	}
	for (size_t i = 0; i < count; i++) {
		int64_t sum = ret[i] < IMAGE_BYTES_MIN ? IMAGE_BYTES_MIN : ret[i];

		sum = sum > most ? most : sum;
		ret[i] = NEAP_SCORE_MAX * (sum - IMAGE_BYTES_MIN) /
			 (most - IMAGE_BYTES_MIN);
	}
}

static const struct neap_score
	taints = {"TaintToleration", 3, NEAP_SCORE_DOWN, NULL, score_taints},
	affinity = {"NodeAffinity", 2, NEAP_SCORE_UP, prepare_affinity, score_affinity},
	least = {"LeastAllocated", 1, NEAP_SCORE_AS_IS, NULL, score_least},
	most = {"MostAllocated", 0, NEAP_SCORE_AS_IS, NULL, score_most},
	balance = {"BalancedAllocation", 1, NEAP_SCORE_AS_IS, prepare_balance,
		   score_balance},
	images = {"ImageLocality", 1, NEAP_SCORE_AS_IS, prepare_images, score_images};

const struct neap_score *const neap_scores[NEAP_SCORE_COUNT] = {
	[NEAP_SCORE_TAINT_TOLERATION] = &taints,
	[NEAP_SCORE_NODE_AFFINITY] = &affinity,
	[NEAP_SCORE_LEAST_ALLOCATED] = &least,
	[NEAP_SCORE_MOST_ALLOCATED] = &most,
	[NEAP_SCORE_BALANCED_ALLOCATION] = &balance,
	[NEAP_SCORE_IMAGE_LOCALITY] = &images,
	[NEAP_SCORE_TOPOLOGY_SPREAD] = &neap_score_spread,
	[NEAP_SCORE_INTER_POD_AFFINITY] = &neap_score_near,
	[NEAP_SCORE_LOAD_AWARE] = &neap_score_load,
	[NEAP_SCORE_NUMA] = &neap_score_cpus,
	[NEAP_SCORE_RESERVATION] = &neap_score_kept,
};

/* Add a new score above too: a hole would be called. */
_Static_assert(NEAP_SCORE_COUNT == 11, "neap_scores has a row for each score");

/* --- resources of the settings --- */

int neap_cycle_number(struct neap_cluster *cluster,
		      const struct neap_settings_resources *from, struct neap_scored *ret,
		      size_t *ret_count, struct neap_error *err)
{
	struct neap_resources *resources = neap_cluster_resources(cluster);

	for (size_t i = 0; i < from->count; i++) {
		int failed = neap_resources_add(resources, from->of[i].name,
						&ret[i].resource, err);

		if (failed < 0)
			return failed;
		ret[i].weight = from->of[i].weight;
		ret[i].is_scalar = ret[i].resource >= NEAP_RESOURCE_FIXED;
	}
	*ret_count = from->count;
	return 0;
}
