/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of workloads in `neapctl top`. */
#ifndef NEAP_API_CTL_DRAW_TOP_ORDER_H
#define NEAP_API_CTL_DRAW_TOP_ORDER_H

#include <jansson.h>

#include "engine/base/base.h"

#define NEAP_TOP_ORDERS "cpu|memory|throttled|pressure|name"

/* Returns the order with that name or key letter ("c"), -1 when there is none. */
int neap_top_order_find(const char *text);
/* Returns a new array of the same rows: highest first, names ascending, missing figures
 * last. Stable. NULL without memory. */
json_t *neap_top_order(const json_t *rows, int order);

#endif
