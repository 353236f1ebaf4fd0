// SPDX-License-Identifier: Apache-2.0
/* Frames to packets: any frame, in the plainest way. What speed is about is in usual_decode.c. */
#include "wire/frame.h"

#include "base/crc32c.h"
#include "wire/layout.h"
#include "wire/usual.h"
#include "wire/vector.h"

static uint32_t link_bytes(const struct nd_frame_config *config, uint32_t bytes)
{
	return nd_max_u32(bytes, ND_ETH_FRAME_BYTES_MIN) + config->framing_bytes;
}

/* What the network has to say about a packet. */
ND_INLINE uint8_t marks_of(const struct nd_layout *layout, const uint8_t *in)
{
	static const uint8_t ecn[4] = { 0, ND_MARK_ECT, ND_MARK_ECT, ND_MARK_ECT | ND_MARK_CE };

	return ecn[layout->ip.traffic_class & ND_IP_ECN_MASK] |
	       (nd_layout_is_group(layout, in) ? ND_MARK_FLOOD : 0);
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

/* Of a connection or RPC between two ends. */
ND_INLINE uint16_t flow_of(uint32_t id, const uint8_t *ip, uint8_t version)
{
	uint64_t ends = nd_ip_ends(nd_ip_addresses_in(ip, version), version);

	/* What one CRC instruction makes of both. */
#ifdef __x86_64__
	if (ND_LIKELY(ND_VECTOR_CPU))
		return (uint16_t)nd_vector_crc(id, (const uint8_t *)&ends);
#endif
	return (uint16_t)~nd_crc32c_add(~id, &ends, sizeof(ends));
}

ND_INLINE enum nd_wire_error decode_ndp(const struct nd_frame_config *config, const uint8_t *in,
				     const struct nd_layout *layout, struct nd_packet *packet)
{
	const uint8_t *header = in + layout->message_at, *ip = in + layout->ip_at;
	uint8_t version = layout->ip.version;
	uint32_t seed = version == 4 ? 0 : nd_ndp_check_seed(nd_ip_addresses_in(ip, version));
	uint32_t dscp = layout->ip.traffic_class >> ND_IP_DSCP_SHIFT;
	enum nd_wire_error error;

	error = nd_ndp_decode(header, layout->end - layout->message_at, seed, packet);
	if (ND_UNLIKELY(error != ND_WIRE_OK))
		return error;
	packet->flow = flow_of(packet->ndp.connection, ip, version);
	if (packet->marks & ND_MARK_TRIMMED) {
		packet->header_bytes = packet->wire_bytes;
		if (dscp == config->dscp_trimmed_last_hop && dscp != config->dscp_trimmed &&
		    !nd_ndp_trim_of(header))
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
	error = nd_homa_decode(in + layout->message_at, layout->end - layout->message_at, packet);
	if (ND_UNLIKELY(error != ND_WIRE_OK))
		return error;
	packet->header_bytes = packet->wire_bytes;
	packet->priority = homa_priority(config, layout->ip.traffic_class);
	packet->flow = flow_of((uint32_t)packet->homa.sender_id, in + layout->ip_at,
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

enum nd_wire_error nd_any_verify(const struct nd_frame_config *config, const uint8_t *in,
				 uint32_t bytes, const uint8_t *message, struct nd_packet *packet)
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
					     nd_ip_addresses_in(in + layout.ip_at, layout.ip.version),
					     layout.ip.version == 4 ? 8 : 32)))
		return ND_WIRE_OK;
	return decode_failed(config, in, bytes, packet, ND_WIRE_homa_checksum);
}

/* Once the layout is known. */
ND_INLINE enum nd_wire_error decode_ours(const struct nd_frame_config *config, const uint8_t *in,
				      uint32_t bytes, const struct nd_layout *layout,
				      struct nd_frame_peer *peer, struct nd_packet *packet)
{
	enum nd_wire_error error;

	if (ND_UNLIKELY(bytes + config->framing_bytes > UINT16_MAX))
		return decode_failed(config, in, bytes, packet, ND_WIRE_eth_oversize);
	decode_common(config, in, bytes, layout, packet);
	if (layout->protocol == ND_PROTO_NDP)
		error = decode_ndp(config, in, layout, packet);
	else
		error = decode_homa(config, in, layout, packet);
	if (ND_UNLIKELY(error != ND_WIRE_OK))
		return decode_failed(config, in, bytes, packet, error);
	if (peer)
		decode_peer(in, layout, peer);
	if (config->verify == ND_FRAME_VERIFY_NONE)
		return ND_WIRE_OK;
	return nd_any_verify(config, in, bytes, in + layout->message_at, packet);
}

enum nd_wire_error nd_any_decode(const struct nd_frame_config *config, const uint8_t *in,
				 uint32_t bytes, struct nd_frame_peer *peer,
				 struct nd_packet *packet)
{
	struct nd_layout layout;
	enum nd_wire_error error = nd_layout_read(config, in, bytes, &layout);

	if (error == ND_WIRE_OK && layout.protocol != ND_PROTO_OTHER)
		return decode_ours(config, in, bytes, &layout, peer, packet);
	decode_other(config, in, bytes, &layout, packet);
	return error;
}

enum nd_wire_error nd_frame_decode(const struct nd_frame_config *config, const uint8_t *in,
				   uint32_t bytes, struct nd_frame_peer *peer,
				   struct nd_packet *packet)
{
	if (ND_LIKELY(ND_VECTOR_CPU))
		return nd_usual_decode(config, in, bytes, peer, packet);
	return nd_any_decode(config, in, bytes, peer, packet);
}

uint32_t nd_frame_message_at(const struct nd_frame_config *config, const uint8_t *in,
			     uint32_t bytes)
{
	struct nd_layout layout;

	nd_layout_read(config, in, bytes, &layout);
	return layout.protocol == ND_PROTO_OTHER ? 0 : layout.message_at;
}
