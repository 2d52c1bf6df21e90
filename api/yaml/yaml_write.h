/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes JSON as YAML, for people and for tools. */
#ifndef NEAP_API_YAML_YAML_WRITE_H
#define NEAP_API_YAML_YAML_WRITE_H

#include <jansson.h>

#include "engine/base/buf.h"

/* Appends value as one YAML document in block style, members in order, ASCII only. Texts
 * that YAML 1.1 or 1.2 would read as another type are quoted. out fails without
 * memory. */
void neap_yaml_add(struct neap_buf *out, const json_t *value);

#endif
