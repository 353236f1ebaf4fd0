// SPDX-License-Identifier: Apache-2.0
/* Messages in: assembly, cancelling, applications that go, bad input. */
#include "test/ndp_hand.h"

static const char *counter_of(const uint64_t *counter)
{
	uint64_t index = (uint64_t)(counter - (const uint64_t *)hand_counters());

	return nd_ndp_counters_table.texts[index].name;
}

/* Exactly one drop of this kind, no answer, no state. */
#define CHECK_DROPPED(name) \
	do { \
		CHECK_EQ(hand_counters()->name, 1); \
		CHECK_STR(counter_of(&hand_counters()->name), #name); \
		CHECK_STR(hand_next(), ""); \
	} while (0)

/* ---- messages ---- */

/* Messages complete by themselves, in any order; both ends number them alike. */
TEST(nd_ndp_incoming_store__messages_are_independent)
{
	struct nd_packet packet;

	hand_start_default();
	packet = hand_single(2, 9, 1, 700);
	hand_receive(&packet);
	packet = hand_single(2, 9, 0, 300);
	hand_receive(&packet);
	CHECK_EQ(hand_event().kind, ND_EVENT_ACCEPTED);
	CHECK_EQ(hand_event().message, 1);
	CHECK_EQ(hand_event().message, 0);
}

/* Numbers are modulo 2^16 on the wire and do not wrap for the application. */
TEST(nd_ndp_incoming_store__numbers_outlive_16_bits)
{
	struct nd_event event = { 0 };

	hand_start_default();
	for (uint32_t i = 0; i < 70000; i++) {
		struct nd_packet packet = hand_single(2, 9, i, 10);

		packet.ndp.base = (uint16_t)i;
		nd_ndp_ops.receive(hand, &packet, hand_now);
		nd_ndp_ops.events(hand, &event, 1);
		if (event.kind == ND_EVENT_ACCEPTED)
			nd_ndp_ops.events(hand, &event, 1);
		CHECK_EQ(event.message, i);
		while (nd_ndp_ops.transmit(hand, &packet, ND_CLASS_CONTROL, hand_now))
			;
	}
	hand_audit();
}

TEST(nd_ndp_incoming_store__zero_bytes)
{
	struct nd_packet packet;

	hand_start_default();
	packet = hand_single(2, 9, 0, 0);
	hand_receive(&packet);
	CHECK_EQ(hand_event().kind, ND_EVENT_ACCEPTED);
	CHECK_EQ(hand_event().kind, ND_EVENT_MESSAGE);
}

/* A cancelled message gives its memory back, its number counts as done, its reader is told. */
TEST(nd_ndp_incoming_store__void_abandons)
{
	struct nd_ndp_config config = hand_defaults();
	struct nd_packet packet;
	struct nd_event event;

	hand_start(&config, true);
	hand_arrive(2, 9, 0, 3000);
	CHECK_EQ(hand_held, 1);
	packet = hand_data(2, 9, 2, 3000);
	packet.flags |= ND_NDP_FLAG_VOID;
	packet.payload_bytes = 0;
	packet.ndp.offset = 0;
	hand_receive(&packet);
	CHECK_EQ(hand_held, 0);
	CHECK_EQ(hand_counters()->messages_abandoned, 1);
	hand_arrive(2, 9, 1, 3000); /* under way when it was cancelled */
	CHECK_EQ(hand_event().kind, ND_EVENT_ACCEPTED);
	event = hand_event();
	CHECK_EQ(event.kind, ND_EVENT_ABANDONED);
	CHECK_EQ(event.message, 0);
	CHECK(!event.payload);
	CHECK_EQ(hand_event().kind, 255);
	CHECK_EQ(hand_usage().pulls, 0);
	CHECK_EQ(hand_usage().receive_messages, 0);
}

/* Who reads in order would wait for ever for a number of which nothing ever came. */
TEST(nd_ndp_incoming_store__tells_of_a_message_that_never_began)
{
	struct nd_ndp_config config = hand_defaults();
	struct nd_packet packet;
	struct nd_event event;

	config.receive_messages_max = 1;
	hand_start(&config, true);
	hand_arrive(2, 9, 0, 1000);
	packet = hand_data(2, 9, 1, 1000);
	packet.ndp.message = 1;
	packet.ndp.offset = 0;
	packet.flags |= ND_NDP_FLAG_VOID;
	packet.payload_bytes = 0;
	hand_receive(&packet); /* there is no room to note it: it counts as trimmed */
	CHECK_EQ(hand_counters()->messages_abandoned, 0);
	CHECK_EQ(hand_event().kind, ND_EVENT_ACCEPTED);
	event = hand_event();
	CHECK_EQ(event.kind, ND_EVENT_MESSAGE);
	CHECK_EQ(hand_event().kind, 255);
	CHECK_EQ(hand_release(event.id, 0), 0);
	hand_receive(&packet);
	CHECK_EQ(hand_counters()->messages_abandoned, 1);
	CHECK_EQ(hand_event().kind, ND_EVENT_ABANDONED);
	CHECK_EQ(hand_usage().receive_messages, 0);
}

/* A packet without meaning but its number: acknowledged, nothing delivered. */
TEST(nd_ndp_incoming_store__empty_packets_deliver_nothing)
{
	struct nd_packet packet;

	hand_start_default();
	packet = hand_single(2, 9, 0, 0);
	packet.flags |= ND_NDP_FLAG_VOID;
	hand_receive(&packet);
	CHECK_STR(hand_next(), "ACK 9>2 #0 pull 0 reply");
	CHECK_EQ(hand_event().kind, ND_EVENT_ACCEPTED);
	CHECK_EQ(hand_event().kind, 255);
}

/* ---- applications ---- */

/* T4: DETACH takes back everything: listener, connections, unreleased memory, events. */
TEST(nd_ndp_submit__detach_reclaims_all)
{
	struct nd_ndp_config config = hand_defaults();

	hand_start(&config, true);
	hand_arrive(2, 9, 0, 1000);
	hand_arrive(3, 9, 0, 3000);
	hand_submit((struct nd_command){ .kind = ND_COMMAND_DETACH, .app = 1 });
	CHECK_EQ(hand_held, 0);
	CHECK_EQ(hand_usage().connections, 0);
	CHECK_EQ(hand_usage().receive_messages, 0);
	CHECK_EQ(hand_event().kind, 255);
	hand_drain();
	hand_arrive(4, 9, 0, 1000);
	CHECK_STR(hand_next(), "CLOSE 9>4 1 reply");
}

/* A stranger's application cannot touch a connection. */
TEST(nd_ndp_submit__connections_belong_to_applications)
{
	uint64_t id;

	hand_start_default();
	id = hand_connect(2);
	CHECK_EQ(hand_submit((struct nd_command){
		.kind = ND_COMMAND_SEND, .app = 1, .id = id, .deadline = ND_NEVER }), -ENOENT);
	CHECK_EQ(hand_submit((struct nd_command){ .kind = ND_COMMAND_RESET, .app = 1, .id = id }),
		 -ENOENT);
	CHECK_EQ(hand_submit((struct nd_command){ .kind = ND_COMMAND_REQUEST, .app = 1 }),
		 -EOPNOTSUPP);
}

/* ---- bad input: counted, not answered ---- */

TEST(nd_ndp_receive__bad_packets_are_dropped_and_counted)
{
	struct nd_packet packet;

	hand_start_default();
	packet = hand_data(2, 9, 0, 1000);
	packet.type = 6;
	hand_receive(&packet);
	CHECK_DROPPED(bad_type);
	packet = hand_data(2, 0x80000000u, 0, 1000);
	hand_receive(&packet);
	CHECK_DROPPED(bad_connection);
	hand_arrive(2, 9, 0, 50000);
	hand_drain();
	packet = hand_data(2, 9, 1, 50000);
	packet.ndp.sequence = 65;
	hand_receive(&packet);
	CHECK_DROPPED(beyond_window);
	packet = hand_data(2, 9, 1, 50000);
	packet.ndp.offset = 49500; /* reaches over the end */
	hand_receive(&packet);
	packet.ndp.offset = UINT32_MAX - 10;
	hand_receive(&packet);
	packet.ndp.offset = 1500; /* no multiple */
	hand_receive(&packet);
	packet = hand_data(2, 9, 1, 50000);
	packet.payload_bytes = 999; /* not the last, and short */
	hand_receive(&packet);
	packet.payload_bytes = 0;
	hand_receive(&packet);
	packet = hand_data(2, 9, 1, 50000);
	packet.flags |= ND_NDP_FLAG_VOID;
	hand_receive(&packet);
	CHECK_EQ(hand_counters()->bad_length, 6);
	CHECK_STR(hand_next(), "");
}

TEST(nd_ndp_receive__parts_that_do_not_fit_their_message_are_dropped)
{
	struct nd_packet packet;

	hand_start_default();
	hand_arrive(2, 9, 0, 50000);
	hand_drain();
	packet = hand_data(2, 9, 1, 40000); /* another length */
	hand_receive(&packet);
	packet = hand_data(2, 9, 1, 50000);
	packet.ndp.offset = 5000; /* off the line */
	hand_receive(&packet);
	CHECK_EQ(hand_counters()->bad_message, 2);
	packet = hand_single(2, 10, 0, 100);
	hand_receive(&packet);
	packet.ndp.sequence = 1; /* the same message again */
	hand_receive(&packet);
	CHECK_EQ(hand_counters()->messages_received, 1);
}

/* A peer that was restarted sends its message anew: what it does not fit to is given up in time. */
TEST(nd_ndp_receive__what_does_not_fit_is_no_sign_of_the_rest)
{
	struct nd_packet packet;

	hand_start_default();
	hand_arrive(2, 9, 0, 50000);
	hand_drain();
	packet = hand_data(2, 9, 1, 40000);
	for (uint32_t i = 0; i < 4; i++) {
		hand_wait(hand_config.give_up_ns / 4);
		hand_receive(&packet);
	}
	CHECK_EQ(hand_event().kind, ND_EVENT_ACCEPTED);
	CHECK_EQ(hand_event().error, -ETIMEDOUT);
}

/* Nothing lies behind a FIN. */
TEST(nd_ndp_receive__data_behind_the_fin_is_dropped)
{
	struct nd_packet fin, packet;

	hand_start_default();
	fin = hand_single(2, 9, 1, 100);
	fin.flags |= ND_NDP_FLAG_FIN;
	hand_receive(&fin);
	hand_drain();
	packet = hand_single(2, 9, 2, 100);
	hand_receive(&packet);
	CHECK_DROPPED(bad_fin);
	fin = hand_single(2, 9, 0, 100);
	fin.flags |= ND_NDP_FLAG_FIN; /* a second one, elsewhere */
	hand_receive(&fin);
	CHECK_EQ(hand_counters()->bad_fin, 2);
	packet = hand_single(3, 9, 5, 100);
	hand_receive(&packet);
	packet = hand_single(3, 9, 4, 100); /* one behind which something has arrived */
	packet.flags |= ND_NDP_FLAG_FIN;
	hand_receive(&packet);
	CHECK_EQ(hand_counters()->bad_fin, 3);
}

/* A packet that was trimmed comes again with the FIN that its sender has put on it meanwhile. */
TEST(nd_ndp_receive__a_fin_may_come_late)
{
	struct nd_packet packet;

	hand_start_default();
	packet = hand_single(2, 9, 1, 100);
	nd_packet_trim(&packet);
	hand_receive(&packet);
	packet = hand_single(2, 9, 1, 100);
	packet.flags |= ND_NDP_FLAG_FIN;
	hand_receive(&packet);
	CHECK_EQ(hand_counters()->bad_fin, 0);
	CHECK_EQ(nd_ndp_connection_at(hand, 0)->peer_fin, 1);
}

/* A message beyond message_bytes_max: the peer is told, so that it does not try for ever. */
TEST(nd_ndp_receive__too_long_a_message_resets)
{
	struct nd_ndp_config config = hand_defaults();

	config.message_bytes_max = 5000;
	hand_start(&config, false);
	hand_arrive(2, 9, 0, 6000);
	CHECK_STR(hand_next(), "CLOSE 9>2 4 reply");
	CHECK_EQ(hand_counters()->too_long, 1);
	CHECK_EQ(hand_event().kind, ND_EVENT_ACCEPTED);
	CHECK_EQ(hand_event().error, -EPROTO);
}

TEST(nd_ndp_receive__limits_are_counted)
{
	struct nd_ndp_config config = hand_defaults();

	config.peers_max = 2;
	config.path_sets_max = 2;
	config.control_max = 8;
	hand_start(&config, false);
	hand_arrive(2, 9, 0, 9000);
	hand_arrive(3, 9, 0, 9000);
	hand_arrive(4, 9, 0, 9000);
	CHECK_EQ(hand_counters()->peers_full, 1);
	for (uint32_t i = 1; i < 9; i++)
		hand_arrive(2, 9, i, 9000);
	CHECK(hand_counters()->control_full > 0);
	CHECK_EQ(hand_usage().control, 8);
	/* With no room for a PULL the pacer waits and the driver is not asked to spin. */
	CHECK(nd_ndp_ops.deadline(hand) > hand_now);
}

/* Duplicated congestion bits are only counted. */
TEST(nd_ndp_receive__counts_congested_senders)
{
	struct nd_packet packet;

	hand_start_default();
	packet = hand_data(2, 9, 0, 9000);
	packet.flags |= ND_NDP_FLAG_CONGESTED;
	hand_receive(&packet);
	CHECK_EQ(hand_counters()->congested_received, 1);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
