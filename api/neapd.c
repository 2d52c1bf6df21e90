/* SPDX-License-Identifier: Apache-2.0
 *
 * neapd: the daemon. The only place where the rooms meet: it starts the hand while it still is
 * root, opens the sockets, gives root up, starts the policies, and joins HTTP, control, policies and
 * node by tables of functions. */
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/daemon/api.h"
#include "api/daemon/controllers.h"
#include "api/daemon/extender.h"
#include "api/daemon/format.h"
#include "api/daemon/pods.h"
#include "api/daemon/whole.h"
#include "api/http/users/tokens.h"
#include "api/kube/kube.h"
#include "api/schedule/schedule.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/machine/window.h"

/* For the audit: what became of a policy. */
static void note_policy(void *arg, const char *label, const char *what)
{
	struct neap_daemon *daemon = arg;

	if (daemon->node != NULL)
		neap_node_note_policy(daemon->node, label, what,
				      neap_clock_usec(CLOCK_REALTIME));
	if (daemon->controllers != NULL)
		neap_scheduler_more_changed(
			neap_daemon_controllers_scheduler(daemon->controllers));
}

static void describe_policy(void *arg, const char *label, json_t *row)
{
	struct neap_daemon *daemon = arg;

	if (daemon->node != NULL)
		neap_node_describe_policy(daemon->node, label, row);
}

static int live_new(struct neap_daemon *daemon, struct neap_error *err)
{
	struct neap_live_config live = {
		.base = daemon->base,
		.registry = daemon->registry,
		.record = daemon->record,
		.own_uid = daemon->account.uid,
		.deleted_bytes = daemon->config.deleted_policies_bytes,
		.labels = daemon->labels,
		.log = daemon->log,
		.note = note_policy,
		.describe = describe_policy,
		.arg = daemon,
	};

	(void)snprintf(live.dir, sizeof(live.dir), "%s/policies",
		       daemon->config.data_dir);
	return neap_live_new(&live, &daemon->live, err);
}

/* The policies of the configuration, those uploaded before, those of the directory. */
static int live_start(struct neap_daemon *daemon, struct neap_error *err)
{
	const char *dir = daemon->config.policy_dir;

	if (neap_policies_start(&daemon->config, &daemon->texts, daemon->live, err) < 0)
		return -(int)err->code;
	if (dir[0] != '\0' && neap_live_watch(daemon->live, dir, err) < 0)
		return neap_error_wrap(err, "--policy-dir");
	return 0;
}

static int hand_start(struct neap_daemon *daemon, struct neap_error *err)
{
	struct neap_hand_config hand;

	if (geteuid() != 0 || (daemon->config.roles & NEAP_ROLE_NODE) == 0 ||
	    (daemon->config.dry_run && daemon->kubelet_dir[0] == '\0'))
		return 0;
	if (neap_hand_config_fill(&daemon->config, &daemon->cgroup, daemon->trees,
				  daemon->tree_count, &daemon->log, &hand, err) < 0)
		return -(int)err->code;
	hand.only_reads = daemon->config.dry_run;
	return neap_hand_start(&hand, &daemon->hand, err);
}

/* An address that nobody chose may be taken: the machine is governed all the same. */
static int tls_open(struct neap_daemon *daemon, struct neap_error *err)
{
	const struct neap_config *config = &daemon->config;

	if (config->tls_cert[0] != '\0') {
		daemon->tls_fd = daemon->tcp_fd;
		daemon->tcp_fd = -1;
		return 0;
	}
	if (strcmp(config->tls_listen, "off") == 0)
		return 0;
	if (neap_http_bind_tcp(config->tls_listen, &daemon->tls_fd, err) == 0)
		return 0;
	if (config->has_tls_listen)
		return -(int)err->code;
	neap_log_line(&daemon->log, NEAP_LOG_WARN,
		      "no TLS for kubectl: %s (--tls-listen names another address)",
		      err->msg);
	return 0;
}

static int sockets_open(struct neap_daemon *daemon, struct neap_error *err)
{
	if (neap_config_has_tcp(&daemon->config) &&
	    neap_http_bind_tcp(daemon->config.listen, &daemon->tcp_fd, err) < 0)
		return neap_error_wrap(err, "--listen");
	if (tls_open(daemon, err) < 0)
		return neap_error_wrap(err, "--tls-listen");
	if (neap_daemon_extender_open(&daemon->config, &daemon->extender, err) < 0)
		return neap_error_wrap(err, "--extender-listen");
	if (neap_http_bind_unix(daemon->config.unix_socket, &daemon->unix_fd, err) < 0)
		return neap_error_wrap(err, "--unix-socket");
	return 0;
}

/* Told inside a tick. */
static void policy_failed(void *arg, const char *kind, const char *name, const char *why)
{
	neap_live_failed(((struct neap_daemon *)arg)->live, kind, name, why);
}

static void kubelet_came(void *arg)
{
	const struct neap_daemon *daemon = arg;

	neap_kubelet_dir_tell(&daemon->config, daemon->kubelet_dir, &daemon->log);
}

static int node_start(struct neap_daemon *daemon, struct neap_error *err)
{
	const struct neap_config *config = &daemon->config;
	struct neap_node_config node = {0};

	if ((config->roles & NEAP_ROLE_NODE) == 0)
		return 0;
	memcpy(node.trees, daemon->trees, sizeof(node.trees));
	node.tree_count = daemon->tree_count;
	node.host_apps = config->host_apps;
	node.host_app_count = config->host_app_count;
	node.host_driver = neap_host_driver(daemon->trees, daemon->tree_count);
	node.sys_root = config->sys_root;
	node.finds_kubelet = neap_finds_kubelet(config, daemon->tree_count);
	node.kubelet_dir = daemon->kubelet_dir;
	(void)snprintf(daemon->record_dir, sizeof(daemon->record_dir), "%s/workloads",
		       config->data_dir);
	(void)snprintf(daemon->freeze_file, sizeof(daemon->freeze_file), "%s/freeze",
		       config->run_dir);
	node.record_dir = daemon->record_dir;
	node.freeze_file = daemon->freeze_file;
	node.window_usec = config->window_usec;
	/* A long window of short ticks keeps the newest samples that fit. */
	node.window_samples = (int)(config->window_usec / config->tick_usec) + 2;
	if (node.window_samples > NEAP_WINDOW_SAMPLES_MAX)
		node.window_samples = NEAP_WINDOW_SAMPLES_MAX;
	node.reserve_milli = config->reserve_milli;
	if (neap_cpuset_parse(&node.reserved_cpus, config->reserved_cpus, err) < 0)
		return neap_error_wrap(err, "--reserved-cpus");
	if (neap_cpuset_parse(&node.system_cpus, config->system_cpus, err) < 0)
		return neap_error_wrap(err, "--system-cpus");
	node.dry_run = config->dry_run;
	node.curve = config->weight_curve;
	node.log = daemon->log;
	node.record = daemon->record;
	node.policy_failed = policy_failed;
	node.kubelet_came = kubelet_came;
	node.arg = daemon;
	daemon->loop = neap_loop_new(daemon->base, neap_daemon_react, daemon);
	if (daemon->loop == NULL)
		return neap_error_nomem(err);
	node.loop = neap_loop_functions(daemon->loop);
	return neap_node_new(&node, &daemon->cgroup, daemon->hand, daemon->registry,
			     &daemon->node, err);
}

/* A full disk keeps nobody from using what was there before. */
static void kubeconfig_write(void *arg)
{
	const struct neap_daemon *daemon = arg;
	struct neap_error err;

	if (neap_kubeconfig_write(daemon, &err) < 0)
		neap_log_line(&daemon->log, NEAP_LOG_WARN, "%s", err.msg);
}

static int http_start(struct neap_daemon *daemon, struct neap_error *err)
{
	const struct neap_control_node functions = neap_daemon_functions(daemon);
	struct neap_http_config http = {0};

	if (daemon->tls == NULL && daemon->tls_fd >= 0 &&
	    neap_daemon_tls_make(daemon, err) < 0)
		return -(int)err->code;
	(void)snprintf(daemon->token_file, sizeof(daemon->token_file), "%s/token",
		       daemon->config.data_dir);
	http.listen_fd_name = daemon->config.listen;
	http.tcp_fd = daemon->tcp_fd;
	http.tls_fd = daemon->tls_fd;
	http.unix_fd = daemon->unix_fd;
	http.token = daemon->token;
	http.tls = daemon->tls;
	http.grants = &daemon->config.grants;
	http.tokens = daemon->tokens;
	http.own_uid = daemon->account.uid;
	http.host_names = daemon->config.host_names;
	http.limits.user_max[NEAP_HTTP_CONNECTIONS] =
		(size_t)daemon->config.user_connections;
	http.limits.user_max[NEAP_HTTP_WATCHES] = (size_t)daemon->config.user_watches;
	http.limits.user_max[NEAP_HTTP_REQUESTS] = (size_t)daemon->config.user_requests;
	if (daemon->tls != NULL && daemon->config.tls_cert[0] != '\0' &&
	    neap_daemon_tls_start(daemon->tls, &daemon->config, daemon->base,
				  &daemon->log, kubeconfig_write, daemon,
				  &daemon->tls_watch, err) < 0)
		return -(int)err->code;
	neap_daemon_tokens_tell(daemon);
	if (neap_http_new(daemon->base, &http, &daemon->http, err) < 0 ||
	    neap_daemon_trail_start(daemon, err) < 0)
		return -(int)err->code;
	if ((daemon->config.roles & NEAP_ROLE_API) != 0)
		neap_kube_announce(daemon->http);
	if (neap_control_new(daemon->http, &functions, daemon->live, &daemon->control,
			     err) < 0)
		return -(int)err->code;
	if (neap_control_policies_new(daemon->http, daemon->live, &daemon->policies,
				      err) < 0 ||
	    neap_control_audit_new(daemon->http, &functions, &daemon->audit, err) < 0 ||
	    neap_daemon_look_start(daemon, err) < 0)
		return -(int)err->code;
	return neap_metrics_new(daemon->http, &functions, daemon->live,
				&daemon->config.open_metrics, &daemon->turns,
				&daemon->metrics, err);
}

static int api_start(struct neap_daemon *daemon, struct neap_error *err)
{
	struct neap_daemon_api_config api = {
		.config = &daemon->config,
		.log = &daemon->log,
		.base = daemon->base,
		.http = daemon->http,
		.crds = &daemon->crds,
		.scheduling = daemon->scheduling,
	};

	if (neap_daemon_scheduling_policies(daemon, policy_failed, &api, err) < 0)
		return -(int)err->code;
	if ((daemon->config.roles & NEAP_ROLE_API) != 0 &&
	    (neap_daemon_api_start(&api, &daemon->api, err) < 0 ||
	     neap_daemon_controllers_start(&api, daemon->api, &daemon->controllers, err) <
		     0))
		return -(int)err->code;
	neap_metrics_set_store(daemon->metrics, neap_daemon_api_store(daemon->api));
	if (neap_daemon_extender_start(daemon, err) < 0)
		return -(int)err->code;
	neap_daemon_scheduling_tell(daemon);
	neap_kube_declared_folder_close(&daemon->crds);
	kubeconfig_write(daemon);
	return 0;
}

/* Whoever asks for health or version during the start need not wait for its end: one turn of the
 * loop takes the connection, the next its request. Without EVLOOP_ONCE it would turn until nobody has anything to
 * do, which may be never. */
static void answer_early(struct neap_daemon *daemon)
{
	(void)event_base_loop(daemon->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	(void)event_base_loop(daemon->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

/* A full disk keeps nobody from governing: the next start notes it. */
static void format_note(struct neap_daemon *daemon)
{
	struct neap_error err;

	if (neap_format_raise(daemon->config.data_dir, &err) < 0)
		neap_log_line(&daemon->log, NEAP_LOG_WARN,
			      "%s; until then an older neapd cannot tell whether it "
			      "understands the folder",
			      err.msg);
}

/* A connection is a descriptor: watchers may be thousands, and have half of them. What the limit stays at is what
 * the server makes do with. */
static void descriptors_allow(void)
{
	const rlim_t enough =
		(rlim_t)2 * (NEAP_HTTP_KNOWN_MAX + NEAP_HTTP_CONNECTIONS_MAX +
			     NEAP_HTTP_RESERVE + NEAP_HTTP_OTHER_FDS);
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= enough)
		return;
	limit.rlim_cur = limit.rlim_max < enough ? limit.rlim_max : enough;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* One file for machines of different roles is no fault, but nobody is to wonder why
 * nothing happens. */
static void idle_options_tell(const struct neap_daemon *daemon)
{
	struct neap_config_idle idle;
	size_t i = 0;

	while (neap_config_idle_get(&daemon->config, &i, &idle)) {
		if (idle.with)
			neap_log_line(&daemon->log, NEAP_LOG_WARN,
				      "%s%s does nothing here: it goes with --%s",
				      idle.dashes, idle.name, idle.with);
		else
			neap_log_line(&daemon->log, NEAP_LOG_WARN,
				      "%s%s does nothing here: it is for the role %s "
				      "(see --roles)",
				      idle.dashes, idle.name, idle.roles);
	}
}

/* Everything that needs root comes first; the policies are loaded when it is given up. */
static int daemon_start(struct neap_daemon *daemon, struct neap_error *err)
{
	const struct neap_config *config = &daemon->config;

	idle_options_tell(daemon);
	/* The format is looked at before anything is touched. */
	if (neap_daemon_scheduling_load(daemon, err) < 0 ||
	    neap_account_find(config->user, &daemon->account, err) < 0 ||
	    neap_format_check(config->data_dir, err) < 0 ||
	    neap_folders_make(config, &daemon->account, err) < 0 ||
	    neap_folders_lock(config->run_dir, err) < 0)
		return -(int)err->code;
	if (neap_cgroup_probe(config->cgroup_root[0] != '\0' ? config->cgroup_root : NULL,
			      &daemon->cgroup, err) < 0)
		return -(int)err->code;
	neap_kubelet_dir_find(config, daemon->kubelet_dir, sizeof(daemon->kubelet_dir));
	daemon->tree_count = neap_trees_find(config, &daemon->cgroup, daemon->trees);
	if (hand_start(daemon, err) < 0 || neap_daemon_keeper_start(daemon, err) < 0 ||
	    sockets_open(daemon, err) < 0 ||
	    neap_daemon_tls_load(config, &daemon->account, &daemon->tls, err) < 0 ||
	    neap_daemon_tokens_load(daemon, err) < 0 ||
	    neap_token_load(config, &daemon->account, daemon->token,
			    sizeof(daemon->token), err) < 0)
		return -(int)err->code;
	if (geteuid() == 0)
		neap_account_favour(&daemon->log);
	descriptors_allow();
	/* Sources may lie where nobody else can look. */
	if (neap_policies_read(config, &daemon->texts, err) < 0 ||
	    ((config->roles & NEAP_ROLE_API) != 0 &&
	     neap_kube_declared_folder_find(&daemon->crds, config->share_dir, err) < 0))
		return -(int)err->code;
	if (neap_account_become(&daemon->account,
				config->run_pods ? NEAP_JAIL_LOOP_PROBES : NEAP_JAIL_LOOP,
				config->seccomp, &daemon->log, err) < 0)
		return -(int)err->code;
	format_note(daemon);
	daemon->registry = neap_registry_new();
	daemon->record = neap_record_new(0, 0);
	daemon->base = neap_http_base_new();
	daemon->labels = neap_config_labels(config);
	if (daemon->registry == NULL || daemon->record == NULL || daemon->base == NULL ||
	    daemon->labels == NULL)
		return neap_error_nomem(err);
	if (live_new(daemon, err) < 0 ||
	    neap_stuck_start(config, daemon->live, &daemon->log, err) < 0 ||
	    http_start(daemon, err) < 0)
		return -(int)err->code;
	answer_early(daemon);
	if (live_start(daemon, err) < 0)
		return -(int)err->code;
	answer_early(daemon);
	if (api_start(daemon, err) < 0)
		return -(int)err->code;
	answer_early(daemon);
	if (node_start(daemon, err) < 0 || neap_daemon_pods_start(daemon, err) < 0)
		return -(int)err->code;
	neap_policies_forget(&daemon->texts);
	return neap_daemon_events_start(daemon, err);
}

/* Clients go, and what was accepted of them is durable. */
static void clients_end(struct neap_daemon *daemon)
{
	neap_kube_declared_folder_close(&daemon->crds);
	neap_daemon_pods_free(daemon);
	neap_daemon_extender_free(daemon->extender);
	daemon->extender = NULL;
	neap_daemon_controllers_free(daemon->controllers);
	daemon->controllers = NULL;
	neap_daemon_api_stop(daemon->api);
	neap_http_free(daemon->http);
	daemon->http = NULL;
	neap_daemon_api_free(daemon->api);
	daemon->api = NULL;
}

static void daemon_done(struct neap_daemon *daemon)
{
	size_t i;

	clients_end(daemon);
	neap_daemon_trail_free(daemon->trail);
	neap_tokens_unref(daemon->tokens);
	neap_daemon_tls_free(daemon->tls_watch);
	neap_tls_free(daemon->tls);
	neap_control_policies_free(daemon->policies);
	neap_control_audit_free(daemon->audit);
	neap_look_free(daemon->look);
	neap_metrics_free(daemon->metrics);
	neap_control_free(daemon->control);
	neap_live_free(daemon->live);
	if (daemon->tick != NULL)
		event_free(daemon->tick);
	if (daemon->hand_event != NULL)
		event_free(daemon->hand_event);
	if (daemon->watchdog != NULL)
		event_free(daemon->watchdog);
	for (i = 0; i < NEAP_ARRAY_LEN(daemon->signals); i++) {
		if (daemon->signals[i] != NULL)
			event_free(daemon->signals[i]);
	}
	neap_node_free(daemon->node);
	neap_loop_free(daemon->loop);
	neap_registry_free(daemon->registry);
	neap_record_free(daemon->record);
	json_decref(daemon->labels);
	neap_policies_forget(&daemon->texts);
	neap_daemon_scheduling_free(daemon);
	neap_keeper_free(daemon->keeper);
	neap_hand_free(daemon->hand);
	neap_notify_close(&daemon->notify);
	if (daemon->base != NULL)
		event_base_free(daemon->base);
	neap_cgroup_done(&daemon->cgroup);
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
	enum neap_config_action action;
	struct neap_error err = {0};

	neap_json_setup();
	daemon.argc = argc;
	daemon.argv = argv;
	daemon.tcp_fd = -1;
	daemon.tls_fd = -1;
	daemon.crds.fd = -1;
	daemon.unix_fd = -1;
	if (neap_config_parse(argc, argv, &daemon.config, &action, &err) < 0) {
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
	daemon.log = (struct neap_log){STDERR_FILENO, daemon.config.log_level,
				       daemon.config.log_format, "neapd"};
	neap_log_set_journal(neap_notify_is_journal());
	if (daemon.config.give_back)
		return neap_hand_give_back_now(&daemon.config, &daemon.log);
	if (daemon.config.give_back_later)
		return neap_hand_give_back_later(&daemon.config, &daemon.log);
	if (daemon.config.new_store)
		return neap_daemon_api_new_store(daemon.config.data_dir);
	if (neap_notify_open(&daemon.notify, &err) < 0)
		neap_log_line(&daemon.log, NEAP_LOG_WARN, "%s%s%s", err.field,
			      err.field[0] != '\0' ? ": " : "", err.msg);
	memset(&err, 0, sizeof(err));
	(void)signal(SIGPIPE, SIG_IGN);
	if (daemon_start(&daemon, &err) < 0) {
		clients_end(
			&daemon); /* may have to tell something, too: why it ends comes last */
		neap_daemon_complain(&daemon, &err);
		daemon_done(&daemon);
		return EXIT_FAILURE;
	}
	neap_turns_run(daemon.base, &daemon.turns);
	daemon_done(&daemon);
	return daemon.exit_status;
}
