// SPDX-License-Identifier: Apache-2.0
/* Time: losses, repeated pulls, solicitations, give-up, deadlines, keepalive. */
#include "test/ndp_hand.h"

#define RTO (4 * ND_MSEC) /* before a round trip was measured */

/* R-NTP-14, R-NSB-03: lost: sent again when its time is up, not before; its path is told. */
TEST(find_losses__resends_and_counts_the_loss)
{
	struct nd_paths *paths;
	uint16_t path;
	uint64_t id;

	hand_start_default();
	id = hand_connect(2);
	hand_send(id, 1000);
	hand_next();
	path = hand_last.path;
	hand_wait(RTO - 64);
	CHECK_STR(hand_next(), "");
	hand_wait(64);
	CHECK_STR(hand_next(), "DATA 100>2 #0 m0 0+1000/1000 syn last rtx");
	CHECK_EQ(hand_counters()->timeouts, 1);
	paths = nd_ndp_peer_paths(hand, hand_connection(id)->peer);
	CHECK_EQ(nd_paths_slots(paths)[path].losses, 1);
}

/* R-NTP-14, R-NSB-04: ... on another path, also where it would be that one's turn again. */
TEST(find_losses__resends_on_another_path)
{
	struct nd_ndp_config config = hand_defaults();

	config.paths = 2;
	config.score.scoreboard = false;
	for (uint32_t peer = 2; peer < 12; peer++) {
		uint16_t path;

		hand_start(&config, false);
		hand_send(hand_connect(peer), 2000); /* a round; a new one begins with the resend */
		CHECK(hand_next()[0] && hand_next()[0]);
		path = hand_last.path;
		hand_ack(peer, 100, 0);
		hand_wait(RTO);
		CHECK(strstr(hand_next(), "#1 m0 1000+1000/2000 last rtx"));
		CHECK(hand_last.path != path);
	}
}

/* R-NTP-02, R-NTP-14: answers were lost, but not the pulls: no packet is paid for twice. */
TEST(find_losses__gives_no_credit_for_what_was_pulled)
{
	uint32_t sent;

	hand_start_default();
	hand_send(hand_connect(2), 60000);
	CHECK_EQ(hand_drain(), 4);
	hand_pull(2, 100, 3); /* the first three came, and their ACKs are lost */
	CHECK_EQ(hand_drain(), 3);
	hand_wait(RTO); /* ... and the four packets after them are lost as well */
	CHECK_STR(hand_next(), "DATA 100>2 #0 m0 0+1000/60000 rtx");
	CHECK_STR(hand_next(), "");
	hand_ack(2, 100, 0);
	sent = hand_drain();
	CHECK_EQ(sent, 3); /* a window of 4: one was answered, whose pull will come */
	hand_pull(2, 100, 4);
	CHECK_EQ(hand_drain(), 1);
}

/* R-NSB-03, R-NSB-04: a path that loses all is left to a rare try; what it lost takes another. */
TEST(find_losses__a_black_hole_is_left_out)
{
	uint64_t id;
	uint32_t lost = 0;

	hand_start_default();
	id = hand_connect(2);
	for (uint32_t i = 0; i < 400; i++) {
		hand_send(id, 1000);
		CHECK(hand_next()[0]);
		while (hand_last.path == 2) {
			lost++;
			hand_wait(RTO);
			CHECK(hand_next()[0]);
			CHECK(hand_last.path != 2);
		}
		hand_ack(2, 100, hand_last.ndp.sequence);
		hand_event();
	}
	CHECK(lost >= 2 && lost <= 20); /* of 400, where one in four would be 100 */
	CHECK_EQ(hand_counters()->timeouts, lost);
}

/* R-NTP-14, D13: the floor is 1 ms however short the round trip; it adapts above. */
TEST(find_losses__adapts_to_the_round_trip)
{
	struct nd_ndp_peer *peer;
	uint64_t id;

	hand_start_default();
	id = hand_connect(2);
	hand_send(id, 9000);
	hand_drain();
	hand_wait(20 * ND_USEC);
	hand_ack(2, 100, 0);
	peer = nd_ndp_peer_at(hand, hand_connection(id)->peer);
	CHECK_EQ(peer->rtt_ns, 19968); /* in steps of 64 ns */
	CHECK_EQ(nd_ndp_peer_rto(hand, peer, 0), ND_MSEC);
	CHECK_EQ(nd_ndp_peer_rto(hand, peer, 3), 8 * ND_MSEC);
	CHECK_EQ(nd_ndp_peer_rto(hand, peer, 200), hand_config.rto_max_ns);
	for (uint32_t i = 0; i < 100; i++)
		nd_ndp_peer_measured(peer, 5 * ND_MSEC);
	CHECK(nd_ndp_peer_rto(hand, peer, 0) >= 5 * ND_MSEC);
	CHECK(nd_ndp_peer_rto(hand, peer, 0) < 6 * ND_MSEC);
}

/* R-NTP-14: no timer fires while answers come, however long a packet waits for its pull. */
TEST(find_losses__nacked_packets_are_not_lost)
{
	struct nd_ndp_config config = hand_defaults();

	config.solicit_ns = ND_SEC / 2;
	hand_start(&config, false);
	hand_send(hand_connect(2), 4000);
	hand_drain();
	for (uint32_t i = 0; i < 4; i++)
		hand_nack(2, 100, i);
	hand_wait(400 * ND_MSEC);
	CHECK_EQ(hand_counters()->timeouts, 0);
	CHECK_EQ(hand_drain(), 0);
}

/* R-NTP-14: silence: one packet a time-out, with backoff; the rest has its credit when the peer is
 * heard, and time-outs are as short as at first. */
TEST(find_losses__asks_with_one_packet_and_backs_off)
{
	nd_ns sent[5];

	hand_start_default();
	hand_send(hand_connect(2), 4000);
	hand_drain();
	for (uint32_t i = 0; i < 5; i++) {
		nd_ns start = hand_now;

		while (!hand_next()[0])
			hand_wait(64);
		sent[i] = hand_now - start;
		CHECK_EQ(hand_drain(), 0);
	}
	for (uint32_t i = 1; i < 4; i++)
		CHECK(sent[i] >= sent[i - 1] * 2 - 128 && sent[i] <= sent[i - 1] * 2 + 128);
	hand_ack(2, 100, 0);
	CHECK_EQ(hand_drain(), 3);
	hand_wait(RTO);
	CHECK_EQ(hand_drain(), 1);
}

/* The peer is gone: the error says in which state, and what got through. */
TEST(give_up__fails_with_what_is_known)
{
	struct nd_event event;

	hand_start_default();
	hand_send(hand_connect(2), 4000);
	hand_drain();
	hand_ack(2, 100, 1);
	for (nd_ns waited = 0; waited < ND_SEC - ND_MSEC; waited += ND_MSEC) {
		hand_wait(ND_MSEC);
		hand_drain();
	}
	CHECK_EQ(hand_event().kind, 255);
	hand_wait(ND_MSEC);
	event = hand_event();
	CHECK_EQ(event.kind, ND_EVENT_FAILED);
	CHECK_EQ(event.error, -ETIMEDOUT);
	CHECK_EQ(event.bytes, 1000);
	CHECK_EQ(event.detail, ND_NDP_OPEN);
	event = hand_event();
	CHECK_EQ(event.kind, ND_EVENT_CLOSED);
	CHECK_EQ(event.error, -ETIMEDOUT);
	CHECK_EQ(event.cookie, 7);
	CHECK_EQ(hand_counters()->connections_failed, 1);
	CHECK_STR(hand_next(), "CLOSE 100>2 2");
	hand_wait(2 * ND_SEC);
	CHECK_EQ(nd_ndp_ops.deadline(hand), ND_NEVER);
	CHECK_EQ(hand_usage().remembered, 0);
}

/* A receiver whose sender vanished in mid-message lets go as well. */
TEST(give_up__of_a_sender_that_vanished)
{
	struct nd_ndp_config config = hand_defaults();

	hand_start(&config, true);
	hand_arrive(2, 9, 0, 9000);
	for (nd_ns waited = 0; waited < ND_SEC; waited += ND_MSEC) {
		hand_wait(ND_MSEC);
		hand_drain();
	}
	CHECK_EQ(hand_event().kind, ND_EVENT_ACCEPTED);
	CHECK_EQ(hand_event().kind, ND_EVENT_CLOSED);
	CHECK_EQ(hand_held, 0);
}

/* A lost PULL: the receiver says the counter again, less and less often. */
TEST(repull__repeats_the_last_counter)
{
	nd_ns gap = hand_config.repull_ns;

	hand_start_default();
	gap = hand_config.repull_ns;
	hand_arrive(2, 9, 0, 9000);
	hand_drain();
	for (uint32_t i = 0; i < 4; i++) {
		hand_wait(gap - 1);
		CHECK_STR(hand_next(), "");
		hand_wait(1);
		CHECK_STR(hand_next(), "PULL 9>2 1 reply");
		gap *= 2;
	}
	hand_arrive(2, 9, 1, 9000);
	hand_drain();
	hand_wait(hand_config.repull_ns);
	CHECK_STR(hand_next(), "PULL 9>2 2 reply");
	CHECK_EQ(hand_counters()->pulls_repeated, 5);
}

TEST(repull__is_silent_when_nothing_is_missing)
{
	hand_start_default();
	hand_arrive(2, 9, 0, 1000);
	hand_drain();
	hand_wait(ND_SEC * 10);
	CHECK_EQ(hand_counters()->pulls_repeated, 0);
	CHECK_EQ(hand_usage().connections, 1);
}

/* All pulls lost, also repeated ones: the sender asks with a header, which earns a pull. */
TEST(solicit__asks_with_a_header)
{
	hand_start_default();
	hand_send(hand_connect(2), 4000);
	hand_drain();
	for (uint32_t i = 0; i < 4; i++)
		hand_nack(2, 100, i);
	hand_wait(hand_config.solicit_ns - 1);
	CHECK_STR(hand_next(), "");
	hand_wait(1);
	CHECK_STR(hand_next(), "DATA 100>2 #0 m0 0+1000/4000 rtx trimmed");
	CHECK_STR(hand_next(), "");
	hand_nack(2, 100, 0);
	hand_pull(2, 100, 1);
	CHECK_STR(hand_next(), "DATA 100>2 #0 m0 0+1000/4000 rtx");
	CHECK_EQ(hand_counters()->solicits_sent, 1);
}

/* Everything sent is acknowledged and no pull comes for the rest. */
TEST(solicit__sends_one_packet_when_none_waits)
{
	hand_start_default();
	hand_send(hand_connect(2), 9000);
	hand_drain();
	for (uint32_t i = 0; i < 4; i++)
		hand_ack(2, 100, i);
	hand_wait(hand_config.solicit_ns);
	CHECK_STR(hand_next(), "DATA 100>2 #4 m0 4000+1000/9000");
	CHECK_STR(hand_next(), "");
}

/* An idle connection is tried now and then; a peer that answers keeps it. */
TEST(keep_alive__tries_idle_connections)
{
	struct nd_ndp_config config = hand_defaults();
	uint64_t id;

	config.keepalive_ns = 10 * ND_SEC;
	hand_start(&config, false);
	id = hand_connect(2);
	hand_send(id, 100);
	hand_drain();
	hand_ack(2, 100, 0);
	hand_wait(10 * ND_SEC - 1);
	CHECK_STR(hand_next(), "");
	hand_wait(1);
	CHECK_STR(hand_next(), "DATA 100>2 #1 m0 0+0/0 last void");
	hand_ack(2, 100, 1);
	hand_wait(10 * ND_SEC);
	CHECK_STR(hand_next(), "DATA 100>2 #2 m0 0+0/0 last void");
	hand_close(2, 100, ND_NDP_CLOSE_UNKNOWN); /* it was restarted */
	CHECK_EQ(hand_event().kind, ND_EVENT_SENT);
	CHECK_EQ(hand_event().error, -ECONNRESET);
}

TEST(nd_ndp_message_expire__a_late_message_fails_alone)
{
	struct nd_command command = { .kind = ND_COMMAND_SEND, .app = 2, .bytes = 2000,
				      .cookie = 5 };
	struct nd_event event;

	hand_start_default();
	command.id = hand_connect(2);
	hand_send(command.id, 4000);
	command.deadline = hand_now + 300 * ND_USEC;
	CHECK_EQ(hand_submit(command), 0);
	command.deadline = hand_now;
	CHECK_EQ(hand_submit(command), -ETIMEDOUT);
	hand_drain();
	hand_wait(299 * ND_USEC);
	CHECK_EQ(hand_event().kind, 255);
	hand_wait(ND_USEC);
	event = hand_event();
	CHECK_EQ(event.kind, ND_EVENT_FAILED);
	CHECK_EQ(event.error, -ETIMEDOUT);
	CHECK_EQ(event.message, 1);
	CHECK_EQ(event.cookie, 5);
	hand_pull(2, 100, 1);
	CHECK_STR(hand_next(), "DATA 100>2 #4 m1 0+0/2000 last void");
}

/* CLOSE with a deadline: what is not delivered by then is given up. */
TEST(give_up__at_the_deadline_of_close)
{
	struct nd_command close = { .kind = ND_COMMAND_CLOSE, .app = 2 };

	hand_start_default();
	close.id = hand_connect(2);
	hand_send(close.id, 9000);
	hand_drain();
	hand_ack(2, 100, 0);
	close.deadline = hand_now + ND_MSEC;
	CHECK_EQ(hand_submit(close), 0);
	hand_wait(ND_MSEC);
	CHECK_EQ(hand_event().error, -ETIMEDOUT);
	CHECK_EQ(hand_event().kind, ND_EVENT_CLOSED);
}

/* R-NTP-13: a busy timer never delays an answer, and nothing spins. */
TEST(nd_ndp_timer_run__always_moves_on)
{
	hand_start_default();
	hand_send(hand_connect(2), 50000);
	hand_arrive(2, 9, 0, 50000);
	for (uint32_t i = 0; i < 100; i++) {
		nd_ns deadline = nd_ndp_ops.deadline(hand);

		if (deadline == ND_NEVER)
			break;
		hand_now = nd_max_u64(hand_now, deadline);
		nd_ndp_ops.on_deadline(hand, hand_now);
		CHECK(nd_ndp_ops.deadline(hand) > hand_now);
		hand_drain();
	}
}

/* A connection that nothing was sent on for long closes: what waits for the link has not been sent, so
 * no silence of the peer's has begun. */
TEST(give_up__not_before_what_closes_was_sent)
{
	struct nd_ndp_config config = hand_defaults();
	uint64_t id;

	config.keepalive_ns = 10 * ND_SEC;
	hand_start(&config, false);
	id = hand_connect(2);
	hand_send(id, 1000);
	hand_drain();
	hand_ack(2, 100, 0);
	hand_wait(10 * ND_SEC - 1);
	hand_drain();
	hand_send(id, 1000);
	CHECK_EQ(hand_do(ND_COMMAND_CLOSE, id, 0), 0);
	hand_wait(2); /* the keepalive's time; the link has been busy so far */
	CHECK_STR(hand_next(), "DATA 100>2 #1 m1 0+1000/1000 last fin");
	CHECK_EQ(hand_counters()->connections_failed, 0);
	hand_wait(hand_config.give_up_ns + 10 * ND_SEC); /* now it is silent */
	CHECK_EQ(hand_counters()->connections_failed, 1);
}

/* The same for a new connection, whose first message's deadline passes meanwhile. */
TEST(give_up__not_before_a_new_connection_was_used)
{
	uint64_t id;

	hand_start_default();
	hand_now = 5 * ND_SEC;
	id = hand_connect(2);
	CHECK_EQ(hand_submit((struct nd_command){ .kind = ND_COMMAND_SEND, .app = 2, .id = id,
						  .bytes = 100, .deadline = hand_now + ND_MSEC }), 0);
	hand_send(id, 1000);
	CHECK_EQ(hand_do(ND_COMMAND_CLOSE, id, 0), 0);
	hand_wait(2 * ND_MSEC);
	CHECK_EQ(hand_counters()->connections_failed, 0);
	CHECK(hand_next()[0]);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
