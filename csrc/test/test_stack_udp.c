// SPDX-License-Identifier: Apache-2.0
/* Two hosts over UDP sockets, on a loopback of their own: payloads leave from where they lie. */
#include "test/netns.h"
#include "test/recording.h"
#include "test/sending.h"
#include "test/stacks.h"

#define OUR_PORT 47149

/* The addresses of both ends, as sockets have them. */
static const char *const names[2][2] = {
	{ "10.7.0.1:47149", "10.7.0.2:47149" },
	{ "[fd00::1]:47149", "[fd00::2]:47149" },
};

static uint32_t mtu;
static bool checksum; /* Homa's own, beside UDP's */

/* A port carries one protocol. */
static struct nd_stack *open_end(uint8_t protocol, bool v6, uint32_t end, const char *record)
{
	bool homa = protocol == ND_PROTO_HOMA;
	struct nd_frame_config frame = nd_frame_config_default();
	struct nd_stack_config config = {
		.ports = { { .backend = ND_PORT_UDP, .name = names[v6][end], .mtu = mtu } },
		.port_count = 1,
		.frame = &frame,
		.no_ndp = homa,
		.no_homa = !homa,
		.seed = 7 + end,
		.record = record,
		.record_bytes = 16 << 20,
	};

	*(homa ? &frame.homa_port : &frame.ndp_port) = OUR_PORT;
	frame.homa_in_udp = true;
	frame.homa_checksum = checksum;
	memcpy(v6 ? config.address_v6 : config.address_v4, addresses[v6][end], 16);
	return open_stack(&config);
}

/* Messages of all sizes arrive whole; returns how often a payload left from where it lay. */
static uint32_t check_messages(uint8_t protocol, bool v6, bool recorded)
{
	uint32_t gathered = sending_gathered;
	struct pair pair;

	pair.server = open_end(protocol, v6, 0, recorded ? recording_path("udp", 0) : NULL);
	pair.client = open_end(protocol, v6, 1, recorded ? recording_path("udp", 1) : NULL);
	pair.peer = resolve(pair.client, addresses[v6][0]);
	if (protocol == ND_PROTO_HOMA)
		check_sizes(&pair);
	else
		check_ndp_sizes(&pair);
	for (uint32_t i = 0; i < 2; i++)
		CHECK_EQ(counter(i ? pair.client : pair.server, ND_STACK_GROUP_CORE,
				 "tx_unencodable"), 0);
	close_pair(&pair);
	return sending_gathered - gathered;
}

TEST(nd_stack__carries_messages_over_udp_sockets)
{
	mtu = 9000;
	checksum = false;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		CHECK(check_messages(ND_PROTO_NDP, v6, false) > 10);
		CHECK(check_messages(ND_PROTO_HOMA, v6, false) > 10);
	}
}

/* Short payloads are copied: that costs less. */
TEST(nd_stack__carries_messages_over_udp_sockets_in_short_packets)
{
	mtu = 1500;
	checksum = false;
	CHECK_EQ(check_messages(ND_PROTO_NDP, false, false), 0);
	CHECK_EQ(check_messages(ND_PROTO_HOMA, false, false), 0);
}

/* It covers the payload: frames are written whole. */
TEST(nd_stack__carries_messages_with_homas_own_checksum)
{
	mtu = 9000;
	checksum = true;
	CHECK_EQ(check_messages(ND_PROTO_HOMA, false, false), 0);
}

/* E-X01: a recording has whole frames. */
TEST(nd_stack__records_what_leaves_by_udp_sockets)
{
	static const uint8_t protocols[] = { ND_PROTO_NDP, ND_PROTO_HOMA };

	mtu = 9000;
	checksum = false;
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(protocols); i++) {
		CHECK_EQ(check_messages(protocols[i], false, true), 0);
		for (uint32_t end = 0; end < 2; end++)
			CHECK(check_identical(recording_path("udp", end)).sent > 100);
	}
}

int main(int argc, char **argv)
{
	netns_enter();
	for (unsigned end = 1; end <= 2; end++) {
		shell("ip addr add 10.7.0.%u/32 dev lo", end);
		shell("ip addr add fd00::%u/128 dev lo nodad", end);
	}
	return nd_test_main(argc, argv);
}
