/* SPDX-License-Identifier: Apache-2.0
 *
 * CPUs and NUMA nodes for whom room is made. What such a pod will have is reckoned as if its victims were gone, and
 * stands in the book of the node as long as another pod is looked at: so that one is answered and given what is left, by
 * the same rules as beside pods that are there. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/cluster/pod.h"
#include "engine/decide/cpus.h"

/* Those whose room is made on the node and not for pod to take, the most important first. */
static void find_others(struct neap_cpu_nominated *found,
			const struct neap_cluster *cluster, const struct neap_pod *pod,
			const char *node)
{
	for (size_t i = neap_cluster_nominee_count(cluster); i--;) {
		const struct neap_pod *other = neap_cluster_nominee(cluster, i);
		size_t at = found->count;

		if (other == pod || other->seat.node || other->priority < pod->priority ||
		    strcmp(other->nominated, node) != 0 ||
		    found->count == NEAP_CPU_NOMINATED_MAX)
			continue;
		for (; at && found->pods[at - 1]->priority < other->priority; at--)
			found->pods[at] = found->pods[at - 1];
		found->pods[at] = other;
		found->count++;
	}
}

/* What those who go for it have. */
static size_t find_victims(const struct neap_cpus *book,
			   const struct neap_cluster_node *node,
			   const struct neap_pod *pod, struct neap_numa_held *back)
{
	size_t count = 0;

	for (size_t i = 0; i < node->pod_count; i++) {
		const struct neap_pod *victim = node->pods[i];
		const struct neap_numa_held *held;
		char key[NEAP_POD_KEY];

		if (victim->priority >= pod->priority ||
		    (!victim->object->is_deleting && !victim->seat.is_victim))
			continue;
		held = neap_numa_node_find(
			book->numa,
			neap_pod_key(victim->object->ns, victim->object->name, key));
		if (held)
			back[count++] = *held;
	}
	return count;
}

/* Has the book hold what it will have; nothing when even its victims' part would not do. */
static int hold(struct neap_cpu_nominated *found, struct neap_cpu_work *work,
		const struct neap_cluster_node *node, const struct neap_pod *pod,
		struct neap_error *err)
{
	neap_auto_free struct neap_numa_held *back =
		neap_alloc_array(node->pod_count + 1, sizeof(*back));
	char key[NEAP_POD_KEY];
	int ret;

	if (!back)
		return neap_error_nomem(err);
	ret = neap_cpu_take(work, found->book, pod, back,
			    find_victims(found->book, node, pod, back), err);
	if (ret <= 0)
		return ret == -NEAP_ENOFIT ? 0 : ret;
	found->load.bound += (int64_t)work->grant.cpu_count * 1000;
	return neap_numa_node_hold(
		found->book->numa, neap_pod_key(pod->object->ns, pod->object->name, key),
		work->grant.cpus, work->grant.nodes ? work->grant.cells : NULL,
		work->wish.exclusive, err);
}

static int keep(struct neap_cpu_nominated *found, struct neap_cpu_work *work,
		struct neap_cluster *cluster, const struct neap_cluster_node *node,
		const struct neap_pod *pod, struct neap_error *err)
{
	const struct neap_cpus *book = found->book;
	int ret;

	neap_cpu_work_begin(work, cluster, pod);
	found->load.requested =
		neap_amount_sum(found->load.requested, work->wish.cpu_milli);
	if (!book->numa || book->is_stale)
		return 0;
	ret = neap_cpu_choose(&work->wish, &book->rule, NULL,
			      book->numa->layout->per_core, &work->choice, err);
	if (ret == -NEAP_ENOFIT ||
	    (ret == 0 && !work->choice.is_binding && work->choice.numa == NEAP_NUMA_ANY))
		return 0;
	return ret < 0 ? ret : hold(found, work, node, pod, err);
}

int neap_cpu_nominated_begin(struct neap_cpu_nominated *found,
			     struct neap_cluster *cluster, const struct neap_pod *pod,
			     uint32_t row, struct neap_error *err)
{
	const struct neap_cluster_node *node = neap_cluster_node_at(cluster, row);
	neap_auto_free struct neap_cpu_work *work = NULL;
	int ret = 0;

	found->book = node ? node->cpus : NULL;
	found->count = 0;
	if (!found->book)
		return 0;
	found->load = found->book->load;
	if (neap_cluster_nominee_count(cluster))
		find_others(found, cluster, pod, node->name);
	if (!found->count)
		return 0;
	work = neap_alloc(sizeof(*work));
	if (!work)
		return neap_error_nomem(err);
	for (size_t i = 0; ret >= 0 && i < found->count; i++)
		ret = keep(found, work, cluster, node, found->pods[i], err);
	return ret < 0 ? ret : 0;
}

void neap_cpu_nominated_end(const struct neap_cpu_nominated *found)
{
	char key[NEAP_POD_KEY];

	for (size_t i = 0; i < found->count && found->book->numa; i++)
		neap_numa_node_release(found->book->numa,
				       neap_pod_key(found->pods[i]->object->ns,
						    found->pods[i]->object->name, key));
}
