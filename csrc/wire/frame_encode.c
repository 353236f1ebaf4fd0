// SPDX-License-Identifier: Apache-2.0
/*
 * Packets to frames: templates, and any packet to any peer in the plainest way. What speed is about
 * is in usual_encode.c.
 *
 * All that surrounds a message is the same from packet to packet, but for the lengths, the traffic
 * class, the source port and, with a tag, its PCP. So it is written once for each peer and protocol;
 * a packet copies it and fills in those. Of IPv4's checksum each class knows all but the length.
 */
#include "wire/frame.h"

#include "base/crc32c.h"
#include "wire/around.h"
#include "wire/usual.h"

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
	nd_ip_set_payload(network, ip.version, 0, 0);
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

static nd_frame_encode_fn *encoder_of(const struct nd_frame_shape *shape, uint8_t protocol)
{
	if (shape->tagged || !ND_VECTOR_CPU)
		return nd_any_encode;
	if (protocol == ND_PROTO_NDP)
		return shape->v4 ? nd_usual_encode_ndp4 : nd_usual_encode_ndp6;
	return shape->v4 && !shape->udp ? nd_usual_encode_homa4 : nd_any_encode;
}

static nd_frame_encode_fn *headers_encoder_of(const struct nd_frame_shape *shape, uint8_t protocol)
{
	if (shape->tagged || !ND_VECTOR_CPU || protocol != ND_PROTO_NDP)
		return nd_any_encode_headers;
	return shape->v4 ? nd_usual_encode_headers_ndp4 : nd_usual_encode_headers_ndp6;
}

/* The traffic class of a packet that nd_around_*_class() gives this index. */
static uint8_t class_at(const struct nd_frame_config *config, uint8_t protocol, uint32_t index)
{
	if (index >= ND_FRAME_CLASSES)
		return class_of(config->dscp_control, index - ND_FRAME_CLASSES);
	if (protocol == ND_PROTO_NDP)
		return class_of(data_dscp(config, index), index);
	return class_of(config->dscp_homa[index >> 2], index & 3);
}

/* Once the headers are there, of class 0. */
static void prepare_classes(const struct nd_frame_config *config, uint8_t protocol,
			    struct nd_frame_around *around)
{
	uint8_t *ip = around->bytes + around->shape.network_at;
	uint8_t version = around->shape.v4 ? 4 : 6;

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(around->classes); i++) {
		struct nd_frame_class *class = &around->classes[i];

		nd_ip_set_class(ip, version, class_at(config, protocol, i));
		memcpy(&class->start, ip, sizeof(class->start));
		memcpy(&class->checksum, ip + ND_IPV4_CHECKSUM_AT, sizeof(class->checksum));
	}
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
		.encode = encoder_of(&shape, protocol),
		.encode_headers = headers_encoder_of(&shape, protocol),
		.checksum = config->homa_checksum,
	};
	prepare_bytes(config, peer, protocol, around);
	prepare_classes(config, protocol, around);
	memcpy(around->pcp, config->pcp, sizeof(around->pcp));
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
	struct nd_frame_shape shape = shape_of(config, peer, protocol);
	uint32_t bytes = shape.message_at + header_bytes(protocol, type);

	return nd_max_u32(bytes, ND_ETH_FRAME_BYTES_MIN) + config->framing_bytes;
}

/* ---- for each packet ---- */

static void put_payload(const struct nd_packet *packet, uint8_t *out)
{
	if (packet->payload)
		memcpy(out, packet->payload, packet->payload_bytes);
	else
		memset(out, 0, packet->payload_bytes);
}

/* Completes the headers of a packet with this payload, wherever it lies. */
static uint32_t end_ndp_headers(const struct nd_frame_around *around, const uint8_t *payload,
				uint32_t payload_bytes, uint8_t *out)
{
	nd_ndp_put_checks(around->check_seed, nd_crc32c(payload, payload_bytes),
			  out + around->shape.message_at);
	return around->shape.message_at + ND_NDP_HEADER_BYTES;
}

uint32_t nd_any_end_ndp_headers(const struct nd_frame_around *around,
				const struct nd_packet *packet, uint8_t *out)
{
	return end_ndp_headers(around, packet->payload, packet->payload_bytes, out);
}

uint32_t nd_any_end_ndp(const struct nd_frame_around *around, const struct nd_packet *packet,
			uint8_t *out)
{
	uint8_t *payload = out + around->shape.message_at + ND_NDP_HEADER_BYTES;

	put_payload(packet, payload);
	return end_ndp_headers(around, payload, packet->payload_bytes, out) +
	       packet->payload_bytes;
}

uint32_t nd_any_end_homa(const struct nd_frame_around *around, const struct nd_packet *packet,
			 uint8_t *out, uint32_t bytes)
{
	const struct nd_frame_shape *shape = &around->shape;
	uint8_t *message = out + shape->message_at;

	if (!(packet->marks & ND_MARK_TRIMMED))
		put_payload(packet, message + nd_homa_header_bytes(packet->type));
	if (around->checksum)
		nd_homa_fill_checksum(message, bytes - shape->message_at,
				      nd_ip_addresses_in(around->bytes + shape->network_at,
							 shape->v4 ? 4 : 6),
				      shape->v4 ? 8 : 32);
	return bytes;
}

/* Of the frame, or 0 when it does not fit. */
static uint32_t frame_bytes(const struct nd_frame_around *around, const struct nd_packet *packet,
			    uint32_t room)
{
	uint32_t header = header_bytes(packet->protocol, packet->type);
	uint32_t payload = packet->marks & ND_MARK_TRIMMED ? 0 : packet->payload_bytes;
	uint32_t bytes = around->shape.message_at + header + payload;

	return header == 0 || bytes > room || bytes > around->bytes_max ? 0 : bytes;
}

/* The headers of a frame of `bytes`, with checks as if it had no payload. */
ND_INLINE void put_headers(const struct nd_frame_around *around, const struct nd_packet *packet,
			   bool ndp, uint32_t bytes, uint8_t *out)
{
	uint8_t *message = out + around->shape.message_at;

	nd_around_put(around, &around->shape,
		      ndp ? nd_around_ndp_class(around, packet) :
			    nd_around_homa_class(around, packet),
		      (uint16_t)(around->port_first + packet->path % around->port_count), bytes,
		      out);
	if (around->shape.tagged)
		out[ND_ETH_TAG_AT] |= (uint8_t)(around->pcp[packet->priority & 7] << 5);
	if (ndp)
		nd_ndp_encode(packet, around->check_seed, 0, message);
	else
		nd_homa_encode(packet, message);
}

uint32_t nd_any_encode(const struct nd_frame_template *template, const struct nd_packet *packet,
		       uint8_t *out, uint32_t room)
{
	bool ndp = packet->protocol == ND_PROTO_NDP;
	const struct nd_frame_around *around = ndp ? &template->ndp : &template->homa;
	uint32_t bytes = frame_bytes(around, packet, room);
	bool payload = packet->payload_bytes != 0 && !(packet->marks & ND_MARK_TRIMMED);

	if (ND_UNLIKELY(bytes == 0))
		return 0;
	put_headers(around, packet, ndp, bytes, out);
	if (ndp)
		return payload ? nd_any_end_ndp(around, packet, out) : bytes;
	return payload || around->checksum ? nd_any_end_homa(around, packet, out, bytes) : bytes;
}

uint32_t nd_any_encode_headers(const struct nd_frame_template *template,
			       const struct nd_packet *packet, uint8_t *out, uint32_t room)
{
	bool ndp = packet->protocol == ND_PROTO_NDP;
	const struct nd_frame_around *around = ndp ? &template->ndp : &template->homa;
	uint32_t bytes = frame_bytes(around, packet, room);

	if (ND_UNLIKELY(bytes == 0 || packet->payload_bytes == 0 || !packet->payload ||
			packet->marks & ND_MARK_TRIMMED || (!ndp && around->checksum)))
		return 0;
	put_headers(around, packet, ndp, bytes, out);
	return ndp ? nd_any_end_ndp_headers(around, packet, out) : bytes - packet->payload_bytes;
}

uint32_t nd_frame_encode(const struct nd_frame_template *template, const struct nd_packet *packet,
			 uint8_t *out, uint32_t room)
{
	return packet->protocol == ND_PROTO_NDP ?
		       template->ndp.encode(template, packet, out, room) :
		       template->homa.encode(template, packet, out, room);
}

uint32_t nd_frame_encode_headers(const struct nd_frame_template *template,
				 const struct nd_packet *packet, uint8_t *out, uint32_t room)
{
	return packet->protocol == ND_PROTO_NDP ?
		       template->ndp.encode_headers(template, packet, out, room) :
		       template->homa.encode_headers(template, packet, out, room);
}
