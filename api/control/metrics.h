/* SPDX-License-Identifier: Apache-2.0
 *
 * GET /metrics, in the Prometheus text format 0.0.4. It names the figures of the status,
 * the policies and the server; none is computed here. */
#ifndef NEAP_API_CONTROL_METRICS_H
#define NEAP_API_CONTROL_METRICS_H

#include "api/control/control.h"
#include "api/store/store.h"
#include "api/task/turns.h"

struct neap_metrics;

/* is_open (borrowed, may change): serve without authentication. turns: turns of the loop;
 * NULL: not included. Everything is borrowed until neap_metrics_free, which comes after
 * neap_http_free. */
int neap_metrics_new(struct neap_http *http, const struct neap_control_node *node,
		     struct neap_live *live, const bool *is_open,
		     const struct neap_turns *turns, struct neap_metrics **ret,
		     struct neap_error *err);
/* Adds the store's counts and limits. Borrows the store, which must outlive the server;
 * NULL removes them. */
void neap_metrics_set_store(struct neap_metrics *metrics, const struct neap_store *store);
void neap_metrics_free(struct neap_metrics *metrics);

#endif
