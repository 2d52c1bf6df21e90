/* SPDX-License-Identifier: Apache-2.0
 *
 * What the control API's look sees: the scheduler of this neapd, and the store. */
#include "api/control/look.h"

#include "api/daemon/controllers.h"
#include "api/daemon/whole.h"
#include "api/schedule/view.h"

static bool view_of(void *arg, struct neap_look_view *ret, const char **ret_why_not)
{
	const struct neap_daemon *daemon = arg;
	struct neap_scheduler *scheduler =
		neap_daemon_controllers_scheduler(daemon->controllers);
	struct neap_schedule_view view;

	*ret_why_not = (daemon->config.roles & NEAP_ROLE_API) == 0 ||
				       (daemon->config.roles & NEAP_ROLE_SCHEDULER) == 0
			       ? "this neapd has not the roles api and scheduler"
			       : "neapd is still reading the cluster";
	if (scheduler == NULL || !neap_scheduler_view(scheduler, &view))
		return false;
	*ret = (struct neap_look_view){.cluster = view.cluster,
				       .decide = view.decide,
				       .store = neap_daemon_api_store(daemon->api)};
	return true;
}

static struct neap_decide *decide_of(void *arg, const struct neap_pod *pod)
{
	const struct neap_daemon *daemon = arg;

	return neap_scheduler_decide(
		neap_daemon_controllers_scheduler(daemon->controllers), pod);
}

int neap_daemon_look_start(struct neap_daemon *daemon, struct neap_error *err)
{
	const struct neap_look_source source = {
		.arg = daemon, .view = view_of, .decide = decide_of};

	return neap_look_new(daemon->http, &source, &daemon->look, err);
}
