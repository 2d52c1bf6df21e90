/* SPDX-License-Identifier: Apache-2.0
 *
 * Controllers whose private headers would meet in one file: how many steps they took. */
#ifndef NEAP_T_LIB_TURNS_RIG_H
#define NEAP_T_LIB_TURNS_RIG_H

#include "api/workload/workload.h"

/* One of each at a time. */
void begin_statefulsets(const struct neap_workload_config *config);
void end_statefulsets(int64_t *ret_all, int64_t *ret_most);
void begin_daemonsets(const struct neap_workload_config *config);
void end_daemonsets(int64_t *ret_all, int64_t *ret_most);

#endif
