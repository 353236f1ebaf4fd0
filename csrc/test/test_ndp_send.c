// SPDX-License-Identifier: Apache-2.0
/* DATA out: windows, pulls, retransmissions, messages, fairness. */
#include "test/ndp_hand.h"
#include "transport/homa.h"

/* R-NTP-01, R-NTP-02, R-NFR-01: IW packets at once, all with SYN and their number, then none. */
TEST(nd_ndp_send_transmit__first_window_goes_without_pulls)
{
	uint64_t id;

	hand_start_default();
	id = hand_connect(2);
	CHECK_EQ(hand_send(id, 9500), 0);
	CHECK_STR(hand_next(), "DATA 100>2 #0 m0 0+1000/9500 syn");
	CHECK_EQ(hand_last.ndp.service, HAND_PORT);
	CHECK_EQ(hand_last.ndp.backlog, 9); /* 8,500 bytes */
	CHECK(hand_last.marks & ND_MARK_TRIMMABLE);
	CHECK_STR(hand_next(), "DATA 100>2 #1 m0 1000+1000/9500 syn");
	CHECK_STR(hand_next(), "DATA 100>2 #2 m0 2000+1000/9500 syn");
	CHECK_STR(hand_next(), "DATA 100>2 #3 m0 3000+1000/9500 syn");
	CHECK_STR(hand_next(), "");
	hand_ack(2, 100, 0); /* an ACK alone gives no permission */
	CHECK_STR(hand_next(), "");
}

/* R-NHA-08: connect only tells the core; the peer hears of it with the first data. */
TEST(nd_ndp_send_transmit__nothing_goes_on_connect)
{
	uint64_t id;

	hand_start_default();
	id = hand_connect(2);
	CHECK_STR(hand_next(), "");
	CHECK_EQ(nd_ndp_ops.deadline(hand), ND_NEVER);
	CHECK_EQ(hand_connection(id)->state, ND_NDP_NEW);
	CHECK_EQ(hand_do(ND_COMMAND_CLOSE, id, 0), 0);
	CHECK_STR(hand_next(), "");
	CHECK_EQ(hand_event().kind, ND_EVENT_CLOSED);
	hand_wait(1);
	CHECK_EQ(hand_usage().remembered, 0);
}

/* R-NTP-10, R-NTP-03: a PULL releases its counter less the highest one seen. */
TEST(nd_ndp_send_transmit__pulls_release_what_is_new_in_them)
{
	hand_start_default();
	hand_send(hand_connect(2), 20000);
	hand_drain();
	hand_pull(2, 100, 1);
	CHECK_STR(hand_next(), "DATA 100>2 #4 m0 4000+1000/20000");
	CHECK_STR(hand_next(), "");
	hand_pull(2, 100, 3); /* 2 is lost or late */
	CHECK_STR(hand_next(), "DATA 100>2 #5 m0 5000+1000/20000");
	CHECK_STR(hand_next(), "DATA 100>2 #6 m0 6000+1000/20000");
	CHECK_STR(hand_next(), "");
	hand_pull(2, 100, 2);
	hand_pull(2, 100, 3);
	CHECK_STR(hand_next(), "");
	CHECK_EQ(hand_counters()->pulls_stale, 2);
	CHECK_EQ(hand_counters()->pulls_received, 3);
}

/* R-NTP-11, R-NTP-04: NACKed packets wait for a pull and then go before new data, oldest first. */
TEST(nd_ndp_send_transmit__resends_before_new_data)
{
	uint32_t path;

	hand_start_default();
	hand_send(hand_connect(2), 9000);
	hand_next();
	path = hand_last.path;
	hand_drain();
	hand_nack(2, 100, 1);
	hand_nack(2, 100, 0);
	CHECK_STR(hand_next(), "");
	hand_pull(2, 100, 3);
	CHECK_STR(hand_next(), "DATA 100>2 #0 m0 0+1000/9000 rtx");
	CHECK(hand_last.path != path); /* R-NSB-04 */
	CHECK_STR(hand_next(), "DATA 100>2 #1 m0 1000+1000/9000 rtx");
	CHECK_STR(hand_next(), "DATA 100>2 #4 m0 4000+1000/9000");
	CHECK_STR(hand_next(), "");
}

/* R-NTP-17, R-NTP-02 as a property: never more sent than IW plus pulls, however long it lasts.
 * R-NTP-03: each packet has the number after the one before. */
TEST(nd_ndp_send_transmit__no_window_grows)
{
	uint32_t sent, pulls = 0;

	hand_start_default();
	hand_send(hand_connect(2), 5000000);
	sent = hand_drain();
	CHECK_EQ(sent, 4);
	for (uint32_t i = 0; i < 3000; i++) {
		hand_ack(2, 100, i);
		hand_pull(2, 100, ++pulls);
		sent += hand_drain();
		CHECK_EQ(sent, 4 + pulls);
		CHECK_EQ(hand_last.ndp.sequence, sent - 1);
	}
}

/* R-NTP-17: every train begins with the same window, whatever became of the ones before. */
TEST(nd_ndp_send_begin_train__window_has_no_memory)
{
	uint32_t next = 0, pulls = 0;
	uint64_t id;

	hand_start_default();
	id = hand_connect(2);
	for (uint32_t train = 0; train < 40; train++) {
		hand_send(id, 6000);
		CHECK_EQ(hand_drain(), 4);
		if (train % 3 == 1)
			hand_nack(2, 100, next);
		if (train % 3 == 2)
			hand_wait(hand_config.rto_initial_ns); /* all are lost */
		for (uint32_t end = next + 6; next < end; next++) {
			hand_pull(2, 100, pulls += 2);
			hand_drain();
			hand_ack(2, 100, next);
		}
		CHECK_EQ(hand_event().kind, ND_EVENT_SENT);
		CHECK_EQ(hand_usage().messages, 0);
	}
	hand_send(id, 2000);
	CHECK_EQ(hand_drain(), 2);
	hand_nack(2, 100, next); /* the last that is heard before the next begins */
	hand_send(id, 9000);
	CHECK_EQ(hand_drain(), 2);
}

/* R-NTP-12: LAST ends a train; what follows is pushed, as much as the first window allows. */
TEST(nd_ndp_send_transmit__a_new_train_is_pushed)
{
	uint64_t id;

	hand_start_default();
	id = hand_connect(2);
	hand_send(id, 2000);
	CHECK_STR(hand_next(), "DATA 100>2 #0 m0 0+1000/2000 syn");
	CHECK_STR(hand_next(), "DATA 100>2 #1 m0 1000+1000/2000 syn last");
	hand_send(id, 9000); /* two packets are on the wire: two of four may follow */
	CHECK_STR(hand_next(), "DATA 100>2 #2 m1 0+1000/9000 syn");
	CHECK_STR(hand_next(), "DATA 100>2 #3 m1 1000+1000/9000 syn");
	CHECK_STR(hand_next(), "");
}

/* What has been pulled already takes the place of what an ACK would let follow. */
TEST(nd_ndp_send_continue_train__counts_credit)
{
	uint64_t id;

	hand_start_default();
	id = hand_connect(2);
	hand_send(id, 2000);
	hand_drain();
	hand_send(id, 9000);
	CHECK_EQ(hand_drain(), 2);
	hand_pull(2, 100, 1);
	hand_ack(2, 100, 0);
	CHECK_EQ(hand_drain(), 1);
	hand_ack(2, 100, 1);
	CHECK_EQ(hand_drain(), 1);
}

/* Only what was out before the train makes room for more of it: its own packets bring pulls. */
TEST(nd_ndp_send_continue_train__by_packets_of_earlier_trains)
{
	uint64_t id;

	hand_start_default();
	id = hand_connect(2);
	hand_send(id, 2000);
	hand_drain();
	hand_send(id, 9000);
	CHECK_EQ(hand_drain(), 2);
	hand_ack(2, 100, 2);
	CHECK_EQ(hand_drain(), 0);
}

/* A new train begins with its window alone: pulls that the last one had to come are not added. */
TEST(nd_ndp_send_begin_train__forgets_pulls_that_were_due)
{
	uint64_t id;

	hand_start_default();
	id = hand_connect(2);
	hand_send(id, 2000);
	hand_drain();
	hand_ack(2, 100, 0);
	hand_ack(2, 100, 1);
	hand_send(id, 20000);
	CHECK_EQ(hand_drain(), 4);
	hand_pull(2, 100, 6);
	CHECK_EQ(hand_drain(), 4);
	CHECK_EQ(hand_counters()->pulls_excessive, 2);
}

TEST(nd_ndp_send_transmit__a_later_train_has_no_syn)
{
	uint64_t id;

	hand_start_default();
	id = hand_connect(2);
	hand_send(id, 1000);
	hand_drain();
	hand_ack(2, 100, 0);
	CHECK_EQ(hand_event().kind, ND_EVENT_SENT);
	hand_send(id, 500);
	CHECK_STR(hand_next(), "DATA 100>2 #1 m1 0+500/500 last");
}

/* Credit that nothing in flight can use any more is not saved up for a burst. */
TEST(nd_ndp_send_transmit__unused_credit_goes)
{
	uint64_t id;

	hand_start_default();
	id = hand_connect(2);
	hand_send(id, 3000);
	hand_drain();
	hand_pull(2, 100, 3);
	CHECK_EQ(hand_connection(id)->credit, 3); /* a NACK may have been overtaken by its pull */
	hand_ack(2, 100, 0);
	hand_ack(2, 100, 1);
	CHECK_EQ(hand_connection(id)->credit, 1);
	hand_nack(2, 100, 2);
	CHECK_STR(hand_next(), "DATA 100>2 #2 m0 2000+1000/3000 last rtx");
	hand_ack(2, 100, 2);
	CHECK_EQ(hand_counters()->pulls_unused, 2);
}

/* A peer's counter cannot pull more than the packets that it may have got have earned. */
TEST(nd_ndp_feedback_pull__credit_is_limited_by_what_is_out)
{
	uint64_t id;

	hand_start_default();
	id = hand_connect(2);
	hand_send(id, 500000);
	hand_drain();
	hand_pull(2, 100, 5000);
	CHECK_EQ(hand_connection(id)->credit, 4);
	CHECK_EQ(hand_drain(), 4);
	CHECK_EQ(hand_counters()->pulls_excessive, 4996);
	hand_pull(2, 100, 5000 + 100000);
	CHECK_EQ(hand_counters()->pulls_excessive, 4997);
	CHECK_EQ(hand_connection(id)->pull_seen, 5000);
}

/* However many are pulled, none goes that the receiver has no bit for. */
TEST(nd_ndp_send_transmit__waits_at_the_end_of_the_window)
{
	uint64_t id;

	hand_start_default();
	id = hand_connect(2);
	hand_send(id, 500000);
	hand_drain();
	for (uint32_t i = 1; i < 100; i++) { /* all but the first arrive */
		hand_ack(2, 100, i);
		hand_pull(2, 100, i);
		hand_drain();
	}
	CHECK_EQ(hand_connection(id)->next, 64);
	CHECK_EQ(hand_counters()->window_full, 1);
}

TEST(nd_ndp_message_send__zero_bytes_is_a_packet)
{
	uint64_t id;

	hand_start_default();
	id = hand_connect(2);
	CHECK_EQ(hand_send(id, 0), 0);
	CHECK_STR(hand_next(), "DATA 100>2 #0 m0 0+0/0 syn last");
	hand_ack(2, 100, 0);
	CHECK_EQ(hand_event().kind, ND_EVENT_SENT);
	CHECK_EQ(hand_usage().messages, 0);
}

/* EMSGSIZE above the limit at submit; exactly the limit is fine. */
TEST(nd_ndp_message_send__refuses_what_exceeds_a_limit)
{
	struct nd_ndp_config config = hand_defaults();
	uint64_t id;

	config.message_bytes_max = 5000;
	config.messages_max = 3;
	config.connection_messages_max = 2;
	hand_start(&config, false);
	id = hand_connect(2);
	CHECK_EQ(hand_send(id, 5001), -EMSGSIZE);
	CHECK_EQ(hand_send(id, 5000), 0);
	CHECK_EQ(hand_send(id, 1), 1);
	CHECK_EQ(hand_send(id, 1), -EAGAIN);
	CHECK_EQ(hand_send(hand_connect(2), 1), 0);
	CHECK_EQ(hand_send(hand_connect(2), 1), -ENOBUFS);
	CHECK_EQ(hand_send(id ^ 1, 1), -ENOENT);
}

/* 64 messages may be on the wire; the 65th waits for the oldest. */
/* T37: one limit for the length of messages unless configured; one byte more is refused at once. */
TEST(nd_ndp_message_send__the_default_limit_is_the_same_everywhere)
{
	struct nd_ndp_config config = nd_ndp_config_default(UINT64_C(10000000000), 1500);
	struct nd_homa_config homa = nd_homa_config_default(UINT64_C(10000000000), 1500);
	uint64_t id;

	CHECK_EQ(config.message_bytes_max, ND_MESSAGE_BYTES_MAX);
	CHECK_EQ(homa.message_bytes_max, ND_MESSAGE_BYTES_MAX);
	config.mss_bytes = HAND_MSS;
	config.data_header_bytes = HAND_WIRE - HAND_MSS;
	hand_start(&config, false);
	id = hand_connect(2);
	CHECK_EQ(hand_send(id, ND_MESSAGE_BYTES_MAX + 1), -EMSGSIZE);
	CHECK_EQ(hand_send(id, ND_MESSAGE_BYTES_MAX), 0);
}

TEST(nd_ndp_message_send__the_message_window_holds)
{
	struct nd_ndp_config config = hand_defaults();
	uint64_t id;

	config.window_packets = 128;
	config.initial_window = 128;
	hand_start(&config, false);
	id = hand_connect(2);
	for (uint32_t i = 0; i < 100; i++)
		CHECK_EQ(hand_send(id, 10), i);
	CHECK_EQ(hand_drain(), 64);
	hand_ack(2, 100, 1);
	CHECK_EQ(hand_drain(), 0);
	hand_ack(2, 100, 0);
	CHECK_EQ(hand_drain(), 2);
}

TEST(nd_ndp_message_cancel__unsent_goes_as_one_empty_packet)
{
	struct nd_event event;
	uint64_t id;

	hand_start_default();
	id = hand_connect(2);
	hand_send(id, 1000);
	hand_send(id, 8000);
	hand_send(id, 1000);
	CHECK_EQ(hand_do(ND_COMMAND_CANCEL, id, 1), 0);
	CHECK_EQ(hand_do(ND_COMMAND_CANCEL, id, 1), -ENOENT);
	event = hand_event();
	CHECK_EQ(event.kind, ND_EVENT_FAILED);
	CHECK_EQ(event.error, -ECANCELED);
	CHECK_EQ(event.message, 1);
	CHECK_STR(hand_next(), "DATA 100>2 #0 m0 0+1000/1000 syn");
	CHECK_STR(hand_next(), "DATA 100>2 #1 m1 0+0/8000 syn void");
	CHECK(hand_last.marks & ND_MARK_CONTROL);
	CHECK_STR(hand_next(), "DATA 100>2 #2 m2 0+1000/1000 syn last");
	for (uint32_t i = 0; i < 3; i++)
		hand_ack(2, 100, i);
	CHECK_EQ(hand_event().message, 0);
	CHECK_EQ(hand_event().message, 2);
	CHECK_EQ(hand_event().kind, 255);
	CHECK_EQ(hand_usage().messages, 0);
}

/* An empty packet of no bytes would mean nothing: the peer waits for this number, too. */
TEST(nd_ndp_message_cancel__zero_bytes)
{
	uint64_t id;

	hand_start_default();
	id = hand_connect(2);
	hand_send(id, 0);
	CHECK_EQ(hand_do(ND_COMMAND_CANCEL, id, 0), 0);
	CHECK_STR(hand_next(), "DATA 100>2 #0 m0 0+0/1 syn last void");
}

/* The payload is the application's again: what is resent of the message is empty. */
TEST(nd_ndp_message_cancel__under_way_stops_and_is_resent_empty)
{
	uint64_t id;

	hand_start_default();
	id = hand_connect(2);
	hand_send(id, 8000);
	hand_drain();
	CHECK_EQ(hand_do(ND_COMMAND_CANCEL, id, 0), 0);
	CHECK_EQ(hand_event().error, -ECANCELED);
	hand_nack(2, 100, 2);
	hand_pull(2, 100, 2);
	CHECK_STR(hand_next(), "DATA 100>2 #2 m0 0+0/8000 rtx void");
	CHECK_STR(hand_next(), "DATA 100>2 #4 m0 0+0/8000 last void");
	for (uint32_t i = 0; i < 5; i++)
		hand_ack(2, 100, i);
	CHECK_EQ(hand_event().kind, 255);
	CHECK_EQ(hand_usage().messages, 0);
}

/* R-NCC-01 at the sender, E-N24: connections that may send take turns, packet by packet. */
TEST(nd_ndp_send_transmit__connections_take_turns)
{
	hand_start_default();
	for (uint32_t peer = 2; peer < 5; peer++)
		hand_send(hand_connect(peer), 9000);
	for (uint32_t i = 0; i < 12; i++) {
		CHECK(hand_next()[0]);
		CHECK_EQ(hand_last.target, 2 + i % 3);
	}
	CHECK_STR(hand_next(), "");
}

/* R-NTP-09 at the sender: a connection of higher priority goes first, and says so. */
TEST(nd_ndp_send_transmit__priority_goes_first)
{
	hand_start_default();
	hand_send(hand_connect(2), 9000);
	hand_next();
	hand_send(hand_connect_at(3, 5), 2000);
	CHECK_STR(hand_next(), "DATA 101>3 #0 m0 0+1000/2000 syn");
	CHECK_EQ(hand_last.priority, 5);
	CHECK_STR(hand_next(), "DATA 101>3 #1 m0 1000+1000/2000 syn last");
	CHECK_STR(hand_next(), "DATA 100>2 #1 m0 1000+1000/9000 syn");
}

/* R-NRT-02: each of the four paths once a round. */
TEST(nd_ndp_send_transmit__walks_the_paths)
{
	uint32_t seen = 0;

	hand_start_default();
	hand_send(hand_connect(2), 9000);
	for (uint32_t i = 0; i < 4; i++) {
		hand_next();
		seen |= 1u << hand_last.path;
	}
	CHECK_EQ(seen, 15);
}

/* The paths that a host takes to a peer: two rounds of 4, two bits each. */
static uint32_t path_sequence(uint32_t self, uint32_t peer)
{
	struct nd_ndp_config config = hand_defaults();
	struct nd_packet packet;
	uint32_t sequence = 0;

	config.initial_window = 8;
	hand_start(&config, false);
	memset(hand, 0, nd_ndp_ops.bytes(&hand_config));
	nd_ndp_ops.init(hand, &(struct nd_setup){ .seed = 1, .self = self,
						  .config = &hand_config });
	hand_send(hand_connect(peer), 8000);
	for (uint32_t i = 0; i < 8; i++) {
		CHECK(nd_ndp_ops.transmit(hand, &packet, ND_CLASS_DATA, hand_now));
		sequence = sequence << 2 | packet.path;
	}
	return sequence;
}

/* R-NRT-03: under one seed each host has a permutation of its own to each peer. */
TEST(nd_ndp_send_transmit__hosts_choose_paths_independently)
{
	uint32_t sequences[16], same = 0;

	for (uint32_t i = 0; i < 16; i++)
		sequences[i] = path_sequence(1 + i / 4, 10 + i % 4);
	for (uint32_t i = 0; i < 16; i++)
		for (uint32_t j = 0; j < i; j++)
			same += sequences[i] == sequences[j];
	CHECK(same <= 2); /* of 120 pairs; by chance one in 576 */
	CHECK_EQ(path_sequence(1, 10), sequences[0]);
}

/* R-NRT-05: a path that was taken off the list carries nothing more. */
TEST(nd_ndp_peer_set_paths__takes_effect_at_once)
{
	static const uint16_t ids[] = { 7, 9 };
	struct nd_command command = { .kind = ND_COMMAND_PATHS, .peer = 2, .bytes = 4,
				      .payload = (const uint8_t *)ids };

	hand_start_default();
	hand_send(hand_connect(2), 50000);
	hand_next();
	CHECK_EQ(hand_submit(command), 0);
	hand_pull(2, 100, 20);
	while (hand_next()[0])
		CHECK(hand_last.path == 7 || hand_last.path == 9);
	command.bytes = 3;
	CHECK_EQ(hand_submit(command), -EINVAL);
	command.bytes = 2 * (hand_config.paths_max + 1);
	CHECK_EQ(hand_submit(command), -EINVAL);
	command.bytes = 0;
	CHECK_EQ(hand_submit(command), 0);
	hand_ack(2, 100, 5);
	hand_pull(2, 100, 24);
	while (hand_next()[0])
		CHECK(hand_last.path < 4);
}

/* More peers than path sets: one path at a time is better than none. */
TEST(nd_ndp_peer_paths__runs_out_gently)
{
	struct nd_ndp_config config = hand_defaults();

	config.path_sets_max = 1;
	hand_start(&config, false);
	hand_send(hand_connect(2), 1000);
	hand_send(hand_connect(3), 1000);
	CHECK_EQ(hand_drain(), 2);
	CHECK(hand_counters()->path_sets_full > 0);
	hand_ack(3, 101, 0);
	hand_nack(2, 100, 0);
	hand_pull(2, 100, 1);
	CHECK_EQ(hand_drain(), 1);
}

/* sending_max: a connection without a ring waits its turn and is not forgotten. */
TEST(nd_ndp_send_schedule__starved_connections_go_on_when_there_is_room)
{
	struct nd_ndp_config config = hand_defaults();

	config.sending_max = 1;
	hand_start(&config, false);
	hand_send(hand_connect(2), 1000);
	hand_send(hand_connect(3), 1000);
	hand_send(hand_connect(4), 1000);
	CHECK_EQ(hand_drain(), 1);
	CHECK_EQ(hand_counters()->sending_full, 2);
	hand_ack(2, 100, 0);
	CHECK_STR(hand_next(), "DATA 101>3 #0 m0 0+1000/1000 syn last");
	CHECK_STR(hand_next(), "");
	hand_do(ND_COMMAND_RESET, hand_connect(9), 0);
	hand_ack(3, 101, 0);
	CHECK_STR(hand_next(), "DATA 102>4 #0 m0 0+1000/1000 syn last");
}

/* The sender's own link has been busy for congested_ns without a break: DATA says so. */
TEST(nd_ndp_send_transmit__says_when_its_link_is_the_bottleneck)
{
	struct nd_ndp_config config = hand_defaults();

	config.congested_ns = 5 * ND_USEC;
	hand_start(&config, false);
	hand_send(hand_connect(2), 9000);
	CHECK_STR(hand_next(), "DATA 100>2 #0 m0 0+1000/9000 syn");
	hand_now += 5 * ND_USEC;
	CHECK_STR(hand_next(), "DATA 100>2 #1 m0 1000+1000/9000 syn congested");
	hand_drain();
	hand_pull(2, 100, 1);
	CHECK_STR(hand_next(), "DATA 100>2 #4 m0 4000+1000/9000");
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
