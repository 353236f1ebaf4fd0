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

/* Kinds of frames that speed is about: no tag, no options, the message straight behind. */
enum nd_layout_kind {
	ND_LAYOUT_ANY,  /* all others */
	ND_LAYOUT_NDP4, /* NDP over IPv4 */
	ND_LAYOUT_NDP6,
	ND_LAYOUT_HOMA4, /* Homa over IPv4, not inside UDP */
};

/* By Ethernet type, version and protocol alone, with room for IP header and the longest message. */
ND_INLINE enum nd_layout_kind nd_layout_kind_of(const uint8_t *in, uint32_t bytes)
{
	uint32_t start;

	if (ND_UNLIKELY(bytes < ND_ETH_BYTES + ND_IPV4_BYTES + ND_HOMA_COMMON_BYTES))
		return ND_LAYOUT_ANY;
	memcpy(&start, in + ND_ETH_TYPE_AT, sizeof(start));
	if (ND_LIKELY((start & htobe32(0xffffff00)) ==
		      htobe32((uint32_t)ND_ETH_TYPE_IPV4 << 16 | 0x4500))) {
		uint8_t protocol = in[ND_ETH_BYTES + ND_IPV4_PROTOCOL_AT];

		if (ND_LIKELY(protocol == ND_UDP_PROTOCOL))
			return ND_LAYOUT_NDP4;
		return protocol == ND_HOMA_PROTOCOL ? ND_LAYOUT_HOMA4 : ND_LAYOUT_ANY;
	}
	if ((start & htobe32(0xfffff000)) ==
		    htobe32((uint32_t)ND_ETH_TYPE_IPV6 << 16 | 0x6000) &&
	    in[ND_ETH_BYTES + ND_IPV6_PROTOCOL_AT] == ND_UDP_PROTOCOL)
		return ND_LAYOUT_NDP6;
	return ND_LAYOUT_ANY;
}

/* Of a usual frame: where the message begins. */
ND_INLINE uint32_t nd_layout_usual_at(enum nd_layout_kind kind)
{
	return ND_ETH_BYTES + (kind == ND_LAYOUT_NDP6 ? ND_IPV6_BYTES : ND_IPV4_BYTES) +
	       (kind == ND_LAYOUT_HOMA4 ? 0 : ND_UDP_BYTES);
}

/*
 * nd_layout_read() for a usual kind, which is constant at the call. False when there is anything to
 * say about the frame. The layout is constants but for class and `end` and stays in registers, which
 * halves what decoding costs.
 */
ND_INLINE bool nd_layout_read_usual(const struct nd_frame_config *config, const uint8_t *in,
				    uint32_t bytes, enum nd_layout_kind kind,
				    struct nd_layout *layout)
{
	const uint8_t *ip = in + ND_ETH_BYTES;
	uint32_t message_at = nd_layout_usual_at(kind);
	bool v4 = kind != ND_LAYOUT_NDP6, ndp = kind != ND_LAYOUT_HOMA4;
	uint32_t message_min = ndp ? ND_NDP_HEADER_BYTES : ND_HOMA_COMMON_BYTES;
	uint32_t ip_bytes = v4 ? ND_IPV4_BYTES : ND_IPV6_BYTES;
	/* Of all that is behind the Ethernet header, by what IP says. */
	uint32_t total = v4 ? nd_get_u16(ip + ND_IPV4_LENGTH_AT) :
			      ip_bytes + nd_get_u16(ip + ND_IPV6_LENGTH_AT);

	if (v4 && ND_UNLIKELY(!nd_ipv4_checksum_holds(ip, ND_IPV4_BYTES) ||
			      nd_ipv4_is_fragment(ip)))
		return false;
	if (ndp) {
		const uint8_t *udp = ip + ip_bytes;

		if (ND_UNLIKELY(nd_get_u16(udp + ND_UDP_TARGET_PORT_AT) != config->ndp_port ||
				nd_get_u16(udp + ND_UDP_LENGTH_AT) + ip_bytes != total))
			return false;
	}
	if (ND_UNLIKELY(ND_ETH_BYTES + total < message_at + message_min ||
			bytes < message_at + message_min))
		return false;
	*layout = (struct nd_layout){
		.eth = { .bytes = ND_ETH_BYTES,
			 .type = v4 ? ND_ETH_TYPE_IPV4 : ND_ETH_TYPE_IPV6,
			 .vlan = ND_ETH_VLAN_NONE },
		.ip = {
			.payload_bytes = total - ip_bytes,
			.bytes = (uint16_t)ip_bytes,
			.version = v4 ? 4 : 6,
			.protocol = ndp ? ND_UDP_PROTOCOL : ND_HOMA_PROTOCOL,
			.traffic_class = v4 ? ip[ND_IPV4_CLASS_AT] :
					      (uint8_t)(nd_get_u16(ip) >> ND_IPV6_CLASS_SHIFT),
		},
		.ip_at = ND_ETH_BYTES,
		.message_at = message_at,
		.end = bytes,
		.protocol = ndp ? ND_PROTO_NDP : ND_PROTO_HOMA,
		.udp = ndp,
	};
	nd_layout_end(layout, ND_ETH_BYTES, total);
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
