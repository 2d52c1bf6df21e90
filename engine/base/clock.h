/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading a clock. What decides never does that: it is told the time, so that it can be replayed. */
#ifndef NEAP_ENGINE_BASE_CLOCK_H
#define NEAP_ENGINE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Whole microseconds of one of the kernel's own clocks (CLOCK_MONOTONIC, CLOCK_REALTIME, ...). */
int64_t neap_clock_usec(clockid_t clock);

#endif
