// SPDX-License-Identifier: Apache-2.0
/* The switch as a router, VLANs, and what tells flows apart. */
#include "switch/flow.h"
#include "test/switch_bed.h"
#include "wire/checksum.h"
#include "wire/ip.h"
#include "wire/udp.h"

#define FLOWS 4000u

static const uint8_t router[6] = { 2, 0, 0, 0, 0xaa, 0 };

/* What a router's frame says: addresses, hop limit, IP addresses by their last byte. */
struct hop {
	uint8_t limit;
	uint16_t source_port;
	uint8_t from, to;
	bool v6;
};

static uint32_t ip_frame(uint8_t *out, const uint8_t target_mac[6], unsigned from,
			 const struct hop *hop)
{
	const struct nd_ip ip = { .payload_bytes = 18, .version = hop->v6 ? 6 : 4,
				  .protocol = ND_UDP_PROTOCOL, .hop_limit = hop->limit };
	uint8_t source[16] = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = hop->from };
	uint8_t target[16] = { [10] = 0xff, [11] = 0xff, [12] = 10, [14] = 9, [15] = hop->to };
	uint32_t at = ND_ETH_BYTES;

	if (hop->v6) {
		memset(source, 0, 15);
		memset(target, 0, 15);
		source[0] = target[0] = 0xfd;
		target[1] = 9;
	}
	memcpy(out, target_mac, 6);
	memcpy(out + 6, mac_of(from), 6);
	nd_eth_encode(hop->v6 ? ND_ETH_TYPE_IPV6 : ND_ETH_TYPE_IPV4, ND_ETH_VLAN_NONE, 0, out);
	at += nd_ip_encode(&ip, source, target, out + at);
	memset(out + at, 0, 18);
	nd_udp_encode(hop->source_port, 5000, 10, out + at);
	return at + 18;
}

static void open_router(void)
{
	open_switch(false, 256);
	nd_switch_free(sw);
	sw = nd_switch_new(&(struct nd_switch_config){
				   .name = "r0", .packets_max = 256, .frame_bytes_max = 2048,
				   .fdb_max = 64, .routes_max = 8, .seed = 1,
				   .frame = nd_frame_config_default() },
			   &error);
	CHECK(sw);
	for (unsigned i = 0; i < PORTS; i++) {
		add_port(i, &nd_droptail_ops, &droptail, 0, NULL);
		memcpy(sw->ports[i].mac, router, 5);
		sw->ports[i].mac[5] = (uint8_t)i;
	}
}

static void route_to(uint8_t third, uint8_t length, uint16_t to, const uint16_t *ports,
		     uint8_t count)
{
	uint8_t prefix[16] = { [10] = 0xff, [11] = 0xff, [12] = 10, [14] = third };
	struct nd_route route = { .to = to, .count = count };

	for (uint8_t i = 0; i < count; i++) {
		route.hops[i].port = ports[i];
		memcpy(route.hops[i].mac, mac_of(ports[i]), 6);
	}
	CHECK_EQ(nd_switch_set_route(sw, prefix, length, &route), 0);
}

/* The one frame that arrived at a host, copied. */
static uint32_t take(unsigned host, uint8_t *out)
{
	struct nd_frame frame;
	uint32_t bytes;

	if (nd_port_receive(hosts[host], &frame, 1) == 0)
		return 0;
	bytes = frame.bytes;
	memcpy(out, frame.data, bytes);
	nd_port_release(hosts[host]);
	return bytes;
}

TEST(nd_switch_route__rewrites_addresses_and_counts_the_hop)
{
	const uint16_t ports[1] = { 2 };
	uint8_t mac[6] = { 2, 0, 0, 0, 0xaa, 0 };
	uint8_t frame[128], got[128];
	uint32_t bytes;

	open_router();
	route_to(9, 120, 2, ports, 1);
	bytes = ip_frame(frame, mac, 0, &(struct hop){ .limit = 9, .from = 1, .to = 7 });
	send_bytes(0, frame, bytes);
	rounds(1);
	CHECK_EQ(take(2, got), bytes);
	CHECK(memcmp(got, mac_of(2), 6) == 0);
	mac[5] = 2;
	CHECK(memcmp(got + 6, mac, 6) == 0);
	CHECK_EQ(got[ND_ETH_BYTES + 8], 8);
	CHECK(nd_ipv4_checksum_holds(got + ND_ETH_BYTES, ND_IPV4_BYTES));
	CHECK_EQ(nd_switch_counters(sw).routed, 1);
	close_all();
}

TEST(nd_switch_route__drops_with_a_reason)
{
	const uint16_t ports[1] = { 2 };
	const uint16_t elsewhere[1] = { 3 };
	uint8_t frame[128] = { 0 };

	open_router();
	route_to(9, 120, 2, ports, 1);
	send_bytes(0, frame, ip_frame(frame, router, 0, &(struct hop){ .limit = 1, .to = 7 }));
	memcpy(frame, router, 6);
	frame[12] = 0x08;
	frame[13] = 0x06;
	send_bytes(0, frame, 60);
	rounds(1);
	CHECK_EQ(nd_switch_counters(sw).dropped_hop_limit, 1);
	CHECK_EQ(nd_switch_counters(sw).dropped_no_route, 1);
	send_bytes(0, frame,
		   ip_frame(frame, router, 0, &(struct hop){ .limit = 9, .to = 7, .v6 = true }));
	route_to(9, 120, 2, elsewhere, 1);
	send_bytes(0, frame, ip_frame(frame, router, 0, &(struct hop){ .limit = 9, .to = 7 }));
	rounds(1);
	CHECK_EQ(nd_switch_counters(sw).dropped_no_route, 2);
	CHECK_EQ(nd_switch_counters(sw).dropped_no_neighbour, 1);
	nd_switch_enable_port(sw, 2, false);
	send_bytes(0, frame, ip_frame(frame, router, 0, &(struct hop){ .limit = 9, .to = 7 }));
	rounds(1);
	CHECK_EQ(nd_switch_counters(sw).dropped_no_path, 1);
	close_all();
}

/* R-NRT-01, by destination: each address of a host names another way to it. */
TEST(nd_switch_route__the_longest_prefix_of_both_versions)
{
	const uint16_t two[1] = { 2 }, three[1] = { 3 };
	uint8_t six[16] = { 0xfd, 9 };
	struct nd_route route = { .to = 1, .count = 1, .hops = { { .port = 1 } } };
	uint8_t frame[128], got[128];

	open_router();
	route_to(0, 104, 2, two, 1);
	route_to(9, 120, 3, three, 1);
	CHECK_EQ(nd_switch_set_route(sw, six, 16, &route), 0);
	send_bytes(0, frame, ip_frame(frame, router, 0, &(struct hop){ .limit = 9, .to = 7 }));
	send_bytes(0, frame,
		   ip_frame(frame, router, 0, &(struct hop){ .limit = 9, .to = 7, .v6 = true }));
	rounds(1);
	CHECK(take(3, got) > 0);
	CHECK(take(1, got) > 0);
	CHECK_EQ(got[ND_ETH_BYTES + 7], 8);
	CHECK_EQ(nd_routes_count(&sw->routes), 3);
	nd_switch_remove_port(sw, 3);
	nd_port_close(hosts[3]);
	hosts[3] = NULL;
	CHECK_EQ(nd_routes_count(&sw->routes), 2);
	send_bytes(0, frame, ip_frame(frame, router, 0, &(struct hop){ .limit = 9, .to = 7 }));
	rounds(1);
	CHECK(take(2, got) > 0);
	close_all();
}

/* R-NRT-01, R-EC-1: routes over a group; a UDP source port stays on its way. */
TEST(nd_switch_route__a_group_spreads_by_source_port)
{
	const uint16_t ports[2] = { 2, 3 };
	unsigned at[PORTS] = { 0 };
	uint8_t frame[128], got[128];

	open_router();
	CHECK_EQ(nd_switch_add_group(sw, ND_ECMP_FLOW, ports, 2, 1), 0);
	route_to(9, 120, ND_SWITCH_GROUP, ports, 2);
	for (uint16_t i = 0; i < 64; i++) {
		const struct hop hop = { .limit = 9, .to = 7, .source_port = (uint16_t)(i / 2) };

		send_bytes(0, frame, ip_frame(frame, router, 0, &hop));
		rounds(1);
		for (unsigned port = 2; port < PORTS; port++) {
			if (take(port, got) == 0)
				continue;
			at[port]++;
			CHECK(memcmp(got, mac_of(port), 6) == 0);
		}
	}
	CHECK_EQ(at[2] + at[3], 64);
	CHECK(at[2] % 2 == 0 && at[3] % 2 == 0);
	CHECK(at[2] > 10 && at[3] > 10);
	close_all();
}

/* R-EC-1: chi-square of four ports at 3 degrees of freedom; 16.3 is passed once in a thousand. */
TEST(nd_flow_of__spreads_flows_evenly_and_keeps_each)
{
	const struct nd_frame_config config = nd_frame_config_default();
	const uint16_t ports[4] = { 0, 1, 2, 3 };
	unsigned counts[4] = { 0 };
	struct nd_ecmp group;
	double chi = 0;
	uint8_t frame[128];

	CHECK_EQ(nd_ecmp_init(&group, ND_ECMP_FLOW, ports, 4, 77), 0);
	for (uint32_t i = 0; i < FLOWS; i++) {
		const struct hop hop = { .limit = 9, .to = 7, .source_port = (uint16_t)i };
		uint32_t bytes = ip_frame(frame, router, 0, &hop);
		struct nd_flow_key first = nd_flow_of(&config, frame, bytes);

		frame[bytes - 1] ^= 1;
		CHECK_EQ(nd_flow_of(&config, frame, bytes).hash, first.hash);
		CHECK_EQ(first.path, ND_ECMP_NO_PATH);
		counts[nd_ecmp_pick(&group, first.hash, first.path)]++;
	}
	for (unsigned i = 0; i < 4; i++)
		chi += (counts[i] - FLOWS / 4.0) * (counts[i] - FLOWS / 4.0) / (FLOWS / 4.0);
	CHECK(chi < 16.3);
}

TEST(nd_flow_of__fragments_and_strangers_go_by_address)
{
	const struct nd_frame_config config = nd_frame_config_default();
	uint8_t frame[128];
	uint32_t bytes = ip_frame(frame, router, 0, &(struct hop){ .limit = 9, .source_port = 1 });
	uint64_t whole = nd_flow_of(&config, frame, bytes).hash;
	uint64_t part;

	frame[ND_ETH_BYTES + 6] = 0x20; /* more fragments */
	part = nd_flow_of(&config, frame, bytes).hash;
	CHECK(part != whole);
	frame[ND_ETH_BYTES + ND_IPV4_BYTES + 1] = 2;
	CHECK_EQ(nd_flow_of(&config, frame, bytes).hash, part);
	frame[12] = 0x88;
	frame[13] = 0xb5;
	part = nd_flow_of(&config, frame, bytes).hash;
	frame[11] ^= 1;
	CHECK(nd_flow_of(&config, frame, bytes).hash != part);
	CHECK(nd_flow_of(&config, frame, ND_ETH_BYTES).hash != 0);
}

static void send_tagged(unsigned from, const uint8_t target[6], uint16_t vlan, uint8_t tag)
{
	uint8_t frame[64] = { 0 };

	memcpy(frame, target, 6);
	memcpy(frame + 6, mac_of(from), 6);
	nd_eth_encode(0x88b5, vlan, 3, frame);
	frame[vlan == ND_ETH_VLAN_NONE ? 15 : 18] = tag;
	send_bytes(from, frame, sizeof(frame));
}

TEST(nd_switch_round__each_vlan_has_its_own_addresses)
{
	uint8_t got[128];

	open_plain(true);
	send_tagged(1, mac_of(0), 5, 'x'); /* host 1 is known in VLAN 5, behind port 1 */
	send_tagged(2, mac_of(0), 6, 'x'); /* ... and its address in VLAN 6 behind port 2 */
	rounds(1);
	for (unsigned i = 0; i < PORTS; i++) {
		while (take(i, got) > 0)
			;
	}
	CHECK_EQ(nd_switch_set_address(sw, nd_fdb_key(mac_of(1), 6), 2), 0);
	send_tagged(0, mac_of(1), 5, 'a');
	send_tagged(0, mac_of(1), 6, 'b');
	rounds(1);
	CHECK(take(1, got) > 0);
	CHECK_EQ(got[18], 'a');
	CHECK_EQ(take(1, got), 0);
	CHECK(take(2, got) > 0);
	CHECK_EQ(got[18], 'b');
	CHECK_EQ(take(3, got), 0);
	/* A tag of VLAN 0 only carries a priority. */
	send_tagged(1, mac_of(0), 0, 'c');
	rounds(1);
	CHECK_EQ(nd_fdb_lookup(&sw->fdb, nd_fdb_key(mac_of(1), 0)), 1);
	close_all();
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
