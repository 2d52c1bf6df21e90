/* SPDX-License-Identifier: Apache-2.0
 *
 * The descheduler in the control API: its state, pause and resume, starting a round,
 * simulations. */
#ifndef NEAP_API_DESCHEDULE_ROUTES_H
#define NEAP_API_DESCHEDULE_ROUTES_H

#include "engine/base/error.h"

struct neap_descheduler;
struct neap_deschedule_routes;
struct neap_http;

/* Adds /control/v1/deschedule and below. *descheduler may change; NULL: it does not run
 * now. Borrowed until neap_deschedule_routes_free, which comes after neap_http_free. */
int neap_deschedule_routes_new(struct neap_http *http,
			       struct neap_descheduler *const *descheduler,
			       struct neap_deschedule_routes **ret,
			       struct neap_error *err);
/* NULL is fine. */
void neap_deschedule_routes_free(struct neap_deschedule_routes *routes);

#endif
