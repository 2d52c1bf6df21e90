/* SPDX-License-Identifier: Apache-2.0
 *
 * The reports of kubelets: the use of pods follows the hour of the day. */
#include <math.h>
#include <stdlib.h>

#include "engine/base/quantity.h"
#include "engine/sim/sim_priv.h"

#define DAY        (24 * NEAP_SIM_HOUR)
#define SYSTEM_CPU 0.02
#define PI         3.14159265358979323846

/* The share of its requests that a pod uses now; a little more or less for each. */
static double use_of(const struct neap_sim *sim, const struct neap_sim_pod *pod)
{
	const struct neap_sim_workload *workload = pod->workload;
	double day = (double)(sim->now_usec % DAY) / (double)DAY, use = 0.6;
	uint64_t own = (uint64_t)pod->created_usec / 1000;

	if (pod->state == NEAP_SIM_STARTING)
		return 0.1;
	if (workload)
		use = workload->use *
		      (1 + workload->wave * sin(2 * PI * (day + workload->phase)));
	return use * (0.9 + 0.2 * (double)(own % 1000) / 1000);
}

static json_t *amounts_new(int64_t cpu_milli, int64_t bytes)
{
	char cpu[32], memory[32];

	(void)snprintf(cpu, sizeof(cpu), "%lldm", (long long)cpu_milli);
	(void)snprintf(memory, sizeof(memory), "%lld", (long long)bytes);
	return json_pack("{s:{s:s, s:s}}", "resources", "cpu", cpu, "memory", memory);
}

static json_t *report_new(struct neap_sim *sim, const struct neap_cluster_node *node)
{
	int64_t cpu_sum = 0, bytes_sum = 0;
	int64_t all = neap_amounts_get(&node->allocatable, NEAP_RESOURCE_CPU);
	int64_t system = (int64_t)((double)all * SYSTEM_CPU);
	json_t *list = json_array();
	char now[32];

	for (size_t i = 0; i < node->pod_count; i++) {
		const struct neap_pod *pod = node->pods[i];
		const struct neap_sim_pod *known =
			neap_sim_find_pod(sim, pod->object->ns, pod->object->name);
		int64_t cpu, bytes;

		if (!known)
			continue;
		cpu = (int64_t)(use_of(sim, known) *
				(double)neap_pod_request(pod, NEAP_RESOURCE_CPU));
		bytes = neap_pod_request(pod, NEAP_RESOURCE_MEMORY) * 7 / 10;
		cpu_sum += cpu;
		bytes_sum += bytes;
		(void)json_array_append_new(
			list, json_pack("{s:s, s:s, s:o}", "namespace", pod->object->ns,
					"name", pod->object->name, "podUsage",
					amounts_new(cpu, bytes)));
	}
	sim_time(sim->now_usec, now);
	return json_pack(
		"{s:{s:s}, s:{s:s, s:{s:o, s:o}, s:o}}", "metadata", "name", node->name,
		"status", "updateTime", now, "nodeMetric", "nodeUsage",
		amounts_new(cpu_sum + system, bytes_sum + (INT64_C(1) << 30)),
		"systemUsage", amounts_new(system, INT64_C(1) << 30), "podsMetric", list);
}

int neap_sim_report(struct neap_sim *sim, struct neap_error *err)
{
	const struct neap_columns *columns = neap_cluster_settle(sim->cluster);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < columns->rows; i++) {
		const struct neap_cluster_node *node = columns->nodes[i];
		json_t *report;

		if (!node || !node->object)
			continue;
		report = report_new(sim, node);
		rc = report ? neap_sim_add(sim, "nodemetrics", report, err)
			    : neap_error_nomem(err);
		json_decref(report);
		/* The report changed the cluster. */
		columns = neap_cluster_settle(sim->cluster);
	}
	return rc;
}
