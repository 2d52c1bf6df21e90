/* SPDX-License-Identifier: Apache-2.0
 *
 * What an audit log says of a request: an Event of audit.k8s.io/v1 at level Metadata. Of all requests those count
 * that change something, whether they could or not, and those that were refused for who asked. */
#ifndef NEAP_API_KUBE_TRAIL_H
#define NEAP_API_KUBE_TRAIL_H

#include "api/http/server.h"
#include "api/kube/base/registry.h"

/* Of the event as text. */
#define NEAP_TRAIL_TEXT_MAX 16384

/* Whether a request with an answer of this status (0: its client went before) belongs there. Reviews change
 * nothing. */
bool neap_kube_trail_wants(struct neap_http_request *request, int status);
/* The event; a new reference, NULL without memory. registry may be NULL: no object is named then. now_usec: Unix
 * time. */
json_t *neap_kube_trail_event(const struct neap_kube_registry *registry,
			      struct neap_http_request *request, int status,
			      int64_t now_usec);

#endif
