/* SPDX-License-Identifier: Apache-2.0
 *
 * Strict UTF-8: overlong forms, surrogates and code points above U+10FFFF are invalid. */
#ifndef NEAP_ENGINE_BASE_UTF8_H
#define NEAP_ENGINE_BASE_UTF8_H

#include "engine/base/base.h"

/* Returns the bytes of the character at text (left bytes are available); 0 when it is
 * invalid. ret_code may be NULL. */
size_t neap_utf8_next(const char *text, size_t left, uint32_t *ret_code);
bool neap_utf8_is_valid(const char *text, size_t len);
/* Makes a text valid for JSON: where it is not UTF-8, each non-ASCII byte becomes "?". */
void neap_utf8_mend(char *text);

/* The longest escape with its NUL. */
#define NEAP_UTF8_ESCAPE 16
/* Writes the escape of the character at text into to: "\n", "\x1b", "\u202e",
 * "\U000e0001"; to stays "" when the character can be shown as it is. Returns the bytes
 * at text, at least 1. text must be NUL-terminated and not empty. */
size_t neap_utf8_escape(const char *text, char to[NEAP_UTF8_ESCAPE]);

#endif
