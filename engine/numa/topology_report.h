/* SPDX-License-Identifier: Apache-2.0
 *
 * What a node reports about its machine: the content of its NodeResourceTopology object.
 * Facts in, JSON out, no input or output of its own. neap_numa_facts_read is the
 * reader. */
#ifndef NEAP_ENGINE_NUMA_TOPOLOGY_REPORT_H
#define NEAP_ENGINE_NUMA_TOPOLOGY_REPORT_H

#include <jansson.h>

#include "engine/machine/topology.h"
#include "engine/numa/cpu_pools.h"
#include "engine/numa/kubelet_facts.h"

/* A pod of the node. Texts are borrowed. */
struct neap_report_pod {
	const char *ns, *name, *uid;
	enum neap_qos qos;       /* as labelled */
	struct neap_cpuset cpus; /* from its resource-status; empty: no exclusive CPUs */
	const json_t *zones;     /* its numaNodeResources; NULL: none */
};

/* Huge pages of one size on one NUMA node. */
struct neap_report_pages {
	int os_node;
	char name[40]; /* resource name: "hugepages-2Mi" */
	int64_t bytes;
};

enum neap_turbo { NEAP_TURBO_UNKNOWN, NEAP_TURBO_OFF, NEAP_TURBO_ON };

/* All is borrowed. */
struct neap_topology_report_from {
	const struct neap_topology *topology;
	const json_t *node; /* the Node object, for its labels and annotations */
	const struct neap_kubelet_facts *kubelet;
	const struct neap_report_pod *pods; /* pods bound here and not finished */
	size_t pod_count;
	const struct neap_report_pages *pages;
	size_t page_count;
	/* From neapd's options; each applies where the Node has no such annotation. */
	const struct neap_cpuset *reserved_cpus, *system_cpus; /* NULL: none */
	int64_t reserved_milli, reserved_bytes; /* reserved on a node without a kubelet */
	enum neap_turbo turbo;
};

/* Returns metadata.annotations, topologyPolicies and zones as a merge patch of object
 * (NULL: it does not exist): outdated annotations are null, and other writers' members of
 * zones stay. A new reference. NEAP_ENOMEM. */
int neap_topology_report(const struct neap_topology_report_from *from,
			 const json_t *object, json_t **ret, struct neap_error *err);

#endif
