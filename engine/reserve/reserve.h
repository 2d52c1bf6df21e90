/* SPDX-License-Identifier: Apache-2.0
 *
 * A Reservation as whoever places pods needs it: what it keeps, where, for whom. Read once from the object (or from a
 * pod in operating mode Reservation, which acts as one), immutable and counted. Nothing here does input or output, or
 * reads a clock. Fields, defaults and rules: scheduling.koordinator.sh/v1alpha1. */
#ifndef NEAP_ENGINE_RESERVE_RESERVE_H
#define NEAP_ENGINE_RESERVE_RESERVE_H

#include "engine/cluster/kept.h"

#define NEAP_KEY_RESERVATION_ORDER "scheduling.koordinator.sh/reservation-order"
#define NEAP_KEY_RESERVATION_OPTIONS                                                     \
	"scheduling.koordinator.sh/reservation-restricted-options"
#define NEAP_KEY_RESERVATION_RESIZE                                                      \
	"scheduling.koordinator.sh/reservation-resize-allocatable"
#define NEAP_KEY_RESERVE_POD      "scheduling.koordinator.sh/reserve-pod"
#define NEAP_KEY_RESERVE_POD_NAME "scheduling.koordinator.sh/reservation-name"
#define NEAP_KEY_RESERVE_POD_NODE "scheduling.koordinator.sh/reservation-node"
#define NEAP_KEY_RESERVE_POD_PRE  "scheduling.koordinator.sh/is-pre-allocation"
#define NEAP_RESERVATION_TTL_USEC (INT64_C(24) * 3600 * 1000000) /* when ttl is missing */

enum neap_reserve_phase {
	NEAP_RESERVE_PENDING,
	NEAP_RESERVE_AVAILABLE,
	NEAP_RESERVE_WAITING, /* placed, but its room is not free yet; an extension of neap */
	NEAP_RESERVE_SUCCEEDED,
	NEAP_RESERVE_FAILED
};

enum neap_reserve_policy {
	NEAP_RESERVE_NO_POLICY,
	NEAP_RESERVE_ALIGNED,   /* what it keeps first, then of the node */
	NEAP_RESERVE_RESTRICTED /* of what it keeps only that */
};

enum neap_reserve_pre {
	NEAP_RESERVE_PRE_NONE,
	NEAP_RESERVE_PRE_DEFAULT, /* takes over pods that its owners name */
	NEAP_RESERVE_PRE_CLUSTER, /* takes over pods that say they may be */
	NEAP_RESERVE_PRE_WAITING  /* is placed, and waits until they are gone */
};

/* Somebody whom an entry of owners, or a pod, refers to. NULL: not said. */
struct neap_reserve_ref {
	const char *ns, *uid, *name, *kind, *api_version;
	enum { NEAP_REF_NOT_SAID, NEAP_REF_FALSE, NEAP_REF_TRUE } controller;
};

/* One entry; all that it says must hold. */
struct neap_reserve_owner {
	bool has_object, has_controller;
	struct neap_reserve_ref object, controller;
	const struct neap_selector *selector; /* NULL: not said */
	/* A label that its pods have, with one of these values: what they are found by. NULL: there is none. */
	const char *label, **values;
	size_t value_count;
};

struct neap_reserve_taint {
	const char *key, *value;
	enum neap_taint_effect effect;
};

struct neap_reserve {
	uint32_t refs;              /* of one thread */
	struct neap_object *object; /* of the Reservation, or the operating pod */
	/* What could not be read, for people; such a one is used by nobody. NULL: all is well. */
	const char *trouble;
	bool is_pod; /* an operating pod */
	enum neap_reserve_phase phase;
	bool is_expired;         /* Failed, as Ready says by reason Expired */
	const char *node_name;   /* status.nodeName; "" */
	const char *wanted_node; /* of the template: it goes there or nowhere; "" */
	bool is_once;            /* allocateOnce */
	bool is_unschedulable;   /* by its spec */
	enum neap_reserve_policy policy;
	enum neap_reserve_pre pre;
	bool takes_several; /* preAllocationPolicy.enableMultiple */
	bool needs_pods;    /* label pre-allocation-required */
	int64_t order;      /* 0: none; the smallest first */
	int64_t created_usec;
	int64_t ttl_usec;     /* 0: neither limit holds */
	int64_t expires_usec; /* INT64_MAX: not said */
	int64_t moved_usec; /* newest transition of Ready, else of any condition, else the creation */
	int64_t probed_usec; /* lastProbeTime of Ready, else as moved_usec */
	const struct neap_reserve_owner *owners;
	size_t owner_count;
	const struct neap_reserve_taint *taints;
	size_t taint_count;
	struct neap_pod *pod; /* that stands for it; of an operating pod, itself */
	/* What that asks for: of the template, overlaid with status.allocatable once it is placed. */
	struct neap_amounts requests;
	struct neap_amounts allocatable, allocated; /* of the status */
	struct neap_amounts inner;                  /* withheld from owners */
	/* The resources of which owners of a Restricted one get what it keeps and no more: all of allocatable, or those
	 * of its options, if it has any of them. */
	uint32_t names[NEAP_AMOUNTS_MAX];
	size_t name_count;
	struct neap_arena arena;
};

/* Reads a Reservation, which is counted. -NEAP_ENOMEM is the only error. */
int neap_reserve_new(struct neap_object *object, struct neap_resources *resources,
		     struct neap_reserve **ret, struct neap_error *err);
/* Of a pod in operating mode: Aligned, for one owner, usable while it is Running and Ready. */
int neap_reserve_new_pod(struct neap_object *object, struct neap_resources *resources,
			 struct neap_reserve **ret, struct neap_error *err);
struct neap_reserve *neap_reserve_ref(struct neap_reserve *reserve);
/* Returns NULL. NULL is fine. */
struct neap_reserve *neap_reserve_unref(struct neap_reserve *reserve);

/* What it keeps, and owners have of it: what its status says, before that what it asks for. */
const struct neap_amounts *neap_reserve_keeps(const struct neap_reserve *reserve);
/* nodeName is set and it is Available or Waiting: its room counts. */
bool neap_reserve_is_active(const struct neap_reserve *reserve);
/* ... and Available: it can be used. */
bool neap_reserve_is_available(const struct neap_reserve *reserve);
/* Whether any pod may use it, assigned ones being there: not broken, and once is once. */
bool neap_reserve_is_usable(const struct neap_reserve *reserve, size_t assigned);
/* It takes no new owners, but those that tolerate it. */
bool neap_reserve_is_closed(const struct neap_reserve *reserve);

/* The pod that stands for a Reservation: tree of an object of kind Pod. requests: in place of those of the template;
 * NULL: those. A new reference, NULL without memory. */
json_t *neap_reserve_pod_tree(const json_t *reservation,
			      const struct neap_amounts *requests,
			      const struct neap_resources *resources);
/* Who places it; borrowed from the tree. */
const char *neap_reserve_scheduler(const json_t *reservation);
/* As quantities: {"cpu": "500m"}. A new reference, NULL without memory. */
json_t *neap_reserve_amounts_json(const struct neap_amounts *amounts,
				  const struct neap_resources *resources);

#endif
