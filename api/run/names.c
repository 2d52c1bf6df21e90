/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of pods. neap's own pods have names. A kubelet's groups have only uids, but the
 * kubelet creates a log directory NAMESPACE_NAME_UID for each pod before it starts
 * anything. Reading these names needs no rights or credentials and works without an API
 * server. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "api/run/node_priv.h"
#include "api/run/pods_priv.h"
#include "engine/base/mem.h"

#define YOUNG_TICKS 30 /* a new pod's folder is looked for at each tick */
#define OLD_EVERY   60 /* later; a pod of no kubelet has no folder */

static bool is_unnamed(const struct node_workload *workload)
{
	return !workload->is_named && strcmp(workload->source, "kubelet") == 0;
}

static bool is_due(const struct node_observe *observe)
{
	size_t i;

	for (i = 0; i < neap_map_count(observe->workloads); i++) {
		const struct node_workload *workload =
			neap_map_at(observe->workloads, i, NULL);

		if (is_unnamed(workload) &&
		    (observe->ticks - workload->group->born < YOUNG_TICKS ||
		     observe->ticks % OLD_EVERY == 0))
			return true;
	}
	return false;
}

/* Neither a namespace nor a pod's name has "_" in it. */
static void name_take(struct node_observe *observe, const char *folder)
{
	const char *name = strchr(folder, '_');
	const char *uid = name != NULL ? strchr(name + 1, '_') : NULL;
	size_t i;

	if (uid == NULL || name == folder || uid == name + 1)
		return;
	for (i = 0; i < neap_map_count(observe->workloads); i++) {
		struct node_workload *workload = neap_map_at(observe->workloads, i, NULL);

		if (!is_unnamed(workload) || strcmp(workload->id, uid + 1) != 0)
			continue;
		(void)snprintf(workload->name, sizeof(workload->name), "%.*s/%.*s",
			       (int)(name - folder), folder, (int)(uid - name - 1),
			       name + 1);
		workload->is_named = true;
		workload->view = NULL; /* the view has the old name */
	}
}

void neap_names_look(struct node_observe *observe)
{
	const struct dirent *entry;
	char path[512];
	DIR *dir;

	if (!is_due(observe))
		return;
	(void)snprintf(path, sizeof(path), "%s/var/log/pods", observe->config->sys_root);
	dir = opendir(path);
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL)
		name_take(observe, entry->d_name);
	(void)closedir(dir);
}

/* Matches the group of a pod, not of a container. neap's own pods get values before the
 * first look finds their group. */
static bool name_group(const struct node_plan *plan, const char *group, char *buf,
		       size_t size)
{
	const struct node_workload *workload =
		neap_map_find(plan->observe->workloads, group);
	size_t i;

	if (workload != NULL && workload->is_named)
		return neap_strcopy(buf, size, workload->name);
	for (i = 0; i < neap_map_count(plan->made->pods); i++) {
		const struct node_pod *pod = neap_map_at(plan->made->pods, i, NULL);

		if (strcmp(pod->launch.dir, group) != 0)
			continue;
		(void)snprintf(buf, size, "%s/%s", pod->spec->ns, pod->spec->name);
		return true;
	}
	return false;
}

void neap_names_pod(const struct node_plan *plan, const char *group, char *buf,
		    size_t size)
{
	const char *slash = strrchr(group, '/');
	char above[NEAP_PATH_MAX];

	buf[0] = '\0';
	if (name_group(plan, group, buf, size) || slash == NULL)
		return;
	(void)snprintf(above, sizeof(above), "%.*s", (int)(slash - group), group);
	(void)name_group(plan, above, buf, size);
}

bool neap_node_pod_name(const struct neap_node *node, const char *uid, char *ns,
			size_t ns_size, char *name, size_t name_size)
{
	size_t i;

	for (i = 0; i < neap_map_count(node->observe.workloads); i++) {
		const struct node_workload *workload =
			neap_map_at(node->observe.workloads, i, NULL);
		const char *slash = strchr(workload->name, '/');

		if (!workload->is_named || slash == NULL ||
		    strcmp(workload->id, uid) != 0)
			continue;
		(void)snprintf(ns, ns_size, "%.*s", (int)(slash - workload->name),
			       workload->name);
		return neap_strcopy(name, name_size, slash + 1);
	}
	return false;
}
