/* SPDX-License-Identifier: Apache-2.0
 *
 * A pod as whoever places it needs it: what it asks for, where it may go, whom it wants near. Read once from the
 * object, counted, and immutable but for neap_pod_resolve and where it sits; about 1.5 KB beside the object, which it holds. */
#ifndef NEAP_ENGINE_POD_POD_H
#define NEAP_ENGINE_POD_POD_H

#include "engine/numa/cpu_policy.h"
#include "engine/object/amounts.h"
#include "engine/object/term.h"

/* Of each kind: tolerations, ports, terms, constraints, containers. */
#define NEAP_POD_ITEMS_MAX 512
/* What a container without a request counts as when nodes are compared, as kube-scheduler has it. */
#define NEAP_POD_CPU_MILLI_UNASKED 100
#define NEAP_POD_BYTES_UNASKED     (INT64_C(200) * 1024 * 1024)
/* "NAMESPACE/NAME" with its NUL. */
#define NEAP_POD_KEY (NEAP_OBJECT_NAMESPACE + NEAP_OBJECT_NAME)

enum neap_taint_effect {
	NEAP_TAINT_NO_SCHEDULE,
	NEAP_TAINT_PREFER_NO_SCHEDULE,
	NEAP_TAINT_NO_EXECUTE,
	NEAP_TAINT_EFFECT_COUNT
};

struct neap_toleration {
	const char *key;   /* "": every key, then is_any is set */
	const char *value; /* "" with is_any */
	bool is_any;       /* operator Exists */
	bool is_every;     /* every effect */
	enum neap_taint_effect effect;
};

struct neap_host_port {
	uint16_t port;
	const char *protocol; /* "TCP" */
	const char *address;  /* "0.0.0.0": every one */
};

struct neap_preferred {
	int32_t weight;
	struct neap_term term;
};

/* Other pods that this one wants near, or away. */
struct neap_pod_term {
	int32_t weight;           /* of a preferred one */
	const char *topology_key; /* label of the nodes that says what is near */
	/* Of the other pods; NULL takes none. */
	const struct neap_selector *selector;
	const char **namespaces; /* besides those of namespace_selector */
	size_t namespace_count;
	bool is_every_namespace; /* namespaceSelector {} */
	/* By labels of namespaces; NULL: none. */
	const struct neap_selector *namespace_selector;
};

struct neap_pod_terms {
	struct neap_pod_term *terms;
	size_t count;
};

enum neap_near {
	NEAP_NEAR_REQUIRED,
	NEAP_NEAR_PREFERRED,
	NEAP_AWAY_REQUIRED,
	NEAP_AWAY_PREFERRED,
	NEAP_NEAR_COUNT
};

struct neap_spread {
	int32_t max_skew, min_domains;
	const char *topology_key;
	bool is_required;      /* DoNotSchedule; else ScheduleAnyway */
	bool ignores_affinity; /* nodeAffinityPolicy Ignore: other nodes count, too */
	bool honors_taints;    /* nodeTaintsPolicy Honor */
	const struct neap_selector *selector; /* NULL takes none */
};

/* A PersistentVolumeClaim of its namespace. */
struct neap_pod_claim {
	const char *name;
	bool is_own; /* of a generic ephemeral volume: made for this pod alone */
};

/* Pods of one namespace with the same labels and terms about other pods, as those of one set: what selects one of them
 * selects all, and they want the same near. */
struct neap_pod_kind {
	uint32_t number; /* below neap_cluster_kind_end */
	uint32_t uses;
	uint64_t stamp; /* of the row that is counted, and where in it */
	uint32_t at;
	char name[];
};

/* Entries of scheduling.koordinator.sh/load-estimated-scaling-factors; with more of them none counts. */
#define NEAP_POD_FACTORS_MAX 16
struct neap_pod_factor {
	const char *name;
	int64_t percent;
};

/* What its load is estimated from, beside its requests. */
struct neap_pod_load {
	enum neap_band band; /* never NONE */
	bool is_daemon;      /* of a DaemonSet */
	/* When it got its place, by condition PodScheduled; INT64_MAX: not told, which counts as just now. */
	int64_t assigned_usec;
	int64_t initialized_usec;         /* by condition Initialized; 0: is not */
	const struct neap_amount *limits; /* added up as requests are */
	size_t limit_count;
	/* By annotations, -1 and none without. */
	int64_t after_scheduled_usec, after_initialized_usec;
	const struct neap_pod_factor *factors;
	size_t factor_count;
};

/* What it says about CPUs of its own and NUMA nodes. */
struct neap_pod_cpus {
	struct neap_cpu_wish wishes[2]; /* by default FullPCPUs, and SpreadByPCPUs */
	const char *spec, *status; /* resource-spec and -status as they are; NULL: none */
	/* What the wishes are made from. */
	struct neap_cpu_wish_from from;
	enum neap_cpu_exclusive exclusive; /* by resource-spec */
};

/* Of a pod that stands for a reservation: what it has is counted, and what those that use it (its owners) have is
 * counted, too; of these resources it is taken off again (engine/cluster/kept.h). */
struct neap_pod_keep {
	const char
		*name; /* of the Reservation; NULL: it is a real pod, in operating mode */
	const char *uid; /* by which owners say that they use it */
	uint32_t *names; /* of a real pod with room for what it asks for by name alone */
	size_t name_count;
	bool waits; /* placed where its room may not be free yet */
};

struct neap_unknown {
	const char *name;
	int64_t amount;
};

/* Where it stands in a cluster; of engine/cluster/cluster*.c alone. */
struct neap_pod_seat {
	struct neap_pod_kind *kind;     /* NULL: not of a cluster */
	struct neap_cluster_node *node; /* it counts there; NULL: nowhere */
	uint32_t at;                    /* among the pods of that node */
	bool is_assumed;                /* decided, and not seen to be bound yet */
	bool is_victim;                 /* asked to go: room is made */
	int64_t until_usec; /* of an assumed one: it is given up then; INT64_MAX: not yet */
	/* Of an assumed one: what it was given of CPUs and NUMA nodes, as resource-status; NULL: nothing. */
	char *status;
	enum neap_cpu_exclusive exclusive;
	char *reservation; /* ... and the uid of the reservation that it uses; NULL: none */
	bool is_owner;     /* it uses one where it sits */
};

struct neap_pod {
	uint32_t refs;              /* of one thread */
	struct neap_object *object; /* names, labels */
	/* What could not be read, as text for people: the pod is not to be placed; what could be read counts.
	 * NULL: all is well. */
	const char *trouble;
	const char *node_name; /* "": not bound */
	const char
		*nominated; /* status.nominatedNodeName, or what was decided since; "" */
	const char *scheduler; /* spec.schedulerName */
	bool is_finished;      /* Succeeded or Failed: it uses nothing any more */
	bool is_gated;         /* has schedulingGates */
	bool may_preempt;      /* preemptionPolicy is not Never */
	bool is_preempted;     /* condition DisruptionTarget: it goes for another one */
	int32_t priority;
	int64_t created_usec, started_usec; /* 0: not told */
	/* What it needs of a node: containers together, or the largest start-up step, and the overhead. NEAP_RESOURCE_PODS
	 * is 1. */
	struct neap_amount *requests;
	size_t request_count;
	/* ... of resources that nobody has told of: no node has them. */
	struct neap_unknown *unknown;
	size_t unknown_count;
	/* The same with NEAP_POD_CPU_MILLI_UNASKED and NEAP_POD_BYTES_UNASKED for containers that do not say. */
	int64_t scored_cpu_milli, scored_bytes;
	const struct neap_toleration *tolerations;
	size_t toleration_count;
	const struct neap_host_port *ports;
	size_t port_count;
	struct neap_term node_selector; /* count 0: every node */
	bool has_affinity;              /* affinity is to be asked, even if it is empty */
	struct neap_terms affinity;
	const struct neap_preferred *preferred;
	size_t preferred_count;
	struct neap_pod_terms near[NEAP_NEAR_COUNT];
	const char
		*near_name; /* a sum of spec.affinity, where there are such terms; "" */
	const struct neap_spread *spreads;
	size_t spread_count;
	const char **images; /* of the containers, then of init containers, with a tag */
	size_t image_count, container_count;
	struct neap_pod_claim *claims;
	size_t claim_count;
	struct neap_pod_load load;
	const struct neap_pod_cpus *cpus; /* NULL: says nothing of them */
	/* Annotation reservation-allocated: the uid of the reservation that it uses; "". */
	const char *reservation;
	bool asks_reservations;     /* it says by itself which ones it may use */
	struct neap_pod_keep *keep; /* NULL: it stands for no reservation */
	const char *
		*owner_names; /* of its ownerReferences; their uids are the object's */
	size_t owner_name_count;
	struct neap_pod_seat seat;
	/* Making room for it is tried on some nodes a time, by rows: where that began, and where it goes on. The same: it
	 * begins anew. Kept while the pod is the same one. */
	uint32_t trials_begin, trials_next;
	struct neap_arena arena; /* all of the above */
};

/* Reads the object, which is counted. -NEAP_ENOMEM is the only error. */
int neap_pod_new(struct neap_object *object, const struct neap_resources *resources,
		 struct neap_pod **ret, struct neap_error *err);
/* Asks for by number what it asked for by name alone, as far as there are numbers now. Whether there is any. */
bool neap_pod_resolve(struct neap_pod *pod, const struct neap_resources *resources);
struct neap_pod *neap_pod_ref(struct neap_pod *pod);
/* Returns NULL. NULL is fine. */
struct neap_pod *neap_pod_unref(struct neap_pod *pod);
/* The pod as object, which is what it was but for its binding to node: with node's name, condition PodScheduled, and
 * annotations spec and status (NULL: as they were; only of a pod with pod->cpus). Nothing else is read. False: it is as
 * it was, as there is no memory, or the object says something else; it is to be read as a new one. */
bool neap_pod_bind(struct neap_pod *pod, struct neap_object *object, const char *node,
		   const char *spec, const char *status);
/* The CPU that a pod with this spec asks for. NEAP_EINVAL, NEAP_ETOOLARGE: what it asks for cannot be read; NEAP_ENOMEM. */
int neap_pod_spec_cpu(const json_t *spec, int64_t *ret_milli);
/* What it asks for of a resource, 0 when of none; and all of that, but for its being a pod. */
int64_t neap_pod_request(const struct neap_pod *pod, uint32_t resource);
void neap_pod_amounts(const struct neap_pod *pod, struct neap_amounts *ret);
/* What it wants of CPUs and NUMA nodes; default_bind: FULL_PCPUS or SPREAD. */
void neap_pod_cpu_wish(const struct neap_pod *pod, enum neap_cpu_bind default_bind,
		       struct neap_cpu_wish *ret);
/* "NAMESPACE/NAME"; returns buf. Of a pod that stands for a Reservation "/NAME", with the name of that. */
char *neap_pod_seat_key(const struct neap_pod *pod, char buf[NEAP_POD_KEY]);
/* "NAMESPACE/NAME"; returns buf. */
char *neap_pod_key(const char *ns, const char *name, char buf[NEAP_POD_KEY]);

/* Whether other is one of those that the term speaks of. other_namespace: the object, NULL when it is not known. */
bool neap_pod_term_takes(const struct neap_pod_term *term, const struct neap_pod *other,
			 const struct neap_object *other_namespace);
/* A list of Tolerations, into the arena; of unknown effects none. NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_tolerations_read(const json_t *list, struct neap_arena *arena,
			  const struct neap_toleration **ret, size_t *ret_count,
			  struct neap_error *err);
bool neap_toleration_takes(const struct neap_toleration *toleration, const char *key,
			   const char *value, enum neap_taint_effect effect);
/* "NoSchedule", ...; false when it is not known. */
bool neap_taint_effect_parse(const char *text, enum neap_taint_effect *ret);
/* The same port, protocol, and address (or one of them all). */
bool neap_host_port_collides(const struct neap_host_port *a,
			     const struct neap_host_port *b);

#endif
