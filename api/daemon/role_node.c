/* SPDX-License-Identifier: Apache-2.0
 *
 * The node role: what the hand may write by the configuration, the node's descriptors and
 * wake-ups on libevent, the node itself; and restoring without a daemon. */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/daemon/roles.h"
#include "api/daemon/start.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/machine/sample.h"
#include "hw/doctor/facts.h"

/* --- the node's descriptors and wake-ups --- */

struct neap_loop {
	struct event_base *base;
	struct event *timer;
	void (*wake)(void *arg);
	void *arg;
};

struct watch {
	struct event *event;
	void (*ready)(void *arg);
	void *arg;
};

static void watch_ready(evutil_socket_t fd, short what, void *arg)
{
	const struct watch *watch = arg;

	(void)fd;
	(void)what;
	watch->ready(watch->arg); /* may end the watch */
}

static void watch_end(void *arg, void *handle)
{
	struct watch *watch = handle;

	(void)arg;
	if (watch->event != NULL)
		event_free(watch->event);
	free(watch);
}

static void *watch_start(void *arg, int fd, void (*ready)(void *ready_arg),
			 void *ready_arg)
{
	struct neap_loop *loop = arg;
	struct watch *watch = neap_alloc(sizeof(*watch));

	if (watch == NULL)
		return NULL;
	watch->ready = ready;
	watch->arg = ready_arg;
	watch->event =
		event_new(loop->base, fd, EV_READ | EV_PERSIST, watch_ready, watch);
	if (watch->event == NULL || event_add(watch->event, NULL) < 0) {
		watch_end(loop, watch);
		return NULL;
	}
	return watch;
}

static void wake_after(void *arg, int64_t after_usec)
{
	struct neap_loop *loop = arg;
	struct timeval wait = {after_usec / 1000000, after_usec % 1000000};

	(void)event_add(loop->timer,
			&wait); /* without memory the next tick comes anyway */
}

static void timer_ended(evutil_socket_t fd, short what, void *arg)
{
	struct neap_loop *loop = arg;

	(void)fd;
	(void)what;
	loop->wake(loop->arg);
}

/* Calls wake when the time that the node requested has passed. Free it after the node. */
static struct neap_loop *loop_new(struct event_base *base, void (*wake)(void *arg),
				  void *arg)
{
	struct neap_loop *loop = neap_alloc(sizeof(*loop));

	if (loop == NULL)
		return NULL;
	*loop = (struct neap_loop){.base = base, .wake = wake, .arg = arg};
	loop->timer = evtimer_new(base, timer_ended, loop);
	if (loop->timer == NULL) {
		free(loop);
		return NULL;
	}
	return loop;
}

static void loop_free(struct neap_loop *loop)
{
	if (loop == NULL)
		return;
	event_free(loop->timer);
	free(loop);
}

static struct neap_node_loop loop_functions(struct neap_loop *loop)
{
	return (struct neap_node_loop){loop, watch_start, watch_end, wake_after};
}

/* --- what the hand may write --- */

static int trees_find(const struct neap_config *config, const struct neap_cgroup *cgroup,
		      struct neap_tree trees[NEAP_TREES_MAX])
{
	struct neap_tree *kube = &trees[NEAP_TREES_OWN];

	neap_trees_own(cgroup, config->group, config->best_effort_group, trees);
	memset(kube, 0, sizeof(*kube));
	if (strcmp(config->kubepods, "off") == 0)
		return NEAP_TREES_OWN;
	if (strcmp(config->kubepods, "auto") == 0)
		return neap_scan_find_kubelet(cgroup, kube) ? NEAP_TREES_MAX
							    : NEAP_TREES_OWN;
	(void)neap_strcopy(kube->root, sizeof(kube->root), config->kubepods);
	kube->driver = neap_path_root_driver(config->kubepods);
	return NEAP_TREES_MAX;
}

/* Whether neapd still looks for the kubelet's group. */
static bool finds_kubelet(const struct neap_config *config, int tree_count)
{
	return tree_count == NEAP_TREES_OWN && strcmp(config->kubepods, "auto") == 0;
}

/* Writes --kubelet-dir into buf; for auto, the folder of the running kubelet. Needs root,
 * to resolve a relative path of that process. */
static void kubelet_dir_find(const struct neap_config *config, char *buf, size_t size)
{
	neap_auto_free struct neap_kubelet_process *kubelet = NULL;

	(void)neap_strcopy(buf, size, config->kubelet_dir);
	if (strcmp(buf, "auto") != 0)
		return;
	(void)neap_strcopy(buf, size, "/var/lib/kubelet");
	kubelet = neap_alloc(sizeof(*kubelet));
	if (kubelet == NULL)
		return;
	neap_facts_kubelet_find(config->sys_root, kubelet);
	(void)neap_strcopy(buf, size, kubelet->dir);
}

/* Logs a warning when a kubelet that came after the start uses another folder than
 * dir. */
static void kubelet_dir_tell(const struct neap_config *config, const char *dir,
			     const struct neap_log *log)
{
	char now[256];

	if (strcmp(config->kubelet_dir, "auto") != 0)
		return;
	kubelet_dir_find(config, now, sizeof(now));
	if (strcmp(now, dir) != 0)
		neap_log_line(
			log, NEAP_LOG_WARN,
			"the kubelet has its folder in %s, and %s is read: which CPUs "
			"it gives to pods is not known; start neapd again",
			now, dir);
}

/* How paths of host applications are built on this machine. */
static enum neap_cgroup_driver host_driver(const struct neap_tree *trees, int tree_count)
{
	return tree_count > NEAP_TREES_OWN ? trees[NEAP_TREES_OWN].driver
					   : NEAP_DRIVER_SYSTEMD;
}

static int hand_config_fill(const struct neap_config *config,
			    const struct neap_cgroup *cgroup,
			    const struct neap_tree *trees, int tree_count,
			    const struct neap_log *log, struct neap_hand_config *ret,
			    struct neap_error *err)
{
	char kubelet_dir[256];
	int i;

	memset(ret, 0, sizeof(*ret));
	ret->cgroup = cgroup;
	(void)neap_strcopy(ret->run_dir, sizeof(ret->run_dir), config->run_dir);
	for (i = 0; i < NEAP_TREES_OWN; i++)
		(void)neap_strcopy(ret->own_roots[i], NEAP_PATH_MAX, trees[i].root);
	for (i = 0; i < tree_count; i++)
		(void)neap_strcopy(ret->roots[ret->root_count++], NEAP_PATH_MAX,
				   trees[i].root);
	for (i = 0; i < config->host_app_count; i++) {
		if (neap_path_host_app(
			    host_driver(trees, tree_count), &config->host_apps[i],
			    ret->roots[ret->root_count++], NEAP_PATH_MAX, err) < 0)
			return neap_error_wrap(err, "hostApplications[%d]", i);
	}
	ret->finds_kubelet = finds_kubelet(config, tree_count);
	kubelet_dir_find(config, kubelet_dir, sizeof(kubelet_dir));
	if (kubelet_dir[0] != '\0')
		(void)snprintf(ret->kubelet_dir, sizeof(ret->kubelet_dir), "%s%s",
			       config->sys_root, kubelet_dir);
	ret->release_after_usec = config->release_after_usec;
	ret->curve = config->weight_curve;
	ret->jail = config->seccomp;
	ret->log = *log;
	ret->log.program = "neap-hand";
	return 0;
}

/* Returns a count, or -code. */
typedef int without_daemon(const struct neap_hand_config *hand, struct neap_error *err);

/* Returns the count, or -1 after it reported the failure. */
static int without_daemon_do(const struct neap_config *config, const struct neap_log *log,
			     const char *option, without_daemon *what)
{
	const char *root = config->cgroup_root[0] != '\0' ? config->cgroup_root : NULL;
	struct neap_tree trees[NEAP_TREES_MAX] = {0};
	struct neap_cgroup cgroup;
	struct neap_hand_config hand;
	struct neap_error err;
	int count, tree_count;

	if (geteuid() != 0) {
		fprintf(stderr, "neapd: %s needs root: run it with sudo\n", option);
		return -1;
	}
	if (neap_cgroup_probe(root, &cgroup, &err) < 0) {
		fprintf(stderr, "neapd: %s\n", err.msg);
		return -1;
	}
	tree_count = trees_find(config, &cgroup, trees);
	count = hand_config_fill(config, &cgroup, trees, tree_count, log, &hand, &err);
	if (count == 0)
		count = what(&hand, &err);
	neap_cgroup_done(&cgroup);
	if (count < 0)
		fprintf(stderr, "neapd: %s\n", err.msg);
	return count < 0 ? -1 : count;
}

int neap_hand_give_back_now(const struct neap_config *config, const struct neap_log *log)
{
	int count = without_daemon_do(config, log, "--give-back", neap_hand_give_back);

	if (count < 0)
		return EXIT_FAILURE;
	printf("gave back %d value%s\n", count, count == 1 ? "" : "s");
	return EXIT_SUCCESS;
}

int neap_hand_give_back_later(const struct neap_config *config,
			      const struct neap_log *log)
{
	return without_daemon_do(config, log, "--give-back-later", neap_hand_stand_in) < 0
		       ? EXIT_FAILURE
		       : EXIT_SUCCESS;
}

static int hand_start(struct neap_role_node *role, struct neap_error *err)
{
	const struct neap_config *config = &role->process->config;
	struct neap_hand_config hand;

	if (geteuid() != 0 || (config->roles & NEAP_ROLE_NODE) == 0 ||
	    (config->dry_run && role->kubelet_dir[0] == '\0'))
		return 0;
	if (hand_config_fill(config, &role->cgroup, role->trees, role->tree_count,
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
	kubelet_dir_find(config, role->kubelet_dir, sizeof(role->kubelet_dir));
	role->tree_count = trees_find(config, &role->cgroup, role->trees);
	return hand_start(role, err);
}

static void kubelet_came(void *arg)
{
	const struct neap_role_node *role = arg;

	kubelet_dir_tell(&role->process->config, role->kubelet_dir, &role->process->log);
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
		.host_driver = host_driver(role->trees, role->tree_count),
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
		.record = policies->recorders.samples,
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
	role->loop = loop_new(role->process->base, react, role);
	if (role->loop == NULL)
		return neap_error_nomem(err);
	node.loop = loop_functions(role->loop);
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
	return finds_kubelet(&role->process->config, role->tree_count);
}

void neap_role_node_stop(struct neap_role_node *role)
{
	if (role->hand_event != NULL)
		event_free(role->hand_event);
	role->hand_event = NULL;
	neap_node_free(role->node);
	role->node = NULL;
	loop_free(role->loop);
	role->loop = NULL;
}

void neap_role_node_free(struct neap_role_node *role)
{
	neap_hand_free(role->hand);
	neap_cgroup_done(&role->cgroup);
}
