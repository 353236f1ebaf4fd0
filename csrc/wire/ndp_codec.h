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

ND_INLINE uint32_t nd_ndp_put_trim(uint32_t marks)
{
	if (ND_LIKELY(!(marks & ND_MARK_TRIMMED)))
		return ND_NDP_TRIM_NONE;
	return marks & ND_MARK_LAST_HOP ? ND_NDP_TRIM_LAST_HOP : ND_NDP_TRIM_FABRIC;
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
	uint32_t first = (uint32_t)ND_NDP_VERSION << 28 | (uint32_t)(packet->type & 15) << 24 |
			 (uint32_t)(packet->flags & 0x7f) << 16 |
			 (uint32_t)(packet->priority & 7) << (8 + ND_NDP_PRIORITY_SHIFT) |
			 nd_ndp_put_trim(packet->marks) << (8 + ND_NDP_TRIM_SHIFT) |
			 ND_NDP_HEADER_WORDS;
	uint32_t third = header->pull;

	if (ND_UNLIKELY(packet->marks & ND_MARK_BOUNCED))
		first |= (uint32_t)ND_NDP_BOUNCED << 16;
	if (packet->type == ND_NDP_DATA)
		third = (uint32_t)header->service << 16 | header->base;
	nd_put_u64(out, (uint64_t)first << 32 | header->connection);
	nd_put_u64(out + 8, (uint64_t)header->sequence << 32 | third);
	nd_put_u64(out + 16, (uint64_t)header->message_bytes << 32 | header->offset);
	nd_put_u64(out + 24, (uint64_t)header->message << 48 | (uint64_t)packet->path << 32 |
				     (uint64_t)packet->payload_bytes << 16 | header->backlog);
}

/* What stands in a header of this first word, believed. */
ND_INLINE void nd_ndp_take_fields(const uint8_t *in, uint32_t first, struct nd_packet *packet)
{
	struct nd_ndp_header *header = &packet->ndp;
	uint64_t lengths = nd_get_u64(in + 16);
	uint64_t counts = nd_get_u64(in + 24);
	uint32_t third = nd_get_u32(in + 12);

	packet->rank = 0;
	packet->payload_bytes = (uint16_t)(counts >> 16);
	packet->path = (uint16_t)(counts >> 32);
	packet->type = (uint8_t)(first >> 24 & 15);
	packet->flags = (uint8_t)(first >> 16 & 0x7f);
	packet->priority = (uint8_t)(first >> (8 + ND_NDP_PRIORITY_SHIFT) & 7);
	packet->payload = NULL;
	header->connection = nd_get_u32(in + 4);
	header->sequence = nd_get_u32(in + 8);
	header->message_bytes = (uint32_t)(lengths >> 32);
	header->offset = (uint32_t)lengths;
	header->message = (uint16_t)(counts >> 48);
	header->backlog = (uint16_t)counts;
	if (packet->type == ND_NDP_DATA) {
		header->service = (uint16_t)(third >> 16);
		header->base = (uint16_t)third;
	} else {
		header->pull = third;
	}
}

/* Rank, marks and payload of DATA, from what is left behind its header. */
ND_INLINE enum nd_wire_error nd_ndp_take_data(const uint8_t *in, uint32_t bytes, uint32_t first,
					      uint32_t header_bytes, struct nd_packet *packet)
{
	uint32_t location = first >> (8 + ND_NDP_TRIM_SHIFT) & 3;
	int64_t left = (int64_t)packet->ndp.message_bytes - packet->ndp.offset;

	if (ND_UNLIKELY(left < packet->payload_bytes))
		return ND_WIRE_ndp_message_end;
	packet->rank = (uint32_t)left;
	if (ND_UNLIKELY(packet->payload_bytes == 0 && packet->flags & ND_NDP_FLAG_VOID)) {
		packet->marks |= ND_MARK_CONTROL; /* nothing to trim, nothing to lose in a queue */
		return ND_WIRE_OK;
	}
	if (ND_UNLIKELY(location != ND_NDP_TRIM_NONE ||
			bytes - header_bytes < packet->payload_bytes)) {
		packet->marks |= ND_MARK_TRIMMED | ND_MARK_TRIMMABLE;
		if (location == ND_NDP_TRIM_LAST_HOP)
			packet->marks |= ND_MARK_LAST_HOP;
	} else if (packet->payload_bytes) {
		packet->payload = in + header_bytes;
	}
	return ND_WIRE_OK;
}

/* nd_ndp_decode() */
ND_INLINE enum nd_wire_error nd_ndp_take(const uint8_t *in, uint32_t bytes, uint32_t check_seed,
					 bool instruction, struct nd_packet *packet)
{
	uint32_t header_bytes, first;

	if (ND_UNLIKELY(bytes < ND_NDP_HEADER_BYTES))
		return ND_WIRE_ndp_short;
	first = nd_get_u32(in);
	if (ND_UNLIKELY(first >> 28 != ND_NDP_VERSION))
		return ND_WIRE_ndp_version;
	if (ND_UNLIKELY(nd_crc32c_add_36(check_seed, in, instruction) !=
			nd_get_u32(in + ND_NDP_HEADER_CHECK_AT)))
		return ND_WIRE_ndp_header_check;
	header_bytes = (first & 0xff) * 4;
	if (ND_UNLIKELY(header_bytes < ND_NDP_HEADER_BYTES))
		return ND_WIRE_ndp_header_length;
	header_bytes = nd_min_u32(header_bytes, bytes);
	packet->header_bytes = (uint16_t)header_bytes;
	nd_ndp_take_fields(in, first, packet);
	if (ND_UNLIKELY(first & (uint32_t)ND_NDP_BOUNCED << 16))
		packet->marks |= ND_MARK_BOUNCED;
	if (ND_LIKELY(packet->type == ND_NDP_DATA))
		return nd_ndp_take_data(in, bytes, first, header_bytes, packet);
	if (ND_UNLIKELY(packet->type < ND_NDP_DATA || packet->type > ND_NDP_CLOSE))
		return ND_WIRE_ndp_type;
	packet->marks |= ND_MARK_CONTROL;
	return ND_UNLIKELY(packet->payload_bytes) ? ND_WIRE_ndp_control_payload : ND_WIRE_OK;
}

#endif
