/* SPDX-License-Identifier: Apache-2.0
 *
 * Templates of pods: when two are the same, and a short text that tells them apart. */
#ifndef NEAP_API_WORKLOAD_LOOP_POD_TEMPLATE_H
#define NEAP_API_WORKLOAD_LOOP_POD_TEMPLATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/base/sha256.h"

#define NEAP_HASH_LABEL        "pod-template-hash"
#define NEAP_TEMPLATE_HASH_MAX 16

/* Those of two templates are the same if both make the same pods. The label with the hash
 * does not count; what is empty or null is as good as not there, where an empty one says
 * nothing. False without memory. */
bool neap_template_digest(const json_t *pod_template, uint8_t ret[NEAP_SHA256_BYTES]);
/* Ten characters or fewer that a name may have. collisions: another text for each number,
 * 0 as well. False without memory. */
bool neap_template_hash(const json_t *pod_template, int64_t collisions,
			char ret[NEAP_TEMPLATE_HASH_MAX]);

#endif
