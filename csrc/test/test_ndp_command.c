// SPDX-License-Identifier: Apache-2.0
/* What applications may ask for: ports, backlogs, shares. */
#include "test/ndp_hand.h"

/* R-NHA-09: LISTEN reserves; what is reserved nobody else can have. */
TEST(nd_ndp_submit__listen_reserves_connections)
{
	struct nd_command listen = { .kind = ND_COMMAND_LISTEN, .port = 41, .app = 1, .message = 20 };

	hand_start_default(); /* 8 of 32 are reserved */
	CHECK_EQ(hand_submit(listen), 0);
	CHECK_EQ(hand_submit(listen), -EADDRINUSE);
	listen.port = 42;
	CHECK_EQ(hand_submit(listen), -ENOBUFS);
	for (uint32_t i = 0; i < 4; i++)
		hand_connect(2);
	CHECK_EQ(hand_submit((struct nd_command){ .kind = ND_COMMAND_CONNECT, .peer = 2,
						  .port = 41 }), -ENOBUFS);
	listen.kind = ND_COMMAND_UNLISTEN;
	CHECK_EQ(hand_submit(listen), -ENOENT);
	listen.port = 41;
	CHECK_EQ(hand_submit(listen), 0);
	hand_connect(2);
}

/* As many connections stay free as these applications have and have reserved. */
TEST(nd_ndp_leaves_room__counts_connections_and_backlogs)
{
	struct nd_command another = { .kind = ND_COMMAND_CONNECT, .peer = 2, .port = HAND_PORT };

	hand_start_default(); /* app 1 has reserved 8 of 32 */
	for (uint32_t i = 0; i < 12; i++) {
		CHECK(nd_ndp_leaves_room(hand, &another, 1 << 2));
		hand_connect(2); /* of app 2 */
	}
	CHECK(!nd_ndp_leaves_room(hand, &another, 1 << 2));
	CHECK(nd_ndp_leaves_room(hand, &another, 1 << 1));
	hand_arrive(3, 9, 0, 500); /* one of the reserved ones */
	another.kind = ND_COMMAND_LISTEN;
	for (another.message = 1; another.message <= 12; another.message++)
		CHECK_EQ(nd_ndp_leaves_room(hand, &another, 1 << 1), another.message <= 2);
	CHECK(nd_ndp_leaves_room(hand, &another, 1 << 1)); /* the limit refuses it */
}

/* ... and as many ports: a backlog of one each would do to take them all. */
TEST(nd_ndp_leaves_room__counts_listeners)
{
	struct nd_ndp_config config = hand_defaults();
	struct nd_command listen = { .kind = ND_COMMAND_LISTEN, .app = 2, .message = 1 };

	config.listeners_max = 6;
	hand_start(&config, false); /* app 1 listens */
	for (listen.port = 50; listen.port < 52; listen.port++) {
		CHECK(nd_ndp_leaves_room(hand, &listen, 1 << 2));
		CHECK_EQ(hand_submit(listen), 0);
	}
	CHECK(!nd_ndp_leaves_room(hand, &listen, 1 << 2));
	CHECK(nd_ndp_leaves_room(hand, &listen, 1 << 1));
	CHECK(!nd_ndp_leaves_room(hand, &listen, 1 << 1 | 1 << 2));
}

/* ... and as many messages; one that is told is free for others. */
TEST(nd_ndp_leaves_room__counts_queued_messages)
{
	struct nd_ndp_config config = hand_defaults();
	struct nd_command another = { .kind = ND_COMMAND_SEND };
	uint64_t id;

	config.messages_max = config.connection_messages_max = 8;
	hand_start(&config, false);
	id = hand_connect(2); /* of app 2 */
	for (uint32_t i = 0; i < 4; i++) {
		CHECK(nd_ndp_leaves_room(hand, &another, 1 << 2));
		hand_send(id, 100);
	}
	CHECK(!nd_ndp_leaves_room(hand, &another, 1 << 2));
	CHECK(nd_ndp_leaves_room(hand, &another, 1 << 1));
	hand_drain();
	hand_ack(2, 100, 0);
	CHECK_EQ(hand_event().kind, ND_EVENT_SENT);
	hand_event();
	CHECK(nd_ndp_leaves_room(hand, &another, 1 << 2));
}

/* As Homa: a program that forgot its port is told. */
TEST(nd_ndp_submit__refuses_port_0)
{
	hand_start_default();
	CHECK_EQ(hand_submit((struct nd_command){ .kind = ND_COMMAND_LISTEN }), -EINVAL);
	CHECK_EQ(hand_submit((struct nd_command){ .kind = ND_COMMAND_CONNECT, .peer = 2 }),
		 -EINVAL);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
