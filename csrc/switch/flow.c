// SPDX-License-Identifier: Apache-2.0
/* Hashing the five-tuple. */
#include "switch/flow.h"

#include "base/rng.h"
#include "switch/ecmp.h"
#include "wire/layout.h"

#define TCP_PROTOCOL 6
#define SCTP_PROTOCOL 132

static uint64_t add(uint64_t hash, const uint8_t *at)
{
	return nd_mix64(hash ^ nd_get_u64(at));
}

/* Two 16-bit ports follow the header of these. */
static bool has_ports(const struct nd_layout *layout, uint32_t bytes)
{
	const struct nd_ip *ip = &layout->ip;

	return (ip->protocol == TCP_PROTOCOL || ip->protocol == ND_UDP_PROTOCOL ||
		ip->protocol == SCTP_PROTOCOL || ip->protocol == ND_HOMA_PROTOCOL) &&
	       !ip->fragment && bytes >= layout->ip_at + ip->bytes + 4u;
}

struct nd_flow_key nd_flow_of(const struct nd_frame_config *config, const uint8_t *frame,
			      uint32_t bytes)
{
	struct nd_flow_key key = { .path = ND_ECMP_NO_PATH };
	struct nd_layout layout;
	const uint8_t *addresses;

	nd_layout_read(config, frame, bytes, &layout);
	if (layout.ip.version == 0) {
		/* Twelve bytes of addresses, as two words that overlap. */
		key.hash = add(add(0, frame), frame + 4);
		return key;
	}
	key.hash = layout.ip.protocol;
	addresses = frame + layout.ip_at;
	if (layout.ip.version == 4) {
		key.hash = add(key.hash, addresses + ND_IPV4_ADDRESSES_AT);
	} else {
		for (uint32_t i = 0; i < 32; i += 8)
			key.hash = add(key.hash, addresses + ND_IPV6_ADDRESSES_AT + i);
	}
	if (has_ports(&layout, bytes))
		key.hash = nd_mix64(key.hash ^
				    nd_get_u32(frame + layout.ip_at + layout.ip.bytes));
	if (layout.protocol == ND_PROTO_HOMA && layout.udp)
		key.path = (uint16_t)(nd_get_u16(frame + layout.message_at - ND_UDP_BYTES) -
				      config->source_port_first);
	return key;
}
