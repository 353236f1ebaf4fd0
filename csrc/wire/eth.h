/* SPDX-License-Identifier: Apache-2.0 */
/* The Ethernet header, with at most one 802.1Q tag. */
#ifndef ND_WIRE_ETH_H
#define ND_WIRE_ETH_H

#include "wire/bytes.h"

#define ND_ETH_ADDRESS_BYTES 6u
#define ND_ETH_TARGET_AT 0u
#define ND_ETH_SOURCE_AT 6u
#define ND_ETH_TYPE_AT 12u
#define ND_ETH_BYTES 14u
#define ND_ETH_TAG_AT 14u /* of a tagged frame */
#define ND_ETH_TAG_BYTES 4u
#define ND_ETH_FRAME_BYTES_MIN 60u /* shorter frames are padded by whoever puts them on a link */

#define ND_ETH_TYPE_IPV4 0x0800
#define ND_ETH_TYPE_IPV6 0x86dd
#define ND_ETH_TYPE_VLAN 0x8100

#define ND_ETH_VLAN_NONE UINT16_MAX /* untagged */
#define ND_ETH_VLAN_MASK 0x0fff     /* id 0: a tag that only carries the priority */
#define ND_ETH_PCP_SHIFT 13

/* The header without its addresses. */
struct nd_eth {
	uint16_t bytes; /* of the header, tag included */
	uint16_t type;  /* of what follows */
	uint16_t vlan;  /* id, or ND_ETH_VLAN_NONE */
	uint8_t pcp;    /* priority 0..7 in the tag */
};

/* Multicast or broadcast. */
static inline bool nd_eth_is_group(const uint8_t *address)
{
	return address[0] & 1;
}

/* Writes what follows the addresses and returns the header's length. */
static inline uint32_t nd_eth_encode(uint16_t type, uint16_t vlan, uint8_t pcp, uint8_t *out)
{
	if (vlan == ND_ETH_VLAN_NONE) {
		nd_put_u16(out + ND_ETH_TYPE_AT, type);
		return ND_ETH_BYTES;
	}
	nd_put_u16(out + ND_ETH_TYPE_AT, ND_ETH_TYPE_VLAN);
	nd_put_u16(out + ND_ETH_TAG_AT,
		   (uint16_t)((vlan & ND_ETH_VLAN_MASK) | (pcp & 7) << ND_ETH_PCP_SHIFT));
	nd_put_u16(out + ND_ETH_TAG_AT + 2, type);
	return ND_ETH_BYTES + ND_ETH_TAG_BYTES;
}

/* False when bytes do not hold the header. */
static inline bool nd_eth_decode(const uint8_t *in, uint32_t bytes, struct nd_eth *eth)
{
	uint16_t tag;

	if (ND_UNLIKELY(bytes < ND_ETH_BYTES))
		return false;
	*eth = (struct nd_eth){
		.bytes = ND_ETH_BYTES,
		.type = nd_get_u16(in + ND_ETH_TYPE_AT),
		.vlan = ND_ETH_VLAN_NONE,
	};
	if (ND_LIKELY(eth->type != ND_ETH_TYPE_VLAN))
		return true;
	if (bytes < ND_ETH_BYTES + ND_ETH_TAG_BYTES)
		return false;
	tag = nd_get_u16(in + ND_ETH_TAG_AT);
	*eth = (struct nd_eth){
		.bytes = ND_ETH_BYTES + ND_ETH_TAG_BYTES,
		.type = nd_get_u16(in + ND_ETH_TAG_AT + 2),
		.vlan = tag & ND_ETH_VLAN_MASK,
		.pcp = (uint8_t)(tag >> ND_ETH_PCP_SHIFT),
	};
	return true;
}

#endif
