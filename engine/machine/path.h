/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of cgroup directories as kubelets create them (spec runtime-hooks 3), built and
 * parsed for both drivers. Paths are relative to the root of a hierarchy, without a
 * leading slash. neap's own root uses the cgroupfs form with its own name in place of
 * "kubepods". */
#ifndef NEAP_ENGINE_MACHINE_PATH_H
#define NEAP_ENGINE_MACHINE_PATH_H

#include "engine/base/error.h"

enum neap_cgroup_driver { NEAP_DRIVER_CGROUPFS, NEAP_DRIVER_SYSTEMD };

/* The Kubernetes QoS class, derived from a path. */
enum neap_kube_qos { NEAP_KUBE_GUARANTEED, NEAP_KUBE_BURSTABLE, NEAP_KUBE_BESTEFFORT };
/* The class from label koordinator.sh/qosClass, NONE without one. */
enum neap_qos {
	NEAP_QOS_NONE,
	NEAP_QOS_LSE,
	NEAP_QOS_LSR,
	NEAP_QOS_LS,
	NEAP_QOS_BE,
	NEAP_QOS_SYSTEM
};

#define NEAP_PATH_MAX 512

const char *neap_qos_name(enum neap_qos qos);           /* "" for NONE */
enum neap_qos neap_qos_parse(const char *text);         /* NONE for other texts */
const char *neap_kube_qos_name(enum neap_kube_qos qos); /* "BestEffort" */
int neap_kube_qos_parse(const char *text, enum neap_kube_qos *ret,
			struct neap_error *err);

/* systemd for "X.slice". */
enum neap_cgroup_driver neap_path_root_driver(const char *root);
/* "kubepods.slice" or "kubepods". */
const char *neap_path_kube_root(enum neap_cgroup_driver driver);

/* Directories below root ("kubepods", "kubepods.slice", "neap"); for Guaranteed the root
 * itself. These write at most size bytes, or fail with NEAP_ETOOLARGE. */
int neap_path_qos_dir(enum neap_cgroup_driver driver, const char *root,
		      enum neap_kube_qos qos, char *buf, size_t size,
		      struct neap_error *err);
int neap_path_pod_dir(enum neap_cgroup_driver driver, const char *root,
		      enum neap_kube_qos qos, const char *uid, char *buf, size_t size,
		      struct neap_error *err);

/* Extracts the uid or id from the last component as written there (systemd replaces each
 * "-" of a uid by "_"); NEAP_EINVAL when the name has another form. */
int neap_path_parse_pod(enum neap_cgroup_driver driver, const char *name, char *buf,
			size_t size, struct neap_error *err);
int neap_path_parse_container(enum neap_cgroup_driver driver, const char *name, char *buf,
			      size_t size, struct neap_error *err);

enum neap_host_base {
	NEAP_BASE_CGROUP_ROOT,
	NEAP_BASE_KUBEPODS,
	NEAP_BASE_KUBEPODS_BURSTABLE,
	NEAP_BASE_KUBEPODS_BESTEFFORT
};
int neap_host_base_parse(const char *text, enum neap_host_base *ret,
			 struct neap_error *err);

/* A service outside pods (spec node-qos 9.2). Without has_path it uses the default
 * directory host-latency-sensitive/<name> or host-best-effort/<name>, for other classes
 * <name>. ".." and an empty resulting path are errors. */
struct neap_host_app {
	char name[64];
	enum neap_qos qos;
	bool has_path;
	enum neap_host_base base;
	char parent_dir[128];
	char relative_path[128];
};
int neap_path_host_app(enum neap_cgroup_driver driver, const struct neap_host_app *app,
		       char *buf, size_t size, struct neap_error *err);

/* Returns whether a path is relative, not empty, without "." or ".." components, "//" or
 * control characters, and each component has at most 255 bytes. Both the hand and the
 * loop check it. */
bool neap_path_is_safe(const char *path);
/* Returns whether path is dir or below it; both must be safe. */
bool neap_path_is_below(const char *path, const char *dir);
/* Returns whether path lies below root and inside a pod's group there, for either
 * driver. */
bool neap_path_is_container(const char *root, const char *path);
/* Number of components. */
int neap_path_depth(const char *path);
/* Returns whether path is the kubelet's root or one of its QoS class directories, for
 * either driver and at any depth (--cgroup-root moves it deeper, and systemd repeats the
 * parents in its name). The kubelet writes cpu.shares there, and nothing may make that
 * write fail. */
bool neap_path_is_kube_class(const char *path);

/* Targets of a policy's wishes: "besteffort", "besteffort.pods", "besteffort.containers",
 * the same for burstable, and "workload:ID". */
enum neap_scope {
	NEAP_SCOPE_CLASS,
	NEAP_SCOPE_PODS,
	NEAP_SCOPE_CONTAINERS,
	NEAP_SCOPE_WORKLOAD,
};

struct neap_target {
	enum neap_scope scope;
	enum neap_kube_qos qos; /* unused for a workload */
	const char *id;         /* of a workload: points into the text */
};

/* Checks the form only; whether the target exists now is another question, because a pod
 * may have ended. */
bool neap_target_parse(const char *text, struct neap_target *ret, struct neap_error *err);

#endif
