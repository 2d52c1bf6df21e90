/* SPDX-License-Identifier: Apache-2.0 */
#include "api/daemon/controllers.h"

#include <stdlib.h>

#include "api/schedule/schedule.h"
#include "api/task/task.h"
#include "api/workload/workload.h"
#include "engine/base/mem.h"

struct neap_daemon_controllers {
	struct neap_tasks *tasks; /* their turns */
	struct neap_replicasets *replicasets;
	struct neap_deployments *deployments;
	struct neap_jobs *jobs;
	struct neap_unserved *unserved;
	struct neap_node_watch *nodes;
	struct neap_reservations *reservations;
	struct neap_scheduler *scheduler;
};

/* Pods with these names in spec.schedulerName; the last name only while no other
 * scheduler has it. */
static const char *const names[] = {"koord-scheduler", "neap-scheduler",
				    "default-scheduler", NULL};
static const char *const own_names[] = {"koord-scheduler", "neap-scheduler", NULL};
/* In a cluster: beside a koord-scheduler, too. */
static const char *const cluster_names[] = {"neap-scheduler", NULL};

static int workload_start(struct neap_daemon_controllers *controllers,
			  const struct neap_workload_config *config, int64_t grace_usec,
			  struct neap_error *err)
{
	if (neap_replicasets_new(config, &controllers->replicasets, err) < 0 ||
	    neap_deployments_new(config, &controllers->deployments, err) < 0 ||
	    neap_jobs_new(config, &controllers->jobs, err) < 0 ||
	    neap_unserved_new(config, &controllers->unserved, err) < 0)
		return -(int)err->code;
	return neap_node_watch_new(config, grace_usec, &controllers->nodes, err);
}

int neap_daemon_controllers_start(const struct neap_daemon_api_config *config,
				  struct neap_client *client,
				  struct neap_daemon_controllers **ret,
				  struct neap_error *err)
{
	struct neap_daemon_controllers *controllers = neap_alloc(sizeof(*controllers));
	const struct neap_config *options = config->config;
	struct neap_workload_config workload = {
		.client = client,
		.log = config->log,
	};
	const struct neap_scheduler_config scheduler = {
		.base = config->base,
		.client = workload.client,
		.names = *options->kubeconfig        ? cluster_names
			 : options->schedule_default ? names
						     : own_names,
		.more = config->more,
		.matcher = config->matcher,
		.purse = config->purse,
		.settings = config->scheduling,
		.log = config->log,
	};

	*ret = controllers;
	if (controllers == NULL)
		return neap_error_nomem(err);
	workload.tasks = controllers->tasks = neap_tasks_new(config->base);
	if (controllers->tasks == NULL)
		return neap_error_nomem(err);
	if ((options->roles & NEAP_ROLE_CONTROLLERS) != 0 &&
	    workload_start(controllers, &workload, options->node_grace_usec, err) < 0)
		return -(int)err->code;
	if ((options->roles & NEAP_ROLE_SCHEDULER) == 0)
		return 0;
	if (neap_reservations_new(&workload, options->reservation_keep_usec,
				  &controllers->reservations, err) < 0)
		return -(int)err->code;
	return neap_scheduler_new(&scheduler, &controllers->scheduler, err);
}

struct neap_scheduler *
neap_daemon_controllers_scheduler(const struct neap_daemon_controllers *controllers)
{
	return controllers ? controllers->scheduler : NULL;
}

void neap_daemon_controllers_free(struct neap_daemon_controllers *controllers)
{
	if (controllers == NULL)
		return;
	neap_scheduler_free(controllers->scheduler);
	neap_reservations_free(controllers->reservations);
	neap_node_watch_free(controllers->nodes);
	neap_unserved_free(controllers->unserved);
	neap_jobs_free(controllers->jobs);
	neap_deployments_free(controllers->deployments);
	neap_replicasets_free(controllers->replicasets);
	neap_tasks_free(controllers->tasks);
	free(controllers);
}
