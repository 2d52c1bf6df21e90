/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a clock. Code that decides never does: its caller passes the time, so that a
 * decision can be replayed. */
#ifndef NEAP_ENGINE_BASE_CLOCK_H
#define NEAP_ENGINE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Returns a kernel clock (CLOCK_MONOTONIC, CLOCK_REALTIME, ...) in whole microseconds. */
int64_t neap_clock_usec(clockid_t clock);
/* The same of CLOCK_REALTIME and of CLOCK_MONOTONIC, as functions to hand on. */
int64_t neap_clock_unix(void);
int64_t neap_clock_steady(void);

#endif
