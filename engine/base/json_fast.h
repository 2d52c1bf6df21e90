/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading and writing JSON text, several times as fast as jansson, for the texts that come all day: no
 * numbers with a fraction, no characters outside the first plane by escapes, no depth of hundreds. Whatever is
 * not of these, wrong, or short of memory is not done here at all, and left to jansson from the start: what
 * is read and written, and how errors are told, is the same. */
#ifndef NEAP_ENGINE_BASE_JSON_FAST_H
#define NEAP_ENGINE_BASE_JSON_FAST_H

#include <jansson.h>

#include "engine/base/buf.h"

/* As json_loadb(3) with JSON_REJECT_DUPLICATES or JSON_DECODE_ANY or none; NULL: ask jansson. */
json_t *neap_json_parse_fast(const char *text, size_t len, size_t flags);
/* As json_dump(3) with JSON_COMPACT, and JSON_ENCODE_ANY or not. False: ask jansson, and what was added to out
 * is worth nothing. */
bool neap_json_dump_fast(const json_t *json, size_t flags, struct neap_buf *out);

#endif
