/* SPDX-License-Identifier: Apache-2.0
 *
 * GET /metrics, in the text format of Prometheus 0.0.4. The figures are those of the status, the
 * policies and the server: told once there, named here. */
#ifndef NEAP_API_CONTROL_METRICS_H
#define NEAP_API_CONTROL_METRICS_H

#include "api/control/control.h"
#include "api/store/store.h"
#include "api/task/turns.h"

struct neap_metrics;

/* is_open (borrowed, may change): answered without authentication. turns: of the loop; NULL: not told. Everything is borrowed until
 * neap_metrics_free, which comes after neap_http_free. */
int neap_metrics_new(struct neap_http *http, const struct neap_control_node *node,
		     struct neap_live *live, const bool *is_open,
		     const struct neap_turns *turns, struct neap_metrics **ret,
		     struct neap_error *err);
/* Adds counts and limits of the store to the metrics. Borrows the store, which must outlive the server; NULL
 * takes them out again. */
void neap_metrics_set_store(struct neap_metrics *metrics, const struct neap_store *store);
void neap_metrics_free(struct neap_metrics *metrics);

#endif
