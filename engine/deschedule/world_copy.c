/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses nodes and pods, and copies the texts of their objects. */
#include "engine/deschedule/world_copy.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/deschedule/world_copy_priv.h"

/* Room beside the texts of nodes and pods for what belongs to them: namespaces, budgets,
 * claims. */
#define ASIDE_BYTES ((size_t)512 * 1024)
/* Pods without a node get an eighth of the room, and what the nodes leave. */
#define WAITING_SHARE 8

struct choice {
	const struct neap_world *world;
	struct neap_world_copy *copy;
	size_t left;    /* bytes */
	size_t waiting; /* pods without a node that were looked at */
};

static size_t size_of(const struct neap_object *object)
{
	return object ? WORLD_COPY_HEAD + object->text_len + 1 : 0;
}

static size_t size_of_node(const struct neap_world_node *node)
{
	size_t size = size_of(node->object);

	if (node->metric)
		size += size_of(node->metric->object);
	for (size_t i = 0; i < node->pod_count; i++)
		size += size_of(node->pods[i]->pod->object);
	return size;
}

static void choose_pod(struct choice *choice, const struct neap_world_pod *pod)
{
	choice->copy->has_pod[pod->index] = true;
	choice->copy->pods++;
}

static bool choose_node(struct choice *choice, size_t at)
{
	const struct neap_world_node *node = choice->world->nodes[at];
	size_t size = size_of_node(node);

	if (size > choice->left)
		return false;
	choice->left -= size;
	choice->copy->has_node[at] = true;
	choice->copy->nodes++;
	for (size_t i = 0; i < node->pod_count; i++)
		choose_pod(choice, node->pods[i]);
	return true;
}

static size_t common_divisor(size_t a, size_t b)
{
	while (b) {
		size_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* A step by the golden section: any number of them is spread evenly. */
static size_t step_of(size_t count)
{
	size_t step = (size_t)((double)count * 0.618) + 1;

	while (common_divisor(step, count) != 1)
		step++;
	return step;
}

/* Chooses pods without a node, where it ended before, until these bytes are used up. */
static void choose_waiting(struct choice *choice, size_t bytes)
{
	const struct neap_world *world = choice->world;
	size_t count = world->pod_count - world->bound_count;
	size_t step = count ? step_of(count) : 1;

	for (; choice->waiting < count; choice->waiting++) {
		size_t at = choice->waiting * step % count;
		const struct neap_world_pod *pod = world->pods[world->bound_count + at];
		size_t size = size_of(pod->pod->object);

		if (size > bytes)
			return;
		bytes -= size;
		choice->left -= size;
		choose_pod(choice, pod);
	}
}

static void choose(struct choice *choice)
{
	const struct neap_world *world = choice->world;
	size_t count = world->node_count, at = 0;
	size_t step = count ? step_of(count) : 1;

	choose_waiting(choice, choice->left / WAITING_SHARE);
	for (size_t i = 0; i < count; i++, at = (at + step) % count)
		if (!choose_node(choice, at))
			break;
	choose_waiting(choice, choice->left);
	choice->copy->nodes_cut = count - choice->copy->nodes;
	choice->copy->pods_cut = world->pod_count - choice->copy->pods;
}

/* --- the texts --- */

static bool is_aside(enum world_copy_list list)
{
	return list == WORLD_COPY_NAMESPACES || list == WORLD_COPY_BUDGETS ||
	       list == WORLD_COPY_CLAIMS;
}

/* Nodes and pods were chosen by their sizes. What belongs to them is left out where its
 * own room ends. */
static void add(struct neap_world_copy *copy, enum world_copy_list list, const char *text,
		size_t len)
{
	const uint32_t head[2] = {list, (uint32_t)len};
	size_t size = sizeof(head) + len + 1;

	if (copy->size - copy->len < size ||
	    (is_aside(list) && ASIDE_BYTES - copy->aside < size)) {
		copy->others_cut++;
		return;
	}
	copy->aside += is_aside(list) ? size : 0;
	memcpy(copy->texts + copy->len, head, sizeof(head));
	memcpy(copy->texts + copy->len + sizeof(head), text, len);
	copy->texts[copy->len + sizeof(head) + len] = '\0';
	copy->len += size;
}

static void add_object(struct neap_world_copy *copy, enum world_copy_list list,
		       const struct neap_object *object)
{
	if (object)
		add(copy, list, object->text, object->text_len);
}

static void add_space(struct neap_world_copy *copy, const struct neap_world *world,
		      const char *ns)
{
	const struct neap_world_budget *budget = neap_world_find_budgets(world, ns);

	add_object(copy, WORLD_COPY_NAMESPACES, neap_world_find_namespace(world, ns));
	for (; budget; budget = budget->next)
		add_object(copy, WORLD_COPY_BUDGETS, budget->object);
}

/* Three texts, one after the other: the world has no object of it. */
static void add_claim(struct neap_world_copy *copy, const char *ns, const char *name,
		      const struct neap_world_claim *claim)
{
	const char *class = claim->storage_class ? claim->storage_class : "";
	char text[NEAP_POD_KEY + 512];
	size_t len = strlen(ns) + strlen(name) + strlen(class) + 3;

	if (len > sizeof(text)) {
		copy->others_cut++;
		return;
	}
	memcpy(text, ns, strlen(ns) + 1);
	memcpy(text + strlen(ns) + 1, name, strlen(name) + 1);
	memcpy(text + strlen(ns) + strlen(name) + 2, class, strlen(class) + 1);
	add(copy, WORLD_COPY_CLAIMS, text, len);
}

static bool add_claims(struct neap_world_copy *copy, const struct neap_world *world,
		       const struct neap_world_pod *pod, struct neap_map *seen)
{
	const char *ns = pod->pod->object->ns;

	for (size_t i = 0; i < pod->pod->claim_count; i++) {
		const char *name = pod->pod->claims[i].name;
		const struct neap_world_claim *claim =
			neap_world_find_claim(world, ns, name);
		char key[NEAP_POD_KEY];

		if (!claim || neap_map_find(seen, neap_pod_key(ns, name, key)))
			continue;
		if (!neap_map_set(seen, key, copy))
			return false;
		add_claim(copy, ns, name, claim);
	}
	return true;
}

static int add_all(struct neap_world_copy *copy, const struct neap_world *world)
{
	struct neap_map *seen = neap_map_new();
	bool is_made = seen != NULL;

	for (size_t i = 0; i < world->node_count; i++) {
		const struct neap_world_node *node = world->nodes[i];

		if (!copy->has_node[i])
			continue;
		add_object(copy, WORLD_COPY_NODES, node->object);
		if (node->metric)
			add_object(copy, WORLD_COPY_METRICS, node->metric->object);
	}
	for (size_t i = 0; is_made && i < world->pod_count; i++) {
		const struct neap_world_pod *pod = world->pods[i];
		const char *ns = pod->pod->object->ns;

		if (!copy->has_pod[i])
			continue;
		add_object(copy, WORLD_COPY_PODS, pod->pod->object);
		is_made = add_claims(copy, world, pod, seen);
		if (!is_made || neap_map_find(seen, ns))
			continue;
		is_made = neap_map_set(seen, ns, copy);
		add_space(copy, world, ns);
	}
	neap_map_free(seen);
	return is_made ? 0 : -NEAP_ENOMEM;
}

int neap_world_copy_new(const struct neap_world *world, size_t bytes,
			struct neap_world_copy **ret, struct neap_error *err)
{
	struct neap_world_copy *copy = neap_alloc(sizeof(*copy));
	struct choice choice = {.world = world, .copy = copy, .left = bytes};
	bool is_made = copy != NULL;

	if (is_made) {
		copy->has_node = neap_alloc_array(world->node_count + 1, sizeof(bool));
		copy->has_pod = neap_alloc_array(world->pod_count + 1, sizeof(bool));
		is_made = copy->has_node && copy->has_pod;
	}
	if (is_made) {
		choose(&choice);
		copy->size = bytes - choice.left + ASIDE_BYTES;
		copy->texts = neap_alloc(copy->size);
		is_made = copy->texts && add_all(copy, world) == 0;
	}
	if (!is_made) {
		neap_world_copy_free(copy);
		return neap_error_nomem(err);
	}
	*ret = copy;
	return 0;
}

void neap_world_copy_free(struct neap_world_copy *copy)
{
	if (!copy)
		return;
	free(copy->has_node);
	free(copy->has_pod);
	free(copy->texts);
	free(copy);
}
