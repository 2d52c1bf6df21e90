/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads nodes: allocatable, taints, images. A new state is read completely before it
 * replaces the old one. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/cluster/cluster_priv.h"
#include "engine/cluster/cpus_priv.h"
#include "engine/json/json.h"
#include "engine/pod/pod_priv.h"

/* --- taints and images, each there once --- */

static struct neap_taint *new_taint(struct neap_cluster *cluster, const char *name,
				    const char *key, const char *value,
				    enum neap_taint_effect effect)
{
	size_t key_size = strlen(key) + 1, value_size = strlen(value) + 1;
	struct neap_taint *taint = neap_alloc(sizeof(*taint) + key_size + value_size);
	uint32_t number = 0;

	if (!taint)
		return NULL;
	while (number < cluster->taint_end && cluster->taint_of[number])
		number++;
	if (number == cluster->taint_size) {
		uint32_t size = number ? number * 2 : 16;
		struct neap_taint **list = neap_realloc_array(
			cluster->taint_of, size, sizeof(struct neap_taint *));

		if (!list || size > NEAP_CLUSTER_TAINTS_MAX) {
			cluster->taint_of = list ? list : cluster->taint_of;
			free(taint);
			return NULL;
		}
		cluster->taint_of = list;
		cluster->taint_size = size;
	}
	memcpy(taint->text, key, key_size);
	memcpy(taint->text + key_size, value, value_size);
	taint->key = taint->text;
	taint->value = taint->text + key_size;
	taint->effect = effect;
	taint->number = number;
	if (!neap_map_set(cluster->taints, name, taint)) {
		free(taint);
		return NULL;
	}
	cluster->taint_of[number] = taint;
	if (number == cluster->taint_end)
		cluster->taint_end++;
	return taint;
}

static void taint_name(const char *key, const char *value, enum neap_taint_effect effect,
		       char buf[512])
{
	(void)snprintf(buf, 512, "%d %s=%s", effect, key, value);
}

static struct neap_taint *use_taint(struct neap_cluster *cluster, const json_t *json,
				    enum neap_taint_effect effect)
{
	const char *key = neap_json_text(json, "key"),
		   *value = neap_json_text(json, "value");
	struct neap_taint *taint;
	char name[512];

	taint_name(key, value, effect, name);
	taint = neap_map_find(cluster->taints, name);
	if (!taint)
		taint = new_taint(cluster, name, key, value, effect);
	if (taint)
		taint->uses++;
	return taint;
}

static void unuse_taint(struct neap_cluster *cluster, struct neap_taint *taint)
{
	char name[512];

	if (--taint->uses)
		return;
	taint_name(taint->key, taint->value, taint->effect, name);
	(void)neap_map_remove(cluster->taints, name);
	cluster->taint_of[taint->number] = NULL;
	free(taint);
}

static struct neap_image *use_image(struct neap_cluster *cluster, const char *name,
				    int64_t bytes)
{
	struct neap_image *image = neap_map_find(cluster->images, name);

	if (!image) {
		image = neap_alloc(sizeof(*image) + strlen(name) + 1);
		if (!image)
			return NULL;
		memcpy(image->name, name, strlen(name) + 1);
		if (!neap_map_set(cluster->images, name, image)) {
			free(image);
			return NULL;
		}
	}
	image->bytes = bytes;
	image->uses++;
	return image;
}

static void unuse_image(struct neap_cluster *cluster, struct neap_image *image)
{
	if (--image->uses)
		return;
	(void)neap_map_remove(cluster->images, image->name);
	free(image);
}

void neap_cluster_clear_node(struct neap_cluster *cluster, struct neap_cluster_node *node)
{
	for (size_t i = 0; i < node->taint_count; i++)
		unuse_taint(cluster, node->taints[i]);
	for (size_t i = 0; i < node->image_count; i++)
		unuse_image(cluster, node->images[i]);
	node->taint_count = node->image_count = 0;
	node->allocatable.count = 0;
	node->trouble = NULL;
	node->load_limits = NULL;
	node->load_raw = NULL;
	node->cpus_said = NULL;
	node->object = neap_object_unref(node->object);
	neap_arena_done(&node->arena);
}

/* --- reading --- */

static int read_taints(struct neap_cluster *cluster, struct neap_cluster_node *node,
		       const json_t *list, struct neap_error *err)
{
	size_t count = json_array_size(list);

	if (count > NEAP_CLUSTER_ITEMS_MAX)
		return neap_error_field(err, NEAP_ETOOLARGE, "spec.taints",
					"more than %d", NEAP_CLUSTER_ITEMS_MAX);
	node->taints = neap_arena_array(&node->arena, count, sizeof(struct neap_taint *));
	if (!node->taints)
		return neap_error_nomem(err);
	for (size_t i = 0; i < count; i++) {
		const json_t *json = json_array_get(list, i);
		enum neap_taint_effect effect;
		struct neap_taint *taint;

		if (!neap_taint_effect_parse(neap_json_text(json, "effect"), &effect))
			continue;
		taint = use_taint(cluster, json, effect);
		if (!taint)
			return neap_error_nomem(err);
		node->taints[node->taint_count++] = taint;
	}
	return 0;
}

/* Each name of an image counts. Images beyond the limit count as missing. */
static int read_images(struct neap_cluster *cluster, struct neap_cluster_node *node,
		       const json_t *list, struct neap_error *err)
{
	node->images =
		neap_arena_array(&node->arena, NEAP_CLUSTER_ITEMS_MAX,
				 json_array_size(list) ? sizeof(struct neap_image *) : 0);
	if (!node->images)
		return neap_error_nomem(err);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *json = json_array_get(list, i);
		const json_t *names = json_object_get(json, "names");
		int64_t bytes = json_integer_value(json_object_get(json, "sizeBytes"));

		for (size_t n = 0; n < json_array_size(names); n++) {
			const char *name = json_string_value(json_array_get(names, n));
			struct neap_image *image;

			if (!name || node->image_count == NEAP_CLUSTER_ITEMS_MAX)
				continue;
			image = use_image(cluster, name, bytes > 0 ? bytes : 0);
			if (!image)
				return neap_error_nomem(err);
			node->images[node->image_count++] = image;
		}
	}
	return 0;
}

static int add_columns(struct neap_cluster *cluster,
		       const struct neap_amounts *allocatable, struct neap_error *err)
{
	for (size_t i = 0; i < allocatable->count; i++) {
		int ret = neap_cluster_add_column(cluster, allocatable->of[i].resource,
						  err);

		if (ret < 0)
			return ret;
	}
	return 0;
}

static bool set_trouble(struct neap_cluster_node *node, const struct neap_error *fault)
{
	size_t size = strlen(fault->field) + strlen(fault->msg) + 3;
	char *text = neap_arena_alloc(&node->arena, size);

	if (text)
		(void)snprintf(text, size, "%s: %s", fault->field, fault->msg);
	node->trouble = text;
	return text != NULL;
}

/* Unreadable amounts count as missing and are reported in trouble. */
static int read_node(struct neap_cluster *cluster, struct neap_cluster_node *node,
		     const json_t *tree, struct neap_error *err)
{
	const json_t *spec = json_object_get(tree, "spec");
	const json_t *status = json_object_get(tree, "status");
	const json_t *allocatable = json_object_get(status, "allocatable");
	const json_t *meta = json_object_get(tree, "metadata");
	struct neap_error fault = {0};
	int ret;

	if (!allocatable)
		allocatable = json_object_get(status, "capacity");
	if (neap_amounts_read(&node->allocatable, allocatable, cluster->resources,
			      &fault) < 0) {
		if (fault.code == NEAP_ENOMEM)
			return neap_error_nomem(err);
		(void)neap_error_infield(&fault, "status.allocatable");
		if (!set_trouble(node, &fault))
			return neap_error_nomem(err);
	}
	ret = add_columns(cluster, &node->allocatable, err);
	if (ret == 0)
		ret = read_taints(cluster, node, json_object_get(spec, "taints"), err);
	if (ret == 0)
		ret = read_images(cluster, node, json_object_get(status, "images"), err);
	if (ret == 0 &&
	    !neap_cluster_read_load(cluster, node, json_object_get(meta, "annotations")))
		ret = neap_error_nomem(err);
	if (ret == 0)
		ret = neap_cluster_read_cpus(cluster, node, tree, err);
	return ret;
}

/* --- what changed --- */

static bool has_same_amounts(const struct neap_amounts *a, const struct neap_amounts *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (neap_amounts_get(b, a->of[i].resource) != a->of[i].amount)
			return false;
	return true;
}

static bool has_same_taints(const struct neap_cluster_node *a,
			    const struct neap_cluster_node *b)
{
	return a->taint_count == b->taint_count &&
	       (!a->taint_count ||
		memcmp(a->taints, b->taints, a->taint_count * sizeof(*a->taints)) == 0);
}

bool neap_cluster_has_same_labels(const struct neap_object *a,
				  const struct neap_object *b)
{
	const char *at = a->labels;

	if (a->label_count != b->label_count)
		return false;
	for (unsigned i = 0; i < a->label_count; i++) {
		const char *key = at, *value = key + strlen(key) + 1;
		const char *other = neap_object_label(b, key);

		if (!other || strcmp(other, value) != 0)
			return false;
		at = value + strlen(value) + 1;
	}
	return true;
}

static unsigned compare(const struct neap_cluster_node *node,
			const struct neap_cluster_node *now, bool was_cordoned,
			bool is_cordoned)
{
	unsigned moved = NEAP_MOVED_OTHER;

	if (!node->object)
		return NEAP_MOVED_NODE_ADDED;
	if (!has_same_amounts(&node->allocatable, &now->allocatable))
		moved |= NEAP_MOVED_ROOM;
	if (!neap_cluster_has_same_labels(node->object, now->object))
		moved |= NEAP_MOVED_LABELS;
	if (!has_same_taints(node, now) || was_cordoned != is_cordoned)
		moved |= NEAP_MOVED_TAINTS;
	return moved;
}

static void fill_row(struct neap_cluster *cluster, const struct neap_cluster_node *node)
{
	struct neap_columns *columns = &cluster->columns;

	for (uint32_t i = 0; i < neap_resources_count(cluster->resources); i++)
		if (columns->allocatable[i])
			columns->allocatable[i][node->row] =
				neap_amounts_get(&node->allocatable, i);
}

int neap_cluster_set_node(struct neap_cluster *cluster, struct neap_object *object,
			  unsigned *ret_moved, struct neap_error *err)
{
	struct neap_cluster_node now = {.name = NULL}, *node = NULL;
	struct neap_cpus *cpus = NULL;
	json_t *tree = neap_object_tree(object);
	uint8_t *flags;
	bool is_cordoned;
	int ret;

	if (!tree)
		return neap_error_nomem(err);
	now.object = neap_object_ref(object);
	ret = neap_cluster_row(cluster, object->name, &node, err);
	if (ret == 0)
		ret = read_node(cluster, &now, tree, err);
	if (ret == 0)
		ret = neap_cluster_make_cpus(cluster, node, &now, &cpus, err);
	is_cordoned = json_is_true(
		json_object_get(json_object_get(tree, "spec"), "unschedulable"));
	json_decref(tree);
	if (ret < 0) {
		neap_cluster_clear_node(cluster, &now);
		if (node)
			neap_cluster_drop_row(cluster, node);
		return ret;
	}
	flags = &cluster->columns.flags[node->row];
	*ret_moved = compare(node, &now, *flags & NEAP_ROW_IS_CORDONED, is_cordoned);
	if (!neap_cluster_has_same_load(cluster, node, &now))
		*ret_moved |= NEAP_MOVED_LOAD;
	if (cpus != node->cpus)
		*ret_moved |= NEAP_MOVED_CPUS;
	if (!node->object)
		cluster->node_count++;
	/* The name, the row and the pods stay. */
	neap_cluster_clear_node(cluster, node);
	node->object = now.object;
	node->trouble = now.trouble;
	node->allocatable = now.allocatable;
	node->taints = now.taints;
	node->taint_count = now.taint_count;
	node->images = now.images;
	node->image_count = now.image_count;
	node->load_limits = now.load_limits;
	node->load_raw = now.load_raw;
	node->cpus_said = now.cpus_said;
	neap_cluster_put_cpus(cluster, node, cpus);
	node->arena = now.arena;
	*flags &= (uint8_t)~NEAP_ROW_IS_CORDONED;
	*flags |= NEAP_ROW_IS_THERE | (is_cordoned ? NEAP_ROW_IS_CORDONED : 0);
	fill_row(cluster, node);
	neap_cluster_relabel(cluster, node);
	neap_cluster_mark(cluster, node);
	return 0;
}

void neap_cluster_remove_node(struct neap_cluster *cluster, const char *name)
{
	struct neap_cluster_node *node = neap_map_find(cluster->nodes, name);

	if (!node || !node->object)
		return;
	neap_cluster_clear_node(cluster, node);
	neap_cluster_drop_cpus(cluster, node);
	cluster->columns.flags[node->row] &=
		(uint8_t) ~(NEAP_ROW_IS_THERE | NEAP_ROW_IS_CORDONED);
	fill_row(cluster, node);
	neap_cluster_relabel(cluster, node);
	cluster->node_count--;
	neap_cluster_mark(cluster, node);
	neap_cluster_drop_row(cluster, node);
}
