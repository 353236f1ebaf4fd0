// SPDX-License-Identifier: Apache-2.0
/* Between a UDP datagram, as sockets see it, and the Ethernet frame that would carry it. */
#include "port/udp_frame.h"

#include "wire/checksum.h"

#include <linux/if_ether.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <string.h>

#define TAG_BYTES 4u
#define TAGS_MAX 2u
#define HOP_LIMIT 64
#define IPV4_VERSION 4
#define FRAGMENT_MASK 0x3fff /* offset, and more to come */

/* Ethertype behind any VLAN tags; the frame shrinks to what follows it. 0 when it is too short. */
static uint16_t enter_ethernet(const uint8_t **at, uint32_t *bytes)
{
	uint16_t type = 0;

	for (uint32_t i = 0, header = ETH_HLEN; i <= TAGS_MAX; i++, header = TAG_BYTES) {
		if (*bytes < header)
			return 0;
		memcpy(&type, *at + header - sizeof(type), sizeof(type));
		type = ntohs(type);
		*at += header;
		*bytes -= header;
		if (type != ETH_P_8021Q && type != ETH_P_8021AD)
			break;
	}
	return type;
}

static bool enter_ipv4(const uint8_t **at, uint32_t *bytes, struct nd_udp_datagram *datagram)
{
	struct iphdr ip;
	uint32_t header_bytes, total_bytes;

	if (*bytes < sizeof(ip))
		return false;
	memcpy(&ip, *at, sizeof(ip));
	header_bytes = ip.ihl * 4u;
	total_bytes = ntohs(ip.tot_len);
	if (ip.version != IPV4_VERSION || header_bytes < sizeof(ip) || ip.protocol != IPPROTO_UDP ||
	    total_bytes > *bytes || total_bytes < header_bytes ||
	    (ntohs(ip.frag_off) & FRAGMENT_MASK))
		return false;
	datagram->target.v4 = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = ip.daddr,
	};
	datagram->traffic_class = ip.tos;
	*at += header_bytes;
	*bytes = total_bytes - header_bytes;
	return true;
}

static bool enter_ipv6(const uint8_t **at, uint32_t *bytes, struct nd_udp_datagram *datagram)
{
	struct ip6_hdr ip;

	if (*bytes < sizeof(ip))
		return false;
	memcpy(&ip, *at, sizeof(ip));
	if (ip.ip6_vfc >> 4 != 6 || ip.ip6_nxt != IPPROTO_UDP ||
	    ntohs(ip.ip6_plen) > *bytes - sizeof(ip))
		return false;
	datagram->target.v6 = (struct sockaddr_in6){
		.sin6_family = AF_INET6,
		.sin6_addr = ip.ip6_dst,
	};
	datagram->traffic_class = (uint8_t)(ntohl(ip.ip6_flow) >> 20);
	*at += sizeof(ip);
	*bytes = ntohs(ip.ip6_plen);
	return true;
}

bool nd_udp_frame_parse(const uint8_t *frame, uint32_t bytes, sa_family_t family,
			struct nd_udp_datagram *datagram)
{
	uint16_t type = enter_ethernet(&frame, &bytes);
	struct udphdr udp;

	if (type == ETH_P_IP ? family != AF_INET || !enter_ipv4(&frame, &bytes, datagram)
			     : type != ETH_P_IPV6 || family != AF_INET6 ||
				       !enter_ipv6(&frame, &bytes, datagram))
		return false;
	if (bytes < sizeof(udp))
		return false;
	memcpy(&udp, frame, sizeof(udp));
	if (ntohs(udp.len) < sizeof(udp) || ntohs(udp.len) > bytes)
		return false;
	if (family == AF_INET)
		datagram->target.v4.sin_port = udp.dest;
	else
		datagram->target.v6.sin6_port = udp.dest;
	datagram->payload = frame + sizeof(udp);
	datagram->payload_bytes = ntohs(udp.len) - (uint32_t)sizeof(udp);
	datagram->tail_bytes = 0;
	return true;
}

static uint8_t *build_ipv4(uint8_t *udp, uint32_t udp_bytes, const struct sockaddr_in *source,
			   const struct sockaddr_in *target, uint8_t traffic_class)
{
	struct iphdr ip = {
		.version = IPV4_VERSION,
		.ihl = sizeof(ip) / 4,
		.tos = traffic_class,
		.tot_len = htons((uint16_t)(sizeof(ip) + udp_bytes)),
		.frag_off = htons(IP_DF),
		.ttl = HOP_LIMIT,
		.protocol = IPPROTO_UDP,
		.saddr = source->sin_addr.s_addr,
		.daddr = target->sin_addr.s_addr,
	};

	ip.check = (uint16_t)~nd_checksum_fold(nd_checksum_add_ipv4((const uint8_t *)&ip));
	return memcpy(udp - sizeof(ip), &ip, sizeof(ip));
}

/* Over IPv6 a UDP checksum is mandatory; the kernel has checked and removed the sender's. */
static uint8_t *build_ipv6(uint8_t *udp, uint32_t udp_bytes, const struct sockaddr_in6 *source,
			   const struct sockaddr_in6 *target, uint8_t traffic_class)
{
	struct ip6_hdr ip = {
		.ip6_flow = htonl(6u << 28 | (uint32_t)traffic_class << 20),
		.ip6_plen = htons((uint16_t)udp_bytes),
		.ip6_nxt = IPPROTO_UDP,
		.ip6_hlim = HOP_LIMIT,
		.ip6_src = source->sin6_addr,
		.ip6_dst = target->sin6_addr,
	};
	uint64_t sum = nd_checksum_pseudo((const uint8_t *)&ip + offsetof(struct ip6_hdr, ip6_src),
					  2 * sizeof(ip.ip6_src), IPPROTO_UDP, udp_bytes);
	uint16_t check = (uint16_t)~nd_checksum_fold(nd_checksum_add(sum, udp, udp_bytes));

	if (check == 0)
		check = UINT16_MAX;
	memcpy(udp + offsetof(struct udphdr, check), &check, sizeof(check));
	return memcpy(udp - sizeof(ip), &ip, sizeof(ip));
}

uint32_t nd_udp_frame_build(uint8_t *payload, uint32_t payload_bytes,
			    const union nd_udp_address *source,
			    const union nd_udp_address *target, uint8_t traffic_class)
{
	bool v4 = source->any.sa_family == AF_INET;
	uint32_t udp_bytes = (uint32_t)sizeof(struct udphdr) + payload_bytes;
	struct udphdr header = {
		.source = v4 ? source->v4.sin_port : source->v6.sin6_port,
		.dest = v4 ? target->v4.sin_port : target->v6.sin6_port,
		.len = htons((uint16_t)udp_bytes),
	};
	struct ethhdr ethernet = { .h_proto = htons(v4 ? ETH_P_IP : ETH_P_IPV6) };
	uint8_t *at = memcpy(payload - sizeof(header), &header, sizeof(header));

	at = v4 ? build_ipv4(at, udp_bytes, &source->v4, &target->v4, traffic_class)
		: build_ipv6(at, udp_bytes, &source->v6, &target->v6, traffic_class);
	at = memcpy(at - sizeof(ethernet), &ethernet, sizeof(ethernet));
	return (uint32_t)(payload - at);
}
