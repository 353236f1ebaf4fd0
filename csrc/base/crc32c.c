// SPDX-License-Identifier: Apache-2.0
/*
 * CRC-32C by instruction or by slicing-by-8.
 *
 * The instruction takes three cycles but a new one can start in each, so long data is cut into
 * blocks of three streams that advance side by side; what a stream gave is then carried over the
 * length of the next by table. Tables are computed by the constructor, not written out: 256 lines
 * of numbers prove nothing.
 */
#include "base/crc32c.h"

#include <string.h>

#define POLYNOMIAL 0x82f63b78u /* reflected */
#define SLICES 8
#define STREAM_BYTES 128u

static uint32_t table[SLICES][256];
/* over_stream[i][b]: what byte i = b of a register becomes after STREAM_BYTES zero bytes. */
static uint32_t over_stream[4][256];

static void fill_over_stream(void)
{
	for (uint32_t bit = 0; bit < 32; bit++) {
		uint32_t crc = UINT32_C(1) << bit;

		for (uint32_t i = 0; i < STREAM_BYTES; i++)
			crc = crc >> 8 ^ table[0][crc & 0xff];
		/* A byte is the sum of its bits; bytes whose highest bit is this one come now. */
		for (uint32_t low = 0; low < UINT32_C(1) << bit % 8; low++)
			over_stream[bit / 8][low | 1u << bit % 8] = over_stream[bit / 8][low] ^ crc;
	}
}

__attribute__((constructor)) static void fill_tables(void)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;

		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		table[0][byte] = crc;
	}
	for (uint32_t byte = 0; byte < 256; byte++) {
		for (unsigned slice = 1; slice < SLICES; slice++) {
			uint32_t crc = table[slice - 1][byte];

			table[slice][byte] = crc >> 8 ^ table[0][crc & 0xff];
		}
	}
	fill_over_stream();
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

static uint32_t carry_over(uint32_t crc)
{
	return over_stream[0][crc & 0xff] ^ over_stream[1][crc >> 8 & 0xff] ^
	       over_stream[2][crc >> 16 & 0xff] ^ over_stream[3][crc >> 24];
}

__attribute__((target("sse4.2"))) static inline uint64_t step(uint64_t crc, const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return __builtin_ia32_crc32di(crc, word);
}

/* Three streams of STREAM_BYTES each, one behind the other. */
__attribute__((target("sse4.2"))) static uint64_t three_streams(uint64_t first, const uint8_t *at)
{
	uint64_t second = 0, third = 0;

	for (uint32_t i = 0; i < STREAM_BYTES; i += 8) {
		first = step(first, at + i);
		second = step(second, at + STREAM_BYTES + i);
		third = step(third, at + 2 * STREAM_BYTES + i);
	}
	return carry_over(carry_over((uint32_t)first) ^ (uint32_t)second) ^ third;
}

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t before,
								 const uint8_t *at, size_t bytes)
{
	uint64_t crc = ~before;

	for (; bytes >= 3 * STREAM_BYTES; bytes -= 3 * STREAM_BYTES, at += 3 * STREAM_BYTES)
		crc = three_streams(crc, at);
	for (; bytes >= 8; bytes -= 8, at += 8)
		crc = step(crc, at);
	if (bytes & 4) {
		uint32_t word;

		memcpy(&word, at, sizeof(word));
		crc = __builtin_ia32_crc32si((uint32_t)crc, word);
		at += 4;
	}
	for (bytes &= 3; bytes; bytes--, at++)
		crc = __builtin_ia32_crc32qi((uint32_t)crc, *at);
	return ~(uint32_t)crc;
}

uint32_t nd_crc32c_add(uint32_t crc, const void *data, size_t bytes)
{
	/* Reads one word that libgcc filled in at start; it predicts perfectly. */
	return __builtin_cpu_supports("sse4.2") ? by_instruction(crc, data, bytes) :
						  nd_crc32c_add_table(crc, data, bytes);
}

#else

uint32_t nd_crc32c_add(uint32_t crc, const void *data, size_t bytes)
{
	return nd_crc32c_add_table(crc, data, bytes);
}
#endif
