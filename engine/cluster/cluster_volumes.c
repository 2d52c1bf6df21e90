/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/cluster/cluster_priv.h"
#include "engine/cluster/volumes.h"
#include "engine/json/json.h"
#include "engine/pod/pod_priv.h"

/* --- volumes --- */

static void free_volume(struct neap_volume *volume)
{
	if (!volume)
		return;
	(void)neap_object_unref(volume->object);
	neap_arena_done(&volume->arena);
	free(volume);
}

static void free_claim(struct neap_volume_claim *claim)
{
	if (!claim)
		return;
	(void)neap_object_unref(claim->object);
	neap_arena_done(&claim->arena);
	free(claim);
}

void neap_cluster_free_volumes(struct neap_cluster *cluster)
{
	for (size_t i = cluster->volumes ? neap_map_count(cluster->volumes) : 0; i--;)
		free_volume(neap_map_at(cluster->volumes, i, NULL));
	for (size_t i = cluster->claims ? neap_map_count(cluster->claims) : 0; i--;)
		free_claim(neap_map_at(cluster->claims, i, NULL));
	neap_map_free(cluster->volumes);
	neap_map_free(cluster->claims);
	neap_map_free(cluster->classes);
}

static int read_volume(struct neap_volume *volume, struct neap_error *err)
{
	neap_auto_json json_t *tree = neap_object_tree(volume->object);
	const json_t *spec = json_object_get(tree, "spec");
	const json_t *ref = json_object_get(spec, "claimRef");
	const json_t *affinity = json_object_get(spec, "nodeAffinity");
	const json_t *required = json_object_get(affinity, "required");
	int ret = 0;

	if (!tree)
		return neap_error_nomem(err);
	volume->claim_ns =
		neap_arena_strdup(&volume->arena, neap_json_text(ref, "namespace"));
	volume->claim_name =
		neap_arena_strdup(&volume->arena, neap_json_text(ref, "name"));
	volume->claim_uid = neap_arena_strdup(&volume->arena, neap_json_text(ref, "uid"));
	volume->has_affinity = json_is_object(required);
	if (volume->has_affinity)
		ret = neap_terms_read(&volume->affinity,
				      json_object_get(required, "nodeSelectorTerms"),
				      &volume->arena, err);
	if (ret < 0 && ret != -NEAP_ENOMEM)
		volume->affinity.count = 0;
	return volume->arena.failed || ret == -NEAP_ENOMEM ? neap_error_nomem(err) : 0;
}

int neap_cluster_set_volume(struct neap_cluster *cluster, struct neap_object *object,
			    unsigned *ret_moved, struct neap_error *err)
{
	struct neap_volume *volume = neap_alloc(sizeof(*volume)), *before;
	int ret;

	if (!volume)
		return neap_error_nomem(err);
	volume->object = neap_object_ref(object);
	ret = read_volume(volume, err);
	before = neap_map_find(cluster->volumes, object->name);
	if (ret == 0 && !neap_map_set(cluster->volumes, object->name, volume))
		ret = neap_error_nomem(err);
	free_volume(ret == 0 ? before : volume);
	if (ret < 0)
		return ret;
	cluster->generation++;
	*ret_moved = NEAP_MOVED_VOLUMES;
	return 0;
}

void neap_cluster_remove_volume(struct neap_cluster *cluster, const char *name,
				unsigned *ret_moved)
{
	free_volume(neap_map_remove(cluster->volumes, name));
	cluster->generation++;
	*ret_moved = NEAP_MOVED_VOLUMES;
}

const struct neap_volume *neap_cluster_find_volume(const struct neap_cluster *cluster,
						   const char *name)
{
	return neap_map_find(cluster->volumes, name);
}

/* --- claims --- */

static const json_t *find_controller(const json_t *tree)
{
	const json_t *list =
		json_object_get(json_object_get(tree, "metadata"), "ownerReferences");

	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_is_true(json_object_get(json_array_get(list, i), "controller")))
			return json_array_get(list, i);
	return NULL;
}

static int read_claim(struct neap_volume_claim *claim, struct neap_error *err)
{
	neap_auto_json json_t *tree = neap_object_tree(claim->object);
	const json_t *spec = json_object_get(tree, "spec");
	const json_t *modes = json_object_get(spec, "accessModes");

	if (!tree)
		return neap_error_nomem(err);
	claim->volume =
		neap_arena_strdup(&claim->arena, neap_json_text(spec, "volumeName"));
	claim->class_name = neap_arena_strdup(&claim->arena,
					      neap_json_text(spec, "storageClassName"));
	claim->controller = neap_arena_strdup(
		&claim->arena, neap_json_text(find_controller(tree), "uid"));
	for (size_t i = 0; i < json_array_size(modes); i++) {
		const char *mode = json_string_value(json_array_get(modes, i));

		claim->is_of_one_pod |= mode && strcmp(mode, "ReadWriteOncePod") == 0;
	}
	return claim->arena.failed ? neap_error_nomem(err) : 0;
}

int neap_cluster_set_claim(struct neap_cluster *cluster, struct neap_object *object,
			   unsigned *ret_moved, struct neap_error *err)
{
	struct neap_volume_claim *claim = neap_alloc(sizeof(*claim)), *before;
	char key[NEAP_POD_KEY];
	int ret;

	if (!claim)
		return neap_error_nomem(err);
	claim->object = neap_object_ref(object);
	ret = read_claim(claim, err);
	before = neap_map_find(cluster->claims,
			       neap_pod_key(object->ns, object->name, key));
	if (ret == 0 && !neap_map_set(cluster->claims, key, claim))
		ret = neap_error_nomem(err);
	free_claim(ret == 0 ? before : claim);
	if (ret < 0)
		return ret;
	cluster->generation++;
	*ret_moved = NEAP_MOVED_VOLUMES;
	return 0;
}

void neap_cluster_remove_claim(struct neap_cluster *cluster, const char *ns,
			       const char *name, unsigned *ret_moved)
{
	char key[NEAP_POD_KEY];

	free_claim(neap_map_remove(cluster->claims, neap_pod_key(ns, name, key)));
	cluster->generation++;
	*ret_moved = NEAP_MOVED_VOLUMES;
}

const struct neap_volume_claim *
neap_cluster_find_claim(const struct neap_cluster *cluster, const char *ns,
			const char *name)
{
	char key[NEAP_POD_KEY];

	return neap_map_find(cluster->claims, neap_pod_key(ns, name, key));
}

bool neap_volume_is_of(const struct neap_volume *volume,
		       const struct neap_volume_claim *claim)
{
	const struct neap_object *object = claim->object;

	if (!*volume->claim_name)
		return true;
	return strcmp(volume->claim_ns, object->ns) == 0 &&
	       strcmp(volume->claim_name, object->name) == 0 &&
	       (!*volume->claim_uid || strcmp(volume->claim_uid, object->uid) == 0);
}

/* --- classes: those that wait are in the map, the value means nothing --- */

int neap_cluster_set_class(struct neap_cluster *cluster, struct neap_object *object,
			   unsigned *ret_moved, struct neap_error *err)
{
	json_t *tree = neap_object_tree(object);
	bool waits;

	if (!tree)
		return neap_error_nomem(err);
	waits = neap_json_is_text(tree, "volumeBindingMode", "WaitForFirstConsumer");
	json_decref(tree);
	if (!waits)
		(void)neap_map_remove(cluster->classes, object->name);
	else if (!neap_map_set(cluster->classes, object->name, cluster))
		return neap_error_nomem(err);
	cluster->generation++;
	*ret_moved = NEAP_MOVED_VOLUMES;
	return 0;
}

void neap_cluster_remove_class(struct neap_cluster *cluster, const char *name,
			       unsigned *ret_moved)
{
	(void)neap_map_remove(cluster->classes, name);
	cluster->generation++;
	*ret_moved = NEAP_MOVED_VOLUMES;
}

bool neap_cluster_class_waits(const struct neap_cluster *cluster, const char *name)
{
	return neap_map_find(cluster->classes, name) != NULL;
}
