/* SPDX-License-Identifier: Apache-2.0 */
#include "api/daemon/roles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/agent/node/node_keep.h"
#include "api/agent/pod/agent.h"
#include "api/agent/pod/pins.h"
#include "api/daemon/api.h"
#include "api/daemon/start.h"
#include "api/kube/log/log.h"
#include "engine/base/mem.h"
#include "hw/keeper/keeper.h"

/* Between two NodeMetrics, from which "kubectl top" reads; and in a cluster, where others
 * pay for each of them. */
#define METRIC_USEC         (15 * 1000000LL)
#define CLUSTER_METRIC_USEC (60 * 1000000LL)

int neap_role_pods_fork(struct neap_role_pods *role, const struct neap_process *process,
			struct neap_error *err)
{
	const struct neap_config *config = &process->config;
	struct neap_keeper_config keeper = {0};
	struct neap_account account;

	if (!config->run_pods)
		return 0;
	if (neap_account_find_pods(config->run_pods_user, &process->account, &account,
				   keeper.home, err) < 0)
		return -(int)err->code;
	keeper.uid = role->uid = account.uid;
	keeper.gid = account.gid;
	(void)neap_strcopy(keeper.user, sizeof(keeper.user), account.name);
	keeper.own_uid = process->account.uid;
	keeper.own_gid = process->account.gid;
	(void)snprintf(role->dir, sizeof(role->dir), "%s/pods", config->data_dir);
	(void)neap_strcopy(keeper.dir, sizeof(keeper.dir), role->dir);
	keeper.log = process->log;
	return neap_keeper_start(&keeper, &role->keeper, err);
}

static int port_of(const char *listen)
{
	const char *colon = strrchr(listen, ':');

	return colon != NULL ? (int)strtol(colon + 1, NULL, 10) : 0;
}

int neap_role_pods_start(struct neap_role_pods *role, const struct neap_process *process,
			 struct neap_client *client, const struct neap_daemon_api *api,
			 struct neap_node *node, const json_t *labels,
			 struct neap_error *err)
{
	const struct neap_config *config = &process->config;
	struct neap_node_keep_config keep = {
		.base = process->base,
		.client = client,
		.node = node,
		.node_name = config->node_name,
		.labels = labels,
		.port = port_of(config->tls_cert[0] != '\0' ? config->listen
							    : config->tls_listen),
		.has_kubelet = *config->kubeconfig != '\0',
		.runs_pods = config->run_pods,
		.pods_max = (int)config->pods_max,
		.kube_reserved_milli = config->reserve_milli,
		.kube_reserved_bytes = config->reserve_bytes,
		.reserved_cpus = &role->reserved_cpus,
		.system_cpus = &role->system_cpus,
		.metric_usec =
			*config->kubeconfig != '\0' ? CLUSTER_METRIC_USEC : METRIC_USEC,
		.data_dir = config->data_dir,
		.lease_usec = config->node_grace_usec,
		.sys_root = config->sys_root,
		.log = &process->log,
	};
	const struct neap_pins_config pins_config = {
		.base = process->base,
		.client = keep.client,
		.node = node,
		.node_name = config->node_name,
		.log = &process->log,
	};
	struct neap_agent_config agent = {
		.base = process->base,
		.client = keep.client,
		.node = node,
		.keeper = role->keeper,
		.dir = role->dir,
		.node_name = config->node_name,
		.uid = role->uid,
		.log_bytes_max = config->pod_log_bytes,
		.log_files_max = (int)config->pod_log_files,
		.processes_max = config->pod_processes_max,
		.pods_max = (int)config->pods_max,
		.log = &process->log,
	};

	if (client == NULL || node == NULL)
		return 0;
	if (neap_cpuset_parse(&role->reserved_cpus, config->reserved_cpus, err) < 0 ||
	    neap_cpuset_parse(&role->system_cpus, config->system_cpus, err) < 0)
		return -(int)err->code;
	if (neap_node_keep_new(&keep, &role->keep, err) < 0 ||
	    neap_pins_new(&pins_config, &role->pins, err) < 0)
		return -(int)err->code;
	if (role->keeper == NULL)
		return 0;
	if (neap_kube_logs_set(neap_daemon_api_kube(api), role->dir, err) < 0)
		return -(int)err->code;
	return neap_agent_new(&agent, &role->agent, err);
}

void neap_role_pods_stop(struct neap_role_pods *role)
{
	neap_agent_free(role->agent);
	role->agent = NULL;
	neap_pins_end(role->pins);
	role->pins = NULL;
	neap_node_keep_free(role->keep);
	role->keep = NULL;
}

void neap_role_pods_free(struct neap_role_pods *role)
{
	neap_role_pods_stop(role);
	neap_keeper_free(role->keeper);
}
