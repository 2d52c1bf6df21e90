/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/text.h"

#include <string.h>

#define DISTANCE_MAX 64

int neap_text_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t neap_text_distance(const char *a, const char *b)
{
	size_t row[DISTANCE_MAX + 1];
	size_t a_len = strnlen(a, DISTANCE_MAX), b_len = strnlen(b, DISTANCE_MAX);

	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t above = row[j];

			row[j] = least(least(above, row[j - 1]) + 1,
				       corner + (a[i - 1] != b[j - 1]));
			corner = above;
		}
	}
	return row[b_len];
}

int neap_text_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}
