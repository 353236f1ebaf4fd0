// SPDX-License-Identifier: Apache-2.0
/* What a switch does to frames in place: trim, return, mark. */
#include "wire/frame.h"

#include "wire/layout.h"

/* NDP DATA that is sound and whole enough to be cut or returned. */
static bool read_data(const struct nd_frame_config *config, const uint8_t *frame, uint32_t bytes,
		      struct nd_layout *layout, struct nd_packet *packet)
{
	const uint8_t *addresses;
	uint32_t seed = 0;

	if (nd_layout_read(config, frame, bytes, layout) != ND_WIRE_OK ||
	    layout->protocol != ND_PROTO_NDP || nd_layout_is_group(layout, frame))
		return false;
	addresses = frame + layout->ip_at + ND_IPV6_ADDRESSES_AT;
	if (layout->ip.version == 6)
		seed = nd_ndp_check_seed(addresses);
	packet->marks = 0;
	return nd_ndp_decode(frame + layout->message_at, layout->end - layout->message_at, seed,
			     packet) == ND_WIRE_OK &&
	       !(packet->marks & ND_MARK_CONTROL);
}

static bool has_dscp(const struct nd_layout *layout, uint8_t dscp)
{
	return layout->ip.traffic_class >> ND_IP_DSCP_SHIFT == dscp;
}

static void set_pcp(uint8_t *frame, const struct nd_layout *layout, uint8_t pcp)
{
	uint8_t *tag = frame + ND_ETH_TAG_AT;

	if (layout->eth.vlan != ND_ETH_VLAN_NONE)
		tag[0] = (uint8_t)((tag[0] & 0x1f) | (pcp & 7) << 5);
}

static void set_dscp(uint8_t *frame, const struct nd_layout *layout, uint8_t dscp)
{
	nd_ip_set_class(frame + layout->ip_at, layout->ip.version,
			(uint8_t)(dscp << ND_IP_DSCP_SHIFT |
				  (layout->ip.traffic_class & ND_IP_ECN_MASK)));
}

static void remark(uint8_t *frame, const struct nd_layout *layout,
		   const struct nd_frame_trim *trim)
{
	set_dscp(frame, layout, trim->dscp);
	if (trim->pcp != ND_FRAME_PCP_KEEP)
		set_pcp(frame, layout, trim->pcp);
}

/* Ends the frame at `end`, which lies behind the NDP header, with all lengths. */
static void cut(uint8_t *frame, const struct nd_layout *layout, uint32_t end)
{
	uint32_t udp_at = layout->message_at - ND_UDP_BYTES;

	nd_ip_set_payload(frame + layout->ip_at, layout->ip.version, layout->ip.bytes,
			  end - udp_at);
	nd_put_u16(frame + udp_at + ND_UDP_LENGTH_AT, (uint16_t)(end - udp_at));
	nd_put_u16(frame + udp_at + ND_UDP_CHECKSUM_AT, 0);
}

static void set_location(uint8_t *header, uint8_t location)
{
	nd_ndp_patch(header, ND_NDP_STATE_AT,
		     (uint8_t)((header[ND_NDP_STATE_AT] & ~ND_NDP_TRIM_MASK) |
			       (location << ND_NDP_TRIM_SHIFT & ND_NDP_TRIM_MASK)));
}

uint32_t nd_frame_trim(const struct nd_frame_config *config, uint8_t *frame, uint32_t bytes,
		       const struct nd_frame_trim *trim)
{
	struct nd_layout layout;
	struct nd_packet packet;
	uint32_t end;

	if (!read_data(config, frame, bytes, &layout, &packet) ||
	    packet.marks & ND_MARK_TRIMMED || !has_dscp(&layout, config->dscp_trimmable))
		return 0;
	remark(frame, &layout, trim);
	end = nd_max_u32(layout.message_at + packet.header_bytes, trim->size);
	if (end >= layout.end)
		return bytes;
	cut(frame, &layout, end);
	set_location(frame + layout.message_at, trim->location);
	return end;
}

static void swap(uint8_t *first, uint8_t *second, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++) {
		uint8_t byte = first[i];

		first[i] = second[i];
		second[i] = byte;
	}
}

/* Neither the IPv4 checksum nor the NDP header check changes. */
static void swap_addresses(uint8_t *frame, const struct nd_layout *layout)
{
	uint32_t bytes = layout->ip.version == 4 ? 4 : 16;
	uint8_t *source = frame + layout->ip_at +
			  (layout->ip.version == 4 ? ND_IPV4_ADDRESSES_AT : ND_IPV6_ADDRESSES_AT);

	swap(frame + ND_ETH_TARGET_AT, frame + ND_ETH_SOURCE_AT, ND_ETH_ADDRESS_BYTES);
	swap(source, source + bytes, bytes);
}

uint32_t nd_frame_bounce(const struct nd_frame_config *config, uint8_t *frame, uint32_t bytes,
			 const struct nd_frame_trim *trim)
{
	struct nd_layout layout;
	struct nd_packet packet;
	uint8_t *header;
	uint32_t end;

	if (!read_data(config, frame, bytes, &layout, &packet) ||
	    packet.marks & ND_MARK_BOUNCED ||
	    !(packet.marks & ND_MARK_TRIMMED || has_dscp(&layout, config->dscp_trimmable)))
		return 0;
	header = frame + layout.message_at;
	end = layout.message_at + packet.header_bytes;
	cut(frame, &layout, end);
	if (nd_ndp_trim_of(header) == ND_NDP_TRIM_NONE) {
		remark(frame, &layout, trim);
		set_location(header, trim->location);
	}
	swap_addresses(frame, &layout);
	nd_ndp_patch(header, ND_NDP_FLAGS_AT, header[ND_NDP_FLAGS_AT] | ND_NDP_BOUNCED);
	return end;
}

bool nd_frame_set_ce(uint8_t *frame, uint32_t bytes)
{
	struct nd_eth eth;
	struct nd_ip ip = { 0 };

	if (!nd_eth_decode(frame, bytes, &eth) ||
	    nd_ip_decode(frame + eth.bytes, bytes - eth.bytes, eth.type, &ip) != ND_WIRE_OK ||
	    !(ip.traffic_class & ND_IP_ECN_MASK))
		return false;
	nd_ip_set_class(frame + eth.bytes, ip.version, ip.traffic_class | ND_IP_CE);
	return true;
}
