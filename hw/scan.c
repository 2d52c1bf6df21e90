/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods and containers as directories. Scanning a single directory, and its cost, is in
 * hw/scan_place.c. Everything is searched in the hierarchy of the CPU controller. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "hw/scan_priv.h"

struct pod {
	struct neap_scan_pod row;
	const struct class_dir *class;
	struct neap_scan_place place;
	bool is_kept; /* place and containers were handed on to the next look */
};

/* One directory in which pods are looked for. */
struct class_dir {
	const struct neap_tree *tree;
	enum neap_kube_qos qos;
	char dir[NEAP_PATH_MAX];
	struct neap_scan_place place;
	struct neap_scan_place_names names; /* subdirectories that are named as pods */
	bool was_moved;                     /* found so by the present look */
};

struct neap_scan {
	struct neap_tree *trees;
	struct class_dir *classes;
	size_t class_count;
	struct pod *pods;
	size_t pod_count;
	size_t looks;
	struct neap_scan_places places;
	/* every pod has a watch, and none reported anything since the last look */
	bool is_told;
	bool is_doubted; /* the next look goes by paths and reads all */
	/* a look failed half way: the list of pods is not that of the names */
	bool is_stale;
};

static bool is_pod_name(enum neap_cgroup_driver driver, const char *name)
{
	char uid[128];

	return neap_path_is_safe(name) &&
	       neap_path_parse_pod(driver, name, uid, sizeof(uid), NULL) == 0;
}

static bool is_container_name(enum neap_cgroup_driver driver, const char *name)
{
	char id[256];

	return neap_path_is_safe(name) &&
	       neap_path_parse_container(driver, name, id, sizeof(id), NULL) == 0;
}

static int compare_pods(const void *a, const void *b)
{
	const struct pod *x = a, *y = b;

	return strcmp(x->row.dir, y->row.dir);
}

static void free_pods(struct neap_scan *scan)
{
	for (size_t i = 0; i < scan->pod_count; i++) {
		if (scan->pods[i].is_kept)
			continue;
		neap_scan_place_close(&scan->places, &scan->pods[i].place);
		free(scan->pods[i].row.containers);
	}
	free(scan->pods);
}

/* Lists the pods in the class directories now; known data of the old ones is kept. */
static int rebuild_pods(struct neap_scan *scan, struct neap_error *err)
{
	size_t count = 0, made = 0;
	struct pod *pods;

	for (size_t i = 0; i < scan->class_count; i++)
		count += scan->classes[i].names.count;
	pods = neap_alloc_array(count, sizeof(*pods));
	if (!pods)
		return neap_error_nomem(err);
	for (size_t i = 0; i < scan->class_count; i++) {
		const struct class_dir *class = &scan->classes[i];

		for (size_t j = 0; j < class->names.count; j++) {
			const char *name = class->names.rows[j].name;
			struct neap_scan_pod *row = &pods[made].row;

			if (neap_path_parse_pod(class->tree->driver, name, row->uid,
						sizeof(row->uid), NULL) < 0 ||
			    snprintf(row->dir, sizeof(row->dir), "%s/%s", class->dir,
				     name) >= (int)sizeof(row->dir))
				continue;
			/* systemd takes "-" for a level, so kubelets write "_"; uids have
			 * none. */
			for (char *at = row->uid;
			     *at && class->tree->driver == NEAP_DRIVER_SYSTEMD; at++)
				*at = *at == '_' ? '-' : *at;
			row->tree = class->tree;
			row->kube_qos = class->qos;
			pods[made].class = class;
			neap_scan_place_init(&pods[made].place);
			made++;
		}
	}
	if (made)
		qsort(pods, made, sizeof(*pods), compare_pods);
	/* Nothing can fail from here on, so the old list may be taken apart. */
	for (size_t i = 0; i < made && scan->pod_count; i++) {
		struct pod *old = bsearch(&pods[i], scan->pods, scan->pod_count,
					  sizeof(*pods), compare_pods);

		if (!old || old->is_kept)
			continue;
		pods[i].row.containers = old->row.containers;
		pods[i].row.container_count = old->row.container_count;
		pods[i].place = old->place;
		old->is_kept = true;
	}
	free_pods(scan);
	scan->pods = pods;
	scan->pod_count = made;
	return 0;
}

static int look_at_pod(struct neap_scan *scan, struct pod *pod, size_t turn,
		       struct neap_error *err)
{
	struct neap_scan_place_names names = {pod->row.containers,
					      pod->row.container_count};
	uint64_t inode = pod->place.stamp.inode;
	enum neap_scan_place_look look;
	int r;

	/* Something came or went beside it: perhaps another directory of its name. */
	if (pod->class->was_moved && pod->place.fd >= 0 &&
	    neap_scan_place_inode(scan->places.cgroup, pod->row.dir) != inode)
		neap_scan_place_close(&scan->places, &pod->place);
	look = scan->is_doubted ? NEAP_LOOK_READ : neap_scan_place_due(&pod->place, turn);
	r = neap_scan_place_refresh(&scan->places, &pod->place, pod->row.dir,
				    pod->row.tree->driver, is_container_name, look,
				    &names, err);
	if (r < 0)
		return r;
	pod->row.containers = names.rows;
	pod->row.container_count = names.count;
	/* Another directory under the old name is another pod. */
	return r || inode != pod->place.stamp.inode;
}

static int look_at_class(struct neap_scan *scan, struct class_dir *class,
			 struct neap_error *err)
{
	struct neap_scan_place *place = &class->place;
	enum neap_scan_place_look look;

	/* Nobody watches the directory that this one lies in. */
	if (place->fd >= 0 &&
	    neap_scan_place_inode(scan->places.cgroup, class->dir) != place->stamp.inode)
		neap_scan_place_close(&scan->places, place);
	look = scan->is_doubted ? NEAP_LOOK_READ
				: neap_scan_place_due(place, scan->looks);
	class->was_moved = place->is_moved;
	return neap_scan_place_refresh(&scan->places, place, class->dir,
				       class->tree->driver, is_pod_name, look,
				       &class->names, err);
}

int neap_scan_new(const struct neap_cgroup *cgroup, const struct neap_tree *trees,
		  size_t count, struct neap_scan **ret, struct neap_error *err)
{
	static const enum neap_kube_qos classes[] = {
		NEAP_KUBE_GUARANTEED, NEAP_KUBE_BURSTABLE, NEAP_KUBE_BESTEFFORT};
	struct neap_scan *scan = neap_alloc(sizeof(*scan));
	int rc;

	if (!scan)
		return neap_error_nomem(err);
	neap_scan_places_init(&scan->places, cgroup);
	scan->trees = neap_alloc_array(count, sizeof(*scan->trees));
	scan->classes =
		neap_alloc_array(count * NEAP_ARRAY_LEN(classes), sizeof(*scan->classes));
	if (!scan->trees || !scan->classes) {
		neap_scan_free(scan);
		return neap_error_nomem(err);
	}
	if (count)
		memcpy(scan->trees, trees, count * sizeof(*trees));
	for (size_t i = 0; i < count * NEAP_ARRAY_LEN(classes); i++) {
		struct class_dir *class = &scan->classes[scan->class_count];

		class->tree = &scan->trees[i / NEAP_ARRAY_LEN(classes)];
		class->qos = classes[i % NEAP_ARRAY_LEN(classes)];
		if (!neap_tree_class_dir(class->tree, class->qos, class->dir,
					 sizeof(class->dir)))
			continue;
		neap_scan_place_init(&class->place);
		scan->class_count++;
		if (!neap_path_is_safe(class->dir)) {
			rc = neap_error_set(err, NEAP_EINVAL,
					    "group '%s': not a safe path", class->dir);
			neap_scan_free(scan);
			return rc;
		}
	}
	*ret = scan;
	return 0;
}

void neap_scan_free(struct neap_scan *scan)
{
	if (!scan)
		return;
	for (size_t i = 0; i < scan->class_count; i++) {
		neap_scan_place_close(&scan->places, &scan->classes[i].place);
		free(scan->classes[i].names.rows);
	}
	free_pods(scan);
	neap_scan_places_done(&scan->places);
	free(scan->classes);
	free(scan->trees);
	free(scan);
}

void neap_scan_doubt(struct neap_scan *scan)
{
	scan->is_doubted = true;
}

static void forget_descriptors(struct neap_scan *scan)
{
	for (size_t i = 0; i < scan->class_count; i++)
		neap_scan_place_close(&scan->places, &scan->classes[i].place);
	for (size_t i = 0; i < scan->pod_count; i++)
		neap_scan_place_close(&scan->places, &scan->pods[i].place);
}

static void note_moved(void *arg, int watch)
{
	struct neap_scan *scan = arg;

	scan->is_told = false;
	for (size_t i = 0; i < scan->class_count; i++) {
		if (scan->classes[i].place.watch == watch)
			scan->classes[i].place.is_moved = true;
	}
	for (size_t i = 0; i < scan->pod_count; i++) {
		if (scan->pods[i].place.watch == watch)
			scan->pods[i].place.is_moved = true;
	}
}

/* When every pod has a silent watch, only those due are looked at. The others are not
 * even visited, because their data has left the CPU's caches since the last time. */
static int look_at_pods(struct neap_scan *scan, bool are_new, struct neap_error *err)
{
	bool is_short = scan->is_told && !are_new && !scan->is_doubted;
	size_t step = is_short ? NEAP_PLACE_WATCHED_EVERY : 1;
	size_t first = (step - scan->looks % step) % step;
	bool is_changed = false;

	scan->is_told = true;
	for (size_t i = first; i < scan->pod_count; i += step) {
		int r = look_at_pod(scan, &scan->pods[i], scan->looks + i, err);

		if (r < 0) {
			scan->is_told = false;
			return r;
		}
		is_changed |= r > 0;
		scan->is_told &= scan->pods[i].place.watch >= 0;
	}
	return is_changed;
}

int neap_scan_look(struct neap_scan *scan, struct neap_error *err)
{
	bool is_changed = scan->is_stale;
	int r;

	scan->is_doubted |= !neap_scan_places_hear(&scan->places, note_moved, scan);
	if (scan->is_doubted)
		forget_descriptors(scan);
	for (size_t i = 0; i < scan->class_count; i++) {
		r = look_at_class(scan, &scan->classes[i], err);
		if (r < 0)
			goto again;
		is_changed |= r > 0;
	}
	if (is_changed) {
		r = rebuild_pods(scan, err);
		if (r < 0)
			goto again;
	}
	r = look_at_pods(scan, is_changed, err);
	if (r < 0)
		goto again;
	is_changed |= r > 0;
	scan->is_stale = false;
	scan->is_doubted = false;
	scan->looks++;
	return is_changed;

again:
	/* Half a look: the next one trusts nothing. */
	for (size_t i = 0; i < scan->class_count; i++) {
		free(scan->classes[i].names.rows);
		memset(&scan->classes[i].names, 0, sizeof(scan->classes[i].names));
	}
	scan->is_doubted = true;
	scan->is_stale = true;
	return r;
}

size_t neap_scan_pod_count(const struct neap_scan *scan)
{
	return scan->pod_count;
}

const struct neap_scan_pod *neap_scan_pod_get(const struct neap_scan *scan, size_t index)
{
	return index < scan->pod_count ? &scan->pods[index].row : NULL;
}

bool neap_tree_class_dir(const struct neap_tree *tree, enum neap_kube_qos qos, char *buf,
			 size_t size)
{
	if (tree->is_best_effort
		    ? qos != NEAP_KUBE_BESTEFFORT
		    : tree->has_no_best_effort && qos == NEAP_KUBE_BESTEFFORT)
		return false;
	if (tree->is_best_effort)
		qos = NEAP_KUBE_GUARANTEED; /* the class whose directory is the root */
	return neap_path_qos_dir(tree->driver, tree->root, qos, buf, size, NULL) == 0;
}

int neap_tree_pod_dir(const struct neap_tree *tree, enum neap_kube_qos qos,
		      const char *uid, char *buf, size_t size, struct neap_error *err)
{
	if (tree->is_best_effort)
		qos = NEAP_KUBE_GUARANTEED;
	return neap_path_pod_dir(tree->driver, tree->root, qos, uid, buf, size, err);
}

const struct neap_tree *neap_tree_of_class(const struct neap_tree *trees,
					   enum neap_kube_qos qos)
{
	return &trees[qos == NEAP_KUBE_BESTEFFORT];
}

void neap_trees_own(const struct neap_cgroup *cgroup, const char *group,
		    const char *best_effort_group, struct neap_tree trees[NEAP_TREES_OWN])
{
	char before[NEAP_PATH_MAX];

	memset(trees, 0, NEAP_TREES_OWN * sizeof(*trees));
	for (int i = 0; i < NEAP_TREES_OWN; i++) {
		trees[i].driver = NEAP_DRIVER_CGROUPFS;
		trees[i].is_own = true;
	}
	(void)neap_strcopy(trees[0].root, sizeof(trees[0].root), group);
	(void)neap_strcopy(trees[1].root, sizeof(trees[1].root), best_effort_group);
	trees[1].is_best_effort = true;
	trees[0].has_no_best_effort =
		!neap_tree_class_dir(&trees[0], NEAP_KUBE_BESTEFFORT, before,
				     sizeof(before)) ||
		neap_scan_place_inode(cgroup, before) == 0;
}
