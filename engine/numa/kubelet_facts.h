/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of a kubelet tell of its CPU and topology managers: cpu_manager_state, and config.yaml as JSON. */
#ifndef NEAP_ENGINE_NUMA_KUBELET_FACTS_H
#define NEAP_ENGINE_NUMA_KUBELET_FACTS_H

#include <jansson.h>

#include "engine/machine/cpuset.h"

/* Pods with CPUs of their own that are taken from one state. */
#define NEAP_KUBELET_PODS_MAX 1024

struct neap_kubelet_pod {
	char uid[64];
	char ns[64],
		name[256]; /* "": only its uid is known; whoever knows them fills them in */
	struct neap_cpuset cpus; /* of all its containers */
};

struct neap_kubelet_facts {
	bool is_here;                /* there is a kubelet; else nothing else is told */
	char cpu_policy[32];         /* "none", "static" */
	json_t *options;             /* of the policy: an object of texts; NULL: none */
	struct neap_cpuset reserved; /* CPUs that it keeps, by number */
	int64_t reserved_milli;   /* else so much, of kubeReserved and systemReserved */
	int64_t reserved_bytes;   /* of memory, of both */
	char topology_policy[32]; /* "none", "best-effort", "restricted", ... */
	bool is_pod_scope;        /* pods are aligned as a whole */
	struct neap_kubelet_pod *pods;
	size_t pod_count;
	struct neap_cpuset unnamed; /* given to containers whose pods are not told */
};

/* Either may be NULL: the file is not there. Entries that cannot be used are passed over: both are files of
 * another program. done in any case. NEAP_ENOMEM; NEAP_ETOOLARGE: more pods than NEAP_KUBELET_PODS_MAX. */
int neap_kubelet_facts_read(const json_t *state, const json_t *config,
			    struct neap_kubelet_facts *ret, struct neap_error *err);
void neap_kubelet_facts_done(struct neap_kubelet_facts *facts);

#endif
