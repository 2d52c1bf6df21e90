/* SPDX-License-Identifier: Apache-2.0
 *
 * UTF-8, strictly: overlong forms, surrogates and what is past U+10FFFF are none. */
#ifndef NEAP_ENGINE_BASE_UTF8_H
#define NEAP_ENGINE_BASE_UTF8_H

#include "engine/base/base.h"

/* Bytes of the character at text, of which left are there; 0 when it is none. ret_code
 * may be NULL. */
size_t neap_utf8_next(const char *text, size_t left, uint32_t *ret_code);
bool neap_utf8_is_valid(const char *text, size_t len);
/* Makes a text fit for JSON: where it is not UTF-8, each byte that is not ASCII becomes
 * "?". */
void neap_utf8_mend(char *text);

/* It acts on a terminal, or on how the text beside it reads, or is not seen: control
 * characters (C0, C1, DEL), marks of direction, separators of lines, what joins or has
 * no width, tags. */
bool neap_utf8_is_hidden(uint32_t code);
/* Longest escape with its NUL. */
#define NEAP_UTF8_ESCAPE 16
/* How the character at text stands in what people read, when it is hidden or none: "\n",
 * "\x1b", "\u202e", "\U000e0001". Into to, which stays "" where it may stand as it is.
 * Returns its bytes at text, 1 at least; text must end with a NUL and not be at it. */
size_t neap_utf8_escape(const char *text, char to[NEAP_UTF8_ESCAPE]);

#endif
