// SPDX-License-Identifier: Apache-2.0
/*
 * CRC-32C by instruction or by slicing-by-8.
 *
 * The table is computed by the constructor, not written out: 256 lines of numbers prove nothing.
 */
#include "base/crc32c.h"

#include <string.h>

#define POLYNOMIAL 0x82f63b78u /* reflected */
#define SLICES 8

static uint32_t table[SLICES][256];

__attribute__((constructor)) static void fill_table(void)
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

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t before,
								 const uint8_t *at, size_t bytes)
{
	uint64_t crc = ~before;

	for (; bytes >= 32; bytes -= 32, at += 32) {
		uint64_t words[4];

		memcpy(words, at, sizeof(words));
		crc = __builtin_ia32_crc32di(crc, words[0]);
		crc = __builtin_ia32_crc32di(crc, words[1]);
		crc = __builtin_ia32_crc32di(crc, words[2]);
		crc = __builtin_ia32_crc32di(crc, words[3]);
	}
	for (; bytes >= 8; bytes -= 8, at += 8) {
		uint64_t word;

		memcpy(&word, at, sizeof(word));
		crc = __builtin_ia32_crc32di(crc, word);
	}
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
