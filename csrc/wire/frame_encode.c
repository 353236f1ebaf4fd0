// SPDX-License-Identifier: Apache-2.0
/*
 * Packets to frames.
 *
 * DESIGN NOTES
 * 1. All that surrounds a message is the same from packet to packet, but for the lengths, the
 *    traffic class, the source port and, with a tag, its PCP. So it is written once for each peer
 *    and protocol; a packet copies it and fills in those.
 * 2. The IPv4 checksum is the sum of what is the same, known beforehand, and of the first four
 *    bytes, which hold all that differs.
 * 3. What calls other functions comes last, as a tail call: so the part that every packet goes
 *    through saves no registers.
 */
#include "wire/frame.h"

#include "base/crc32c.h"
#include "wire/homa_codec.h"
#include "wire/layout.h"
#include "wire/ndp_codec.h"

/* What every around has at least, copied at once; the rest follows where there is one. */
#define AROUND_FIRST 48u

/* Bytes of the NDP or Homa header, 0 when there is no such type. */
static uint32_t header_bytes(uint8_t protocol, uint8_t type)
{
	if (protocol == ND_PROTO_NDP)
		return ND_NDP_HEADER_BYTES;
	return protocol == ND_PROTO_HOMA ? nd_homa_header_bytes(type) : 0;
}

/* ---- once for each peer ---- */

static uint8_t ecn_of(uint32_t marks)
{
	if (marks & ND_MARK_CE)
		return ND_IP_CE;
	return marks & ND_MARK_ECT ? ND_IP_ECT0 : 0;
}

static uint8_t class_of(uint8_t dscp, uint32_t marks)
{
	return (uint8_t)(dscp << ND_IP_DSCP_SHIFT | ecn_of(marks));
}

static uint8_t data_dscp(const struct nd_frame_config *config, uint32_t marks)
{
	if (marks & ND_MARK_TRIMMED)
		return marks & ND_MARK_LAST_HOP ? config->dscp_trimmed_last_hop :
						  config->dscp_trimmed;
	return marks & ND_MARK_TRIMMABLE ? config->dscp_trimmable : config->dscp_data;
}

static void prepare_classes(const struct nd_frame_config *config, uint8_t protocol,
			    struct nd_frame_around *around)
{
	for (uint32_t i = 0; i < ND_FRAME_CLASSES; i++)
		around->classes[i] = protocol == ND_PROTO_NDP ?
					     class_of(data_dscp(config, i), i) :
					     class_of(config->dscp_homa[i >> 2], i & 3);
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(around->control_classes); i++)
		around->control_classes[i] = class_of(config->dscp_control, i);
	memcpy(around->pcp, config->pcp, sizeof(around->pcp));
}

/* The headers themselves; lengths, class, port and checksum stay 0. */
static void prepare_bytes(const struct nd_frame_config *config, const struct nd_frame_peer *peer,
			  uint8_t protocol, struct nd_frame_around *around)
{
	const struct nd_frame_shape *shape = &around->shape;
	struct nd_ip ip = {
		.version = shape->v4 ? 4 : 6,
		.protocol = shape->udp ? ND_UDP_PROTOCOL : ND_HOMA_PROTOCOL,
		.hop_limit = config->hop_limit,
	};
	uint8_t *network = around->bytes + shape->network_at;

	memcpy(around->bytes + ND_ETH_TARGET_AT, peer->target_mac, ND_ETH_ADDRESS_BYTES);
	memcpy(around->bytes + ND_ETH_SOURCE_AT, peer->source_mac, ND_ETH_ADDRESS_BYTES);
	nd_eth_encode(shape->v4 ? ND_ETH_TYPE_IPV4 : ND_ETH_TYPE_IPV6, peer->vlan, 0,
		      around->bytes);
	nd_ip_encode(&ip, peer->source, peer->target, network);
	memset(network + (shape->v4 ? ND_IPV4_CHECKSUM_AT : ND_IPV6_LENGTH_AT), 0, 2);
	around->sum = nd_checksum_add(0, network + 4, ND_IPV4_BYTES - 4);
	around->ip_word = nd_get_u64(network);
	if (shape->udp)
		nd_udp_encode(0, protocol == ND_PROTO_NDP ? config->ndp_port : config->homa_port,
			      0, around->bytes + shape->transport_at);
}

static struct nd_frame_shape shape_of(const struct nd_frame_config *config,
				      const struct nd_frame_peer *peer, uint8_t protocol)
{
	struct nd_frame_shape shape = {
		.v4 = nd_ip_is_v4(peer->source),
		.tagged = peer->vlan != ND_ETH_VLAN_NONE,
		.udp = protocol == ND_PROTO_NDP || config->homa_in_udp,
	};

	shape.network_at = (uint8_t)(ND_ETH_BYTES + (shape.tagged ? ND_ETH_TAG_BYTES : 0));
	shape.transport_at =
		(uint8_t)(shape.network_at + (shape.v4 ? ND_IPV4_BYTES : ND_IPV6_BYTES));
	shape.message_at = (uint8_t)(shape.transport_at + (shape.udp ? ND_UDP_BYTES : 0));
	return shape;
}

/* Usual kinds are for CPUs that check headers by an instruction. */
static enum nd_layout_kind kind_of(const struct nd_frame_shape *shape, uint8_t protocol)
{
	if (shape->tagged || !ND_CRC32C_INSTRUCTION)
		return ND_LAYOUT_ANY;
	if (protocol == ND_PROTO_NDP)
		return shape->v4 ? ND_LAYOUT_NDP4 : ND_LAYOUT_NDP6;
	return shape->v4 && !shape->udp ? ND_LAYOUT_HOMA4 : ND_LAYOUT_ANY;
}

static void prepare(const struct nd_frame_config *config, const struct nd_frame_peer *peer,
		    uint8_t protocol, struct nd_frame_around *around)
{
	struct nd_frame_shape shape = shape_of(config, peer, protocol);

	*around = (struct nd_frame_around){
		.bytes_max = shape.network_at + UINT16_MAX,
		.port_first = config->source_port_first,
		.port_count = config->source_port_count,
		.shape = shape,
		.usual = (uint8_t)kind_of(&shape, protocol),
		.checksum = config->homa_checksum,
	};
	prepare_bytes(config, peer, protocol, around);
	prepare_classes(config, protocol, around);
	if (!shape.v4)
		around->check_seed = nd_ndp_check_seed(around->bytes + shape.network_at +
						       ND_IPV6_ADDRESSES_AT);
}

void nd_frame_prepare(const struct nd_frame_config *config, const struct nd_frame_peer *peer,
		      struct nd_frame_template *template)
{
	prepare(config, peer, ND_PROTO_NDP, &template->ndp);
	prepare(config, peer, ND_PROTO_HOMA, &template->homa);
}

uint32_t nd_frame_overhead(const struct nd_frame_config *config, const struct nd_frame_peer *peer,
			   uint8_t protocol, uint8_t type)
{
	struct nd_frame_around around;
	uint32_t bytes;

	prepare(config, peer, protocol, &around);
	bytes = around.shape.message_at + header_bytes(protocol, type);
	return nd_max_u32(bytes, ND_ETH_FRAME_BYTES_MIN) + config->framing_bytes;
}

/* ---- for each packet ---- */

ND_INLINE uint16_t source_port(const struct nd_frame_around *around, uint32_t path)
{
	/* The usual count needs no division. */
	if (ND_UNLIKELY(path >= around->port_count))
		path %= around->port_count;
	return (uint16_t)(around->port_first + path);
}

/* The first bytes of an IPv4 header, all that differs, and the checksum over all of it. */
ND_INLINE void put_ipv4(const struct nd_frame_around *around, uint8_t class, uint32_t length,
			uint8_t *out)
{
	uint32_t word = htobe32(UINT32_C(0x45000000) | (uint32_t)class << 16 | length);
	uint16_t checksum = (uint16_t)~nd_checksum_fold(around->sum + word);

	memcpy(out, &word, sizeof(word));
	memcpy(out + ND_IPV4_CHECKSUM_AT, &checksum, sizeof(checksum));
}

/* Ethernet, IP and UDP around a message, in a frame of `bytes`. */
ND_INLINE void put_around(const struct nd_frame_around *around, const struct nd_frame_shape *shape,
			  const struct nd_packet *packet, uint8_t class, uint32_t bytes,
			  uint8_t *out)
{
	uint32_t length = bytes - shape->transport_at;
	uint8_t *network = out + shape->network_at;
	uint16_t port = 0;

	memcpy(out, around->bytes, AROUND_FIRST);
	if (ND_UNLIKELY(shape->message_at > AROUND_FIRST))
		memcpy(out + AROUND_FIRST, around->bytes + AROUND_FIRST,
		       ND_FRAME_AROUND_MAX - AROUND_FIRST);
	if (ND_UNLIKELY(shape->tagged))
		out[ND_ETH_TAG_AT] |= (uint8_t)(around->pcp[packet->priority & 7] << 5);
	if (shape->udp) {
		port = source_port(around, packet->path);
		nd_put_u16(out + shape->transport_at, port);
		nd_put_u16(out + shape->transport_at + ND_UDP_LENGTH_AT, (uint16_t)length);
	}
	if (ND_LIKELY(shape->v4))
		put_ipv4(around, class, length + ND_IPV4_BYTES, network);
	else
		nd_put_u64(network, around->ip_word | (uint64_t)class << 52 |
					    (uint64_t)port << 32 | (uint64_t)length << 16);
}

static void put_payload(const struct nd_packet *packet, uint8_t *out)
{
	if (packet->payload)
		memcpy(out, packet->payload, packet->payload_bytes);
	else
		memset(out, 0, packet->payload_bytes);
}

/* What is in front of the payload was written; this is the rest, apart for the sake of note 3. */
static ND_NOINLINE uint32_t end_ndp(const struct nd_frame_around *around,
				    const struct nd_packet *packet, uint8_t *out, uint32_t bytes)
{
	uint8_t *message = out + around->shape.message_at;
	uint8_t *payload = message + ND_NDP_HEADER_BYTES;

	put_payload(packet, payload);
	nd_ndp_put_checks(around->check_seed, nd_crc32c(payload, packet->payload_bytes),
			  ND_CRC32C_INSTRUCTION, message);
	return bytes;
}

ND_INLINE uint32_t encode_ndp(const struct nd_frame_around *around,
			      const struct nd_frame_shape *shape, bool instruction,
			      const struct nd_packet *packet, uint8_t *out, uint32_t room)
{
	uint32_t payload = packet->marks & ND_MARK_TRIMMED ? 0 : packet->payload_bytes;
	uint32_t bytes = shape->message_at + ND_NDP_HEADER_BYTES + payload;
	uint8_t *message = out + shape->message_at;
	bool data = packet->type == ND_NDP_DATA && !(packet->marks & ND_MARK_CONTROL);

	if (ND_UNLIKELY(bytes > room || bytes > around->bytes_max))
		return 0;
	put_around(around, shape, packet,
		   data ? around->classes[packet->marks % ND_FRAME_CLASSES] :
			  around->control_classes[packet->marks & (ND_MARK_ECT | ND_MARK_CE)],
		   bytes, out);
	nd_ndp_put_fields(packet, message);
	if (payload)
		return end_ndp(around, packet, out, bytes);
	nd_ndp_put_checks(shape->v4 ? 0 : around->check_seed, 0, instruction, message);
	return bytes;
}

/* The same with the shape known beforehand. */
ND_INLINE uint32_t encode_ndp_usual(const struct nd_frame_around *around, bool v4,
				    const struct nd_packet *packet, uint8_t *out, uint32_t room)
{
	struct nd_frame_shape shape = {
		.network_at = ND_ETH_BYTES,
		.transport_at = ND_ETH_BYTES + (v4 ? ND_IPV4_BYTES : ND_IPV6_BYTES),
		.message_at = ND_ETH_BYTES + (v4 ? ND_IPV4_BYTES : ND_IPV6_BYTES) + ND_UDP_BYTES,
		.v4 = v4,
		.udp = true,
	};

	return encode_ndp(around, &shape, true, packet, out, room);
}

static ND_NOINLINE uint32_t encode_ndp6(const struct nd_frame_around *around,
					const struct nd_packet *packet, uint8_t *out,
					uint32_t room)
{
	return encode_ndp_usual(around, false, packet, out, room);
}

static ND_NOINLINE uint32_t end_homa(const struct nd_frame_around *around,
				     const struct nd_packet *packet, uint8_t *out, uint32_t bytes)
{
	const struct nd_frame_shape *shape = &around->shape;
	uint32_t addresses = shape->v4 ? ND_IPV4_ADDRESSES_AT : ND_IPV6_ADDRESSES_AT;
	uint8_t *message = out + shape->message_at;

	if (!(packet->marks & ND_MARK_TRIMMED))
		put_payload(packet, message + nd_homa_header_bytes(packet->type));
	if (around->checksum)
		nd_homa_fill_checksum(message, bytes - shape->message_at,
				      around->bytes + shape->network_at + addresses,
				      shape->v4 ? 8 : 32);
	return bytes;
}

ND_INLINE uint32_t encode_homa_as(const struct nd_frame_around *around,
				  const struct nd_frame_shape *shape, bool data,
				  const struct nd_packet *packet, uint8_t *out, uint32_t room)
{
	uint32_t payload = packet->marks & ND_MARK_TRIMMED ? 0 : packet->payload_bytes;
	uint32_t header = data ? ND_HOMA_DATA_BYTES : nd_homa_header_bytes(packet->type);
	uint32_t bytes = shape->message_at + header + payload;

	if (ND_UNLIKELY(header == 0 || bytes > room || bytes > around->bytes_max))
		return 0;
	put_around(around, shape, packet,
		   around->classes[(packet->priority & 7) << 2 |
				   (packet->marks & (ND_MARK_ECT | ND_MARK_CE))],
		   bytes, out);
	if (data)
		nd_homa_put_data(packet, out + shape->message_at);
	else
		nd_homa_put_control(packet, out + shape->message_at);
	return payload || around->checksum ? end_homa(around, packet, out, bytes) : bytes;
}

/* DATA straight above IPv4. */
static ND_NOINLINE uint32_t encode_homa4(const struct nd_frame_around *around,
					 const struct nd_packet *packet, uint8_t *out,
					 uint32_t room)
{
	static const struct nd_frame_shape shape = {
		.network_at = ND_ETH_BYTES,
		.transport_at = ND_ETH_BYTES + ND_IPV4_BYTES,
		.message_at = ND_ETH_BYTES + ND_IPV4_BYTES,
		.v4 = true,
	};

	return encode_homa_as(around, &shape, true, packet, out, room);
}

/* Any packet to any peer. */
static ND_NOINLINE uint32_t encode_any(const struct nd_frame_template *template,
				       const struct nd_packet *packet, uint8_t *out, uint32_t room)
{
	const struct nd_frame_around *homa = &template->homa, *ndp = &template->ndp;

	if (packet->protocol == ND_PROTO_HOMA)
		return encode_homa_as(homa, &homa->shape, packet->type == ND_HOMA_DATA, packet,
				      out, room);
	if (packet->protocol == ND_PROTO_NDP)
		return encode_ndp(ndp, &ndp->shape, ND_CRC32C_INSTRUCTION, packet, out, room);
	return 0;
}

uint32_t nd_frame_encode(const struct nd_frame_template *template, const struct nd_packet *packet,
			 uint8_t *out, uint32_t room)
{
	if (packet->protocol == ND_PROTO_NDP) {
		if (ND_LIKELY(template->ndp.usual == ND_LAYOUT_NDP4))
			return encode_ndp_usual(&template->ndp, true, packet, out, room);
		if (template->ndp.usual == ND_LAYOUT_NDP6)
			return encode_ndp6(&template->ndp, packet, out, room);
	} else if (packet->type == ND_HOMA_DATA && template->homa.usual == ND_LAYOUT_HOMA4) {
		return encode_homa4(&template->homa, packet, out, room);
	}
	return encode_any(template, packet, out, room);
}
