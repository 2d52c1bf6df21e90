/* SPDX-License-Identifier: Apache-2.0
 *
 * In which order `neapctl top` shows workloads. */
#ifndef NEAP_API_CTL_DRAW_TOP_ORDER_H
#define NEAP_API_CTL_DRAW_TOP_ORDER_H

#include <jansson.h>

#include "engine/base/base.h"

#define NEAP_TOP_ORDERS "cpu|memory|throttled|pressure|name"

/* The order of a name or of the letter of a key ("c"), -1 when there is none. */
int neap_top_order_find(const char *text);
const char *neap_top_order_name(int order);
/* A new array of the same rows: highest first, names rising; where a figure is missing,
 * last. Equal ones stay as they were. NULL without memory. */
json_t *neap_top_order(const json_t *rows, int order);

#endif
