/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 (FIPS 180-4) of a text in memory; the version of a policy is its first digits.
 * For naming texts of a few KiB: it is not tuned, and it guards no secret. */
#ifndef NEAP_ENGINE_BASE_SHA256_H
#define NEAP_ENGINE_BASE_SHA256_H

#include "engine/base/base.h"

#define NEAP_SHA256_BYTES 32
#define NEAP_SHA256_HEX   65 /* two digits per byte, and the NUL */

void neap_sha256(const void *data, size_t len, uint8_t ret[NEAP_SHA256_BYTES]);
/* Writes the same as lower case hex digits. */
void neap_sha256_hex(const void *data, size_t len, char ret[NEAP_SHA256_HEX]);

#endif
