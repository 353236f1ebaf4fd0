// SPDX-License-Identifier: Apache-2.0
/* The NDP header to and from bytes, and its self-validation. */
#include "wire/ndp.h"

#include "base/crc32c.h"
#include "wire/ndp_codec.h"


uint32_t nd_ndp_check_seed(const uint8_t addresses[32])
{
	uint64_t word[4];

	memcpy(word, addresses, sizeof(word));
	word[0] ^= word[1] ^ word[2] ^ word[3];
	return nd_crc32c(word, sizeof(word[0]));
}

void nd_ndp_encode(const struct nd_packet *packet, uint32_t check_seed, uint32_t payload_check,
		   uint8_t *out)
{
	nd_ndp_put_fields(packet, out);
	nd_ndp_put_checks(check_seed, payload_check, ND_CRC32C_INSTRUCTION, out);
}

enum nd_wire_error nd_ndp_decode(const uint8_t *in, uint32_t bytes, uint32_t check_seed,
				 struct nd_packet *packet)
{
	return nd_ndp_take(in, bytes, check_seed, ND_CRC32C_INSTRUCTION, packet);
}

bool nd_ndp_payload_holds(const uint8_t *in, const struct nd_packet *packet)
{
	return !packet->payload || nd_crc32c(packet->payload, packet->payload_bytes) ==
					   nd_get_u32(in + ND_NDP_PAYLOAD_CHECK_AT);
}

void nd_ndp_patch(uint8_t *header, uint32_t at, uint8_t value)
{
	static const uint8_t zeros[ND_NDP_HEADER_CHECK_AT];
	uint8_t difference[ND_NDP_HEADER_CHECK_AT] = { 0 };
	uint32_t check = nd_get_u32(header + ND_NDP_HEADER_CHECK_AT);

	nd_assert(at < ND_NDP_HEADER_CHECK_AT);
	difference[at] = header[at] ^ value;
	header[at] = value;
	/* crc(a ^ b) = crc(a) ^ crc(b) ^ crc(0): what the other bytes are does not matter. */
	check ^= nd_crc32c(difference, sizeof(difference)) ^ nd_crc32c(zeros, sizeof(zeros));
	nd_put_u32(header + ND_NDP_HEADER_CHECK_AT, check);
}
