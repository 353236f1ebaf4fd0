// SPDX-License-Identifier: Apache-2.0
/* Frames that a core is given: from whom they are. */
#include "host/core.h"
#include "test/memory_pair.h"
#include "transport/homa.h"
#include "transport/ndp.h"

#define PEERS 4u /* the host itself and three */
#define CLIENT 2u

/* Nobody is at the other end of its port. */
static struct nd_stack *open_alone(const char *case_name)
{
	char name[64];
	struct nd_stack_config config;

	snprintf(name, sizeof(name), "test-packet-%d-%s", getpid(), case_name);
	config = config_of(name, 0, false);
	config.profile = ND_STACK_POLLED;
	config.peers_max = PEERS;
	return open_stack(&config);
}

/* A packet from 10.7.0.host comes. */
static void arrive(struct nd_stack *stack, uint8_t host, const struct nd_packet *packet)
{
	static struct nd_frame_template template;
	static uint8_t bytes[2048];
	struct nd_core *core = nd_stack_core(stack);
	struct nd_frame_peer addresses_of = { .vlan = ND_ETH_VLAN_NONE };
	struct nd_frame frame = { .data = bytes };

	memcpy(addresses_of.source, addresses[0][0], 16);
	memcpy(addresses_of.target, addresses[0][0], 16);
	addresses_of.source[15] = host;
	nd_frame_prepare(&core->frame, &addresses_of, &template);
	frame.bytes = nd_frame_encode(&template, packet, bytes, sizeof(bytes));
	CHECK(frame.bytes);
	nd_core_receive_frame(core, 0, &frame, nd_core_now());
	CHECK(nd_stack_poll(stack) >= 0);
}

/* Packets of made-up sources that say nothing; each finds a place. */
static void flood(struct nd_stack *stack)
{
	const struct nd_packet busy = {
		.protocol = ND_PROTO_HOMA,
		.type = ND_HOMA_BUSY,
		.homa = { .sender_id = 8, .source_port = 1, .target_port = SERVICE },
	};

	for (uint8_t host = 10; host < 200; host++)
		arrive(stack, host, &busy);
	CHECK(counter(stack, ND_STACK_GROUP_CORE, "peers_evicted") > 100);
	CHECK_EQ(counter(stack, ND_STACK_GROUP_CORE, "rx_peers_refused"), 0);
}

/* At most once: by another handle its client's request would be another one. */
TEST(nd_core_receive_frame__a_flood_makes_no_request_run_again)
{
	struct nd_stack *stack = open_alone("homa");
	const struct nd_packet request = {
		.protocol = ND_PROTO_HOMA,
		.type = ND_HOMA_DATA,
		.payload_bytes = 100,
		.homa = {
			.sender_id = 100,
			.source_port = 0x8002,
			.target_port = SERVICE,
			.message_bytes = 100,
			.length = 100,
			.speaker = ND_HOMA_SPEAKER,
		},
	};

	listen_on(stack, ND_PROTO_HOMA, SERVICE);
	arrive(stack, CLIENT, &request);
	flood(stack);
	arrive(stack, CLIENT, &request);
	echo(stack, expect(stack, ND_EVENT_REQUEST));
	flood(stack);
	arrive(stack, CLIENT, &request);
	CHECK_EQ(counter(stack, ND_STACK_GROUP_HOMA, "requests_received"), 1);
	nd_stack_close(stack);
}

/* ... and no message come again. */
TEST(nd_core_receive_frame__a_flood_makes_no_connection_new)
{
	struct nd_stack *stack = open_alone("ndp");
	const struct nd_packet first = {
		.protocol = ND_PROTO_NDP,
		.type = ND_NDP_DATA,
		.flags = ND_NDP_FLAG_SYN | ND_NDP_FLAG_LAST,
		.payload_bytes = 100,
		.ndp = { .connection = 9, .service = SERVICE, .message_bytes = 100 },
	};
	uint64_t id;

	listen_on(stack, ND_PROTO_NDP, SERVICE);
	arrive(stack, CLIENT, &first);
	flood(stack);
	arrive(stack, CLIENT, &first);
	id = expect(stack, ND_EVENT_ACCEPTED).id;
	command_ndp(stack, ND_COMMAND_RESET, id, 0);
	flood(stack);
	arrive(stack, CLIENT, &first);
	CHECK_EQ(counter(stack, ND_STACK_GROUP_NDP, "connections_accepted"), 1);
	nd_stack_close(stack);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
