/* SPDX-License-Identifier: Apache-2.0
 *
 * The role node of a running neapd: the cgroups of this machine, the hand that writes
 * them, and the node that says what is written. */
#ifndef NEAP_API_DAEMON_ROLE_NODE_H
#define NEAP_API_DAEMON_ROLE_NODE_H

#include "api/daemon/process.h"
#include "api/run/node.h"

struct event;
struct neap_loop;
struct neap_role_policies;

/* Called with arg. */
struct neap_role_node_heard {
	void (*answered)(void *arg);                           /* the hand answered */
	void (*lost)(void *arg, const struct neap_error *err); /* the hand is gone */
	void *arg;
};

struct neap_role_node {
	const struct neap_process *process;
	const struct neap_role_policies *policies;
	struct neap_cgroup cgroup;
	struct neap_tree trees[NEAP_TREES_MAX];
	int tree_count;
	char kubelet_dir[256];  /* "": none is read */
	struct neap_hand *hand; /* NULL: nothing is written or read as root */
	struct neap_node *node; /* NULL without the role */
	struct neap_loop *loop;
	struct event *hand_event;
	struct neap_role_node_heard heard;
	char record_dir[160], freeze_file[160];
};

/* Looks at cgroups and kubelet, also without the role, and starts the hand. As root, if
 * it is. process is borrowed. */
int neap_role_node_find(struct neap_role_node *role, const struct neap_process *process,
			struct neap_error *err);
/* Nothing without the role. policies is borrowed. */
int neap_role_node_start(struct neap_role_node *role,
			 const struct neap_role_policies *policies,
			 struct neap_error *err);
/* Listens to the hand from now on. */
void neap_role_node_hear(struct neap_role_node *role,
			 const struct neap_role_node_heard *heard);
/* Asks for writability only while the hand's socket is full; after each request. */
void neap_role_node_watch_hand(struct neap_role_node *role);
/* Whether the kubelet's group is looked for still. */
bool neap_role_node_finds_kubelet(const struct neap_role_node *role);
/* Ends the node; the hand stays until the role is freed. */
void neap_role_node_stop(struct neap_role_node *role);
void neap_role_node_free(struct neap_role_node *role);

#endif
