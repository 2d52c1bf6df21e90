/* SPDX-License-Identifier: Apache-2.0
 *
 * GET /control/v1/audit?since=SEQ&limit=N: what was written, by whom and why, as JSON, or
 * with "Accept: text/event-stream" as an open stream. */
#ifndef NEAP_API_CONTROL_AUDIT_H
#define NEAP_API_CONTROL_AUDIT_H

#include "api/control/control.h"

struct neap_control_audit;

int neap_control_audit_new(struct neap_http *http, const struct neap_control_node *node,
			   struct neap_control_audit **ret, struct neap_error *err);
/* After neap_http_free. */
void neap_control_audit_free(struct neap_control_audit *audit);
/* Sends new entries; call it once per tick, and after answers of the hand. */
void neap_control_audit_poke(struct neap_control_audit *audit, int64_t mono_usec);

#endif
