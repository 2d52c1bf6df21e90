/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds of pods. A cluster of a hundred thousand pods has a few thousand kinds, and a
 * selector is checked once per kind instead of once per pod. A kind is identified by the
 * SHA-256 of its labels and pod affinity terms, so that nobody can make two kinds
 * collide. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/sha256.h"
#include "engine/cluster/cluster_priv.h"

#define KIND_NAME (NEAP_OBJECT_NAMESPACE + 2 * NEAP_SHA256_HEX)

/* Labels are in the order of the object's JSON: another order gives another kind, which
 * is harmless. */
static void name_kind(const struct neap_pod *pod, char text[KIND_NAME])
{
	const struct neap_object *object = pod->object;
	char sum[NEAP_SHA256_HEX];

	neap_sha256_hex(object->labels, (size_t)(object->fields - object->labels), sum);
	(void)snprintf(text, KIND_NAME, "%s/%s/%s", object->ns, sum, pod->near_name);
}

static bool reserve(struct neap_cluster *cluster)
{
	uint32_t size = cluster->kind_size ? cluster->kind_size * 2 : 64;
	uint32_t *list;

	if (cluster->kind_free_count || cluster->kind_end < cluster->kind_size)
		return true;
	list = neap_realloc_array(cluster->kind_free, size, sizeof(*list));
	if (!list)
		return false;
	cluster->kind_free = list;
	cluster->kind_size = size;
	return true;
}

int neap_cluster_use_kind(struct neap_cluster *cluster, struct neap_pod *pod,
			  struct neap_error *err)
{
	char text[KIND_NAME];
	struct neap_pod_kind *kind;

	name_kind(pod, text);
	kind = neap_map_find(cluster->kinds, text);
	if (!kind) {
		kind = reserve(cluster) ? neap_alloc(sizeof(*kind) + sizeof(text)) : NULL;
		if (!kind || !neap_map_set(cluster->kinds, text, kind)) {
			free(kind);
			return neap_error_nomem(err);
		}
		memcpy(kind->name, text, sizeof(text));
		kind->number = cluster->kind_free_count
				       ? cluster->kind_free[--cluster->kind_free_count]
				       : cluster->kind_end++;
	}
	kind->uses++;
	pod->seat.kind = kind;
	return 0;
}

void neap_cluster_unuse_kind(struct neap_cluster *cluster, struct neap_pod *pod)
{
	struct neap_pod_kind *kind = pod->seat.kind;

	pod->seat.kind = NULL;
	if (!kind || --kind->uses)
		return;
	(void)neap_map_remove(cluster->kinds, kind->name);
	cluster->kind_free[cluster->kind_free_count++] = kind->number;
	free(kind);
}

uint32_t neap_cluster_kind_end(const struct neap_cluster *cluster)
{
	return cluster->kind_end;
}
