// SPDX-License-Identifier: Apache-2.0
/* DATA in: state from any packet, answers, pulls, time-wait, closing. */
#include "test/ndp_hand.h"

static void close_by_peer(uint32_t connection)
{
	struct nd_packet fin = hand_single(2, connection, 0, 500);

	fin.flags |= ND_NDP_FLAG_FIN;
	hand_receive(&fin);
	hand_drain();
	hand_ack(2, connection, 0); /* our own FIN */
	while (hand_event().kind != ND_EVENT_CLOSED)
		;
}

/* ---- answers and pulls ---- */

/* R-NTP-05, R-NTP-13: each whole packet is acknowledged at once, pulls or not. */
TEST(nd_ndp_receive__data_is_acknowledged_at_once)
{
	hand_start_default();
	for (uint32_t i = 0; i < 20; i++) {
		hand_arrive(2, 9, i, 90000);
		snprintf(hand_line, sizeof(hand_line), " #%u", i);
		CHECK(strstr(hand_take(ND_CLASS_CONTROL), "ACK 9>2"));
		CHECK_EQ(hand_last.ndp.sequence, i);
		CHECK(hand_last.flags & ND_NDP_FLAG_REPLY);
		while (hand_take(ND_CLASS_CONTROL)[0])
			CHECK_EQ(hand_last.type, ND_NDP_PULL);
	}
}

/* R-NTP-04, R-NTP-06: a header earns an immediate NACK and one pull, as data does. */
TEST(nd_ndp_receive__headers_are_nacked_and_earn_a_pull)
{
	hand_start_default();
	hand_arrive_trimmed(2, 9, 3, 90000);
	CHECK_STR(hand_next(), "NACK 9>2 #3 pull 0 reply");
	CHECK_STR(hand_next(), "PULL 9>2 1 reply");
	CHECK_STR(hand_next(), "");
	for (uint32_t i = 0; i < 10; i++)
		hand_arrive(2, 9, 10 + i, 90000);
	CHECK_EQ(hand_usage().pulls, 10);
	CHECK_EQ(hand_counters()->headers_received, 1);
	CHECK_EQ(hand_counters()->headers_last_hop, 0);
	CHECK_EQ(hand_counters()->data_received, 10);
}

/* R-NTP-07, R-NTP-08: pulls count up by one and leave as far apart as the link takes, exactly. */
TEST(nd_ndp_control_pace__counts_and_spaces)
{
	struct nd_ndp_config config = hand_defaults();
	nd_ns before = 0;

	config.data_header_bytes = 8000;
	hand_start(&config, false);
	for (uint32_t i = 0; i < 20; i++)
		hand_arrive(2, 9, i, 90000);
	for (uint32_t i = 1; i <= 20; i++) {
		while (hand_take(ND_CLASS_CONTROL)[0] && hand_last.type != ND_NDP_PULL)
			;
		CHECK_EQ(hand_last.type, ND_NDP_PULL);
		CHECK_EQ(hand_last.ndp.pull, i);
		if (before)
			CHECK_EQ(hand_now - before, 7200); /* 9,000 bytes at 10 Gb/s */
		before = hand_now;
		hand_wait(nd_min_u64(nd_ndp_ops.deadline(hand), hand_now + 10000) - hand_now);
	}
}

/* R-NTP-08: the host hears of another rate of its link: pulls that wait already go by it. */
TEST(do_link__spaces_pulls_by_the_new_rate)
{
	struct nd_ndp_config config = hand_defaults();
	nd_ns gaps[] = { 7200, 72000, 3600 }, before = 0; /* 9,000 bytes at 10, 1, 20 Gb/s */
	uint64_t rates[] = { 1000000000, UINT64_C(20000000000) };

	config.data_header_bytes = 8000;
	hand_start(&config, false);
	CHECK_EQ(hand_do(ND_COMMAND_LINK, 0, 999999), -EINVAL);
	CHECK_EQ(hand_do(ND_COMMAND_LINK, 0, UINT64_C(10000000000001)), -EINVAL);
	for (uint32_t i = 0; i < 20; i++)
		hand_arrive(2, 9, i, 90000);
	for (uint32_t i = 0; i < 18; i++) {
		while (hand_take(ND_CLASS_CONTROL)[0] && hand_last.type != ND_NDP_PULL)
			;
		CHECK_EQ(hand_last.ndp.pull, i + 1);
		if (i % 6)
			CHECK_EQ(hand_now - before, gaps[i / 6]);
		before = hand_now;
		if (i % 6 == 5 && i / 6 < 2) /* the pull that comes next waits by the old one */
			CHECK_EQ(hand_do(ND_COMMAND_LINK, 0, rates[i / 6]), 0);
		hand_wait(nd_min_u64(nd_ndp_ops.deadline(hand), hand_now + 100000) - hand_now);
	}
}

/* R-NRT-04: ACKs, NACKs and PULLs each take all paths, so that they may overtake each other. */
TEST(nd_ndp_control_transmit__varies_the_path)
{
	uint32_t seen[ND_NDP_CLOSE + 1] = { 0 };

	hand_start_default();
	for (uint32_t i = 0; i < 40; i++) {
		if (i % 3)
			hand_arrive(2, 9, i, 90000);
		else
			hand_arrive_trimmed(2, 9, i, 90000);
		hand_wait(ND_USEC);
		while (hand_take(ND_CLASS_CONTROL)[0])
			seen[hand_last.type] |= 1u << hand_last.path;
	}
	CHECK_EQ(seen[ND_NDP_ACK], 15);
	CHECK_EQ(seen[ND_NDP_NACK], 15);
	CHECK_EQ(seen[ND_NDP_PULL], 15);
}

/* R-NTP-09: peers share the pulls equally, whatever they have sent. */
TEST(nd_ndp_control_pace__is_fair_to_peers)
{
	uint32_t pulls[8] = { 0 };

	hand_start_default();
	for (uint32_t peer = 2; peer < 6; peer++) {
		for (uint32_t i = 0; i < 10 * peer; i++)
			hand_arrive(peer, 9, i, 90000);
	}
	hand_drain();
	for (uint32_t i = 0; i < 40; i++) {
		hand_wait(ND_USEC);
		while (hand_take(ND_CLASS_CONTROL)[0])
			pulls[hand_last.target]++;
	}
	for (uint32_t peer = 2; peer < 6; peer++)
		CHECK(pulls[peer] == 10 || pulls[peer] == 11);
}

/* D8: each connection has a counter of its own, also two of one peer. */
TEST(nd_ndp_control_pace__counts_by_connection)
{
	hand_start_default();
	hand_arrive(2, 9, 0, 90000);
	hand_arrive(2, 10, 0, 90000);
	CHECK_STR(hand_next(), "ACK 9>2 #0 pull 0 reply");
	CHECK_STR(hand_next(), "ACK 10>2 #0 pull 0 reply");
	CHECK_STR(hand_next(), "PULL 9>2 1 reply");
	hand_wait(ND_USEC);
	CHECK_STR(hand_next(), "PULL 10>2 1 reply");
}

/* R-NTP-15: a single sender's pull that is due rides on the ACK; never before it is due. */
TEST(nd_ndp_receive__ack_carries_the_pull)
{
	struct nd_ndp_config config = hand_defaults();

	config.ack_carries_pull = true;
	hand_start(&config, false);
	hand_arrive(2, 9, 0, 90000);
	CHECK_STR(hand_next(), "ACK 9>2 #0 pull 1 reply");
	CHECK_STR(hand_next(), "");
	hand_arrive(2, 9, 1, 90000); /* at the same time: not due */
	CHECK_STR(hand_next(), "ACK 9>2 #1 pull 1 reply");
	CHECK_STR(hand_next(), "");
	hand_wait(ND_USEC);
	CHECK_STR(hand_next(), "PULL 9>2 2 reply");
	hand_wait(ND_USEC);
	hand_arrive(2, 9, 2, 90000);
	CHECK_STR(hand_next(), "ACK 9>2 #2 pull 3 reply");
	CHECK_EQ(hand_counters()->pulls_carried, 2);
}

/* R-NTP-15: of two senders neither has its pulls out of turn, nor the other's. */
TEST(nd_ndp_receive__ack_carries_no_pull_of_two_senders)
{
	struct nd_ndp_config config = hand_defaults();

	config.ack_carries_pull = true;
	hand_start(&config, false);
	hand_arrive(2, 9, 0, 90000);
	hand_arrive(2, 9, 1, 90000); /* its pull waits */
	hand_drain();
	hand_now += 5 * ND_USEC; /* ... and is due */
	hand_arrive(4, 9, 0, 1000); /* whole: it has none */
	hand_arrive(3, 9, 0, 90000);
	CHECK_STR(hand_take(ND_CLASS_CONTROL), "ACK 9>4 #0 pull 0 reply");
	CHECK_STR(hand_take(ND_CLASS_CONTROL), "ACK 9>3 #0 pull 0 reply");
	CHECK_EQ(hand_counters()->pulls_carried, 1);
}

/* R-NTP-16: a NACK may carry it: retransmit now. */
TEST(nd_ndp_receive__nack_carries_the_pull)
{
	struct nd_ndp_config config = hand_defaults();

	config.nack_carries_pull = true;
	hand_start(&config, false);
	hand_arrive_trimmed(2, 9, 0, 90000);
	CHECK_STR(hand_next(), "NACK 9>2 #0 pull 1 reply");
	CHECK_STR(hand_next(), "");
}

/* R-NTP-12: when LAST has arrived and nothing is missing, that connection's pulls are gone. */
TEST(nd_ndp_receive_credit__last_removes_the_pulls)
{
	hand_start_default();
	for (uint32_t i = 0; i < 9; i++)
		hand_arrive(2, 9, i, 10000);
	hand_arrive(3, 9, 0, 90000);
	CHECK_EQ(hand_usage().pulls, 10);
	hand_arrive(2, 9, 9, 10000);
	CHECK_EQ(hand_usage().pulls, 1);
	CHECK_EQ(hand_counters()->pulls_removed, 9);
}

/* D9: LAST before trimmed ones: as many pulls stay as packets are missing, so none is stranded. */
TEST(nd_ndp_receive_credit__last_keeps_pulls_for_what_is_missing)
{
	hand_start_default();
	hand_arrive_trimmed(2, 9, 0, 10000);
	hand_arrive_trimmed(2, 9, 4, 10000);
	for (uint32_t i = 5; i < 9; i++)
		hand_arrive(2, 9, i, 10000);
	hand_arrive(2, 9, 9, 10000); /* LAST; 0 to 4 are missing, three of them unseen */
	CHECK_EQ(hand_usage().pulls, 5);
	hand_arrive(2, 9, 1, 10000);
	CHECK_EQ(hand_usage().pulls, 4);
	hand_arrive_trimmed(2, 9, 2, 10000); /* missing still */
	CHECK_EQ(hand_usage().pulls, 4);
}

/* A trimmed LAST says as much about the end as a whole one. */
TEST(nd_ndp_receive_credit__a_trimmed_last_counts)
{
	hand_start_default();
	for (uint32_t i = 0; i < 5; i++)
		hand_arrive(2, 9, i, 6000);
	hand_arrive_trimmed(2, 9, 5, 6000);
	CHECK_EQ(hand_usage().pulls, 1);
}

/* R-NTP-19: a duplicate is acknowledged and dropped, and earns a pull only if data is missing. */
TEST(nd_ndp_receive__duplicates)
{
	hand_start_default();
	hand_arrive(2, 9, 0, 3000);
	hand_arrive(2, 9, 0, 3000);
	CHECK_EQ(hand_usage().pulls, 2);
	hand_arrive(2, 9, 1, 3000);
	hand_arrive(2, 9, 2, 3000);
	CHECK_EQ(hand_usage().pulls, 0);
	hand_drain();
	hand_arrive(2, 9, 1, 3000);
	hand_arrive_trimmed(2, 9, 2, 3000);
	CHECK_STR(hand_next(), "ACK 9>2 #1 pull 0 reply");
	CHECK_STR(hand_next(), "ACK 9>2 #2 pull 0 reply");
	CHECK_STR(hand_next(), "");
	CHECK_EQ(hand_counters()->duplicates_received, 3);
	CHECK_EQ(hand_counters()->messages_received, 1);
}

/* ---- state from any packet ---- */

/* R-NFR-01: of 30 packets in any order, some trimmed first, any makes the state; one message. */
TEST(nd_ndp_connection_accept__any_packet_in_any_order)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct nd_rng rng = nd_rng_make(seed, 3);
		uint32_t order[30];
		struct nd_event event;

		hand_start_default();
		for (uint32_t i = 0; i < 30; i++)
			order[i] = i;
		for (uint32_t i = 30; i > 1; i--) {
			uint32_t other = nd_rng_below(&rng, i);
			uint32_t swap = order[i - 1];

			order[i - 1] = order[other];
			order[other] = swap;
		}
		for (uint32_t i = 0; i < 30; i++) {
			if (nd_rng_below(&rng, 4) != 0)
				continue;
			hand_arrive_trimmed(2, 9, order[i], 29500);
			CHECK_EQ(hand_usage().connections, 1);
		}
		for (uint32_t i = 0; i < 30; i++)
			hand_arrive(2, 9, order[i], 29500);
		event = hand_event();
		CHECK_EQ(event.kind, ND_EVENT_ACCEPTED);
		CHECK_EQ(event.port, HAND_PORT);
		CHECK_EQ(event.peer, 2);
		event = hand_event();
		CHECK_EQ(event.kind, ND_EVENT_MESSAGE);
		CHECK_EQ(event.bytes, 29500);
		CHECK_EQ(hand_event().kind, 255);
		CHECK_EQ(hand_counters()->connections_accepted, 1);
		CHECK_EQ(hand_usage().pulls, 0);
	}
}

/* Whatever is doubled on the way: no more pulls wait than the window has packets. */
TEST(nd_ndp_receive_credit__a_window_of_pulls_at_most)
{
	hand_start_default();
	for (uint32_t i = 0; i < hand_config.window_packets; i++)
		hand_arrive(2, 9, i, 90000);
	CHECK_EQ(hand_usage().pulls, hand_config.window_packets);
	hand_arrive(2, 9, 0, 90000);
	CHECK_EQ(hand_usage().pulls, hand_config.window_packets);
}

TEST(nd_ndp_connection_accept__only_syn_makes_state)
{
	struct nd_packet packet;

	hand_start_default();
	packet = hand_data(2, 9, 0, 1000);
	packet.flags &= (uint8_t)~ND_NDP_FLAG_SYN;
	hand_receive(&packet);
	CHECK_STR(hand_next(), "CLOSE 9>2 3 reply");
	packet = hand_data(2, 100, 0, 1000); /* a reply to a connection that we never opened */
	hand_receive(&packet);
	CHECK_STR(hand_next(), "CLOSE 100>2 3");
	CHECK_EQ(hand_usage().connections, 0);
}

/* A SYN whose sender has ACKs already: an earlier life of ours gave them. No second state is made. */
TEST(nd_ndp_connection_accept__only_the_beginning_makes_state)
{
	struct nd_packet packet;

	hand_start_default();
	packet = hand_data(2, 9, 1, 3000);
	packet.ndp.base = 1;
	hand_receive(&packet);
	CHECK_STR(hand_next(), "CLOSE 9>2 3 reply");
	CHECK_EQ(hand_counters()->connections_accepted, 0);
}

/* The same once there is state: what the peer has ACKs for and we have not, an earlier life had. */
TEST(nd_ndp_receive__acknowledged_beyond_what_arrived_is_lost_state)
{
	struct nd_packet packet;

	hand_start_default();
	hand_arrive(2, 9, 0, 9000);
	packet = hand_data(2, 9, 3, 9000);
	packet.ndp.base = 1;
	hand_receive(&packet);
	CHECK_EQ(hand_counters()->state_lost, 0);
	packet = hand_data(2, 9, 4, 9000);
	packet.ndp.base = 2;
	hand_receive(&packet);
	CHECK_EQ(hand_counters()->state_lost, 1);
	CHECK_EQ(hand_event().kind, ND_EVENT_ACCEPTED);
	CHECK_EQ(hand_event().error, -ECONNRESET);
}

/* R-NHA-09: nobody listens: told so. */
TEST(nd_ndp_connection_accept__refuses_when_nobody_listens)
{
	struct nd_packet packet;

	hand_start_default();
	packet = hand_data(2, 9, 0, 1000);
	packet.ndp.service = HAND_PORT + 1;
	hand_receive(&packet);
	CHECK_STR(hand_next(), "CLOSE 9>2 1 reply");
	CHECK_EQ(hand_counters()->listen_refused, 1);
	CHECK_EQ(hand_usage().connections, 0);
}

/* R-NHA-09: a burst beyond the reserve is dropped without state, and comes in when there is room. */
TEST(nd_ndp_connection_accept__drops_beyond_the_backlog)
{
	uint64_t id;

	hand_start_default();
	for (uint32_t peer = 2; peer < 14; peer++)
		hand_arrive(peer, 9, 0, 1000);
	CHECK_EQ(hand_counters()->listen_full, 4);
	CHECK_EQ(hand_usage().connections, 8);
	CHECK_EQ(hand_usage().peers, 8);
	CHECK_EQ(hand_drain(), 8);
	id = hand_event().id;
	hand_submit((struct nd_command){ .kind = ND_COMMAND_RESET, .app = 1, .id = id });
	hand_arrive(13, 9, 0, 1000);
	CHECK_EQ(hand_counters()->connections_accepted, 9);
}

/* ---- at most once ---- */

/* R-NFR-02: replays within time-wait are acknowledged, at most, and deliver nothing. */
TEST(nd_ndp_receive__replay_within_time_wait)
{
	hand_start_default();
	close_by_peer(9);
	CHECK_EQ(hand_usage().connections, 0);
	CHECK_EQ(hand_usage().remembered, 1);
	for (uint32_t i = 0; i < 3; i++)
		hand_arrive(2, 9, 0, 500);
	CHECK_STR(hand_next(), "ACK 9>2 #0 pull 0 reply");
	hand_drain();
	CHECK_EQ(hand_event().kind, 255);
	CHECK_EQ(hand_counters()->connections_accepted, 1);
	hand_arrive(2, 9, 1, 2000); /* it never arrived, and does not now */
	CHECK_STR(hand_next(), "");
	/* R-NFR-02: after it (packets live less than one MSL) the id is free again. */
	hand_wait(hand_config.time_wait_ns);
	CHECK_EQ(hand_usage().remembered, 0);
	hand_arrive(2, 9, 0, 500);
	CHECK_EQ(hand_event().kind, ND_EVENT_ACCEPTED);
}

/* R-NFR-02: a peer whose answers get lost still asks: it is answered for as long as it does. */
TEST(nd_ndp_receive__replays_prolong_time_wait)
{
	hand_start_default();
	close_by_peer(9);
	for (uint32_t i = 0; i < 4; i++) {
		hand_wait(hand_config.time_wait_ns * 3 / 4);
		hand_drain();
		hand_arrive(2, 9, 0, 500);
		CHECK_STR(hand_next(), "ACK 9>2 #0 pull 0 reply");
		CHECK_EQ(hand_counters()->connections_accepted, 1);
	}
	hand_wait(hand_config.time_wait_ns);
	CHECK_EQ(hand_usage().remembered, 0);
}

/* R-NFR-02: the last ACK may be lost, and what it was for comes again a time-out later. */
TEST(nd_ndp_config_default__remembers_for_longer_than_peers_ask)
{
	struct nd_ndp_config config = nd_ndp_config_default(UINT64_C(10000000000), 9000);
	const nd_ns msl = ND_MSEC;

	CHECK(config.time_wait_ns >= 2 * config.rto_max_ns + 2 * msl);
	CHECK(config.reset_wait_ns >= config.give_up_ns + config.rto_max_ns);
}

/* R-NFR-02 at the client: the id of an ended connection is not used again while remembered. */
TEST(nd_ndp_submit__connect_uses_no_remembered_id)
{
	struct nd_packet fin;
	uint64_t id;

	hand_start_default();
	id = hand_connect(2);
	hand_send(id, 500);
	hand_do(ND_COMMAND_CLOSE, id, 0);
	hand_drain();
	hand_ack(2, 100, 0);
	fin = hand_single(2, 100, 0, 500);
	fin.flags = ND_NDP_FLAG_REPLY | ND_NDP_FLAG_FIN | ND_NDP_FLAG_LAST;
	hand_receive(&fin);
	CHECK_EQ(hand_usage().remembered, 1);
	hand_receive(&fin);
	CHECK_STR(hand_next(), "ACK 100>2 #0 pull 0");
	CHECK_STR(hand_next(), "ACK 100>2 #0 pull 0");
	hand_ndp()->connection_next = HAND_FIRST;
	hand_send(hand_connect(2), 500);
	CHECK_STR(hand_next(), "DATA 101>2 #0 m0 0+500/500 syn last");
}

/* R-NFR-03: short connections back to back, their packets shuffled, are not confused. */
TEST(nd_ndp_receive__back_to_back_connections_in_any_order)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct nd_rng rng = nd_rng_make(seed, 4);
		uint32_t seen = 0;

		hand_start_default();
		for (uint32_t i = 0; i < 60; i++) {
			uint32_t which = nd_rng_below(&rng, 8);

			hand_arrive(2, 10 + which, nd_rng_below(&rng, 2), 1000 + 100 * which);
		}
		for (uint32_t which = 0; which < 8; which++) {
			hand_arrive(2, 10 + which, 0, 1000 + 100 * which);
			if (which)
				hand_arrive(2, 10 + which, 1, 1000 + 100 * which);
		}
		for (struct nd_event e = hand_event(); e.kind != 255; e = hand_event()) {
			if (e.kind != ND_EVENT_MESSAGE)
				continue;
			CHECK((seen >> e.bytes / 100 & 1) == 0);
			seen |= 1u << e.bytes / 100;
		}
		CHECK_EQ(seen, 0xff << 10);
	}
}

/* After a reset late packets of a peer that does not know make no new state. */
TEST(nd_ndp_receive__replay_after_reset)
{
	uint64_t id;

	hand_start_default();
	hand_arrive(2, 9, 0, 9000);
	id = hand_event().id;
	CHECK_EQ(hand_submit((struct nd_command){ .kind = ND_COMMAND_RESET, .app = 1, .id = id }),
		 0);
	while (hand_next()[0] && hand_last.type != ND_NDP_CLOSE)
		;
	CHECK_STR(hand_line, "CLOSE 9>2 2 reply");
	hand_wait(hand_config.reset_wait_ns - 1);
	hand_arrive(2, 9, 1, 9000);
	CHECK_STR(hand_next(), "CLOSE 9>2 2 reply");
	CHECK_EQ(hand_counters()->connections_accepted, 1);
	hand_wait(1);
	CHECK_EQ(hand_event().kind, ND_EVENT_CLOSED);
	CHECK_EQ(hand_usage().remembered, 0);
}

/* ---- closing ---- */

/* The peer's FIN ends the connection when all has arrived, both ways. */
TEST(nd_ndp_receive__fin_waits_for_what_is_missing)
{
	struct nd_packet fin;
	uint64_t id;

	hand_start_default();
	fin = hand_data(2, 9, 2, 3000);
	fin.flags |= ND_NDP_FLAG_FIN;
	hand_receive(&fin);
	hand_arrive(2, 9, 1, 3000);
	id = hand_event().id;
	CHECK_EQ(hand_connection(id)->state, ND_NDP_OPEN);
	hand_arrive(2, 9, 0, 3000);
	CHECK_EQ(hand_event().kind, ND_EVENT_MESSAGE);
	CHECK_EQ(hand_connection(id)->state, ND_NDP_CLOSING);
	CHECK_EQ(hand_submit((struct nd_command){ .kind = ND_COMMAND_SEND, .app = 1, .id = id }),
		 -EPIPE);
	while (hand_next()[0] && hand_last.type != ND_NDP_DATA)
		;
	CHECK_STR(hand_line, "DATA 9>2 #0 m0 0+0/0 last fin reply void");
	hand_ack(2, 9, 0);
	CHECK_EQ(hand_event().kind, ND_EVENT_CLOSED);
	CHECK_EQ(hand_usage().remembered, 1);
}

/* The peer ended in order and has forgotten us before our FIN's ACK came: that is in order. */
TEST(nd_ndp_receive__unknown_after_the_peers_fin_is_no_error)
{
	struct nd_packet fin;
	struct nd_event event;

	hand_start_default();
	fin = hand_single(2, 9, 0, 500);
	fin.flags |= ND_NDP_FLAG_FIN;
	hand_receive(&fin);
	hand_drain();
	hand_close(2, 9, ND_NDP_CLOSE_UNKNOWN);
	do {
		event = hand_event();
	} while (event.kind != ND_EVENT_CLOSED);
	CHECK_EQ(event.error, 0);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
