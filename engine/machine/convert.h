/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversions between the numbers of Kubernetes, cgroup v1 and cgroup v2. */
#ifndef NEAP_ENGINE_MACHINE_CONVERT_H
#define NEAP_ENGINE_MACHINE_CONVERT_H

#include "engine/base/error.h"

#define NEAP_CFS_PERIOD_USEC 100000
#define NEAP_QUOTA_MIN_USEC  1000
#define NEAP_UNLIMITED       (-1) /* quota, memory limit */

/* The curve from cpu.shares to cpu.weight; the right one matches whatever else writes
 * weights on the node. */
enum neap_weight_curve { NEAP_WEIGHT_LINEAR, NEAP_WEIGHT_LOG };

/* linear: 1 + (shares - 2) * 9999 / 262142, shares clamped to 2..262144; log: the curve
 * of runc 1.3.2 and crun 1.23. Zero and negative shares are an error. */
int neap_shares_to_weight(int64_t shares, enum neap_weight_curve curve,
			  int64_t *ret_weight, struct neap_error *err);
/* The inverse of the linear curve; weight must be 1..10000. */
int neap_weight_to_shares(int64_t weight, int64_t *ret_shares, struct neap_error *err);
/* Parses the quota in "200000 100000" or "max 100000" (NEAP_UNLIMITED). Two fields are
 * required. */
int neap_cpu_max_parse(const char *text, int64_t *ret_quota_usec, struct neap_error *err);
/* milli * 1024 / 1000, clamped to 2..262144. */
int64_t neap_milli_to_shares(int64_t milli);
/* milli * 100 for the 100 ms period, at least 1000; NEAP_UNLIMITED when <= 0. */
int64_t neap_milli_to_quota(int64_t milli);

#endif
