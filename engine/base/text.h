/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions about short texts. */
#ifndef NEAP_ENGINE_BASE_TEXT_H
#define NEAP_ENGINE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Orders an array of const char *, for qsort(3) and bsearch(3). */
int neap_text_compare(const void *a, const void *b);
/* Whether a list, ended by NULL, has the text. The list may be NULL. */
bool neap_text_is_in(const char *text, const char *const *list);
bool neap_text_starts(const char *text, const char *prefix);
/* Letters to change, add or remove to get from a to b. Looks at 64 bytes of each. */
size_t neap_text_distance(const char *a, const char *b);
/* A letter or digit of ASCII, whatever the locale says. */
bool neap_text_is_alnum(char c);
/* The value of a hexadecimal digit, -1 for another character. */
int neap_text_hex(char c);

#endif
