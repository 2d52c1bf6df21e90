/* SPDX-License-Identifier: Apache-2.0
 *
 * What a scalar of YAML is as JSON. */
#ifndef NEAP_API_YAML_YAML_PRIV_H
#define NEAP_API_YAML_YAML_PRIV_H

#include <jansson.h>

#include "engine/base/error.h"

/* A scalar without quotes, as YAML 1.1 and kubectl read it: null, boolean, number or text; times stay texts. A
 * number that is whole is an integer, however it is written ("1.0", "1e3"), if 64 bits hold it. text is
 * UTF-8. NEAP_EINVAL: .nan and .inf, which JSON has not; NEAP_ENOMEM. */
int neap_yaml_plain(const char *text, json_t **ret, struct neap_error *err);

/* A text, number or boolean as the name of a member ("80", "true"); the caller frees it. NULL without
 * memory. Never of anything else. */
char *neap_yaml_key(const json_t *scalar);

#endif
