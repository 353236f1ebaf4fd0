// SPDX-License-Identifier: Apache-2.0
/* Silence, retries, giving up, deadlines. */
#include "test/homa_hand.h"

static void wait_resend(void)
{
	hand_wait(hand_config.resend_ns);
}

/* R-H37-1: a receiver asks for the first missing range, again and again, then gives up quietly. */
TEST(check_silence__server_asks_for_the_first_gap)
{
	hand_start_default();
	hand_data(2, 100, 1424, 1424, 9000, 9000);
	wait_resend();
	CHECK_STR(hand_next(), "RESEND 101>2 0+1424");
	hand_data(2, 100, 0, 1424, 9000, 9000);
	hand_wait(hand_config.resend_ns - 1);
	CHECK_STR(hand_next(), "");
	hand_wait(1);
	CHECK_STR(hand_next(), "RESEND 101>2 2848+6152");
	for (uint32_t i = 1; i < hand_config.resends_max; i++) {
		wait_resend();
		CHECK_STR(hand_next(), "RESEND 101>2 2848+6152");
	}
	wait_resend();
	CHECK_EQ(hand_usage().server_rpcs, 0);
	CHECK_EQ(hand_counters()->requests_abandoned, 1);
	CHECK_EQ(hand_event().kind, 255);
	CHECK_EQ(nd_homa_ops.deadline(hand), ND_NEVER);
}

/* A message that waits for the link is not silence of its peer: that begins when it has left. */
TEST(check_silence__begins_with_what_was_sent)
{
	hand_start_default();
	hand_request(2, 100);
	hand_wait(hand_config.resend_ns / 2);
	CHECK_EQ(hand_drain(), 1);
	hand_wait(hand_config.resend_ns - 1);
	CHECK_STR(hand_next(), "");
	hand_wait(1);
	CHECK_STR(hand_next(), "RESEND 2>2 0+-1");
}

/* A server that answers each question with "unknown" gets none of the full packets: a link's MTU. */
TEST(silence_error__of_what_never_passes)
{
	struct nd_event event;

	hand_start_default();
	hand_request(2, 5000);
	for (uint32_t i = 0; i < hand_config.resends_max; i++) {
		hand_drain();
		wait_resend();
		CHECK_STR(hand_next(), "RESEND 2>2 0+-1");
		hand_unknown(2, 3, ND_HOMA_NOTE_NONE);
	}
	hand_drain();
	wait_resend();
	event = hand_event();
	CHECK_EQ(event.kind, ND_EVENT_FAILED);
	CHECK_EQ(event.error, -ECOMM);
	CHECK_EQ(hand_counters()->rpcs_unpassed, 1);
}

/* R-H37-2: the client asks for the response, also when the request is not fully sent. */
TEST(check_silence__client_asks_for_the_response)
{
	hand_start_default();
	hand_request(2, 20000);
	hand_drain();
	wait_resend();
	CHECK_STR(hand_next(), "RESEND 2>2 0+-1");
	hand_data(2, 3, 0, 1424, 5000, 5000);
	wait_resend();
	CHECK_STR(hand_next(), "RESEND 2>2 1424+3576");
}

/* RPCs that began together do not ask together: the same answers would overflow a queue again. */
TEST(resend_interval__spreads_questions)
{
	struct nd_homa_config config = hand_defaults();
	uint32_t asked = 0;

	config.resend_jitter_permille = 500;
	hand_start(&config, false);
	for (uint32_t i = 0; i < 60; i++)
		hand_request(2, 100);
	hand_drain();
	wait_resend();
	for (uint32_t step = 0; step <= 10; step++) {
		uint32_t now = 0;

		for (; hand_next()[0]; now++)
			;
		CHECK(now <= 15);
		asked += now;
		hand_wait(hand_config.resend_ns / 20);
	}
	CHECK_EQ(asked, 60);
}

/* ... but not while its own NIC has not taken the request. */
TEST(expects__own_turn_is_no_silence)
{
	hand_start_default();
	hand_request(2, 5000);
	for (uint32_t i = 0; i < 100; i++)
		wait_resend();
	CHECK_STR(hand_next(), "DATA 2>2 0+1424/5000 in=5000 p6");
	hand_drain();
	hand_wait(hand_config.resend_ns - 1);
	CHECK_STR(hand_next(), "");
}

/* A message that waits for our own grant is not late. */
TEST(expects__waiting_for_our_grant)
{
	struct nd_homa_config config = hand_defaults();

	config.overcommit = 1;
	hand_start(&config, false);
	hand_data(2, 100, 0, 1424, 12000, 1424);
	hand_data(3, 100, 0, 1424, 60000, 1424);
	hand_drain();
	wait_resend();
	CHECK_STR(hand_next(), "GRANT 101>3 <11424 p0");
	CHECK_STR(hand_next(), "RESEND 101>2 1424+10000");
	CHECK_STR(hand_next(), "");
}

/* R-H37-3: BUSY, GRANT and DATA are signs of life. */
TEST(nd_homa_rpc_alive__resets_the_count)
{
	hand_start_default();
	hand_request(2, 100);
	hand_drain();
	for (uint32_t i = 0; i < 5 * hand_config.resends_max; i++) {
		wait_resend();
		CHECK_STR(hand_next(), "RESEND 2>2 0+-1");
		hand_control(ND_HOMA_BUSY, 2, 3, 0, 0, 0);
	}
	CHECK_EQ(hand_usage().client_rpcs, 1);
}

/* R-H37-4, T28, GH#13: gives up with an error that says how far it came. */
TEST(give_up__client)
{
	struct nd_event event;

	hand_start_default();
	hand_request(2, 20000);
	hand_drain();
	hand_control(ND_HOMA_GRANT, 2, 3, 15000, 0, 1);
	hand_drain();
	for (uint32_t i = 0; i <= hand_config.resends_max; i++)
		wait_resend();
	event = hand_event();
	CHECK_EQ(event.kind, ND_EVENT_FAILED);
	CHECK_EQ(event.error, -ETIMEDOUT);
	CHECK_EQ(event.id, 2);
	CHECK_EQ(event.cookie, 7);
	CHECK_EQ(event.app, 2);
	CHECK_EQ(nd_homa_failed_state(&event), ND_HOMA_OUTGOING);
	CHECK_EQ(nd_homa_failed_attempts(&event), hand_config.resends_max);
	CHECK_EQ(nd_homa_failed_sent(&event), 15000);
	CHECK_EQ(nd_homa_failed_granted(&event), 15000);
	CHECK_EQ(event.bytes, 0);
	CHECK_EQ(hand_counters()->rpcs_timed_out, 1);
	CHECK_STR(hand_next(), "UNKNOWN 2>2 note 5");
	CHECK_EQ(hand_homa()->rpcs.used, 0);
}

/* HM#4, T23: silence of a peer of another make to a message that it cannot take says why. */
TEST(give_up__others_cannot_take_long_messages)
{
	struct nd_packet busy = hand_packet(ND_HOMA_BUSY, 2, 99);

	hand_start_default();
	hand_request(2, ND_HOMA_OTHERS_MESSAGE_MAX + 1);
	hand_drain();
	busy.homa.speaker = 0;
	hand_receive(&busy);
	for (uint32_t i = 0; i <= hand_config.resends_max; i++)
		wait_resend();
	CHECK_EQ(hand_event().error, -EMSGSIZE);
}

/* NEED_ACK: after 2 ms, doubling, at most 64 ms apart, then the server lets go with an error. */
TEST(check_ack__backs_off_and_gives_up)
{
	struct nd_event event;
	nd_ns start, last;

	hand_start_default();
	hand_reply(hand_serve(2, 100, 50), 50);
	hand_drain();
	start = last = hand_now;
	for (uint32_t i = 0; i < hand_config.need_acks_max; i++) {
		nd_ns expected = nd_min_u64(2 * ND_MSEC << i, 64 * ND_MSEC);

		while (!hand_next()[0])
			hand_wait(100 * ND_USEC);
		CHECK_STR(hand_line, "NEED_ACK 101>2");
		CHECK(hand_now - last >= expected && hand_now - last <= expected + ND_MSEC);
		last = hand_now;
	}
	hand_wait(64 * ND_MSEC);
	event = hand_event();
	CHECK_EQ(event.kind, ND_EVENT_FAILED);
	CHECK_EQ(event.error, -ETIMEDOUT);
	CHECK_EQ(nd_homa_failed_state(&event), ND_HOMA_UNACKED);
	CHECK(hand_now - start < 500 * ND_MSEC);
	CHECK_EQ(hand_usage().server_rpcs, 0);
}

/* A client that says BUSY (no memory, or no grants yet) keeps the server waiting. */
TEST(check_ack__busy_keeps_waiting)
{
	hand_start_default();
	hand_reply(hand_serve(2, 100, 50), 50000);
	hand_drain();
	for (uint32_t i = 0; i < 100; i++) {
		hand_wait(64 * ND_MSEC);
		hand_drain();
		hand_control(ND_HOMA_BUSY, 2, 100, 0, 0, 0);
	}
	CHECK_EQ(hand_counters()->need_acks_sent, 100);
	CHECK_EQ(hand_usage().server_rpcs, 1);
}

/* The application's deadline ends the RPC at once and tells the peer. */
TEST(fire__deadline)
{
	struct nd_command command = { .kind = ND_COMMAND_REQUEST, .app = 2, .peer = 2,
				      .port = HAND_PORT, .bytes = 100 };
	struct nd_event event;

	hand_start_default();
	command.deadline = hand_now + 300 * ND_USEC;
	CHECK_EQ(nd_homa_ops.submit(hand, &command, hand_now), 0);
	hand_drain();
	CHECK_EQ(nd_homa_ops.deadline(hand), hand_now + 300 * ND_USEC);
	hand_wait(300 * ND_USEC);
	event = hand_event();
	CHECK_EQ(event.kind, ND_EVENT_FAILED);
	CHECK_EQ(event.error, -ETIMEDOUT);
	CHECK_EQ(nd_homa_failed_sent(&event), 100);
	CHECK_STR(hand_next(), "UNKNOWN 2>2 note 5");
	CHECK_EQ(hand_counters()->rpcs_expired, 1);
}

TEST(fire__deadline_of_a_reply)
{
	struct nd_event event;

	hand_start_default();
	CHECK_EQ(hand_submit((struct nd_command){
		.kind = ND_COMMAND_REPLY, .app = 1, .id = hand_serve(2, 100, 50), .bytes = 20000,
		.deadline = hand_now + ND_MSEC }), 0);
	hand_drain();
	hand_wait(ND_MSEC);
	event = hand_event();
	CHECK_EQ(event.error, -ETIMEDOUT);
	CHECK_EQ(nd_homa_failed_state(&event), ND_HOMA_REPLYING);
	CHECK_EQ(nd_homa_failed_sent(&event), 10000);
	CHECK_STR(hand_next(), "UNKNOWN 101>2 note 2");
}

/* GH#9: a request may be in service for as long as it likes; the client hears BUSY. */
TEST(receive_resend__busy_while_in_service)
{
	uint64_t id;

	hand_start_default();
	id = hand_serve(2, 100, 50);
	for (uint32_t i = 0; i < 1000; i++) {
		hand_wait(5 * ND_MSEC);
		hand_control(ND_HOMA_RESEND, 2, 100, 0, ND_HOMA_RESEND_ALL, 7);
		CHECK_STR(hand_next(), "BUSY 101>2");
	}
	CHECK_EQ(hand_reply(id, 10), 0);
	CHECK_STR(hand_next(), "DATA 101>2 0+10/10 in=10 p6");
}

/* GH#9: of several packets, too: no timer runs while it is the application's turn. */
TEST(request_complete__stops_the_timer)
{
	hand_start_default();
	hand_data(2, 100, 0, 1424, 2000, 2000);
	CHECK(nd_homa_ops.deadline(hand) != ND_NEVER);
	hand_data(2, 100, 1424, 576, 2000, 2000);
	CHECK_EQ(hand_event().kind, ND_EVENT_REQUEST);
	CHECK_EQ(nd_homa_ops.deadline(hand), ND_NEVER);
}

/* HM#53: slow links get slower timers by themselves. */
TEST(nd_homa_config_default__derives_from_the_link)
{
	struct nd_homa_config slow = nd_homa_config_default(UINT64_C(10000000), 1500);
	struct nd_homa_config fast = nd_homa_config_default(UINT64_C(100000000000), 9000);

	CHECK_EQ(nd_homa_config_default(UINT64_C(10000000000), 1500).rtt_bytes, 30000);
	CHECK_EQ(nd_homa_config_default(UINT64_C(10000000000), 1500).resend_ns, 5 * ND_MSEC);
	CHECK_EQ(slow.rtt_bytes, 10000);
	CHECK_EQ(slow.resend_ns, 128 * ND_MSEC);
	CHECK_EQ(fast.rtt_bytes, 60000);
	CHECK_EQ(fast.mss_bytes, 9000 - 76);
	CHECK_EQ(nd_homa_config_check(&slow, NULL), 0);
	CHECK_EQ(nd_homa_config_check(&fast, NULL), 0);
}

/* HM#53: nothing is asked for again while it may still wait behind what was granted before. */
TEST(nd_homa_config_default__waits_for_all_that_is_granted)
{
	static const uint64_t rates[] = { 10, 100, 1000, 10000, 25000, 100000 };

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(rates); i++) {
		struct nd_homa_config config = nd_homa_config_default(rates[i] * 1000000, 1500);
		nd_ns takes = (nd_ns)config.max_incoming_bytes * 8000 / rates[i];

		CHECK(config.resend_ns > takes + takes / 14);
		CHECK(config.resend_ns >= 5 * ND_MSEC);
	}
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
