/* SPDX-License-Identifier: Apache-2.0
 *
 * Members of reports. One that is not known is left out, never zero or null; so is one for which memory
 * is short, and a text that is no UTF-8 (texts come from the kernel and from policies). */
#ifndef NEAP_ENGINE_BASE_JSON_H
#define NEAP_ENGINE_BASE_JSON_H

#include <jansson.h>

#include "engine/base/base.h"

/* Left out when NULL or "". */
void neap_json_set_text(json_t *object, const char *name, const char *text);
/* Left out when NEAP_MISSING. */
void neap_json_set_int(json_t *object, const char *name, int64_t value);
/* Left out when it is not finite. */
void neap_json_set_real(json_t *object, const char *name, double value);

#endif
