/* SPDX-License-Identifier: Apache-2.0
 *
 * A Reservation as the scheduler needs it: what it keeps, where, and for whom. Read once
 * from the object, or from a pod in operating mode Reservation, which acts as one.
 * Immutable and reference counted. No input or output, no clock. Fields, defaults and
 * rules: scheduling.koordinator.sh/v1alpha1. */
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
	/* placed, but its room is not free yet; an extension of neap */
	NEAP_RESERVE_WAITING,
	NEAP_RESERVE_SUCCEEDED,
	NEAP_RESERVE_FAILED
};

enum neap_reserve_policy {
	NEAP_RESERVE_NO_POLICY,
	NEAP_RESERVE_ALIGNED,   /* reserved amounts first, then from the node */
	NEAP_RESERVE_RESTRICTED /* only reserved amounts, of the resources it keeps */
};

enum neap_reserve_pre {
	NEAP_RESERVE_PRE_NONE,
	NEAP_RESERVE_PRE_DEFAULT, /* takes over pods that its owners match */
	NEAP_RESERVE_PRE_CLUSTER, /* takes over pods whose label allows it */
	NEAP_RESERVE_PRE_WAITING  /* is placed, and waits until the pods are gone */
};

/* A reference of an owners entry or of a pod. NULL: not given. */
struct neap_reserve_ref {
	const char *ns, *uid, *name, *kind, *api_version;
	enum { NEAP_REF_NOT_SAID, NEAP_REF_FALSE, NEAP_REF_TRUE } controller;
};

/* An owners entry; all its parts must match. */
struct neap_reserve_owner {
	bool has_object, has_controller;
	struct neap_reserve_ref object, controller;
	const struct neap_selector *selector; /* NULL: not said */
	/* A label that matching pods have, with one of these values, used as the lookup
	 * key. NULL: there is none. */
	const char *label, **values;
	size_t value_count;
};

struct neap_reserve_taint {
	const char *key, *value;
	enum neap_taint_effect effect;
};

struct neap_reserve {
	uint32_t refs;              /* of one thread */
	struct neap_object *object; /* the Reservation, or the operating pod */
	/* What could not be read, for people; no pod may use the reservation then. NULL:
	 * no problem. */
	const char *trouble;
	bool is_pod; /* an operating pod */
	enum neap_reserve_phase phase;
	bool is_expired;         /* Failed, with reason Expired in Ready */
	const char *node_name;   /* status.nodeName; "" */
	const char *wanted_node; /* of the template: the only possible node; "" */
	bool is_once;            /* allocateOnce */
	bool is_unschedulable;   /* by its spec */
	enum neap_reserve_policy policy;
	enum neap_reserve_pre pre;
	bool takes_several; /* preAllocationPolicy.enableMultiple */
	bool needs_pods;    /* label pre-allocation-required */
	int64_t order;      /* 0: none; smallest first */
	int64_t created_usec;
	int64_t ttl_usec;     /* 0: neither ttl nor expires applies */
	int64_t expires_usec; /* INT64_MAX: not said */
	/* newest transition of Ready, else of any condition, else the creation */
	int64_t moved_usec;
	int64_t probed_usec; /* lastProbeTime of Ready, else like moved_usec */
	const struct neap_reserve_owner *owners;
	size_t owner_count;
	const struct neap_reserve_taint *taints;
	size_t taint_count;
	struct neap_pod *pod; /* its placeholder; for an operating pod, the pod itself */
	/* Requests of the template, overlaid with status.allocatable once it is
	 * placed. */
	struct neap_amounts requests;
	struct neap_amounts allocatable, allocated; /* of the status */
	struct neap_amounts inner;                  /* withheld from owners */
	/* For a Restricted reservation: resources that owners get from the reserved
	 * amounts only: all of allocatable, or those of its options if it keeps any of
	 * them. */
	uint32_t names[NEAP_AMOUNTS_MAX];
	size_t name_count;
	struct neap_arena arena;
};

/* Reads a Reservation and takes a reference to the object. -NEAP_ENOMEM is the only
 * error. */
int neap_reserve_new(struct neap_object *object, struct neap_resources *resources,
		     struct neap_reserve **ret, struct neap_error *err);
/* Reads a pod in operating mode: Aligned, for one owner, usable while Running and
 * Ready. */
int neap_reserve_new_pod(struct neap_object *object, struct neap_resources *resources,
			 struct neap_reserve **ret, struct neap_error *err);
struct neap_reserve *neap_reserve_ref(struct neap_reserve *reserve);
/* Returns NULL. Accepts NULL. */
struct neap_reserve *neap_reserve_unref(struct neap_reserve *reserve);

/* Returns the amounts it keeps for owners: status.allocatable, before that its
 * requests. */
const struct neap_amounts *neap_reserve_keeps(const struct neap_reserve *reserve);
/* nodeName is set and it is Available or Waiting: its amounts count. */
bool neap_reserve_is_active(const struct neap_reserve *reserve);
/* ... and Available: pods can use it. */
bool neap_reserve_is_available(const struct neap_reserve *reserve);
/* Returns whether a pod may use it when assigned pods do: not broken, and not used up by
 * allocateOnce. */
bool neap_reserve_is_usable(const struct neap_reserve *reserve, size_t assigned);
/* Returns whether it accepts only new owners that tolerate it. */
bool neap_reserve_is_closed(const struct neap_reserve *reserve);

/* Returns the placeholder pod of a Reservation as a tree of kind Pod. requests: replace
 * those of the template; NULL: keep those. A new reference, NULL without memory. */
json_t *neap_reserve_pod_tree(const json_t *reservation,
			      const struct neap_amounts *requests,
			      const struct neap_resources *resources);
/* Returns the name of its scheduler; borrowed from the tree. */
const char *neap_reserve_scheduler(const json_t *reservation);
/* Returns quantities: {"cpu": "500m"}. A new reference, NULL without memory. */
json_t *neap_reserve_amounts_json(const struct neap_amounts *amounts,
				  const struct neap_resources *resources);

#endif
