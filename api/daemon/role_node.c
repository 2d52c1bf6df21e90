/* SPDX-License-Identifier: Apache-2.0 */
#include "api/daemon/role_node.h"

#include <event2/event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/daemon/loop.h"
#include "api/daemon/role_policies.h"
#include "api/daemon/start.h"
#include "engine/base/clock.h"
#include "engine/machine/sample.h"

static int hand_start(struct neap_role_node *role, struct neap_error *err)
{
	const struct neap_config *config = &role->process->config;
	struct neap_hand_config hand;

	if (geteuid() != 0 || (config->roles & NEAP_ROLE_NODE) == 0 ||
	    (config->dry_run && role->kubelet_dir[0] == '\0'))
		return 0;
	if (neap_hand_config_fill(config, &role->cgroup, role->trees, role->tree_count,
				  &role->process->log, &hand, err) < 0)
		return -(int)err->code;
	hand.only_reads = config->dry_run;
	return neap_hand_start(&hand, &role->hand, err);
}

int neap_role_node_find(struct neap_role_node *role, const struct neap_process *process,
			struct neap_error *err)
{
	const struct neap_config *config = &process->config;
	const char *root = config->cgroup_root;

	role->process = process;
	if (neap_cgroup_probe(root[0] != '\0' ? root : NULL, &role->cgroup, err) < 0)
		return -(int)err->code;
	neap_kubelet_dir_find(config, role->kubelet_dir, sizeof(role->kubelet_dir));
	role->tree_count = neap_trees_find(config, &role->cgroup, role->trees);
	return hand_start(role, err);
}

static void kubelet_came(void *arg)
{
	const struct neap_role_node *role = arg;

	neap_kubelet_dir_tell(&role->process->config, role->kubelet_dir,
			      &role->process->log);
}

static void policy_failed(void *arg, const char *kind, const char *name, const char *why)
{
	const struct neap_role_node *role = arg;

	neap_live_failed(role->policies->live, kind, name, why);
}

/* A pressure trigger fired. */
static void react(void *arg)
{
	struct neap_role_node *role = arg;

	neap_node_react(role->node, neap_clock_usec(CLOCK_MONOTONIC),
			neap_clock_usec(CLOCK_REALTIME));
	neap_role_node_watch_hand(role);
}

int neap_role_node_start(struct neap_role_node *role,
			 const struct neap_role_policies *policies,
			 struct neap_error *err)
{
	const struct neap_config *config = &role->process->config;
	struct neap_node_config node = {
		.tree_count = role->tree_count,
		.host_apps = config->host_apps,
		.host_app_count = config->host_app_count,
		.host_driver = neap_host_driver(role->trees, role->tree_count),
		.sys_root = config->sys_root,
		.finds_kubelet = neap_role_node_finds_kubelet(role),
		.kubelet_dir = role->kubelet_dir,
		.record_dir = role->record_dir,
		.freeze_file = role->freeze_file,
		.window_usec = config->window_usec,
		.reserve_milli = config->reserve_milli,
		.dry_run = config->dry_run,
		.curve = config->weight_curve,
		.log = role->process->log,
		.record = policies->record,
		.policy_failed = policy_failed,
		.kubelet_came = kubelet_came,
		.arg = role,
	};

	if ((config->roles & NEAP_ROLE_NODE) == 0)
		return 0;
	role->policies = policies;
	memcpy(node.trees, role->trees, sizeof(node.trees));
	(void)snprintf(role->record_dir, sizeof(role->record_dir), "%s/workloads",
		       config->data_dir);
	(void)snprintf(role->freeze_file, sizeof(role->freeze_file), "%s/freeze",
		       config->run_dir);
	/* A long window of short ticks keeps the newest samples that fit. */
	node.window_samples = (int)(config->window_usec / config->tick_usec) + 2;
	if (node.window_samples > NEAP_WINDOW_SAMPLES_MAX)
		node.window_samples = NEAP_WINDOW_SAMPLES_MAX;
	if (neap_cpuset_parse(&node.reserved_cpus, config->reserved_cpus, err) < 0)
		return neap_error_wrap(err, "--reserved-cpus");
	if (neap_cpuset_parse(&node.system_cpus, config->system_cpus, err) < 0)
		return neap_error_wrap(err, "--system-cpus");
	role->loop = neap_loop_new(role->process->base, react, role);
	if (role->loop == NULL)
		return neap_error_nomem(err);
	node.loop = neap_loop_functions(role->loop);
	return neap_node_new(&node, &role->cgroup, role->hand, policies->registry,
			     &role->node, err);
}

static void hand_ready(evutil_socket_t fd, short what, void *arg)
{
	struct neap_role_node *role = arg;
	struct neap_error err = {0};

	(void)fd;
	(void)what;
	if (neap_node_hear(role->node, neap_clock_usec(CLOCK_REALTIME), &err) < 0) {
		role->heard.lost(role->heard.arg, &err);
		return;
	}
	role->heard.answered(role->heard.arg);
	neap_role_node_watch_hand(role);
}

void neap_role_node_hear(struct neap_role_node *role,
			 const struct neap_role_node_heard *heard)
{
	role->heard = *heard;
	neap_role_node_watch_hand(role);
}

void neap_role_node_watch_hand(struct neap_role_node *role)
{
	short what = EV_READ | EV_PERSIST;

	if (role->hand == NULL)
		return;
	if (neap_node_wants_write(role->node))
		what |= EV_WRITE;
	if (role->hand_event != NULL) {
		if (event_get_events(role->hand_event) == what)
			return;
		event_free(role->hand_event);
	}
	role->hand_event = event_new(role->process->base, neap_hand_fd(role->hand), what,
				     hand_ready, role);
	if (role->hand_event == NULL || event_add(role->hand_event, NULL) == 0)
		return;
	event_free(role->hand_event); /* without memory the next tick tries again */
	role->hand_event = NULL;
}

bool neap_role_node_finds_kubelet(const struct neap_role_node *role)
{
	return neap_finds_kubelet(&role->process->config, role->tree_count);
}

void neap_role_node_stop(struct neap_role_node *role)
{
	if (role->hand_event != NULL)
		event_free(role->hand_event);
	role->hand_event = NULL;
	neap_node_free(role->node);
	role->node = NULL;
	neap_loop_free(role->loop);
	role->loop = NULL;
}

void neap_role_node_free(struct neap_role_node *role)
{
	neap_hand_free(role->hand);
	neap_cgroup_done(&role->cgroup);
}
