/* SPDX-License-Identifier: Apache-2.0
 *
 * Check sums of what is stored. They tell accidents, not enemies: FNV-1a over words, in which no change of a single
 * word stays unseen. */
#ifndef NEAP_API_STORE_SUM_H
#define NEAP_API_STORE_SUM_H

#include "engine/object/object.h"

#define NEAP_SUM_START UINT64_C(14695981039346656037)

uint64_t neap_sum_bytes(uint64_t sum, const void *bytes, size_t len);
uint64_t neap_sum_number(uint64_t sum, int64_t number);
/* As it is kept: never negative. */
int64_t neap_sum_end(uint64_t sum);
/* Of version, meta and text. */
int64_t neap_sum_object(const struct neap_object *object);

#endif
