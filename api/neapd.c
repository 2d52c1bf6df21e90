/* SPDX-License-Identifier: Apache-2.0
 *
 * neapd: the daemon. The only place where the roles meet: each has a file of its own
 * (api/daemon/role_*.c). This file starts them in the order of their dependencies, gives
 * up root in between, and ends them. */
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/control/control.h"
#include "api/daemon/api.h"
#include "api/daemon/format.h"
#include "api/daemon/neapd.h"
#include "api/daemon/roles.h"
#include "api/daemon/start.h"
#include "api/schedule/schedule.h"
#include "engine/base/clock.h"
#include "engine/json/json.h"

/* For the audit: what became of a policy. */
static void note_policy(void *arg, const char *label, const char *what)
{
	struct neap_daemon *daemon = arg;

	if (daemon->node.node != NULL)
		neap_node_note_policy(daemon->node.node, label, what,
				      neap_clock_usec(CLOCK_REALTIME));
	if (daemon->controllers != NULL)
		neap_scheduler_more_changed(
			neap_daemon_controllers_scheduler(daemon->controllers));
	neap_role_descheduler_policies_changed(&daemon->descheduler);
}

static void describe_policy(void *arg, const char *label, json_t *row)
{
	struct neap_daemon *daemon = arg;

	if (daemon->node.node != NULL)
		neap_node_describe_policy(daemon->node.node, label, row);
}

/* --- the loops --- */

static int loops_start(struct neap_daemon *daemon, struct neap_client *client,
		       struct neap_error *err)
{
	daemon->scheduler.client = client;
	if (neap_daemon_controllers_start(&daemon->loops, client, &daemon->controllers,
					  err) < 0)
		return -(int)err->code;
	daemon->control.client = client;
	daemon->control.controllers = daemon->controllers;
	neap_daemon_extender_set(daemon->extender,
				 neap_daemon_controllers_scheduler(daemon->controllers));
	return 0;
}

static void loops_end(struct neap_daemon *daemon)
{
	neap_daemon_extender_set(daemon->extender, NULL);
	daemon->control.controllers = NULL;
	daemon->control.client = daemon->scheduler.client = NULL;
	neap_daemon_controllers_free(daemon->controllers);
	daemon->controllers = NULL;
}

/* What cannot be started later than neapd ends it. */
static void fail(struct neap_daemon *daemon, const struct neap_error *err)
{
	neap_log_line(&daemon->process.log, NEAP_LOG_ERROR, "%s: ending", err->msg);
	daemon->process.exit_status = EXIT_FAILURE;
	(void)event_base_loopbreak(daemon->process.base);
}

/* In a cluster they begin when this neapd leads, each by itself. */
static void begin(void *arg, enum neap_leader_number which, struct neap_client *client)
{
	struct neap_daemon *daemon = arg;
	struct neap_error err = {0};
	int rc =
		which == NEAP_LEADER_SCHEDULER
			? loops_start(daemon, client, &err)
			: neap_role_descheduler_start(&daemon->descheduler, client, &err);

	if (rc < 0)
		fail(daemon, &err);
}

static void end(void *arg, enum neap_leader_number which)
{
	struct neap_daemon *daemon = arg;

	if (which == NEAP_LEADER_SCHEDULER)
		loops_end(daemon);
	else
		neap_role_descheduler_stop(&daemon->descheduler);
}

static void node_filled(void *arg)
{
	struct neap_daemon *daemon = arg;
	struct neap_error err = {0};

	if (neap_role_pods_start(&daemon->pods, &daemon->process,
				 neap_remote_client(daemon->remote.node), NULL,
				 daemon->node.node, daemon->policies.labels, &err) < 0)
		fail(daemon, &err);
}

static void dialer_lost(void *arg)
{
	struct neap_error err;

	(void)neap_error_set(
		&err, NEAP_EUNAVAILABLE,
		"the dialer, which connects to the kube-apiserver, has ended");
	fail(arg, &err);
}

static void kubelet_failed(void *arg, const struct neap_error *err)
{
	fail(arg, err);
}

static void add_metrics(void *arg, struct neap_buf *out)
{
	struct neap_daemon *daemon = arg;

	neap_role_remote_add_metrics(&daemon->remote, out);
	neap_role_descheduler_add_metrics(&daemon->descheduler, out);
}

static int api_start(struct neap_daemon *daemon, struct neap_error *err)
{
	const struct neap_process *process = &daemon->process;

	daemon->loops = (struct neap_daemon_api_config){
		.config = &process->config,
		.log = &process->log,
		.base = process->base,
		.http = daemon->server.http,
		.crds = &daemon->crds,
	};
	if (neap_role_scheduler_open(&daemon->scheduler, &daemon->policies,
				     &daemon->loops, err) < 0)
		return -(int)err->code;
	if ((process->config.roles & NEAP_ROLE_API) != 0 &&
	    neap_daemon_api_start(&daemon->loops, &daemon->api, err) < 0)
		return -(int)err->code;
	daemon->server.api = daemon->api;
	neap_metrics_set_store(daemon->control.metrics,
			       neap_daemon_api_store(daemon->api));
	if (neap_daemon_extender_start(daemon->extender, process, daemon->server.tls,
				       err) < 0)
		return -(int)err->code;
	if (neap_role_prometheus_start(&daemon->prometheus, &daemon->remote, err) < 0 ||
	    neap_role_descheduler_open(&daemon->descheduler, &daemon->policies,
				       &daemon->prometheus, daemon->server.http, err) < 0)
		return -(int)err->code;
	if (daemon->api != NULL &&
	    (loops_start(daemon, neap_daemon_api_client(daemon->api), err) < 0 ||
	     neap_role_descheduler_start(&daemon->descheduler,
					 neap_daemon_api_client(daemon->api), err) < 0))
		return -(int)err->code;
	if (*process->config.kubeconfig != '\0')
		daemon->control.remote = &daemon->remote;
	neap_metrics_set_more(daemon->control.metrics, add_metrics, daemon);
	neap_role_scheduler_tell(&daemon->scheduler);
	neap_kube_declared_folder_close(&daemon->crds);
	neap_kubeconfig_renew(&daemon->server);
	return 0;
}

/* Whoever asks for health or version during the start need not wait for its end: one turn
 * of the loop takes the connection, the next its request. Without EVLOOP_ONCE it would
 * turn until nobody has anything to do, which may be never. */
static void answer_early(struct neap_daemon *daemon)
{
	(void)event_base_loop(daemon->process.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	(void)event_base_loop(daemon->process.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

/* A full disk does not prevent a start: the next start writes the format. */
static void format_note(const struct neap_process *process)
{
	struct neap_error err;

	if (neap_format_raise(process->config.data_dir, &err) < 0)
		neap_log_line(&process->log, NEAP_LOG_WARN,
			      "%s; until then an older neapd cannot tell whether it "
			      "understands the folder",
			      err.msg);
}

/* One file may serve machines of different roles, so this is not an error; but an
 * operator must see that the option has no effect. */
static void idle_options_tell(const struct neap_process *process)
{
	const unsigned both = NEAP_ROLE_MANAGER | NEAP_ROLE_CONTROLLERS;
	struct neap_config_idle idle;
	size_t i = 0;

	if ((process->config.roles & both) == NEAP_ROLE_MANAGER)
		neap_log_line(&process->log, NEAP_LOG_WARN,
			      "the role manager does nothing yet: Deployments, Jobs and "
			      "lost nodes are for the role controllers (see --roles)");
	while (neap_config_idle_get(&process->config, &i, &idle)) {
		if (idle.with)
			neap_log_line(&process->log, NEAP_LOG_WARN,
				      "%s%s does nothing here: it goes with --%s",
				      idle.dashes, idle.name, idle.with);
		else
			neap_log_line(&process->log, NEAP_LOG_WARN,
				      "%s%s does nothing here: it is for the role %s "
				      "(see --roles)",
				      idle.dashes, idle.name, idle.roles);
	}
}

/* What needs root, if neapd has it. */
static int open_as_root(struct neap_daemon *daemon, struct neap_error *err)
{
	struct neap_process *process = &daemon->process;
	const struct neap_config *config = &process->config;

	/* The format is looked at before anything is touched. */
	if (neap_role_scheduler_load(&daemon->scheduler, process, err) < 0 ||
	    neap_role_descheduler_load(&daemon->descheduler, process, err) < 0 ||
	    neap_account_find(config->user, &process->account, err) < 0 ||
	    neap_format_check(config->data_dir, err) < 0 ||
	    neap_folders_make(config, &process->account, err) < 0 ||
	    neap_folders_lock(config->run_dir, err) < 0 ||
	    neap_role_node_find(&daemon->node, process, err) < 0 ||
	    neap_role_pods_fork(&daemon->pods, process, err) < 0 ||
	    neap_role_remote_open(&daemon->remote, process, err) < 0 ||
	    neap_role_kubelet_open(&daemon->kubelet, process, err) < 0 ||
	    neap_role_prometheus_open(&daemon->prometheus, process,
				      daemon->descheduler.prometheus_url, err) < 0 ||
	    neap_role_server_open(&daemon->server, err) < 0)
		return -(int)err->code;
	if (neap_daemon_extender_open(config, &daemon->extender, err) < 0)
		return neap_error_wrap(err, "--extender-listen");
	if (geteuid() == 0)
		neap_account_favour(&process->log);
	/* The sources may be where no other user can read. */
	if (neap_role_policies_read(&daemon->policies, config, err) < 0)
		return -(int)err->code;
	return (config->roles & NEAP_ROLE_API) != 0
		       ? neap_kube_declared_folder_find(&daemon->crds, config->share_dir,
							err)
		       : 0;
}

static int daemon_start(struct neap_daemon *daemon, struct neap_error *err)
{
	static const struct neap_role_remote_events remote_events = {.begin = begin,
								     .end = end,
								     .node_filled =
									     node_filled,
								     .lost = dialer_lost};
	struct neap_process *process = &daemon->process;
	const struct neap_config *config = &process->config;

	idle_options_tell(process);
	if (open_as_root(daemon, err) < 0 ||
	    neap_account_become(&process->account,
				config->run_pods ? NEAP_JAIL_LOOP_PROBES : NEAP_JAIL_LOOP,
				config->seccomp, &process->log, err) < 0)
		return -(int)err->code;
	format_note(process);
	process->base = neap_http_base_new();
	if (process->base == NULL)
		return neap_error_nomem(err);
	if (neap_role_policies_open(&daemon->policies, process, note_policy,
				    describe_policy, daemon, err) < 0 ||
	    neap_role_server_start(&daemon->server, err) < 0 ||
	    neap_role_control_start(&daemon->control, &daemon->node, &daemon->server,
				    &daemon->policies, &daemon->turns, err) < 0)
		return -(int)err->code;
	answer_early(daemon);
	if (neap_role_policies_start(&daemon->policies, config, err) < 0)
		return -(int)err->code;
	answer_early(daemon);
	if (api_start(daemon, err) < 0)
		return -(int)err->code;
	answer_early(daemon);
	if (neap_role_node_start(&daemon->node, &daemon->policies, err) < 0 ||
	    neap_role_pods_start(&daemon->pods, process,
				 neap_daemon_api_client(daemon->api), daemon->api,
				 daemon->node.node, daemon->policies.labels, err) < 0 ||
	    neap_role_remote_start(&daemon->remote, &remote_events, daemon, err) < 0 ||
	    neap_role_kubelet_start(&daemon->kubelet, daemon->node.node, kubelet_failed,
				    daemon, err) < 0)
		return -(int)err->code;
	return neap_daemon_events_start(daemon, err);
}

/* Clients go, and what was accepted of them is durable. */
static void clients_end(struct neap_daemon *daemon)
{
	neap_kube_declared_folder_close(&daemon->crds);
	neap_role_pods_stop(&daemon->pods);
	neap_role_kubelet_free(&daemon->kubelet);
	neap_role_descheduler_stop(&daemon->descheduler);
	loops_end(daemon);
	neap_role_prometheus_free(&daemon->prometheus);
	neap_role_remote_free(&daemon->remote);
	neap_daemon_extender_free(daemon->extender);
	daemon->extender = NULL;
	neap_daemon_api_stop(daemon->api);
	neap_role_server_stop(&daemon->server);
	daemon->server.api = NULL;
	neap_daemon_api_free(daemon->api);
	daemon->api = NULL;
}

static void daemon_done(struct neap_daemon *daemon)
{
	clients_end(daemon);
	neap_role_server_free(&daemon->server);
	neap_role_control_free(&daemon->control);
	neap_role_descheduler_free(&daemon->descheduler);
	neap_role_policies_stop(&daemon->policies);
	neap_daemon_events_free(daemon);
	neap_role_node_stop(&daemon->node);
	neap_role_policies_free(&daemon->policies);
	neap_role_scheduler_free(&daemon->scheduler);
	neap_role_pods_free(&daemon->pods);
	neap_role_node_free(&daemon->node);
	neap_service_free(&daemon->service);
	if (daemon->process.base != NULL)
		event_base_free(daemon->process.base);
}

static int help(void)
{
	char *text = neap_config_help();

	if (text == NULL)
		return EXIT_FAILURE;
	(void)fputs(text, stdout);
	free(text);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	static struct neap_daemon daemon;
	struct neap_process *process = &daemon.process;
	struct neap_config *config = &process->config;
	enum neap_config_action action;
	struct neap_error err = {0};

	neap_json_setup();
	process->argc = argc;
	process->argv = argv;
	daemon.crds.fd = -1;
	daemon.service.process = process;
	daemon.service.node = &daemon.node;
	daemon.service.policies = &daemon.policies;
	daemon.service.next_tick_usec = &daemon.ticks.next_usec;
	neap_role_server_init(&daemon.server, process);
	if (neap_config_parse(argc, argv, config, &action, &err) < 0) {
		fprintf(stderr, "neapd: %s%s%s\n", err.field,
			err.field[0] != '\0' ? ": " : "", err.msg);
		return 2;
	}
	if (action == NEAP_CONFIG_HELP)
		return help();
	if (action == NEAP_CONFIG_VERSION) {
		printf("neapd %s\n", NEAP_VERSION);
		return EXIT_SUCCESS;
	}
	process->log = (struct neap_log){STDERR_FILENO, config->log_level,
					 config->log_format, "neapd"};
	neap_log_set_journal(neap_notify_is_journal());
	if (config->give_back)
		return neap_hand_give_back_now(config, &process->log);
	if (config->give_back_later)
		return neap_hand_give_back_later(config, &process->log);
	if (config->new_store)
		return neap_daemon_api_new_store(config->data_dir);
	if (neap_notify_open(&daemon.service.notify, &err) < 0)
		neap_log_line(&process->log, NEAP_LOG_WARN, "%s%s%s", err.field,
			      err.field[0] != '\0' ? ": " : "", err.msg);
	memset(&err, 0, sizeof(err));
	(void)signal(SIGPIPE, SIG_IGN);
	if (daemon_start(&daemon, &err) < 0) {
		/* May have to tell something, too: why neapd ends comes last. */
		clients_end(&daemon);
		neap_service_complain(&daemon.service, &err);
		daemon_done(&daemon);
		return EXIT_FAILURE;
	}
	neap_turns_run(process->base, &daemon.turns);
	daemon_done(&daemon);
	return process->exit_status;
}
