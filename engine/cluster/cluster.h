/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes and the pods on them, for decisions: every node is a row, what is computed on stands in columns, what is seldom
 * asked behind the row. A pod is decided in memory first (assumed) and counts from then on. What a node's pods sum
 * up to is never carried on by differences: a node of which anything moved is counted again from its pods before the
 * next decision, which for a hundred pods is about a microsecond. Of one thread. */
#ifndef NEAP_ENGINE_CLUSTER_CLUSTER_H
#define NEAP_ENGINE_CLUSTER_CLUSTER_H

#include "engine/cluster/load.h"
#include "engine/pod/pod.h"

struct neap_cpus;
struct neap_cpus_said;

#define NEAP_CLUSTER_NODES_MAX 65536
/* Taints, images of one node, each. */
#define NEAP_CLUSTER_ITEMS_MAX 512

struct neap_cluster;

/* Taints are few and on many nodes: each is there once, with a number below NEAP_CLUSTER_TAINTS_MAX that its pods'
 * tolerance is remembered by. */
#define NEAP_CLUSTER_TAINTS_MAX 65536
struct neap_taint {
	const char *key, *value;
	enum neap_taint_effect effect;
	uint32_t number;
	uint32_t uses; /* nodes that have it */
	char text[];
};

/* An image, and on how many nodes it lies. */
struct neap_image {
	int64_t bytes;
	uint32_t uses;
	char name[];
};

enum {
	NEAP_ROW_IS_THERE = 1, /* has an object; else only pods that say they are there */
	NEAP_ROW_IS_CORDONED = 2, /* spec.unschedulable */
	NEAP_ROW_HAS_PORTS = 4,   /* some pod has host ports */
	NEAP_ROW_HAS_AWAY = 8,    /* some pod must be away from others */
	NEAP_ROW_HAS_NEAR =
		16, /* some pod has an affinity or anti-affinity of any kind */
	NEAP_ROW_HAS_TAINTS = 32,
	NEAP_ROW_HAS_KEPT = 64,     /* some pod stands for a reservation */
	NEAP_ROW_HAS_WAITING = 128, /* ... that may wait for its room */
};

struct neap_cluster_node {
	char *name;
	uint32_t row;
	struct neap_object *object; /* NULL: not there */
	bool is_dirty;              /* to be counted again */
	uint64_t generation;        /* of the cluster, when it moved last */
	const char *trouble;        /* what of it could not be read; NULL: nothing */
	struct neap_amounts allocatable;
	struct neap_taint **taints;
	size_t taint_count;
	struct neap_image **images;
	size_t image_count;
	/* Of its annotations, NULL without: limits of its load in place of the cluster's; what it has without
	 * amplification, by name of the load, -1: as allocatable. */
	struct neap_load_limits *load_limits;
	int64_t *load_raw;
	/* Of its labels and annotations, and the book made of them (engine/cluster/cpus.h); NULL: it says nothing, and no
	 * topology is told. */
	const struct neap_cpus_said *cpus_said;
	struct neap_cpus *cpus;
	struct neap_pod **pods;
	size_t pod_count, pod_size;
	size_t owner_count;          /* of them, those that use a reservation */
	struct neap_row_kind *kinds; /* pod_size of them; see the column */
	struct neap_arena arena;     /* of the lists above, but pods */
};

/* Names up to here lie in a column, so that rows are found by name without a look behind them. */
#define NEAP_ROW_NAME 31
struct neap_row_name {
	uint8_t len; /* 0: a free row, or a longer name */
	char text[NEAP_ROW_NAME];
};

/* Pods of one kind on a node: whatever is asked of all pods is asked of one. */
struct neap_row_kind {
	const struct neap_pod *one;
	uint32_t number; /* of the kind */
	uint32_t count, deleting;
};

struct neap_row_kinds {
	const struct neap_row_kind *list;
	size_t count;
};

/* Struct of arrays, by row below rows. */
struct neap_columns {
	size_t rows;
	size_t away_rows, near_rows;      /* with NEAP_ROW_HAS_AWAY, _NEAR */
	struct neap_cluster_node **nodes; /* NULL: a free row */
	struct neap_row_name *names;
	uint8_t *flags; /* NEAP_ROW_* */
	uint32_t *pods; /* how many there are */
	struct neap_row_kinds *kinds;
	uint16_t *cpu_class; /* neap_cpus_class of its book */
	/* By resource and row. NULL for a resource that no node ever had. */
	int64_t *allocatable[NEAP_RESOURCES_MAX], *used[NEAP_RESOURCES_MAX];
	/* Requests as they count when nodes are compared. */
	int64_t *scored_cpu_milli, *scored_bytes;
};

/* What an event changed; what waits may go by it. */
enum {
	NEAP_MOVED_NODE_ADDED = 1,
	NEAP_MOVED_ROOM = 2,        /* allocatable, or a pod asks for less */
	NEAP_MOVED_LABELS = 4,      /* of a node or a namespace; a node is gone */
	NEAP_MOVED_TAINTS = 8,      /* or spec.unschedulable */
	NEAP_MOVED_POD_GONE = 16,   /* one that had a place, or for which room was kept */
	NEAP_MOVED_POD_PLACED = 32, /* or its labels changed */
	NEAP_MOVED_OTHER = 64,      /* images, annotations, a status */
	NEAP_MOVED_LOAD = 128,      /* a report of a node, or its limits */
	NEAP_MOVED_CPUS = 256,      /* a topology, how CPUs are given out, who has them */
	NEAP_MOVED_VOLUMES = 512,   /* a volume, a claim, or a class of storage */
	NEAP_MOVED_RESERVATION =
		1024, /* one can be used, or is gone, or has less in use */
	NEAP_MOVED_ANY = 2047
};

int neap_cluster_new(struct neap_cluster **ret, struct neap_error *err);
void neap_cluster_free(struct neap_cluster *cluster);
struct neap_resources *neap_cluster_resources(struct neap_cluster *cluster);
/* How the load counts, in place of neap_load_args_init: before any node or report is told, else NEAP_ECONFLICT;
 * NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_cluster_set_load(struct neap_cluster *cluster, const struct neap_load_args *args,
			  struct neap_error *err);
/* Its columns are true after neap_cluster_settle. */
const struct neap_load *neap_cluster_load(const struct neap_cluster *cluster);

/* --- what is told --- */

/* A node as it is now. *ret_moved: NEAP_MOVED_*. -NEAP_ENOMEM, -NEAP_ETOOLARGE: it is as it was. */
int neap_cluster_set_node(struct neap_cluster *cluster, struct neap_object *object,
			  unsigned *ret_moved, struct neap_error *err);
/* Its pods stay counted, for the case that it comes back. */
void neap_cluster_remove_node(struct neap_cluster *cluster, const char *name);
/* A pod as it is now; counted when it is bound and not finished. In place of an assumed one of its name: bound, it takes
 * the place over, wherever that is; not bound and the same uid, it stays where it was assumed. */
int neap_cluster_set_pod(struct neap_cluster *cluster, struct neap_object *object,
			 unsigned *ret_moved, struct neap_error *err);
/* Nothing when there is none of that name. */
void neap_cluster_remove_pod(struct neap_cluster *cluster, const char *ns,
			     const char *name, unsigned *ret_moved);
/* How many pods of those that it selects may be disrupted, as its status says. One without requirements, or that cannot
 * be read, takes none. */
struct neap_cluster_budget {
	struct neap_object *object;
	struct neap_selector *selector; /* NULL: takes none */
	int64_t allowed;
	json_t *disrupted; /* by name: pods that are counted as gone already; NULL: none */
	int64_t left;      /* of allowed, in a trial: for whoever makes it */
	struct neap_cluster_budget *next; /* of the namespace; NULL behind the last */
};
int neap_cluster_set_budget(struct neap_cluster *cluster, struct neap_object *object,
			    struct neap_error *err);
void neap_cluster_remove_budget(struct neap_cluster *cluster, const char *ns,
				const char *name);
/* The first of a namespace; NULL: there are none. */
struct neap_cluster_budget *neap_cluster_budgets(const struct neap_cluster *cluster,
						 const char *ns);
/* A NodeMetric as it is now, also before its node. */
int neap_cluster_set_metric(struct neap_cluster *cluster, struct neap_object *object,
			    unsigned *ret_moved, struct neap_error *err);
void neap_cluster_remove_metric(struct neap_cluster *cluster, const char *name,
				unsigned *ret_moved);
/* Namespaces are asked for their labels. *ret_moved: NEAP_MOVED_LABELS, or 0 when those are as they were. */
int neap_cluster_set_namespace(struct neap_cluster *cluster, struct neap_object *object,
			       unsigned *ret_moved, struct neap_error *err);
void neap_cluster_remove_namespace(struct neap_cluster *cluster, const char *name);

/* --- what is decided --- */

/* Puts a pod that has no place onto a row. until_usec: INT64_MAX, as long as nobody knows. */
int neap_cluster_assume(struct neap_cluster *cluster, struct neap_pod *pod, uint32_t row,
			struct neap_error *err);
/* The binding was accepted: it should be seen by until_usec. */
void neap_cluster_confirm(struct neap_cluster *cluster, struct neap_pod *pod,
			  int64_t until_usec);
/* The same, where the object that the pod is read from became object by that binding and by nothing else, with these
 * annotations (neap_pod_bind): it has its place for good, as if it had been told. False: it is to be confirmed, and
 * told. */
bool neap_cluster_bind(struct neap_cluster *cluster, struct neap_pod *pod,
		       struct neap_object *object, const char *spec, const char *status);
/* Takes an assumed pod off again; nothing when it is not assumed any more. */
void neap_cluster_forget(struct neap_cluster *cluster, struct neap_pod *pod);
/* The next assumed pod whose time is over, taken off its node and borrowed; NULL when there is none. */
struct neap_pod *neap_cluster_expire(struct neap_cluster *cluster, int64_t now_usec);

/* A pod without a place waits for room on that node, which is made for it; "": it waits no more. Also told by its
 * status.nominatedNodeName. False without memory. */
bool neap_cluster_nominate(struct neap_cluster *cluster, struct neap_pod *pod,
			   const char *node);
/* What decisions moved for others since it was asked last, NEAP_MOVED_*: room that was made for a pod is kept no more, and
 * the pod is not there. */
unsigned neap_cluster_take_moved(struct neap_cluster *cluster);
/* A pod that is asked to go, so that there is room for a nominated one. Remembered as long as it is the same one. */
void neap_cluster_mark_victim(struct neap_pod *pod);
/* For a trial: takes a pod off its node, and puts it back where neap_cluster_lift said that it was. */
struct neap_cluster_node *neap_cluster_lift(struct neap_cluster *cluster,
					    struct neap_pod *pod);
void neap_cluster_put_back(struct neap_cluster *cluster, struct neap_pod *pod,
			   struct neap_cluster_node *node);

/* --- what is asked --- */

/* Those that are nominated, by index below neap_cluster_nominee_count. */
size_t neap_cluster_nominee_count(const struct neap_cluster *cluster);
struct neap_pod *neap_cluster_nominee(const struct neap_cluster *cluster, size_t index);

/* Counts again what moved; the columns are true until the next change. */
const struct neap_columns *neap_cluster_settle(struct neap_cluster *cluster);
size_t neap_cluster_node_count(const struct neap_cluster *cluster); /* that are there */
size_t neap_cluster_pod_count(const struct neap_cluster *cluster);
/* Raised with every change. */
uint64_t neap_cluster_generation(const struct neap_cluster *cluster);
/* Borrowed; NULL when there is none. */
struct neap_pod *neap_cluster_find_pod(const struct neap_cluster *cluster, const char *ns,
				       const char *name);
/* key: "NAMESPACE/NAME". */
struct neap_pod *neap_cluster_find_key(const struct neap_cluster *cluster,
				       const char *key);
struct neap_cluster_node *neap_cluster_find_node(const struct neap_cluster *cluster,
						 const char *name);
/* NULL: a free row. */
struct neap_cluster_node *neap_cluster_node_at(const struct neap_cluster *cluster,
					       uint32_t row);
struct neap_object *neap_cluster_find_namespace(const struct neap_cluster *cluster,
						const char *name);
/* NULL: on no node. */
const struct neap_image *neap_cluster_find_image(const struct neap_cluster *cluster,
						 const char *name);
/* Values of one label of the nodes, as numbers by row; 0: the node has no such label, or is not there. */
struct neap_label_column {
	const uint32_t *at;
	uint32_t end; /* numbers are below */
};
/* Borrowed until a node changes, or neap_cluster_trim_labels; NULL without memory. Costs a look at every node the first
 * time. */
const struct neap_label_column *neap_cluster_label(struct neap_cluster *cluster,
						   const char *key);
/* Columns beyond so many go, the least recently asked for first. */
#define NEAP_CLUSTER_LABELS_MAX 64
void neap_cluster_trim_labels(struct neap_cluster *cluster);
/* Numbers of kinds of pods are below this one. */
uint32_t neap_cluster_kind_end(const struct neap_cluster *cluster);
/* Numbers of taints are below this one. */
uint32_t neap_cluster_taint_end(const struct neap_cluster *cluster);
const struct neap_taint *neap_cluster_taint(const struct neap_cluster *cluster,
					    uint32_t number);

#endif
