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
	uint32_t resolved;            /* names of them that pods were asked about */
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
	uint32_t *dirty; /* rows to be counted again; has room for all */
	size_t dirty_count;
	struct neap_map *assumed; /* by "NAMESPACE/NAME" */
	struct neap_map *kinds;   /* by a sum of the namespace and the labels */
	uint32_t *kind_free;      /* numbers that are free; has room for all */
	uint32_t kind_free_count, kind_end, kind_size;
	uint64_t kind_stamp;    /* of the row that is counted */
	struct labels **labels; /* cluster_labels.c */
	size_t label_count;
	uint64_t label_used;
	struct neap_map *nominees;
	unsigned moved; /* NEAP_MOVED_* of what was decided, and nobody asked about yet */
	struct neap_map *budgets; /* struct budgets, by namespace */
	struct neap_load load;
	struct neap_cpus_args cpus_args;
	struct neap_map
		*topologies; /* struct neap_cluster_topology, by name of the node */
	struct neap_machines machines;
	size_t cpus_ruled;        /* nodes whose book concerns pods of all kinds */
	struct neap_map *volumes; /* struct neap_volume, by name */
	struct neap_map *claims;  /* struct neap_volume_claim, by "NAMESPACE/NAME" */
	struct neap_map
		*classes; /* names of StorageClasses whose claims wait for a pod */
	struct neap_map *metrics; /* struct neap_load_metric, by name of the node */
};

/* --- rows: cluster_rows.c --- */

/* The node of that name, a new row without an object if need be. */
int neap_cluster_row(struct neap_cluster *cluster, const char *name,
		     struct neap_cluster_node **ret, struct neap_error *err);
/* Frees the row when it has neither an object nor pods. */
void neap_cluster_drop_row(struct neap_cluster *cluster, struct neap_cluster_node *node);
void neap_cluster_mark(struct neap_cluster *cluster, struct neap_cluster_node *node);
/* Columns for a resource that some node has. */
int neap_cluster_add_column(struct neap_cluster *cluster, uint32_t resource,
			    struct neap_error *err);
/* Puts the pod onto the node, where it is counted. */
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
/* The node's labels are others now, or it is there no more. */
void neap_cluster_relabel(struct neap_cluster *cluster,
			  const struct neap_cluster_node *node);

/* --- who waits for room, and whom budgets protect: cluster_room.c --- */

void neap_cluster_free_budgets(struct neap_cluster *cluster);
/* It has a place, or is gone. Whether room was kept for it. */
bool neap_cluster_end_nomination(struct neap_cluster *cluster,
				 const struct neap_pod *pod);

/* --- what reservations keep: kept.c --- */

/* Counts a stand onto its row (by 1), or off it (by -1), without a look at the other pods; before it is seated or
 * unseated. False: the row is to be counted. */
bool neap_cluster_shift_stand(struct neap_cluster *cluster,
			      const struct neap_cluster_node *node,
			      const struct neap_pod *stand, int by);
/* ... and after it: the rest of what the row is counted by. */
void neap_cluster_end_shift(struct neap_cluster *cluster, struct neap_cluster_node *node,
			    const struct neap_pod *stand, int by);
/* With the recount of a row: of its columns, and of the cells of its NUMA nodes, which are counted then. */
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
/* Its annotations; what is broken is not there. False without memory. */
bool neap_cluster_read_load(const struct neap_cluster *cluster,
			    struct neap_cluster_node *node, const json_t *annotations);
bool neap_cluster_has_same_load(const struct neap_cluster *cluster,
				const struct neap_cluster_node *a,
				const struct neap_cluster_node *b);
/* The old block stays when there is no memory. What is new is zero. place: of a pointer. */
bool neap_cluster_grow(void *place, size_t old, size_t count, size_t size);

/* --- nodes: cluster_node.c --- */

bool neap_cluster_has_same_labels(const struct neap_object *a,
				  const struct neap_object *b);
/* Gives back what the node's taints and images are counted by, and its lists. */
void neap_cluster_clear_node(struct neap_cluster *cluster,
			     struct neap_cluster_node *node);

#endif
