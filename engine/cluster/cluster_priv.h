/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of engine/cluster/cluster*.c. */
#ifndef NEAP_ENGINE_CLUSTER_CLUSTER_PRIV_H
#define NEAP_ENGINE_CLUSTER_CLUSTER_PRIV_H

#include "engine/base/map.h"
#include "engine/cluster/cluster.h"
#include "engine/cluster/cpus.h"
#include "engine/cluster/machines.h"

struct neap_cluster {
	struct neap_resources *resources;
	const struct neap_told *told;
	/* number of resource names that pods were last resolved with */
	uint32_t resolved;
	struct neap_map *nodes;       /* by name */
	struct neap_map *pods;        /* by "NAMESPACE/NAME" */
	struct neap_map *namespaces;  /* objects, by name */
	struct neap_map *images;      /* by name */
	struct neap_map *taints;      /* by "EFFECT KEY=VALUE" */
	struct neap_taint **taint_of; /* by number; NULL: free */
	uint32_t taint_end, taint_size;
	struct neap_columns columns;
	size_t row_size;
	size_t node_count;
	uint64_t generation;
	uint32_t *dirty; /* rows to recount; has room for all rows */
	size_t dirty_count;
	struct neap_map *assumed; /* by "NAMESPACE/NAME" */
	struct neap_map *kinds;   /* by a hash of namespace and labels */
	uint32_t *kind_free;      /* free numbers; has room for all */
	uint32_t kind_free_count, kind_end, kind_size;
	uint64_t kind_stamp;    /* stamp of the row being counted */
	struct labels **labels; /* cluster_labels.c */
	size_t label_count;
	uint64_t label_used;
	struct neap_map *nominees;
	/* NEAP_MOVED_* caused by decisions and not yet taken by the caller */
	unsigned moved;
	struct neap_map *budgets; /* struct budgets, by namespace */
	struct neap_load load;
	struct neap_cpus_args cpus_args;
	struct neap_map *topologies; /* struct neap_cluster_topology, by node name */
	struct neap_machines machines;
	size_t cpus_ruled;        /* number of nodes whose CPU book concerns every pod */
	struct neap_map *volumes; /* struct neap_volume, by name */
	struct neap_map *claims;  /* struct neap_volume_claim, by "NAMESPACE/NAME" */
	/* names of StorageClasses with volumeBindingMode WaitForFirstConsumer */
	struct neap_map *classes;
	struct neap_map *metrics; /* struct neap_load_metric, by node name */
};

/* --- rows: cluster_rows.c --- */

/* Finds the node of that name, or adds a row without an object. */
int neap_cluster_row(struct neap_cluster *cluster, const char *name,
		     struct neap_cluster_node **ret, struct neap_error *err);
/* Frees the row when it has neither an object nor pods. */
void neap_cluster_drop_row(struct neap_cluster *cluster, struct neap_cluster_node *node);
void neap_cluster_mark(struct neap_cluster *cluster, struct neap_cluster_node *node);
/* Adds columns for a resource that some node has. */
int neap_cluster_add_column(struct neap_cluster *cluster, uint32_t resource,
			    struct neap_error *err);
/* Places the pod on the node, where it then counts. */
int neap_cluster_seat(struct neap_cluster *cluster, struct neap_pod *pod,
		      struct neap_cluster_node *node, struct neap_error *err);
void neap_cluster_unseat(struct neap_cluster *cluster, struct neap_pod *pod);

/* --- kinds of pods: cluster_kind.c --- */

/* Counts the pod as one of its kind. */
int neap_cluster_use_kind(struct neap_cluster *cluster, struct neap_pod *pod,
			  struct neap_error *err);
void neap_cluster_unuse_kind(struct neap_cluster *cluster, struct neap_pod *pod);

/* --- labels of nodes: cluster_labels.c --- */

void neap_cluster_free_labels(struct neap_cluster *cluster);
/* Updates the label columns after the node's labels changed or the node left. */
void neap_cluster_relabel(struct neap_cluster *cluster,
			  const struct neap_cluster_node *node);

/* --- who waits for room, and whom budgets protect: cluster_room.c --- */

void neap_cluster_free_budgets(struct neap_cluster *cluster);
/* Ends the pod's nomination, because it is placed or gone. Returns whether it had one. */
bool neap_cluster_end_nomination(struct neap_cluster *cluster,
				 const struct neap_pod *pod);

/* --- what reservations keep: kept.c --- */

/* Adds (1) or removes (-1) a reservation placeholder's amounts on its row without
 * visiting the other pods; call it before the placeholder is seated or unseated. Returns
 * false when the row must be recounted instead. */
bool neap_cluster_shift_stand(struct neap_cluster *cluster,
			      const struct neap_cluster_node *node,
			      const struct neap_pod *stand, int by);
/* Call it after the seat changed; updates the rest of the row's counts. */
void neap_cluster_end_shift(struct neap_cluster *cluster, struct neap_cluster_node *node,
			    const struct neap_pod *stand, int by);
/* During a recount: removes from the row's columns, and from the cells of its NUMA nodes,
 * what a reservation and its owners both count. */
void neap_cluster_uncount_kept(struct neap_cluster *cluster,
			       const struct neap_cluster_node *node);
void neap_cluster_uncount_cells(struct neap_cluster *cluster,
				const struct neap_cluster_node *node);

/* --- volumes and claims: cluster_volumes.c --- */

void neap_cluster_free_volumes(struct neap_cluster *cluster);

/* --- what nodes really use: cluster_load.c --- */

void neap_cluster_free_load(struct neap_cluster *cluster);
bool neap_cluster_grow_load(struct neap_cluster *cluster, size_t old, size_t size);
void neap_cluster_count_load(struct neap_cluster *cluster,
			     const struct neap_cluster_node *node);
/* Reads the node's load annotations; broken ones count as missing. Returns false without
 * memory. */
bool neap_cluster_read_load(const struct neap_cluster *cluster,
			    struct neap_cluster_node *node, const json_t *annotations);
bool neap_cluster_has_same_load(const struct neap_cluster *cluster,
				const struct neap_cluster_node *a,
				const struct neap_cluster_node *b);
/* Grows an array; new entries are zero. place: address of the pointer. Without memory the
 * old block stays. */
bool neap_cluster_grow(void *place, size_t old, size_t count, size_t size);

/* --- nodes: cluster_node.c --- */

bool neap_cluster_has_same_labels(const struct neap_object *a,
				  const struct neap_object *b);
/* Releases the counts of the node's taints and images, and its lists. */
void neap_cluster_clear_node(struct neap_cluster *cluster,
			     struct neap_cluster_node *node);

#endif
