/* SPDX-License-Identifier: Apache-2.0
 *
 * neapd: the daemon. The only place where the rooms meet: it starts the hand while it still is
 * root, opens the sockets, gives root up, starts the policies, and joins HTTP, control, policies and
 * node by tables of functions. */
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "api/config.h"
#include "api/control/audit.h"
#include "api/control/control.h"
#include "api/control/metrics.h"
#include "api/control/policies.h"
#include "api/daemon/daemon.h"
#include "api/daemon/loop.h"
#include "api/http/server.h"
#include "api/policy/live.h"
#include "api/run/node.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/machine/window.h"

#define START_WAIT_SEC 5

struct neap_daemon {
	struct neap_config config;
	struct neap_account account;
	struct neap_log log;
	struct neap_cgroup cgroup;
	struct neap_hand *hand;
	struct neap_policy_texts texts;
	json_t *labels; /* of this node */
	struct neap_registry *registry;
	struct neap_record *record;
	struct neap_live *live;
	struct neap_node *node; /* NULL without the role */
	struct neap_tree trees[2];
	int tree_count;
	struct event_base *base;
	struct event *tick, *hand_event, *signals[3];
	struct neap_loop *loop;
	int64_t next_tick_usec;
	struct neap_http *http;
	struct neap_control *control;
	struct neap_control_policies *policies;
	struct neap_control_audit *audit;
	struct neap_metrics *metrics;
	int argc;
	char **argv;
	int tcp_fd, unix_fd;
	char token[80], token_file[160], record_dir[160], freeze_file[160];
	bool is_up;
	int exit_status;
};

static int64_t clock_usec(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* --- the table of functions for control --- */

static json_t *control_status(void *arg)
{
	return neap_node_status(((struct neap_daemon *)arg)->node);
}

static json_t *control_workloads(void *arg)
{
	return neap_node_workloads(((struct neap_daemon *)arg)->node);
}

static const struct neap_topology *control_topology(void *arg)
{
	return neap_node_topology(((struct neap_daemon *)arg)->node);
}

static const struct neap_audit *control_audit(void *arg)
{
	return neap_node_audit(((struct neap_daemon *)arg)->node);
}

static bool control_is_ready(void *arg, const char **ret_why_not)
{
	const struct neap_daemon *daemon = arg;

	*ret_why_not = "neapd is starting";
	if (daemon->is_up && daemon->node == NULL)
		*ret_why_not = "this neapd has no role node (--roles)";
	return daemon->node != NULL && neap_node_is_ready(daemon->node, ret_why_not);
}

/* Without the role node there is nothing to wait for but the policies. */
static bool control_is_started(void *arg, const char **ret_why_not)
{
	const struct neap_daemon *daemon = arg;

	*ret_why_not = "neapd is starting";
	return daemon->node != NULL ? neap_node_is_ready(daemon->node, ret_why_not)
				    : daemon->is_up;
}

static int control_rotate_token(void *arg, const char **ret_file, struct neap_error *err)
{
	struct neap_daemon *daemon = arg;

	*ret_file = daemon->token_file;
	if (neap_token_rotate(&daemon->config, daemon->token, sizeof(daemon->token),
			      err) < 0)
		return -(int)err->code;
	neap_log_line(&daemon->log, NEAP_LOG_INFO, "operator: a new token in %s",
		      daemon->token_file);
	return neap_http_set_token(daemon->http, daemon->token, err);
}

static void watch_hand(struct neap_daemon *daemon);

static void control_operate(void *arg, const char *verb, neap_control_done *done,
			    void *done_arg)
{
	struct neap_daemon *daemon = arg;

	neap_node_operate(daemon->node, verb, done, done_arg);
	watch_hand(daemon);
}

static void control_run(void *arg, json_t *input, int peer_fd,
			const struct neap_http_peer *peer, neap_control_done *done,
			void *done_arg)
{
	struct neap_daemon *daemon = arg;

	(void)peer; /* the hand asks the socket itself whom to move */
	neap_node_run(daemon->node, input, peer_fd, done, done_arg);
	watch_hand(daemon);
}

/* --- events --- */

/* The node can work: tells what was found, and ticks from now on. */
static void go_up(struct neap_daemon *daemon)
{
	static const struct timeval now = {0, 0};

	daemon->is_up = true;
	neap_banner_print(stdout, &daemon->config, &daemon->account, &daemon->cgroup,
			  daemon->node, daemon->live, daemon->trees, daemon->tree_count);
	if (daemon->node == NULL)
		return;
	daemon->next_tick_usec = clock_usec(CLOCK_MONOTONIC);
	(void)event_add(daemon->tick, &now);
}

static void hand_ready(evutil_socket_t fd, short what, void *arg)
{
	struct neap_daemon *daemon = arg;
	struct neap_error err;

	(void)fd;
	(void)what;
	if (neap_node_hear(daemon->node, clock_usec(CLOCK_REALTIME), &err) < 0) {
		if (daemon->is_up)
			neap_log_line(&daemon->log, NEAP_LOG_ERROR,
				      "%s: ending; the next start takes up its journal",
				      err.msg);
		else
			fprintf(stderr, "neapd: %s\n", err.msg);
		daemon->exit_status = EXIT_FAILURE;
		(void)event_base_loopbreak(daemon->base);
		return;
	}
	if (!daemon->is_up && neap_node_is_open(daemon->node))
		go_up(daemon);
	neap_control_audit_poke(daemon->audit, clock_usec(CLOCK_MONOTONIC));
	watch_hand(daemon);
}

/* Asks for writability only while the hand's socket is full. */
static void watch_hand(struct neap_daemon *daemon)
{
	short what = EV_READ | EV_PERSIST;

	if (daemon->hand == NULL)
		return;
	if (neap_node_wants_write(daemon->node))
		what |= EV_WRITE;
	if (daemon->hand_event != NULL) {
		if (event_get_events(daemon->hand_event) == what)
			return;
		event_free(daemon->hand_event);
	}
	daemon->hand_event = event_new(daemon->base, neap_hand_fd(daemon->hand), what,
				       hand_ready, daemon);
	if (daemon->hand_event != NULL)
		(void)event_add(daemon->hand_event, NULL);
}

/* A pressure trigger fired. */
static void react(void *arg)
{
	struct neap_daemon *daemon = arg;

	neap_node_react(daemon->node, clock_usec(CLOCK_MONOTONIC),
			clock_usec(CLOCK_REALTIME));
	watch_hand(daemon);
}

/* Ticks stand on a grid of the monotonic clock; one that was missed (a stopped process, a starved
 * machine) is left out, never made up for. */
static void tick(evutil_socket_t fd, short what, void *arg)
{
	struct neap_daemon *daemon = arg;
	int64_t now = clock_usec(CLOCK_MONOTONIC);
	int64_t wait;
	struct timeval next;

	(void)fd;
	(void)what;
	if (!daemon->is_up) {
		fprintf(stderr, "neapd: the hand does not answer within %d s\n",
			START_WAIT_SEC);
		daemon->exit_status = EXIT_FAILURE;
		(void)event_base_loopbreak(daemon->base);
		return;
	}
	neap_node_tick(daemon->node, now, clock_usec(CLOCK_REALTIME));
	neap_control_audit_poke(daemon->audit, now);
	watch_hand(daemon);
	now = clock_usec(CLOCK_MONOTONIC);
	daemon->next_tick_usec += daemon->config.tick_usec;
	if (daemon->next_tick_usec <= now)
		daemon->next_tick_usec = now + daemon->config.tick_usec;
	wait = daemon->next_tick_usec - now;
	next.tv_sec = wait / 1000000;
	next.tv_usec = wait % 1000000;
	(void)event_add(daemon->tick, &next);
}

static void ended(evutil_socket_t number, short what, void *arg)
{
	struct neap_daemon *daemon = arg;
	char release[32];

	(void)what;
	neap_log_line(&daemon->log, NEAP_LOG_INFO, "%s: ending%s%s%s",
		      number == SIGINT ? "interrupted" : "told to end",
		      daemon->hand != NULL ? "; what is set stays " : "",
		      daemon->hand != NULL
			      ? neap_duration_format(daemon->config.release_after_usec,
						     release, sizeof(release))
			      : "",
		      daemon->hand != NULL ? " for a successor" : "");
	(void)event_base_loopbreak(daemon->base);
}

/* SIGHUP */
static void reload(evutil_socket_t number, short what, void *arg)
{
	struct neap_daemon *daemon = arg;

	(void)number;
	(void)what;
	neap_reload(daemon->argc, daemon->argv, &daemon->config, daemon->live,
		    &daemon->log);
}

/* For the audit: what became of a policy. */
static void note_policy(void *arg, const char *label, const char *what)
{
	struct neap_daemon *daemon = arg;

	if (daemon->node != NULL)
		neap_node_note_policy(daemon->node, label, what,
				      clock_usec(CLOCK_REALTIME));
}

static void describe_policy(void *arg, const char *label, json_t *row)
{
	struct neap_daemon *daemon = arg;

	if (daemon->node != NULL)
		neap_node_describe_policy(daemon->node, label, row);
}

/* --- start --- */

static int live_new(struct neap_daemon *daemon, struct neap_error *err)
{
	struct neap_live_config live = {
		.base = daemon->base,
		.registry = daemon->registry,
		.record = daemon->record,
		.own_uid = daemon->account.uid,
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

	if (geteuid() != 0 || daemon->config.dry_run ||
	    (daemon->config.roles & NEAP_ROLE_NODE) == 0)
		return 0;
	if (neap_hand_config_fill(&daemon->config, &daemon->cgroup, daemon->trees,
				  daemon->tree_count, &daemon->log, &hand, err) < 0)
		return -(int)err->code;
	return neap_hand_start(&hand, &daemon->hand, err);
}

static int sockets_open(struct neap_daemon *daemon, struct neap_error *err)
{
	if (strcmp(daemon->config.listen, "off") != 0 &&
	    (daemon->config.roles & NEAP_ROLE_API) != 0 &&
	    neap_http_bind_tcp(daemon->config.listen, &daemon->tcp_fd, err) < 0)
		return neap_error_wrap(err, "--listen");
	if (neap_http_bind_unix(daemon->config.unix_socket, &daemon->unix_fd, err) < 0)
		return neap_error_wrap(err, "--unix-socket");
	return 0;
}

/* Told inside a tick. */
static void policy_failed(void *arg, const char *kind, const char *name, const char *why)
{
	neap_live_failed(((struct neap_daemon *)arg)->live, kind, name, why);
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
	node.arg = daemon;
	daemon->loop = neap_loop_new(daemon->base, react, daemon);
	if (daemon->loop == NULL)
		return neap_error_nomem(err);
	node.loop = neap_loop_functions(daemon->loop);
	return neap_node_new(&node, &daemon->cgroup, daemon->hand, daemon->registry,
			     &daemon->node, err);
}

static int events_start(struct neap_daemon *daemon, struct neap_error *err)
{
	static const int ends[] = {SIGTERM, SIGINT};
	static const struct timeval patience = {START_WAIT_SEC, 0};
	size_t i;

	daemon->tick = evtimer_new(daemon->base, tick, daemon);
	if (daemon->tick == NULL || event_add(daemon->tick, &patience) < 0)
		return neap_error_nomem(err);
	for (i = 0; i < NEAP_ARRAY_LEN(ends); i++) {
		daemon->signals[i] = evsignal_new(daemon->base, ends[i], ended, daemon);
		if (daemon->signals[i] == NULL || event_add(daemon->signals[i], NULL) < 0)
			return neap_error_nomem(err);
	}
	daemon->signals[i] = evsignal_new(daemon->base, SIGHUP, reload, daemon);
	if (daemon->signals[i] == NULL || event_add(daemon->signals[i], NULL) < 0)
		return neap_error_nomem(err);
	watch_hand(daemon);
	if (daemon->node == NULL || neap_node_is_open(daemon->node))
		go_up(daemon);
	if (daemon->node == NULL)
		(void)event_del(daemon->tick);
	return 0;
}

static int http_start(struct neap_daemon *daemon, struct neap_error *err)
{
	const struct neap_control_node functions = {
		.arg = daemon,
		.status = control_status,
		.workloads = control_workloads,
		.is_started = control_is_started,
		.topology = control_topology,
		.audit = control_audit,
		.is_ready = control_is_ready,
		.rotate_token = control_rotate_token,
		.operate = control_operate,
		.run = control_run,
	};
	struct neap_http_config http = {0};

	(void)snprintf(daemon->token_file, sizeof(daemon->token_file), "%s/token",
		       daemon->config.data_dir);
	http.listen_fd_name = daemon->config.listen;
	http.tcp_fd = daemon->tcp_fd;
	http.unix_fd = daemon->unix_fd;
	http.token = daemon->token;
	http.own_uid = daemon->account.uid;
	if (neap_http_new(daemon->base, &http, &daemon->http, err) < 0)
		return -(int)err->code;
	if (neap_control_new(daemon->http, &functions, daemon->live, &daemon->control,
			     err) < 0)
		return -(int)err->code;
	if (neap_control_policies_new(daemon->http, daemon->live, &daemon->policies,
				      err) < 0 ||
	    neap_control_audit_new(daemon->http, &functions, &daemon->audit, err) < 0)
		return -(int)err->code;
	return neap_metrics_new(daemon->http, &functions, daemon->live,
				&daemon->config.open_metrics, &daemon->metrics, err);
}

/* Whoever asks for health or version during the start need not wait for its end: one turn of the
 * loop takes the connection, the next its request. */
static void answer_early(struct neap_daemon *daemon)
{
	(void)event_base_loop(daemon->base, EVLOOP_NONBLOCK);
	(void)event_base_loop(daemon->base, EVLOOP_NONBLOCK);
}

/* Everything that needs root comes first; the policies are loaded when it is given up. */
static int daemon_start(struct neap_daemon *daemon, struct neap_error *err)
{
	const struct neap_config *config = &daemon->config;

	if (neap_account_find(config->user, &daemon->account, err) < 0 ||
	    neap_folders_make(config, &daemon->account, err) < 0 ||
	    neap_folders_lock(config->run_dir, err) < 0)
		return -(int)err->code;
	if (neap_cgroup_probe(config->cgroup_root[0] != '\0' ? config->cgroup_root : NULL,
			      &daemon->cgroup, err) < 0)
		return -(int)err->code;
	daemon->tree_count = neap_trees_find(config, &daemon->cgroup, daemon->trees);
	if (hand_start(daemon, err) < 0 || sockets_open(daemon, err) < 0 ||
	    neap_token_load(config, &daemon->account, daemon->token,
			    sizeof(daemon->token), err) < 0)
		return -(int)err->code;
	if (geteuid() == 0)
		neap_account_favour(&daemon->log);
	if (neap_policies_read(config, &daemon->texts, err) < 0)
		return -(int)err->code;
	if (neap_account_become(&daemon->account, err) < 0)
		return -(int)err->code;
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
	if (node_start(daemon, err) < 0)
		return -(int)err->code;
	neap_policies_forget(&daemon->texts);
	return events_start(daemon, err);
}

static void daemon_done(struct neap_daemon *daemon)
{
	size_t i;

	neap_http_free(daemon->http);
	neap_control_policies_free(daemon->policies);
	neap_control_audit_free(daemon->audit);
	neap_metrics_free(daemon->metrics);
	neap_control_free(daemon->control);
	neap_live_free(daemon->live);
	if (daemon->tick != NULL)
		event_free(daemon->tick);
	if (daemon->hand_event != NULL)
		event_free(daemon->hand_event);
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
	neap_hand_free(daemon->hand);
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

	daemon.argc = argc;
	daemon.argv = argv;
	daemon.tcp_fd = -1;
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
	if (daemon.config.give_back)
		return neap_hand_give_back_now(&daemon.config, &daemon.log);
	(void)signal(SIGPIPE, SIG_IGN);
	if (daemon_start(&daemon, &err) < 0) {
		fprintf(stderr, "neapd: %s%s%s\n", err.field,
			err.field[0] != '\0' ? ": " : "", err.msg);
		daemon_done(&daemon);
		return EXIT_FAILURE;
	}
	(void)event_base_dispatch(daemon.base);
	daemon_done(&daemon);
	return daemon.exit_status;
}
