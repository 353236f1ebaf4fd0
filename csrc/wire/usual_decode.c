// SPDX-License-Identifier: Apache-2.0
/*
 * Usual frames to packets.
 *
 * DESIGN NOTES
 * 1. Fields are stored in runs of 8 and 16 bytes. What a run covers beside what it is for is stored
 *    after it.
 * 2. What was stored before an oddity is found does no harm: the code for any frame stores
 *    everything again.
 */
#include "wire/usual.h"

#ifdef __x86_64__

#include "wire/homa_codec.h"
#include "wire/ndp_codec.h"

/* ---- what surrounds a message ---- */

/* Bytes 12 to 27 of a frame: Ethernet's type, IP's version, fragment and protocol. */
ND_VECTOR ND_INLINE bool begins(const uint8_t *in, __m128i with, __m128i where)
{
	return _mm_testz_si128(_mm_xor_si128(nd_vector_load(in + ND_ETH_TYPE_AT), with), where);
}

ND_VECTOR ND_INLINE bool begins_ipv4(const uint8_t *in, int protocol)
{
	return begins(in,
		      _mm_setr_epi8(0x08, 0, 0x45, 0, 0, 0, 0, 0, 0, 0, 0, (char)protocol, 0, 0, 0, 0),
		      _mm_setr_epi8(-1, -1, -1, 0, 0, 0, 0, 0, 0x3f, -1, 0, -1, 0, 0, 0, 0));
}

ND_VECTOR ND_INLINE bool begins_ipv6(const uint8_t *in, int protocol)
{
	return begins(in,
		      _mm_setr_epi8((char)0x86, (char)0xdd, 0x60, 0, 0, 0, 0, 0, (char)protocol, 0,
				    0, 0, 0, 0, 0, 0),
		      _mm_setr_epi8(-1, -1, (char)0xf0, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0));
}

/* nd_ipv4_checksum_holds(), with the carries handed on. */
ND_INLINE bool ipv4_checksum_holds(const uint8_t *ip)
{
	uint64_t sum;
	uint32_t target;

	memcpy(&target, ip + 16, sizeof(target));
	sum = target;
	__asm__("addq %1, %0\n\tadcq %2, %0\n\tadcq $0, %0"
		: "+r"(sum)
		: "m"(*(const uint8_t(*)[8])ip), "m"(*(const uint8_t(*)[8])(ip + 8))
		: "cc");
	return sum % UINT16_MAX == 0;
}

ND_INLINE bool is_to_group(const uint8_t *in, uint8_t version)
{
	return nd_eth_is_group(in) ||
	       nd_ip_is_group(version, nd_ip_target(in + ND_ETH_BYTES, version));
}

/* Big-endian integers have these values: turning what is expected spares fetching what is there. */
ND_INLINE bool is_u16(const uint8_t *at, uint32_t value)
{
	uint16_t there;

	memcpy(&there, at, sizeof(there));
	return there == htobe16((uint16_t)value);
}

ND_INLINE bool is_u32(const uint8_t *at, uint32_t value)
{
	uint32_t there;

	memcpy(&there, at, sizeof(there));
	return there == htobe32(value);
}

/* Of a traffic class without ECN; with it, more than a code point can be. */
ND_INLINE uint8_t code_point(uint8_t class)
{
	return (uint8_t)(class >> ND_IP_DSCP_SHIFT | class << (8 - ND_IP_DSCP_SHIFT));
}

/* Handles and sizes: bytes of the frame, and of what trimming leaves. */
ND_VECTOR ND_INLINE void take_sizes(const struct nd_frame_config *config, uint32_t bytes,
				    uint32_t least, struct nd_packet *packet)
{
	nd_vector_store(packet, _mm_set1_epi32(-1)); /* no next, source, target; rank follows */
	packet->wire_bytes = (uint16_t)(bytes + config->framing_bytes);
	packet->header_bytes = (uint16_t)(least + config->framing_bytes);
}

/* Puts an IPv4 address into a mapped one. */
ND_VECTOR ND_INLINE __m128i map(__m128i mapped, const uint8_t *address)
{
	int32_t word;

	memcpy(&word, address, sizeof(word));
	return _mm_insert_epi32(mapped, word, 3);
}

ND_VECTOR ND_INLINE void take_peer(const uint8_t *in, bool v4, struct nd_frame_peer *peer)
{
	const uint8_t *ip = in + ND_ETH_BYTES;

	nd_vector_store(peer, nd_vector_load(in)); /* both MAC addresses; source follows */
	if (v4) {
		__m128i mapped = map(_mm_setr_epi32(0, 0, (int)0xffff0000, 0),
				     ip + ND_IPV4_ADDRESSES_AT);

		nd_vector_store(peer->source, mapped);
		nd_vector_store(peer->target, map(mapped, ip + ND_IPV4_ADDRESSES_AT + 4));
	} else {
		nd_vector_store(peer->source, nd_vector_load(ip + ND_IPV6_ADDRESSES_AT));
		nd_vector_store(peer->target, nd_vector_load(ip + ND_IPV6_ADDRESSES_AT + 16));
	}
	peer->vlan = ND_ETH_VLAN_NONE;
}

/* ---- NDP ---- */

/* IP and UDP say what the frame's length does: so much payload, to our port. */
ND_INLINE bool ndp_lengths_agree(const struct nd_frame_config *config, const uint8_t *ip, bool v4,
				 uint32_t payload)
{
	const uint8_t *udp = ip + (v4 ? ND_IPV4_BYTES : ND_IPV6_BYTES);
	uint32_t length = payload + ND_NDP_HEADER_BYTES + ND_UDP_BYTES;

	if (!is_u32(udp + ND_UDP_TARGET_PORT_AT, ((uint32_t)config->ndp_port << 16) + length))
		return false;
	if (v4)
		return is_u16(ip + ND_IPV4_LENGTH_AT, length + ND_IPV4_BYTES);
	return memcmp(ip + ND_IPV6_LENGTH_AT, udp + ND_UDP_LENGTH_AT, sizeof(uint16_t)) == 0;
}

ND_VECTOR ND_INLINE bool ndp_check_holds(const uint8_t *header, uint64_t crc)
{
	crc = nd_vector_crc_32(crc, header);
	return is_u32(header + ND_NDP_HEADER_CHECK_AT,
		      ~nd_vector_crc_half(crc, header + ND_NDP_PAYLOAD_CHECK_AT));
}

/* In memory order; xor with it leaves type, flags and the priority's bits of a plain first word. */
#define PLAIN htobe32(ND_NDP_FIRST_PLAIN)
#define ODD htobe32(ND_NDP_FIRST_ODD)
#define PLAIN_PRIORITY_SHIFT 21

/* All but the checks; returns payload_bytes. */
ND_VECTOR ND_INLINE uint32_t take_ndp_fields(const uint8_t *header, uint32_t plain,
					     struct nd_packet *packet)
{
	uint8_t *at = (uint8_t *)packet;
	__m128i numbers = nd_vector_load(header + 8);
	__m128i counts = nd_vector_load_halves(header, header + 24);

	numbers = _mm_shuffle_epi8(numbers, _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12,
							  11, 10, 9, 8));
	counts = _mm_shuffle_epi8(counts, _mm_setr_epi8(7, 6, 5, 4, 15, 14, 9, 8, 13, 12, 11, 10,
							-1, -1, -1, -1));
	nd_vector_store(&packet->ndp, numbers); /* pull, sequence, offset, message_bytes */
	nd_vector_store_halves(at + offsetof(struct nd_packet, ndp.connection),
			       at + offsetof(struct nd_packet, payload_bytes), counts);
	memcpy(at + offsetof(struct nd_packet, type), &plain, sizeof(plain)); /* flags, spare */
	packet->priority = (uint8_t)(plain >> PLAIN_PRIORITY_SHIFT);
	return (uint16_t)_mm_extract_epi16(counts, 4);
}

/* What type decides of DATA; false when it ends beyond its message. */
ND_INLINE bool take_ndp_data(const struct nd_frame_config *config, const uint8_t *ip, bool v4,
			     const uint8_t *payload, uint32_t bytes, struct nd_packet *packet)
{
	uint8_t code;

	packet->protocol = ND_PROTO_NDP;
	packet->marks = ND_MARK_TRIMMABLE;
	code = code_point(nd_ip_class(ip, v4 ? 4 : 6));
	if (ND_UNLIKELY(code != config->dscp_trimmable)) {
		if (code > ND_FRAME_DSCP_MAX)
			return false;
		packet->marks = 0;
	}
	if (ND_UNLIKELY(packet->ndp.message_bytes < packet->ndp.offset))
		return false;
	packet->rank = packet->ndp.message_bytes - packet->ndp.offset;
	if (ND_UNLIKELY(packet->rank < bytes))
		return false;
	packet->payload = payload;
	if (bytes == 0) {
		packet->payload = NULL;
		if (ND_UNLIKELY(packet->flags & ND_NDP_FLAG_VOID))
			packet->marks |= ND_MARK_CONTROL;
	}
	return true;
}

/* The same of other types; false when there is no such type or it has payload. */
ND_INLINE bool take_ndp_control(const uint8_t *ip, bool v4, uint32_t bytes,
				struct nd_packet *packet)
{
	if (ND_UNLIKELY(packet->type < ND_NDP_ACK || packet->type > ND_NDP_CLOSE || bytes ||
			nd_ip_class(ip, v4 ? 4 : 6) & ND_IP_ECN_MASK))
		return false;
	packet->rank = 0;
	packet->protocol = ND_PROTO_NDP;
	packet->marks = ND_MARK_CONTROL;
	packet->payload = NULL;
	return true;
}

/* Header and payload, once what is around them is known to be usual; false when they are not. */
ND_VECTOR ND_INLINE bool take_ndp(const struct nd_frame_config *config, const uint8_t *ip, bool v4,
				  const uint8_t *header, uint32_t payload,
				  struct nd_packet *packet)
{
	const uint8_t *addresses = nd_ip_addresses_in(ip, v4 ? 4 : 6);
	uint64_t ends = v4 ? 0 : nd_ip_ends(addresses, 6), crc = UINT32_MAX;
	uint32_t plain;

	memcpy(&plain, header, sizeof(plain));
	plain ^= PLAIN;
	if (!v4)
		crc = _mm_crc32_u64(crc, ends);
	if (ND_UNLIKELY(plain & ODD || !ndp_check_holds(header, crc) ||
			take_ndp_fields(header, plain, packet) != payload))
		return false;
	packet->flow = (uint16_t)(v4 ? nd_vector_crc(packet->ndp.connection, addresses) :
				       _mm_crc32_u64(packet->ndp.connection, ends));
	if (ND_LIKELY((uint8_t)plain == ND_NDP_DATA))
		return take_ndp_data(config, ip, v4, header + ND_NDP_HEADER_BYTES, payload, packet);
	return take_ndp_control(ip, v4, payload, packet);
}

ND_VECTOR ND_INLINE enum nd_wire_error decode_ndp(const struct nd_frame_config *config,
						  const uint8_t *in, uint32_t bytes, bool v4,
						  struct nd_frame_peer *peer,
						  struct nd_packet *packet)
{
	const uint32_t around = v4 ? ND_USUAL_NDP4_BYTES : ND_USUAL_NDP6_BYTES;
	const uint8_t *ip = in + ND_ETH_BYTES, *header = in + around - ND_NDP_HEADER_BYTES;

	if (ND_UNLIKELY(is_to_group(in, v4 ? 4 : 6) ||
			!ndp_lengths_agree(config, ip, v4, bytes - around) ||
			(v4 && !ipv4_checksum_holds(ip))))
		return nd_any_decode(config, in, bytes, peer, packet);
	take_sizes(config, bytes, around, packet);
	if (ND_UNLIKELY(!take_ndp(config, ip, v4, header, bytes - around, packet)))
		return nd_any_decode(config, in, bytes, peer, packet);
	if (peer)
		take_peer(in, v4, peer);
	if (config->verify == ND_FRAME_VERIFY_NONE || !packet->payload)
		return ND_WIRE_OK;
	return nd_any_verify(config, in, bytes, packet->payload - ND_NDP_HEADER_BYTES, packet);
}

static ND_NOINLINE ND_VECTOR enum nd_wire_error decode_ndp6(const struct nd_frame_config *config,
							    const uint8_t *in, uint32_t bytes,
							    struct nd_frame_peer *peer,
							    struct nd_packet *packet)
{
	if (ND_UNLIKELY(bytes < ND_USUAL_NDP6_BYTES || !begins_ipv6(in, ND_UDP_PROTOCOL)))
		return nd_any_decode(config, in, bytes, peer, packet);
	return decode_ndp(config, in, bytes, false, peer, packet);
}

/* ---- Homa ---- */

/* Fields of a DATA header; in place of `offset` stands the sequence. */
ND_VECTOR ND_INLINE void take_homa_fields(const uint8_t *header, struct nd_packet *packet)
{
	struct nd_homa_header *homa = &packet->homa;
	uint8_t *at = (uint8_t *)homa;
	__m128i kind = nd_vector_load(header);
	__m128i id = nd_vector_load(header + ND_HOMA_SENDER_ID_AT);
	__m128i ack = nd_vector_load(header + ND_HOMA_ACK_ID_AT);

	id = _mm_shuffle_epi8(id, _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 11, 10, 9, 8, 15, 14, 13,
						12));
	kind = _mm_shuffle_epi8(kind, _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 8, 9, -1, -1, -1, -1, -1,
						    -1));
	ack = _mm_shuffle_epi8(ack, _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 12, -1, 11, 10, -1, -1, 9,
						  8));
	nd_vector_store(at, id); /* sender_id, message_bytes, length */
	nd_vector_store(at + offsetof(struct nd_homa_header, offset), kind); /* ports, note */
	nd_vector_store_halves(homa->ack_ids,
			       at + offsetof(struct nd_homa_header, retransmit), ack);
	homa->ack_count = homa->ack_ids[0] != 0;
}

ND_VECTOR ND_INLINE bool take_homa(const struct nd_frame_config *config, const uint8_t *ip,
				   uint32_t bytes, struct nd_packet *packet)
{
	const uint8_t *header = ip + ND_IPV4_BYTES;
	uint32_t payload = bytes - ND_USUAL_HOMA4_BYTES;
	uint32_t offset = nd_get_u32(header + ND_HOMA_OFFSET_AT);
	uint8_t class = ip[ND_IPV4_CLASS_AT];

	if (ND_UNLIKELY(header[ND_HOMA_TYPE_AT] != ND_HOMA_DATA ||
			offset == ND_HOMA_OFFSET_IN_SEQUENCE ||
			config->dscp_homa[class >> 5] != code_point(class)))
		return false;
	take_sizes(config, bytes, bytes, packet);
	take_homa_fields(header, packet);
	if (ND_UNLIKELY(__builtin_sub_overflow(packet->homa.message_bytes, offset, &packet->rank)))
		return false;
	packet->homa.offset = offset;
	packet->flow = (uint16_t)nd_vector_crc(packet->homa.sender_id,
					       ip + ND_IPV4_ADDRESSES_AT);
	packet->protocol = ND_PROTO_HOMA;
	packet->marks = 0;
	if (ND_UNLIKELY(packet->rank < payload))
		return false;
	packet->payload_bytes = (uint16_t)payload;
	packet->path = 0;
	packet->type = ND_HOMA_DATA;
	packet->flags = 0;
	packet->priority = class >> 5;
	packet->spare = 0;
	packet->payload = payload ? header + ND_HOMA_DATA_BYTES : NULL;
	return true;
}

/* nd_any_verify() where the layout is known; what fails is described there. */
static ND_NOINLINE enum nd_wire_error verify_homa4(const struct nd_frame_config *config,
						   const uint8_t *in, uint32_t bytes,
						   const uint8_t *message,
						   struct nd_packet *packet)
{
	if (config->verify == ND_FRAME_VERIFY_OURS && packet->homa.speaker != ND_HOMA_SPEAKER)
		return ND_WIRE_OK;
	if (ND_LIKELY(nd_homa_checksum_holds(message, bytes - ND_ETH_BYTES - ND_IPV4_BYTES,
					     in + ND_ETH_BYTES + ND_IPV4_ADDRESSES_AT, 8)))
		return ND_WIRE_OK;
	return nd_any_verify(config, in, bytes, message, packet);
}

static ND_NOINLINE ND_VECTOR enum nd_wire_error decode_homa4(const struct nd_frame_config *config,
							     const uint8_t *in, uint32_t bytes,
							     struct nd_frame_peer *peer,
							     struct nd_packet *packet)
{
	const uint8_t *ip = in + ND_ETH_BYTES;

	if (ND_UNLIKELY(bytes < ND_USUAL_HOMA4_BYTES || !begins_ipv4(in, ND_HOMA_PROTOCOL) ||
			is_to_group(in, 4) ||
			!is_u16(ip + ND_IPV4_LENGTH_AT, bytes - ND_ETH_BYTES) ||
			!ipv4_checksum_holds(ip) ||
			!take_homa(config, ip, bytes, packet)))
		return nd_any_decode(config, in, bytes, peer, packet);
	if (peer)
		take_peer(in, true, peer);
	if (config->verify == ND_FRAME_VERIFY_NONE)
		return ND_WIRE_OK;
	return verify_homa4(config, in, bytes, ip + ND_IPV4_BYTES, packet);
}

/* ---- all kinds ---- */

ND_VECTOR enum nd_wire_error nd_usual_decode(const struct nd_frame_config *config,
					     const uint8_t *in, uint32_t bytes,
					     struct nd_frame_peer *peer, struct nd_packet *packet)
{
	/* Whatever the framing, the sizes of such a frame are within 16 bits. */
	if (ND_UNLIKELY(bytes - ND_USUAL_NDP4_BYTES >
			UINT16_MAX - UINT8_MAX - ND_USUAL_NDP4_BYTES))
		return nd_any_decode(config, in, bytes, peer, packet);
	if (ND_LIKELY(begins_ipv4(in, ND_UDP_PROTOCOL)))
		return decode_ndp(config, in, bytes, true, peer, packet);
	if (in[ND_ETH_TYPE_AT] == ND_ETH_TYPE_IPV6 >> 8)
		return decode_ndp6(config, in, bytes, peer, packet);
	return decode_homa4(config, in, bytes, peer, packet);
}

#endif
