/* SPDX-License-Identifier: Apache-2.0
 *
 * Duplicates: pods with the same owners and images on one node that should be spread
 * over several. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/deschedule/round_domains.h"

/* What a pod with these owners and images was seen last on. */
struct seen {
	const struct neap_world_node *node;
};

struct finding {
	struct neap_round *round;
	struct neap_map *seen, *groups; /* of struct neap_duplicates */
	struct neap_buf text;
	bool is_counting;
};

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The images of the main containers, sorted, as one text. */
static void print_images(struct neap_buf *buf, const struct neap_world_pod *pod)
{
	const char *images[NEAP_WORLD_ITEMS_MAX];
	size_t count = 0;

	images[0] = "";
	for (size_t i = 0; i < pod->container_count && count < NEAP_WORLD_ITEMS_MAX; i++)
		if (pod->containers[i].part == NEAP_PART_MAIN)
			images[count++] = pod->containers[i].image;
	qsort(images, count, sizeof(*images), compare_texts);
	for (size_t i = 0; i < count; i++)
		neap_buf_addf(buf, "|%s", images[i]);
}

static void print_owner(struct neap_buf *buf, const struct neap_world_pod *pod,
			const struct neap_world_owner *owner)
{
	neap_buf_addf(buf, "%s/%s/%s", pod->pod->object->ns, owner->kind, owner->name);
}

/* All owners, in an order of their own, and the images. */
static void print_identity(struct neap_buf *buf, const struct neap_world_pod *pod)
{
	bool is_told[NEAP_WORLD_ITEMS_MAX] = {false};

	neap_buf_clear(buf);
	for (size_t n = 0; n < pod->owner_count; n++) {
		size_t least = SIZE_MAX;

		for (size_t i = 0; i < pod->owner_count; i++)
			if (!is_told[i] &&
			    (least == SIZE_MAX ||
			     strcmp(pod->owners[i].uid, pod->owners[least].uid) < 0))
				least = i;
		is_told[least] = true;
		print_owner(buf, pod, &pod->owners[least]);
		neap_buf_adds(buf, ";");
	}
	print_images(buf, pod);
}

static struct neap_duplicates *need_group(struct finding *finding,
					  const struct neap_world_pod *pod,
					  const struct neap_world_owner *owner)
{
	struct neap_duplicates *group;

	neap_buf_clear(&finding->text);
	print_owner(&finding->text, pod, owner);
	print_images(&finding->text, pod);
	if (neap_buf_failed(&finding->text))
		return NULL;
	group = neap_map_find(finding->groups, finding->text.data);
	if (group)
		return group;
	group = neap_arena_alloc(&finding->round->arena, sizeof(*group));
	if (!group || !neap_map_set(finding->groups, finding->text.data, group))
		return NULL;
	group->ns = pod->pod->object->ns;
	group->kind = owner->kind;
	group->name = owner->name;
	return group;
}

static bool is_duplicate(struct finding *finding, const struct neap_world_pod *pod,
			 bool *ret)
{
	struct seen *seen;

	print_identity(&finding->text, pod);
	if (neap_buf_failed(&finding->text))
		return false;
	seen = neap_map_find(finding->seen, finding->text.data);
	*ret = seen && seen->node == pod->node;
	if (!seen) {
		seen = neap_arena_alloc(&finding->round->arena, sizeof(*seen));
		if (!seen || !neap_map_set(finding->seen, finding->text.data, seen))
			return false;
	}
	seen->node = pod->node;
	return true;
}

/* Once to count, once to fill the lists. */
static bool pass(struct finding *finding, struct neap_world_pod *const *pods,
		 size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool is = false;

		if (!is_duplicate(finding, pods[i], &is))
			return false;
		for (size_t n = 0; n < pods[i]->owner_count; n++) {
			struct neap_duplicates *group =
				need_group(finding, pods[i], &pods[i]->owners[n]);

			if (!group)
				return false;
			group->counted += finding->is_counting;
			if (is && !finding->is_counting)
				group->pods[group->count] = pods[i];
			group->count += is;
		}
	}
	return true;
}

static bool make_lists(struct finding *finding)
{
	for (size_t i = neap_map_count(finding->groups); i-- > 0;) {
		struct neap_duplicates *group = neap_map_at(finding->groups, i, NULL);

		group->pods = neap_arena_array(&finding->round->arena, group->count + 1,
					       sizeof(struct neap_world_pod *));
		group->count = 0;
		if (!group->pods)
			return false;
	}
	for (size_t i = neap_map_count(finding->seen); i-- > 0;) {
		struct seen *seen = neap_map_at(finding->seen, i, NULL);

		seen->node = NULL;
	}
	return true;
}

static int compare_groups(const void *a, const void *b)
{
	const struct neap_duplicates *one = a, *other = b;
	int differ = strcmp(one->ns, other->ns);

	differ = differ ? differ : strcmp(one->kind, other->kind);
	return differ ? differ : strcmp(one->name, other->name);
}

int neap_round_find_duplicates(struct neap_round *round,
			       struct neap_world_pod *const *pods, size_t count,
			       struct neap_duplicates **ret, size_t *ret_count,
			       struct neap_error *err)
{
	struct finding finding = {.round = round,
				  .seen = neap_map_new(),
				  .groups = neap_map_new(),
				  .is_counting = true};
	bool is_done = finding.seen && finding.groups;
	size_t found = 0;

	neap_buf_init(&finding.text, NEAP_BUF_FILE);
	is_done = is_done && pass(&finding, pods, count) && make_lists(&finding);
	finding.is_counting = false;
	is_done = is_done && pass(&finding, pods, count);
	*ret = is_done ? neap_arena_array(&round->arena,
					  neap_map_count(finding.groups) + 1,
					  sizeof(**ret))
		       : NULL;
	for (size_t i = 0; *ret && i < neap_map_count(finding.groups); i++) {
		const struct neap_duplicates *group =
			neap_map_at(finding.groups, i, NULL);

		if (group->count)
			(*ret)[found++] = *group;
	}
	if (*ret)
		qsort(*ret, found, sizeof(**ret), compare_groups);
	*ret_count = found;
	neap_buf_done(&finding.text);
	neap_map_free(finding.seen);
	neap_map_free(finding.groups);
	return *ret ? 0 : neap_error_nomem(err);
}

/* Marks the nodes that the pod could run on; 0: it could on one at most. */
static void mark(const struct neap_round *round, const struct neap_world_pod *pod,
		 uint8_t *marks)
{
	size_t found = 0, last = 0;

	for (size_t i = 0; i < round->node_count; i++) {
		if (!neap_fit_tolerates(pod, round->nodes[i]) ||
		    !neap_fit_matches(pod, round->nodes[i]))
			continue;
		/* The first is marked with the second: one alone does not count. */
		if (found)
			marks[i] = 1;
		if (found == 1)
			marks[last] = 1;
		last = i;
		found++;
	}
}

size_t neap_round_count_feasible(const struct neap_round *round,
				 struct neap_world_pod *const *pods, size_t count)
{
	uint8_t *marks = neap_alloc_array(round->node_count + 1, sizeof(*marks));
	size_t sum = 0;

	for (size_t i = 0; marks && i < count; i++) {
		size_t before = 0;

		while (before < i && !neap_fit_is_alike(pods[before], pods[i]))
			before++;
		if (before == i)
			mark(round, pods[i], marks);
	}
	for (size_t i = 0; marks && i < round->node_count; i++)
		sum += marks[i];
	free(marks);
	return sum; /* without memory 0: nothing is evicted */
}
