/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the volumes of a pod's claims are usable. neap does not bind claims: pods with an
 * unbound claim wait, and the reason says for what. */
#include "engine/cluster/volumes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/decide/decide_priv.h"

#define STOP_BYTES 1024

/* --- claims of one pod alone --- */

static bool uses(const struct neap_pod *pod, const struct neap_volume_claim *claim)
{
	if (strcmp(pod->object->ns, claim->object->ns) != 0)
		return false;
	for (size_t i = 0; i < pod->claim_count; i++)
		if (strcmp(pod->claims[i].name, claim->object->name) == 0)
			return true;
	return false;
}

static bool is_in_use(const struct neap_cycle *cycle,
		      const struct neap_volume_claim *claim)
{
	const struct neap_columns *columns = cycle->columns;

	for (size_t row = 0; row < columns->rows; row++) {
		const struct neap_cluster_node *node = columns->nodes[row];

		for (size_t i = 0; node && i < node->pod_count; i++)
			if (node->pods[i] != cycle->pod && uses(node->pods[i], claim))
				return true;
	}
	return false;
}

static bool prepare_claims(struct neap_cycle *cycle)
{
	const struct neap_pod *pod = cycle->pod;

	for (size_t i = 0; i < pod->claim_count; i++) {
		const struct neap_volume_claim *claim = neap_cluster_find_claim(
			cycle->cluster, pod->object->ns, pod->claims[i].name);

		if (claim && claim->is_of_one_pod && is_in_use(cycle, claim))
			return true;
	}
	return false;
}

/* On every node: wherever the other is, the claim is taken. */
static bool refuse_claims(struct neap_cycle *cycle, uint32_t row)
{
	return neap_cycle_refuse(cycle, row, NEAP_REASON_CLAIM_IN_USE, 0);
}

const struct neap_filter neap_filter_claims = {"VolumeRestrictions", prepare_claims,
					       refuse_claims,
					       NEAP_MOVED_POD_GONE | NEAP_MOVED_VOLUMES};

/* --- volumes --- */

static const char *format(struct neap_cycle *cycle, const char *fmt, ...)
	NEAP_PRINTF(2, 3);

static const char *format(struct neap_cycle *cycle, const char *fmt, ...)
{
	char text[STOP_BYTES];
	const char *copy;
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	copy = neap_arena_strdup(&cycle->arena, text);
	cycle->is_short |= !copy;
	return copy ? copy : "";
}

/* Why the pod waits for that claim; NULL: *ret is its volume. */
static const char *look_up(struct neap_cycle *cycle, const struct neap_pod_claim *of,
			   const struct neap_volume **ret)
{
	const struct neap_cluster *cluster = cycle->cluster;
	const struct neap_object *pod = cycle->pod->object;
	const struct neap_volume_claim *claim =
		neap_cluster_find_claim(cluster, pod->ns, of->name);
	const struct neap_volume *volume;
	const char *name = of->name;

	if (!claim && of->is_own)
		return format(cycle,
			      "waiting for ephemeral volume controller to create the "
			      "persistentvolumeclaim \"%s\"",
			      name);
	if (!claim)
		return format(cycle, "persistentvolumeclaim \"%s\" not found", name);
	if (claim->object->is_deleting)
		return format(cycle, "persistentvolumeclaim \"%s\" is being deleted",
			      name);
	if (of->is_own && strcmp(claim->controller, pod->uid) != 0)
		return format(cycle,
			      "PVC \"%s/%s\" was not created for pod \"%s/%s\" (pod is "
			      "not owner)",
			      pod->ns, name, pod->ns, pod->name);
	if (!*claim->volume && neap_cluster_class_waits(cluster, claim->class_name))
		return format(cycle,
			      "persistentvolumeclaim \"%s\" waits for its first "
			      "consumer, and neap binds no claims: name a volume in its "
			      "spec.volumeName",
			      name);
	if (!*claim->volume)
		return "pod has unbound immediate PersistentVolumeClaims";
	volume = neap_cluster_find_volume(cluster, claim->volume);
	if (!volume)
		return format(cycle,
			      "persistentvolumeclaim \"%s\" bound to non-existent "
			      "persistentvolume \"%s\"",
			      name, claim->volume);
	if (!neap_volume_is_of(volume, claim))
		return "pod has unbound immediate PersistentVolumeClaims";
	*ret = volume;
	return NULL;
}

/* Once for both filters, whichever is asked first. */
static bool find_volumes(struct neap_cycle *cycle, bool stops)
{
	const struct neap_pod *pod = cycle->pod;

	cycle->volume_count = 0;
	if (!pod->claim_count)
		return false;
	cycle->volumes = neap_arena_array(&cycle->arena, pod->claim_count,
					  sizeof(struct neap_volume *));
	if (!cycle->volumes) {
		cycle->is_short = true;
		return false;
	}
	for (size_t i = 0; i < pod->claim_count; i++) {
		const struct neap_volume *volume = NULL;
		const char *stop = look_up(cycle, &pod->claims[i], &volume);

		if (volume)
			cycle->volumes[cycle->volume_count++] = volume;
		else if (stops && !cycle->stop)
			cycle->stop = stop;
	}
	return cycle->volume_count > 0;
}

static bool prepare_volumes(struct neap_cycle *cycle)
{
	if (!find_volumes(cycle, true))
		return false;
	for (size_t i = 0; i < cycle->volume_count; i++)
		cycle->row_cost += neap_cost_of_terms(&cycle->volumes[i]->affinity);
	return true;
}

static bool reaches_volumes(struct neap_cycle *cycle, uint32_t row)
{
	const struct neap_object *node = cycle->columns->nodes[row]->object;

	for (size_t i = 0; i < cycle->volume_count; i++)
		if (cycle->volumes[i]->has_affinity &&
		    !neap_terms_match(&cycle->volumes[i]->affinity, node))
			return neap_cycle_refuse(cycle, row, NEAP_REASON_VOLUME_AFFINITY,
						 0);
	return true;
}

const struct neap_filter neap_filter_volumes = {"VolumeBinding", prepare_volumes,
						reaches_volumes,
						NEAP_MOVED_VOLUMES | NEAP_MOVED_LABELS};

/* --- labels of volumes that say in which zone they are --- */

static const struct {
	const char *label, *old;
} zones[] = {
	{"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"},
	{"topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"},
};

static const char *zone_of(const struct neap_object *object, size_t i)
{
	const char *value = neap_object_label(object, zones[i].label);

	return value ? value : neap_object_label(object, zones[i].old);
}

static bool prepare_zones(struct neap_cycle *cycle)
{
	if (!find_volumes(cycle, false))
		return false;
	cycle->row_cost += (int64_t)cycle->volume_count;
	for (size_t n = 0; n < cycle->volume_count; n++)
		for (size_t i = 0; i < NEAP_ARRAY_LEN(zones); i++)
			if (zone_of(cycle->volumes[n]->object, i))
				return true;
	return false;
}

/* "a__b": one of them. */
static bool is_among(const char *list, const char *value)
{
	size_t len = strlen(value);

	for (;;) {
		const char *end = strstr(list, "__");
		size_t item = end ? (size_t)(end - list) : strlen(list);

		if (item == len && strncmp(list, value, len) == 0)
			return true;
		if (!end)
			return false;
		list = end + 2;
	}
}

static bool is_in_zones(struct neap_cycle *cycle, uint32_t row)
{
	const struct neap_object *node = cycle->columns->nodes[row]->object;

	/* A node without any zone is anywhere. */
	if (!zone_of(node, 0) && !zone_of(node, 1))
		return true;
	for (size_t n = 0; n < cycle->volume_count; n++)
		for (size_t i = 0; i < NEAP_ARRAY_LEN(zones); i++) {
			const char *wanted = zone_of(cycle->volumes[n]->object, i);
			const char *there = zone_of(node, i);

			if (wanted && (!there || !is_among(wanted, there)))
				return neap_cycle_refuse(cycle, row,
							 NEAP_REASON_VOLUME_ZONE, 0);
		}
	return true;
}

const struct neap_filter neap_filter_zones = {"VolumeZone", prepare_zones, is_in_zones,
					      NEAP_MOVED_VOLUMES | NEAP_MOVED_LABELS};
