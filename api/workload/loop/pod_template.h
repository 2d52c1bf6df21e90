/* SPDX-License-Identifier: Apache-2.0
 *
 * Pod templates: comparing them, and a short text that tells them apart. */
#ifndef NEAP_API_WORKLOAD_LOOP_POD_TEMPLATE_H
#define NEAP_API_WORKLOAD_LOOP_POD_TEMPLATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/base/sha256.h"

#define NEAP_HASH_LABEL        "pod-template-hash"
#define NEAP_TEMPLATE_HASH_MAX 16

/* Two templates have the same digest if they make the same pods. The label with the hash
 * is ignored. An empty or null value counts as missing where an empty value has no
 * meaning. False without memory. */
bool neap_template_digest(const json_t *pod_template, uint8_t ret[NEAP_SHA256_BYTES]);
/* At most ten characters that are valid in a name. Each value of collisions, 0 included,
 * gives another text. False without memory. */
bool neap_template_hash(const json_t *pod_template, int64_t collisions,
			char ret[NEAP_TEMPLATE_HASH_MAX]);

#endif
