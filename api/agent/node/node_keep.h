/* SPDX-License-Identifier: Apache-2.0
 *
 * The objects of this node: its Node (made at the start, status kept), its Lease in kube-node-lease (renewed),
 * its NodeMetric (written from time to time). What somebody deletes is made again; what others set on them
 * (taints, labels, annotations, conditions of their own, further resources) stays. doc/internals/node-objects.md
 * has the fields. */
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
	struct neap_node *node; /* NULL: nothing is known of what is used */
	const char *node_name;
	const json_t
		*labels; /* of --node-label, an object; NULL: none. Set at the start; the
			       * name, system and architecture of the node are added */
	const char *
		data_dir; /* whose file system is ephemeral-storage; NULL: none is told */
	int port;         /* of the TLS address, for status.daemonEndpoints; 0: none */
	bool runs_pods;   /* else it is told as not Ready, with the reason */
	int pods_max;
	int64_t kube_reserved_milli, kube_reserved_bytes; /* taken off capacity */
	int64_t lease_usec; /* that the Lease is good for, which is renewed in a quarter of it:
			      * the grace of who watches; 0: 40 s */
	int64_t metric_usec; /* between two NodeMetrics; 0: 15 s. One whose spec says it wins */
	int64_t look_usec; /* between two looks at what is to be done; 0: 1 s */
	/* Of the NodeResourceTopology. */
	const char *sys_root; /* NULL, "": of this machine */
	const struct neap_cpuset *reserved_cpus,
		*system_cpus; /* where the Node has no annotation; NULL: none */
	int64_t (*now)(void); /* Unix microseconds; NULL: the clock */
	const struct neap_log *log;
};

/* All of config is borrowed for its life. The first writes come from the loop. */
int neap_node_keep_new(const struct neap_node_keep_config *config,
		       struct neap_node_keep **ret, struct neap_error *err);
/* The objects stay. NULL is fine. */
void neap_node_keep_free(struct neap_node_keep *keep);

#endif
