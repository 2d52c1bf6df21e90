/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs pods as a kubelet does: takes those bound to this node, has their groups created
 * (api/run/pods.h), starts and watches their commands (hw/keeper), runs their probes, and
 * writes their status. After a restart it finds running commands by the keeper's
 * directories, and neither starts one twice nor loses one. Runs on the loop and never
 * blocks. */
#ifndef NEAP_API_AGENT_POD_AGENT_H
#define NEAP_API_AGENT_POD_AGENT_H

#include "api/client/client.h"
#include "api/run/pods.h"
#include "hw/keeper/keeper.h"

struct event_base;
struct neap_agent;

struct neap_agent_config {
	struct event_base *base;
	struct neap_client *client;
	struct neap_node *node;
	struct neap_keeper *keeper;
	const char *node_name;
	const char *dir;       /* of the keeper: DATA_DIR/pods */
	int64_t log_bytes_max; /* limit on one output file of a container */
	int log_files_max;
	int64_t processes_max; /* of one container */
	int pods_max;          /* limit on running pods; more are refused (OutOfpods) */
	uid_t uid;             /* user of the commands, as in the keeper */
	int64_t (*now)(void);  /* Unix microseconds; NULL: the clock */
	/* length of a second of grace, back-off and probes, for tests; 0: a second */
	int64_t second_usec;
	const struct neap_log *log;
};

/* Everything in config is borrowed for its life. */
int neap_agent_new(const struct neap_agent_config *config, struct neap_agent **ret,
		   struct neap_error *err);
/* Running commands go on. Accepts NULL. */
void neap_agent_free(struct neap_agent *agent);

#endif
