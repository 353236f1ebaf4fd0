// SPDX-License-Identifier: Apache-2.0
/* Outgoing messages: SRPT, packet boundaries, grants, retransmissions, control first. */
#include "test/homa_hand.h"

static struct nd_packet take_data(void)
{
	struct nd_packet packet = { 0 };

	CHECK(nd_homa_ops.transmit(hand, &packet, ND_CLASS_DATA, hand_now));
	return packet;
}

/* R-H32-1, R-H31-3: RTTbytes go at once, the rest only when granted, and no packet straddles. */
TEST(nd_homa_transmit_data__unscheduled_first_then_grants)
{
	hand_start_default();
	hand_request(2, 20000);
	for (uint32_t i = 0; i < 7; i++)
		take_data();
	CHECK_STR(hand_next(), "DATA 2>2 9968+32/20000 in=10000 p6");
	CHECK_STR(hand_next(), "");
	hand_control(ND_HOMA_GRANT, 2, 3, 12000, 0, 2);
	CHECK_STR(hand_next(), "DATA 2>2 10000+1424/20000 in=10000 p2");
	CHECK_STR(hand_next(), "DATA 2>2 11424+576/20000 in=10000 p2");
	CHECK_STR(hand_next(), "");
	hand_control(ND_HOMA_GRANT, 2, 3, 11000, 0, 1);
	CHECK_STR(hand_next(), "");
	hand_control(ND_HOMA_GRANT, 2, 3, 4000000, 0, 3);
	CHECK_STR(hand_next(), "DATA 2>2 12000+1424/20000 in=10000 p3");
	hand_drain();
	CHECK_EQ(hand_counters()->data_bytes_sent, 20000);
}

/* R-H32-3: fewest remaining bytes first, whatever the packets' priorities; remaining counts. */
TEST(choose__srpt)
{
	hand_start_default();
	hand_request(2, 9000);
	hand_request(3, 5000);
	CHECK_STR(hand_next(), "DATA 4>3 0+1424/5000 in=5000 p6");
	hand_request(4, 4000);
	CHECK_STR(hand_next(), "DATA 4>3 1424+1424/5000 in=5000 p6");
	hand_request(5, 100);
	CHECK_STR(hand_next(), "DATA 8>5 0+100/100 in=100 p6");
	CHECK_STR(hand_next(), "DATA 4>3 2848+1424/5000 in=5000 p6");
	CHECK_STR(hand_next(), "DATA 4>3 4272+728/5000 in=5000 p6");
	CHECK_STR(hand_next(), "DATA 6>4 0+1424/4000 in=4000 p6");
	hand_drain();
	CHECK_EQ(hand_counters()->data_bytes_sent, 18100);
}

static void request_with_priority(uint32_t peer, uint32_t bytes, uint8_t priority)
{
	CHECK_EQ(hand_submit((struct nd_command){ .kind = ND_COMMAND_REQUEST,
						  .app = 2,
						  .peer = peer,
						  .port = HAND_PORT,
						  .bytes = bytes,
						  .priority = priority }),
		 0);
}

/* ... of those with the highest priority that applications gave, which packets do not show. */
TEST(choose__srpt_within_a_priority)
{
	hand_start_default();
	request_with_priority(2, 100, 0);
	request_with_priority(3, 2000, 3);
	request_with_priority(4, 3000, 3);
	request_with_priority(5, 4000, 7);
	CHECK_STR(hand_next(), "DATA 8>5 0+1424/4000 in=4000 p6");
	CHECK_STR(hand_next(), "DATA 8>5 1424+1424/4000 in=4000 p6");
	CHECK_STR(hand_next(), "DATA 8>5 2848+1152/4000 in=4000 p6");
	CHECK_STR(hand_next(), "DATA 4>3 0+1424/2000 in=2000 p6");
	request_with_priority(6, 200, 4);
	CHECK_STR(hand_next(), "DATA 10>6 0+200/200 in=200 p6");
	CHECK_STR(hand_next(), "DATA 4>3 1424+576/2000 in=2000 p6");
	CHECK_STR(hand_next(), "DATA 6>4 0+1424/3000 in=3000 p6");
	hand_drain();
	CHECK_EQ(hand_counters()->data_bytes_sent, 9300);
}

/* A reply has its own, whatever its request had. */
TEST(do_reply__with_priority)
{
	uint64_t first, second;

	hand_start_default();
	first = hand_serve(2, 100, 50);
	second = hand_serve(3, 200, 50);
	CHECK_EQ(hand_reply(first, 100), 0);
	CHECK_EQ(hand_submit((struct nd_command){ .kind = ND_COMMAND_REPLY,
						  .app = 1,
						  .id = second,
						  .bytes = 3000,
						  .priority = 1 }),
		 0);
	CHECK_STR(hand_next(), "DATA 201>3 0+1424/3000 in=3000 p6");
}

/* ... unless lengths alone are to count: then a message that has come far waits for a shorter one. */
TEST(choose__by_length)
{
	struct nd_homa_config config = hand_defaults();

	config.by_length = true;
	hand_start(&config, false);
	hand_request(2, 5000);
	CHECK_STR(hand_next(), "DATA 2>2 0+1424/5000 in=5000 p6");
	hand_request(3, 4000);
	CHECK_STR(hand_next(), "DATA 4>3 0+1424/4000 in=4000 p6");
}

/* ... and a message that may not send does not stand in the way. */
TEST(choose__only_ready_messages)
{
	hand_start_default();
	hand_request(2, 10100);
	hand_drain();
	hand_request(3, 50000);
	CHECK_STR(hand_next(), "DATA 4>3 0+1424/50000 in=10000 p6");
	hand_control(ND_HOMA_GRANT, 2, 3, 10100, 0, 0);
	CHECK_STR(hand_next(), "DATA 2>2 10000+100/10100 in=10000 p0");
}

TEST(choose__equal_messages_in_order)
{
	hand_start_default();
	hand_request(5, 100);
	hand_request(4, 100);
	hand_request(3, 100);
	CHECK_STR(hand_next(), "DATA 2>5 0+100/100 in=100 p6");
	CHECK_STR(hand_next(), "DATA 4>4 0+100/100 in=100 p6");
	CHECK_STR(hand_next(), "DATA 6>3 0+100/100 in=100 p6");
}

/* R-H32-4: control packets first, all at the highest priority (hand_text checks that). */
TEST(nd_homa_transmit_control__goes_ahead_of_data)
{
	hand_start_default();
	hand_request(2, 5000);
	hand_data(3, 100, 0, 1424, 60000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>3 <11424 p0");
	CHECK_STR(hand_next(), "DATA 2>2 0+1424/5000 in=5000 p6");
}

/* The oldest of two long messages gets its share of what is sent. */
TEST(choose__share_of_the_oldest)
{
	struct nd_homa_config config = hand_defaults();
	uint64_t oldest = 0, all = 0;

	config.send_fifo_permille = 100;
	config.unscheduled_max_bytes = 1 << 24;
	config.rtt_bytes = 1 << 24;
	hand_start(&config, false);
	hand_request(2, 2000000);
	hand_request(3, 1000000);
	for (uint32_t i = 0; i < 600; i++) {
		struct nd_packet packet = take_data();

		all += packet.payload_bytes;
		oldest += packet.homa.sender_id == 2 ? packet.payload_bytes : 0;
	}
	CHECK(oldest > all * 8 / 100 && oldest < all * 12 / 100);
	CHECK(hand_counters()->fifo_packets > 0);
}

TEST(finish_data__sizes_rank_and_ports)
{
	struct nd_packet packet;

	hand_start_default();
	hand_request(2, 2000);
	take_data();
	packet = take_data();
	CHECK_EQ(packet.payload_bytes, 576);
	CHECK_EQ(packet.wire_bytes, 576 + 38 + 20 + 56);
	CHECK_EQ(packet.header_bytes, packet.wire_bytes);
	CHECK_EQ(packet.rank, 576);
	CHECK_EQ(packet.homa.source_port, 0x8002);
	CHECK_EQ(packet.homa.target_port, HAND_PORT);
	CHECK(!nd_packet_can_trim(&packet));
	CHECK_EQ(hand_counters()->priority_bytes_6, 2000 + 2 * (38 + 20 + 56));
}

/* R-H4-2: adjacent levels collapse to four, two, one. */
TEST(nd_homa_collapse__levels)
{
	static const uint8_t levels[] = { 8, 4, 2, 1 };
	static const uint8_t expected[4][8] = {
		{ 0, 1, 2, 3, 4, 5, 6, 7 },
		{ 1, 1, 3, 3, 5, 5, 7, 7 },
		{ 3, 3, 3, 3, 7, 7, 7, 7 },
		{ 7, 7, 7, 7, 7, 7, 7, 7 },
	};

	for (uint32_t i = 0; i < 4; i++) {
		struct nd_homa_config config = hand_defaults();

		config.levels = levels[i];
		hand_start(&config, false);
		for (uint8_t priority = 0; priority < 8; priority++)
			CHECK_EQ(nd_homa_collapse(hand, priority), expected[i][priority]);
	}
}

/* R-H32-2: the asked range and no more, cut at full packets, what was not sent yet left out. */
TEST(answer_resend__clips_to_the_range)
{
	hand_start_default();
	hand_request(2, 9000);
	for (uint32_t i = 0; i < 4; i++)
		take_data();
	hand_control(ND_HOMA_RESEND, 2, 3, 1424, 2000, 7);
	CHECK_STR(hand_next(), "DATA 2>2 1424+1424/9000 in=3424 p7 again");
	CHECK_STR(hand_next(), "DATA 2>2 2848+576/9000 in=3424 p7 again");
	CHECK_STR(hand_next(), "DATA 2>2 5696+1424/9000 in=9000 p6");
	hand_control(ND_HOMA_RESEND, 2, 3, 7000, 2000, 5);
	CHECK_STR(hand_next(), "DATA 2>2 7000+120/9000 in=7120 p5 again");
	CHECK_EQ(hand_counters()->data_resent, 3);
}

TEST(answer_resend__everything_sent_so_far)
{
	hand_start_default();
	hand_request(2, 9000);
	take_data();
	take_data();
	hand_control(ND_HOMA_RESEND, 2, 3, 0, ND_HOMA_RESEND_ALL, 7);
	CHECK_STR(hand_next(), "DATA 2>2 0+1424/9000 in=2848 p7 again");
	CHECK_STR(hand_next(), "DATA 2>2 1424+1424/9000 in=2848 p7 again");
	CHECK_STR(hand_next(), "DATA 2>2 2848+1424/9000 in=9000 p6");
}

/* R-H37-3: nothing of the range was sent yet: BUSY. */
TEST(answer_resend__busy_when_nothing_was_sent)
{
	hand_start_default();
	hand_request(2, 9000);
	take_data();
	hand_control(ND_HOMA_RESEND, 2, 3, 1424, 1424, 7);
	CHECK_STR(hand_next(), "BUSY 2>2");
	CHECK_STR(hand_next(), "DATA 2>2 1424+1424/9000 in=9000 p6");
}

/* A RESEND beyond what was granted says that the GRANT was lost. */
TEST(answer_resend__stands_for_a_lost_grant)
{
	hand_start_default();
	hand_request(2, 12000);
	hand_drain();
	hand_control(ND_HOMA_RESEND, 2, 3, 10000, 1424, 7);
	CHECK_STR(hand_next(), "BUSY 2>2");
	CHECK_STR(hand_next(), "DATA 2>2 10000+1424/12000 in=10000 p0");
	CHECK_STR(hand_next(), "");
}

TEST(answer_resend__impossible_ranges_are_harmless)
{
	hand_start_default();
	hand_request(2, 3000);
	hand_drain();
	hand_control(ND_HOMA_RESEND, 2, 3, 2900, 0xfffffff0, 7);
	CHECK_STR(hand_next(), "DATA 2>2 2900+100/3000 in=3000 p7 again");
	hand_control(ND_HOMA_RESEND, 2, 3, 0xffffff00, 0x200, 255);
	CHECK_STR(hand_next(), "BUSY 2>2");
	hand_control(ND_HOMA_RESEND, 2, 3, 100, 0, 7);
	CHECK_STR(hand_next(), "BUSY 2>2");
	CHECK_STR(hand_next(), "");
}

/* Two ranges that touch join; one apart waits for the next RESEND. */
TEST(resend__joins_ranges)
{
	hand_start_default();
	hand_request(2, 9000);
	hand_drain();
	hand_control(ND_HOMA_RESEND, 2, 3, 1424, 1424, 7);
	hand_control(ND_HOMA_RESEND, 2, 3, 0, 1424, 7);
	hand_control(ND_HOMA_RESEND, 2, 3, 7000, 100, 7);
	CHECK_STR(hand_next(), "DATA 2>2 0+1424/9000 in=2848 p7 again");
	CHECK_STR(hand_next(), "DATA 2>2 1424+1424/9000 in=2848 p7 again");
	CHECK_STR(hand_next(), "");
}

/* Retransmissions of a long message wait for shorter messages. */
TEST(srpt_key__counts_retransmissions)
{
	hand_start_default();
	hand_request(2, 9000);
	hand_drain();
	hand_control(ND_HOMA_RESEND, 2, 3, 0, 9000, 7);
	hand_request(3, 8000);
	CHECK_STR(hand_next(), "DATA 4>3 0+1424/8000 in=8000 p6");
}

/* An empty message is one empty packet; it is sent again when asked for. */
TEST(put_next__empty_message)
{
	hand_start_default();
	hand_request(2, 0);
	CHECK_STR(hand_next(), "DATA 2>2 0+0/0 in=0 p6");
	CHECK_STR(hand_next(), "");
	hand_control(ND_HOMA_RESEND, 2, 3, 0, ND_HOMA_RESEND_ALL, 7);
	CHECK_STR(hand_next(), "DATA 2>2 0+0/0 in=0 p6");
}

/* R-H36-1: above the threshold requests carry the flag, below it they do not. */
TEST(create_request__incast_flag)
{
	struct nd_homa_config config = hand_defaults();

	config.incast_rpcs = 2;
	hand_start(&config, false);
	for (uint32_t i = 0; i < 4; i++) {
		hand_request(2, 100);
		CHECK_EQ(take_data().homa.note, i < 2 ? ND_HOMA_NOTE_NONE : ND_HOMA_NOTE_INCAST);
	}
	CHECK_EQ(hand_counters()->incast_flagged, 2);
}

/* R-H36-1, E-H19: the response to a flagged request has few unscheduled bytes. */
TEST(do_reply__incast_response)
{
	struct nd_packet request = hand_packet(ND_HOMA_DATA, 2, 100);

	hand_start_default();
	request.payload_bytes = 50;
	request.homa.message_bytes = 50;
	request.homa.note = ND_HOMA_NOTE_INCAST;
	hand_receive(&request);
	CHECK_EQ(hand_reply(hand_event().id, 5000), 0);
	CHECK_STR(hand_next(), "DATA 101>2 0+320/5000 in=320 p6");
	CHECK_STR(hand_next(), "");
	hand_control(ND_HOMA_GRANT, 2, 100, 5000, 0, 1);
	CHECK_STR(hand_next(), "DATA 101>2 320+1424/5000 in=320 p1");
	CHECK_EQ(hand_counters()->incast_limited, 1);
}

/* The port of the paper's mode asks its own cutoffs before it has heard of the peer's. */
TEST(nd_homa_out_begin__own_cutoffs_first)
{
	struct nd_homa_config config = hand_defaults();

	config.own_cutoffs_first = true;
	hand_start(&config, false);
	hand_request(2, 200);
	CHECK_STR(hand_next(), "DATA 2>2 0+200/200 in=200 p7");
	hand_request(2, 15000);
	CHECK_STR(hand_next(), "DATA 4>2 0+1424/15000 in=10000 p5");
}

/* All that was sent is sent again, and nothing that was not: asking is no grant. */
TEST(answer_resend__all_grants_nothing)
{
	hand_start_default();
	hand_request(2, 20000);
	CHECK_EQ(hand_drain(), 8); /* 10,000 bytes unscheduled */
	hand_control(ND_HOMA_RESEND, 2, 3, 0, ND_HOMA_RESEND_ALL, 7);
	CHECK_EQ(hand_drain(), 8);
	CHECK_EQ(hand_counters()->data_resent, 8);
}

/* Shorter messages go first: the peer hears at once that its answer takes a while. */
TEST(answer_resend__busy_when_others_go_first)
{
	hand_start_default();
	hand_request(2, 9000);
	hand_drain();
	hand_request(4, 5000);
	hand_control(ND_HOMA_RESEND, 2, 3, 0, 1424, 7);
	CHECK_STR(hand_next(), "BUSY 2>2");
	hand_drain();
	hand_control(ND_HOMA_RESEND, 2, 3, 0, 1424, 7);
	CHECK_STR(hand_next(), "DATA 2>2 0+1424/9000 in=1424 p7 again");
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
