/* SPDX-License-Identifier: Apache-2.0 */
#include "api/store/sum.h"

#include <string.h>

#define PRIME UINT64_C(1099511628211)

uint64_t neap_sum_bytes(uint64_t sum, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	uint64_t word;

	for (; len >= sizeof(word); at += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		sum = (sum ^ word) * PRIME;
		sum ^= sum >> 29;
	}
	for (; len > 0; at++, len--)
		sum = (sum ^ *at) * PRIME;
	return sum;
}

uint64_t neap_sum_number(uint64_t sum, int64_t number)
{
	return neap_sum_bytes(sum, &number, sizeof(number));
}

int64_t neap_sum_end(uint64_t sum)
{
	return (int64_t)(sum & INT64_MAX);
}

int64_t neap_sum_object(const struct neap_object *object)
{
	return neap_sum_end(neap_sum_bytes(NEAP_SUM_START ^ (uint64_t)object->version,
					   object->block,
					   (size_t)object->meta_len + object->text_len));
}
