// SPDX-License-Identifier: Apache-2.0
/* Frames from and to packets. */
#include "wire/frame.h"

#include "base/crc32c.h"
#include "wire/layout.h"

/* What decides where things lie. Known to the compiler for the usual shapes, see encode(). */
struct shape {
	uint8_t protocol; /* enum nd_protocol */
	bool v4;
	bool tagged;
	bool udp;
};

ND_INLINE struct shape shape_of(const struct nd_frame_config *config,
				const struct nd_frame_peer *peer, uint8_t protocol)
{
	return (struct shape){
		.protocol = protocol,
		.v4 = nd_ip_is_v4(peer->source),
		.tagged = peer->vlan != ND_ETH_VLAN_NONE,
		.udp = protocol == ND_PROTO_NDP || config->homa_in_udp,
	};
}

/* Offsets of the IP header, of what follows it, and of the NDP or Homa header. */
ND_INLINE uint32_t network_at(struct shape shape)
{
	return ND_ETH_BYTES + (shape.tagged ? ND_ETH_TAG_BYTES : 0);
}

ND_INLINE uint32_t transport_at(struct shape shape)
{
	return network_at(shape) + (shape.v4 ? ND_IPV4_BYTES : ND_IPV6_BYTES);
}

ND_INLINE uint32_t message_at(struct shape shape)
{
	return transport_at(shape) + (shape.udp ? ND_UDP_BYTES : 0);
}

/* Bytes of the NDP or Homa header, 0 when there is no such type. */
ND_INLINE uint32_t header_bytes(uint8_t protocol, uint8_t type)
{
	if (protocol == ND_PROTO_NDP)
		return ND_NDP_HEADER_BYTES;
	return protocol == ND_PROTO_HOMA ? nd_homa_header_bytes(type) : 0;
}

static uint32_t link_bytes(const struct nd_frame_config *config, uint32_t bytes)
{
	return nd_max_u32(bytes, ND_ETH_FRAME_BYTES_MIN) + config->framing_bytes;
}

uint32_t nd_frame_overhead(const struct nd_frame_config *config, const struct nd_frame_peer *peer,
			   uint8_t protocol, uint8_t type)
{
	struct shape shape = shape_of(config, peer, protocol);

	return link_bytes(config, message_at(shape) + header_bytes(protocol, type));
}

ND_INLINE uint8_t traffic_class(const struct nd_frame_config *config,
				const struct nd_packet *packet, uint8_t protocol)
{
	static const uint8_t ecn[4] = {
		[ND_MARK_ECT] = ND_IP_ECT0,
		[ND_MARK_CE] = ND_IP_CE,
		[ND_MARK_ECT | ND_MARK_CE] = ND_IP_CE,
	};
	uint32_t dscp;

	if (protocol == ND_PROTO_HOMA)
		dscp = config->dscp_homa[packet->priority & (ND_HOMA_PRIORITIES - 1)];
	else if (packet->type != ND_NDP_DATA || packet->marks & ND_MARK_CONTROL)
		dscp = config->dscp_control;
	else if (ND_UNLIKELY(packet->marks & ND_MARK_TRIMMED))
		dscp = packet->marks & ND_MARK_LAST_HOP ? config->dscp_trimmed_last_hop :
							  config->dscp_trimmed;
	else
		dscp = packet->marks & ND_MARK_TRIMMABLE ? config->dscp_trimmable : config->dscp_data;
	return (uint8_t)(dscp << ND_IP_DSCP_SHIFT | ecn[packet->marks & (ND_MARK_ECT | ND_MARK_CE)]);
}

ND_INLINE uint16_t source_port(const struct nd_frame_config *config, uint16_t path)
{
	/* The usual count needs no division. */
	if (ND_UNLIKELY(path >= config->source_port_count))
		path %= config->source_port_count;
	return (uint16_t)(config->source_port_first + path);
}

/* Ethernet, IP and UDP around a message that ends at bytes. */
ND_INLINE void encode_around(const struct nd_frame_config *config,
			     const struct nd_frame_peer *peer, const struct nd_packet *packet,
			     struct shape shape, uint32_t bytes, uint8_t *out)
{
	uint16_t port = source_port(config, packet->path);
	struct nd_ip ip = {
		.payload_bytes = bytes - transport_at(shape),
		.flow_label = shape.udp ? port : 0,
		.version = shape.v4 ? 4 : 6,
		.protocol = shape.udp ? ND_UDP_PROTOCOL : ND_HOMA_PROTOCOL,
		.traffic_class = traffic_class(config, packet, shape.protocol),
		.hop_limit = config->hop_limit,
	};

	memcpy(out + ND_ETH_TARGET_AT, peer->target_mac, ND_ETH_ADDRESS_BYTES);
	memcpy(out + ND_ETH_SOURCE_AT, peer->source_mac, ND_ETH_ADDRESS_BYTES);
	nd_eth_encode(shape.v4 ? ND_ETH_TYPE_IPV4 : ND_ETH_TYPE_IPV6,
		      shape.tagged ? peer->vlan : ND_ETH_VLAN_NONE,
		      config->pcp[packet->priority & 7], out);
	nd_ip_encode(&ip, peer->source, peer->target, out + network_at(shape));
	if (shape.udp)
		nd_udp_encode(port,
			      shape.protocol == ND_PROTO_NDP ? config->ndp_port :
							       config->homa_port,
			      bytes - message_at(shape), out + transport_at(shape));
}

static void put_payload(const struct nd_packet *packet, uint8_t *out, uint32_t bytes)
{
	if (packet->payload)
		memcpy(out, packet->payload, bytes);
	else
		memset(out, 0, bytes);
}

/* The addresses in an IP header, source first. */
ND_INLINE const uint8_t *addresses_in(const uint8_t *ip, bool v4)
{
	return ip + (v4 ? ND_IPV4_ADDRESSES_AT : ND_IPV6_ADDRESSES_AT);
}

ND_INLINE uint32_t encode(const struct nd_frame_config *config, const struct nd_frame_peer *peer,
			  const struct nd_packet *packet, struct shape shape, uint8_t *out,
			  uint32_t room)
{
	const uint8_t *addresses = addresses_in(out + network_at(shape), shape.v4);
	uint32_t payload = packet->marks & ND_MARK_TRIMMED ? 0 : packet->payload_bytes;
	uint32_t header = header_bytes(shape.protocol, packet->type);
	uint8_t *message = out + message_at(shape);
	uint32_t bytes = message_at(shape) + header + payload;

	if (ND_UNLIKELY(header == 0 || bytes > room || bytes - network_at(shape) > UINT16_MAX))
		return 0;
	encode_around(config, peer, packet, shape, bytes, out);
	if (payload)
		put_payload(packet, message + header, payload);
	if (shape.protocol == ND_PROTO_NDP) {
		nd_ndp_encode(packet, shape.v4 ? 0 : nd_ndp_check_seed(addresses),
			      payload ? nd_crc32c(message + header, payload) : 0, message);
		return bytes;
	}
	nd_homa_encode(packet, message);
	if (config->homa_checksum)
		nd_homa_fill_checksum(message, bytes - message_at(shape), addresses,
				      shape.v4 ? 8 : 32);
	return bytes;
}

uint32_t nd_frame_encode(const struct nd_frame_config *config, const struct nd_frame_peer *peer,
			 const struct nd_packet *packet, uint8_t *out, uint32_t room)
{
	struct shape shape = shape_of(config, peer, packet->protocol);

	/* The same code with its branches on the shape decided, a quarter shorter, where it counts. */
	if (ND_LIKELY(shape.protocol == ND_PROTO_NDP && !shape.tagged)) {
		shape = (struct shape){ .protocol = ND_PROTO_NDP, .v4 = shape.v4, .udp = true };
		if (shape.v4)
			return encode(config, peer, packet, shape, out, room);
		return encode(config, peer, packet, shape, out, room);
	}
	return encode(config, peer, packet, shape, out, room);
}

/* The packet of a frame that is not ours. */
ND_INLINE void decode_other(const struct nd_frame_config *config, const uint8_t *in, uint32_t bytes,
			 const struct nd_layout *layout, struct nd_packet *packet)
{
	uint32_t ecn = layout->ip.traffic_class & ND_IP_ECN_MASK;
	bool tagged = layout->eth.vlan != ND_ETH_VLAN_NONE;
	uint16_t wire_bytes = (uint16_t)nd_min_u32(link_bytes(config, bytes), UINT16_MAX);

	packet->next = ND_NONE;
	packet->source = ND_NONE;
	packet->target = ND_NONE;
	packet->rank = 0;
	packet->wire_bytes = wire_bytes;
	packet->header_bytes = wire_bytes;
	packet->payload_bytes = 0;
	packet->path = 0;
	packet->flow = 0;
	packet->protocol = ND_PROTO_OTHER;
	packet->type = 0;
	packet->priority = tagged ? layout->eth.pcp : layout->ip.traffic_class >> 5;
	packet->marks = ecn == 0 ? 0 : ecn == ND_IP_CE ? ND_MARK_ECT | ND_MARK_CE : ND_MARK_ECT;
	if (ND_UNLIKELY(nd_layout_is_group(layout, in)))
		packet->marks |= ND_MARK_FLOOD;
	packet->flags = 0;
	packet->spare = 0;
	packet->payload = NULL;
}

/* Forgets what decoding a message had begun; reads the layout again to keep it off the hot path. */
__attribute__((cold, noinline)) static void decode_failed(const struct nd_frame_config *config,
							   const uint8_t *in, uint32_t bytes,
							   struct nd_packet *packet)
{
	struct nd_layout layout;

	nd_layout_read(config, in, bytes, &layout);
	decode_other(config, in, bytes, &layout, packet);
}

/* Enough to spread connections: the golden ratio carries every bit up. */
ND_INLINE uint16_t flow_of(uint64_t id, const uint8_t *addresses, uint32_t version)
{
	uint64_t ends = nd_get_u64(addresses);

	if (version == 6)
		ends = nd_get_u64(addresses + 8) * 3 + nd_get_u64(addresses + 24);
	return (uint16_t)(((id ^ ends) * UINT64_C(0x9e3779b97f4a7c15)) >> 48);
}

ND_INLINE enum nd_wire_error decode_ndp(const struct nd_frame_config *config, const uint8_t *in,
				     const struct nd_layout *layout, struct nd_packet *packet)
{
	const uint8_t *header = in + layout->message_at;
	const uint8_t *addresses = addresses_in(in + layout->ip_at, layout->ip.version == 4);
	uint32_t seed = layout->ip.version == 4 ? 0 : nd_ndp_check_seed(addresses);
	uint32_t dscp = layout->ip.traffic_class >> ND_IP_DSCP_SHIFT;
	enum nd_wire_error error;

	error = nd_ndp_decode(header, layout->end - layout->message_at, seed, packet);
	if (ND_UNLIKELY(error != ND_WIRE_OK))
		return error;
	packet->flow = flow_of(packet->ndp.connection, addresses, layout->ip.version);
	if (packet->marks & ND_MARK_TRIMMED) {
		packet->header_bytes = packet->wire_bytes;
		if (dscp == config->dscp_trimmed_last_hop && !nd_ndp_trim_of(header))
			packet->marks |= ND_MARK_LAST_HOP;
		return ND_WIRE_OK;
	}
	packet->header_bytes =
		(uint16_t)link_bytes(config, layout->message_at + packet->header_bytes);
	if (packet->type == ND_NDP_DATA && dscp == config->dscp_trimmable)
		packet->marks |= ND_MARK_TRIMMABLE;
	if (config->verify != ND_FRAME_VERIFY_NONE &&
	    ND_UNLIKELY(!nd_ndp_payload_holds(header, packet)))
		return ND_WIRE_ndp_payload_check;
	return ND_WIRE_OK;
}

static uint8_t homa_priority(const struct nd_frame_config *config, uint8_t traffic_class)
{
	uint8_t dscp = traffic_class >> ND_IP_DSCP_SHIFT;
	uint8_t guess = dscp >> 3;

	if (ND_LIKELY(config->dscp_homa[guess] == dscp))
		return guess;
	for (uint32_t priority = ND_HOMA_PRIORITIES; priority-- > 0;) {
		if (config->dscp_homa[priority] == dscp)
			return (uint8_t)priority;
	}
	return guess;
}

ND_INLINE bool homa_checksum_holds(const struct nd_frame_config *config, const uint8_t *in,
				const struct nd_layout *layout, const struct nd_packet *packet)
{
	if (config->verify == ND_FRAME_VERIFY_NONE ||
	    (config->verify == ND_FRAME_VERIFY_OURS && packet->homa.speaker != ND_HOMA_SPEAKER))
		return true;
	return nd_homa_checksum_holds(in + layout->message_at, layout->end - layout->message_at,
				      addresses_in(in + layout->ip_at, layout->ip.version == 4),
				      layout->ip.version == 4 ? 8 : 32);
}

ND_INLINE enum nd_wire_error decode_homa(const struct nd_frame_config *config, const uint8_t *in,
				      const struct nd_layout *layout, struct nd_packet *packet)
{
	enum nd_wire_error error;

	if (ND_UNLIKELY(layout->cut))
		return ND_WIRE_homa_cut;
	error = nd_homa_decode(in + layout->message_at, layout->end - layout->message_at, packet);
	if (ND_UNLIKELY(error != ND_WIRE_OK))
		return error;
	packet->header_bytes = packet->wire_bytes;
	packet->priority = homa_priority(config, layout->ip.traffic_class);
	packet->flow = flow_of(packet->homa.sender_id,
			       addresses_in(in + layout->ip_at, layout->ip.version == 4),
			       layout->ip.version);
	if (layout->udp)
		packet->path = (uint16_t)(nd_get_u16(in + layout->message_at - ND_UDP_BYTES) -
					  config->source_port_first);
	if (ND_UNLIKELY(!homa_checksum_holds(config, in, layout, packet)))
		return ND_WIRE_homa_checksum;
	return ND_WIRE_OK;
}

ND_INLINE void decode_peer(const uint8_t *in, const struct nd_layout *layout,
			struct nd_frame_peer *peer)
{
	memcpy(peer->source_mac, in + ND_ETH_SOURCE_AT, ND_ETH_ADDRESS_BYTES);
	memcpy(peer->target_mac, in + ND_ETH_TARGET_AT, ND_ETH_ADDRESS_BYTES);
	nd_ip_addresses(in + layout->ip_at, layout->ip.version, peer->source, peer->target);
	peer->vlan = layout->eth.vlan;
}

ND_INLINE enum nd_wire_error decode(const struct nd_frame_config *config, const uint8_t *in,
				    uint32_t bytes, bool plain, struct nd_frame_peer *peer,
				    struct nd_packet *packet)
{
	struct nd_layout layout;
	enum nd_wire_error error = nd_layout_read_as(config, in, bytes, plain, &layout);

	decode_other(config, in, bytes, &layout, packet);
	if (error != ND_WIRE_OK || layout.protocol == ND_PROTO_OTHER)
		return error;
	if (ND_UNLIKELY(bytes + config->framing_bytes > UINT16_MAX))
		return ND_WIRE_eth_oversize;
	packet->protocol = layout.protocol;
	if (layout.protocol == ND_PROTO_NDP)
		error = decode_ndp(config, in, &layout, packet);
	else
		error = decode_homa(config, in, &layout, packet);
	if (ND_UNLIKELY(error != ND_WIRE_OK))
		decode_failed(config, in, bytes, packet);
	else if (peer)
		decode_peer(in, &layout, peer);
	return error;
}

enum nd_wire_error nd_frame_decode(const struct nd_frame_config *config, const uint8_t *in,
				   uint32_t bytes, struct nd_frame_peer *peer,
				   struct nd_packet *packet)
{
	if (ND_LIKELY(nd_layout_is_plain(in, bytes)))
		return decode(config, in, bytes, true, peer, packet);
	return decode(config, in, bytes, false, peer, packet);
}
