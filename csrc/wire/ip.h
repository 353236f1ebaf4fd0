/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The IPv4 and IPv6 headers, with one form of address: 16 bytes, IPv4 mapped into ::ffff:0:0/96.
 */
#ifndef ND_WIRE_IP_H
#define ND_WIRE_IP_H

#include "wire/bytes.h"
#include "wire/checksum.h"
#include "wire/error.h"
#include "wire/eth.h"

#define ND_IPV4_BYTES 20u
#define ND_IPV4_CLASS_AT 1u
#define ND_IPV4_LENGTH_AT 2u
#define ND_IPV4_FRAGMENT_AT 6u
#define ND_IPV4_FRAGMENT_MASK 0x3fff /* more fragments, or an offset */
#define ND_IPV4_PROTOCOL_AT 9u
#define ND_IPV4_CHECKSUM_AT 10u
#define ND_IPV4_ADDRESSES_AT 12u
#define ND_IPV6_BYTES 40u
#define ND_IPV6_CLASS_SHIFT 4 /* of the first 16 bits */
#define ND_IPV6_LABEL_AT 2u   /* of the flow label's last 16 bits */
#define ND_IPV6_LENGTH_AT 4u
#define ND_IPV6_PROTOCOL_AT 6u
#define ND_IPV6_ADDRESSES_AT 8u

/* The two bits of ECN in the traffic class; DSCP is above them. */
#define ND_IP_ECN_MASK 3
#define ND_IP_ECT0 2
#define ND_IP_CE 3
#define ND_IP_DSCP_SHIFT 2

/* The header without its addresses. */
struct nd_ip {
	uint32_t payload_bytes; /* behind the header, as the header says */
	uint32_t flow_label;    /* IPv6; written, not read */
	uint16_t bytes;         /* of the header, options included */
	uint8_t version;        /* 4 or 6 */
	uint8_t protocol;       /* of the payload */
	uint8_t traffic_class;  /* DSCP << 2 | ECN */
	uint8_t hop_limit;
	bool fragment;          /* IPv4: part of a packet */
};

static inline bool nd_ip_is_v4(const uint8_t address[16])
{
	uint64_t upper;
	uint32_t middle;

	memcpy(&upper, address, sizeof(upper));
	memcpy(&middle, address + 8, sizeof(middle));
	return upper == 0 && middle == htobe32(0xffff);
}

/* Multicast or IPv4's limited broadcast, by the address as it stands in the header. */
static inline bool nd_ip_is_group(uint8_t version, const uint8_t *address)
{
	return version == 4 ? address[0] >= 224 : address[0] == 0xff;
}

/* The target address as it stands in the header. */
static inline const uint8_t *nd_ip_target(const uint8_t *header, uint8_t version)
{
	return header + (version == 4 ? ND_IPV4_ADDRESSES_AT + 4 : ND_IPV6_ADDRESSES_AT + 16);
}

/* Writes a header and, for IPv4, its checksum; returns its length. */
static inline uint32_t nd_ip_encode(const struct nd_ip *ip, const uint8_t source[16],
				    const uint8_t target[16], uint8_t *out)
{
	uint16_t checksum;

	if (ip->version == 6) {
		nd_put_u64(out, UINT64_C(6) << 60 | (uint64_t)ip->traffic_class << 52 |
					(uint64_t)(ip->flow_label & 0xfffff) << 32 |
					(uint64_t)ip->payload_bytes << 16 |
					(uint64_t)ip->protocol << 8 | ip->hop_limit);
		memcpy(out + ND_IPV6_ADDRESSES_AT, source, 16);
		memcpy(out + ND_IPV6_ADDRESSES_AT + 16, target, 16);
		return ND_IPV6_BYTES;
	}
	/* No options, identification 0, do not fragment. */
	nd_put_u64(out, UINT64_C(0x45) << 56 | (uint64_t)ip->traffic_class << 48 |
				(uint64_t)(ND_IPV4_BYTES + ip->payload_bytes) << 32 | 0x4000);
	nd_put_u32(out + 8, (uint32_t)ip->hop_limit << 24 | (uint32_t)ip->protocol << 16);
	memcpy(out + ND_IPV4_ADDRESSES_AT, source + 12, 4);
	memcpy(out + ND_IPV4_ADDRESSES_AT + 4, target + 12, 4);
	checksum = (uint16_t)~nd_checksum_fold(nd_checksum_add_ipv4(out));
	memcpy(out + ND_IPV4_CHECKSUM_AT, &checksum, sizeof(checksum));
	return ND_IPV4_BYTES;
}

static inline enum nd_wire_error nd_ipv4_decode(const uint8_t *in, uint32_t room, struct nd_ip *ip)
{
	uint64_t word;
	uint32_t total;

	if (ND_UNLIKELY(room < ND_IPV4_BYTES))
		return ND_WIRE_ip_short;
	word = nd_get_u64(in);
	if (ND_UNLIKELY(word >> 60 != 4))
		return ND_WIRE_ip_version;
	total = (uint32_t)(word >> 32) & 0xffff;
	*ip = (struct nd_ip){
		.bytes = (uint16_t)(word >> 54 & 0x3c),
		.version = 4,
		.protocol = in[ND_IPV4_PROTOCOL_AT],
		.traffic_class = (uint8_t)(word >> 48),
		.hop_limit = in[8],
		.fragment = word & ND_IPV4_FRAGMENT_MASK,
	};
	if (ND_UNLIKELY(ip->bytes < ND_IPV4_BYTES || total < ip->bytes))
		return ND_WIRE_ip_header;
	if (ND_UNLIKELY(room < ip->bytes))
		return ND_WIRE_ip_short;
	ip->payload_bytes = total - ip->bytes;
	return ND_WIRE_OK;
}

static inline enum nd_wire_error nd_ipv6_decode(const uint8_t *in, uint32_t room, struct nd_ip *ip)
{
	uint64_t word;

	if (ND_UNLIKELY(room < ND_IPV6_BYTES))
		return ND_WIRE_ip_short;
	word = nd_get_u64(in);
	if (ND_UNLIKELY(word >> 60 != 6))
		return ND_WIRE_ip_version;
	*ip = (struct nd_ip){
		.payload_bytes = (uint32_t)(word >> 16) & 0xffff,
		.bytes = ND_IPV6_BYTES,
		.version = 6,
		.protocol = (uint8_t)(word >> 8),
		.traffic_class = (uint8_t)(word >> 52),
		.hop_limit = (uint8_t)word,
	};
	return ND_WIRE_OK;
}

/* By Ethernet type; what is not IP leaves *ip alone and is no error. */
static inline enum nd_wire_error nd_ip_decode(const uint8_t *in, uint32_t room, uint16_t eth_type,
					      struct nd_ip *ip)
{
	if (ND_LIKELY(eth_type == ND_ETH_TYPE_IPV4))
		return nd_ipv4_decode(in, room, ip);
	if (eth_type == ND_ETH_TYPE_IPV6)
		return nd_ipv6_decode(in, room, ip);
	return ND_WIRE_OK;
}

/* True when the checksum of an IPv4 header of this length is right. */
static inline bool nd_ipv4_checksum_holds(const uint8_t *header, uint32_t bytes)
{
	uint64_t sum = nd_checksum_add_ipv4(header);

	if (ND_UNLIKELY(bytes != ND_IPV4_BYTES))
		sum = nd_checksum_add(sum, header + ND_IPV4_BYTES, bytes - ND_IPV4_BYTES);
	/* Folded it would be 0xffff, which is this, since a header is never all zeros. */
	return sum % 0xffff == 0;
}

static inline bool nd_ipv4_is_fragment(const uint8_t *header)
{
	uint16_t fragment;

	memcpy(&fragment, header + ND_IPV4_FRAGMENT_AT, sizeof(fragment));
	return fragment & htobe16(ND_IPV4_FRAGMENT_MASK);
}

/* Copies the addresses out of a header, IPv4 in mapped form. */
static inline void nd_ip_addresses(const uint8_t *header, uint8_t version, uint8_t source[16],
				   uint8_t target[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, 0xff };

	if (version == 6) {
		memcpy(source, header + ND_IPV6_ADDRESSES_AT, 16);
		memcpy(target, header + ND_IPV6_ADDRESSES_AT + 16, 16);
		return;
	}
	memcpy(source, mapped, sizeof(mapped));
	memcpy(target, mapped, sizeof(mapped));
	memcpy(source + 12, header + ND_IPV4_ADDRESSES_AT, 4);
	memcpy(target + 12, header + ND_IPV4_ADDRESSES_AT + 4, 4);
}

/* DSCP and ECN. */
static inline uint8_t nd_ip_class(const uint8_t *header, uint8_t version)
{
	return version == 4 ? header[ND_IPV4_CLASS_AT] :
			      (uint8_t)(nd_get_u16(header) >> ND_IPV6_CLASS_SHIFT);
}

/* The addresses as they stand in the header, source first. */
static inline const uint8_t *nd_ip_addresses_in(const uint8_t *header, uint8_t version)
{
	return header + (version == 4 ? ND_IPV4_ADDRESSES_AT : ND_IPV6_ADDRESSES_AT);
}

/*
 * Both addresses, as they stand in the header, in one word in memory order. Of IPv6 it is their
 * halves by XOR, which does not tell source from target.
 */
static inline uint64_t nd_ip_ends(const uint8_t *addresses, uint8_t version)
{
	uint64_t ends, word;

	memcpy(&ends, addresses, sizeof(ends));
	if (version == 4)
		return ends;
#pragma GCC unroll 3
	for (uint32_t at = 8; at < 32; at += 8) {
		memcpy(&word, addresses + at, sizeof(word));
		ends ^= word;
	}
	return ends;
}

/* Rewrites DSCP and ECN in place, and the checksum with them. */
static inline void nd_ip_set_class(uint8_t *header, uint8_t version, uint8_t traffic_class)
{
	uint16_t before, after;

	if (version == 6) {
		nd_put_u16(header, (uint16_t)((nd_get_u16(header) & 0xf00f) | traffic_class << 4));
		return;
	}
	memcpy(&before, header, sizeof(before));
	header[ND_IPV4_CLASS_AT] = traffic_class;
	memcpy(&after, header, sizeof(after));
	nd_checksum_update(header + ND_IPV4_CHECKSUM_AT, before, after);
}

/* Rewrites the length in place, and the checksum with it. */
static inline void nd_ip_set_payload(uint8_t *header, uint8_t version, uint32_t header_bytes,
				     uint32_t payload_bytes)
{
	uint16_t before, after;

	if (version == 6) {
		nd_put_u16(header + ND_IPV6_LENGTH_AT, (uint16_t)payload_bytes);
		return;
	}
	memcpy(&before, header + ND_IPV4_LENGTH_AT, sizeof(before));
	nd_put_u16(header + ND_IPV4_LENGTH_AT, (uint16_t)(header_bytes + payload_bytes));
	memcpy(&after, header + ND_IPV4_LENGTH_AT, sizeof(after));
	nd_checksum_update(header + ND_IPV4_CHECKSUM_AT, before, after);
}

#endif
