/* SPDX-License-Identifier: Apache-2.0
 *
 * The token of the control API in an Authorization header. */
#ifndef NEAP_API_HTTP_BEARER_H
#define NEAP_API_HTTP_BEARER_H

#include "engine/base/base.h"

/* Whether the header's value is "Bearer " and the token; false if token is NULL or empty. Takes the
 * same time whatever the difference; the length of what was given may show. */
bool neap_bearer_is_right(const char *token, const char *value);

#endif
