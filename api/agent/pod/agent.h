/* SPDX-License-Identifier: Apache-2.0
 *
 * What runs pods: takes those that are bound to this node, has their groups made (api/run/pods.h),
 * their commands started and watched (hw/keeper), their probes asked, and writes their status, as a kubelet
 * does. After a restart it finds what runs by the folders of the keeper, and neither starts a command twice nor
 * loses one. Runs on the loop and never waits. */
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
	int64_t log_bytes_max; /* of one file of a container's output */
	int log_files_max;
	int64_t processes_max; /* of one container */
	int pods_max;          /* that run at once; more are refused (OutOfpods) */
	uid_t uid;             /* that commands run as, as the keeper has it */
	int64_t (*now)(void);  /* Unix microseconds; NULL: the clock */
	int64_t second_usec; /* how long a second of grace, back-off and probes is, for tests; 0: a second */
	const struct neap_log *log;
};

/* All of config is borrowed for its life. */
int neap_agent_new(const struct neap_agent_config *config, struct neap_agent **ret,
		   struct neap_error *err);
/* What runs goes on. NULL is fine. */
void neap_agent_free(struct neap_agent *agent);

#endif
