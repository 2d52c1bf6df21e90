/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of the StatefulSet controller. */
#ifndef NEAP_API_WORKLOAD_STATEFULSET_STATEFULSETS_PRIV_H
#define NEAP_API_WORKLOAD_STATEFULSET_STATEFULSETS_PRIV_H

#include "api/workload/loop/owner_look.h"
#include "api/workload/loop/pod_facts.h"
#include "api/workload/loop/tree.h"
#include "api/workload/revision/revisions.h"

#define STATEFULSETS "statefulsets.apps"
#define CLAIMS       "persistentvolumeclaims"
#define STS_API      "apps/v1"
#define STS_KIND     "StatefulSet"

#define POD_NAME_LABEL  "statefulset.kubernetes.io/pod-name"
#define POD_INDEX_LABEL "apps.kubernetes.io/pod-index"

/* What a requested write is for. */
enum { ASK_OTHER, ASK_CREATE, ASK_DELETE, ASK_UPDATE, ASK_CLAIM };

struct neap_statefulsets {
	struct neap_workload_config config;
	struct neap_feed *feed;
	struct neap_rounds *rounds;
	struct neap_owners *owners;
	struct neap_claims *pods, *revisions;
	struct neap_revision_digest digest;
};

/* One of its pods. */
struct stateful_pod {
	struct neap_object *object;
	const struct neap_pod_facts *facts;
	int64_t ordinal;
};

/* One look at a StatefulSet. */
struct stateful {
	struct neap_owner_look base;
	struct neap_statefulsets *sets;
	const struct neap_object *object;
	const json_t *tree; /* of object */
	int64_t now;
	/* Of the spec. */
	int64_t replicas, start, partition, min_ready_s, max_unavailable;
	bool is_monotonic, is_rolling, is_deleting;
	bool deletes_scaled, deletes_orphaned; /* its claims, see stateful_claims.c */
	struct stateful_pod *pods;             /* by ordinal */
	size_t count;
	/* The names of the revisions; the template of the current one, NULL: that of the
	 * update. */
	char current[NEAP_OBJECT_NAME], update[NEAP_OBJECT_NAME];
	json_t *current_template;
	int64_t collisions;
	struct neap_revision *revisions;
	size_t revision_count;
};

/* --- stateful_pods.c --- */

/* Returns the number at the end of "SET-NUMBER"; -1: it is not such a name. */
int64_t stateful_ordinal(const char *set, const char *pod);
/* Writes the name of the pod of that number into buf and returns it. */
const char *stateful_pod_name(const struct stateful *look, int64_t ordinal,
			      char buf[NEAP_OBJECT_NAME]);
/* Makes the pod of that number from the template that belongs there; NULL without
 * memory. */
json_t *stateful_pod_new(const struct stateful *look, int64_t ordinal);
/* Returns whether the pod has the state for which the next pods wait. */
bool stateful_is_ready(const struct stateful_pod *pod);
bool stateful_is_healthy(const struct stateful_pod *pod);
bool stateful_is_available(struct stateful *look, const struct stateful_pod *pod);
/* Returns whether the pod has that revision. */
bool stateful_is_of(const struct stateful_pod *pod, const char *revision);

/* --- stateful_claims.c --- */

/* Requests the claims that a pod lacks. True: all exist. */
bool stateful_claims_exist(struct stateful *look, int64_t ordinal);
/* Returns whether a claim belongs to an earlier pod of that number, and is deleted with
 * it. */
bool stateful_claims_are_stale(const struct stateful *look, int64_t ordinal);
/* Requests the owners that the claims of a pod should have. is_condemned: the pod is
 * scaled down. True: the claims have them. */
bool stateful_claims_keep(struct stateful *look, const struct stateful_pod *pod,
			  bool is_condemned);

/* --- stateful_revisions.c --- */

/* Finds the revisions of the set, and requests the one of its template. False: the look
 * ends. */
bool stateful_revisions_find(struct stateful *look);
/* Requests the deletion of revisions beyond revisionHistoryLimit that no pod has. */
void stateful_revisions_tidy(struct stateful *look);

/* --- stateful_act.c --- */

/* Requests the next actions. */
void stateful_act(struct stateful *look);

/* --- stateful_status.c --- */

/* Requests the status, computed from the pods, if it is not up to date. */
void stateful_status(struct stateful *look);

#endif
