// SPDX-License-Identifier: Apache-2.0
/*
 * CRC-32C by vectors, by instruction or by slicing-by-8.
 *
 * The instruction takes three cycles but a new one can start in each, so data is cut into three
 * streams that advance side by side, as long as the data allows; what the first two gave is then
 * carried over the length of what follows by a carry-less product each, with x to the power of
 * that length. Vectors have four such products at once: the data is folded onto what follows it
 * until 16 bytes with the same CRC are left. Tables are computed by the constructor, not written
 * out: 256 lines of numbers prove nothing.
 */
#include "base/crc32c.h"

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define POLYNOMIAL 0x82f63b78u /* reflected */
#define SLICES 8
#define STREAM_WORDS_MAX 64u /* of 8 bytes: three such streams are a full packet */
#define STREAMS_FROM 96u     /* bytes that are worth it */
#define VECTOR_BYTES 64u
#define VECTORS_FROM (4 * VECTOR_BYTES)

static uint32_t table[SLICES][256];
/* powers[i]: x to the power of 64 i - 33, where a product lacks 33: see carried(). */
static uint32_t powers[2 * STREAM_WORDS_MAX + 1];

/* Times x, modulo the polynomial. */
static uint32_t shifted(uint32_t crc, uint32_t times)
{
	for (uint32_t i = 0; i < times; i++)
		crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
	return crc;
}

static void fill_powers(void)
{
	powers[1] = shifted(UINT32_C(1) << 31, 64 - 33); /* of 1, whose bit is the highest */
	for (uint32_t i = 2; i < ND_ARRAY_SIZE(powers); i++)
		powers[i] = shifted(powers[i - 1], 64);
}

__attribute__((constructor)) static void fill_tables(void)
{
	for (uint32_t byte = 0; byte < 256; byte++)
		table[0][byte] = shifted(byte, 8);
	for (uint32_t byte = 0; byte < 256; byte++) {
		for (unsigned slice = 1; slice < SLICES; slice++) {
			uint32_t crc = table[slice - 1][byte];

			table[slice][byte] = crc >> 8 ^ table[0][crc & 0xff];
		}
	}
	fill_powers();
}

uint32_t nd_crc32c_add_table(uint32_t crc, const void *data, size_t bytes)
{
	const uint8_t *at = data;

	crc = ~crc;
	for (; bytes >= 8; bytes -= 8, at += 8) {
		uint32_t low = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
			       (uint32_t)at[3] << 24;

		low ^= crc;
		crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^
		      table[5][low >> 16 & 0xff] ^ table[4][low >> 24] ^ table[3][at[4]] ^
		      table[2][at[5]] ^ table[1][at[6]] ^ table[0][at[7]];
	}
	for (; bytes; bytes--, at++)
		crc = crc >> 8 ^ table[0][(crc ^ *at) & 0xff];
	return ~crc;
}

#ifdef __x86_64__

#define BY_INSTRUCTION __attribute__((target("sse4.2,pclmul")))

BY_INSTRUCTION ND_INLINE uint64_t step(uint64_t crc, const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return __builtin_ia32_crc32di(crc, word);
}

/*
 * A register carried over words of zeros, but for the last reduction. The bits are mirrored, which
 * makes the product one power of x too high, and the reduction adds 32.
 */
BY_INSTRUCTION ND_INLINE uint64_t carried(uint64_t crc, size_t words)
{
	__m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)crc),
					       _mm_cvtsi32_si128((int32_t)powers[words]), 0);

	return (uint64_t)_mm_cvtsi128_si64(product);
}

/* Three streams of so many words each, one behind the other. */
BY_INSTRUCTION ND_INLINE uint64_t three_streams(uint64_t first, const uint8_t *at, size_t words)
{
	const uint8_t *at_second = at + 8 * words, *at_third = at_second + 8 * words;
	uint64_t second = 0, third = 0;

#pragma GCC unroll 4
	for (size_t i = 0; i < 8 * words; i += 8) {
		first = step(first, at + i);
		second = step(second, at_second + i);
		third = step(third, at_third + i);
	}
	return third ^ __builtin_ia32_crc32di(0, carried(first, 2 * words) ^
							 carried(second, words));
}

/* Less than a word. */
BY_INSTRUCTION ND_INLINE uint32_t last_bytes(uint32_t crc, const uint8_t *at, size_t bytes)
{
	uint32_t word;

	if (bytes & 4) {
		memcpy(&word, at, sizeof(word));
		crc = __builtin_ia32_crc32si(crc, word);
		at += 4;
	}
	for (bytes &= 3; bytes; bytes--, at++)
		crc = __builtin_ia32_crc32qi(crc, *at);
	return crc;
}

/* What three streams are too many for. */
BY_INSTRUCTION ND_INLINE uint32_t one_stream(uint64_t crc, const uint8_t *at, size_t bytes)
{
	for (; bytes >= 8; bytes -= 8, at += 8)
		crc = step(crc, at);
	return last_bytes((uint32_t)crc, at, bytes);
}

BY_INSTRUCTION static uint32_t by_instruction(uint32_t before, const uint8_t *at, size_t bytes)
{
	uint64_t crc = ~before;

	while (bytes >= STREAMS_FROM) {
		size_t words = nd_min_u64(bytes / 24, STREAM_WORDS_MAX);

		crc = three_streams(crc, at, words);
		at += 24 * words;
		bytes -= 24 * words;
	}
	return ~one_stream(crc, at, bytes);
}

#define BY_VECTORS __attribute__((target("avx512f,vpclmulqdq,sse4.2,pclmul")))

/* Carries 16 bytes over so many words: as carried(), but each half by its own power. */
BY_INSTRUCTION ND_INLINE __m128i over(size_t words)
{
	return _mm_set_epi64x((int64_t)powers[words], (int64_t)powers[words + 1]);
}

BY_VECTORS ND_INLINE __m512i load(const uint8_t *at)
{
	return _mm512_loadu_si512((const void *)at);
}

/* Every 16 bytes carried over that many words, onto what lies there. */
BY_VECTORS ND_INLINE __m512i fold(__m512i data, __m512i words, __m512i onto)
{
	return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(data, words, 0x00),
					 _mm512_clmulepi64_epi128(data, words, 0x11), onto, 0x96);
}

/* The first three quarters folded onto the last, whose CRC it then is. */
BY_VECTORS ND_INLINE uint64_t crc_of(__m512i data)
{
	__m512i words = _mm512_inserti32x4(_mm512_inserti32x4(_mm512_zextsi128_si512(over(6)),
							      over(4), 1), over(2), 2);
	__m512i all = fold(data, words, _mm512_maskz_mov_epi64(0xc0, data));
	__m128i last = _mm_xor_si128(_mm_xor_si128(_mm512_extracti32x4_epi32(all, 0),
						   _mm512_extracti32x4_epi32(all, 1)),
				     _mm_xor_si128(_mm512_extracti32x4_epi32(all, 2),
						   _mm512_extracti32x4_epi32(all, 3)));
	uint64_t crc = __builtin_ia32_crc32di(0, (uint64_t)_mm_cvtsi128_si64(last));

	return __builtin_ia32_crc32di(crc, (uint64_t)_mm_extract_epi64(last, 1));
}

/* Of VECTORS_FROM bytes and more. */
BY_VECTORS static uint32_t by_vectors(uint32_t before, const uint8_t *at, size_t bytes)
{
	__m512i four = _mm512_broadcast_i32x4(over(4 * 8)), one = _mm512_broadcast_i32x4(over(8));
	__m512i a = _mm512_xor_si512(load(at), _mm512_zextsi128_si512(
						       _mm_cvtsi32_si128((int32_t)~before)));
	__m512i b = load(at + 64), c = load(at + 128), d = load(at + 192);

	for (at += 256, bytes -= 256; bytes >= 256; at += 256, bytes -= 256) {
		a = fold(a, four, load(at));
		b = fold(b, four, load(at + 64));
		c = fold(c, four, load(at + 128));
		d = fold(d, four, load(at + 192));
	}
	d = fold(fold(fold(a, one, b), one, c), one, d);
	for (; bytes >= VECTOR_BYTES; at += VECTOR_BYTES, bytes -= VECTOR_BYTES)
		d = fold(d, one, load(at));
	return ~one_stream(crc_of(d), at, bytes);
}

/* Each reads one word that libgcc filled in at start; it predicts perfectly. */
#define HAVE_INSTRUCTION (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"))
#define HAVE_VECTORS (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq"))

#else
#define HAVE_INSTRUCTION false
#define HAVE_VECTORS false
#define by_instruction nd_crc32c_add_table
#define by_vectors nd_crc32c_add_table
#endif

uint32_t nd_crc32c_add_instruction(uint32_t crc, const void *data, size_t bytes)
{
	return HAVE_INSTRUCTION ? by_instruction(crc, data, bytes)
				: nd_crc32c_add_table(crc, data, bytes);
}

uint32_t nd_crc32c_add(uint32_t crc, const void *data, size_t bytes)
{
	return bytes >= VECTORS_FROM && HAVE_VECTORS ? by_vectors(crc, data, bytes)
						     : nd_crc32c_add_instruction(crc, data, bytes);
}
