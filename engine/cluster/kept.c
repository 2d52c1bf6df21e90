/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cluster/kept.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/cluster/cluster_priv.h"
#include "engine/cluster/cpus_priv.h"
#include "engine/json/json.h"
#include "engine/pod/pod_priv.h"

const char *neap_pod_reservation(const struct neap_pod *pod)
{
	if (*pod->node_name)
		return pod->reservation;
	return pod->seat.reservation ? pod->seat.reservation : "";
}

bool neap_pod_is_stand(const struct neap_pod *pod)
{
	return pod->keep && pod->keep->name;
}

/* --- reading --- */

bool neap_pod_keep(struct neap_pod *pod, const char *name, const char *uid,
		   const struct neap_amounts *all, bool waits)
{
	struct neap_pod_keep *keep = neap_arena_alloc(&pod->arena, sizeof(*keep));
	uint32_t *names = neap_arena_array(&pod->arena, all->count + pod->unknown_count,
					   sizeof(*names));

	if (!keep || !names)
		return false;
	for (size_t i = 0; i < all->count; i++)
		names[i] = all->of[i].resource;
	keep->names = names;
	keep->name_count = all->count;
	keep->waits = waits;
	keep->name = name ? neap_arena_strdup(&pod->arena, name) : NULL;
	keep->uid = neap_arena_strdup(&pod->arena, uid);
	pod->keep = keep;
	return !pod->arena.failed;
}

static bool read_reservation(struct neap_pod *pod, const char *text)
{
	json_error_t where;
	neap_auto_json json_t *json = NULL;
	const char *uid;
	int ret;

	if (!text || !*text)
		return true;
	ret = neap_json_parse(text, strlen(text), 0, &json, &where);
	uid = ret == 0 ? neap_json_text(json, "uid") : "";
	if (*uid)
		pod->reservation = neap_arena_strdup(&pod->arena, uid);
	return ret != -NEAP_ENOMEM && !pod->arena.failed;
}

static bool read_operating(struct neap_pod *pod)
{
	const char *mode = neap_object_label(pod->object, NEAP_KEY_OPERATING_MODE);
	struct neap_amounts all;

	if (!mode || strcmp(mode, "Reservation") != 0)
		return true;
	neap_pod_amounts(pod, &all);
	return neap_pod_keep(pod, NULL, pod->object->uid, &all, false);
}

static bool read_owner_names(struct neap_pod *pod, const json_t *list)
{
	size_t count = json_array_size(list);

	if (!count || count > NEAP_POD_ITEMS_MAX)
		return true;
	pod->owner_names =
		neap_arena_array(&pod->arena, count, sizeof(*pod->owner_names));
	if (!pod->owner_names)
		return false;
	for (size_t i = 0; i < count; i++)
		pod->owner_names[pod->owner_name_count++] = neap_arena_strdup(
			&pod->arena, neap_json_text(json_array_get(list, i), "name"));
	return !pod->arena.failed;
}

int neap_pod_read_kept(struct neap_pod *pod, const json_t *tree, struct neap_error *err)
{
	const json_t *meta = json_object_get(tree, "metadata");
	const json_t *notes = json_object_get(meta, "annotations");

	pod->asks_reservations =
		json_object_get(notes, NEAP_KEY_RESERVATION_AFFINITY) ||
		json_object_get(notes, NEAP_KEY_RESERVATION_EXACT) ||
		neap_object_label(pod->object, NEAP_KEY_RESERVATION_IGNORED);
	if (!read_owner_names(pod, json_object_get(meta, "ownerReferences")) ||
	    !read_reservation(pod, json_string_value(json_object_get(
					   notes, NEAP_KEY_RESERVATION_ALLOCATED))) ||
	    !read_operating(pod))
		return neap_error_nomem(err);
	return 0;
}

/* --- counting --- */

static bool is_owner(const struct neap_pod *pod, const struct neap_pod_keep *keep)
{
	const char *uses = neap_pod_reservation(pod);

	return *uses && pod->keep != keep && strcmp(uses, keep->uid) == 0;
}

bool neap_kept_add(const struct neap_pod *pod, const struct neap_pod_keep *keep,
		   struct neap_amounts *ret)
{
	if (!is_owner(pod, keep))
		return false;
	/* As many names as the keep has at most, so that there is room. */
	for (size_t n = 0; ret && n < keep->name_count; n++) {
		uint32_t resource = keep->names[n];
		int64_t amount = neap_pod_request(pod, resource);

		if (amount > 0)
			(void)neap_amounts_set(
				ret, resource,
				neap_amount_sum(neap_amounts_get(ret, resource), amount));
	}
	return true;
}

size_t neap_kept_given(const struct neap_cluster_node *node,
		       const struct neap_pod_keep *keep, struct neap_amounts *ret)
{
	size_t pods = 0;

	if (ret)
		ret->count = 0;
	for (size_t i = 0; node->owner_count && i < node->pod_count; i++)
		pods += neap_kept_add(node->pods[i], keep, ret);
	return pods;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void take_off(struct neap_columns *columns, uint32_t row,
		     const struct neap_pod *stand, const struct neap_amounts *given)
{
	for (size_t i = 0; i < given->count; i++) {
		uint32_t resource = given->of[i].resource;
		int64_t twice =
			least(given->of[i].amount, neap_pod_request(stand, resource));

		if (columns->used[resource])
			columns->used[resource][row] -= twice;
		if (resource == NEAP_RESOURCE_CPU)
			columns->scored_cpu_milli[row] -=
				least(twice, stand->scored_cpu_milli);
		if (resource == NEAP_RESOURCE_MEMORY)
			columns->scored_bytes[row] -= least(twice, stand->scored_bytes);
	}
}

/* What it counts for by itself, without its owners' part. */
static int64_t counts_for(const struct neap_pod *stand, const struct neap_amounts *given,
			  uint32_t resource, int64_t amount)
{
	return amount - least(least(neap_amounts_get(given, resource),
				    neap_pod_request(stand, resource)),
			      amount);
}

/* Sums that ended at the largest number do not tell what they are of. */
#define SUM_MAX (INT64_MAX / 4)

bool neap_cluster_shift_stand(struct neap_cluster *cluster,
			      const struct neap_cluster_node *node,
			      const struct neap_pod *stand, int by)
{
	struct neap_columns *columns = &cluster->columns;
	struct neap_amounts given;
	uint32_t row = node->row;

	/* A list that would grow needs a recount. */
	if (!neap_pod_is_stand(stand) || node->is_dirty || node->cpus ||
	    (by > 0 && node->pod_count == node->pod_size) ||
	    columns->scored_cpu_milli[row] > SUM_MAX ||
	    columns->scored_bytes[row] > SUM_MAX || stand->scored_cpu_milli > SUM_MAX ||
	    stand->scored_bytes > SUM_MAX)
		return false;
	for (size_t i = 0; i < stand->request_count; i++) {
		const int64_t *used = columns->used[stand->requests[i].resource];

		if (used && (used[row] > SUM_MAX || stand->requests[i].amount > SUM_MAX))
			return false;
	}
	(void)neap_kept_given(node, stand->keep, &given);
	for (size_t i = 0; i < stand->request_count; i++) {
		uint32_t resource = stand->requests[i].resource;

		if (columns->used[resource])
			columns->used[resource][row] +=
				by * counts_for(stand, &given, resource,
						stand->requests[i].amount);
	}
	columns->scored_cpu_milli[row] +=
		by *
		counts_for(stand, &given, NEAP_RESOURCE_CPU, stand->scored_cpu_milli);
	columns->scored_bytes[row] +=
		by * counts_for(stand, &given, NEAP_RESOURCE_MEMORY, stand->scored_bytes);
	return true;
}

/* The overlap of a placeholder's and its owners' cells. False without memory. */
static bool find_twice(struct neap_numa_node *numa, const struct neap_cluster_node *node,
		       const struct neap_pod *stand)
{
	size_t cells = (size_t)numa->zone_count * (size_t)numa->resource_count;
	neap_auto_free int64_t *sums = neap_alloc_array(cells, sizeof(*sums));
	char key[NEAP_POD_KEY];
	const struct neap_numa_held *held =
		neap_numa_node_find(numa, neap_pod_seat_key(stand, key));

	if (!held || !held->cells)
		return true;
	if (!sums || (!numa->twice &&
		      !(numa->twice = neap_alloc_array(cells, sizeof(*numa->twice)))))
		return false;
	for (size_t i = 0; i < node->pod_count; i++) {
		const struct neap_numa_held *owner;

		if (!is_owner(node->pods[i], stand->keep))
			continue;
		owner = neap_numa_node_find(numa, neap_pod_seat_key(node->pods[i], key));
		for (size_t k = 0; owner && owner->cells && k < cells; k++)
			sums[k] = neap_amount_sum(sums[k], owner->cells[k]);
	}
	for (size_t k = 0; k < cells; k++)
		numa->twice[k] += least(sums[k], held->cells[k]);
	return true;
}

void neap_cluster_uncount_kept(struct neap_cluster *cluster,
			       const struct neap_cluster_node *node)
{
	struct neap_amounts given;

	if (!(cluster->columns.flags[node->row] & NEAP_ROW_HAS_KEPT))
		return;
	for (size_t i = 0; i < node->pod_count; i++)
		if (node->pods[i]->keep &&
		    neap_kept_given(node, node->pods[i]->keep, &given))
			take_off(&cluster->columns, node->row, node->pods[i], &given);
}

void neap_cluster_uncount_cells(struct neap_cluster *cluster,
				const struct neap_cluster_node *node)
{
	struct neap_numa_node *numa = node->cpus ? node->cpus->numa : NULL;

	if (!numa)
		return;
	free(numa->twice);
	numa->twice = NULL;
	if (!(cluster->columns.flags[node->row] & NEAP_ROW_HAS_KEPT) ||
	    node->cpus->is_stale)
		return;
	/* Without memory for it less is free than there is, and nothing is given
	 * twice. */
	for (size_t i = 0; i < node->pod_count; i++)
		if (node->pods[i]->keep && !find_twice(numa, node, node->pods[i]))
			return;
}
