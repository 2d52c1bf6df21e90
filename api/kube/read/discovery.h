/* SPDX-License-Identifier: Apache-2.0
 *
 * Discovery: /api, /apis and the lists of resources, in the plain form that every client
 * reads. */
#ifndef NEAP_API_KUBE_READ_DISCOVERY_H
#define NEAP_API_KUBE_READ_DISCOVERY_H

#include "api/http/server.h"
#include "api/kube/base/registry.h"

/* The documents; new references, NULL without memory. */
json_t *neap_kube_api_versions(void);
json_t *neap_kube_group_list(const struct neap_kube_registry *registry);
/* NULL also when the group is not served. */
json_t *neap_kube_group(const struct neap_kube_registry *registry, const char *group);
json_t *neap_kube_resource_list(const struct neap_kube_registry *registry,
				const char *group, const char *version);

/* Returns whether a kind has the subresource "status", "scale", "binding" or
 * "eviction". */
bool neap_kube_has_part(const struct neap_kube_kind *kind, const char *part);

/* Answer with the documents. group "": core; version "": the group itself. */
void neap_kube_discover_versions(const struct neap_kube_registry *registry,
				 struct neap_http_request *request);
/* GET /: the list of paths. */
void neap_kube_discover_paths(const struct neap_kube_registry *registry,
			      struct neap_http_request *request);
void neap_kube_discover_groups(const struct neap_kube_registry *registry,
			       struct neap_http_request *request);
void neap_kube_discover(const struct neap_kube_registry *registry,
			struct neap_http_request *request, const char *group,
			const char *version);

#endif
