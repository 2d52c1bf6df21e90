/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods of neap's own, inside api/run only: pods.c (how they come and go), pods_spec.c
 * (what they ask for). */
#ifndef NEAP_API_RUN_PODS_PRIV_H
#define NEAP_API_RUN_PODS_PRIV_H

#include "api/run/node_priv.h"
#include "api/run/pods.h"

/* Amounts as in struct neap_node_container, but one that limits nothing is missing. */
struct pod_container {
	char name[64];
	int64_t cpu_request_milli, cpu_limit_milli, memory_limit_bytes, processes_max;
	bool is_init;
};

struct pod_spec {
	char uid[NEAP_NODE_UID_MAX + 1], ns[64], name[254];
	enum neap_qos qos;
	enum neap_kube_qos kube_qos;
	struct pod_container whole; /* without a name */
	size_t count;
	struct pod_container containers[];
};

struct pod_wait {
	struct pod_wait *next;
	neap_node_pod_done *done;
	void *arg;
};

/* In node->made.pods by its uid. */
struct node_pod {
	struct node_launch launch; /* first; its dir is the pod's in any case */
	struct pod_spec *spec;
	bool is_added;    /* else only a record tells of it */
	bool was_there;   /* its group was, before the add that is under way */
	bool is_going;    /* it goes as soon as it is empty */
	bool is_removing; /* the hand was asked to take the groups away */
	bool is_stuck_told;
	neap_node_pod_done *done; /* of the add that is under way, or NULL */
	void *arg;
	struct neap_error failed; /* what that one hears when the groups are gone */
	struct pod_wait *waits;   /* for the end */
};

/* pods_spec.c */
/* A checked copy; NULL with *err. */
struct pod_spec *neap_pod_spec_new(const struct neap_node_pod *pod,
				   struct neap_error *err);
/* As a record holds it. */
json_t *neap_pod_spec_json(const struct pod_spec *spec);
/* NULL when it is none. */
struct pod_spec *neap_pod_spec_of_json(const json_t *json, const char *uid);
/* The pod's own amounts as a kubelet has them: what it says itself, else the sum of the
 * containers that run side by side or the largest of those that come before, whichever is
 * more; a limit only where each container has one. */
void neap_pod_spec_sum(const struct pod_spec *spec, int64_t *ret_cpu_request_milli,
		       int64_t *ret_cpu_limit_milli, int64_t *ret_memory_limit_bytes);
/* The last component of the container's group. */
const char *neap_pod_container_dir(const struct pod_container *container);

/* pods.c */
/* The pod whose group this is, NULL for none. */
struct node_pod *neap_pod_of(const struct node_made *made,
			     const struct node_workload *workload);
/* One of an earlier neapd, by its record (which may be NULL or wrong: NULL). */
struct node_pod *neap_pod_recall(struct neap_node *node,
				 const struct node_workload *workload,
				 const json_t *record);
/* What policies see of it. */
void neap_pod_apply(const struct node_pod *pod, struct node_workload *workload);

#endif
