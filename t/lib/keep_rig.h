/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent that keeps the objects of this machine (api/agent/node/node_keep), over an
 * API of its own and a node that only watches a tree of plain files. */
#ifndef NEAP_T_LIB_KEEP_RIG_H
#define NEAP_T_LIB_KEEP_RIG_H

#include "api/agent/node/node_keep.h"
#include "t/lib/kube_rig.h"

#define KEEP_NODE    "/api/v1/nodes/n1"
#define KEEP_PODS    "/api/v1/namespaces/default/pods"
#define KEEP_SECOND  1000000LL
#define KEEP_MINUTE  (60 * KEEP_SECOND)
#define KEEP_LOOK_MS 5

struct keep_rig {
	struct kube_rig *rig;
	char root[64], kubelet[96]; /* the tree, and the kubelet's folder in it */
	struct neap_cgroup cgroup;
	struct neap_registry *registry;
	struct neap_log log;
	struct neap_node *node;
	int64_t mono;
	struct neap_node_keep_config config; /* of keep_start */
	struct neap_node_keep *keep;
};

/* For cmocka: the API at 2026-09-21T13:33:20Z and an empty tree. */
int keep_setup(void **ret);
int keep_teardown(void **arg);
/* A file below the root, with the folders on the way. */
void keep_put(struct keep_rig *rig, const char *path, const char *text);
/* The node over the tree as it is; it is not in config yet. */
void keep_start_node(struct keep_rig *rig);
void keep_start(struct keep_rig *rig);
void keep_stop(struct keep_rig *rig);
/* A tick of the node. */
void keep_tick(struct keep_rig *rig);
/* Repeats a request until all that is wanted is so. */
void keep_until(struct keep_rig *rig, const char *ask, const char *want0,
		const char *want1, const char *want2);

#endif
