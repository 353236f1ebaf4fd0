// SPDX-License-Identifier: Apache-2.0
/* Usual frames from packets. What calls other functions comes last, as a tail call. */
#include "wire/usual.h"

#ifdef __x86_64__

#include "wire/around.h"
#include "wire/homa_codec.h"
#include "wire/ndp_codec.h"

/* All but the checks. */
ND_VECTOR ND_INLINE void put_ndp_fields(const struct nd_packet *packet, uint8_t *header)
{
	const uint8_t *at = (const uint8_t *)packet;
	__m128i numbers = nd_vector_load(&packet->ndp); /* pull, sequence, offset, message_bytes */
	/* connection, backlog, message; payload_bytes, path, type, flags, priority */
	__m128i counts = nd_vector_load_halves(at + offsetof(struct nd_packet, ndp.connection),
					       at + offsetof(struct nd_packet, payload_bytes));

	numbers = _mm_shuffle_epi8(numbers, _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12,
							  11, 10, 9, 8));
	nd_vector_store(header + 8, numbers);
	counts = _mm_shuffle_epi8(counts, _mm_setr_epi8(12, 13, 14, -1, 3, 2, 1, 0, 7, 6, 11, 10, 9,
							8, 5, 4));
	counts = _mm_and_si128(counts, _mm_setr_epi32(0x00077f0f, -1, -1, -1));
	/* The priority is five bits up, beside a header of so many words and this version. */
	counts = _mm_mullo_epi16(counts, _mm_setr_epi16(1, 1 << ND_NDP_PRIORITY_SHIFT, 1, 1, 1, 1, 1, 1));
	counts = _mm_or_si128(counts, _mm_setr_epi32((int)htobe32(ND_NDP_FIRST_PLAIN), 0, 0, 0));
	nd_vector_store_halves(header, header + 24, counts);
}

/* Of a packet without payload. */
ND_VECTOR ND_INLINE void put_ndp_checks(uint32_t seed, uint8_t *header)
{
	uint64_t crc = nd_vector_crc_32(~seed, header);

	nd_put_u32(header + ND_NDP_PAYLOAD_CHECK_AT, 0);
	nd_put_u32(header + ND_NDP_HEADER_CHECK_AT, ~_mm_crc32_u32((uint32_t)crc, 0));
}

/* whole: with the payload; else the headers alone. */
ND_VECTOR ND_INLINE uint32_t encode_ndp(const struct nd_frame_template *template, bool v4,
					bool whole, const struct nd_packet *packet, uint8_t *out,
					uint32_t room)
{
	const uint8_t ip_bytes = v4 ? ND_IPV4_BYTES : ND_IPV6_BYTES;
	const struct nd_frame_shape shape = {
		.network_at = ND_ETH_BYTES,
		.transport_at = (uint8_t)(ND_ETH_BYTES + ip_bytes),
		.message_at = (uint8_t)(ND_ETH_BYTES + ip_bytes + ND_UDP_BYTES),
		.v4 = v4,
		.udp = true,
	};
	const struct nd_frame_around *around = &template->ndp;
	uint32_t payload = packet->payload_bytes;
	uint32_t bytes = shape.message_at + ND_NDP_HEADER_BYTES + payload;
	uint8_t *header = out + shape.message_at;

	if (ND_UNLIKELY(packet->marks & (ND_MARK_TRIMMED | ND_MARK_BOUNCED) || bytes > room ||
			bytes > around->bytes_max || packet->path >= around->port_count ||
			(!whole && (!packet->payload || !payload))))
		return whole ? nd_any_encode(template, packet, out, room) :
			       nd_any_encode_headers(template, packet, out, room);
	nd_around_put(around, &shape, nd_around_ndp_class(around, packet),
		      (uint16_t)(around->port_first + packet->path), bytes, out);
	put_ndp_fields(packet, header);
	if (!whole)
		return nd_any_end_ndp_headers(around, packet, out);
	if (payload)
		return nd_any_end_ndp(around, packet, out);
	put_ndp_checks(v4 ? 0 : around->check_seed, header);
	return bytes;
}

ND_VECTOR uint32_t nd_usual_encode_ndp4(const struct nd_frame_template *template,
					const struct nd_packet *packet, uint8_t *out, uint32_t room)
{
	return encode_ndp(template, true, true, packet, out, room);
}

ND_VECTOR uint32_t nd_usual_encode_ndp6(const struct nd_frame_template *template,
					const struct nd_packet *packet, uint8_t *out, uint32_t room)
{
	return encode_ndp(template, false, true, packet, out, room);
}

ND_VECTOR uint32_t nd_usual_encode_headers_ndp4(const struct nd_frame_template *template,
						const struct nd_packet *packet, uint8_t *out,
						uint32_t room)
{
	return encode_ndp(template, true, false, packet, out, room);
}

ND_VECTOR uint32_t nd_usual_encode_headers_ndp6(const struct nd_frame_template *template,
						const struct nd_packet *packet, uint8_t *out,
						uint32_t room)
{
	return encode_ndp(template, false, false, packet, out, room);
}

/* ---- Homa ---- */

ND_VECTOR ND_INLINE void put_homa_fields(const struct nd_packet *packet, uint8_t *header)
{
	const struct nd_homa_header *homa = &packet->homa;
	const uint8_t *at = (const uint8_t *)homa;
	__m128i id = nd_vector_load(at); /* sender_id, message_bytes, length */
	/* ... and ports, speaker, note; of the ack id, port, with cutoff_version and retransmit */
	__m128i kind = nd_vector_load(at + offsetof(struct nd_homa_header, offset));
	__m128i ack = nd_vector_load_halves(homa->ack_ids,
					    at + offsetof(struct nd_homa_header, retransmit));

	kind = _mm_shuffle_epi8(kind, _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 8, 9, -1, -1, -1, -1, -1,
						    -1));
	kind = _mm_or_si128(kind, _mm_setr_epi32(0, 0, ND_HOMA_DATA << 24,
						 (int)htobe32(ND_HOMA_SHAPE_DATA >> 32)));
	id = _mm_shuffle_epi8(id, _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 11, 10, 9, 8, 15, 14, 13,
						12));
	ack = _mm_shuffle_epi8(ack, _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 11, 10, 8, -1, -1,
						  -1));
	if (homa->ack_count == 0)
		ack = _mm_and_si128(ack, _mm_setr_epi32(0, 0, (int)0xffff0000, -1));
	nd_vector_store(header, kind);
	nd_put_u32(header + ND_HOMA_CHECKSUM_AT, (uint32_t)ND_HOMA_SHAPE_DATA);
	nd_vector_store(header + ND_HOMA_SENDER_ID_AT, id);
	nd_vector_store(header + ND_HOMA_ACK_ID_AT, ack);
	nd_put_u32(header + ND_HOMA_OFFSET_AT, homa->offset);
}

ND_VECTOR uint32_t nd_usual_encode_homa4(const struct nd_frame_template *template,
					 const struct nd_packet *packet, uint8_t *out,
					 uint32_t room)
{
	static const struct nd_frame_shape shape = {
		.network_at = ND_ETH_BYTES,
		.transport_at = ND_ETH_BYTES + ND_IPV4_BYTES,
		.message_at = ND_ETH_BYTES + ND_IPV4_BYTES,
		.v4 = true,
	};
	const struct nd_frame_around *around = &template->homa;
	uint32_t bytes = ND_USUAL_HOMA4_BYTES + packet->payload_bytes;

	if (ND_UNLIKELY(packet->type != ND_HOMA_DATA || packet->protocol != ND_PROTO_HOMA ||
			packet->marks & ND_MARK_TRIMMED || bytes > room ||
			bytes > around->bytes_max))
		return nd_any_encode(template, packet, out, room);
	nd_around_put(around, &shape, nd_around_homa_class(around, packet), 0, bytes, out);
	put_homa_fields(packet, out + shape.message_at);
	if (packet->payload_bytes || around->checksum)
		return nd_any_end_homa(around, packet, out, bytes);
	return bytes;
}

#endif
