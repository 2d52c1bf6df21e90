/* SPDX-License-Identifier: Apache-2.0
 *
 * PersistentVolumes and claims, as far as they restrict where a pod can run. Each object
 * is read once when it arrives. Single-threaded. */
#ifndef NEAP_ENGINE_CLUSTER_VOLUMES_H
#define NEAP_ENGINE_CLUSTER_VOLUMES_H

#include "engine/cluster/cluster.h"

struct neap_volume {
	struct neap_object *object; /* name, labels */
	bool has_affinity;          /* affinity must be checked, even if it is empty */
	/* of the nodes that reach the volume; an unreadable one matches no node */
	struct neap_terms affinity;
	/* spec.claimRef; "": not claimed. */
	const char *claim_ns, *claim_name, *claim_uid;
	struct neap_arena arena;
};

struct neap_volume_claim {
	struct neap_object *object;
	const char *volume;     /* spec.volumeName; "": not bound */
	const char *class_name; /* spec.storageClassName; "": none */
	const char *controller; /* uid of the controlling owner; "": none */
	bool is_of_one_pod;     /* ReadWriteOncePod */
	struct neap_arena arena;
};

/* Each adds or replaces one object. *ret_moved: NEAP_MOVED_VOLUMES. On -NEAP_ENOMEM
 * nothing changed. */
int neap_cluster_set_volume(struct neap_cluster *cluster, struct neap_object *object,
			    unsigned *ret_moved, struct neap_error *err);
int neap_cluster_set_claim(struct neap_cluster *cluster, struct neap_object *object,
			   unsigned *ret_moved, struct neap_error *err);
int neap_cluster_set_class(struct neap_cluster *cluster, struct neap_object *object,
			   unsigned *ret_moved, struct neap_error *err);
void neap_cluster_remove_volume(struct neap_cluster *cluster, const char *name,
				unsigned *ret_moved);
void neap_cluster_remove_claim(struct neap_cluster *cluster, const char *ns,
			       const char *name, unsigned *ret_moved);
void neap_cluster_remove_class(struct neap_cluster *cluster, const char *name,
			       unsigned *ret_moved);

/* Borrowed until the next change; NULL: there is none. */
const struct neap_volume *neap_cluster_find_volume(const struct neap_cluster *cluster,
						   const char *name);
const struct neap_volume_claim *
neap_cluster_find_claim(const struct neap_cluster *cluster, const char *ns,
			const char *name);
/* Returns whether claims of that class wait for their first pod (volumeBindingMode
 * WaitForFirstConsumer). */
bool neap_cluster_class_waits(const struct neap_cluster *cluster, const char *name);
/* Returns whether the claim names the volume and the volume names no other claim. */
bool neap_volume_is_of(const struct neap_volume *volume,
		       const struct neap_volume_claim *claim);

#endif
