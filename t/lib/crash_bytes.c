/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/crash_bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"

#define ROOM ((size_t)64 * 1024 * 1024)

void crash_bytes_set_len(struct crash_bytes *bytes, size_t len)
{
	if (len > bytes->room) {
		size_t room = len * 2;
		unsigned char *grown = neap_realloc_array(bytes->at, room, 1);

		assert_non_null(grown);
		assert_true(room <= ROOM * 2);
		bytes->at = grown;
		bytes->room = room;
	}
	if (len > bytes->len)
		memset(bytes->at + bytes->len, 0, len - bytes->len);
	bytes->len = len;
}

void crash_bytes_put(struct crash_bytes *bytes, size_t at, const unsigned char *from,
		     size_t len)
{
	if (at + len > bytes->len)
		crash_bytes_set_len(bytes, at + len);
	if (len > 0)
		memcpy(bytes->at + at, from, len);
}

void crash_bytes_copy(struct crash_bytes *to, const struct crash_bytes *from)
{
	crash_bytes_set_len(to, from->len);
	if (from->len > 0)
		memcpy(to->at, from->at, from->len);
}
