/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies over HTTP: GET /control/v1/policies, and below
 * /control/v1/policies/{kind}/{name}: GET, PUT, DELETE, versions, rollback, params.
 * api/policy/live implements the changes; this file handles headers, query and status
 * codes. */
#ifndef NEAP_API_CONTROL_POLICIES_H
#define NEAP_API_CONTROL_POLICIES_H

#include "api/http/server.h"
#include "api/policy/live/live.h"

struct neap_control_policies;

int neap_control_policies_new(struct neap_http *http, struct neap_live *live,
			      struct neap_control_policies **ret, struct neap_error *err);
/* Call after neap_http_free and before neap_live_free. */
void neap_control_policies_free(struct neap_control_policies *policies);

#endif
