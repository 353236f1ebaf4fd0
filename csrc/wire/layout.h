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
