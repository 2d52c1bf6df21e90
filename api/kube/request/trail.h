/* SPDX-License-Identifier: Apache-2.0
 *
 * The audit log entry of a request: an Event of audit.k8s.io/v1 at level Metadata. Logged
 * are requests that change something, successful or not, and those refused because of who
 * asked. */
#ifndef NEAP_API_KUBE_REQUEST_TRAIL_H
#define NEAP_API_KUBE_REQUEST_TRAIL_H

#include "api/http/server.h"
#include "api/kube/base/registry.h"

/* Size of the event as text. */
#define NEAP_TRAIL_TEXT_MAX 16384

/* Returns whether a request with this status (0: the client left first) is logged.
 * Reviews change nothing. */
bool neap_kube_trail_wants(struct neap_http_request *request, int status);
/* Returns name and groups of a user; a new reference, NULL without memory. */
json_t *neap_kube_trail_user(const struct neap_http_user *user);
/* Returns the event; a new reference, NULL without memory. registry may be NULL: no
 * object is named then. now_usec: Unix time. */
json_t *neap_kube_trail_event(const struct neap_kube_registry *registry,
			      struct neap_http_request *request, int status,
			      int64_t now_usec);

#endif
