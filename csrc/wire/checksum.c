// SPDX-License-Identifier: Apache-2.0
/* The internet checksum: by words, and by vectors where there are many. */
#include "wire/checksum.h"

#define BLOCK_BYTES 64u
#define WIDE_FROM (4 * BLOCK_BYTES) /* below it the words are done before vectors are added up */

#ifdef __x86_64__

#define WIDE __attribute__((target("avx2")))
#define WIDE_CPU __builtin_cpu_supports("avx2")

typedef uint64_t lanes __attribute__((vector_size(32)));

WIDE ND_INLINE lanes load(const uint8_t *at)
{
	lanes words;

	memcpy(&words, at, sizeof(words));
	return words;
}

/*
 * Of whole blocks. 32-bit halves in 64-bit lanes: no carry leaves a lane before 2^32 words. Which
 * half a word was in does not matter, since 2^32 is 1 modulo 2^16 - 1.
 */
WIDE static uint64_t add_wide(uint64_t sum, const uint8_t *at, size_t blocks)
{
	lanes low = { 0 }, high = { 0 };

	for (; blocks; blocks--, at += BLOCK_BYTES) {
		lanes first = load(at), second = load(at + sizeof(first));

		low += first & UINT32_MAX;
		high += first >> 32;
		low += second & UINT32_MAX;
		high += second >> 32;
	}
	low += high;
	for (uint32_t i = 0; i < 4; i++)
		sum = nd_checksum_add_u64(sum, low[i]);
	return sum;
}

#else
#define WIDE_CPU false
#define add_wide(sum, at, blocks) (sum)
#endif

/* Less than a word. */
static inline uint64_t add_last(uint64_t sum, const uint8_t *at, size_t bytes)
{
	uint64_t last = 0;
	uint32_t half;
	uint16_t quarter;

	if (bytes & 4) {
		memcpy(&half, at, sizeof(half));
		last += half;
		at += sizeof(half);
	}
	if (bytes & 2) {
		memcpy(&quarter, at, sizeof(quarter));
		last += quarter;
		at += sizeof(quarter);
	}
	if (bytes & 1) {
		quarter = 0;
		memcpy(&quarter, at, 1);
		last += quarter;
	}
	return nd_checksum_add_u64(sum, last);
}

uint64_t nd_checksum_add(uint64_t sum, const void *data, size_t bytes)
{
	const uint8_t *at = data;
	uint64_t word, carries = 0;

	if (bytes >= WIDE_FROM && WIDE_CPU) {
		sum = add_wide(sum, at, bytes / BLOCK_BYTES);
		at += bytes - bytes % BLOCK_BYTES;
		bytes %= BLOCK_BYTES;
	}
#pragma GCC unroll 4
	for (; bytes >= sizeof(word); bytes -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		carries += __builtin_add_overflow(sum, word, &sum);
	}
	return add_last(nd_checksum_add_u64(sum, carries), at, bytes);
}
