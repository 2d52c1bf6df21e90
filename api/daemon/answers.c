/* SPDX-License-Identifier: Apache-2.0
 *
 * What the control API asks of the daemon: a table of functions. */
#include "api/daemon/whole.h"

static json_t *control_status(void *arg)
{
	const struct neap_daemon *daemon = arg;
	json_t *status = neap_node_status(daemon->node);

	(void)json_object_set_new(
		status, "privileges",
		neap_privileges_report(daemon->config.seccomp, daemon->hand));
	return status;
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

static int control_rotate_token(void *arg, const char *by, const char **ret_file,
				struct neap_error *err)
{
	struct neap_daemon *daemon = arg;

	*ret_file = daemon->token_file;
	if (neap_token_rotate(&daemon->config, daemon->token, sizeof(daemon->token),
			      err) < 0)
		return -(int)err->code;
	neap_log_line(&daemon->log, NEAP_LOG_INFO, "operator (%s): a new token in %s", by,
		      daemon->token_file);
	if (neap_http_set_token(daemon->http, daemon->token, err) < 0)
		return -(int)err->code;
	return neap_kubeconfig_write(daemon, err);
}

static void control_operate(void *arg, const char *verb, const char *by,
			    neap_control_done *done, void *done_arg)
{
	struct neap_daemon *daemon = arg;

	neap_node_operate(daemon->node, verb, by, done, done_arg);
	neap_daemon_watch_hand(daemon);
}

static void control_run(void *arg, json_t *input, int peer_fd,
			const struct neap_http_peer *peer, neap_control_done *done,
			void *done_arg)
{
	struct neap_daemon *daemon = arg;

	(void)peer; /* the hand asks the socket itself whom to move */
	neap_node_run(daemon->node, input, peer_fd, done, done_arg);
	neap_daemon_watch_hand(daemon);
}

struct neap_control_node neap_daemon_functions(struct neap_daemon *daemon)
{
	return (struct neap_control_node){
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
}
