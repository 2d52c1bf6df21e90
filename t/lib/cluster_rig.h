/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes and pods from few words, for tests of what decides. JSON has ' for ". */
#ifndef NEAP_T_LIB_CLUSTER_RIG_H
#define NEAP_T_LIB_CLUSTER_RIG_H

#include "engine/cluster/cluster.h"

/* meta: further members of metadata, "" for none. The uid is "u-NAME". */
struct neap_object *cluster_object(const char *name, const char *ns, const char *meta,
				   const char *spec, const char *status);
/* Of the namespace default. */
struct neap_pod *cluster_pod(struct neap_resources *resources, const char *name,
			     const char *meta, const char *spec, const char *status);
struct neap_cluster *cluster_new(void);
/* Return what moved. */
unsigned cluster_set_node(struct neap_cluster *cluster, const char *name,
			  const char *meta, const char *spec, const char *allocatable);
unsigned cluster_set_pod(struct neap_cluster *cluster, const char *name, const char *meta,
			 const char *spec, const char *status);

#endif
