/* SPDX-License-Identifier: Apache-2.0
 *
 * Checksums of stored data against accidents, not against attackers: FNV-1a over words,
 * where a change of any single word is always noticed. */
#ifndef NEAP_API_STORE_SUM_H
#define NEAP_API_STORE_SUM_H

#include "engine/object/object.h"

#define NEAP_SUM_START UINT64_C(14695981039346656037)

uint64_t neap_sum_bytes(uint64_t sum, const void *bytes, size_t len);
uint64_t neap_sum_number(uint64_t sum, int64_t number);
/* The stored form: never negative. */
int64_t neap_sum_end(uint64_t sum);
/* Over version, meta and text. */
int64_t neap_sum_object(const struct neap_object *object);

#endif
