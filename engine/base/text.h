/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions about short texts. */
#ifndef NEAP_ENGINE_BASE_TEXT_H
#define NEAP_ENGINE_BASE_TEXT_H

#include <stddef.h>

/* Orders an array of const char *, for qsort(3) and bsearch(3). */
int neap_text_compare(const void *a, const void *b);
/* Letters to change, add or remove to get from a to b. Looks at 64 bytes of each. */
size_t neap_text_distance(const char *a, const char *b);
/* The value of a hexadecimal digit, -1 for another character. */
int neap_text_hex(char c);

#endif
