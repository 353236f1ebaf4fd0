// SPDX-License-Identifier: Apache-2.0
/* Homa's headers to and from bytes, as HomaModule has them: see docs/protocol-homa.md. */
#include "wire/homa.h"

#include "wire/bytes.h"
#include "wire/checksum.h"
#include "wire/homa_codec.h"

#define PROTOCOL_TCP 6

/* GRANT, RESEND */
#define AT_OFFSET 28u
#define AT_GRANT_PRIORITY 32u
#define AT_RESEND_LENGTH 32u
#define AT_RESEND_PRIORITY 36u
#define RESEND_BYTES_SHORT 36u /* from kernels without priorities */

/* CUTOFFS, ACK */
#define AT_CUTOFFS 28u
#define AT_CUTOFF_VERSION 60u
#define AT_ACK_COUNT 28u
#define AT_ACKS 30u
#define ACK_BYTES 10u

/* Written, and required on arrival; the latter is less where older dialects are shorter. */
static const struct {
	uint8_t sent;
	uint8_t least;
} sizes[] = {
	[ND_HOMA_DATA - ND_HOMA_DATA] = { ND_HOMA_DATA_BYTES, ND_HOMA_DATA_BYTES },
	/* 33 today; the 34th byte is what kernels up to 6.10 insist on. */
	[ND_HOMA_GRANT - ND_HOMA_DATA] = { 34, 33 },
	[ND_HOMA_RESEND - ND_HOMA_DATA] = { 37, RESEND_BYTES_SHORT },
	[ND_HOMA_RPC_UNKNOWN - ND_HOMA_DATA] = { ND_HOMA_COMMON_BYTES, ND_HOMA_COMMON_BYTES },
	[ND_HOMA_BUSY - ND_HOMA_DATA] = { ND_HOMA_COMMON_BYTES, ND_HOMA_COMMON_BYTES },
	[ND_HOMA_CUTOFFS - ND_HOMA_DATA] = { 62, 62 },
	[ND_HOMA_FREEZE - ND_HOMA_DATA] = { ND_HOMA_COMMON_BYTES, ND_HOMA_COMMON_BYTES },
	[ND_HOMA_NEED_ACK - ND_HOMA_DATA] = { ND_HOMA_COMMON_BYTES, ND_HOMA_COMMON_BYTES },
	[ND_HOMA_ACK - ND_HOMA_DATA] = { 80, 80 },
};

uint32_t nd_homa_header_bytes(uint8_t type)
{
	uint32_t index = (uint32_t)type - ND_HOMA_DATA;

	return index < ND_ARRAY_SIZE(sizes) ? sizes[index].sent : 0;
}

static void put_common(const struct nd_packet *packet, uint32_t sequence,
				  uint64_t shape, uint8_t *out)
{
	const struct nd_homa_header *header = &packet->homa;

	nd_put_u64(out, (uint64_t)header->source_port << 48 |
				(uint64_t)header->target_port << 32 | sequence);
	nd_put_u32(out + ND_HOMA_SPEAKER_AT, (uint32_t)header->speaker << 24 |
						     (uint32_t)header->note << 16 | packet->type);
	nd_put_u64(out + ND_HOMA_SHAPE_AT, shape);
	nd_put_u64(out + ND_HOMA_SENDER_ID_AT, header->sender_id);
}

/* nd_homa_encode() of DATA */
static void put_data(const struct nd_packet *packet, uint8_t *out)
{
	const struct nd_homa_header *header = &packet->homa;
	uint64_t id = 0;
	uint32_t port = 0;

	if (header->ack_count) {
		id = header->ack_ids[0];
		port = header->ack_ports[0];
	}
	/* Before the second field for the offset existed, the sequence was all there was. */
	put_common(packet, header->offset, ND_HOMA_SHAPE_DATA, out);
	nd_put_u64(out + ND_HOMA_MESSAGE_BYTES_AT,
		   (uint64_t)header->message_bytes << 32 | header->length);
	nd_put_u64(out + ND_HOMA_ACK_ID_AT, id);
	nd_put_u32(out + ND_HOMA_ACK_PORT_AT, port << 16 | header->cutoff_version);
	nd_put_u64(out + ND_HOMA_RETRANSMIT_AT,
		   (uint64_t)header->retransmit << 56 | header->offset);
}

static void encode_acks(const struct nd_homa_header *header, uint8_t *out)
{
	uint32_t count = nd_min_u32(header->ack_count, ND_HOMA_ACKS_MAX);

	memset(out + AT_ACK_COUNT, 0, sizes[ND_HOMA_ACK - ND_HOMA_DATA].sent - AT_ACK_COUNT);
	nd_put_u16(out + AT_ACK_COUNT, (uint16_t)count);
	for (uint32_t i = 0; i < count; i++) {
		nd_put_u64(out + AT_ACKS + i * ACK_BYTES, header->ack_ids[i]);
		nd_put_u16(out + AT_ACKS + i * ACK_BYTES + 8, header->ack_ports[i]);
	}
}

static void encode_cutoffs(const struct nd_homa_header *header, uint8_t *out)
{
	for (uint32_t i = 0; i < ND_HOMA_PRIORITIES; i++)
		nd_put_u32(out + AT_CUTOFFS + i * 4, header->cutoffs[i]);
	nd_put_u16(out + AT_CUTOFF_VERSION, header->cutoff_version);
}

static void put_control(const struct nd_packet *packet, uint8_t *out)
{
	const struct nd_homa_header *header = &packet->homa;

	put_common(packet, 0, ND_HOMA_SHAPE_CONTROL, out);
	switch (packet->type) {
	case ND_HOMA_GRANT:
		nd_put_u32(out + AT_OFFSET, header->offset);
		nd_put_u16(out + AT_GRANT_PRIORITY, (uint16_t)(header->level << 8));
		break;
	case ND_HOMA_RESEND:
		nd_put_u32(out + AT_OFFSET, header->offset);
		nd_put_u32(out + AT_RESEND_LENGTH, header->length);
		out[AT_RESEND_PRIORITY] = header->level;
		break;
	case ND_HOMA_CUTOFFS:
		encode_cutoffs(header, out);
		break;
	case ND_HOMA_ACK:
		encode_acks(header, out);
		break;
	default:
		break;
	}
}

uint32_t nd_homa_encode(const struct nd_packet *packet, uint8_t *out)
{
	if (packet->type == ND_HOMA_DATA)
		put_data(packet, out);
	else
		put_control(packet, out);
	return nd_homa_header_bytes(packet->type);
}

static enum nd_wire_error decode_acks(const uint8_t *in, struct nd_homa_header *header)
{
	header->ack_count = nd_get_u16(in + AT_ACK_COUNT);
	if (header->ack_count > ND_HOMA_ACKS_MAX)
		return ND_WIRE_homa_acks;
	for (uint32_t i = 0; i < header->ack_count; i++) {
		header->ack_ids[i] = nd_get_u64(in + AT_ACKS + i * ACK_BYTES);
		header->ack_ports[i] = nd_get_u16(in + AT_ACKS + i * ACK_BYTES + 8);
	}
	return ND_WIRE_OK;
}

static void decode_cutoffs(const uint8_t *in, struct nd_homa_header *header)
{
	for (uint32_t i = 0; i < ND_HOMA_PRIORITIES; i++)
		header->cutoffs[i] = nd_get_u32(in + AT_CUTOFFS + i * 4);
	header->cutoff_version = nd_get_u16(in + AT_CUTOFF_VERSION);
}

static enum nd_wire_error take_control(const uint8_t *in, uint32_t bytes,
					struct nd_packet *packet)
{
	struct nd_homa_header *header = &packet->homa;
	uint32_t index = (uint32_t)packet->type - ND_HOMA_DATA;

	if (ND_UNLIKELY(index >= ND_ARRAY_SIZE(sizes)))
		return ND_WIRE_homa_type;
	if (ND_UNLIKELY(bytes < sizes[index].least))
		return ND_WIRE_homa_short;
	packet->marks |= ND_MARK_CONTROL;
	switch (packet->type) {
	case ND_HOMA_GRANT:
		header->offset = nd_get_u32(in + AT_OFFSET);
		header->level = in[AT_GRANT_PRIORITY];
		break;
	case ND_HOMA_RESEND:
		header->offset = nd_get_u32(in + AT_OFFSET);
		header->length = nd_get_u32(in + AT_RESEND_LENGTH);
		header->level = bytes > RESEND_BYTES_SHORT ? in[AT_RESEND_PRIORITY] :
							     ND_HOMA_PRIORITIES - 1;
		break;
	case ND_HOMA_CUTOFFS:
		decode_cutoffs(in, header);
		break;
	case ND_HOMA_ACK:
		return decode_acks(in, header);
	default:
		break;
	}
	return ND_WIRE_OK;
}

static enum nd_wire_error take_data(const uint8_t *in, uint32_t bytes,
					       uint32_t sequence, struct nd_packet *packet)
{
	struct nd_homa_header *header = &packet->homa;
	uint32_t offset, ack, payload = bytes - ND_HOMA_DATA_BYTES;
	uint64_t lengths, last;
	int64_t left;

	if (ND_UNLIKELY(bytes < ND_HOMA_DATA_BYTES))
		return ND_WIRE_homa_short;
	lengths = nd_get_u64(in + ND_HOMA_MESSAGE_BYTES_AT);
	last = nd_get_u64(in + ND_HOMA_RETRANSMIT_AT);
	ack = nd_get_u32(in + ND_HOMA_ACK_PORT_AT);
	offset = (uint32_t)last;
	if (ND_UNLIKELY(offset == ND_HOMA_OFFSET_IN_SEQUENCE))
		offset = sequence;
	left = (int64_t)(lengths >> 32) - offset;
	if (ND_UNLIKELY(left < (int64_t)payload))
		return ND_WIRE_homa_message_end;
	header->message_bytes = (uint32_t)(lengths >> 32);
	header->length = (uint32_t)lengths;
	header->ack_ids[0] = nd_get_u64(in + ND_HOMA_ACK_ID_AT);
	header->ack_ports[0] = (uint16_t)(ack >> 16);
	header->ack_count = header->ack_ids[0] != 0;
	header->cutoff_version = (uint16_t)ack;
	header->retransmit = (uint8_t)(last >> 56);
	header->offset = offset;
	packet->rank = (uint32_t)left;
	packet->payload_bytes = (uint16_t)payload;
	if (payload)
		packet->payload = in + ND_HOMA_DATA_BYTES;
	return ND_WIRE_OK;
}

enum nd_wire_error nd_homa_decode(const uint8_t *in, uint32_t bytes, struct nd_packet *packet)
{
	uint64_t ports;
	uint32_t kind;

	if (ND_UNLIKELY(bytes < ND_HOMA_COMMON_BYTES))
		return ND_WIRE_homa_short;
	ports = nd_get_u64(in);
	kind = nd_get_u32(in + ND_HOMA_SPEAKER_AT);
	packet->type = (uint8_t)kind;
	packet->flags = 0;
	packet->rank = 0;
	packet->path = 0;
	packet->payload_bytes = 0;
	packet->payload = NULL;
	packet->header_bytes = (uint16_t)bytes;
	nd_packet_zero(&packet->homa, sizeof(packet->homa));
	packet->homa.sender_id = nd_get_u64(in + ND_HOMA_SENDER_ID_AT);
	packet->homa.source_port = (uint16_t)(ports >> 48);
	packet->homa.target_port = (uint16_t)(ports >> 32);
	packet->homa.speaker = (uint8_t)(kind >> 24);
	packet->homa.note = (uint8_t)(kind >> 16);
	if (ND_LIKELY(packet->type == ND_HOMA_DATA))
		return take_data(in, bytes, (uint32_t)ports, packet);
	return take_control(in, bytes, packet);
}

void nd_homa_fill_checksum(uint8_t *packet, uint32_t bytes, const uint8_t *addresses,
			   uint32_t address_bytes)
{
	uint64_t sum = nd_checksum_pseudo(addresses, address_bytes, PROTOCOL_TCP, bytes);
	uint16_t checksum = (uint16_t)~nd_checksum_fold(nd_checksum_add(sum, packet, bytes));

	/* 0xffff counts the same as 0, which means "not filled in". */
	if (checksum == 0)
		checksum = UINT16_MAX;
	memcpy(packet + ND_HOMA_CHECKSUM_AT, &checksum, sizeof(checksum));
}

bool nd_homa_checksum_holds(const uint8_t *packet, uint32_t bytes, const uint8_t *addresses,
			    uint32_t address_bytes)
{
	uint64_t sum = nd_checksum_pseudo(addresses, address_bytes, PROTOCOL_TCP, bytes);

	return nd_get_u16(packet + ND_HOMA_CHECKSUM_AT) == 0 ||
	       nd_checksum_fold(nd_checksum_add(sum, packet, bytes)) == UINT16_MAX;
}
