// SPDX-License-Identifier: Apache-2.0
/* How connections end: the FIN, wherever it falls. */
#include "test/ndp_hand.h"

/* What is queued is delivered first; FIN rides on the last packet. */
TEST(nd_ndp_connection_finish__fin_rides_on_the_last_packet)
{
	uint64_t id;

	hand_start_default();
	id = hand_connect(2);
	hand_send(id, 1500);
	CHECK_EQ(hand_do(ND_COMMAND_CLOSE, id, 0), 0);
	CHECK_EQ(hand_do(ND_COMMAND_CLOSE, id, 0), 0);
	CHECK_EQ(hand_send(id, 1), -EPIPE);
	CHECK_STR(hand_next(), "DATA 100>2 #0 m0 0+1000/1500 syn");
	CHECK_STR(hand_next(), "DATA 100>2 #1 m0 1000+500/1500 syn last fin");
}

TEST(nd_ndp_connection_finish__fin_goes_alone_when_nothing_is_queued)
{
	uint64_t id;

	hand_start_default();
	id = hand_connect(2);
	hand_send(id, 500);
	hand_drain();
	hand_ack(2, 100, 0);
	CHECK_EQ(hand_do(ND_COMMAND_CLOSE, id, 0), 0);
	CHECK_STR(hand_next(), "DATA 100>2 #1 m0 0+0/0 last fin void");
	hand_nack(2, 100, 1); /* never happens to what cannot be trimmed, and would not hurt */
	hand_pull(2, 100, 1);
	CHECK_STR(hand_next(), "DATA 100>2 #1 m0 0+0/0 last fin rtx void");
}

/* As after 2^32 - 1 packets, all acknowledged: the next one has the sequence UINT32_MAX. */
static uint64_t connect_at_last_sequence(void)
{
	uint64_t id;

	hand_start_default();
	id = hand_connect(2);
	hand_send(id, 500);
	hand_drain();
	hand_ack(2, 100, 0);
	hand_connection(id)->base = hand_connection(id)->next = UINT32_MAX;
	return id;
}

TEST(nd_ndp_connection_finish__the_last_sequence_is_no_fin)
{
	hand_send(connect_at_last_sequence(), 500);
	CHECK_STR(hand_next(), "DATA 100>2 #4294967295 m1 0+500/500 last");
}

TEST(nd_ndp_connection_try_end__own_fin_may_have_the_last_sequence)
{
	uint64_t id = connect_at_last_sequence();
	struct nd_packet fin = hand_single(2, 100, 0, 500);

	hand_send(id, 500);
	hand_do(ND_COMMAND_CLOSE, id, 0);
	CHECK_STR(hand_next(), "DATA 100>2 #4294967295 m1 0+500/500 last fin");
	fin.flags = ND_NDP_FLAG_REPLY | ND_NDP_FLAG_FIN | ND_NDP_FLAG_LAST;
	hand_receive(&fin);
	CHECK_EQ(hand_usage().remembered, 0);
	hand_ack(2, 100, UINT32_MAX);
	CHECK_EQ(hand_usage().remembered, 1);
}

TEST(nd_ndp_connection_finish__the_peers_fin_may_have_the_last_sequence)
{
	struct nd_ndp_connection *connection;
	struct nd_packet packet;

	hand_start_default();
	hand_arrive(2, 9, 0, 500);
	connection = nd_ndp_connection_at(hand, 0);
	connection->arrived = connection->high = connection->end = UINT32_MAX;
	packet = hand_single(2, 9, 1, 500);
	packet.ndp.sequence = UINT32_MAX;
	packet.ndp.base = UINT16_MAX;
	packet.flags |= ND_NDP_FLAG_FIN;
	hand_receive(&packet);
	CHECK_EQ(connection->state, ND_NDP_CLOSING);
	hand_drain();
	packet = hand_single(2, 9, 2, 500);
	packet.ndp.sequence = 0; /* behind it */
	packet.ndp.base = UINT16_MAX;
	hand_receive(&packet);
	CHECK_EQ(hand_counters()->bad_fin, 1);
	CHECK_STR(hand_next(), "");
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
