/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NDP header to and from bytes, to be inlined into whole frames' codec: a third of the cost of
 * an encoded and decoded packet would be calls and what they spill.
 *
 * Fields move in words of 8 bytes, two to four at once.
 */
#ifndef ND_WIRE_NDP_CODEC_H
#define ND_WIRE_NDP_CODEC_H

#include "base/crc32c.h"
#include "wire/bytes.h"
#include "wire/packet.h"

#define ND_NDP_HEADER_WORDS (ND_NDP_HEADER_BYTES / 4)
#define ND_NDP_PAYLOAD_CHECK_AT 32u
#define ND_NDP_HEADER_CHECK_AT 36u

/* Shifts within the first word of a header. */
#define ND_NDP_VERSION_SHIFT 28
#define ND_NDP_TYPE_SHIFT 24
#define ND_NDP_FLAGS_SHIFT 16
#define ND_NDP_STATE_SHIFT 8 /* priority and trim */
#define ND_NDP_FIRST_BOUNCED ((uint32_t)ND_NDP_BOUNCED << ND_NDP_FLAGS_SHIFT)

/* In the first word: set by switches, and what it says of itself. */
#define ND_NDP_FIRST_ODD                                       \
	(UINT32_C(15) << ND_NDP_VERSION_SHIFT | ND_NDP_FIRST_BOUNCED | \
	 (uint32_t)ND_NDP_TRIM_MASK << ND_NDP_STATE_SHIFT | 0xff)
#define ND_NDP_FIRST_PLAIN ((uint32_t)ND_NDP_VERSION << ND_NDP_VERSION_SHIFT | ND_NDP_HEADER_WORDS)

/* Bits of the first word for what has happened to a packet on its way. */
static inline uint32_t nd_ndp_put_fate(uint32_t marks)
{
	uint32_t trim = !(marks & ND_MARK_TRIMMED)  ? ND_NDP_TRIM_NONE :
			marks & ND_MARK_LAST_HOP ? ND_NDP_TRIM_LAST_HOP :
						   ND_NDP_TRIM_FABRIC;

	return (marks & ND_MARK_BOUNCED ? ND_NDP_FIRST_BOUNCED : 0) |
	       trim << (ND_NDP_STATE_SHIFT + ND_NDP_TRIM_SHIFT);
}

/* nd_ndp_check_seed() */
ND_INLINE uint32_t nd_ndp_check_seed_by(const uint8_t addresses[32], bool instruction)
{
	uint64_t word[4];

	memcpy(word, addresses, sizeof(word));
	return nd_crc32c_of_u64(word[0] ^ word[1] ^ word[2] ^ word[3], instruction);
}

/* The two checks, which end a header. */
ND_INLINE void nd_ndp_put_checks(uint32_t check_seed, uint32_t payload_check, bool instruction,
				 uint8_t *out)
{
	nd_put_u32(out + ND_NDP_PAYLOAD_CHECK_AT, payload_check);
	nd_put_u32(out + ND_NDP_HEADER_CHECK_AT, nd_crc32c_add_36(check_seed, out, instruction));
}

/* All but the checks. */
ND_INLINE void nd_ndp_put_fields(const struct nd_packet *packet, uint8_t *out)
{
	const struct nd_ndp_header *header = &packet->ndp;
	uint32_t first = ND_NDP_FIRST_PLAIN |
			 (uint32_t)(packet->type & 15) << ND_NDP_TYPE_SHIFT |
			 (uint32_t)(packet->flags & 0x7f) << ND_NDP_FLAGS_SHIFT |
			 (uint32_t)(packet->priority & 7)
				 << (ND_NDP_STATE_SHIFT + ND_NDP_PRIORITY_SHIFT);

	if (ND_UNLIKELY(packet->marks & (ND_MARK_TRIMMED | ND_MARK_BOUNCED)))
		first |= nd_ndp_put_fate(packet->marks);
	nd_put_u64(out, (uint64_t)first << 32 | header->connection);
	nd_put_u64(out + 8, (uint64_t)header->sequence << 32 | header->pull);
	nd_put_u64(out + 16, (uint64_t)header->message_bytes << 32 | header->offset);
	nd_put_u64(out + 24, (uint64_t)header->message << 48 | (uint64_t)packet->path << 32 |
				     (uint64_t)packet->payload_bytes << 16 | header->backlog);
}

/* What stands in a header of this first word, believed. */
ND_INLINE void nd_ndp_take_fields(const uint8_t *in, uint64_t word, struct nd_packet *packet)
{
	struct nd_ndp_header *header = &packet->ndp;
	uint32_t first = (uint32_t)(word >> 32);
	uint64_t numbers = nd_get_u64(in + 8);
	uint64_t lengths = nd_get_u64(in + 16);
	uint64_t counts = nd_get_u64(in + 24);

	packet->payload_bytes = (uint16_t)(counts >> 16);
	packet->path = (uint16_t)(counts >> 32);
	packet->type = (uint8_t)(first >> ND_NDP_TYPE_SHIFT & 15);
	packet->flags = (uint8_t)(first >> ND_NDP_FLAGS_SHIFT & 0x7f);
	packet->priority =
		(uint8_t)(first >> (ND_NDP_STATE_SHIFT + ND_NDP_PRIORITY_SHIFT) & 7);
	header->pull = (uint32_t)numbers;
	header->sequence = (uint32_t)(numbers >> 32);
	header->offset = (uint32_t)lengths;
	header->message_bytes = (uint32_t)(lengths >> 32);
	header->connection = (uint32_t)word;
	header->backlog = (uint16_t)counts;
	header->message = (uint16_t)(counts >> 48);
}

/* Marks of DATA that lost its payload there. */
static inline uint8_t nd_ndp_take_trim(uint32_t location)
{
	return ND_MARK_TRIMMED | ND_MARK_TRIMMABLE |
	       (location == ND_NDP_TRIM_LAST_HOP ? ND_MARK_LAST_HOP : 0);
}

/* Rank, marks and payload of DATA, from what is left behind its header. */
ND_INLINE enum nd_wire_error nd_ndp_take_data(const uint8_t *in, uint32_t bytes,
					      uint32_t header_bytes, uint32_t location,
					      struct nd_packet *packet)
{
	uint32_t payload = packet->payload_bytes;
	int64_t left = (int64_t)packet->ndp.message_bytes - packet->ndp.offset;

	if (ND_UNLIKELY(left < payload))
		return ND_WIRE_ndp_message_end;
	packet->rank = (uint32_t)left;
	packet->payload = NULL;
	if (ND_UNLIKELY(payload == 0)) {
		if (packet->flags & ND_NDP_FLAG_VOID)
			packet->marks |= ND_MARK_CONTROL; /* nothing to trim or to lose */
		else if (location != ND_NDP_TRIM_NONE)
			packet->marks |= nd_ndp_take_trim(location);
		return ND_WIRE_OK;
	}
	if (ND_UNLIKELY(location != ND_NDP_TRIM_NONE || bytes - header_bytes < payload))
		packet->marks |= nd_ndp_take_trim(location);
	else
		packet->payload = in + header_bytes;
	return ND_WIRE_OK;
}

/* The rest of nd_ndp_decode(), once the check holds: word is the first of the header. */
ND_INLINE enum nd_wire_error nd_ndp_take_rest(const uint8_t *in, uint32_t bytes, uint64_t word,
					      uint32_t header_bytes, uint32_t location,
					      struct nd_packet *packet)
{
	packet->header_bytes = (uint16_t)header_bytes;
	nd_ndp_take_fields(in, word, packet);
	if (ND_LIKELY(packet->type == ND_NDP_DATA))
		return nd_ndp_take_data(in, bytes, header_bytes, location, packet);
	packet->rank = 0;
	packet->payload = NULL;
	if (ND_UNLIKELY(packet->type < ND_NDP_DATA || packet->type > ND_NDP_CLOSE))
		return ND_WIRE_ndp_type;
	packet->marks |= ND_MARK_CONTROL;
	return ND_UNLIKELY(packet->payload_bytes) ? ND_WIRE_ndp_control_payload : ND_WIRE_OK;
}

ND_INLINE bool nd_ndp_check_holds(const uint8_t *in, uint32_t check_seed, bool instruction)
{
	return nd_crc32c_add_36(check_seed, in, instruction) ==
	       nd_get_u32(in + ND_NDP_HEADER_CHECK_AT);
}

/* True for a header as its sender made it, and of our length. */
ND_INLINE bool nd_ndp_is_plain(const uint8_t *in)
{
	return (nd_get_u32(in) & ND_NDP_FIRST_ODD) == ND_NDP_FIRST_PLAIN;
}

/* nd_ndp_decode() of a plain header that is there. */
ND_INLINE enum nd_wire_error nd_ndp_take_plain(const uint8_t *in, uint32_t bytes,
					       uint32_t check_seed, bool instruction,
					       struct nd_packet *packet)
{
	if (ND_UNLIKELY(!nd_ndp_check_holds(in, check_seed, instruction)))
		return ND_WIRE_ndp_header_check;
	return nd_ndp_take_rest(in, bytes, nd_get_u64(in), ND_NDP_HEADER_BYTES, ND_NDP_TRIM_NONE,
				packet);
}

#endif
