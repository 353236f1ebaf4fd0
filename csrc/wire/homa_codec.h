/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Homa's common and DATA header to and from bytes, to be inlined into whole frames' codec; control
 * packets are a call away. Fields move in words of 8 bytes, see docs/protocol-homa.md.
 */
#ifndef ND_WIRE_HOMA_CODEC_H
#define ND_WIRE_HOMA_CODEC_H

#include "wire/bytes.h"
#include "wire/packet.h"

/* The common header; it is shaped like TCP's. */
#define ND_HOMA_SEQUENCE_AT 4u
#define ND_HOMA_SPEAKER_AT 8u
#define ND_HOMA_SHAPE_AT 12u
#define ND_HOMA_CHECKSUM_AT 16u
#define ND_HOMA_SENDER_ID_AT 20u

/* Bytes 12 to 19: header length, SYN and RST, window, checksum, urgent pointer. */
#define ND_HOMA_SHAPE_DATA UINT64_C(0xe00600000000b97d)
#define ND_HOMA_SHAPE_CONTROL UINT64_C(0x500600000000b97d)

/* DATA */
#define ND_HOMA_MESSAGE_BYTES_AT 28u
#define ND_HOMA_ACK_ID_AT 36u
#define ND_HOMA_ACK_PORT_AT 44u
#define ND_HOMA_RETRANSMIT_AT 48u
#define ND_HOMA_OFFSET_IN_SEQUENCE UINT32_MAX

/* All types but DATA; what takes them begins behind the common header. */
void nd_homa_put_control(const struct nd_packet *packet, uint8_t *out);
enum nd_wire_error nd_homa_take_control(const uint8_t *in, uint32_t bytes,
					struct nd_packet *packet);

ND_INLINE void nd_homa_put_common(const struct nd_packet *packet, uint32_t sequence,
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
ND_INLINE void nd_homa_put_data(const struct nd_packet *packet, uint8_t *out)
{
	const struct nd_homa_header *header = &packet->homa;
	uint64_t id = 0;
	uint32_t port = 0;

	if (header->ack_count) {
		id = header->ack_ids[0];
		port = header->ack_ports[0];
	}
	/* Before the second field for the offset existed, the sequence was all there was. */
	nd_homa_put_common(packet, header->offset, ND_HOMA_SHAPE_DATA, out);
	nd_put_u64(out + ND_HOMA_MESSAGE_BYTES_AT,
		   (uint64_t)header->message_bytes << 32 | header->length);
	nd_put_u64(out + ND_HOMA_ACK_ID_AT, id);
	nd_put_u32(out + ND_HOMA_ACK_PORT_AT, port << 16 | header->cutoff_version);
	nd_put_u64(out + ND_HOMA_RETRANSMIT_AT,
		   (uint64_t)header->retransmit << 56 | header->offset);
}

ND_INLINE enum nd_wire_error nd_homa_take_data(const uint8_t *in, uint32_t bytes,
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

/* nd_homa_decode() */
ND_INLINE enum nd_wire_error nd_homa_take(const uint8_t *in, uint32_t bytes,
					  struct nd_packet *packet)
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
	packet->homa = (struct nd_homa_header){
		.sender_id = nd_get_u64(in + ND_HOMA_SENDER_ID_AT),
		.source_port = (uint16_t)(ports >> 48),
		.target_port = (uint16_t)(ports >> 32),
		.speaker = (uint8_t)(kind >> 24),
		.note = (uint8_t)(kind >> 16),
	};
	if (ND_LIKELY(packet->type == ND_HOMA_DATA))
		return nd_homa_take_data(in, bytes, (uint32_t)ports, packet);
	return nd_homa_take_control(in, bytes, packet);
}

#endif
