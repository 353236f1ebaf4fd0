// SPDX-License-Identifier: Apache-2.0
/* Ethernet, IP and UDP headers by themselves: written bytes, edits in place, every short length. */
#include "test/harness.h"
#include "test/wire.h"
#include "wire/ip.h"
#include "wire/udp.h"

static uint8_t header[64], expected[64];

TEST(nd_eth_encode__untagged_and_tagged)
{
	struct nd_eth eth;

	memset(header, 0xee, sizeof(header));
	CHECK_EQ(nd_eth_encode(ND_ETH_TYPE_IPV6, ND_ETH_VLAN_NONE, 7, header), 14);
	CHECK_EQ(nd_get_u16(header + 12), 0x86dd);
	CHECK(nd_eth_decode(header, 14, &eth));
	CHECK_EQ(eth.vlan, ND_ETH_VLAN_NONE);
	CHECK_EQ(eth.type, ND_ETH_TYPE_IPV6);
	CHECK_EQ(nd_eth_encode(ND_ETH_TYPE_IPV4, 0xfff, 5, header), 18);
	wire_hex("8100 afff 0800", expected);
	CHECK_EQ(memcmp(header + 12, expected, 6), 0);
	CHECK(nd_eth_decode(header, 18, &eth));
	CHECK_EQ(eth.bytes, 18);
	CHECK_EQ(eth.vlan, 0xfff);
	CHECK_EQ(eth.pcp, 5);
	for (uint32_t bytes = 0; bytes < 18; bytes++)
		CHECK(!nd_eth_decode(header, bytes, &eth));
	/* Id 0 carries the priority alone. */
	nd_eth_encode(ND_ETH_TYPE_IPV4, 0, 3, header);
	CHECK(nd_eth_decode(header, 18, &eth));
	CHECK_EQ(eth.vlan, 0);
	CHECK_EQ(eth.pcp, 3);
}

/* A second tag is not looked through: such a frame is forwarded, not ours. */
TEST(nd_eth_decode__one_tag_only)
{
	struct nd_eth eth;

	nd_eth_encode(ND_ETH_TYPE_VLAN, 7, 0, header);
	CHECK(nd_eth_decode(header, 18, &eth));
	CHECK_EQ(eth.type, ND_ETH_TYPE_VLAN);
}

TEST(nd_ip_encode__ipv4_bytes)
{
	struct nd_frame_peer peer = wire_peer(WIRE_V4);
	struct nd_ip ip = { .payload_bytes = 1000, .version = 4, .protocol = 17,
			    .traffic_class = 0x2c, .hop_limit = 64 };

	CHECK_EQ(nd_ip_encode(&ip, peer.source, peer.target, header), 20);
	wire_hex("45 2c 03fc 0000 4000 40 11 22b1 0a00000b 0a00000a", expected);
	CHECK_EQ(memcmp(header, expected, 20), 0);
	CHECK(nd_ipv4_checksum_holds(header, 20));
}

TEST(nd_ip_encode__ipv6_bytes)
{
	struct nd_frame_peer peer = wire_peer(WIRE_V6);
	struct nd_ip ip = { .payload_bytes = 1000, .version = 6, .protocol = 146,
			    .traffic_class = 0xe1, .hop_limit = 63, .flow_label = 0xfabcde };

	CHECK_EQ(nd_ip_encode(&ip, peer.source, peer.target, header), 40);
	wire_hex("6e1abcde 03e8 92 3f fd000000000000000000000000000011 "
		 "fd000000000000070000000000000010", expected);
	CHECK_EQ(memcmp(header, expected, 40), 0);
}

static void check_round_trip(enum wire_form form)
{
	struct nd_frame_peer peer = wire_peer(form);
	struct nd_ip got = { 0 };
	struct nd_ip ip = {
		.payload_bytes = 777,
		.bytes = form == WIRE_V4 ? 20 : 40,
		.version = form == WIRE_V4 ? 4 : 6,
		.protocol = 17,
		.traffic_class = 0xab,
		.hop_limit = 9,
	};
	uint16_t type = form == WIRE_V4 ? ND_ETH_TYPE_IPV4 : ND_ETH_TYPE_IPV6;
	uint8_t source[16], target[16];

	nd_ip_encode(&ip, peer.source, peer.target, header);
	for (uint32_t room = 0; room < ip.bytes; room++)
		CHECK_EQ(nd_ip_decode(header, room, type, &got), ND_WIRE_ip_short);
	CHECK_EQ(nd_ip_decode(header, ip.bytes, type, &got), ND_WIRE_OK);
	CHECK_EQ(got.payload_bytes, ip.payload_bytes);
	CHECK_EQ(got.bytes, ip.bytes);
	CHECK_EQ(got.version, ip.version);
	CHECK_EQ(got.protocol, ip.protocol);
	CHECK_EQ(got.traffic_class, ip.traffic_class);
	CHECK_EQ(got.hop_limit, ip.hop_limit);
	CHECK(!got.fragment);
	nd_ip_addresses(header, ip.version, source, target);
	CHECK_EQ(memcmp(source, peer.source, 16), 0);
	CHECK_EQ(memcmp(target, peer.target, 16), 0);
}

TEST(nd_ip_decode__inverts_encode)
{
	check_round_trip(WIRE_V4);
	check_round_trip(WIRE_V6);
}

TEST(nd_ip_decode__other_types_are_no_error)
{
	struct nd_ip ip = { 0 };

	CHECK_EQ(nd_ip_decode(header, 0, 0x0806, &ip), ND_WIRE_OK);
	CHECK_EQ(ip.version, 0);
}

TEST(nd_ipv4_decode__fragments)
{
	struct nd_frame_peer peer = wire_peer(WIRE_V4);
	struct nd_ip ip = { .payload_bytes = 100, .version = 4 };
	static const struct {
		uint16_t bits;
		bool fragment;
	} cases[] = { { 0x4000, false }, { 0x0000, false }, { 0x2000, true },
		      { 0x0001, true }, { 0x1fff, true }, { 0x8000, false } };

	nd_ip_encode(&ip, peer.source, peer.target, header);
	for (unsigned i = 0; i < ND_ARRAY_SIZE(cases); i++) {
		nd_put_u16(header + 6, cases[i].bits);
		CHECK_EQ(nd_ipv4_decode(header, 20, &ip), ND_WIRE_OK);
		CHECK_EQ(ip.fragment, cases[i].fragment);
	}
}

TEST(nd_ip_set_class__in_place)
{
	struct nd_ip ip = { .payload_bytes = 100, .version = 4, .protocol = 17 };
	struct nd_frame_peer peer = wire_peer(WIRE_V4);
	struct nd_ip got;

	for (unsigned class = 0; class < 256; class++) {
		ip.version = 4;
		peer = wire_peer(WIRE_V4);
		ip.traffic_class = (uint8_t)(class * 7);
		nd_ip_encode(&ip, peer.source, peer.target, header);
		nd_ip_set_class(header, 4, (uint8_t)class);
		nd_ip_set_payload(header, 4, 20, class * 31);
		CHECK(nd_ipv4_checksum_holds(header, 20));
		CHECK_EQ(nd_ipv4_decode(header, 20, &got), ND_WIRE_OK);
		CHECK_EQ(got.traffic_class, class);
		CHECK_EQ(got.payload_bytes, class * 31);
		ip.version = 6;
		ip.flow_label = 0xabcde;
		peer = wire_peer(WIRE_V6);
		nd_ip_encode(&ip, peer.source, peer.target, header);
		nd_ip_set_class(header, 6, (uint8_t)class);
		nd_ip_set_payload(header, 6, 40, class * 31);
		CHECK_EQ(nd_get_u32(header), 0x600abcdeu | class << 20);
		CHECK_EQ(nd_ipv6_decode(header, 40, &got), ND_WIRE_OK);
		CHECK_EQ(got.payload_bytes, class * 31);
	}
}

TEST(nd_ip_is_group__by_version)
{
	static const uint8_t addresses[][2] = { { 10, 0 }, { 224, 0 }, { 255, 255 }, { 0xfe, 0x80 } };

	CHECK(!nd_ip_is_group(4, addresses[0]));
	CHECK(nd_ip_is_group(4, addresses[1]));
	CHECK(nd_ip_is_group(4, addresses[2]));
	CHECK(nd_ip_is_group(6, addresses[2]));
	CHECK(!nd_ip_is_group(6, addresses[3]));
}

TEST(nd_udp_encode__bytes)
{
	nd_udp_encode(0xc001, 4797, 1000, header);
	wire_hex("c001 12bd 03f0 0000", expected);
	CHECK_EQ(memcmp(header, expected, 8), 0);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
