/* SPDX-License-Identifier: Apache-2.0
 *
 * Maintains this node's objects: its Node (created at the start, status updated), its
 * Lease in kube-node-lease (renewed), its NodeMetric (written periodically). Deleted
 * objects are created again; what others set on them (taints, labels, annotations, their
 * own conditions, further resources) stays. doc/internals/node-objects.md has the
 * fields. */
#ifndef NEAP_API_AGENT_NODE_NODE_KEEP_H
#define NEAP_API_AGENT_NODE_NODE_KEEP_H

#include "api/client/client.h"
#include "api/run/pods.h"
#include "engine/machine/cpuset.h"

struct event_base;
struct neap_node_keep;

struct neap_node_keep_config {
	struct event_base *base;
	struct neap_client *client;
	struct neap_node *node; /* NULL: usage is unknown */
	const char *node_name;
	/* from --node-label, an object; NULL: none. Set at the start; name, system and
	 * architecture of the node are added */
	const json_t *labels;
	const char
		*data_dir; /* its file system is ephemeral-storage; NULL: not reported */
	int port;          /* of the TLS address, for status.daemonEndpoints; 0: none */
	/* In a cluster a kubelet keeps the Node and its Lease, and neapd the rest. */
	bool has_kubelet;
	bool runs_pods; /* otherwise the Node is not Ready, with the reason */
	int pods_max;
	int64_t kube_reserved_milli, kube_reserved_bytes; /* taken off capacity */
	/* duration of the Lease, renewed every quarter of it; 0: 40 s */
	int64_t lease_usec;
	/* interval of NodeMetrics; 0: 15 s. The spec of the NodeMetric overrides it */
	int64_t metric_usec;
	int64_t look_usec; /* interval of checks; 0: 1 s */
	/* Of the NodeResourceTopology. */
	const char *sys_root; /* NULL, "": this machine */
	const struct neap_cpuset *reserved_cpus,
		*system_cpus; /* used when the Node has no annotation; NULL: none */
	int64_t (*now)(void); /* Unix microseconds; NULL: the clock */
	const struct neap_log *log;
};

/* Everything in config is borrowed. The first writes come from the loop. */
int neap_node_keep_new(const struct neap_node_keep_config *config,
		       struct neap_node_keep **ret, struct neap_error *err);
/* The objects stay. Accepts NULL. */
void neap_node_keep_free(struct neap_node_keep *keep);

#endif
