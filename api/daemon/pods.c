/* SPDX-License-Identifier: Apache-2.0 */
#include "api/daemon/pods.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/agent/node/node_keep.h"
#include "api/agent/pod/agent.h"
#include "api/agent/pod/pins.h"
#include "api/daemon/whole.h"
#include "api/kube/log/log.h"
#include "engine/base/mem.h"

/* Between two NodeMetrics, from which "kubectl top" reads. */
#define METRIC_USEC (15 * 1000000LL)

struct neap_daemon_pods {
	struct neap_node_keep *keep;
	struct neap_agent *agent;
	struct neap_pins *pins;
	struct neap_cpuset reserved_cpus, system_cpus; /* of the options */
};

static void pods_dir(const struct neap_daemon *daemon, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%s/pods", daemon->config.data_dir);
}

int neap_daemon_keeper_start(struct neap_daemon *daemon, struct neap_error *err)
{
	const struct neap_config *config = &daemon->config;
	struct neap_keeper_config keeper = {0};
	struct neap_account account;

	if (!config->run_pods)
		return 0;
	if (neap_account_find_pods(config->run_pods_user, &daemon->account, &account,
				   keeper.home, err) < 0)
		return -(int)err->code;
	keeper.uid = account.uid;
	keeper.gid = account.gid;
	(void)neap_strcopy(keeper.user, sizeof(keeper.user), account.name);
	keeper.own_uid = daemon->account.uid;
	keeper.own_gid = daemon->account.gid;
	pods_dir(daemon, keeper.dir, sizeof(keeper.dir));
	keeper.log = daemon->log;
	daemon->pods_uid = account.uid;
	return neap_keeper_start(&keeper, &daemon->keeper, err);
}

static int port_of(const char *listen)
{
	const char *colon = strrchr(listen, ':');

	return colon != NULL ? (int)strtol(colon + 1, NULL, 10) : 0;
}

int neap_daemon_pods_start(struct neap_daemon *daemon, struct neap_error *err)
{
	const struct neap_config *config = &daemon->config;
	struct neap_daemon_pods *pods;
	struct neap_node_keep_config keep = {
		.base = daemon->base,
		.kube = neap_daemon_api_kube(daemon->api),
		.store = neap_daemon_api_store(daemon->api),
		.node = daemon->node,
		.node_name = config->node_name,
		.labels = daemon->labels,
		.port = port_of(config->tls_cert[0] != '\0' ? config->listen
							    : config->tls_listen),
		.runs_pods = config->run_pods,
		.pods_max = (int)config->pods_max,
		.kube_reserved_milli = config->reserve_milli,
		.kube_reserved_bytes = config->reserve_bytes,
		.metric_usec = METRIC_USEC,
		.data_dir = config->data_dir,
		.lease_usec = config->node_grace_usec,
		.sys_root = config->sys_root,
		.log = &daemon->log,
	};
	const struct neap_pins_config pins_config = {
		.base = daemon->base,
		.kube = keep.kube,
		.store = keep.store,
		.node = daemon->node,
		.node_name = config->node_name,
		.log = &daemon->log,
	};
	struct neap_agent_config agent = {
		.base = daemon->base,
		.kube = keep.kube,
		.store = keep.store,
		.node = daemon->node,
		.keeper = daemon->keeper,
		.node_name = config->node_name,
		.uid = daemon->pods_uid,
		.log_bytes_max = config->pod_log_bytes,
		.log_files_max = (int)config->pod_log_files,
		.processes_max = config->pod_processes_max,
		.pods_max = (int)config->pods_max,
		.log = &daemon->log,
	};

	if (daemon->api == NULL || daemon->node == NULL)
		return 0;
	pods = daemon->pods = neap_alloc(sizeof(*pods));
	if (pods == NULL)
		return neap_error_nomem(err);
	if (neap_cpuset_parse(&pods->reserved_cpus, config->reserved_cpus, err) < 0 ||
	    neap_cpuset_parse(&pods->system_cpus, config->system_cpus, err) < 0)
		return -(int)err->code;
	keep.reserved_cpus = &pods->reserved_cpus;
	keep.system_cpus = &pods->system_cpus;
	if (neap_node_keep_new(&keep, &pods->keep, err) < 0 ||
	    neap_pins_new(&pins_config, &pods->pins, err) < 0)
		return -(int)err->code;
	if (daemon->keeper == NULL)
		return 0;
	pods_dir(daemon, daemon->pods_dir, sizeof(daemon->pods_dir));
	agent.dir = daemon->pods_dir;
	if (neap_kube_logs_set(keep.kube, daemon->pods_dir, err) < 0)
		return -(int)err->code;
	return neap_agent_new(&agent, &pods->agent, err);
}

void neap_daemon_pods_free(struct neap_daemon *daemon)
{
	struct neap_daemon_pods *pods = daemon->pods;

	daemon->pods = NULL;
	if (pods == NULL)
		return;
	neap_agent_free(pods->agent);
	neap_pins_end(pods->pins);
	neap_node_keep_free(pods->keep);
	free(pods);
}
