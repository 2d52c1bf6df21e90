/* SPDX-License-Identifier: Apache-2.0
 *
 * What the hand may write, by the configuration; and restoring without a daemon. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/daemon/start.h"
#include "engine/base/mem.h"
#include "hw/doctor/facts.h"

int neap_trees_find(const struct neap_config *config, const struct neap_cgroup *cgroup,
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

bool neap_finds_kubelet(const struct neap_config *config, int tree_count)
{
	return tree_count == NEAP_TREES_OWN && strcmp(config->kubepods, "auto") == 0;
}

void neap_kubelet_dir_find(const struct neap_config *config, char *buf, size_t size)
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

void neap_kubelet_dir_tell(const struct neap_config *config, const char *dir,
			   const struct neap_log *log)
{
	char now[256];

	if (strcmp(config->kubelet_dir, "auto") != 0)
		return;
	neap_kubelet_dir_find(config, now, sizeof(now));
	if (strcmp(now, dir) != 0)
		neap_log_line(
			log, NEAP_LOG_WARN,
			"the kubelet has its folder in %s, and %s is read: which CPUs "
			"it gives to pods is not known; start neapd again",
			now, dir);
}

enum neap_cgroup_driver neap_host_driver(const struct neap_tree *trees, int tree_count)
{
	return tree_count > NEAP_TREES_OWN ? trees[NEAP_TREES_OWN].driver
					   : NEAP_DRIVER_SYSTEMD;
}

int neap_hand_config_fill(const struct neap_config *config,
			  const struct neap_cgroup *cgroup, const struct neap_tree *trees,
			  int tree_count, const struct neap_log *log,
			  struct neap_hand_config *ret, struct neap_error *err)
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
			    neap_host_driver(trees, tree_count), &config->host_apps[i],
			    ret->roots[ret->root_count++], NEAP_PATH_MAX, err) < 0)
			return neap_error_wrap(err, "hostApplications[%d]", i);
	}
	ret->finds_kubelet = neap_finds_kubelet(config, tree_count);
	neap_kubelet_dir_find(config, kubelet_dir, sizeof(kubelet_dir));
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
	tree_count = neap_trees_find(config, &cgroup, trees);
	count = neap_hand_config_fill(config, &cgroup, trees, tree_count, log, &hand,
				      &err);
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
