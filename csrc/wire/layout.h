/* SPDX-License-Identifier: Apache-2.0 */
/* Where the headers of a frame lie: what decoding and editing in place begin with. */
#ifndef ND_WIRE_LAYOUT_H
#define ND_WIRE_LAYOUT_H

#include "wire/eth.h"
#include "wire/frame.h"
#include "wire/ip.h"
#include "wire/udp.h"

struct nd_layout {
	struct nd_eth eth;
	struct nd_ip ip;    /* version 0: not IP, or not readable */
	uint32_t ip_at;
	uint32_t message_at; /* of the NDP or Homa header */
	uint32_t end;        /* of the message, as far as frame and lengths allow */
	uint8_t protocol;    /* enum nd_protocol */
	bool udp;            /* the message is inside UDP */
	bool cut;            /* lengths speak of more bytes than the frame has */
};

/* Ends the message where the given length, counted from `at`, does. */
ND_INLINE void nd_layout_end(struct nd_layout *layout, uint32_t at, uint32_t length)
{
	if (at + length <= layout->end)
		layout->end = at + length;
	else
		layout->cut = true;
}

/* With the layout up to IP: finds out whether the packet is ours. */
ND_INLINE enum nd_wire_error nd_layout_match(const struct nd_frame_config *config,
						 const uint8_t *in, struct nd_layout *layout)
{
	uint32_t at = layout->ip_at + layout->ip.bytes;
	uint32_t ports, length;

	layout->message_at = at;
	if (layout->ip.protocol == ND_HOMA_PROTOCOL) {
		layout->protocol = ND_PROTO_HOMA;
		return ND_WIRE_OK;
	}
	if (layout->ip.protocol != ND_UDP_PROTOCOL || layout->end < at + ND_UDP_BYTES)
		return ND_WIRE_OK;
	ports = nd_get_u16(in + at + ND_UDP_TARGET_PORT_AT);
	if (ports == config->ndp_port)
		layout->protocol = ND_PROTO_NDP;
	else if (ports == config->homa_port)
		layout->protocol = ND_PROTO_HOMA;
	else
		return ND_WIRE_OK;
	length = nd_get_u16(in + at + ND_UDP_LENGTH_AT);
	if (ND_UNLIKELY(length < ND_UDP_BYTES))
		return ND_WIRE_udp_length;
	layout->udp = true;
	layout->message_at = at + ND_UDP_BYTES;
	nd_layout_end(layout, at, length);
	return ND_WIRE_OK;
}

/* Up to the message's header. With an error, what was found until then is valid. */
ND_INLINE enum nd_wire_error nd_layout_read(const struct nd_frame_config *config,
					    const uint8_t *in, uint32_t bytes,
					    struct nd_layout *layout)
{
	enum nd_wire_error error;

	*layout = (struct nd_layout){ .end = bytes };
	if (ND_UNLIKELY(!nd_eth_decode(in, bytes, &layout->eth)))
		return ND_WIRE_eth_short;
	layout->ip_at = layout->eth.bytes;
	error = nd_ip_decode(in + layout->ip_at, bytes - layout->ip_at, layout->eth.type,
			     &layout->ip);
	if (ND_UNLIKELY(error != ND_WIRE_OK || layout->ip.version == 0))
		return error;
	nd_layout_end(layout, layout->ip_at + layout->ip.bytes, layout->ip.payload_bytes);
	error = nd_layout_match(config, in, layout);
	if (error != ND_WIRE_OK || layout->protocol == ND_PROTO_OTHER || layout->ip.version == 6)
		return error;
	if (ND_UNLIKELY(layout->ip.fragment))
		return ND_WIRE_ip_fragment;
	if (ND_UNLIKELY(!nd_ipv4_checksum_holds(in + layout->ip_at, layout->ip.bytes)))
		return ND_WIRE_ip_checksum;
	return ND_WIRE_OK;
}

/* True for a frame without tag that begins as IPv4 without options, and has room for ours. */
ND_INLINE bool nd_layout_is_usual(const uint8_t *in, uint32_t bytes)
{
	return bytes >= ND_ETH_BYTES + ND_IPV4_BYTES + ND_HOMA_COMMON_BYTES &&
	       (nd_get_u32(in + ND_ETH_TYPE_AT) & 0xffffff00) ==
		       ((uint32_t)ND_ETH_TYPE_IPV4 << 16 | 0x4500);
}

/*
 * nd_layout_read() for the frames that speed is about: usual as above and, by the caller's word, of
 * the protocol: NDP, or Homa that is not inside UDP. False when it is not or when there is anything
 * to say about it. The layout is constants but for `end` and stays in registers, which halves what
 * decoding costs.
 */
ND_INLINE bool nd_layout_read_usual(const struct nd_frame_config *config, const uint8_t *in,
				    uint32_t bytes, uint8_t protocol, struct nd_layout *layout)
{
	const uint32_t transport_at = ND_ETH_BYTES + ND_IPV4_BYTES;
	const uint8_t *ip = in + ND_ETH_BYTES, *udp = in + transport_at;
	bool ndp = protocol == ND_PROTO_NDP;
	uint32_t total = nd_get_u16(ip + ND_IPV4_LENGTH_AT);
	uint32_t length = nd_get_u16(udp + ND_UDP_LENGTH_AT);

	if (ND_UNLIKELY(total < ND_IPV4_BYTES || !nd_ipv4_checksum_holds(ip, ND_IPV4_BYTES) ||
			nd_get_u16(ip + ND_IPV4_FRAGMENT_AT) & ND_IPV4_FRAGMENT_MASK))
		return false;
	if (ndp && ND_UNLIKELY(ip[ND_IPV4_PROTOCOL_AT] != ND_UDP_PROTOCOL ||
			       total < ND_IPV4_BYTES + ND_UDP_BYTES || length < ND_UDP_BYTES ||
			       nd_get_u16(udp + ND_UDP_TARGET_PORT_AT) != config->ndp_port))
		return false;
	*layout = (struct nd_layout){
		.eth = { .bytes = ND_ETH_BYTES, .type = ND_ETH_TYPE_IPV4, .vlan = ND_ETH_VLAN_NONE },
		.ip = {
			.payload_bytes = total - ND_IPV4_BYTES,
			.bytes = ND_IPV4_BYTES,
			.version = 4,
			.protocol = ip[ND_IPV4_PROTOCOL_AT],
			.traffic_class = ip[ND_IPV4_CLASS_AT],
		},
		.ip_at = ND_ETH_BYTES,
		.message_at = transport_at + (ndp ? ND_UDP_BYTES : 0),
		.end = bytes,
		.protocol = protocol,
		.udp = ndp,
	};
	nd_layout_end(layout, ND_ETH_BYTES, total);
	if (ndp)
		nd_layout_end(layout, transport_at, length);
	return true;
}

/* True for frames to groups: never trimmed, never returned. */
ND_INLINE bool nd_layout_is_group(const struct nd_layout *layout, const uint8_t *in)
{
	const uint8_t *ip = in + layout->ip_at;

	if (layout->ip.version == 0)
		return layout->eth.bytes != 0 && nd_eth_is_group(in);
	return nd_eth_is_group(in) ||
	       nd_ip_is_group(layout->ip.version, nd_ip_target(ip, layout->ip.version));
}

#endif
