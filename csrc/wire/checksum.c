// SPDX-License-Identifier: Apache-2.0
/* The internet checksum over long data, 32 bytes a step. */
#include "wire/checksum.h"

typedef uint64_t pair __attribute__((vector_size(16)));

/*
 * 32-bit halves in 64-bit lanes: no carry leaves a lane before 2^32 words. Which half a word was in
 * does not matter, since 2^32 is 1 modulo 2^16 - 1.
 */
static inline pair add_halves(pair lanes, const uint8_t *at)
{
	pair words;

	memcpy(&words, at, sizeof(words));
	return lanes + (words & UINT32_MAX) + (words >> 32);
}

uint64_t nd_checksum_add(uint64_t sum, const void *data, size_t bytes)
{
	const uint8_t *at = data;
	pair lanes = { 0, 0 };
	uint64_t word;

	for (; bytes >= 32; bytes -= 32, at += 32)
		lanes = add_halves(add_halves(lanes, at), at + 16);
	sum = nd_checksum_add_u64(nd_checksum_add_u64(sum, lanes[0]), lanes[1]);
	for (; bytes >= 8; bytes -= 8, at += 8) {
		memcpy(&word, at, sizeof(word));
		sum = nd_checksum_add_u64(sum, word);
	}
	if (!bytes)
		return sum;
	word = 0;
	memcpy(&word, at, bytes);
	return nd_checksum_add_u64(sum, word);
}
