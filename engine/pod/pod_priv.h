/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of engine/pod/pod*.c. */
#ifndef NEAP_ENGINE_POD_POD_PRIV_H
#define NEAP_ENGINE_POD_POD_PRIV_H

#include "engine/pod/pod.h"

/* Reads the requests, plain and as scored. NEAP_EINVAL, NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_pod_read_requests(struct neap_pod *pod, const json_t *spec,
			   const struct neap_resources *resources,
			   struct neap_error *err);
/* Sums the limits of its containers for known resources. NEAP_EINVAL, NEAP_ETOOLARGE. */
int neap_pod_read_limits(struct neap_amounts *ret, const json_t *spec,
			 const struct neap_resources *resources, struct neap_error *err);
/* Unreadable limits count as none. NEAP_ENOMEM. */
int neap_pod_read_load(struct neap_pod *pod, const json_t *tree,
		       const struct neap_resources *resources, struct neap_error *err);
/* Reads the CPU annotations; call after the requests. NEAP_EINVAL, NEAP_ENOMEM;
 * NEAP_ENOFIT: no node can ever fit. */
int neap_pod_read_cpus(struct neap_pod *pod, const json_t *tree, struct neap_error *err);
/* As in neap_pod_bind, for a pod with pod->cpus; NULL: no memory, or unreadable. */
const struct neap_pod_cpus *neap_pod_renew_cpus(struct neap_pod *pod, const char *spec,
						const char *status);
/* Affinities and spread constraints. */
int neap_pod_read_affinity(struct neap_pod *pod, const json_t *spec,
			   struct neap_error *err);
int neap_pod_read_spreads(struct neap_pod *pod, const json_t *spec,
			  struct neap_error *err);
/* Reads the reservation that it uses, and whether it acts as one; call after the
 * requests. NEAP_ENOMEM. */
int neap_pod_read_kept(struct neap_pod *pod, const json_t *tree, struct neap_error *err);
/* Returns a list with room for count items; NULL with NEAP_ETOOLARGE or NEAP_ENOMEM in
 * err, which must not be NULL. */
void *neap_pod_list(struct neap_pod *pod, size_t count, size_t size, const char *field,
		    struct neap_error *err);

#endif
