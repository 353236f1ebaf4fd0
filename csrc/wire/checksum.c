// SPDX-License-Identifier: Apache-2.0
/* The internet checksum over long data, 32 bytes a step. */
#include "wire/checksum.h"

#include "wire/bytes.h"

uint64_t nd_checksum_add(uint64_t sum, const void *data, size_t bytes)
{
	const uint8_t *at = data;
	uint64_t word;

	for (; bytes >= 32; bytes -= 32, at += 32) {
		uint64_t words[4];

		memcpy(words, at, sizeof(words));
		sum = nd_checksum_add_u64(sum, words[0]);
		sum = nd_checksum_add_u64(sum, words[1]);
		sum = nd_checksum_add_u64(sum, words[2]);
		sum = nd_checksum_add_u64(sum, words[3]);
	}
	for (; bytes >= 8; bytes -= 8, at += 8) {
		memcpy(&word, at, sizeof(word));
		sum = nd_checksum_add_u64(sum, word);
	}
	word = 0;
	memcpy(&word, at, bytes);
	return nd_checksum_add_u64(sum, word);
}

uint64_t nd_checksum_pseudo(const uint8_t *addresses, size_t address_bytes, uint8_t protocol,
			    uint32_t bytes)
{
	uint8_t tail[8];

	nd_put_u32(tail, bytes);
	nd_put_u32(tail + 4, protocol);
	return nd_checksum_add(nd_checksum_add(0, addresses, address_bytes), tail, sizeof(tail));
}
