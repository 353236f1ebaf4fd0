// SPDX-License-Identifier: Apache-2.0
/* The NDP header to and from bytes, and its self-validation. */
#include "wire/ndp.h"

#include "base/crc32c.h"
#include "wire/ip.h"
#include "wire/ndp_codec.h"
#include "wire/vector.h"

/* ---- checks ---- */

uint32_t nd_ndp_check_seed(const uint8_t addresses[32])
{
	uint64_t ends = nd_ip_ends(addresses, 6);

	return nd_crc32c(&ends, sizeof(ends));
}

/* nd_crc32c_add() over what the header's check covers, which every packet needs: without a loop. */
static uint32_t header_check(uint32_t check_seed, const uint8_t *header)
{
#ifdef __x86_64__
	if (ND_LIKELY(ND_VECTOR_CPU))
		return ~nd_vector_crc_half(nd_vector_crc_32(~check_seed, header),
					   header + ND_NDP_PAYLOAD_CHECK_AT);
#endif
	return nd_crc32c_add(check_seed, header, ND_NDP_HEADER_CHECK_AT);
}

void nd_ndp_put_checks(uint32_t check_seed, uint32_t payload_check, uint8_t *out)
{
	nd_put_u32(out + ND_NDP_PAYLOAD_CHECK_AT, payload_check);
	nd_put_u32(out + ND_NDP_HEADER_CHECK_AT, header_check(check_seed, out));
}

/* ---- packet to bytes ---- */

/* Bits of the first word for what has happened to a packet on its way. */
static uint32_t put_fate(uint32_t marks)
{
	uint32_t trim = !(marks & ND_MARK_TRIMMED)  ? ND_NDP_TRIM_NONE :
			marks & ND_MARK_LAST_HOP ? ND_NDP_TRIM_LAST_HOP :
						   ND_NDP_TRIM_FABRIC;

	return (marks & ND_MARK_BOUNCED ? ND_NDP_FIRST_BOUNCED : 0) |
	       trim << (ND_NDP_STATE_SHIFT + ND_NDP_TRIM_SHIFT);
}

/* All but the checks. */
static void put_fields(const struct nd_packet *packet, uint8_t *out)
{
	const struct nd_ndp_header *header = &packet->ndp;
	uint32_t first = ND_NDP_FIRST_PLAIN |
			 (uint32_t)(packet->type & 15) << ND_NDP_TYPE_SHIFT |
			 (uint32_t)(packet->flags & 0x7f) << ND_NDP_FLAGS_SHIFT |
			 (uint32_t)(packet->priority & 7)
				 << (ND_NDP_STATE_SHIFT + ND_NDP_PRIORITY_SHIFT);

	if (ND_UNLIKELY(packet->marks & (ND_MARK_TRIMMED | ND_MARK_BOUNCED)))
		first |= put_fate(packet->marks);
	nd_put_u64(out, (uint64_t)first << 32 | header->connection);
	nd_put_u64(out + 8, (uint64_t)header->sequence << 32 | header->pull);
	nd_put_u64(out + 16, (uint64_t)header->message_bytes << 32 | header->offset);
	nd_put_u64(out + 24, (uint64_t)header->message << 48 | (uint64_t)packet->path << 32 |
				     (uint64_t)packet->payload_bytes << 16 | header->backlog);
}

void nd_ndp_encode(const struct nd_packet *packet, uint32_t check_seed, uint32_t payload_check,
		   uint8_t *out)
{
	put_fields(packet, out);
	nd_ndp_put_checks(check_seed, payload_check, out);
}

/* ---- bytes to packet ---- */

/* What stands in a header of this first word, believed. */
static void take_fields(const uint8_t *in, uint64_t word, struct nd_packet *packet)
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
static uint8_t take_trim(uint32_t location)
{
	return ND_MARK_TRIMMED | ND_MARK_TRIMMABLE |
	       (location == ND_NDP_TRIM_LAST_HOP ? ND_MARK_LAST_HOP : 0);
}

/* Rank, marks and payload of DATA, from what is left behind its header. */
static enum nd_wire_error take_data(const uint8_t *in, uint32_t bytes,
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
			packet->marks |= take_trim(location);
		return ND_WIRE_OK;
	}
	if (ND_UNLIKELY(location != ND_NDP_TRIM_NONE || bytes - header_bytes < payload))
		packet->marks |= take_trim(location);
	else
		packet->payload = in + header_bytes;
	return ND_WIRE_OK;
}

/* The rest of nd_ndp_decode(), once the check holds: word is the first of the header. */
static enum nd_wire_error take_rest(const uint8_t *in, uint32_t bytes, uint64_t word,
					      uint32_t header_bytes, uint32_t location,
					      struct nd_packet *packet)
{
	packet->header_bytes = (uint16_t)header_bytes;
	take_fields(in, word, packet);
	if (ND_LIKELY(packet->type == ND_NDP_DATA))
		return take_data(in, bytes, header_bytes, location, packet);
	packet->rank = 0;
	packet->payload = NULL;
	if (ND_UNLIKELY(packet->type < ND_NDP_DATA || packet->type > ND_NDP_CLOSE))
		return ND_WIRE_ndp_type;
	packet->marks |= ND_MARK_CONTROL;
	return ND_UNLIKELY(packet->payload_bytes) ? ND_WIRE_ndp_control_payload : ND_WIRE_OK;
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
	if (header_check(check_seed, in) != nd_get_u32(in + ND_NDP_HEADER_CHECK_AT))
		return ND_WIRE_ndp_header_check;
	header_bytes = (first & 0xff) * 4;
	if (header_bytes < ND_NDP_HEADER_BYTES)
		return ND_WIRE_ndp_header_length;
	if (first & ND_NDP_FIRST_BOUNCED)
		packet->marks |= ND_MARK_BOUNCED;
	return take_rest(in, bytes, word, nd_min_u32(header_bytes, bytes),
				nd_ndp_trim_of(in), packet);
}

bool nd_ndp_payload_holds(const uint8_t *in, const struct nd_packet *packet)
{
	return !packet->payload || nd_crc32c(packet->payload, packet->payload_bytes) ==
					   nd_get_u32(in + ND_NDP_PAYLOAD_CHECK_AT);
}

void nd_ndp_patch(uint8_t *header, uint32_t at, uint8_t value)
{
	uint8_t difference[ND_NDP_HEADER_CHECK_AT] = { 0 };
	uint32_t check = nd_get_u32(header + ND_NDP_HEADER_CHECK_AT);

	nd_assert(at < ND_NDP_HEADER_CHECK_AT);
	difference[at] = header[at] ^ value;
	header[at] = value;
	/*
	 * What a difference adds does not depend on the other bytes: it is what a register of zeros
	 * makes of it. That is how the function has what it takes and gives complemented.
	 */
	check ^= ~nd_crc32c_add(UINT32_MAX, difference, sizeof(difference));
	nd_put_u32(header + ND_NDP_HEADER_CHECK_AT, check);
}
