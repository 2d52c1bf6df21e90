/* SPDX-License-Identifier: Apache-2.0
 *
 * A JSON reader and writer several times as fast as jansson, for the common case: no
 * fractions, no escapes outside the basic plane, no extreme depth. Anything else,
 * including errors and lack of memory, makes the function give up, and the caller starts
 * over with jansson. So results and error texts are always jansson's. */
#ifndef NEAP_ENGINE_JSON_JSON_FAST_H
#define NEAP_ENGINE_JSON_JSON_FAST_H

#include <jansson.h>

#include "engine/base/buf.h"

/* Like json_loadb(3) with flags JSON_REJECT_DUPLICATES, JSON_DECODE_ANY or none. NULL:
 * use jansson. */
json_t *neap_json_parse_fast(const char *text, size_t len, size_t flags);
/* Like json_dump(3) with JSON_COMPACT and optionally JSON_ENCODE_ANY. Returns false when
 * the caller must use jansson; the bytes added to out are then worthless. */
bool neap_json_dump_fast(const json_t *json, size_t flags, struct neap_buf *out);

#endif
