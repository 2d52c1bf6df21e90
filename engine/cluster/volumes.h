/* SPDX-License-Identifier: Apache-2.0
 *
 * PersistentVolumes and the claims on them, as far as they say where a pod can be. They are told beside nodes and pods;
 * each is read once. Of one thread. */
#ifndef NEAP_ENGINE_CLUSTER_VOLUMES_H
#define NEAP_ENGINE_CLUSTER_VOLUMES_H

#include "engine/cluster/cluster.h"

struct neap_volume {
	struct neap_object *object; /* name, labels */
	bool has_affinity;          /* to be asked, even if it is empty */
	struct neap_terms
		affinity; /* of the nodes that reach it; one that cannot be read takes none */
	/* spec.claimRef; "": of nobody. */
	const char *claim_ns, *claim_name, *claim_uid;
	struct neap_arena arena;
};

struct neap_volume_claim {
	struct neap_object *object;
	const char *volume;     /* spec.volumeName; "": not bound */
	const char *class_name; /* spec.storageClassName; "": none */
	const char *controller; /* uid of the owner that made it; "": none */
	bool is_of_one_pod;     /* ReadWriteOncePod */
	struct neap_arena arena;
};

/* Each as it is now. *ret_moved: NEAP_MOVED_VOLUMES. -NEAP_ENOMEM: it is as it was. */
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
/* Whether claims of that class wait for their first pod (volumeBindingMode WaitForFirstConsumer). */
bool neap_cluster_class_waits(const struct neap_cluster *cluster, const char *name);
/* Whether the claim names a volume, and that one nobody else's: no other claim is named by it. */
bool neap_volume_is_of(const struct neap_volume *volume,
		       const struct neap_volume_claim *claim);

#endif
