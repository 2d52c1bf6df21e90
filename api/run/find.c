/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the workloads: pods from the scan and configured host applications, each with its
 * groups. When no group came or went, no lookup by name is needed. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/run/node_priv.h"
#include "api/run/pods_priv.h"
#include "engine/base/mem.h"

#define POD_PARTS                                                                        \
	(NEAP_READ_CPU | NEAP_READ_THROTTLE | NEAP_READ_MEMORY | NEAP_READ_CPU_PRESSURE)

static struct node_workload *workload_of(struct node_observe *observe, const char *dir,
					 struct node_group *group)
{
	struct node_workload *workload = neap_map_find(observe->workloads, dir);

	if (workload != NULL) {
		workload->group = group;
		return workload;
	}
	workload = neap_alloc(sizeof(*workload));
	if (workload == NULL)
		return NULL;
	workload->group = group;
	workload->used = neap_window_new(observe->config->window_samples);
	workload->cpu_request_milli = NEAP_MISSING;
	workload->cpu_limit_milli = NEAP_MISSING;
	workload->memory_limit_bytes = NEAP_MISSING;
	workload->processes = NEAP_MISSING;
	if (workload->used == NULL || !neap_map_set(observe->workloads, dir, workload)) {
		neap_workload_free(workload);
		return NULL;
	}
	return workload;
}

static int note_pod(struct node_observe *observe, const struct neap_scan_pod *pod)
{
	struct node_group *group = neap_node_group(observe, pod->dir, POD_PARTS);
	bool is_new;
	struct node_workload *workload =
		group == NULL ? NULL : workload_of(observe, pod->dir, group);

	if (workload == NULL)
		return -NEAP_ENOMEM;
	is_new = workload->id[0] == '\0';
	if (is_new) {
		(void)neap_strcopy(workload->id, sizeof(workload->id), pod->uid);
		(void)neap_strcopy(workload->name, sizeof(workload->name), pod->uid);
		workload->kube_qos = pod->kube_qos;
		workload->is_own = pod->tree->is_own;
		workload->source = pod->tree->is_own ? "run" : "kubelet";
		if (pod->tree->is_own) {
			workload->qos = pod->kube_qos == NEAP_KUBE_BESTEFFORT
						? NEAP_QOS_BE
						: NEAP_QOS_LS;
			observe->came(observe->node, workload);
		}
	}
	workload->seen = observe->ticks;
	if (workload->container_count != pod->container_count) {
		struct node_group **grown =
			neap_realloc_array(workload->containers, pod->container_count + 1,
					   sizeof(struct node_group *));

		if (grown == NULL)
			return -NEAP_ENOMEM;
		workload->containers = grown;
		workload->container_count = pod->container_count;
	}
	workload->young_until =
		observe->ticks + 1; /* its present containers are asked once more */
	for (size_t i = 0; i < pod->container_count; i++) {
		char dir[NEAP_PATH_MAX * 2];

		(void)snprintf(dir, sizeof(dir), "%s/%s", pod->dir,
			       pod->containers[i].name);
		workload->containers[i] = neap_node_group(observe, dir, 0);
		if (workload->containers[i] == NULL) {
			workload->container_count = i;
			return -NEAP_ENOMEM;
		}
		if (workload->young_until <
		    workload->containers[i]->born + UNSETTLED_LOOKS)
			workload->young_until =
				workload->containers[i]->born + UNSETTLED_LOOKS;
	}
	return 0;
}

static int note_host_app(struct node_observe *observe, const struct neap_host_app *app)
{
	char dir[NEAP_PATH_MAX];
	struct node_workload *workload;
	struct node_group *group;
	struct neap_error err;

	if (neap_path_host_app(observe->config->host_driver, app, dir, sizeof(dir),
			       &err) < 0)
		return 0; /* logged at start */
	group = neap_node_group(observe, dir, POD_PARTS);
	workload = group == NULL ? NULL : workload_of(observe, dir, group);
	if (workload == NULL)
		return -NEAP_ENOMEM;
	if (workload->id[0] == '\0') {
		(void)snprintf(workload->id, sizeof(workload->id), "host:%s", app->name);
		(void)neap_strcopy(workload->name, sizeof(workload->name), app->name);
		workload->source = "host";
		workload->is_host_app = true;
		workload->qos = app->qos;
		workload->kube_qos = NEAP_KUBE_GUARANTEED;
		if (app->has_path && app->base == NEAP_BASE_KUBEPODS_BURSTABLE)
			workload->kube_qos = NEAP_KUBE_BURSTABLE;
		if (app->has_path && app->base == NEAP_BASE_KUBEPODS_BESTEFFORT)
			workload->kube_qos = NEAP_KUBE_BESTEFFORT;
	}
	workload->seen = observe->ticks;
	return 0;
}

void neap_workload_free(struct node_workload *workload)
{
	if (workload == NULL)
		return;
	neap_window_free(workload->used);
	free(workload->containers);
	free(workload);
}

static void drop_unseen_workloads(struct node_observe *observe)
{
	for (size_t i = neap_map_count(observe->workloads); i-- > 0;) {
		const char *dir;
		struct node_workload *workload = neap_map_at(observe->workloads, i, &dir);

		if (workload->seen == observe->ticks)
			continue;
		(void)neap_map_remove(observe->workloads, dir);
		neap_workload_free(workload);
	}
}

int neap_find_workloads(struct node_observe *observe, struct neap_error *err)
{
	int j, rc;

	rc = neap_scan_look(observe->scan, err);
	if (rc < 0) {
		observe->has_found = false;
		return neap_error_wrap(err, "look for workloads");
	}
	/* No group came or went: no lookup by name is needed. */
	if (rc == 0 && observe->has_found)
		return 0;
	observe->has_found = false;
	observe->found_tick = observe->ticks;
	for (size_t i = 0; i < neap_scan_pod_count(observe->scan); i++) {
		if (note_pod(observe, neap_scan_pod_get(observe->scan, i)) < 0)
			return neap_error_nomem(err);
	}
	for (j = 0; j < observe->config->host_app_count; j++) {
		if (note_host_app(observe, &observe->config->host_apps[j]) < 0)
			return neap_error_nomem(err);
	}
	drop_unseen_workloads(observe);
	observe->has_found = true;
	return 0;
}

/* --- names of pods --- */

#define YOUNG_TICKS 30 /* a new pod's folder is looked for at each tick */
#define OLD_EVERY   60 /* later; a pod of no kubelet has no folder */

static bool is_unnamed(const struct node_workload *workload)
{
	return !workload->is_named && strcmp(workload->source, "kubelet") == 0;
}

static bool is_due(const struct node_observe *observe)
{
	/* No pod is young: the pods themselves are not looked at. */
	if (observe->ticks - observe->found_tick >= YOUNG_TICKS &&
	    observe->ticks % OLD_EVERY != 0)
		return false;
	for (size_t i = 0; i < neap_map_count(observe->workloads); i++) {
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

	if (uid == NULL || name == folder || uid == name + 1)
		return;
	for (size_t i = 0; i < neap_map_count(observe->workloads); i++) {
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

	if (workload != NULL && workload->is_named)
		return neap_strcopy(buf, size, workload->name);
	for (size_t i = 0; i < neap_map_count(plan->made->pods); i++) {
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
	for (size_t i = 0; i < neap_map_count(node->observe.workloads); i++) {
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
