/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes and their pods, prepared for decisions. Every node is a row; fields that
 * decisions compute with are columns, everything else hangs behind the row. A pod for
 * which a node was chosen counts at once (it is "assumed"). Sums are never updated by
 * differences: before the next decision each changed node is recounted from its pods,
 * about a microsecond per hundred pods. Single-threaded. */
#ifndef NEAP_ENGINE_CLUSTER_CLUSTER_H
#define NEAP_ENGINE_CLUSTER_CLUSTER_H

#include "engine/cluster/load.h"
#include "engine/pod/pod.h"

struct neap_cpus;
struct neap_cpus_said;
struct neap_told;

#define NEAP_CLUSTER_NODES_MAX 65536
/* Limit on the taints and on the images of one node. */
#define NEAP_CLUSTER_ITEMS_MAX 512

struct neap_cluster;

/* Taints are few and repeat on many nodes. Each distinct taint is stored once under a
 * number below NEAP_CLUSTER_TAINTS_MAX; a pod's tolerance is cached by that number. */
#define NEAP_CLUSTER_TAINTS_MAX 65536
struct neap_taint {
	const char *key, *value;
	enum neap_taint_effect effect;
	uint32_t number;
	uint32_t uses; /* number of nodes with this taint */
	char text[];
};

/* An image and the number of nodes that have it. */
struct neap_image {
	int64_t bytes;
	uint32_t uses;
	char name[];
};

enum {
	/* a Node object exists; otherwise only pods claim the node */
	NEAP_ROW_IS_THERE = 1,
	NEAP_ROW_IS_CORDONED = 2, /* spec.unschedulable */
	NEAP_ROW_HAS_PORTS = 4,   /* some pod uses host ports */
	NEAP_ROW_HAS_AWAY = 8,    /* some pod has a required anti-affinity */
	NEAP_ROW_HAS_NEAR =
		16, /* some pod has an affinity or anti-affinity of any kind */
	NEAP_ROW_HAS_TAINTS = 32,
	NEAP_ROW_HAS_KEPT = 64,     /* some pod is the placeholder of a reservation */
	NEAP_ROW_HAS_WAITING = 128, /* ... which may wait for its room */
};

struct neap_cluster_node {
	char *name;
	uint32_t row;
	struct neap_object *object; /* NULL: not there */
	bool is_dirty;              /* must be recounted */
	/* generation of the cluster at the last change of this node */
	uint64_t generation;
	const char *trouble; /* first problem found when reading it; NULL: none */
	struct neap_amounts allocatable;
	struct neap_taint **taints;
	size_t taint_count;
	struct neap_image **images;
	size_t image_count;
	/* From its annotations, NULL without them: load limits that replace the
	 * cluster's; capacity before amplification by load name, -1: same as
	 * allocatable. */
	struct neap_load_limits *load_limits;
	int64_t *load_raw;
	/* From its labels and annotations, and the CPU book made from them
	 * (engine/cluster/cpus.h); NULL: it has no such labels or annotations, and no
	 * topology is known. */
	const struct neap_cpus_said *cpus_said;
	struct neap_cpus *cpus;
	struct neap_pod **pods;
	size_t pod_count, pod_size;
	size_t owner_count;          /* how many of its pods use a reservation */
	struct neap_row_kind *kinds; /* pod_size entries; see the column */
	struct neap_arena arena;     /* holds the lists above, but not the pods */
};

/* Names up to this length are stored in a column, so that a lookup by name does not touch
 * the row itself. */
#define NEAP_ROW_NAME 31
struct neap_row_name {
	uint8_t len; /* 0: a free row, or a longer name */
	char text[NEAP_ROW_NAME];
};

/* Pods of one kind on a node. Checks that concern all pods run once per kind. */
struct neap_row_kind {
	const struct neap_pod *one;
	uint32_t number; /* of the kind */
	uint32_t count, deleting;
};

struct neap_row_kinds {
	const struct neap_row_kind *list;
	size_t count;
};

/* Struct of arrays; indexes are rows. */
struct neap_columns {
	size_t rows;
	size_t away_rows, near_rows;      /* with NEAP_ROW_HAS_AWAY, _NEAR */
	struct neap_cluster_node **nodes; /* NULL: a free row */
	struct neap_row_name *names;
	uint8_t *flags; /* NEAP_ROW_* */
	uint32_t *pods; /* number of pods */
	struct neap_row_kinds *kinds;
	uint16_t *cpu_class; /* what a filter asks of its CPU book, see cpus.c */
	/* By resource and row. NULL for a resource that no node ever had. */
	int64_t *allocatable[NEAP_RESOURCES_MAX], *used[NEAP_RESOURCES_MAX];
	/* Requests with defaults filled in, for comparing nodes. */
	int64_t *scored_cpu_milli, *scored_bytes;
};

/* What an event changed. Parked pods wake up by these bits. */
enum {
	NEAP_MOVED_NODE_ADDED = 1,
	NEAP_MOVED_ROOM = 2, /* allocatable changed, or a pod requests less */
	/* labels of a node or namespace changed, or a node is gone */
	NEAP_MOVED_LABELS = 4,
	NEAP_MOVED_TAINTS = 8, /* or spec.unschedulable */
	/* a placed pod, or one with room reserved by nomination, is gone */
	NEAP_MOVED_POD_GONE = 16,
	NEAP_MOVED_POD_PLACED = 32, /* a pod was placed, or its labels changed */
	NEAP_MOVED_OTHER = 64,      /* images, annotations, a status */
	NEAP_MOVED_LOAD = 128,      /* a load report of a node, or its limits */
	/* a topology, the CPU assignment rules, or assigned CPUs */
	NEAP_MOVED_CPUS = 256,
	NEAP_MOVED_VOLUMES = 512, /* a volume, a claim, or a storage class */
	NEAP_MOVED_RESERVATION =
		1024, /* a reservation became usable, is gone, or is less in use */
	NEAP_MOVED_ANY = 2047
};

int neap_cluster_new(struct neap_cluster **ret, struct neap_error *err);
void neap_cluster_free(struct neap_cluster *cluster);
struct neap_resources *neap_cluster_resources(struct neap_cluster *cluster);
/* Columns of its nodes come from told (engine/decide/columns/told.h), which is borrowed;
 * NULL: they are counted. */
void neap_cluster_set_told(struct neap_cluster *cluster, const struct neap_told *told);
const struct neap_told *neap_cluster_told(const struct neap_cluster *cluster);
/* Sets how load counts, in place of neap_load_args_init. Must come before the first node
 * or report, else NEAP_ECONFLICT. NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_cluster_set_load(struct neap_cluster *cluster, const struct neap_load_args *args,
			  struct neap_error *err);
/* Its columns are valid after neap_cluster_settle. */
const struct neap_load *neap_cluster_load(const struct neap_cluster *cluster);

/* --- what is told --- */

/* Adds or replaces a node. *ret_moved: NEAP_MOVED_*. On -NEAP_ENOMEM and -NEAP_ETOOLARGE
 * the node stays as it was. */
int neap_cluster_set_node(struct neap_cluster *cluster, struct neap_object *object,
			  unsigned *ret_moved, struct neap_error *err);
/* Removes a node. Its pods stay counted in case it comes back. */
void neap_cluster_remove_node(struct neap_cluster *cluster, const char *name);
/* Adds or replaces a pod; it counts when it is bound and not finished. If an assumed pod
 * has the same name: a bound pod replaces it, on whichever node; an unbound pod with the
 * same uid stays where it was assumed. */
int neap_cluster_set_pod(struct neap_cluster *cluster, struct neap_object *object,
			 unsigned *ret_moved, struct neap_error *err);
/* Does nothing when no pod has that name. */
void neap_cluster_remove_pod(struct neap_cluster *cluster, const char *ns,
			     const char *name, unsigned *ret_moved);
/* A PodDisruptionBudget: how many of the pods it selects may be disrupted, from its
 * status. A budget that has no requirements or cannot be read selects no pod. */
struct neap_cluster_budget {
	struct neap_object *object;
	struct neap_selector *selector; /* NULL: takes none */
	int64_t allowed;
	json_t *disrupted; /* by name: pods already counted as gone; NULL: none */
	/* what is left of allowed during a trial; used by the caller of the trial */
	int64_t left;
	/* next budget of the namespace, NULL at the end */
	struct neap_cluster_budget *next;
};
int neap_cluster_set_budget(struct neap_cluster *cluster, struct neap_object *object,
			    struct neap_error *err);
void neap_cluster_remove_budget(struct neap_cluster *cluster, const char *ns,
				const char *name);
/* Returns the first budget of a namespace, NULL when there is none. */
struct neap_cluster_budget *neap_cluster_budgets(const struct neap_cluster *cluster,
						 const char *ns);
/* Adds or replaces a NodeMetric; it may come before its node. */
int neap_cluster_set_metric(struct neap_cluster *cluster, struct neap_object *object,
			    unsigned *ret_moved, struct neap_error *err);
void neap_cluster_remove_metric(struct neap_cluster *cluster, const char *name,
				unsigned *ret_moved);
/* Stores the labels of a namespace. *ret_moved: NEAP_MOVED_LABELS, or 0 when they did not
 * change. */
int neap_cluster_set_namespace(struct neap_cluster *cluster, struct neap_object *object,
			       unsigned *ret_moved, struct neap_error *err);
void neap_cluster_remove_namespace(struct neap_cluster *cluster, const char *name);

/* --- what is decided --- */

/* Places an unplaced pod onto a row. until_usec: when the assumption expires; INT64_MAX:
 * not known yet. */
int neap_cluster_assume(struct neap_cluster *cluster, struct neap_pod *pod, uint32_t row,
			struct neap_error *err);
/* The binding was accepted; the bound pod is expected to arrive by until_usec. */
void neap_cluster_confirm(struct neap_cluster *cluster, struct neap_pod *pod,
			  int64_t until_usec);
/* The same when object is the pod's new object and differs from the old one by this
 * binding and these annotations alone (neap_pod_bind): the pod is then placed as if the
 * bound object had arrived. Returns false when the caller must confirm it and wait for
 * the object. */
bool neap_cluster_bind(struct neap_cluster *cluster, struct neap_pod *pod,
		       struct neap_object *object, const char *spec, const char *status);
/* Takes an assumed pod off its node; does nothing when it is not assumed any more. */
void neap_cluster_forget(struct neap_cluster *cluster, struct neap_pod *pod);
/* Takes the next expired assumed pod off its node and returns it (borrowed); NULL when
 * there is none. */
struct neap_pod *neap_cluster_expire(struct neap_cluster *cluster, int64_t now_usec);

/* Nominates an unplaced pod to a node on which room is being made for it; "" ends the
 * nomination. status.nominatedNodeName sets it too. Returns false without memory. */
bool neap_cluster_nominate(struct neap_cluster *cluster, struct neap_pod *pod,
			   const char *node);
/* Returns and clears the NEAP_MOVED_* bits that decisions themselves caused: room
 * nominated for a pod was released, and the pod is gone. */
unsigned neap_cluster_take_moved(struct neap_cluster *cluster);
/* Marks a pod that was asked to leave to make room for a nominated pod. The mark stays
 * with this pod (uid). */
void neap_cluster_mark_victim(struct neap_pod *pod);
/* For trials: lift takes a pod off its node and returns the node; the pod is put back
 * there afterwards. */
struct neap_cluster_node *neap_cluster_lift(struct neap_cluster *cluster,
					    struct neap_pod *pod);
void neap_cluster_put_back(struct neap_cluster *cluster, struct neap_pod *pod,
			   struct neap_cluster_node *node);

/* --- what is asked --- */

/* Nominated pods, by index below neap_cluster_nominee_count. */
size_t neap_cluster_nominee_count(const struct neap_cluster *cluster);
struct neap_pod *neap_cluster_nominee(const struct neap_cluster *cluster, size_t index);

/* Recounts changed nodes. The columns are valid until the next change. */
const struct neap_columns *neap_cluster_settle(struct neap_cluster *cluster);
size_t neap_cluster_node_count(const struct neap_cluster *cluster); /* that are there */
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
/* NULL: no node has it. */
const struct neap_image *neap_cluster_find_image(const struct neap_cluster *cluster,
						 const char *name);
/* The values of one node label as numbers, by row; 0: the node has no such label or does
 * not exist. */
struct neap_label_column {
	const uint32_t *at;
	uint32_t end; /* numbers are below */
};
/* Borrowed until a node changes or neap_cluster_trim_labels is called; NULL without
 * memory. The first call for a key visits every node. */
const struct neap_label_column *neap_cluster_label(struct neap_cluster *cluster,
						   const char *key);
/* Label columns kept; beyond that the least recently used ones are dropped. */
#define NEAP_CLUSTER_LABELS_MAX 64
void neap_cluster_trim_labels(struct neap_cluster *cluster);
/* All numbers of pod kinds are below this one. */
uint32_t neap_cluster_kind_end(const struct neap_cluster *cluster);
/* All numbers of taints are below this one. */
uint32_t neap_cluster_taint_end(const struct neap_cluster *cluster);
const struct neap_taint *neap_cluster_taint(const struct neap_cluster *cluster,
					    uint32_t number);

#endif
