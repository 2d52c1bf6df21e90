/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 over whole blocks; the tail is padded in a block pair of its own. */
#include "engine/base/sha256.h"

#include <string.h>

#define BLOCK 64

static const uint32_t round_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
	0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
	0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
	0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
	0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
	0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
	0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

/* One round. The eight values change places instead of moving. */
static inline void mix(uint32_t v[8], int turn, uint32_t word)
{
	uint32_t a = v[-turn & 7], b = v[(1 - turn) & 7], c = v[(2 - turn) & 7];
	uint32_t e = v[(4 - turn) & 7], f = v[(5 - turn) & 7], g = v[(6 - turn) & 7];
	uint32_t t1 = v[(7 - turn) & 7] + word + ((e & f) ^ (~e & g)) +
		      (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25));

	v[(3 - turn) & 7] += t1;
	v[(7 - turn) & 7] = t1 + ((a & b) ^ (a & c) ^ (b & c)) +
			    (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22));
}

static void add_block(uint32_t state[8], const uint8_t *block)
{
	uint32_t w[64], v[8];

	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (int i = 16; i < 64; i++) {
		uint32_t s0 =
			rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t s1 =
			rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;

		w[i] = w[i - 16] + s0 + w[i - 7] + s1;
	}

	memcpy(v, state, sizeof(v));
	for (int i = 0; i < 64; i += 8) {
		const uint32_t *k = round_constants + i, *u = w + i;

		mix(v, 0, k[0] + u[0]);
		mix(v, 1, k[1] + u[1]);
		mix(v, 2, k[2] + u[2]);
		mix(v, 3, k[3] + u[3]);
		mix(v, 4, k[4] + u[4]);
		mix(v, 5, k[5] + u[5]);
		mix(v, 6, k[6] + u[6]);
		mix(v, 7, k[7] + u[7]);
	}
	for (int i = 0; i < 8; i++)
		state[i] += v[i];
}

void neap_sha256(const void *data, size_t len, uint8_t ret[NEAP_SHA256_BYTES])
{
	uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
			     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	const uint8_t *p = data;
	uint8_t tail[2 * BLOCK] = {0};
	size_t left = len % BLOCK;
	size_t tail_len = left < BLOCK - 8 ? BLOCK : 2 * BLOCK;
	uint64_t bits = (uint64_t)len * 8;

	for (size_t i = 0; i + BLOCK <= len; i += BLOCK)
		add_block(state, p + i);

	if (left)
		memcpy(tail, p + len - left, left);
	tail[left] = 0x80;
	for (int i = 0; i < 8; i++)
		tail[tail_len - 1 - i] = (uint8_t)(bits >> (8 * i));
	for (size_t i = 0; i < tail_len; i += BLOCK)
		add_block(state, tail + i);

	for (int i = 0; i < NEAP_SHA256_BYTES; i++)
		ret[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}

void neap_sha256_hex(const void *data, size_t len, char ret[NEAP_SHA256_HEX])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t sum[NEAP_SHA256_BYTES];

	neap_sha256(data, len, sum);
	for (int i = 0; i < NEAP_SHA256_BYTES; i++) {
		ret[2 * i] = digits[sum[i] >> 4];
		ret[2 * i + 1] = digits[sum[i] & 15];
	}
	ret[2 * NEAP_SHA256_BYTES] = '\0';
}
