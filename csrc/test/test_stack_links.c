// SPDX-License-Identifier: Apache-2.0
/* Two hosts over every kind of port that needs an interface, in a private network namespace. */
#include "test/netns.h"
#include "test/stacks.h"

static const uint8_t macs[2][6] = { { 2, 0, 0, 0, 0, 1 }, { 2, 0, 0, 0, 0, 2 } };

static struct nd_stack *open_end(enum nd_port_backend backend, const char *name, uint32_t end,
				 bool v6)
{
	struct nd_stack_config config = {
		.ports = { { .backend = backend,
			     .name = name,
			     .filter = { .homa = true, .udp_count = 1, .udp_ports = { ND_NDP_UDP_PORT } } } },
		.port_count = 1,
		.seed = 7 + end,
	};

	memcpy(v6 ? config.address_v6 : config.address_v4, addresses[v6][end], 16);
	return open_stack(&config);
}

/* The client is told the way; the server learns it from what arrives. */
static void check_link(enum nd_port_backend backend, uint32_t mtu, bool v6)
{
	struct pair pair;

	veth_add("s0", "s1", mtu);
	pair.server = open_end(backend, "s0", 0, v6);
	pair.client = open_end(backend, "s1", 1, v6);
	CHECK_EQ(nd_stack_set_peer(pair.client, addresses[v6][0], 1, macs[0]), -EINVAL);
	CHECK_EQ(nd_stack_set_peer(pair.client, addresses[v6][0], 0, macs[0]), 0);
	pair.peer = resolve(pair.client, addresses[v6][0]);
	check_sizes(&pair);
	check_ndp_sizes(&pair);
	CHECK_EQ(counter(pair.server, ND_STACK_GROUP_CORE, "tx_no_way"), 0);
	close_pair(&pair);
	veth_delete("s0");
}

TEST(nd_stack__over_xdp_and_ipv4)
{
	check_link(ND_PORT_XDP, 1500, false);
}

TEST(nd_stack__over_xdp_and_ipv6_at_mtu_9000)
{
	check_link(ND_PORT_XDP, 9000, true);
}

TEST(nd_stack__over_packet_and_ipv4)
{
	check_link(ND_PORT_PACKET, 1500, false);
}

/* Until the control plane has found the neighbour nothing leaves, and then what waited does. */
TEST(nd_stack_set_peer__lets_waiting_packets_go)
{
	uint8_t *request;
	struct pair pair;

	veth_add("s0", "s1", 1500);
	pair.server = open_end(ND_PORT_XDP, "s0", 0, false);
	pair.client = open_end(ND_PORT_XDP, "s1", 1, false);
	pair.peer = resolve(pair.client, addresses[0][0]);
	listen_on(pair.server, ND_PROTO_HOMA, SERVICE);
	request = nd_stack_buffer(pair.client, 100);
	ask(&pair, request, 100, 1);
	expect(pair.client, ND_EVENT_OPENED);
	await_counter(pair.client, "tx_no_way", 1);
	CHECK_EQ(nd_stack_set_peer(pair.client, addresses[0][0], 0, macs[0]), 0);
	echo_once(pair.server);
	CHECK_EQ(expect(pair.client, ND_EVENT_RESPONSE).bytes, 100);
	close_pair(&pair);
	veth_delete("s0");
}

/* The interface is deleted and made again under a running host: it carries on by itself. */
TEST(nd_core_check_ports__survives_its_interface)
{
	struct pair pair;

	veth_add("s0", "s1", 1500);
	pair.server = open_end(ND_PORT_XDP, "s0", 0, false);
	pair.client = open_end(ND_PORT_XDP, "s1", 1, false);
	veth_delete("s0");
	usleep(200000);
	veth_add("s0", "s1", 1500);
	await_counter(pair.server, "ports_reopened", 1);
	await_counter(pair.client, "ports_reopened", 1);
	CHECK_EQ(nd_stack_set_peer(pair.client, addresses[0][0], 0, macs[0]), 0);
	pair.peer = resolve(pair.client, addresses[0][0]);
	check_sizes(&pair);
	close_pair(&pair);
	veth_delete("s0");
}

int main(int argc, char **argv)
{
	netns_enter();
	return nd_test_main(argc, argv);
}
