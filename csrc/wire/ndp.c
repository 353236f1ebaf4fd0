// SPDX-License-Identifier: Apache-2.0
/* The NDP header to and from bytes, and its self-validation. */
#include "wire/ndp.h"

#include "base/crc32c.h"
#include "wire/bytes.h"
#include "wire/packet.h"

#include <string.h>

#define HEADER_WORDS (ND_NDP_HEADER_BYTES / 4)
#define PAYLOAD_CHECK_AT 32u
#define HEADER_CHECK_AT 36u

uint32_t nd_ndp_check_seed(const uint8_t addresses[32])
{
	uint64_t word[4];

	memcpy(word, addresses, sizeof(word));
	word[0] ^= word[1] ^ word[2] ^ word[3];
	return nd_crc32c(word, sizeof(word[0]));
}

static uint32_t trim_location(uint32_t marks)
{
	if (ND_LIKELY(!(marks & ND_MARK_TRIMMED)))
		return ND_NDP_TRIM_NONE;
	return marks & ND_MARK_LAST_HOP ? ND_NDP_TRIM_LAST_HOP : ND_NDP_TRIM_FABRIC;
}

void nd_ndp_encode(const struct nd_packet *packet, uint32_t check_seed, uint32_t payload_check,
		   uint8_t *out)
{
	const struct nd_ndp_header *header = &packet->ndp;
	uint32_t first = ND_NDP_VERSION << 28 | (uint32_t)(packet->type & 15) << 24 |
			 (uint32_t)(packet->flags & 0x7f) << 16 |
			 (uint32_t)(packet->priority & 7) << (8 + ND_NDP_PRIORITY_SHIFT) |
			 trim_location(packet->marks) << (8 + ND_NDP_TRIM_SHIFT) | HEADER_WORDS;

	if (packet->marks & ND_MARK_BOUNCED)
		first |= ND_NDP_BOUNCED << 16;
	/* Wide stores: the check reads them back at once, 8 bytes a step. */
	nd_put_u64(out, (uint64_t)first << 32 | header->connection);
	nd_put_u32(out + 8, header->sequence);
	if (packet->type == ND_NDP_DATA)
		nd_put_u32(out + 12, (uint32_t)header->service << 16 | header->base);
	else
		nd_put_u32(out + 12, header->pull);
	nd_put_u64(out + 16, (uint64_t)header->message_bytes << 32 | header->offset);
	nd_put_u64(out + 24, (uint64_t)header->message << 48 | (uint64_t)packet->path << 32 |
				     (uint64_t)packet->payload_bytes << 16 | header->backlog);
	nd_put_u32(out + PAYLOAD_CHECK_AT, payload_check);
	nd_put_u32(out + HEADER_CHECK_AT, nd_crc32c_add(check_seed, out, HEADER_CHECK_AT));
}

/* What a header that passed its check may still get wrong. */
static enum nd_wire_error check_meaning(const struct nd_packet *packet)
{
	const struct nd_ndp_header *header = &packet->ndp;

	if (ND_UNLIKELY(packet->type < ND_NDP_DATA || packet->type > ND_NDP_CLOSE))
		return ND_WIRE_ndp_type;
	if (packet->type != ND_NDP_DATA)
		return ND_UNLIKELY(packet->payload_bytes) ? ND_WIRE_ndp_control_payload : ND_WIRE_OK;
	if (ND_UNLIKELY((uint64_t)header->offset + packet->payload_bytes > header->message_bytes))
		return ND_WIRE_ndp_message_end;
	return ND_WIRE_OK;
}

/* Marks and payload from what is left behind the header. */
static void take_payload(const uint8_t *in, uint32_t bytes, uint32_t header_bytes,
			 struct nd_packet *packet)
{
	enum nd_ndp_trim location = nd_ndp_trim_of(in);

	if (packet->type != ND_NDP_DATA) {
		packet->marks |= ND_MARK_CONTROL;
		return;
	}
	packet->rank = packet->ndp.message_bytes - packet->ndp.offset;
	if (ND_UNLIKELY(packet->flags & ND_NDP_FLAG_VOID && packet->payload_bytes == 0)) {
		packet->marks |= ND_MARK_CONTROL; /* nothing to trim, nothing to lose in a queue */
		return;
	}
	if (ND_UNLIKELY(location != ND_NDP_TRIM_NONE ||
			bytes - header_bytes < packet->payload_bytes)) {
		packet->marks |= ND_MARK_TRIMMED | ND_MARK_TRIMMABLE;
		if (location == ND_NDP_TRIM_LAST_HOP)
			packet->marks |= ND_MARK_LAST_HOP;
		return;
	}
	if (packet->payload_bytes)
		packet->payload = in + header_bytes;
}

/* What stands in the header, believed. */
static inline void take_fields(const uint8_t *in, struct nd_packet *packet)
{
	struct nd_ndp_header *header = &packet->ndp;

	packet->rank = 0;
	packet->payload_bytes = nd_get_u16(in + 28);
	packet->path = nd_get_u16(in + 26);
	packet->type = in[0] & 15;
	packet->flags = in[ND_NDP_FLAGS_AT] & 0x7f;
	packet->priority = in[ND_NDP_STATE_AT] >> ND_NDP_PRIORITY_SHIFT;
	if (ND_UNLIKELY(in[ND_NDP_FLAGS_AT] & ND_NDP_BOUNCED))
		packet->marks |= ND_MARK_BOUNCED;
	packet->payload = NULL;
	header->connection = nd_get_u32(in + 4);
	header->sequence = nd_get_u32(in + 8);
	header->message_bytes = nd_get_u32(in + 16);
	header->offset = nd_get_u32(in + 20);
	header->message = nd_get_u16(in + 24);
	header->backlog = nd_get_u16(in + 30);
	if (packet->type == ND_NDP_DATA) {
		header->service = nd_get_u16(in + 12);
		header->base = nd_get_u16(in + 14);
	} else {
		header->pull = nd_get_u32(in + 12);
	}
}

enum nd_wire_error nd_ndp_decode(const uint8_t *in, uint32_t bytes, uint32_t check_seed,
				 struct nd_packet *packet)
{
	uint32_t header_bytes;
	enum nd_wire_error error;

	if (ND_UNLIKELY(bytes < ND_NDP_HEADER_BYTES))
		return ND_WIRE_ndp_short;
	if (ND_UNLIKELY(in[0] >> 4 != ND_NDP_VERSION))
		return ND_WIRE_ndp_version;
	if (ND_UNLIKELY(nd_crc32c_add(check_seed, in, HEADER_CHECK_AT) !=
			nd_get_u32(in + HEADER_CHECK_AT)))
		return ND_WIRE_ndp_header_check;
	header_bytes = in[3] * 4u;
	if (ND_UNLIKELY(header_bytes < ND_NDP_HEADER_BYTES))
		return ND_WIRE_ndp_header_length;
	take_fields(in, packet);
	packet->header_bytes = (uint16_t)nd_min_u32(header_bytes, bytes);
	error = check_meaning(packet);
	if (error == ND_WIRE_OK)
		take_payload(in, bytes, packet->header_bytes, packet);
	return error;
}

bool nd_ndp_payload_holds(const uint8_t *in, const struct nd_packet *packet)
{
	return !packet->payload || nd_crc32c(packet->payload, packet->payload_bytes) ==
					   nd_get_u32(in + PAYLOAD_CHECK_AT);
}

void nd_ndp_patch(uint8_t *header, uint32_t at, uint8_t value)
{
	static const uint8_t zeros[HEADER_CHECK_AT];
	uint8_t difference[HEADER_CHECK_AT] = { 0 };
	uint32_t check = nd_get_u32(header + HEADER_CHECK_AT);

	nd_assert(at < HEADER_CHECK_AT);
	difference[at] = header[at] ^ value;
	header[at] = value;
	/* crc(a ^ b) = crc(a) ^ crc(b) ^ crc(0): what the other bytes are does not matter. */
	check ^= nd_crc32c(difference, sizeof(difference)) ^ nd_crc32c(zeros, sizeof(zeros));
	nd_put_u32(header + HEADER_CHECK_AT, check);
}
