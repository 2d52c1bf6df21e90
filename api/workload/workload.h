/* SPDX-License-Identifier: Apache-2.0
 *
 * The controllers: those that create the pods of ReplicaSets, Deployments, StatefulSets,
 * DaemonSets and Jobs and keep their status, one for nodes whose heartbeat stops, and one
 * for the status of Reservations. Each watches its objects and writes through api/client.
 * Each can be stopped and started at any moment, because all its state is in the
 * objects. */
#ifndef NEAP_API_WORKLOAD_WORKLOAD_H
#define NEAP_API_WORKLOAD_WORKLOAD_H

#include "api/client/client.h"

struct neap_replicasets;
struct neap_deployments;
struct neap_jobs;
struct neap_statefulsets;
struct neap_daemonsets;
struct neap_node_watch;
struct neap_reservations;
struct neap_tasks;

struct neap_workload_config {
	struct neap_tasks *tasks; /* shares the turns among the controllers */
	struct neap_client *client;
	int64_t (*now)(void); /* Unix microseconds; NULL: the clock */
	const struct neap_log *log;
};

/* config is copied, what it points to borrowed. */
int neap_replicasets_new(const struct neap_workload_config *config,
			 struct neap_replicasets **ret, struct neap_error *err);
void neap_replicasets_free(struct neap_replicasets *replicasets);

int neap_deployments_new(const struct neap_workload_config *config,
			 struct neap_deployments **ret, struct neap_error *err);
void neap_deployments_free(struct neap_deployments *deployments);

int neap_jobs_new(const struct neap_workload_config *config, struct neap_jobs **ret,
		  struct neap_error *err);
void neap_jobs_free(struct neap_jobs *jobs);

/* grace_usec: time without a renewal of its Lease after which a node is NotReady
 * (Kubernetes: 40 s). */
int neap_node_watch_new(const struct neap_workload_config *config, int64_t grace_usec,
			struct neap_node_watch **ret, struct neap_error *err);
void neap_node_watch_free(struct neap_node_watch *watch);

int neap_statefulsets_new(const struct neap_workload_config *config,
			  struct neap_statefulsets **ret, struct neap_error *err);
void neap_statefulsets_free(struct neap_statefulsets *statefulsets);

int neap_daemonsets_new(const struct neap_workload_config *config,
			struct neap_daemonsets **ret, struct neap_error *err);
void neap_daemonsets_free(struct neap_daemonsets *daemonsets);

/* keep_usec: time after which an ended Reservation is deleted; 0: never. The scheduler
 * places Reservations. */
int neap_reservations_new(const struct neap_workload_config *config, int64_t keep_usec,
			  struct neap_reservations **ret, struct neap_error *err);
void neap_reservations_free(struct neap_reservations *reservations);

#endif
