/* SPDX-License-Identifier: Apache-2.0
 *
 * The node role of a running neapd: this machine's cgroups, the hand that writes them,
 * and the node that decides what to write. */
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
	char kubelet_dir[256];  /* "": no folder is read */
	struct neap_hand *hand; /* NULL: neapd writes and reads nothing as root */
	struct neap_node *node; /* NULL without the role */
	struct neap_loop *loop;
	struct event *hand_event;
	struct neap_role_node_heard heard;
	char record_dir[160], freeze_file[160];
};

/* Finds cgroups and kubelet, also without the role, and starts the hand. Runs as root if
 * neapd has it. process is borrowed. */
int neap_role_node_find(struct neap_role_node *role, const struct neap_process *process,
			struct neap_error *err);
/* Does nothing without the role. policies is borrowed. */
int neap_role_node_start(struct neap_role_node *role,
			 const struct neap_role_policies *policies,
			 struct neap_error *err);
/* Listens to the hand from now on. */
void neap_role_node_hear(struct neap_role_node *role,
			 const struct neap_role_node_heard *heard);
/* Waits for the hand's socket to be writable only while it is full. Call it after each
 * request. */
void neap_role_node_watch_hand(struct neap_role_node *role);
/* Whether neapd still looks for the kubelet's group. */
bool neap_role_node_finds_kubelet(const struct neap_role_node *role);
/* Ends the node; the hand stays until the role is freed. */
void neap_role_node_stop(struct neap_role_node *role);
void neap_role_node_free(struct neap_role_node *role);

#endif
