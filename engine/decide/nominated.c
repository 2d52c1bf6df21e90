/* SPDX-License-Identifier: Apache-2.0
 *
 * CPUs and NUMA nodes of nominated pods. What such a pod will hold is computed as if its
 * victims were gone, and is added to the node's book while another pod is decided, which
 * then sees only the rest. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/decide/cpus.h"
#include "engine/decide/decide_priv.h"
#include "engine/pod/pod.h"

/* Those whose room is made on the node and not for pod to take, the most important
 * first. */
static void find_others(struct neap_cpu_nominated *nominated,
			const struct neap_cluster *cluster, const struct neap_pod *pod,
			const char *node)
{
	for (size_t i = neap_cluster_nominee_count(cluster); i--;) {
		const struct neap_pod *other = neap_cluster_nominee(cluster, i);
		size_t at = nominated->count;

		if (other == pod || other->seat.node || other->priority < pod->priority ||
		    strcmp(other->nominated, node) != 0 ||
		    nominated->count == NEAP_CPU_NOMINATED_MAX)
			continue;
		for (; at && nominated->pods[at - 1]->priority < other->priority; at--)
			nominated->pods[at] = nominated->pods[at - 1];
		nominated->pods[at] = other;
		nominated->count++;
	}
}

/* Collects the holdings of its victims. */
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
		held = neap_numa_node_find(book->numa, neap_pod_seat_key(victim, key));
		if (held)
			back[count++] = *held;
	}
	return count;
}

/* Has the book hold what it will have; nothing when even its victims' part would not
 * do. */
static int hold(struct neap_cpu_nominated *nominated, struct neap_cpu_work *work,
		const struct neap_cluster_node *node, const struct neap_pod *pod,
		struct neap_error *err)
{
	neap_auto_free struct neap_numa_held *back =
		neap_alloc_array(node->pod_count + 1, sizeof(*back));
	char key[NEAP_POD_KEY];
	int ret;

	if (!back)
		return neap_error_nomem(err);
	ret = neap_cpu_take(work, nominated->book, pod, back,
			    find_victims(nominated->book, node, pod, back), err);
	if (ret <= 0)
		return ret == -NEAP_ENOFIT ? 0 : ret;
	nominated->load.bound += (int64_t)work->grant.cpu_count * 1000;
	return neap_numa_node_hold(
		nominated->book->numa, neap_pod_seat_key(pod, key), work->grant.cpus,
		work->grant.nodes ? work->grant.cells : NULL, work->wish.exclusive, err);
}

static int keep(struct neap_cpu_nominated *nominated, struct neap_cpu_work *work,
		struct neap_cluster *cluster, const struct neap_cluster_node *node,
		const struct neap_pod *pod, struct neap_error *err)
{
	const struct neap_cpus *book = nominated->book;
	int ret;

	neap_cpu_work_begin(work, neap_cluster_cpus_args(cluster), pod);
	nominated->load.requested =
		neap_amount_sum(nominated->load.requested, work->wish.cpu_milli);
	if (!book->numa || book->is_stale)
		return 0;
	ret = neap_cpu_choose(&work->wish, &book->rule, NULL,
			      book->numa->layout->per_core, &work->choice, err);
	if (ret == -NEAP_ENOFIT ||
	    (ret == 0 && !work->choice.is_binding && work->choice.numa == NEAP_NUMA_ANY))
		return 0;
	return ret < 0 ? ret : hold(nominated, work, node, pod, err);
}

int neap_cpu_nominated_begin(struct neap_cpu_nominated *nominated,
			     struct neap_cluster *cluster, const struct neap_pod *pod,
			     uint32_t row, struct neap_error *err)
{
	const struct neap_cluster_node *node = neap_cluster_node_at(cluster, row);
	neap_auto_free struct neap_cpu_work *work = NULL;
	int ret = 0;

	nominated->book = node ? node->cpus : NULL;
	nominated->count = 0;
	if (!nominated->book)
		return 0;
	nominated->load = nominated->book->load;
	if (neap_cluster_nominee_count(cluster))
		find_others(nominated, cluster, pod, node->name);
	if (!nominated->count)
		return 0;
	work = neap_alloc(sizeof(*work));
	if (!work)
		return neap_error_nomem(err);
	for (size_t i = 0; ret >= 0 && i < nominated->count; i++)
		ret = keep(nominated, work, cluster, node, nominated->pods[i], err);
	return ret < 0 ? ret : 0;
}

void neap_cpu_nominated_end(const struct neap_cpu_nominated *nominated)
{
	char key[NEAP_POD_KEY];

	for (size_t i = 0; i < nominated->count && nominated->book->numa; i++)
		neap_numa_node_release(nominated->book->numa,
				       neap_pod_seat_key(nominated->pods[i], key));
}

/* --- what nominated pods will use is closed to less important ones --- */

const struct neap_pod *neap_nominated_next(const struct neap_cycle *cycle, size_t *at)
{
	while (*at < neap_cluster_nominee_count(cycle->cluster)) {
		const struct neap_pod *other =
			neap_cluster_nominee(cycle->cluster, (*at)++);

		if (other != cycle->pod && !other->seat.node &&
		    other->priority >= cycle->pod->priority)
			return other;
	}
	return NULL;
}

void neap_cycle_find_nominated(struct neap_cycle *cycle)
{
	const struct neap_pod *other;

	neap_domains_clear(&cycle->nominated);
	for (size_t at = 0; (other = neap_nominated_next(cycle, &at));)
		for (size_t n = 0; n < other->request_count; n++)
			if (!neap_domains_add(
				    &cycle->nominated, other->requests[n].resource,
				    other->nominated, other->requests[n].amount))
				cycle->is_short = true;
}

int64_t neap_cycle_nominated(const struct neap_cycle *cycle, uint32_t row,
			     uint32_t resource)
{
	return neap_domains_get(&cycle->nominated, resource,
				cycle->columns->nodes[row]->name);
}

void neap_nominated_note(struct neap_cycle *cycle, const struct neap_pod *other,
			 enum neap_nominated what)
{
	if (!neap_domains_add(&cycle->nominated, what, other->nominated, 1))
		cycle->is_short = true;
}

bool neap_nominated_is(const struct neap_cycle *cycle, uint32_t row,
		       enum neap_nominated what)
{
	return cycle->nominated.count && neap_cycle_nominated(cycle, row, what) > 0;
}
