/* SPDX-License-Identifier: Apache-2.0 */
#include "api/daemon/role_remote.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "api/remote/kubeconfig.h"
#include "api/remote/metrics.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"

#define RELEASE_USEC 5000000 /* a busy server needs its time */

/* What the scheduler reads, and the Reservation controller. The largest last. */
static const struct neap_remote_resource resources[] = {
	{.resource = "nodes"},
	{.resource = "namespaces"},
	{.resource = "poddisruptionbudgets.policy"},
	{.resource = "nodemetrics.slo.koordinator.sh"},
	{.resource = "noderesourcetopologies.topology.node.k8s.io"},
	{.resource = "persistentvolumes"},
	{.resource = "persistentvolumeclaims"},
	{.resource = "storageclasses.storage.k8s.io"},
	{.resource = "reservations.scheduling.koordinator.sh"},
	{.resource = "pods"},
};

/* What the descheduler reads, and the migration of pods. */
static const struct neap_remote_resource descheduler_resources[] = {
	{.resource = "configmaps", .selector = "metadata.name=koord-descheduler-config"},
	{.resource = "priorityclasses.scheduling.k8s.io"},
	{.resource = "nodes"},
	{.resource = "namespaces"},
	{.resource = "poddisruptionbudgets.policy"},
	{.resource = "nodemetrics.slo.koordinator.sh"},
	{.resource = "noderesourcetopologies.topology.node.k8s.io"},
	{.resource = "persistentvolumes"},
	{.resource = "persistentvolumeclaims"},
	{.resource = "storageclasses.storage.k8s.io"},
	{.resource = "reservations.scheduling.koordinator.sh"},
	{.resource = "podmigrationjobs.scheduling.koordinator.sh"},
	{.resource = "deployments.apps"},
	{.resource = "statefulsets.apps"},
	{.resource = "replicationcontrollers"},
	{.resource = "clonesets.apps.kruise.io"},
	{.resource = "statefulsets.apps.kruise.io"},
	{.resource = "replicasets.apps"},
	{.resource = "pods"},
};

static struct neap_transport *transport_of(const struct neap_role_remote *role)
{
	return role->link != NULL ? neap_link_transport(role->link) : NULL;
}

static const struct neap_log *log_of(const struct neap_role_remote *role)
{
	return &role->process->log;
}

int neap_role_remote_open(struct neap_role_remote *role,
			  const struct neap_process *process, struct neap_error *err)
{
	const struct neap_config *config = &process->config;
	const char *file = config->kubeconfig;
	const struct neap_remote_source source = {
		.file = strcmp(file, "auto") == 0 ? NULL : file};
	const struct neap_link_config link = {.name = "api server",
					      .uid = process->account.uid,
					      .gid = process->account.gid,
					      .jail = config->seccomp,
					      .rate = (double)config->api_qps,
					      .burst = (double)config->api_burst,
					      .log = &process->log};
	struct neap_remote_target *target = NULL;

	role->process = process;
	if (*file == '\0')
		return 0;
	if (neap_remote_target_load(&source, &target, err) < 0)
		return neap_error_wrap(err, "--kubeconfig");
	return neap_link_open(&link, target, &role->link, err);
}

/* --- who works --- */

static bool has(const struct neap_role_remote *role, enum neap_role which)
{
	return (role->process->config.roles & which) != 0;
}

/* What differs between the two. */
static const struct leader {
	enum neap_role role;
	const char *manager;
	const struct neap_remote_resource *resources;
	size_t resource_count;
} kinds[NEAP_LEADERS] = {
	[NEAP_LEADER_SCHEDULER] = {NEAP_ROLE_SCHEDULER, "neap-scheduler", resources,
				   NEAP_ARRAY_LEN(resources)},
	[NEAP_LEADER_DESCHEDULER] = {NEAP_ROLE_DESCHEDULER, "neap-descheduler",
				     descheduler_resources,
				     NEAP_ARRAY_LEN(descheduler_resources)},
};

static enum neap_leader_number number_of(const struct neap_role_leader *leader)
{
	return (enum neap_leader_number)(leader - leader->remote->leaders);
}

static void look(struct neap_role_leader *leader)
{
	struct neap_role_remote *role = leader->remote;
	bool may = leader->is_filled && leader->is_leading;

	if (may == leader->has_begun || role->is_ending)
		return;
	leader->has_begun = may;
	if (may)
		role->events->begin(role->arg, number_of(leader),
				    neap_remote_client(leader->client));
	else
		role->events->end(role->arg, number_of(leader));
}

static void filled(void *arg)
{
	struct neap_role_leader *leader = arg;
	const struct neap_role_remote *role = leader->remote;
	bool are_two = has(role, NEAP_ROLE_SCHEDULER) && has(role, NEAP_ROLE_DESCHEDULER);

	neap_log_line(log_of(role), NEAP_LOG_INFO, "api server: its objects are read%s%s",
		      are_two ? " for " : "",
		      are_two ? kinds[number_of(leader)].manager : "");
	leader->is_filled = true;
	look(leader);
}

static void node_filled(void *arg)
{
	struct neap_role_remote *role = arg;

	neap_log_line(log_of(role), NEAP_LOG_INFO,
		      "api server: the objects of node %s are read",
		      role->process->config.node_name);
	role->is_node_filled = true;
	if (!role->is_ending)
		role->events->node_filled(role->arg);
}

static void leads(void *arg)
{
	struct neap_role_leader *leader = arg;

	leader->is_leading = true;
	leader->reign++;
	look(leader);
}

static void leads_no_more(void *arg, const char *why)
{
	struct neap_role_leader *leader = arg;

	(void)why;
	leader->is_leading = false;
	look(leader);
}

static uint64_t reign(void *arg)
{
	const struct neap_role_leader *leader = arg;

	return leader->lease == NULL || neap_lease_is_held(leader->lease) ? leader->reign
									  : 0;
}

static const char *lease_name(const struct neap_role_leader *leader)
{
	const struct neap_config *config = &leader->remote->process->config;

	return number_of(leader) == NEAP_LEADER_DESCHEDULER
		       ? config->descheduler_lease_name
		       : config->lease_name;
}

static const char *lease_ns(const struct neap_role_leader *leader)
{
	const struct neap_config *config = &leader->remote->process->config;

	return number_of(leader) == NEAP_LEADER_DESCHEDULER ? config->descheduler_lease_ns
							    : config->lease_ns;
}

bool neap_role_remote_is_filled(const struct neap_role_remote *role)
{
	for (size_t i = 0; i < NEAP_LEADERS; i++)
		if (has(role, kinds[i].role) && !role->leaders[i].is_filled)
			return false;
	return role->is_node_filled || !has(role, NEAP_ROLE_NODE);
}

bool neap_role_remote_is_working(const struct neap_role_remote *role,
				 const char **ret_why)
{
	const struct neap_role_leader *leader =
		&role->leaders[has(role, NEAP_ROLE_SCHEDULER) ? NEAP_LEADER_SCHEDULER
							      : NEAP_LEADER_DESCHEDULER];

	*ret_why = !leader->is_filled ? "neapd is still reading the cluster"
				      : "another neapd leads";
	return leader->has_begun;
}

/* --- start --- */

/* HOST_UUID: never the host's name alone, as two may run there. */
static int make_identity(const struct neap_config *config, char *buf, size_t size,
			 struct neap_error *err)
{
	unsigned char bytes[16];
	size_t len;

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return neap_error_sys(err, "draw an identity");
	bytes[6] = (unsigned char)((bytes[6] & 0x0f) | 0x40);
	bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80);
	len = (size_t)snprintf(buf, size, "%s_", config->node_name);
	for (size_t i = 0; i < sizeof(bytes) && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%02x",
					i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
					bytes[i]);
	return 0;
}

static int elect(struct neap_role_leader *leader, struct neap_error *err)
{
	const struct neap_role_remote *role = leader->remote;
	const struct neap_config *config = &role->process->config;
	char identity[512];
	const struct neap_lease_config lease = {.base = role->process->base,
						.transport = transport_of(role),
						.ns = lease_ns(leader),
						.name = lease_name(leader),
						.identity = identity,
						.manager =
							kinds[number_of(leader)].manager,
						.duration_usec = config->lease_usec,
						.renew_usec = config->lease_renew_usec,
						.retry_usec = config->lease_retry_usec,
						.began = leads,
						.ended = leads_no_more,
						.arg = leader,
						.log = log_of(role)};

	if (!config->leader_elect) {
		leads(leader);
		return 0;
	}
	if (make_identity(config, identity, sizeof(identity), err) < 0)
		return -(int)err->code;
	return neap_lease_new(&lease, &leader->lease, err);
}

/* A role that stood still, or was cut off, writes nothing more. */
static int read_cluster(struct neap_role_leader *leader, struct neap_error *err)
{
	const struct leader *kind = &kinds[number_of(leader)];
	const struct neap_remote_config remote = {.base = leader->remote->process->base,
						  .transport =
							  transport_of(leader->remote),
						  .resources = kind->resources,
						  .resource_count = kind->resource_count,
						  .manager = kind->manager,
						  .filled = filled,
						  .reign = reign,
						  .arg = leader,
						  .log = log_of(leader->remote)};

	return neap_remote_new(&remote, &leader->client, err) == 0 ? elect(leader, err)
								   : -(int)err->code;
}

/* Nothing but what is about this node. */
static int read_node(struct neap_role_remote *role, struct neap_error *err)
{
	const char *name = role->process->config.node_name;
	const struct neap_remote_resource of_node[] = {
		{.resource = "nodes", .selector = role->by_name},
		{.resource = "nodemetrics.slo.koordinator.sh", .selector = role->by_name},
		{.resource = "noderesourcetopologies.topology.node.k8s.io",
		 .selector = role->by_name},
		{.resource = "pods", .selector = role->by_node},
	};
	const struct neap_remote_config remote = {.base = role->process->base,
						  .transport = transport_of(role),
						  .resources = of_node,
						  .resource_count =
							  NEAP_ARRAY_LEN(of_node),
						  .manager = "neap-node",
						  .filled = node_filled,
						  .arg = role,
						  .log = log_of(role)};

	(void)snprintf(role->by_name, sizeof(role->by_name), "metadata.name=%s", name);
	(void)snprintf(role->by_node, sizeof(role->by_node), "spec.nodeName=%s", name);
	return neap_remote_new(&remote, &role->node, err);
}

static int begin_reading(void *arg, struct neap_error *err)
{
	struct neap_role_remote *role = arg;

	for (size_t i = 0; i < NEAP_LEADERS; i++) {
		role->leaders[i].remote = role;
		if (has(role, kinds[i].role) && read_cluster(&role->leaders[i], err) < 0)
			return -(int)err->code;
	}
	return has(role, NEAP_ROLE_NODE) ? read_node(role, err) : 0;
}

static void lost(void *arg)
{
	struct neap_role_remote *role = arg;

	role->events->lost(role->arg);
}

int neap_role_remote_start(struct neap_role_remote *role,
			   const struct neap_role_remote_events *events, void *arg,
			   struct neap_error *err)
{
	static const struct neap_link_events of_link = {.ready = begin_reading,
							.lost = lost};

	if (role->link == NULL)
		return 0;
	role->events = events;
	role->arg = arg;
	return neap_link_start(role->link, role->process->base, &of_link, role, err);
}

void neap_role_remote_add_metrics(void *arg, struct neap_buf *out)
{
	const struct neap_role_remote *role = arg;
	struct neap_remote_figures figures = {.transport = transport_of(role),
					      .remotes = {[NEAP_LEADERS] = role->node}};

	for (size_t i = 0; i < NEAP_LEADERS; i++) {
		const struct neap_role_leader *leader = &role->leaders[i];

		if (leader->client == NULL)
			continue;
		figures.remotes[i] = leader->client;
		figures.leases[i] = leader->lease;
		figures.lease_names[i] = lease_name(leader);
	}
	if (figures.transport != NULL)
		neap_remote_add_metrics(&figures, out);
}

/* --- the end --- */

static void released(void *arg)
{
	--*(int *)arg;
}

/* So that another one need not wait for a Lease to run out. */
static void release(struct neap_role_remote *role)
{
	static const struct timeval limit = {.tv_sec = RELEASE_USEC / 1000000};
	int64_t end = neap_clock_steady() + RELEASE_USEC;
	static int left; /* it may be told later than this returns */

	role->is_ending = true; /* whatever else the loop brings now */
	for (size_t i = 0; i < NEAP_LEADERS; i++) {
		if (role->leaders[i].lease == NULL)
			continue;
		left++;
		neap_lease_release(role->leaders[i].lease, released, &left);
	}
	if (left == 0)
		return;
	(void)event_base_loopexit(role->process->base,
				  &limit); /* one turn ends by then */
	while (left > 0 && neap_clock_steady() < end)
		(void)event_base_loop(role->process->base, EVLOOP_ONCE);
}

void neap_role_remote_free(struct neap_role_remote *role)
{
	if (role->link != NULL)
		release(role);
	for (size_t i = 0; i < NEAP_LEADERS; i++) {
		neap_lease_free(role->leaders[i].lease);
		neap_remote_free(role->leaders[i].client);
	}
	neap_remote_free(role->node);
	neap_link_free(role->link);
	*role = (struct neap_role_remote){0};
}
