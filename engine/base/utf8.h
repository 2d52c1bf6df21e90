/* SPDX-License-Identifier: Apache-2.0
 *
 * UTF-8, strictly: overlong forms, surrogates and what is past U+10FFFF are none. */
#ifndef NEAP_ENGINE_BASE_UTF8_H
#define NEAP_ENGINE_BASE_UTF8_H

#include "engine/base/base.h"

/* Bytes of the character at text, of which left are there; 0 when it is none. ret_code may be NULL. */
size_t neap_utf8_next(const char *text, size_t left, uint32_t *ret_code);
bool neap_utf8_is_valid(const char *text, size_t len);

#endif
