// SPDX-License-Identifier: Apache-2.0
/* Memory and records for messages in, and the credit that waits for them. */
#include "test/ndp_hand.h"

/* No memory: the packet counts as trimmed and its pull is withheld until RELEASE. */
TEST(nd_ndp_incoming_store__without_memory_the_peer_waits)
{
	struct nd_ndp_config config = hand_defaults();
	struct nd_event event;

	hand_start(&config, true);
	hand_credit = 4000;
	hand_arrive(2, 9, 0, 1000);
	hand_arrive(3, 9, 0, 4000);
	hand_arrive(3, 9, 1, 4000);
	CHECK_EQ(hand_usage().pulls, 0);
	CHECK_STR(hand_next(), "ACK 9>2 #0 pull 0 reply");
	CHECK_STR(hand_next(), "NACK 9>3 #0 pull 0 reply");
	CHECK_STR(hand_next(), "NACK 9>3 #1 pull 0 reply");
	CHECK_EQ(hand_counters()->credit_withheld, 2);
	hand_wait(ND_SEC / 2); /* nobody asks, nobody gives up */
	CHECK_EQ(hand_drain(), 0);
	CHECK_EQ(hand_event().kind, ND_EVENT_ACCEPTED);
	CHECK_EQ(hand_event().kind, ND_EVENT_MESSAGE + 0);
	event.id = nd_ndp_handle(nd_ndp_connection_at(hand, 0));
	CHECK_EQ(hand_release(event.id, 0), 0);
	CHECK_EQ(hand_release(event.id, 0), -ENOENT);
	CHECK_EQ(hand_usage().pulls, 2);
	CHECK_STR(hand_next(), "PULL 9>3 1 reply");
	for (uint32_t i = 0; i < 4; i++)
		hand_arrive(3, 9, i, 4000);
	CHECK_EQ(hand_counters()->messages_received, 2);
}

/* However often the peer asks, no more pulls are withheld than its window has packets. */
TEST(nd_ndp_incoming_store__withholds_a_window_at_most)
{
	struct nd_ndp_config config = hand_defaults();

	hand_start(&config, true);
	hand_credit = 0;
	for (uint32_t i = 0; i < hand_config.window_packets + 5; i++) {
		hand_arrive(2, 9, 0, 1000);
		hand_drain();
	}
	CHECK_EQ(nd_ndp_connection_at(hand, 0)->withheld, hand_config.window_packets);
}

/* The oldest message that waits for memory is the one that gets it: others wait for its turn. */
TEST(nd_ndp_incoming_store__the_oldest_gets_the_memory)
{
	struct nd_ndp_config config = hand_defaults();
	struct nd_packet second;

	hand_start(&config, true);
	hand_credit = 0;
	second = hand_single(2, 9, 1, 800);
	hand_receive(&second);
	CHECK_EQ(nd_ndp_connection_at(hand, 0)->blocked_number, 1);
	hand_arrive(2, 9, 0, 3000);
	CHECK_EQ(nd_ndp_connection_at(hand, 0)->blocked_number, 0);
	CHECK_EQ(nd_ndp_connection_at(hand, 0)->blocked_bytes, 3000);
	hand_receive(&second);
	CHECK_EQ(nd_ndp_connection_at(hand, 0)->blocked_number, 0);
}

/* Memory that comes late: silence until then was ours, and a PULL that gets lost is repeated. */
TEST(nd_ndp_incoming_release__waits_anew_from_then_on)
{
	struct nd_ndp_config config = hand_defaults();
	uint64_t id;

	hand_start(&config, true);
	hand_credit = 1000;
	hand_arrive(2, 9, 0, 1000);
	hand_arrive(3, 9, 0, 1000);
	hand_drain();
	id = hand_event().id;
	CHECK_EQ(hand_event().kind, ND_EVENT_MESSAGE);
	CHECK_EQ(hand_event().kind, ND_EVENT_ACCEPTED);
	hand_wait(2 * hand_config.give_up_ns);
	CHECK_EQ(hand_release(id, 0), 0);
	CHECK_STR(hand_next(), "PULL 9>3 1 reply");
	hand_wait(hand_config.repull_ns - 1);
	CHECK_STR(hand_next(), "");
	hand_wait(1);
	CHECK_STR(hand_next(), "PULL 9>3 1 reply");
	CHECK_EQ(hand_event().kind, 255);
}

/* Two applications in one list: want of memory of one is not looked at for the other. */
TEST(nd_ndp_incoming_unblock__is_for_one_application)
{
	struct nd_ndp_config config = hand_defaults();
	struct nd_packet packet;

	hand_start(&config, true);
	hand_submit((struct nd_command){ .kind = ND_COMMAND_LISTEN, .port = 41,
					 .app = 1 + ND_NDP_BLOCKED_BUCKETS });
	hand_credit = 1000;
	hand_arrive(2, 9, 0, 1000);
	hand_arrive(2, 10, 0, 1000);
	packet = hand_data(3, 9, 0, 5000);
	packet.ndp.service = 41;
	hand_receive(&packet);
	CHECK(nd_ndp_connection_at(hand, 1)->blocked && nd_ndp_connection_at(hand, 2)->blocked);
	while (hand_event().kind != 255)
		;
	CHECK_EQ(hand_release(nd_ndp_handle(nd_ndp_connection_at(hand, 0)), 0), 0);
	CHECK(!nd_ndp_connection_at(hand, 1)->blocked);
	CHECK(nd_ndp_connection_at(hand, 2)->blocked);
}

/* One application's slowness is its own. */
TEST(nd_ndp_incoming_store__other_applications_go_on)
{
	struct nd_ndp_config config = hand_defaults();
	struct nd_packet packet;

	hand_start(&config, true);
	hand_submit((struct nd_command){ .kind = ND_COMMAND_LISTEN, .port = 41, .app = 3 });
	hand_credit = 1000;
	hand_arrive(2, 9, 0, 5000); /* cannot be had */
	packet = hand_data(3, 9, 0, 1000);
	packet.ndp.service = 41;
	hand_receive(&packet);
	CHECK_EQ(hand_counters()->messages_received, 1);
}

/* A message that has begun can end: its pulls are not withheld for another's want of memory. */
TEST(nd_ndp_incoming_store__what_has_begun_keeps_its_pulls)
{
	struct nd_ndp_config config = hand_defaults();
	struct nd_packet second;

	hand_start(&config, true);
	hand_credit = 3000;
	hand_arrive(2, 9, 0, 3000);
	second = hand_data(2, 9, 3, 9000);
	second.ndp.message = 1;
	second.ndp.offset = 0;
	second.payload_bytes = 1000;
	hand_receive(&second);
	CHECK_EQ(hand_usage().pulls, 2);
	hand_arrive(2, 9, 1, 3000);
	hand_arrive(2, 9, 2, 3000);
	CHECK_EQ(hand_counters()->messages_received, 1);
	CHECK_EQ(nd_ndp_connection_at(hand, 0)->withheld, 1); /* nothing else has begun now */
	hand_receive(&second);
	CHECK_EQ(nd_ndp_connection_at(hand, 0)->withheld, 2);
}

/* 64 messages may be unreleased; the next waits as if for memory. */
TEST(nd_ndp_incoming_store__unreleased_messages_are_limited)
{
	struct nd_ndp_config config = hand_defaults();
	uint64_t id;

	config.window_packets = 128;
	hand_start(&config, true);
	for (uint32_t i = 0; i <= 64; i++) {
		struct nd_packet packet = hand_single(2, 9, i, 10);

		hand_receive(&packet);
	}
	CHECK_EQ(hand_counters()->messages_received, 64);
	CHECK_EQ(hand_counters()->credit_withheld, 1);
	id = hand_event().id;
	CHECK_EQ(hand_release(id, 0), -ENOENT); /* of a message that nobody was told of */
	for (uint32_t i = 0; i < 10; i++)
		CHECK_EQ(hand_event().message, i);
	CHECK_EQ(hand_release(id, 5), 0); /* the oldest is what counts */
	CHECK(nd_ndp_connection_at(hand, 0)->blocked);
	CHECK_EQ(hand_release(id, 0), 0);
	CHECK_EQ(hand_usage().pulls, 1);
	hand_submit((struct nd_command){ .kind = ND_COMMAND_DETACH, .app = 1 });
	CHECK_EQ(hand_held, 0);
}

TEST(nd_ndp_incoming_store__records_are_limited)
{
	struct nd_ndp_config config = hand_defaults();

	config.receive_messages_max = 1;
	hand_start(&config, false);
	hand_arrive(2, 9, 0, 2000);
	hand_arrive(3, 9, 0, 1000);
	CHECK_EQ(hand_counters()->receive_messages_full, 1);
	hand_arrive(2, 9, 1, 2000);
	while (hand_event().kind != 255)
		;
	CHECK_EQ(nd_ndp_connection_at(hand, 1)->blocked, false);
	hand_arrive(3, 9, 0, 1000);
	CHECK_EQ(hand_counters()->messages_received, 2);
}

/* Records are everybody's: one that comes free is for whoever waits for it, in any application. */
TEST(nd_ndp_incoming_told__a_record_frees_other_applications)
{
	struct nd_ndp_config config = hand_defaults();
	struct nd_packet packet;

	config.receive_messages_max = 1;
	hand_start(&config, false);
	hand_submit((struct nd_command){ .kind = ND_COMMAND_LISTEN, .port = 41, .app = 3 });
	hand_arrive(2, 9, 0, 1000);
	packet = hand_data(3, 9, 0, 2000);
	packet.ndp.service = 41;
	hand_receive(&packet);
	CHECK(nd_ndp_connection_at(hand, 1)->blocked);
	while (hand_event().kind != 255)
		;
	CHECK(!nd_ndp_connection_at(hand, 1)->blocked);
}

/* A message that waited and begins with a packet that arrives, not with a RELEASE, gets its pulls, too. */
TEST(nd_ndp_incoming_store__pulls_come_back_with_an_arrival)
{
	struct nd_ndp_config config = hand_defaults();

	hand_start(&config, true);
	hand_credit = 0;
	for (uint32_t i = 0; i < 4; i++)
		hand_arrive(3, 9, i, 40000);
	CHECK_EQ(hand_drain(), 4);
	CHECK_EQ(nd_ndp_connection_at(hand, 0)->withheld, 4);
	hand_credit = INT64_MAX;
	hand_arrive_trimmed(3, 9, 0, 40000);
	CHECK_EQ(hand_usage().pulls, 5);
	CHECK_EQ(nd_ndp_connection_at(hand, 0)->withheld, 0);
}

/* The other protocol gives memory back, and tells nobody: it is seen soon, not when the peer asks. */
TEST(nd_ndp_incoming_retry__sees_memory_that_another_engine_gave_back)
{
	struct nd_ndp_config config = hand_defaults();

	hand_start(&config, true);
	hand_credit = 0;
	hand_arrive(3, 9, 0, 40000);
	hand_drain();
	hand_wait(8 * hand_config.repull_ns);
	CHECK(nd_ndp_connection_at(hand, 0)->blocked);
	CHECK_STR(hand_next(), "");
	hand_credit = INT64_MAX;
	hand_wait(hand_config.repull_ns);
	CHECK(!nd_ndp_connection_at(hand, 0)->blocked);
	CHECK_STR(hand_next(), "PULL 9>3 1 reply");
}

/* ... and ever less often where none comes: a second later, each eighth of one. */
TEST(nd_ndp_incoming_retry__less_and_less_often)
{
	struct nd_ndp_config config = hand_defaults();
	uint32_t tries = 0;

	hand_start(&config, true);
	hand_credit = 0;
	hand_arrive(3, 9, 0, 40000);
	hand_drain();
	for (; hand_now < ND_SEC; tries++) {
		nd_ns due = nd_ndp_ops.deadline(hand);

		CHECK(due > hand_now);
		hand_wait(due - hand_now);
	}
	CHECK(tries >= 10);
	CHECK(tries <= 60);
}

/* What is free is for whom it is enough for, whoever waits before him for more. */
TEST(nd_ndp_incoming_unblock__goes_on_behind_one_that_is_too_long)
{
	struct nd_ndp_config config = hand_defaults();

	hand_start(&config, true);
	hand_credit = 1000;
	hand_arrive(2, 9, 0, 1000);
	hand_arrive(3, 9, 0, 1000);
	hand_arrive(4, 9, 0, 9000); /* looked at first */
	hand_drain();
	while (hand_event().kind != 255)
		;
	CHECK_EQ(hand_release(nd_ndp_handle(nd_ndp_connection_at(hand, 0)), 0), 0);
	CHECK(!nd_ndp_connection_at(hand, 1)->blocked);
	CHECK(nd_ndp_connection_at(hand, 2)->blocked);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
