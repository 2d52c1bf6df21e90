/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON as YAML, for people and for tools that read it. */
#ifndef NEAP_API_YAML_YAML_WRITE_H
#define NEAP_API_YAML_YAML_WRITE_H

#include <jansson.h>

#include "engine/base/buf.h"

/* Adds value as one YAML document, in blocks, members in their order, ASCII only. A text
 * that YAML 1.1 or 1.2 would read as something else stands in quotes. Without memory out
 * fails. */
void neap_yaml_add(struct neap_buf *out, const json_t *value);

#endif
