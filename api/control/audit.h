/* SPDX-License-Identifier: Apache-2.0
 *
 * GET /control/v1/audit?since=SEQ&limit=N: what was written, by whom and why, as JSON or, asked for with
 * "Accept: text/event-stream", as a stream that goes on. */
#ifndef NEAP_API_CONTROL_AUDIT_H
#define NEAP_API_CONTROL_AUDIT_H

#include "api/control/control.h"

struct neap_control_audit;

int neap_control_audit_new(struct neap_http *http, const struct neap_control_node *node,
			   struct neap_control_audit **ret, struct neap_error *err);
/* After neap_http_free. */
void neap_control_audit_free(struct neap_control_audit *audit);
/* There may be new entries: to be called once per tick, and when the hand has answered. */
void neap_control_audit_poke(struct neap_control_audit *audit, int64_t mono_usec);

#endif
