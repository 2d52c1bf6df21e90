/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/numa/cpu_enforce.h"

#include <jansson.h>
#include <string.h>

#include "engine/base/quantity.h"
#include "engine/numa/resource_status.h"

/* --- what a pod says --- */

static bool is_above_zero(const json_t *amount)
{
	int64_t milli = 0;

	if (json_is_string(amount))
		return neap_quantity_parse_milli(json_string_value(amount), &milli,
						 NULL) == 0 &&
		       milli > 0;
	return json_is_number(amount) && json_number_value(amount) > 0;
}

int neap_cpu_said_read(const char *text, struct neap_cpu_said *ret,
		       struct neap_error *err)
{
	struct neap_resource_status status;
	const json_t *zone;
	size_t i;
	int failed = neap_resource_status_read(text, &status, err);

	neap_cpuset_clear(&ret->cpus);
	neap_cpuset_clear(&ret->numa);
	if (failed < 0)
		return failed;
	neap_cpuset_copy(&ret->cpus, &status.cpus);
	/* Nodes of which it has only memory say nothing about CPUs. */
	json_array_foreach (status.zones, i, zone) {
		const json_t *amounts = json_object_get(zone, "resources");

		if (is_above_zero(json_object_get(amounts, "cpu")) ||
		    is_above_zero(json_object_get(amounts, "kubernetes.io/batch-cpu")))
			(void)neap_cpuset_add(
				&ret->numa,
				(int)json_integer_value(json_object_get(zone, "node")));
	}
	neap_resource_status_done(&status);
	return 0;
}

/* --- what is shared --- */

/* When nothing is left to share, the least harmful restriction gives way. */
static void widen_be(const struct neap_cpu_node *node,
		     const struct neap_cpu_pool_pod *pods, size_t count,
		     struct neap_cpu_rooms *ret)
{
	const struct neap_cpuset *all = &node->topology->online;
	struct neap_cpuset lse = {0};

	for (size_t i = 0; i < count; i++)
		if (pods[i].qos == NEAP_QOS_LSE && pods[i].cpus)
			neap_cpuset_or(&lse, &lse, pods[i].cpus);
	neap_cpuset_or(&lse, &lse, &node->kubelet);
	neap_cpuset_minus(&ret->be, all, &lse);
	if (!node->is_system_shared) {
		struct neap_cpuset ordinary;

		neap_cpuset_minus(&ordinary, &ret->be, &node->system);
		if (!neap_cpuset_is_empty(&ordinary))
			neap_cpuset_copy(&ret->be, &ordinary);
	}
	if (neap_cpuset_is_empty(&ret->be))
		neap_cpuset_copy(&ret->be, all);
}

void neap_cpu_rooms_make(const struct neap_cpu_node *node,
			 const struct neap_cpu_pool_pod *pods, size_t count,
			 struct neap_cpu_rooms *ret)
{
	const struct neap_cpu_pools_from from = {
		.all = &node->topology->online,
		.kubelet = &node->kubelet,
		.node_reserved = &node->reserved,
		.system_only = node->is_system_shared ? NULL : &node->system,
		.pods = pods,
		.pod_count = count,
	};
	struct neap_cpu_pools pools;

	neap_cpu_pools_make(&from, &pools);
	ret->topology = node->topology;
	neap_cpuset_copy(&ret->be, &pools.be);
	neap_cpuset_copy(&ret->ls, &pools.ls);
	if (neap_cpuset_is_empty(&ret->be))
		widen_be(node, pods, count, ret);
	/* LS pods then share what LSR pods have, as BE pods do. */
	if (neap_cpuset_is_empty(&ret->ls))
		neap_cpuset_copy(&ret->ls, &ret->be);
	neap_cpuset_and(&ret->system, &node->topology->online, &node->system);
}

/* --- what a pod is given --- */

static void give(struct neap_cpu_given *ret, enum neap_cpu_kind kind,
		 const struct neap_cpuset *cpus)
{
	ret->kind = kind;
	neap_cpuset_copy(&ret->cpus, cpus);
}

static bool give_own(const struct neap_cpu_rooms *rooms, const struct neap_cpu_said *said,
		     struct neap_cpu_given *ret)
{
	neap_cpuset_minus(&ret->missing, &said->cpus, &rooms->topology->online);
	neap_cpuset_and(&ret->cpus, &said->cpus, &rooms->topology->online);
	ret->kind = NEAP_CPUS_OWN;
	return !neap_cpuset_is_empty(&ret->cpus);
}

static bool give_numa(const struct neap_cpu_rooms *rooms,
		      const struct neap_cpu_said *said, struct neap_cpu_given *ret)
{
	const struct neap_topology *topology = rooms->topology;
	struct neap_cpuset near = {0};

	for (int i = 0; i < topology->node_count; i++)
		if (neap_cpuset_has(&said->numa, topology->nodes[i].os_node))
			neap_cpuset_or(&near, &near, &topology->nodes[i].cpus);
	neap_cpuset_and(&ret->cpus, &near, &rooms->ls);
	ret->kind = NEAP_CPUS_NUMA;
	return !neap_cpuset_is_empty(&ret->cpus);
}

static bool is_be(const struct neap_cpu_said *said)
{
	return said->qos == NEAP_QOS_BE ||
	       (said->kube_qos == NEAP_KUBE_BESTEFFORT && said->qos != NEAP_QOS_LS &&
		said->qos != NEAP_QOS_SYSTEM);
}

void neap_cpu_give(const struct neap_cpu_rooms *rooms, const struct neap_cpu_said *said,
		   struct neap_cpu_given *ret)
{
	neap_cpuset_clear(&ret->missing);
	if (!neap_cpuset_is_empty(&said->cpus) && give_own(rooms, said, ret))
		return;
	if (said->qos != NEAP_QOS_BE && !neap_cpuset_is_empty(&said->numa) &&
	    give_numa(rooms, said, ret)) {
		/* A pool that lacks nothing is everything. */
	} else if (said->qos == NEAP_QOS_SYSTEM) {
		give(ret,
		     neap_cpuset_is_empty(&rooms->system) ? NEAP_CPUS_ANY
							  : NEAP_CPUS_SYSTEM,
		     &rooms->system);
	} else if (is_be(said)) {
		give(ret, NEAP_CPUS_BE, &rooms->be);
	} else {
		give(ret, NEAP_CPUS_LS, &rooms->ls);
	}
	if (neap_cpuset_is_subset(&rooms->topology->online, &ret->cpus)) {
		ret->kind = NEAP_CPUS_ANY;
		neap_cpuset_clear(&ret->cpus);
	}
}

const char *neap_cpu_kind_text(enum neap_cpu_kind kind)
{
	static const char *const texts[] = {
		[NEAP_CPUS_ANY] = "all CPUs",
		[NEAP_CPUS_OWN] = "the CPUs that the pod was given",
		[NEAP_CPUS_NUMA] = "the CPUs that LS pods share, of the pod's NUMA nodes",
		[NEAP_CPUS_SYSTEM] = "the CPUs of SYSTEM pods",
		[NEAP_CPUS_LS] = "the CPUs that LS pods share",
		[NEAP_CPUS_BE] = "the CPUs that BE pods share",
	};

	return texts[kind];
}
