/* SPDX-License-Identifier: Apache-2.0
 *
 * Who gets exclusive CPUs: combines the pod's labels and annotations with the node's.
 * Error texts are shown to people with the pod. */
#ifndef NEAP_ENGINE_NUMA_CPU_POLICY_H
#define NEAP_ENGINE_NUMA_CPU_POLICY_H

#include <jansson.h>

#include "engine/cpu/accumulator.h"
#include "engine/cpu/numa_hint.h"
#include "engine/object/pod_class.h"

#define NEAP_KEY_RESOURCE_SPEC   "scheduling.koordinator.sh/resource-spec"
#define NEAP_KEY_RESOURCE_STATUS "scheduling.koordinator.sh/resource-status"
#define NEAP_KEY_NUMA_SPEC       "scheduling.koordinator.sh/numa-topology-spec"
#define NEAP_KEY_NODE_BIND       "node.koordinator.sh/cpu-bind-policy"
#define NEAP_KEY_NODE_STRATEGY   "node.koordinator.sh/numa-allocate-strategy"
#define NEAP_KEY_NODE_NUMA       "node.koordinator.sh/numa-topology-policy"

/* Inputs from the pod. Texts are NULL when missing. */
struct neap_cpu_wish_from {
	enum neap_qos qos; /* as labelled */
	enum neap_band band;
	const char *resource_spec, *numa_spec;
	int64_t cpu_milli;
	enum neap_cpu_bind default_bind; /* FULL_PCPUS or SPREAD */
};

struct neap_cpu_wish {
	bool is_binding;                        /* on every node */
	enum neap_cpu_bind required, preferred; /* DEFAULT: none */
	enum neap_cpu_exclusive exclusive;
	int64_t cpu_milli;
	enum neap_numa_policy numa;
	enum neap_numa_exclusive numa_exclusive;
};
/* One wish for each of count default policies, instead of from's. NEAP_EINVAL: an
 * annotation cannot be read; NEAP_ENOFIT: no node can ever fit; NEAP_ENOMEM. */
int neap_cpu_wishes_make(const struct neap_cpu_wish_from *from,
			 const enum neap_cpu_bind *defaults, size_t count,
			 struct neap_cpu_wish *ret, struct neap_error *err);

/* What a node says. */
struct neap_cpu_rule {
	enum neap_cpu_bind bind; /* for every pod with whole CPUs; DEFAULT: none */
	enum neap_numa_policy numa;
};
/* Inputs: the node's labels (NULL when missing), whether its kubelet gives out whole
 * cores, and its kubelet's NUMA policy. */
void neap_cpu_rule_make(const char *bind_label, const char *numa_label,
			bool is_kubelet_full, enum neap_numa_policy kubelet_numa,
			struct neap_cpu_rule *ret);
/* Parses the annotation kubelet.koordinator.sh/cpu-manager-policy: returns whether it is
 * static with full-pcpus-only. */
bool neap_cpu_kubelet_is_full(const json_t *policy);

/* The combined result for a pod on that node. */
struct neap_cpu_choice {
	bool is_binding, is_required;
	bool is_from_node; /* required by the node, not by the pod */
	enum neap_cpu_bind bind;
	int cpus;
	enum neap_numa_policy numa;
};
/* CPU of an amplified node, which reports more than it has. */
struct neap_cpu_load {
	double ratio;        /* NAN: the annotation cannot be read */
	int64_t allocatable; /* amplified, milli */
	int64_t requested;   /* by its pods, unamplified */
	int64_t bound;       /* 1000 for each CPU held by a pod */
};
/* per_core: CPUs per core, 0: the node has no usable topology. load: NULL or ratio 1: not
 * checked. NEAP_ENOFIT: the pod cannot be on this node even if others leave. */
int neap_cpu_choose(const struct neap_cpu_wish *wish, const struct neap_cpu_rule *rule,
		    const struct neap_cpu_load *load, int per_core,
		    struct neap_cpu_choice *ret, struct neap_error *err);
/* Returns the effective policy on a node and whether it is required, unchecked. */
enum neap_cpu_bind neap_cpu_effective(const struct neap_cpu_wish *wish,
				      const struct neap_cpu_rule *rule,
				      bool *ret_required);
/* Returns the one that is set; NEAP_ENOFIT when both are set and differ. */
int neap_cpu_merge_numa(enum neap_numa_policy node, enum neap_numa_policy pod,
			enum neap_numa_policy *ret, struct neap_error *err);

/* Returns the resource-spec to write to a pod that got CPUs, based on the present one
 * (NULL: none). A new reference, NULL without memory. */
json_t *neap_cpu_spec_write(const json_t *spec, const struct neap_cpu_choice *choice);

const char *neap_cpu_bind_name(enum neap_cpu_bind bind); /* "" for DEFAULT */

#endif
