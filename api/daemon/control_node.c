/* SPDX-License-Identifier: Apache-2.0
 *
 * What the control API needs from the daemon, as tables of functions: the node, the token
 * and, for the cluster view, the scheduler of this neapd and the store. */
#include "api/daemon/roles.h"

#include "api/control/control.h"
#include "api/daemon/api.h"
#include "api/daemon/role_remote.h"
#include "api/daemon/start.h"
#include "api/schedule/view.h"

static const struct neap_role_node *node_of(void *arg)
{
	return ((struct neap_role_control *)arg)->node;
}

static json_t *control_status(void *arg)
{
	const struct neap_role_node *node = node_of(arg);
	json_t *status = neap_node_status(node->node);

	(void)json_object_set_new(
		status, "privileges",
		neap_privileges_report(node->process->config.seccomp, node->hand));
	return status;
}

static json_t *control_workloads(void *arg)
{
	return neap_node_workloads(node_of(arg)->node);
}

static const struct neap_topology *control_topology(void *arg)
{
	return neap_node_topology(node_of(arg)->node);
}

static const struct neap_audit *control_audit(void *arg)
{
	return neap_node_audit(node_of(arg)->node);
}

static bool control_is_ready(void *arg, const char **ret_why_not)
{
	const struct neap_role_node *node = node_of(arg);

	*ret_why_not = "neapd is starting";
	if (node->process->is_up && node->node == NULL)
		*ret_why_not = "this neapd has no role node (--roles)";
	return node->node != NULL && neap_node_is_ready(node->node, ret_why_not);
}

/* Without the node role only the policies must be ready. */
static bool control_is_started(void *arg, const char **ret_why_not)
{
	const struct neap_role_node *node = node_of(arg);
	const struct neap_role_remote *remote = ((struct neap_role_control *)arg)->remote;

	if (remote != NULL && node->process->is_up &&
	    !neap_role_remote_is_filled(remote)) {
		*ret_why_not = "neapd is still reading the cluster";
		return false;
	}
	*ret_why_not = "neapd is starting";
	return node->node != NULL ? neap_node_is_ready(node->node, ret_why_not)
				  : node->process->is_up;
}

static int control_rotate_token(void *arg, const char *by, const char **ret_file,
				struct neap_error *err)
{
	struct neap_role_server *server = ((struct neap_role_control *)arg)->server;

	*ret_file = server->token_file;
	return neap_role_server_rotate(server, by, err);
}

static void control_operate(void *arg, const char *verb, const char *by,
			    neap_control_done *done, void *done_arg)
{
	struct neap_role_control *role = arg;

	neap_node_operate(role->node->node, verb, by, done, done_arg);
	neap_role_node_watch_hand(role->node);
}

static void control_run(void *arg, json_t *input, int peer_fd,
			const struct neap_http_peer *peer, neap_control_done *done,
			void *done_arg)
{
	struct neap_role_control *role = arg;

	(void)peer; /* the hand reads the peer from the socket itself */
	neap_node_run(role->node->node, input, peer_fd, done, done_arg);
	neap_role_node_watch_hand(role->node);
}

/* --- the look --- */

static bool view_of(void *arg, struct neap_look_view *ret, const char **ret_why_not)
{
	const struct neap_role_control *role = arg;
	const int roles = role->server->process->config.roles;
	struct neap_scheduler *scheduler =
		neap_daemon_controllers_scheduler(role->controllers);
	struct neap_schedule_view view;

	*ret_why_not = (roles & NEAP_ROLE_SCHEDULER) == 0
			       ? "this neapd has not the role scheduler"
			       : "neapd is still reading the cluster";
	if (role->remote != NULL &&
	    !neap_role_remote_is_working(role->remote, ret_why_not))
		return false;
	if (scheduler == NULL || !neap_scheduler_view(scheduler, &view))
		return false;
	*ret = (struct neap_look_view){
		.cluster = view.cluster, .decide = view.decide, .client = role->client};
	return true;
}

static struct neap_decide *decide_of(void *arg, const struct neap_pod *pod)
{
	const struct neap_role_control *role = arg;

	return neap_scheduler_decide(neap_daemon_controllers_scheduler(role->controllers),
				     pod);
}

/* --- start and end --- */

int neap_role_control_start(struct neap_role_control *role, struct neap_role_node *node,
			    struct neap_role_server *server,
			    const struct neap_role_policies *policies,
			    struct neap_turns *turns, struct neap_error *err)
{
	const struct neap_control_node functions = {
		.arg = role,
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
	const struct neap_look_source look = {
		.arg = role, .view = view_of, .decide = decide_of};
	struct neap_http *http = server->http;

	role->node = node;
	role->server = server;
	if (neap_control_new(http, &functions, policies->live, &role->control, err) < 0 ||
	    neap_control_policies_new(http, policies->live, &role->policies, err) < 0 ||
	    neap_control_recordings_new(http, policies->recorders.decisions,
					policies->registry, &role->recordings, err) < 0 ||
	    neap_control_audit_new(http, &functions, &role->audit, err) < 0 ||
	    neap_look_new(http, &look, &role->look, err) < 0)
		return -(int)err->code;
	return neap_metrics_new(http, &functions, policies->live,
				&server->process->config.open_metrics, turns,
				&role->metrics, err);
}

void neap_role_control_free(struct neap_role_control *role)
{
	neap_control_policies_free(role->policies);
	neap_control_recordings_free(role->recordings);
	neap_control_audit_free(role->audit);
	neap_look_free(role->look);
	neap_metrics_free(role->metrics);
	neap_control_free(role->control);
}
