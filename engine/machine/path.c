/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of cgroup directories as kubelets make them. */
#include "engine/machine/path.h"

#include <stdio.h>
#include <string.h>

#define COMPONENT_MAX 255
#define SLICE         ".slice"
#define SCOPE         ".scope"

struct name_value {
	const char *name;
	int value;
};

static const struct name_value qos_names[] = {
	{"LSE", NEAP_QOS_LSE}, {"LSR", NEAP_QOS_LSR},       {"LS", NEAP_QOS_LS},
	{"BE", NEAP_QOS_BE},   {"SYSTEM", NEAP_QOS_SYSTEM}, {0},
};
static const struct name_value kube_qos_names[] = {
	{"Guaranteed", NEAP_KUBE_GUARANTEED},
	{"Burstable", NEAP_KUBE_BURSTABLE},
	{"BestEffort", NEAP_KUBE_BESTEFFORT},
	{0},
};
static const struct name_value base_names[] = {
	{"CgroupRoot", NEAP_BASE_CGROUP_ROOT},
	{"Kubepods", NEAP_BASE_KUBEPODS},
	{"KubepodsBurstable", NEAP_BASE_KUBEPODS_BURSTABLE},
	{"KubepodsBesteffort", NEAP_BASE_KUBEPODS_BESTEFFORT},
	{0},
};
/* Directory names of the classes, without the parts that a driver adds. */
static const char *const class_dirs[] = {
	[NEAP_KUBE_GUARANTEED] = "",
	[NEAP_KUBE_BURSTABLE] = "burstable",
	[NEAP_KUBE_BESTEFFORT] = "besteffort",
};
/* The scheme of a container id and the prefix that the runtime gives its systemd scope.
 */
static const struct {
	const char *scheme, *prefix;
} runtimes[] = {
	{"docker", "docker-"},
	{"containerd", "cri-containerd-"},
	{"pouch", "pouch-"},
	{"cri-o", "crio-"},
};

static int table_find(const struct name_value *table, const char *name)
{
	for (; table->name != NULL; table++)
		if (strcmp(table->name, name) == 0)
			return table->value;
	return -1;
}

static const char *table_name(const struct name_value *table, int value)
{
	for (; table->name != NULL; table++)
		if (table->value == value)
			return table->name;
	return "";
}

static int no_such(struct neap_error *err, const char *what, const char *text,
		   const struct name_value *table)
{
	char names[160] = "";
	size_t used = 0;

	for (; table->name != NULL && used < sizeof(names); table++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
					 used == 0 ? "" : ", ", table->name);
	return neap_error_set(err, NEAP_EINVAL, "no %s '%.40s': there is %s", what, text,
			      names);
}

const char *neap_qos_name(enum neap_qos qos)
{
	return table_name(qos_names, (int)qos);
}

enum neap_qos neap_qos_parse(const char *text)
{
	int qos = table_find(qos_names, text);

	return qos < 0 ? NEAP_QOS_NONE : (enum neap_qos)qos;
}

const char *neap_kube_qos_name(enum neap_kube_qos qos)
{
	return table_name(kube_qos_names, (int)qos);
}

int neap_kube_qos_parse(const char *text, enum neap_kube_qos *ret, struct neap_error *err)
{
	int qos = table_find(kube_qos_names, text);

	if (qos < 0)
		return no_such(err, "Kubernetes QoS class", text, kube_qos_names);
	*ret = (enum neap_kube_qos)qos;
	return 0;
}

int neap_host_base_parse(const char *text, enum neap_host_base *ret,
			 struct neap_error *err)
{
	int base = table_find(base_names, text);

	if (base < 0)
		return no_such(err, "base of a host application", text, base_names);
	*ret = (enum neap_host_base)base;
	return 0;
}

const char *neap_path_kube_root(enum neap_cgroup_driver driver)
{
	return driver == NEAP_DRIVER_SYSTEMD ? "kubepods" SLICE : "kubepods";
}

static bool has_suffix(const char *text, size_t len, const char *suffix)
{
	size_t suffix_len = strlen(suffix);

	return len >= suffix_len &&
	       memcmp(text + len - suffix_len, suffix, suffix_len) == 0;
}

enum neap_cgroup_driver neap_path_root_driver(const char *root)
{
	return has_suffix(root, strlen(root), SLICE) ? NEAP_DRIVER_SYSTEMD
						     : NEAP_DRIVER_CGROUPFS;
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

/* Judges what snprintf said of room for size bytes. */
static int fitted(int len, size_t size, struct neap_error *err)
{
	if (len < 0 || (size_t)len >= size)
		return neap_error_set(err, NEAP_ETOOLARGE, "path of %d bytes is too long",
				      len);
	return 0;
}

/* A systemd slice is named after its parents: kubepods.slice holds
 * kubepods-burstable.slice. The stem is the root's own name without the suffix. */
static int stem_len(const char *root)
{
	const char *last = last_component(root);
	size_t len = strlen(last);

	return (int)(has_suffix(last, len, SLICE) ? len - strlen(SLICE) : len);
}

int neap_path_qos_dir(enum neap_cgroup_driver driver, const char *root,
		      enum neap_kube_qos qos, char *buf, size_t size,
		      struct neap_error *err)
{
	int len;

	if (qos == NEAP_KUBE_GUARANTEED)
		len = snprintf(buf, size, "%s", root);
	else if (driver == NEAP_DRIVER_SYSTEMD)
		len = snprintf(buf, size, "%s/%.*s-%s" SLICE, root, stem_len(root),
			       last_component(root), class_dirs[qos]);
	else
		len = snprintf(buf, size, "%s/%s", root, class_dirs[qos]);
	return fitted(len, size, err);
}

/* One component that came from outside: a uid, an id. */
static int check_component(const char *what, const char *text, struct neap_error *err)
{
	if (strchr(text, '/') != NULL || strlen(text) > COMPONENT_MAX ||
	    !neap_path_is_safe(text))
		return neap_error_set(err, NEAP_EINVAL, "'%.80s' cannot be a %s", text,
				      what);
	return 0;
}

int neap_path_pod_dir(enum neap_cgroup_driver driver, const char *root,
		      enum neap_kube_qos qos, const char *uid, char *buf, size_t size,
		      struct neap_error *err)
{
	char dir[NEAP_PATH_MAX], name[COMPONENT_MAX + 1];
	int rc = check_component("pod uid", uid, err);

	if (rc < 0)
		return rc;
	rc = neap_path_qos_dir(driver, root, qos, dir, sizeof(dir), err);
	if (rc < 0)
		return rc;
	if (driver == NEAP_DRIVER_CGROUPFS)
		return fitted(snprintf(buf, size, "%s/pod%s", dir, uid), size, err);

	(void)snprintf(name, sizeof(name), "%s", uid); /* its length was checked above */
	for (char *c = name; *c != '\0'; c++)
		if (*c == '-')
			*c = '_'; /* a dash would make systemd see one more parent */
	return fitted(snprintf(buf, size, "%s/%.*s%s%s-pod%s" SLICE, dir, stem_len(root),
			       last_component(root),
			       qos == NEAP_KUBE_GUARANTEED ? "" : "-", class_dirs[qos],
			       name),
		      size, err);
}

static int copy_id(const char *what, const char *name, const char *from, size_t len,
		   char *buf, size_t size, struct neap_error *err)
{
	if (from == NULL || len == 0)
		return neap_error_set(err, NEAP_EINVAL,
				      "'%.80s' is not the directory of a %s", name, what);
	return fitted(snprintf(buf, size, "%.*s", (int)len, from), size, err);
}

int neap_path_parse_pod(enum neap_cgroup_driver driver, const char *name, char *buf,
			size_t size, struct neap_error *err)
{
	size_t len = strnlen(name, COMPONENT_MAX + 1);
	const char *from = NULL, *mark;

	if (len > COMPONENT_MAX || strchr(name, '/') != NULL)
		return copy_id("pod", name, NULL, 0, buf, size, err);
	if (driver == NEAP_DRIVER_CGROUPFS) {
		if (strncmp(name, "pod", 3) == 0)
			from = name + 3;
		return copy_id("pod", name, from, len - 3, buf, size, err);
	}
	if (!has_suffix(name, len, SLICE))
		return copy_id("pod", name, NULL, 0, buf, size, err);
	len -= strlen(SLICE);
	/* The last one: a uid has no dash here, the names of its parents may have any. */
	for (mark = strstr(name, "-pod"); mark != NULL; mark = strstr(mark + 1, "-pod"))
		from = mark + strlen("-pod");
	if (from == NULL || from > name + len)
		return copy_id("pod", name, NULL, 0, buf, size, err);
	return copy_id("pod", name, from, len - (size_t)(from - name), buf, size, err);
}

int neap_path_parse_container(enum neap_cgroup_driver driver, const char *name, char *buf,
			      size_t size, struct neap_error *err)
{
	size_t len = strnlen(name, COMPONENT_MAX + 1);

	if (len > COMPONENT_MAX || strchr(name, '/') != NULL)
		return copy_id("container", name, NULL, 0, buf, size, err);
	if (driver == NEAP_DRIVER_CGROUPFS)
		return copy_id("container", name, name, len, buf, size, err);
	if (!has_suffix(name, len, SCOPE))
		return copy_id("container", name, NULL, 0, buf, size, err);
	len -= strlen(SCOPE);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(runtimes); i++) {
		size_t prefix = strlen(runtimes[i].prefix);

		/* crio-conmon-ID.scope is the monitor beside a container, not one. */
		if (len > prefix && strncmp(name, runtimes[i].prefix, prefix) == 0 &&
		    strncmp(name, "crio-conmon-", strlen("crio-conmon-")) != 0)
			return copy_id("container", name, name + prefix, len - prefix,
				       buf, size, err);
	}
	return copy_id("container", name, NULL, 0, buf, size, err);
}

/* Adds the components of more to buf, without empty ones and ".". */
static int join(char *buf, size_t size, const char *more, struct neap_error *err)
{
	size_t used = strlen(buf);

	while (*more != '\0') {
		size_t len = strcspn(more, "/");

		if (len > 0 && !(len == 1 && more[0] == '.')) {
			int rc = fitted((int)(used + (used > 0) + len), size, err);

			if (rc < 0)
				return rc;
			used += (size_t)snprintf(buf + used, size - used, "%s%.*s",
						 used > 0 ? "/" : "", (int)len, more);
		}
		more += len;
		more += *more == '/';
	}
	return 0;
}

static int host_base_dir(enum neap_cgroup_driver driver, const struct neap_host_app *app,
			 char *buf, size_t size, struct neap_error *err)
{
	static const enum neap_kube_qos base_qos[] = {
		[NEAP_BASE_KUBEPODS] = NEAP_KUBE_GUARANTEED,
		[NEAP_BASE_KUBEPODS_BURSTABLE] = NEAP_KUBE_BURSTABLE,
		[NEAP_BASE_KUBEPODS_BESTEFFORT] = NEAP_KUBE_BESTEFFORT,
	};

	if (app->base == NEAP_BASE_CGROUP_ROOT) {
		buf[0] = '\0';
		return 0;
	}
	return neap_path_qos_dir(driver, neap_path_kube_root(driver), base_qos[app->base],
				 buf, size, err);
}

int neap_path_host_app(enum neap_cgroup_driver driver, const struct neap_host_app *app,
		       char *buf, size_t size, struct neap_error *err)
{
	static const char *const default_dirs[] = {
		[NEAP_QOS_NONE] = "",
		[NEAP_QOS_LSE] = "host-latency-sensitive",
		[NEAP_QOS_LSR] = "host-latency-sensitive",
		[NEAP_QOS_LS] = "host-latency-sensitive",
		[NEAP_QOS_BE] = "host-best-effort",
		[NEAP_QOS_SYSTEM] = "",
	};
	char path[NEAP_PATH_MAX] = "";
	int rc;

	if (app->has_path) {
		rc = host_base_dir(driver, app, path, sizeof(path), err);
		if (rc >= 0)
			rc = join(path, sizeof(path), app->parent_dir, err);
		if (rc >= 0)
			rc = join(path, sizeof(path), app->relative_path, err);
	} else {
		rc = join(path, sizeof(path), default_dirs[app->qos], err);
		if (rc >= 0)
			rc = check_component("name of a host application", app->name,
					     err);
		if (rc >= 0)
			rc = join(path, sizeof(path), app->name, err);
	}
	if (rc < 0)
		return rc;
	/* Also refuses the hierarchy's root: nothing may be set there. */
	if (!neap_path_is_safe(path))
		return neap_error_set(
			err, NEAP_EINVAL,
			"host application '%.63s' has no usable path ('%.100s')",
			app->name, path);
	return fitted(snprintf(buf, size, "%s", path), size, err);
}

bool neap_path_is_safe(const char *path)
{
	size_t component = 0;

	if (strnlen(path, NEAP_PATH_MAX) >= NEAP_PATH_MAX)
		return false;
	for (const char *c = path;; c++) {
		if (*c == '/' || *c == '\0') {
			const char *start = c - component;

			if (component == 0 || component > COMPONENT_MAX)
				return false;
			if (start[0] == '.' &&
			    (component == 1 || (component == 2 && start[1] == '.')))
				return false;
			if (*c == '\0')
				return true;
			component = 0;
			continue;
		}
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
		component++;
	}
}

bool neap_path_is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return neap_path_is_safe(path) && neap_path_is_safe(dir) &&
	       strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

bool neap_path_is_container(const char *root, const char *path)
{
	char name[COMPONENT_MAX + 1], uid[COMPONENT_MAX + 1];
	const char *from = path + strlen(root), *end;

	if (!neap_path_is_below(path, root))
		return false;
	for (; *from != '\0' && (end = strchr(from + 1, '/')) != NULL; from = end) {
		(void)snprintf(name, sizeof(name), "%.*s", (int)(end - from - 1),
			       from + 1);
		if (neap_path_parse_pod(neap_path_root_driver(name), name, uid,
					sizeof(uid), NULL) == 0)
			return true;
	}
	return false;
}

int neap_path_depth(const char *path)
{
	int depth = path[0] != '\0';

	for (; *path != '\0'; path++)
		depth += *path == '/';
	return depth;
}

bool neap_path_is_kube_class(const char *path)
{
	const char *last = last_component(path);
	size_t len = strlen(last);
	size_t parent_len = last == path ? 0 : (size_t)(last - path) - 1;
	bool below_kubepods;

	if (strcmp(last, "kubepods") == 0)
		return true;
	if (has_suffix(last, len, "kubepods" SLICE) ||
	    has_suffix(last, len, "kubepods-burstable" SLICE) ||
	    has_suffix(last, len, "kubepods-besteffort" SLICE))
		return true;
	below_kubepods = has_suffix(path, parent_len, "kubepods") &&
			 (parent_len == strlen("kubepods") ||
			  path[parent_len - strlen("kubepods") - 1] == '/');
	return below_kubepods && (strcmp(last, class_dirs[NEAP_KUBE_BURSTABLE]) == 0 ||
				  strcmp(last, class_dirs[NEAP_KUBE_BESTEFFORT]) == 0);
}

/* --- targets of wishes --- */

static const char workload[] = "workload:";

static const struct {
	const char *text;
	struct neap_target target;
} classes[] = {
	{"besteffort", {NEAP_SCOPE_CLASS, NEAP_KUBE_BESTEFFORT, NULL}},
	{"besteffort.pods", {NEAP_SCOPE_PODS, NEAP_KUBE_BESTEFFORT, NULL}},
	{"besteffort.containers", {NEAP_SCOPE_CONTAINERS, NEAP_KUBE_BESTEFFORT, NULL}},
	{"burstable", {NEAP_SCOPE_CLASS, NEAP_KUBE_BURSTABLE, NULL}},
	{"burstable.pods", {NEAP_SCOPE_PODS, NEAP_KUBE_BURSTABLE, NULL}},
	{"burstable.containers", {NEAP_SCOPE_CONTAINERS, NEAP_KUBE_BURSTABLE, NULL}},
};

bool neap_target_parse(const char *text, struct neap_target *ret, struct neap_error *err)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(classes); i++)
		if (strcmp(text, classes[i].text) == 0) {
			*ret = classes[i].target;
			return true;
		}
	if (strncmp(text, workload, strlen(workload)) == 0 && text[strlen(workload)]) {
		*ret = (struct neap_target){.scope = NEAP_SCOPE_WORKLOAD,
					    .id = text + strlen(workload)};
		return true;
	}
	(void)neap_error_set(
		err, NEAP_EINVAL,
		"there is no '%.40s'; there is besteffort and burstable, each "
		"also with .pods or .containers, and workload:ID",
		text);
	return false;
}
