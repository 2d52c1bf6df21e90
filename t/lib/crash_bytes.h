/* SPDX-License-Identifier: Apache-2.0
 *
 * What a file holds. */
#ifndef NEAP_T_LIB_CRASH_BYTES_H
#define NEAP_T_LIB_CRASH_BYTES_H

#include <stddef.h>

struct crash_bytes {
	unsigned char *at;
	size_t len, room;
};

/* New ones are zero. */
void crash_bytes_set_len(struct crash_bytes *bytes, size_t len);
/* Makes it longer where that is needed. */
void crash_bytes_put(struct crash_bytes *bytes, size_t at, const unsigned char *from,
		     size_t len);
void crash_bytes_copy(struct crash_bytes *to, const struct crash_bytes *from);

#endif
