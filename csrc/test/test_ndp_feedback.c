// SPDX-License-Identifier: Apache-2.0
/* ACK, NACK, PULL and bounces in: what the sender makes of them. */
#include "test/ndp_hand.h"

/* Packets of the first window, to be bounced. */
static struct nd_packet window[8];

static uint64_t send_window(uint32_t bytes)
{
	uint64_t id = hand_connect(2);

	hand_send(id, bytes);
	for (uint32_t i = 0; i < 8 && hand_next()[0]; i++)
		window[i] = hand_last;
	return id;
}

/* R-NTP-05: the ACK of the last packet gives the payload back, SENT once. */
TEST(nd_ndp_feedback_ack__ends_a_message_when_all_are_acknowledged)
{
	struct nd_event event;

	hand_start_default();
	send_window(3000);
	hand_ack(2, 100, 2);
	hand_ack(2, 100, 0);
	hand_ack(2, 100, 2);
	CHECK_EQ(hand_event().kind, 255);
	hand_ack(2, 100, 1);
	event = hand_event();
	CHECK_EQ(event.kind, ND_EVENT_SENT);
	CHECK_EQ(event.bytes, 3000);
	CHECK_EQ(event.cookie, 9);
	CHECK_EQ(hand_event().kind, 255);
	CHECK_EQ(hand_counters()->feedback_stale, 1);
	CHECK_EQ(hand_ndp()->windows.used, 0); /* idle connections hold no ring */
}

TEST(nd_ndp_feedback_ack__of_nothing_sent_is_stale)
{
	hand_start_default();
	send_window(3000);
	hand_ack(2, 100, 3);
	hand_ack(2, 100, UINT32_MAX);
	hand_nack(2, 100, 77);
	CHECK_EQ(hand_counters()->feedback_stale, 3);
	CHECK_EQ(hand_usage().messages, 1);
}

/* A late ACK of a packet that was NACKed (a duplicate was trimmed): it is not sent again. */
TEST(nd_ndp_feedback_ack__takes_a_packet_out_of_the_resend_queue)
{
	hand_start_default();
	send_window(4000);
	hand_nack(2, 100, 1);
	hand_nack(2, 100, 2);
	hand_nack(2, 100, 3);
	hand_ack(2, 100, 2);
	hand_pull(2, 100, 2);
	CHECK_STR(hand_next(), "DATA 100>2 #1 m0 1000+1000/4000 rtx");
	CHECK_STR(hand_next(), "DATA 100>2 #3 m0 3000+1000/4000 last rtx");
	hand_nack(2, 100, 2); /* ... and a NACK after the ACK changes nothing */
	CHECK_EQ(hand_drain(), 0);
}

/* R-NSB-01: what a packet's path did is remembered with the path that it took. */
TEST(nd_ndp_feedback__scores_the_path_of_each_packet)
{
	struct nd_paths *paths;

	hand_start_default();
	send_window(4000);
	hand_ack(2, 100, 0);
	hand_nack(2, 100, 1);
	hand_bounce(&window[2]);
	hand_wait(hand_config.rto_initial_ns);
	paths = nd_ndp_peer_paths(hand, hand_connection(hand_connect(2))->peer);
	CHECK_EQ(nd_paths_slots(paths)[window[0].path].acks, 1);
	CHECK_EQ(nd_paths_slots(paths)[window[1].path].nacks, 1);
	CHECK_EQ(nd_paths_slots(paths)[window[2].path].nacks, 3);
	CHECK_EQ(nd_paths_slots(paths)[window[3].path].losses, 1);
}

/* R-NTP-10: pulls lost, doubled and in any order release what the counter says, no more. */
TEST(nd_ndp_feedback_pull__any_order_releases_the_same)
{
	struct nd_ndp_config config = hand_defaults();

	config.initial_window = 40;
	config.window_packets = 128;
	for (uint64_t seed = 1; seed < 200; seed++) {
		struct nd_rng rng = nd_rng_make(seed, 1);
		uint32_t highest = 0, sent = 0;

		hand_start(&config, false);
		hand_send(hand_connect(2), 100000);
		CHECK_EQ(hand_drain(), 40);
		for (uint32_t i = 0; i < 60; i++) {
			uint32_t counter = 1 + nd_rng_below(&rng, 40);

			highest = nd_max_u32(highest, counter);
			hand_pull(2, 100, counter);
			sent += hand_drain();
			CHECK_EQ(sent, highest);
		}
	}
}

/* R-NTP-17, R-NTP-19: what the network doubles is pulled twice: the second pull begets nothing. */
TEST(nd_ndp_feedback_pull__doubled_packets_do_not_multiply)
{
	uint32_t pulls = 0;

	hand_start_default();
	hand_send(hand_connect(2), 500000);
	hand_drain();
	for (uint32_t i = 0; i < 400; i++) {
		hand_ack(2, 100, i);
		hand_ack(2, 100, i);
		hand_pull(2, 100, pulls += 2);
		hand_drain();
	}
	/* As many as a window may have had lost answers, so as many more are under way. */
	CHECK_EQ(hand_counters()->data_sent, 400 + 2 * 4);
	CHECK_EQ(hand_counters()->pulls_excessive, 400 - 4);
}

/* R-NTP-05: an answer says what has arrived, and so repairs the ACKs that were lost before it. */
TEST(nd_ndp_feedback_ack__says_what_has_arrived)
{
	struct nd_packet nack = hand_packet(ND_NDP_NACK, 2, 100);

	hand_start_default();
	send_window(4000);
	nack.ndp.sequence = 2;
	nack.ndp.arrived = 2; /* 0 and 1, whose ACKs are lost */
	hand_receive(&nack);
	hand_pull(2, 100, 1);
	CHECK_STR(hand_next(), "DATA 100>2 #2 m0 2000+1000/4000 rtx");
	nack.type = ND_NDP_ACK;
	nack.ndp.sequence = 3;
	nack.ndp.arrived = 5; /* more than was sent: nobody means it */
	hand_receive(&nack);
	CHECK_EQ(hand_event().kind, 255);
	nack.ndp.arrived = 4;
	hand_receive(&nack);
	CHECK_EQ(hand_event().kind, ND_EVENT_SENT);
	CHECK_EQ(hand_counters()->timeouts, 0);
}

/* A peer that says less than it acknowledged before has nothing acknowledged for it. */
TEST(nd_ndp_feedback_ack__says_less_than_has_arrived)
{
	struct nd_packet ack = hand_packet(ND_NDP_ACK, 2, 100);

	hand_start_default();
	send_window(4000);
	for (uint32_t i = 1; i < 3; i++) {
		ack.ndp.sequence = i;
		hand_receive(&ack);
	}
	ack.ndp.arrived = 1;
	hand_receive(&ack);
	CHECK_EQ(hand_event().kind, 255);
	ack.ndp.sequence = 3;
	hand_receive(&ack);
	CHECK_EQ(hand_event().kind, ND_EVENT_SENT);
}

/* The counter on ACKs and NACKs repairs PULLs that were lost. */
TEST(nd_ndp_feedback_ack__carries_the_pull_counter)
{
	struct nd_packet ack = hand_packet(ND_NDP_ACK, 2, 100);

	hand_start_default();
	send_window(9000);
	ack.flags |= ND_NDP_FLAG_PULL;
	ack.ndp.pull = 2;
	hand_receive(&ack);
	CHECK_EQ(hand_drain(), 2);
	hand_pull(2, 100, 2);
	CHECK_EQ(hand_drain(), 0);
}

/* R-NTP-16: a NACK with a pull is "retransmit now". */
TEST(nd_ndp_feedback_nack__with_pull_retransmits_at_once)
{
	struct nd_packet nack = hand_packet(ND_NDP_NACK, 2, 100);

	hand_start_default();
	send_window(4000);
	nack.flags |= ND_NDP_FLAG_PULL;
	nack.ndp.pull = 1;
	nack.ndp.sequence = 2;
	hand_receive(&nack);
	CHECK_STR(hand_next(), "DATA 100>2 #2 m0 2000+1000/4000 rtx");
}

/* R-NTP-16: ... and one without is not, whatever stands where the counter would be. */
TEST(nd_ndp_feedback_nack__without_pull_releases_nothing)
{
	struct nd_packet nack = hand_packet(ND_NDP_NACK, 2, 100);

	hand_start_default();
	send_window(4000);
	nack.ndp.pull = 1;
	nack.ndp.sequence = 2;
	hand_receive(&nack);
	CHECK_STR(hand_next(), "");
	CHECK_EQ(hand_counters()->pulls_received, 0);
}

/* R-RTS-01, R-RTS-03: the truth table of pulls that are expected and packets still out. */
TEST(nd_ndp_feedback_bounce__resends_only_when_nothing_else_will)
{
	/* Others of the window are out: their answers may bring pulls. */
	hand_start_default();
	send_window(4000);
	hand_bounce(&window[0]);
	CHECK_EQ(hand_drain(), 0);
	/* All were returned: one goes again, no more (no incast echo). */
	hand_bounce(&window[1]);
	hand_bounce(&window[2]);
	CHECK_EQ(hand_drain(), 0);
	hand_bounce(&window[3]);
	CHECK_STR(hand_next(), "DATA 100>2 #0 m0 0+1000/4000 syn rtx");
	CHECK(hand_last.path != window[0].path);
	CHECK_STR(hand_next(), "");
	CHECK_EQ(hand_counters()->bounces_resent, 1);
	/* ... and if that one comes back, the next. */
	hand_bounce(&hand_last);
	CHECK_EQ(hand_drain(), 1);
}

/* R-RTS-01: an answer whose pull has not come means that pulls are expected. */
TEST(nd_ndp_feedback_bounce__waits_for_a_pull_that_is_due)
{
	hand_start_default();
	send_window(4000);
	hand_nack(2, 100, 0);
	hand_ack(2, 100, 1);
	hand_ack(2, 100, 2);
	hand_bounce(&window[3]);
	CHECK_EQ(hand_drain(), 0);
	hand_pull(2, 100, 1);
	CHECK_STR(hand_next(), "DATA 100>2 #0 m0 0+1000/4000 rtx");
	CHECK_EQ(hand_drain(), 0);
	hand_pull(2, 100, 2);
	CHECK_STR(hand_next(), "DATA 100>2 #3 m0 3000+1000/4000 last rtx");
	CHECK_EQ(hand_counters()->bounces_resent, 0);
}

/* R-RTS-01: a NACK's pull is expected as much as an ACK's. */
TEST(nd_ndp_feedback_bounce__waits_for_the_pulls_of_nacks)
{
	hand_start_default();
	send_window(4000);
	for (uint32_t i = 0; i < 3; i++)
		hand_nack(2, 100, i);
	hand_bounce(&window[3]);
	CHECK_EQ(hand_drain(), 0);
	CHECK_EQ(hand_counters()->bounces_resent, 0);
}

/* R-RTS-01: a pull that has come and is not used yet sends it; nothing else need. */
TEST(nd_ndp_feedback_bounce__takes_a_pull_that_is_there)
{
	uint64_t id;

	hand_start_default();
	id = send_window(4000);
	for (uint32_t i = 0; i < 3; i++)
		hand_ack(2, 100, i);
	hand_pull(2, 100, 3);
	hand_bounce(&window[3]);
	CHECK_STR(hand_next(), "DATA 100>2 #3 m0 3000+1000/4000 last rtx");
	CHECK_EQ(hand_counters()->bounces_resent, 0);
	CHECK_EQ(hand_connection(id)->credit, 0);
}

/* It came back after a pull that was taken for its own: the next one is its own. */
TEST(nd_ndp_feedback_bounce__after_a_pull_ahead_of_it)
{
	struct nd_packet sent;

	hand_start_default();
	hand_send(hand_connect(2), 1000);
	hand_next();
	sent = hand_last;
	hand_pull(2, 100, 1);
	hand_bounce(&sent);
	hand_pull(2, 100, 2);
	CHECK_EQ(hand_counters()->pulls_excessive, 1);
	CHECK_STR(hand_next(), "DATA 100>2 #0 m0 0+1000/1000 last rtx");
	CHECK_STR(hand_next(), "");
}

/* R-RTS-01: all answers' pulls have come and are used up: one must go by itself. */
TEST(nd_ndp_feedback_bounce__goes_at_once_when_no_pull_is_due)
{
	struct nd_packet last;

	hand_start_default();
	send_window(5000);
	hand_ack(2, 100, 0);
	hand_pull(2, 100, 1);
	CHECK_STR(hand_next(), "DATA 100>2 #4 m0 4000+1000/5000 last");
	last = hand_last;
	for (uint32_t i = 1; i < 4; i++)
		hand_bounce(&window[i]);
	CHECK_EQ(hand_drain(), 0);
	hand_bounce(&last);
	CHECK_STR(hand_next(), "DATA 100>2 #1 m0 1000+1000/5000 rtx");
	CHECK_STR(hand_next(), "");
	CHECK_EQ(hand_counters()->bounces_resent, 1);
}

/* R-RTS-02, D10: ACKs are a third of the last 12 feedbacks: the path is odd, not the receiver. */
TEST(nd_ndp_feedback_bounce__asymmetric_network_resends_at_once)
{
	for (uint32_t acks = 2; acks < 6; acks++) {
		struct nd_ndp_config config = hand_defaults();

		config.initial_window = 14;
		hand_start(&config, false);
		hand_send(hand_connect(2), 20000);
		for (uint32_t i = 0; i < 14; i++) {
			hand_next();
			window[i % 8] = hand_last;
		}
		hand_ack(2, 100, 0); /* too long ago to count */
		for (uint32_t i = 1; i < 12 - acks; i++)
			hand_nack(2, 100, i);
		for (uint32_t i = 12 - acks; i < 12; i++)
			hand_ack(2, 100, i);
		/* The 12th feedback is this bounce. Another packet is out, and pulls are due. */
		hand_bounce(&window[12 % 8]);
		CHECK_EQ(hand_drain(), acks >= 4);
	}
}

/* R-RTS-02: ... so what it had goes on another path, whoever's turn it is. */
TEST(nd_ndp_feedback_bounce__asymmetric_network_takes_another_path)
{
	struct nd_ndp_config config = hand_defaults();

	config.paths = 2;
	config.initial_window = 14;
	config.score.scoreboard = false;
	for (uint32_t peer = 2; peer < 12; peer++) {
		hand_start(&config, false);
		hand_send(hand_connect(peer), 14000);
		for (uint32_t i = 0; i < 14; i++) {
			hand_next();
			window[i % 8] = hand_last;
		}
		for (uint32_t i = 0; i < 11; i++)
			hand_ack(peer, 100, i);
		hand_bounce(&window[12 % 8]);
		CHECK(strstr(hand_next(), "#12 m0 12000+1000/14000 syn rtx") ||
		      strstr(hand_line, "#12 m0 12000+1000/14000 rtx"));
		CHECK(hand_last.path != window[12 % 8].path);
	}
}

/* R-RTS-02: fewer feedbacks than the history say nothing, however good they are. */
TEST(nd_ndp_feedback_bounce__needs_a_full_history)
{
	struct nd_ndp_config config = hand_defaults();

	config.initial_window = 12;
	hand_start(&config, false);
	hand_send(hand_connect(2), 12000);
	for (uint32_t i = 0; i < 12; i++)
		hand_next();
	for (uint32_t i = 0; i < 10; i++)
		hand_ack(2, 100, i);
	hand_bounce(&hand_last); /* the 11th */
	CHECK_EQ(hand_drain(), 0);
}

TEST(nd_ndp_feedback_bounce__of_a_packet_not_out_is_stale)
{
	hand_start_default();
	send_window(2000);
	hand_bounce(&window[0]);
	hand_bounce(&window[0]);
	hand_ack(2, 100, 1);
	hand_bounce(&window[1]);
	CHECK_EQ(hand_counters()->feedback_stale, 2);
	window[0].ndp.connection = 555;
	hand_bounce(&window[0]);
	CHECK_EQ(hand_counters()->unknown_connection, 1);
	window[0].type = ND_NDP_ACK;
	hand_bounce(&window[0]);
	CHECK_EQ(hand_counters()->bad_type, 1);
}

/* R-RTS-04: whatever mix of bounces and NACKs, all arrives and no timer is needed. */
TEST(nd_ndp_feedback_bounce__nothing_is_lost)
{
	for (uint64_t seed = 1; seed < 100; seed++) {
		struct nd_rng rng = nd_rng_make(seed, 2);
		uint32_t arrivals = 0, pulls = 0, rounds = 0;
		uint64_t id;

		hand_start_default();
		id = hand_connect(2);
		hand_send(id, 30000);
		while (hand_connection(id)->messages_head != ND_NONE) {
			struct nd_packet batch[64];
			uint32_t count = 0;

			while (count < 64 && hand_next()[0])
				batch[count++] = hand_last;
			CHECK(count || pulls < arrivals);
			for (uint32_t i = 0; i < count; i++) {
				uint32_t fate = nd_rng_below(&rng, 4);

				if (fate == 0) {
					hand_bounce(&batch[i]);
					continue;
				}
				arrivals++;
				if (fate == 1)
					hand_nack(2, 100, batch[i].ndp.sequence);
				else
					hand_ack(2, 100, batch[i].ndp.sequence);
			}
			if (pulls < arrivals)
				hand_pull(2, 100, ++pulls);
			CHECK(++rounds < 1000);
		}
		CHECK_EQ(hand_counters()->timeouts, 0);
		CHECK_EQ(hand_event().kind, ND_EVENT_SENT);
	}
}

/* ---- CLOSE ---- */

TEST(nd_ndp_receive__close_refused_fails_all)
{
	struct nd_event event;

	hand_start_default();
	send_window(4000);
	hand_close(2, 100, ND_NDP_CLOSE_REFUSED);
	event = hand_event();
	CHECK_EQ(event.kind, ND_EVENT_FAILED);
	CHECK_EQ(event.error, -ECONNREFUSED);
	CHECK_EQ(event.detail, ND_NDP_OPENING);
	event = hand_event();
	CHECK_EQ(event.kind, ND_EVENT_CLOSED);
	CHECK_EQ(event.error, -ECONNREFUSED);
	CHECK_EQ(hand_drain(), 0);
}

/* An echo of an earlier try cannot end a connection that is served. */
TEST(nd_ndp_receive__close_refused_is_ignored_once_heard)
{
	hand_start_default();
	send_window(4000);
	hand_ack(2, 100, 0);
	hand_close(2, 100, ND_NDP_CLOSE_REFUSED);
	CHECK_EQ(hand_usage().connections, 1);
}

/* The error tells what got through. */
TEST(nd_ndp_receive__close_unknown_fails_what_is_not_acknowledged)
{
	struct nd_event event;

	hand_start_default();
	send_window(4000);
	hand_ack(2, 100, 2);
	hand_close(2, 100, ND_NDP_CLOSE_UNKNOWN);
	event = hand_event();
	CHECK_EQ(event.error, -ECONNRESET);
	CHECK_EQ(event.bytes, 1000);
	CHECK_EQ(event.detail, ND_NDP_OPEN);
}

TEST(nd_ndp_receive__close_protocol_is_eproto)
{
	hand_start_default();
	send_window(4000);
	hand_close(2, 100, ND_NDP_CLOSE_PROTOCOL);
	CHECK_EQ(hand_event().error, -EPROTO);
}

/* Strangers' feedback: nothing is answered but what may hold up a peer. */
TEST(nd_ndp_receive__feedback_for_no_connection)
{
	hand_start_default();
	hand_ack(2, 100, 0);
	hand_nack(2, 100, 0);
	hand_close(2, 100, ND_NDP_CLOSE_RESET);
	CHECK_STR(hand_next(), "");
	hand_pull(2, 100, 1);
	CHECK_STR(hand_next(), "CLOSE 100>2 3");
	CHECK_EQ(hand_counters()->unknown_connection, 4);
	hand_connect(2);
	hand_ack(2, 100, 0); /* we have said nothing on it yet */
	CHECK_EQ(hand_counters()->unknown_connection, 5);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
