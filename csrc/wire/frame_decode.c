// SPDX-License-Identifier: Apache-2.0
/* Frames to packets. */
#include "wire/frame.h"

#include "wire/homa_codec.h"
#include "wire/layout.h"
#include "wire/ndp_codec.h"

static uint32_t link_bytes(const struct nd_frame_config *config, uint32_t bytes)
{
	return nd_max_u32(bytes, ND_ETH_FRAME_BYTES_MIN) + config->framing_bytes;
}

/* The addresses in an IP header, source first. */
ND_INLINE const uint8_t *addresses_in(const uint8_t *ip, bool v4)
{
	return ip + (v4 ? ND_IPV4_ADDRESSES_AT : ND_IPV6_ADDRESSES_AT);
}

/* What the network has to say about a packet. */
ND_INLINE uint8_t marks_of(const struct nd_layout *layout, const uint8_t *in)
{
	static const uint8_t ecn[4] = { 0, ND_MARK_ECT, ND_MARK_ECT, ND_MARK_ECT | ND_MARK_CE };
	uint8_t marks = ecn[layout->ip.traffic_class & ND_IP_ECN_MASK];

	return ND_UNLIKELY(nd_layout_is_group(layout, in)) ? marks | ND_MARK_FLOOD : marks;
}

/* The packet of a frame that is not ours. */
ND_INLINE void decode_other(const struct nd_frame_config *config, const uint8_t *in, uint32_t bytes,
			 const struct nd_layout *layout, struct nd_packet *packet)
{
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
	packet->marks = marks_of(layout, in);
	packet->flags = 0;
	packet->spare = 0;
	packet->payload = NULL;
}

/* Forgets what decoding a message had begun; reads the layout again to keep it off the hot path. */
__attribute__((cold, noinline)) static enum nd_wire_error
decode_failed(const struct nd_frame_config *config, const uint8_t *in, uint32_t bytes,
	      struct nd_packet *packet, enum nd_wire_error error)
{
	struct nd_layout layout;

	nd_layout_read(config, in, bytes, &layout);
	decode_other(config, in, bytes, &layout, packet);
	return error;
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
					const struct nd_layout *layout, bool usual,
					struct nd_packet *packet)
{
	const uint8_t *header = in + layout->message_at;
	const uint8_t *addresses = addresses_in(in + layout->ip_at, layout->ip.version == 4);
	uint32_t seed = layout->ip.version == 4 ? 0 : nd_ndp_check_seed_by(addresses, usual);
	uint32_t dscp = layout->ip.traffic_class >> ND_IP_DSCP_SHIFT;
	uint32_t bytes = layout->end - layout->message_at;
	enum nd_wire_error error;

	if (usual)
		error = nd_ndp_take_plain(header, bytes, seed, true, packet);
	else
		error = nd_ndp_decode(header, bytes, seed, packet);
	if (ND_UNLIKELY(error != ND_WIRE_OK))
		return error;
	packet->flow = flow_of(packet->ndp.connection, addresses, layout->ip.version);
	if (ND_UNLIKELY(packet->marks & ND_MARK_TRIMMED)) {
		packet->header_bytes = packet->wire_bytes;
		if (dscp == config->dscp_trimmed_last_hop && !nd_ndp_trim_of(header))
			packet->marks |= ND_MARK_LAST_HOP;
		return ND_WIRE_OK;
	}
	packet->header_bytes =
		(uint16_t)link_bytes(config, layout->message_at + packet->header_bytes);
	if (packet->type == ND_NDP_DATA && dscp == config->dscp_trimmable)
		packet->marks |= ND_MARK_TRIMMABLE;
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

ND_INLINE enum nd_wire_error decode_homa(const struct nd_frame_config *config, const uint8_t *in,
				      const struct nd_layout *layout, struct nd_packet *packet)
{
	enum nd_wire_error error;

	if (ND_UNLIKELY(layout->cut))
		return ND_WIRE_homa_cut;
	error = nd_homa_take(in + layout->message_at, layout->end - layout->message_at, packet);
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
	return ND_WIRE_OK;
}

ND_INLINE void decode_peer(const uint8_t *in, const struct nd_layout *layout,
			struct nd_frame_peer *peer)
{
	memcpy(peer->target_mac, in, 2 * ND_ETH_ADDRESS_BYTES); /* and source_mac */
	nd_ip_addresses(in + layout->ip_at, layout->ip.version, peer->source, peer->target);
	peer->vlan = layout->eth.vlan;
}

/* What a packet of ours has whatever its protocol says. */
ND_INLINE void decode_common(const struct nd_frame_config *config, const uint8_t *in,
			     uint32_t bytes, const struct nd_layout *layout,
			     struct nd_packet *packet)
{
	packet->next = ND_NONE;
	packet->source = ND_NONE;
	packet->target = ND_NONE;
	packet->wire_bytes = (uint16_t)link_bytes(config, bytes);
	packet->protocol = layout->protocol;
	packet->marks = marks_of(layout, in);
	packet->spare = 0;
}

/* What the sender's checks say of the payload; apart, and last, as encoding does it. */
static ND_NOINLINE enum nd_wire_error verify(const struct nd_frame_config *config,
					     const uint8_t *in, uint32_t bytes,
					     const uint8_t *message, struct nd_packet *packet)
{
	struct nd_layout layout;

	if (packet->protocol == ND_PROTO_NDP) {
		if (ND_LIKELY(nd_ndp_payload_holds(message, packet)))
			return ND_WIRE_OK;
		return decode_failed(config, in, bytes, packet, ND_WIRE_ndp_payload_check);
	}
	if (config->verify == ND_FRAME_VERIFY_OURS && packet->homa.speaker != ND_HOMA_SPEAKER)
		return ND_WIRE_OK;
	nd_layout_read(config, in, bytes, &layout);
	if (ND_LIKELY(nd_homa_checksum_holds(message, layout.end - layout.message_at,
					     addresses_in(in + layout.ip_at,
							  layout.ip.version == 4),
					     layout.ip.version == 4 ? 8 : 32)))
		return ND_WIRE_OK;
	return decode_failed(config, in, bytes, packet, ND_WIRE_homa_checksum);
}

/* Once the layout is known. Usual: as decode_usual() has found it. */
ND_INLINE enum nd_wire_error decode_ours(const struct nd_frame_config *config, const uint8_t *in,
					 uint32_t bytes, const struct nd_layout *layout,
					 bool usual, struct nd_frame_peer *peer,
					 struct nd_packet *packet)
{
	enum nd_wire_error error;

	if (ND_UNLIKELY(bytes + config->framing_bytes > UINT16_MAX))
		return decode_failed(config, in, bytes, packet, ND_WIRE_eth_oversize);
	decode_common(config, in, bytes, layout, packet);
	if (layout->protocol == ND_PROTO_NDP)
		error = decode_ndp(config, in, layout, usual, packet);
	else
		error = decode_homa(config, in, layout, packet);
	if (ND_UNLIKELY(error != ND_WIRE_OK))
		return decode_failed(config, in, bytes, packet, error);
	if (peer)
		decode_peer(in, layout, peer);
	if (config->verify == ND_FRAME_VERIFY_NONE)
		return ND_WIRE_OK;
	return verify(config, in, bytes, in + layout->message_at, packet);
}

/* Any frame. */
static ND_NOINLINE enum nd_wire_error decode_any(const struct nd_frame_config *config,
						 const uint8_t *in, uint32_t bytes,
						 struct nd_frame_peer *peer,
						 struct nd_packet *packet)
{
	struct nd_layout layout;
	enum nd_wire_error error = nd_layout_read(config, in, bytes, &layout);

	if (error == ND_WIRE_OK && layout.protocol != ND_PROTO_OTHER)
		return decode_ours(config, in, bytes, &layout, false, peer, packet);
	decode_other(config, in, bytes, &layout, packet);
	return error;
}

/* A frame of a usual kind; where the CPU checks headers by an instruction. */
ND_INLINE enum nd_wire_error decode_usual(const struct nd_frame_config *config, const uint8_t *in,
					  uint32_t bytes, enum nd_layout_kind kind,
					  struct nd_frame_peer *peer, struct nd_packet *packet)
{
	struct nd_layout layout;

	if (ND_UNLIKELY(!nd_layout_read_usual(config, in, bytes, kind, &layout)))
		return decode_any(config, in, bytes, peer, packet);
	if (kind != ND_LAYOUT_HOMA4 && ND_UNLIKELY(!nd_ndp_is_plain(in + layout.message_at)))
		return decode_any(config, in, bytes, peer, packet);
	return decode_ours(config, in, bytes, &layout, true, peer, packet);
}

static ND_NOINLINE enum nd_wire_error decode_homa4(const struct nd_frame_config *config,
						   const uint8_t *in, uint32_t bytes,
						   struct nd_frame_peer *peer,
						   struct nd_packet *packet)
{
	return decode_usual(config, in, bytes, ND_LAYOUT_HOMA4, peer, packet);
}

static ND_NOINLINE enum nd_wire_error decode_ndp6(const struct nd_frame_config *config,
						  const uint8_t *in, uint32_t bytes,
						  struct nd_frame_peer *peer,
						  struct nd_packet *packet)
{
	return decode_usual(config, in, bytes, ND_LAYOUT_NDP6, peer, packet);
}

enum nd_wire_error nd_frame_decode(const struct nd_frame_config *config, const uint8_t *in,
				   uint32_t bytes, struct nd_frame_peer *peer,
				   struct nd_packet *packet)
{
	enum nd_layout_kind kind =
		ND_LIKELY(ND_CRC32C_INSTRUCTION) ? nd_layout_kind_of(in, bytes) : ND_LAYOUT_ANY;

	if (ND_LIKELY(kind == ND_LAYOUT_NDP4))
		return decode_usual(config, in, bytes, ND_LAYOUT_NDP4, peer, packet);
	if (kind == ND_LAYOUT_HOMA4)
		return decode_homa4(config, in, bytes, peer, packet);
	if (kind == ND_LAYOUT_NDP6)
		return decode_ndp6(config, in, bytes, peer, packet);
	return decode_any(config, in, bytes, peer, packet);
}

uint32_t nd_frame_message_at(const struct nd_frame_config *config, const uint8_t *in,
			     uint32_t bytes)
{
	struct nd_layout layout;

	nd_layout_read(config, in, bytes, &layout);
	return layout.protocol == ND_PROTO_OTHER ? 0 : layout.message_at;
}
