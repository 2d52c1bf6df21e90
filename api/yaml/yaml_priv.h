/* SPDX-License-Identifier: Apache-2.0
 *
 * Scalars of YAML as JSON. */
#ifndef NEAP_API_YAML_YAML_PRIV_H
#define NEAP_API_YAML_YAML_PRIV_H

#include <jansson.h>

#include "engine/base/error.h"

/* Parses a plain scalar as YAML 1.1 and kubectl do: null, boolean, number or text; times
 * stay texts. A whole number is an integer in any notation ("1.0", "1e3"), if 64 bits
 * hold it. text is UTF-8. NEAP_EINVAL: .nan and .inf, which JSON lacks; NEAP_ENOMEM. */
int neap_yaml_plain(const char *text, json_t **ret, struct neap_error *err);

/* Returns a text, number or boolean as a member name ("80", "true"), which the caller
 * frees. NULL without memory. Accepts nothing else. */
char *neap_yaml_key(const json_t *scalar);

#endif
