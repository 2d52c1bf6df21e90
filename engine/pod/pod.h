/* SPDX-License-Identifier: Apache-2.0
 *
 * A pod as the scheduler needs it: its requests, its node constraints, its affinities.
 * Read once from the object, which it references; about 1 KB in addition. Reference
 * counted, and immutable except for neap_pod_resolve and its seat. */
#ifndef NEAP_ENGINE_POD_POD_H
#define NEAP_ENGINE_POD_POD_H

#include "engine/numa/cpu_policy.h"
#include "engine/object/amounts.h"
#include "engine/object/term.h"

/* Limit on each of tolerations, ports, terms, constraints, containers. */
#define NEAP_POD_ITEMS_MAX 512
/* What a container without a request counts as in scores, as in kube-scheduler. */
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
	const char *key;   /* "": every key, and is_any is set */
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

/* Affinity or anti-affinity to other pods. */
struct neap_pod_term {
	int32_t weight;           /* for a preferred term */
	const char *topology_key; /* the node label that defines the domain */
	/* Selects the other pods; NULL selects none. */
	const struct neap_selector *selector;
	const char **namespaces; /* in addition to those of namespace_selector */
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
	bool is_required; /* DoNotSchedule; else ScheduleAnyway */
	/* nodeAffinityPolicy Ignore: count nodes that the affinity excludes too */
	bool ignores_affinity;
	bool honors_taints;                   /* nodeTaintsPolicy Honor */
	const struct neap_selector *selector; /* NULL takes none */
};

/* A PersistentVolumeClaim in its namespace. */
struct neap_pod_claim {
	const char *name;
	bool is_own; /* of a generic ephemeral volume: created for this pod alone */
};

/* Pods of one namespace with equal labels and equal pod affinity terms, such as those of
 * one ReplicaSet: a selector that matches one matches all. */
struct neap_pod_kind {
	uint32_t number; /* below neap_cluster_kind_end */
	uint32_t uses;
	uint64_t stamp; /* of the row being counted, and the index within it */
	uint32_t at;
	char name[];
};

/* Entries of scheduling.koordinator.sh/load-estimated-scaling-factors; with more, the
 * annotation is ignored. */
#define NEAP_POD_FACTORS_MAX 16
struct neap_pod_factor {
	const char *name;
	int64_t percent;
};

/* Inputs of its load estimate, besides its requests. */
struct neap_pod_load {
	enum neap_band band; /* never NONE */
	bool is_daemon;      /* of a DaemonSet */
	/* When it was scheduled (condition PodScheduled); INT64_MAX: unknown, counts as
	 * now. */
	int64_t assigned_usec;
	/* from condition Initialized; 0: not initialized */
	int64_t initialized_usec;
	const struct neap_amount *limits; /* summed up like requests */
	size_t limit_count;
	/* From annotations; -1 and none without them. */
	int64_t after_scheduled_usec, after_initialized_usec;
	const struct neap_pod_factor *factors;
	size_t factor_count;
};

/* What it says about exclusive CPUs and NUMA nodes. */
struct neap_pod_cpus {
	/* with default FullPCPUs, and with default SpreadByPCPUs */
	struct neap_cpu_wish wishes[2];
	/* the annotations resource-spec and -status; NULL: none */
	const char *spec, *status;
	/* The inputs of the wishes. */
	struct neap_cpu_wish_from from;
	enum neap_cpu_exclusive exclusive; /* by resource-spec */
};

/* For the placeholder of a reservation: its own requests count, and the requests of its
 * owners (pods that use it) count too; the overlap in these resources is subtracted again
 * (engine/cluster/kept.h). */
struct neap_pod_keep {
	const char *name; /* of the Reservation; NULL: a real pod in operating mode */
	const char *uid;  /* by which owners refer to it */
	uint32_t *names;  /* for a real pod: room for resources requested by name only */
	size_t name_count;
	bool waits; /* placed where its room may not be free yet */
};

struct neap_unknown {
	const char *name;
	int64_t amount;
};

/* Its place in a cluster; only engine/cluster/cluster*.c touches it. */
struct neap_pod_seat {
	struct neap_pod_kind *kind;     /* NULL: not in a cluster */
	struct neap_cluster_node *node; /* the node it counts on; NULL: none */
	uint32_t at;                    /* index among the pods of that node */
	/* a node was chosen, but the bound pod was not seen yet */
	bool is_assumed;
	bool is_victim;     /* asked to leave to make room */
	int64_t until_usec; /* when an assumption expires; INT64_MAX: never so far */
	/* For an assumed pod: the CPUs and NUMA nodes it was given, as resource-status;
	 * NULL: none. */
	char *status;
	enum neap_cpu_exclusive exclusive;
	/* ... and the uid of the reservation that it uses; NULL: none */
	char *reservation;
	bool is_owner; /* it uses a reservation on its node */
};

struct neap_pod {
	uint32_t refs;              /* of one thread */
	struct neap_object *object; /* names, labels */
	/* What could not be read, as text for people: the pod must not be scheduled, but
	 * what was read counts. NULL: no problem. */
	const char *trouble;
	const char *node_name; /* "": not bound */
	const char *nominated; /* status.nominatedNodeName, or a later decision; "" */
	const char *scheduler; /* spec.schedulerName */
	bool is_finished;      /* Succeeded or Failed: it uses nothing any more */
	bool is_gated;         /* has schedulingGates */
	bool may_preempt;      /* preemptionPolicy is not Never */
	bool is_preempted;     /* condition DisruptionTarget: it is being preempted */
	int32_t priority;
	int64_t created_usec, started_usec; /* 0: not told */
	/* What it needs from a node: the sum of its containers or the largest init step,
	 * plus overhead. NEAP_RESOURCE_PODS is 1. */
	struct neap_amount *requests;
	size_t request_count;
	/* ... of unknown resources, which no node has. */
	struct neap_unknown *unknown;
	size_t unknown_count;
	/* The same, with NEAP_POD_CPU_MILLI_UNASKED and NEAP_POD_BYTES_UNASKED for
	 * containers without requests. */
	int64_t scored_cpu_milli, scored_bytes;
	const struct neap_toleration *tolerations;
	size_t toleration_count;
	const struct neap_host_port *ports;
	size_t port_count;
	struct neap_term node_selector; /* count 0: every node */
	/* affinity must be checked, even if it is empty */
	bool has_affinity;
	struct neap_terms affinity;
	const struct neap_preferred *preferred;
	size_t preferred_count;
	struct neap_pod_terms near[NEAP_NEAR_COUNT];
	const char *near_name; /* hash of spec.affinity, if it has pod terms; "" */
	const struct neap_spread *spreads;
	size_t spread_count;
	/* images of containers, then init containers, each with a tag */
	const char **images;
	size_t image_count, container_count;
	struct neap_pod_claim *claims;
	size_t claim_count;
	struct neap_pod_load load;
	const struct neap_pod_cpus *cpus; /* NULL: no such annotations */
	/* Annotation reservation-allocated: the uid of the reservation that it uses;
	 * "". */
	const char *reservation;
	/* its own annotations restrict which reservations it may use */
	bool asks_reservations;
	struct neap_pod_keep *keep; /* NULL: not the placeholder of a reservation */
	/* names of its ownerReferences; the uids are in the object */
	const char **owner_names;
	size_t owner_name_count;
	struct neap_pod_seat seat;
	/* Preemption tries some rows per attempt: the row where the round began, and
	 * where the next attempt continues. Equal: a new round. Kept for the life of the
	 * pod. */
	uint32_t trials_begin, trials_next;
	struct neap_arena arena; /* holds everything above */
};

/* Reads the object and takes a reference to it. -NEAP_ENOMEM is the only error. */
int neap_pod_new(struct neap_object *object, const struct neap_resources *resources,
		 struct neap_pod **ret, struct neap_error *err);
/* Converts requests by name into requests by number, where numbers exist now. Returns
 * whether there were any. */
bool neap_pod_resolve(struct neap_pod *pod, const struct neap_resources *resources);
struct neap_pod *neap_pod_ref(struct neap_pod *pod);
/* Returns NULL. Accepts NULL. */
struct neap_pod *neap_pod_unref(struct neap_pod *pod);
/* Updates the pod to object, which differs only by the binding: nodeName, condition
 * PodScheduled, and the annotations spec and status (NULL: unchanged; only for a pod with
 * pod->cpus). Nothing else is read. Returns false with the pod unchanged when memory is
 * short or object does not match; the caller then reads it as a new pod. */
bool neap_pod_bind(struct neap_pod *pod, struct neap_object *object, const char *node,
		   const char *spec, const char *status);
/* Returns the CPU request of a pod with this spec. NEAP_EINVAL, NEAP_ETOOLARGE: a request
 * cannot be read; NEAP_ENOMEM. */
int neap_pod_spec_cpu(const json_t *spec, int64_t *ret_milli);
/* Its request of a resource, 0 if none; and all requests except that for the pod
 * itself. */
int64_t neap_pod_request(const struct neap_pod *pod, uint32_t resource);
void neap_pod_amounts(const struct neap_pod *pod, struct neap_amounts *ret);
/* Returns its CPU and NUMA wish; default_bind: FULL_PCPUS or SPREAD. */
void neap_pod_cpu_wish(const struct neap_pod *pod, enum neap_cpu_bind default_bind,
		       struct neap_cpu_wish *ret);
/* Writes "NAMESPACE/NAME", or "/NAME" for the placeholder of a Reservation. Returns
 * buf. */
char *neap_pod_seat_key(const struct neap_pod *pod, char buf[NEAP_POD_KEY]);
/* "NAMESPACE/NAME"; returns buf. */
char *neap_pod_key(const char *ns, const char *name, char buf[NEAP_POD_KEY]);

/* Returns whether the term selects other. other_namespace: the Namespace object, NULL
 * when unknown. */
bool neap_pod_term_takes(const struct neap_pod_term *term, const struct neap_pod *other,
			 const struct neap_object *other_namespace);
/* Reads a list of Tolerations into the arena, skipping unknown effects. NEAP_ETOOLARGE,
 * NEAP_ENOMEM. */
int neap_tolerations_read(const json_t *list, struct neap_arena *arena,
			  const struct neap_toleration **ret, size_t *ret_count,
			  struct neap_error *err);
bool neap_toleration_takes(const struct neap_toleration *toleration, const char *key,
			   const char *value, enum neap_taint_effect effect);
/* "NoSchedule", ...; returns false for an unknown effect. */
bool neap_taint_effect_parse(const char *text, enum neap_taint_effect *ret);
/* Returns whether port, protocol and address collide (an unspecified address collides
 * with all). */
bool neap_host_port_collides(const struct neap_host_port *a,
			     const struct neap_host_port *b);

#endif
