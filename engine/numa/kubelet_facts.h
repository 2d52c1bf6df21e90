/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts from a kubelet's files about its CPU and topology managers: cpu_manager_state,
 * and config.yaml as JSON. */
#ifndef NEAP_ENGINE_NUMA_KUBELET_FACTS_H
#define NEAP_ENGINE_NUMA_KUBELET_FACTS_H

#include <jansson.h>

#include "engine/machine/cpuset.h"

/* Limit on pods with exclusive CPUs read from one state file. */
#define NEAP_KUBELET_PODS_MAX 1024

struct neap_kubelet_pod {
	char uid[64];
	char ns[64],
		/* "": only the uid is known, and the caller fills in the name */
		name[256];
	struct neap_cpuset cpus; /* of all its containers */
};

struct neap_kubelet_facts {
	/* a kubelet exists; otherwise no other member is set */
	bool is_here;
	char cpu_policy[32];         /* "none", "static" */
	json_t *options;             /* policy options, an object of texts; NULL: none */
	struct neap_cpuset reserved; /* reserved CPUs by number */
	/* otherwise reserved by amount: kubeReserved plus systemReserved */
	int64_t reserved_milli;
	int64_t reserved_bytes;   /* reserved memory, from both */
	char topology_policy[32]; /* "none", "best-effort", "restricted", ... */
	bool is_pod_scope;        /* pods are aligned as a whole (scope pod) */
	struct neap_kubelet_pod *pods;
	size_t pod_count;
	struct neap_cpuset unnamed; /* given to containers whose pods are unknown */
};

/* Either input may be NULL when the file does not exist. Unusable entries are skipped,
 * because another program writes these files. The caller calls done in any case.
 * NEAP_ENOMEM; NEAP_ETOOLARGE: more than NEAP_KUBELET_PODS_MAX pods. */
int neap_kubelet_facts_read(const json_t *state, const json_t *config,
			    struct neap_kubelet_facts *ret, struct neap_error *err);
void neap_kubelet_facts_done(struct neap_kubelet_facts *facts);

#endif
