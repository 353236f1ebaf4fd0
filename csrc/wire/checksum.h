/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internet checksum (RFC 1071), its update in place (RFC 1624) and TCP's pseudo-header.
 *
 * Sums are kept unfolded and in memory order, which is faster and gives the same bytes on every
 * machine: store what nd_checksum_fold() returns with memcpy, not as a number.
 */
#ifndef ND_WIRE_CHECKSUM_H
#define ND_WIRE_CHECKSUM_H

#include "base/types.h"

#include <endian.h>
#include <string.h>

/* Adds a 64-bit word to a running sum; the carry goes around. */
static inline uint64_t nd_checksum_add_u64(uint64_t sum, uint64_t word)
{
	sum += word;
	return sum + (sum < word);
}

/* Adds 16-bit words of data to a running sum; an odd last byte is padded with 0. */
uint64_t nd_checksum_add(uint64_t sum, const void *data, size_t bytes);

/* 16 bits, not complemented, in memory order. */
static inline uint16_t nd_checksum_fold(uint64_t sum)
{
	uint32_t half;

	/* Adding the swapped halves leaves their sum, carry included, in the upper one. */
	half = (uint32_t)((sum + (sum << 32 | sum >> 32)) >> 32);
	return (uint16_t)((half + (half << 16 | half >> 16)) >> 16);
}

/* Sum of an IPv4 header without options, which its checksum makes 0xffff. */
static inline uint64_t nd_checksum_add_ipv4(const uint8_t *header)
{
	uint64_t first, second;
	uint32_t third;

	memcpy(&first, header, sizeof(first));
	memcpy(&second, header + 8, sizeof(second));
	memcpy(&third, header + 16, sizeof(third));
	return nd_checksum_add_u64(nd_checksum_add_u64(first, second), third);
}

/* The checksum of what has this one once a word that was 0 in it is not; all in memory order. */
static inline uint16_t nd_checksum_with(uint16_t checksum, uint16_t word)
{
	return (uint16_t)(checksum - word - (checksum < word));
}

/* Corrects the checksum at `at` for 16 bits that changed; all in memory order. */
static inline void nd_checksum_update(uint8_t *at, uint16_t before, uint16_t after)
{
	uint16_t checksum;

	memcpy(&checksum, at, sizeof(checksum));
	checksum = (uint16_t)~nd_checksum_fold((uint64_t)(uint16_t)~checksum + (uint16_t)~before +
					       after);
	memcpy(at, &checksum, sizeof(checksum));
}

/*
 * Running sum of the pseudo-header of TCP: addresses in one piece of 8 (IPv4) or 32 bytes (IPv6),
 * source first, and the length of what is summed. Homa's checksum counts as protocol 6.
 */
static inline uint64_t nd_checksum_pseudo(const uint8_t *addresses, size_t address_bytes,
					  uint8_t protocol, uint32_t bytes)
{
	uint64_t sum = htobe64((uint64_t)bytes << 32 | protocol), word;

	for (size_t at = 0; at < address_bytes; at += sizeof(word)) {
		memcpy(&word, addresses + at, sizeof(word));
		sum = nd_checksum_add_u64(sum, word);
	}
	return sum;
}

#endif
