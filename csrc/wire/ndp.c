// SPDX-License-Identifier: Apache-2.0
/* The NDP header to and from bytes, and its self-validation. */
#include "wire/ndp.h"

#include "base/crc32c.h"
#include "wire/ndp_codec.h"

uint32_t nd_ndp_check_seed(const uint8_t addresses[32])
{
	return nd_ndp_check_seed_by(addresses, ND_CRC32C_INSTRUCTION);
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
	uint64_t word;
	uint32_t first, header_bytes;

	if (bytes < ND_NDP_HEADER_BYTES)
		return ND_WIRE_ndp_short;
	word = nd_get_u64(in);
	first = (uint32_t)(word >> 32);
	if (first >> ND_NDP_VERSION_SHIFT != ND_NDP_VERSION)
		return ND_WIRE_ndp_version;
	if (!nd_ndp_check_holds(in, check_seed, ND_CRC32C_INSTRUCTION))
		return ND_WIRE_ndp_header_check;
	header_bytes = (first & 0xff) * 4;
	if (header_bytes < ND_NDP_HEADER_BYTES)
		return ND_WIRE_ndp_header_length;
	if (first & ND_NDP_FIRST_BOUNCED)
		packet->marks |= ND_MARK_BOUNCED;
	return nd_ndp_take_rest(in, bytes, word, nd_min_u32(header_bytes, bytes),
				nd_ndp_trim_of(in), packet);
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
