/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading pods, shared by the files of engine/pod/pod*.c. */
#ifndef NEAP_ENGINE_POD_POD_PRIV_H
#define NEAP_ENGINE_POD_POD_PRIV_H

#include "engine/pod/pod.h"

/* "" when there is none. */
const char *neap_pod_text(const json_t *object, const char *name);
/* Requests of the pod and what it counts as; NEAP_EINVAL, NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_pod_read_requests(struct neap_pod *pod, const json_t *spec,
			   const struct neap_resources *resources,
			   struct neap_error *err);
/* The limits of its containers, added up, of the resources that are known; NEAP_EINVAL, NEAP_ETOOLARGE. */
int neap_pod_read_limits(struct neap_amounts *ret, const json_t *spec,
			 const struct neap_resources *resources, struct neap_error *err);
/* Limits that cannot be read are none. NEAP_ENOMEM. */
int neap_pod_read_load(struct neap_pod *pod, const json_t *tree,
		       const struct neap_resources *resources, struct neap_error *err);
/* Annotations about CPUs: NEAP_EINVAL, NEAP_ENOMEM; NEAP_ENOFIT: no node will ever do. After the requests. */
int neap_pod_read_cpus(struct neap_pod *pod, const json_t *tree, struct neap_error *err);
/* As neap_pod_bind has it, of a pod with pod->cpus; NULL: there is no memory, or they cannot be read. */
const struct neap_pod_cpus *neap_pod_renew_cpus(struct neap_pod *pod, const char *spec,
						const char *status);
/* Affinities and spread constraints. */
int neap_pod_read_affinity(struct neap_pod *pod, const json_t *spec,
			   struct neap_error *err);
int neap_pod_read_spreads(struct neap_pod *pod, const json_t *spec,
			  struct neap_error *err);
/* The reservation that it uses, and whether it acts as one; after the requests. NEAP_ENOMEM. */
int neap_pod_read_kept(struct neap_pod *pod, const json_t *tree, struct neap_error *err);
/* A list with room for so many; NULL with NEAP_ETOOLARGE in err, which must be there, or NEAP_ENOMEM. */
void *neap_pod_list(struct neap_pod *pod, size_t count, size_t size, const char *field,
		    struct neap_error *err);

#endif
