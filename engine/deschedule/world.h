/* SPDX-License-Identifier: Apache-2.0
 *
 * The cluster as a descheduling round sees it: nodes with their pods, namespaces,
 * disruption budgets, claims, measured usage. Each object is decoded once when it
 * arrives, so that a round parses no JSON. Made for 5,000 nodes and 100,000 pods: about 2
 * KB for each pod, of which a cluster (engine/cluster) can share three quarters.
 *
 * Between two rounds the owner adds and removes objects. neap_world_settle then sorts
 * nodes and pods (only on changed nodes), and until the next change everything below is
 * constant. Single-threaded. */
#ifndef NEAP_ENGINE_DESCHEDULE_WORLD_H
#define NEAP_ENGINE_DESCHEDULE_WORLD_H

#include "engine/base/selector.h"
#include "engine/object/pod_class.h"
#include "engine/pod/pod.h"

/* Limit on owners, conditions and containers of one pod; further ones are ignored. */
#define NEAP_WORLD_ITEMS_MAX 512

struct neap_world_owner {
	const char *kind, *name, *uid;
	bool is_controller;
	struct neap_world_group *group;
};

/* The pods that have an owner in common; kept while there are any. */
struct neap_world_group {
	uint32_t pods;   /* all of them, bound or not */
	uint32_t number; /* below neap_world.group_end */
	char uid[];
};

enum neap_world_part { NEAP_PART_MAIN, NEAP_PART_INIT, NEAP_PART_EPHEMERAL };

struct neap_world_container {
	const char *name, *image; /* as in spec */
	enum neap_world_part part;
	int64_t restarts;
	const char *waiting, *terminated; /* reasons; "": it is not, or without one */
	bool has_exit;
	int32_t exit_code; /* of terminated */
};

struct neap_world_condition {
	const char *type, *status, *reason;
	int64_t since_usec; /* lastTransitionTime; 0: not told */
};

enum {
	NEAP_WORLD_IS_MIRROR = 1,
	NEAP_WORLD_IS_STATIC = 2,
	NEAP_WORLD_HAS_PRIORITY = 4,
	NEAP_WORLD_IS_FORCED = 8,      /* annotation evict: the evictor's rules are off */
	NEAP_WORLD_PREFERS_STAY = 16,  /* annotation prefer-no-eviction */
	NEAP_WORLD_HAS_LOCAL = 32,     /* a volume of hostPath or emptyDir */
	NEAP_WORLD_HAS_RESOURCES = 64, /* spec.resourceClaims */
	NEAP_WORLD_IS_DAEMON = 128,    /* an owner is a DaemonSet */
	NEAP_WORLD_IS_LIVE = 256,      /* neither Succeeded nor Failed */
};

struct neap_world_pod {
	struct neap_pod *pod;         /* requests, constraints; pod->object */
	struct neap_world_node *node; /* NULL: not bound, or to an unknown node */
	uint32_t index;               /* in neap_world.pods */
	uint32_t flags;               /* NEAP_WORLD_* */
	enum neap_kube_qos kube_qos;
	enum neap_qos qos;        /* never NONE */
	enum neap_band band;      /* never NONE */
	enum neap_band said_band; /* by label or priority alone; may be NONE */
	int32_t deletion_cost, eviction_cost;
	int64_t restarts; /* of main containers */
	const char *phase, *reason;
	struct neap_world_owner *owners;
	size_t owner_count;
	struct neap_world_container *containers;
	size_t container_count;
	struct neap_world_condition *conditions;
	size_t condition_count;
	const struct neap_amounts *usage;    /* by NodeMetric; NULL: not told */
	const struct neap_amounts *measured; /* by the metrics API; NULL: not told */
	struct neap_arena arena;
};

struct neap_world_taint {
	const char *key, *value;
	enum neap_taint_effect effect;
};

struct neap_world_metric;

struct neap_world_node {
	struct neap_object *object; /* NULL: only pods and reports name the node */
	char *name;
	uint32_t index; /* in neap_world.nodes */
	bool is_cordoned, is_ready;
	/* The first two without what the node reserves (engine/numa/node_reserve.h). */
	struct neap_amounts allocatable, capacity;
	struct neap_amounts raw; /* before amplification; else allocatable */
	struct neap_world_taint *taints;
	size_t taint_count;
	struct neap_world_pod **pods; /* all phases; by namespace and name */
	size_t pod_count, pod_size;
	bool is_dirty;
	struct neap_amounts requested; /* of live pods, each one of "pods" */
	uint32_t live_count;
	struct neap_world_metric *metric; /* NodeMetric; NULL: none */
	/* From metric: use of system and pods together; of the pods of class prod on the
	 * node. */
	struct neap_amounts used, prod_used;
	const struct neap_amounts *measured; /* by the metrics API; NULL: not told */
	double sample; /* a figure from 0 to 1 from elsewhere; negative: not told */
	struct neap_arena arena;
};

/* A NodeMetric. Usage is what the system uses and what the pods use, as LowNodeLoad
 * counts it; nodeUsage is read for metricsUtilization. */
struct neap_world_metric {
	struct neap_object *object;
	bool has_usage;      /* status.nodeMetric is there */
	int64_t update_usec; /* 0: not told */
	struct neap_amounts system, node;
	bool has_node;
	struct neap_map *pods; /* struct neap_amounts by "NAMESPACE/NAME" */
	struct neap_arena arena;
};

struct neap_world_claim {
	const char *storage_class; /* NULL: it has none */
	char text[];
};

struct neap_world_budget {
	struct neap_object *object;
	struct neap_selector *selector; /* NULL: selects none */
	int64_t allowed;                /* status.disruptionsAllowed; 0 without it */
	/* Pods that are not ready may be evicted: always, or because enough others are
	 * healthy. */
	bool lets_unready;
	uint32_t number;                /* below neap_world.budget_end */
	struct neap_world_budget *next; /* of the namespace */
};

struct neap_world {
	/* After neap_world_settle: the nodes that exist, by name; and their pods, node
	 * after node, then pods without a node. */
	struct neap_world_node **nodes;
	size_t node_count;
	struct neap_world_pod **pods;
	size_t pod_count, bound_count; /* bound_count: those with a node */
	uint32_t group_end, budget_end;
	struct neap_resources *resources;
	struct neap_world_own *own;
};

/* resources: table of names shared with a cluster, borrowed; NULL: a table of its own. */
int neap_world_new(struct neap_resources *resources, struct neap_world **ret,
		   struct neap_error *err);
void neap_world_free(struct neap_world *world);

/* Adds or replaces an object. Unreadable parts count as missing; -NEAP_ENOMEM,
 * -NEAP_ETOOLARGE (a node with too many resources). */
int neap_world_set_node(struct neap_world *world, struct neap_object *object,
			struct neap_error *err);
void neap_world_remove_node(struct neap_world *world, const char *name);
/* shared: the pod as read by a cluster with the same resources; NULL: it is read here. */
int neap_world_set_pod(struct neap_world *world, struct neap_object *object,
		       struct neap_pod *shared, struct neap_error *err);
void neap_world_remove_pod(struct neap_world *world, const char *ns, const char *name);
int neap_world_set_namespace(struct neap_world *world, struct neap_object *object,
			     struct neap_error *err);
void neap_world_remove_namespace(struct neap_world *world, const char *name);
int neap_world_set_budget(struct neap_world *world, struct neap_object *object,
			  struct neap_error *err);
void neap_world_remove_budget(struct neap_world *world, const char *ns, const char *name);
/* A PersistentVolumeClaim. */
int neap_world_set_claim(struct neap_world *world, struct neap_object *object,
			 struct neap_error *err);
void neap_world_remove_claim(struct neap_world *world, const char *ns, const char *name);
/* A NodeMetric; it may come before its node. */
int neap_world_set_metric(struct neap_world *world, struct neap_object *object,
			  struct neap_error *err);
void neap_world_remove_metric(struct neap_world *world, const char *name);
/* Adds NodeMetrics or PodMetrics of metrics.k8s.io, by its kind; kept until the next one
 * of that name, or until the node or pod is removed. */
int neap_world_set_measured(struct neap_world *world, const json_t *json,
			    struct neap_error *err);
/* Sets a figure of a node from another source (Prometheus), 0 to 1; negative removes
 * it. */
int neap_world_set_sample(struct neap_world *world, const char *name, double sample,
			  struct neap_error *err);

/* The same from a JSON object (borrowed): resource is "nodes", "pods", "namespaces",
 * "poddisruptionbudgets", "persistentvolumeclaims", "nodemetrics" or "measured". */
int neap_world_add(struct neap_world *world, const char *resource, const json_t *json,
		   struct neap_error *err);

/* Sorts nodes and pods, and recounts what changed; see the head of this file. */
int neap_world_settle(struct neap_world *world, struct neap_error *err);

/* Returns a node by index, NULL behind the last; also between two settlings. The sums of
 * a dirty node are old; neap_world_count_node computes them again. */
struct neap_world_node *neap_world_node_at(struct neap_world *world, size_t at);
void neap_world_count_node(struct neap_world *world, struct neap_world_node *node);

/* Borrowed; NULL: there is none. The node may lack an object. */
struct neap_world_node *neap_world_find_node(const struct neap_world *world,
					     const char *name);
struct neap_world_pod *neap_world_find_pod(const struct neap_world *world, const char *ns,
					   const char *name);
struct neap_object *neap_world_find_namespace(const struct neap_world *world,
					      const char *name);
const struct neap_world_claim *neap_world_find_claim(const struct neap_world *world,
						     const char *ns, const char *name);
/* The first budget of a namespace. */
struct neap_world_budget *neap_world_find_budgets(const struct neap_world *world,
						  const char *ns);
/* Returns whether the eviction API checks budgets for the pod at all. */
bool neap_world_asks_budgets(const struct neap_world_pod *pod);
bool neap_world_is_pod_ready(const struct neap_world_pod *pod);
/* Returns whether the budget selects the pod. */
bool neap_world_budget_takes(const struct neap_world_budget *budget,
			     const struct neap_world_pod *pod);

#endif
