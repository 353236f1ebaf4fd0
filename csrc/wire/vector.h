/* SPDX-License-Identifier: Apache-2.0 */
/* 128-bit registers to and from any address, for functions that are ND_VECTOR. */
#ifndef ND_WIRE_VECTOR_H
#define ND_WIRE_VECTOR_H

#include "base/types.h"

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>

/* Before a function that ND_VECTOR_CPU is known to be true for. */
#define ND_VECTOR __attribute__((target("sse4.2")))
/* Reads one word that libgcc filled in at start; it predicts perfectly. */
#define ND_VECTOR_CPU __builtin_cpu_supports("sse4.2")

ND_VECTOR ND_INLINE __m128i nd_vector_load(const void *at)
{
	return _mm_loadu_si128((const __m128i *)at);
}

ND_VECTOR ND_INLINE void nd_vector_store(void *at, __m128i vector)
{
	_mm_storeu_si128((__m128i *)at, vector);
}

/* Eight bytes from each of two places. */
ND_VECTOR ND_INLINE __m128i nd_vector_load_halves(const void *low, const void *high)
{
	int64_t half;

	memcpy(&half, high, sizeof(half));
	return _mm_insert_epi64(_mm_loadl_epi64((const __m128i *)low), half, 1);
}

/* Eight bytes to each of two places, to the low one first. */
ND_VECTOR ND_INLINE void nd_vector_store_halves(void *low, void *high, __m128i vector)
{
	int64_t half = _mm_extract_epi64(vector, 1);

	_mm_storel_epi64((__m128i *)low, vector);
	memcpy(high, &half, sizeof(half));
}

/*
 * CRC-32C of eight bytes more, without the complements at its ends; crc is 32 bits. Out of memory, since a compiler
 * that remembers what it stored there would fetch it from a vector register, at twice the cost.
 */
ND_INLINE uint64_t nd_vector_crc(uint64_t crc, const void *at)
{
	__asm__("crc32q %1, %0" : "+r"(crc) : "m"(*(const uint8_t(*)[8])at));
	return crc;
}

/* Of four. */
ND_INLINE uint32_t nd_vector_crc_half(uint64_t crc, const void *at)
{
	__asm__("crc32l %1, %k0" : "+r"(crc) : "m"(*(const uint8_t(*)[4])at));
	return (uint32_t)crc;
}

/* Of the 32 bytes that an NDP header has in front of its checks. */
ND_INLINE uint64_t nd_vector_crc_32(uint64_t crc, const uint8_t *at)
{
	crc = nd_vector_crc(crc, at);
	crc = nd_vector_crc(crc, at + 8);
	crc = nd_vector_crc(crc, at + 16);
	return nd_vector_crc(crc, at + 24);
}

#else
#define ND_VECTOR_CPU false
#endif

#endif
