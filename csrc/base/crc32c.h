/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli), the check that the NDP header and payload carry. */
#ifndef ND_BASE_CRC32C_H
#define ND_BASE_CRC32C_H

#include "base/types.h"

#include <string.h>

/*
 * CRC-32C of what gave crc, followed by data; crc is 0 at the beginning. By the CPU's instruction
 * where it has one. "123456789" gives 0xe3069283.
 */
uint32_t nd_crc32c_add(uint32_t crc, const void *data, size_t bytes);

/* The same by table, eight bytes a step; for tests and CPUs without the instruction. */
uint32_t nd_crc32c_add_table(uint32_t crc, const void *data, size_t bytes);

#ifdef __x86_64__

#define ND_CRC32C_INSTRUCTION __builtin_cpu_supports("sse4.2")

/* Written down, since a compiler would not put the instruction into code for any CPU. */
#define ND_CRC32C_STEP(crc, word) __asm__("crc32q %1, %0" : "+r"(crc) : "rm"(word))
#define ND_CRC32C_STEP_HALF(crc, word) __asm__("crc32l %1, %k0" : "+r"(crc) : "rm"(word))

#else

#define ND_CRC32C_INSTRUCTION false
#define ND_CRC32C_STEP(crc, word) ((void)(word))
#define ND_CRC32C_STEP_HALF(crc, word) ((void)(word))

#endif

/*
 * The same for the 36 bytes of a header, which every packet needs twice: neither loop nor call
 * where the caller has found out that ND_CRC32C_INSTRUCTION is true.
 */
ND_INLINE uint32_t nd_crc32c_add_36(uint32_t before, const uint8_t *at, bool instruction)
{
	uint64_t crc = ~before, word;
	uint32_t half;

	if (!instruction)
		return nd_crc32c_add_table(before, at, 36);
#pragma GCC unroll 4
	for (uint32_t i = 0; i < 32; i += 8) {
		memcpy(&word, at + i, sizeof(word));
		ND_CRC32C_STEP(crc, word);
	}
	memcpy(&half, at + 32, sizeof(half));
	ND_CRC32C_STEP_HALF(crc, half);
	return ~(uint32_t)crc;
}

/* The same for one word in memory order. */
ND_INLINE uint32_t nd_crc32c_of_u64(uint64_t word, bool instruction)
{
	uint64_t crc = UINT32_MAX;

	if (!instruction)
		return nd_crc32c_add_table(0, &word, sizeof(word));
	ND_CRC32C_STEP(crc, word);
	return ~(uint32_t)crc;
}

static inline uint32_t nd_crc32c(const void *data, size_t bytes)
{
	return nd_crc32c_add(0, data, bytes);
}

#endif
