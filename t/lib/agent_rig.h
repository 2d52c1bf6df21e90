/* SPDX-License-Identifier: Apache-2.0
 *
 * An agent with all that it works with: objects by HTTP, a real keeper, real groups where
 * the machine has them. A second of grace and back-off is short here. */
#ifndef NEAP_T_LIB_AGENT_RIG_H
#define NEAP_T_LIB_AGENT_RIG_H

#include <time.h>

#include "api/agent/pod/agent.h"
#include "t/lib/keeper_rig.h"
#include "t/lib/kube_rig.h"
#include "t/lib/pods_rig.h"

#define PODS    "/api/v1/namespaces/default/pods"
#define SECOND  INT64_C(20000)
#define LIMIT_S 60

struct agent_rig {
	struct pods_rig *pods;
	struct keeper_rig *keeper;
	struct kube_rig *kube;
	struct neap_agent *agent;
	struct neap_agent_config config;
	struct neap_log log;
	struct event *hear;
	int turns;
};

/* For cmocka; the state is NULL where the machine lacks something. */
int agent_rig_setup(void **state);
int agent_rig_teardown(void **state);
/* Skips with the reason where there is none. */
struct agent_rig *agent_rig_of(void **state);
/* Another agent in the place of one that was freed. */
void agent_rig_start(struct agent_rig *rig);

/* spec: its members, JSON with ' for ". */
void agent_create(struct agent_rig *rig, const char *name, const char *spec);
/* NULL: the answer is as wanted. */
const char *agent_differs(struct agent_rig *rig, const char *ask, int status,
			  const char *const *want);
void agent_until(struct agent_rig *rig, const char *name, int status,
		 const char *const *want);
void agent_until_gone(struct agent_rig *rig, const char *name);
void agent_uid(struct agent_rig *rig, const char *name, char uid[64]);
time_t agent_now_s(void);

#endif
