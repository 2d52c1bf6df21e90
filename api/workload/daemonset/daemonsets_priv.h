/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of the DaemonSet controller. */
#ifndef NEAP_API_WORKLOAD_DAEMONSET_DAEMONSETS_PRIV_H
#define NEAP_API_WORKLOAD_DAEMONSET_DAEMONSETS_PRIV_H

#include "api/workload/daemonset/daemon_nodes.h"
#include "api/workload/loop/owner_look.h"
#include "api/workload/loop/pod_facts.h"
#include "api/workload/loop/tree.h"
#include "api/workload/revision/revisions.h"
#include "engine/base/map.h"

#define DAEMONSETS "daemonsets.apps"
#define DS_API     "apps/v1"
#define DS_KIND    "DaemonSet"

/* What a requested write is for. */
enum { ASK_OTHER, ASK_CREATE, ASK_DELETE };

struct daemon_pod_facts {
	struct neap_pod_facts pod;
	char target[NEAP_OBJECT_NAME]; /* the node that it is on, or made for; "" */
};

struct neap_daemonsets {
	struct neap_workload_config config;
	struct neap_feed *feed;
	struct neap_rounds *rounds;
	struct neap_owners *owners;
	struct neap_claims *pods, *revisions;
	struct neap_revision_digest digest;
	struct daemon_nodes *nodes;
	struct neap_map *backoffs;    /* "UID/GENERATION/NODE": struct backoff */
	struct neap_client_place due; /* where making all due goes on */
};

/* One of its pods. */
struct daemon_pod {
	const struct neap_object *object;
	const struct daemon_pod_facts *facts;
};

/* One look at a DaemonSet. */
struct daemon {
	struct neap_owner_look base;
	struct neap_daemonsets *sets;
	const struct neap_object *object;
	const json_t *tree; /* of object */
	int64_t now;
	/* Of the spec. */
	int64_t min_ready_s, surge, unavailable; /* of the nodes that should have one */
	bool is_rolling, allows_surge;
	/* By node; on one the assigned ones first, then the oldest. */
	struct daemon_pod *pods;
	size_t count;
	char hash[NEAP_OBJECT_NAME]; /* of the present template */
	struct neap_revision *revisions;
	size_t revision_count;
	int64_t collisions; /* NEAP_MISSING: not set */
};

/* --- daemon_revisions.c --- */

/* Finds the revision of the template, or requests its creation. False: the look ends. */
bool daemon_revisions_find(struct daemon *look);
/* Requests the deletion of revisions beyond revisionHistoryLimit that no pod has. */
void daemon_revisions_tidy(struct daemon *look);

/* --- daemon_manage.c --- */

/* Requests pods on nodes that lack one, and the deletion of those that should not be
 * there. */
void daemon_manage(struct daemon *look);
/* Requests the creation of a pod on the node; the deletion of a pod. */
void daemon_create(struct daemon *look, const char *node);
void daemon_delete(struct daemon *look, const struct daemon_pod *pod);
bool daemon_is_new(const struct daemon *look, const struct daemon_pod *pod);
bool daemon_is_available(struct daemon *look, const struct daemon_pod *pod);

/* --- daemon_backoff.c --- */

/* Returns the time until a failed pod on that node may be deleted; 0: now. */
int64_t daemon_backoff_left(const struct daemon *look, const char *node);
/* Records that a failed pod on that node is deleted. */
void daemon_backoff_next(struct daemon *look, const char *node);
void daemon_backoffs_free(struct neap_map *backoffs);

/* --- daemon_update.c --- */

/* Replaces pods of old templates as far as maxUnavailable and maxSurge allow. */
void daemon_update(struct daemon *look);

/* --- daemon_status.c --- */

/* Requests the status, if it is not up to date. */
void daemon_status(struct daemon *look);

#endif
