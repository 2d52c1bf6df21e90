/* SPDX-License-Identifier: Apache-2.0
 *
 * The role api of a running neapd: the store, the kinds, the server, and the loops over
 * the objects; and the roles scheduler and controllers, which work on the objects by
 * themselves. */
#include "api/daemon/api.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/control/control.h"
#include "api/kube/kube.h"
#include "api/kube/serve/client_local.h"
#include "api/kube/serve/embedded.h"
#include "api/schedule/schedule.h"
#include "api/store/marker.h"
#include "api/store/sqlite/sqlite.h"
#include "api/task/task.h"
#include "api/workload/workload.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"

struct neap_daemon_api {
	const struct neap_log *log;
	struct neap_store *store;
	struct event *heard, *tick;
	struct neap_control_store *control;
	struct neap_kube_registry *registry;
	struct neap_kube *kube;
	struct neap_kube_embedded *embedded;
};

static void say(void *arg, bool is_problem, const char *text)
{
	const struct neap_daemon_api *api = arg;

	neap_log_line(api->log, is_problem ? NEAP_LOG_ERROR : NEAP_LOG_INFO, "store: %s",
		      text);
}

static void hear(evutil_socket_t fd, short what, void *arg)
{
	struct neap_daemon_api *api = arg;

	(void)fd;
	(void)what;
	neap_store_hear(api->store);
}

static int kinds_load(struct neap_daemon_api *api, struct neap_error *err)
{
	static const struct neap_kube_kind *const *const tables[] = {
		neap_kube_core_kinds, neap_kube_apps_kinds, neap_kube_other_kinds};

	api->registry = neap_kube_registry_new();
	if (api->registry == NULL)
		return neap_error_nomem(err);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(tables); i++)
		if (neap_kube_registry_add_all(api->registry, tables[i], err) < 0)
			return -(int)err->code;
	return 0;
}

static int store_open(struct neap_daemon_api *api,
		      const struct neap_daemon_api_config *config, struct neap_error *err)
{
	const char *dir = config->config->data_dir;
	char file[160], marker[160], kubeconfig[160];
	struct neap_store_sqlite_config store = {
		.file = file,
		.marker = marker,
		.history_usec = config->config->history_usec,
		.history_bytes = (size_t)config->config->history_bytes,
		.say = say,
		.arg = api,
	};
	const struct neap_store_limits limits = {
		.objects = (size_t)config->config->objects_max,
		.bytes = (uint64_t)config->config->objects_bytes,
		.owned = (size_t)config->config->owned_max,
	};

	(void)snprintf(file, sizeof(file), "%s/neap.db", dir);
	(void)snprintf(marker, sizeof(marker), "%s/store", dir);
	/* Every neapd with a store writes this file, also one from before the marker
	 * existed. */
	(void)snprintf(kubeconfig, sizeof(kubeconfig), "%s/kubeconfig", dir);
	store.is_used = access(kubeconfig, F_OK) == 0;
	if (neap_store_sqlite_open(&store, &api->store, err) < 0)
		return -(int)err->code;
	neap_store_set_limits(api->store, &limits);
	api->heard = event_new(config->base, neap_store_fd(api->store),
			       EV_READ | EV_PERSIST, hear, api);
	if (api->heard == NULL || event_add(api->heard, NULL) < 0)
		return neap_error_nomem(err);
	return 0;
}

static void tick(evutil_socket_t fd, short what, void *arg)
{
	struct neap_daemon_api *api = arg;

	(void)fd;
	(void)what;
	neap_control_store_tick(api->control, neap_clock_usec(CLOCK_MONOTONIC));
	neap_log_tell_held(api->log);
}

static int control_start(struct neap_daemon_api *api,
			 const struct neap_daemon_api_config *config,
			 struct neap_error *err)
{
	const struct timeval every = {.tv_sec = NEAP_CONTROL_STORE_IDLE_S};

	if (neap_control_store_new(config->http, api->store, say, api, &api->control,
				   err) < 0)
		return -(int)err->code;
	api->tick = event_new(config->base, -1, EV_PERSIST, tick, api);
	if (api->tick == NULL || event_add(api->tick, &every) < 0)
		return neap_error_nomem(err);
	return 0;
}

/* Starts only the server's own loops: controllers are separate roles. */
static int embedded_start(struct neap_daemon_api *api,
			  const struct neap_daemon_api_config *config,
			  struct neap_error *err)
{
	const struct neap_kube_embedded_config embedded = {
		.kube = api->kube,
		/* Rounded up to seconds. */
		.event_ttl_s = (config->config->event_ttl_usec + 999999) / 1000000,
		.folder = config->crds,
		.log = api->log};

	return neap_kube_embedded_start(&embedded, &api->embedded, err);
}

int neap_daemon_api_start(const struct neap_daemon_api_config *config,
			  struct neap_daemon_api **ret, struct neap_error *err)
{
	struct neap_daemon_api *api = neap_alloc(sizeof(*api));
	struct neap_kube_config kube = {.base = config->base,
					.runs_pods = config->config->run_pods};

	*ret = api;
	if (api == NULL)
		return neap_error_nomem(err);
	api->log = config->log;
	if (store_open(api, config, err) < 0 || kinds_load(api, err) < 0)
		return -(int)err->code;
	kube.store = api->store;
	kube.registry = api->registry;
	if (neap_kube_new(&kube, &api->kube, err) < 0 ||
	    embedded_start(api, config, err) < 0 || control_start(api, config, err) < 0)
		return -(int)err->code;
	return neap_kube_serve(api->kube, config->http, err);
}

static void told(const char *from, const char *to)
{
	printf("%s is now %s\n", from, to);
}

int neap_daemon_api_new_store(const char *data_dir)
{
	char file[160], marker[160];
	struct neap_error err = {0};

	(void)snprintf(file, sizeof(file), "%s/neap.db", data_dir);
	(void)snprintf(marker, sizeof(marker), "%s/store", data_dir);
	if (neap_store_set_aside(file, marker, told, &err) < 0) {
		(void)fprintf(stderr, "neapd: %s\n", err.msg);
		return EXIT_FAILURE;
	}
	printf("the next start begins without objects\n");
	return EXIT_SUCCESS;
}

const struct neap_kube_registry *
neap_daemon_api_registry(const struct neap_daemon_api *api)
{
	return api != NULL ? api->registry : NULL;
}

struct neap_kube *neap_daemon_api_kube(const struct neap_daemon_api *api)
{
	return api != NULL ? api->kube : NULL;
}

struct neap_client *neap_daemon_api_client(const struct neap_daemon_api *api)
{
	return neap_kube_client(neap_daemon_api_kube(api));
}

struct neap_store *neap_daemon_api_store(const struct neap_daemon_api *api)
{
	return api != NULL ? api->store : NULL;
}

void neap_daemon_api_stop(struct neap_daemon_api *api)
{
	if (api == NULL)
		return;
	neap_control_store_stop(api->control);
	neap_kube_embedded_free(api->embedded);
	api->embedded = NULL;
	neap_kube_free(api->kube);
	api->kube = NULL;
}

void neap_daemon_api_free(struct neap_daemon_api *api)
{
	if (api == NULL)
		return;
	neap_daemon_api_stop(api);
	if (api->heard != NULL)
		event_free(api->heard);
	if (api->tick != NULL)
		event_free(api->tick);
	if (api->store != NULL)
		neap_store_free(api->store);
	neap_control_store_free(api->control);
	neap_kube_registry_free(api->registry);
	free(api);
}

/* --- scheduler and controllers --- */

struct neap_daemon_controllers {
	struct neap_tasks *tasks; /* their turns */
	struct neap_replicasets *replicasets;
	struct neap_deployments *deployments;
	struct neap_jobs *jobs;
	struct neap_statefulsets *statefulsets;
	struct neap_daemonsets *daemonsets;
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
	    neap_statefulsets_new(config, &controllers->statefulsets, err) < 0 ||
	    neap_daemonsets_new(config, &controllers->daemonsets, err) < 0)
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
	neap_daemonsets_free(controllers->daemonsets);
	neap_statefulsets_free(controllers->statefulsets);
	neap_jobs_free(controllers->jobs);
	neap_deployments_free(controllers->deployments);
	neap_replicasets_free(controllers->replicasets);
	neap_tasks_free(controllers->tasks);
	free(controllers);
}
