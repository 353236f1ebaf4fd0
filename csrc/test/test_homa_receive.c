// SPDX-License-Identifier: Apache-2.0
/* What each packet does in each state, and what broken packets do: nothing, counted. */
#include "test/homa_hand.h"

/* R-H31-1, R-H31-3, R-H31-4: request, response, ACK; then neither side holds anything. */
TEST(nd_homa_receive__server_side_of_an_rpc)
{
	struct nd_packet ack = hand_packet(ND_HOMA_ACK, 2, 100);
	struct nd_event event;

	hand_start_default();
	hand_data(2, 100, 0, 50, 50, 50);
	event = hand_event();
	CHECK_EQ(event.kind, ND_EVENT_REQUEST);
	CHECK_EQ(event.peer, 2);
	CHECK_EQ(event.port, HAND_PORT);
	CHECK_EQ(event.bytes, 50);
	CHECK_EQ(event.message, 101);
	CHECK_EQ(event.app, 1);
	CHECK_EQ(hand_reply(event.id, 70), 0);
	CHECK_STR(hand_next(), "DATA 101>2 0+70/70 in=70 p6");
	hand_receive(&ack);
	CHECK_EQ(hand_event().kind, ND_EVENT_SENT);
	CHECK_EQ(hand_homa()->rpcs.used, 0);
	CHECK_EQ(hand_counters()->rpcs_acked, 1);
}

TEST(nd_homa_receive__client_side_of_an_rpc)
{
	struct nd_event event;

	hand_start_default();
	hand_request(2, 100);
	hand_drain();
	hand_data(2, 3, 0, 60, 60, 60);
	event = hand_event();
	CHECK_EQ(event.kind, ND_EVENT_RESPONSE);
	CHECK_EQ(event.id, 2);
	CHECK_EQ(event.bytes, 60);
	CHECK_EQ(event.cookie, 7);
	CHECK_EQ(hand_homa()->rpcs.used, 0);
	CHECK_STR(hand_next(), "");
}

/* The finished RPC is acknowledged by the next request to that server. */
TEST(piggyback_ack__rides_on_data)
{
	struct nd_packet packet;

	hand_start_default();
	hand_request(2, 100);
	hand_drain();
	hand_data(2, 3, 0, 60, 60, 60);
	hand_request(3, 100);
	CHECK_STR(hand_next(), "DATA 4>3 0+100/100 in=100 p6");
	hand_request(2, 100);
	CHECK(nd_homa_ops.transmit(hand, &packet, ND_CLASS_DATA, hand_now));
	CHECK_STR(hand_text(&packet), "DATA 6>2 0+100/100 in=100 p6 ack");
	CHECK_EQ(packet.homa.ack_ids[0], 2);
	CHECK_EQ(packet.homa.ack_ports[0], HAND_PORT);
}

/* More than five wait: one ACK packet takes all. */
TEST(nd_homa_peer_ack__overflow_sends_an_ack)
{
	struct nd_packet ack;

	hand_start_default();
	for (uint32_t i = 0; i < 6; i++)
		hand_request(2, 100);
	hand_drain();
	for (uint64_t id = 2; id <= 12; id += 2)
		hand_data(2, id | 1, 0, 60, 60, 60);
	CHECK(nd_homa_ops.transmit(hand, &ack, ND_CLASS_CONTROL, hand_now));
	CHECK_STR(hand_text(&ack), "ACK 12>2 +5");
	for (uint32_t i = 0; i < 5; i++) {
		CHECK_EQ(ack.homa.ack_ids[i], 2 + 2 * i);
		CHECK_EQ(ack.homa.ack_ports[i], HAND_PORT);
	}
	CHECK_STR(hand_next(), "");
}

/* An ACK ends its own RPC and those it lists; a piggybacked one does the same. */
TEST(receive_acks__ends_all_named)
{
	struct nd_packet packet = hand_packet(ND_HOMA_ACK, 2, 100);

	hand_start_default();
	for (uint64_t id = 100; id < 108; id += 2)
		CHECK_EQ(hand_reply(hand_serve(2, id, 50), 50), 0);
	hand_drain();
	packet.homa.ack_count = 2;
	packet.homa.ack_ids[0] = 102;
	packet.homa.ack_ids[1] = 104;
	hand_receive(&packet);
	CHECK_EQ(hand_usage().server_rpcs, 1);
	packet = hand_packet(ND_HOMA_DATA, 2, 200);
	packet.payload_bytes = 1;
	packet.homa.message_bytes = 1;
	packet.homa.ack_count = 1;
	packet.homa.ack_ids[0] = 106;
	hand_receive(&packet);
	CHECK_EQ(hand_counters()->rpcs_acked, 4);
	hand_receive(&packet);
	CHECK_EQ(hand_counters()->rpcs_acked, 4);
}

/* A peer cannot acknowledge what is not its own. */
TEST(receive_acks__only_own_rpcs)
{
	struct nd_packet ack = hand_packet(ND_HOMA_ACK, 3, 100);

	hand_start_default();
	CHECK_EQ(hand_reply(hand_serve(2, 100, 50), 50), 0);
	hand_serve(3, 200, 1);
	hand_drain();
	hand_receive(&ack);
	CHECK_EQ(hand_usage().server_rpcs, 2);
}

/* R-H31-2: identity on a server is (client, id); the client's port is not part of it. */
TEST(nd_homa_rpc_find__client_and_id)
{
	struct nd_packet data = hand_packet(ND_HOMA_DATA, 2, 100);

	hand_start_default();
	hand_data(2, 100, 0, 50, 100, 100);
	hand_data(3, 100, 0, 50, 100, 100);
	CHECK_EQ(hand_usage().server_rpcs, 2);
	data.payload_bytes = 50;
	data.homa.offset = 50;
	data.homa.message_bytes = 100;
	data.homa.source_port = 0x9999;
	hand_receive(&data);
	CHECK_EQ(hand_event().kind, ND_EVENT_REQUEST);
	CHECK_EQ(hand_usage().server_rpcs, 2);
}

/* RESEND by state: unknown -> RPC_UNKNOWN, arriving and in service -> BUSY, replying -> data. */
TEST(receive_resend__by_state_of_the_server)
{
	uint64_t id;

	hand_start_default();
	hand_control(ND_HOMA_RESEND, 2, 100, 0, ND_HOMA_RESEND_ALL, 7);
	CHECK_STR(hand_next(), "UNKNOWN 101>2");
	hand_data(2, 100, 0, 50, 100, 100);
	hand_control(ND_HOMA_RESEND, 2, 100, 0, ND_HOMA_RESEND_ALL, 7);
	CHECK_STR(hand_next(), "BUSY 101>2");
	hand_data(2, 100, 50, 50, 100, 100);
	id = hand_event().id;
	hand_control(ND_HOMA_RESEND, 2, 100, 0, ND_HOMA_RESEND_ALL, 7);
	CHECK_STR(hand_next(), "BUSY 101>2");
	hand_reply(id, 10);
	CHECK_STR(hand_next(), "DATA 101>2 0+10/10 in=10 p6");
	hand_control(ND_HOMA_RESEND, 2, 100, 0, ND_HOMA_RESEND_ALL, 7);
	CHECK_STR(hand_next(), "DATA 101>2 0+10/10 in=10 p7 again");
}

/* R-H37-2, the paper's answer to a RESEND of an unknown RPC; as a client both are understood. */
TEST(receive_resend__paper_mode_asks_for_the_request)
{
	struct nd_homa_config config = hand_defaults();

	config.unknown_resend = true;
	hand_start(&config, false);
	hand_control(ND_HOMA_RESEND, 2, 100, 0, ND_HOMA_RESEND_ALL, 7);
	CHECK_STR(hand_next(), "RESEND 101>2 0+10000");
	hand_request(2, 5000);
	hand_drain();
	hand_control(ND_HOMA_RESEND, 2, 3, 0, 10000, 7);
	CHECK_STR(hand_next(), "DATA 2>2 0+1424/5000 in=5000 p7 again");
	hand_drain();
	hand_unknown(2, 3, 0);
	CHECK_EQ(hand_usage().client_rpcs, 1);
	config.rtt_bytes = 0;
	hand_start(&config, false);
	hand_control(ND_HOMA_RESEND, 2, 100, 0, ND_HOMA_RESEND_ALL, 7);
	CHECK_STR(hand_next(), "RESEND 101>2 0+1424");
}

/* RPC_UNKNOWN before any sign of the server: everything again, from the start. */
TEST(server_lost_rpc__starts_again)
{
	hand_start_default();
	hand_request(2, 12000);
	hand_drain();
	hand_unknown(2, 3, 0);
	CHECK_STR(hand_next(), "DATA 2>2 0+1424/12000 in=10000 p6");
	hand_drain();
	CHECK_EQ(hand_counters()->requests_restarted, 1);
	CHECK_EQ(hand_counters()->data_bytes_sent, 20000);
}

/* ... after the server had the whole request it may have run: an error, once it says so twice. */
TEST(server_lost_rpc__fails_when_it_may_have_run)
{
	struct nd_event event;

	hand_start_default();
	hand_request(2, 100);
	hand_drain();
	hand_control(ND_HOMA_BUSY, 2, 3, 0, 0, 0);
	hand_unknown(2, 3, 0);
	hand_unknown(2, 3, 0);
	CHECK_STR(hand_next(), "");
	hand_wait(hand_config.resend_ns);
	CHECK_STR(hand_next(), "RESEND 2>2 0+-1");
	hand_unknown(2, 3, 0);
	event = hand_event();
	CHECK_EQ(event.kind, ND_EVENT_FAILED);
	CHECK_EQ(event.error, -ECONNRESET);
	CHECK_EQ(hand_counters()->rpcs_peer_lost, 1);
}

/* ... and an old RPC_UNKNOWN that a sign of life overtook is forgotten. */
TEST(server_lost_rpc__sign_of_life_wins)
{
	hand_start_default();
	hand_request(2, 100);
	hand_drain();
	hand_control(ND_HOMA_BUSY, 2, 3, 0, 0, 0);
	hand_unknown(2, 3, 0);
	hand_wait(hand_config.resend_ns);
	hand_control(ND_HOMA_BUSY, 2, 3, 0, 0, 0);
	hand_unknown(2, 3, 0);
	CHECK_EQ(hand_usage().client_rpcs, 1);
}

TEST(server_lost_rpc__reasons)
{
	static const struct { uint8_t note; int error; } cases[] = {
		{ ND_HOMA_NOTE_DONE, -ECONNRESET },
		{ ND_HOMA_NOTE_NO_PORT, -ECONNREFUSED },
		{ ND_HOMA_NOTE_TOO_LONG, -EMSGSIZE },
	};

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(cases); i++) {
		hand_start_default();
		hand_request(2, 100);
		hand_drain();
		hand_unknown(2, 3, cases[i].note);
		CHECK_EQ(hand_event().error, cases[i].error);
	}
}

/* HM#4, HM#48: a peer of another make answers our RESEND of a long message by RPC_UNKNOWN. */
TEST(server_lost_rpc__others_cannot_take_long_messages)
{
	struct nd_packet unknown = hand_packet(ND_HOMA_RPC_UNKNOWN, 2, 3);
	struct nd_command command = { .kind = ND_COMMAND_REQUEST, .app = 2, .peer = 2,
				      .port = HAND_PORT };

	hand_start_default();
	hand_request(2, ND_HOMA_OTHERS_MESSAGE_MAX + 1);
	hand_drain();
	unknown.homa.speaker = 0;
	hand_receive(&unknown);
	CHECK_EQ(hand_event().error, -EMSGSIZE);
	command.bytes = 0;
	CHECK_EQ(hand_submit(command), -EMSGSIZE);
	command.bytes = ND_HOMA_OTHERS_MESSAGE_MAX + 1;
	CHECK_EQ(hand_submit(command), -EMSGSIZE);
	command.bytes = ND_HOMA_OTHERS_MESSAGE_MAX;
	CHECK_EQ(hand_submit(command), 0);
	CHECK_EQ(hand_counters()->others_too_long, 3);
}

/* A client that gave up: the server's copy goes, in every state, and never starts again. */
TEST(client_ended__by_state_of_the_server)
{
	struct nd_event event;

	hand_start_default();
	hand_data(2, 100, 0, 50, 100, 100);
	hand_unknown(2, 100, ND_HOMA_NOTE_CANCEL);
	CHECK_EQ(hand_event().kind, 255);
	hand_data(2, 100, 0, 50, 100, 100);
	CHECK_EQ(hand_usage().server_rpcs, 0);
	CHECK_EQ(hand_counters()->duplicate_requests, 1);

	hand_serve(2, 102, 50);
	hand_unknown(2, 102, 0);
	event = hand_event();
	CHECK_EQ(event.kind, ND_EVENT_FAILED);
	CHECK_EQ(event.error, -ECANCELED);
	CHECK_EQ(nd_homa_failed_state(&event), ND_HOMA_SERVICE);
	CHECK_EQ(hand_reply(event.id, 10), -ENOENT);

	hand_data(2, 104, 0, 50, 50, 50);
	hand_unknown(2, 104, ND_HOMA_NOTE_CANCEL);
	CHECK_EQ(hand_event().kind, 255);

	hand_reply(hand_serve(2, 106, 50), 50);
	hand_drain();
	hand_unknown(2, 106, ND_HOMA_NOTE_CANCEL);
	CHECK_EQ(hand_event().kind, ND_EVENT_FAILED);

	hand_unknown(2, 108, ND_HOMA_NOTE_CANCEL);
	hand_data(2, 108, 0, 50, 50, 50);
	CHECK_EQ(hand_usage().server_rpcs, 0);
	CHECK_EQ(hand_homa()->rpcs.used, 0);
}

/* A client that no longer knows an RPC whose response we sent whole has it. */
TEST(receive_rpc_unknown__is_an_ack_when_all_is_sent)
{
	hand_start_default();
	hand_reply(hand_serve(2, 100, 50), 50);
	hand_drain();
	hand_unknown(2, 100, 0);
	CHECK_EQ(hand_event().kind, ND_EVENT_SENT);
}

/* NEED_ACK: finished -> ACK; incomplete -> RESEND; nothing missing yet -> BUSY. */
TEST(receive_need_ack__by_state_of_the_client)
{
	hand_start_default();
	hand_control(ND_HOMA_NEED_ACK, 2, 99, 0, 0, 0);
	CHECK_STR(hand_next(), "ACK 98>2 +0");
	hand_request(2, 100);
	hand_drain();
	hand_control(ND_HOMA_NEED_ACK, 2, 3, 0, 0, 0);
	CHECK_STR(hand_next(), "RESEND 2>2 0+-1");
	hand_data(2, 3, 0, 1424, 60000, 10000);
	hand_drain();
	hand_control(ND_HOMA_NEED_ACK, 2, 3, 0, 0, 0);
	CHECK_STR(hand_next(), "RESEND 2>2 1424+10000");
	hand_request(2, 100);
	hand_drain();
	hand_data(2, 5, 0, 60, 60, 60);
	hand_control(ND_HOMA_NEED_ACK, 2, 5, 0, 0, 0);
	CHECK_STR(hand_next(), "ACK 4>2 +1");
	hand_control(ND_HOMA_NEED_ACK, 2, 100, 0, 0, 0);
	CHECK_STR(hand_next(), "ACK 101>2 +0");
}

TEST(receive_need_ack__busy_while_we_do_not_grant)
{
	struct nd_homa_config config = hand_defaults();

	config.overcommit = 1;
	hand_start(&config, false);
	hand_request(2, 100);
	hand_request(3, 100);
	hand_drain();
	hand_data(3, 5, 0, 1424, 50000, 1424);
	hand_data(2, 3, 0, 1424, 60000, 1424);
	hand_drain();
	hand_control(ND_HOMA_NEED_ACK, 2, 3, 0, 0, 0);
	CHECK_STR(hand_next(), "BUSY 2>2");
}

/* GH#13, GH#16: nobody listens: our clients hear it at once, others as from HomaModule. */
TEST(open_request__unknown_port)
{
	struct nd_packet data = hand_packet(ND_HOMA_DATA, 2, 100);

	hand_start_default();
	data.payload_bytes = 10;
	data.homa.message_bytes = 10;
	data.homa.target_port = 41;
	hand_receive(&data);
	CHECK_STR(hand_next(), "UNKNOWN 101>2 note 3");
	data.homa.speaker = 0;
	hand_receive(&data);
	CHECK_STR(hand_next(), "");
	CHECK_EQ(hand_counters()->unknown_ports, 2);
	CHECK_EQ(hand_usage().server_rpcs, 0);
}

/* HM#48: above the configured limit the client is told so. */
TEST(refuse__message_too_long)
{
	struct nd_homa_config config = hand_defaults();

	config.message_bytes_max = 50000;
	hand_start(&config, false);
	hand_data(2, 100, 0, 1424, 50001, 10000);
	CHECK_STR(hand_next(), "UNKNOWN 101>2 note 4");
	hand_data(2, 102, 0, 1424, 50000, 10000);
	CHECK_EQ(hand_usage().server_rpcs, 1);
	hand_drain();
	hand_request(2, 10);
	hand_drain();
	hand_data(2, 3, 0, 1424, 50001, 10000);
	CHECK_EQ(hand_event().error, -EMSGSIZE);
	CHECK_EQ(hand_counters()->message_too_long, 2);
}

TEST(refuse__limits_of_rpcs)
{
	struct nd_homa_config config = hand_defaults();

	config.server_rpcs_max = 3;
	config.peer_rpcs_max = 2;
	hand_start(&config, false);
	for (uint64_t id = 100; id < 106; id += 2)
		hand_data(2, id, 0, 10, 100, 100);
	CHECK_EQ(hand_usage().server_rpcs, 2);
	hand_data(3, 100, 0, 10, 100, 100);
	hand_data(4, 100, 0, 10, 100, 100);
	CHECK_EQ(hand_usage().server_rpcs, 3);
	CHECK_EQ(hand_counters()->rpcs_refused, 2);
}

/* Broken packets change nothing and are counted one by one. */
TEST(nd_homa_receive__broken_packets)
{
	struct nd_packet packet = hand_packet(0x19, 2, 100);
	const struct nd_homa_counters *counters;

	hand_start_default();
	counters = hand_counters();
	hand_receive(&packet);
	packet.type = 0x0f;
	hand_receive(&packet);
	packet.type = 0xff;
	hand_receive(&packet);
	CHECK_EQ(counters->bad_type, 3);
	hand_control(ND_HOMA_GRANT, 2, 0, 1, 0, 0);
	hand_control(ND_HOMA_GRANT, 2, 1, 1, 0, 0);
	CHECK_EQ(counters->bad_id, 2);
	hand_control(ND_HOMA_GRANT, 2, 77, 1, 0, 0);
	CHECK_EQ(counters->unknown_grants, 1);
	hand_data(2, 100, 0, 200, 100, 100);
	hand_data(2, 100, 60, 50, 100, 100);
	hand_data(2, 100, 0xffffffff, 2, 100, 100);
	CHECK_EQ(counters->bad_length, 3);
	hand_data(2, 101, 0, 50, 100, 100);
	CHECK_EQ(counters->unknown_responses, 1);
	CHECK_EQ(hand_usage().server_rpcs, 0);
	hand_data(2, 100, 0, 50, 100, 100);
	hand_data(2, 100, 50, 50, 101, 101);
	CHECK_EQ(counters->bad_length, 4);
	packet = hand_packet(ND_HOMA_ACK, 2, 100);
	packet.homa.ack_count = 6;
	hand_receive(&packet);
	packet.type = ND_HOMA_DATA;
	hand_receive(&packet);
	CHECK_EQ(counters->bad_ack, 2);
	packet = hand_packet(ND_HOMA_DATA, 2, 200);
	packet.payload_bytes = 10;
	packet.homa.message_bytes = 10;
	packet.marks = ND_MARK_TRIMMED;
	hand_receive(&packet);
	CHECK_EQ(counters->bad_length, 5);
	CHECK_EQ(hand_usage().server_rpcs, 1);
	CHECK_STR(hand_next(), "");
}

/* One far byte must not use up the budget of all other messages. */
TEST(raise_granted__far_beyond_is_dropped)
{
	hand_start_default();
	hand_data(2, 100, 0, 100, 10000000, 10000);
	hand_data(2, 100, 9000000, 100, 10000000, 10000);
	CHECK_EQ(hand_counters()->ungranted_dropped, 1);
	CHECK_EQ(hand_usage().incoming, 0); /* it sends nothing of what it may */
	hand_data(2, 100, 20000, 100, 10000000, 0xffffffff);
	CHECK(hand_usage().incoming <= hand_config.unscheduled_max_bytes);
}

/* The stripped dialect sends all without grants and says incoming 0. */
TEST(raise_granted__peers_without_grants)
{
	hand_start_default();
	for (uint32_t offset = 0; offset < 28480; offset += 1424)
		hand_data(2, 100, offset, 1424, 28480, 0);
	CHECK_EQ(hand_event().kind, ND_EVENT_REQUEST);
	CHECK(hand_counters()->ungranted_bytes > 0);
}

/* T26: a peer with another RTTbytes is counted once. */
TEST(note_mismatch__once_a_peer)
{
	hand_start_default();
	hand_data(2, 100, 0, 100, 60000, 10000);
	CHECK_EQ(hand_counters()->parameter_mismatch, 0);
	hand_data(2, 102, 0, 100, 60000, 40000);
	hand_data(2, 104, 0, 100, 60000, 40000);
	CHECK_EQ(hand_counters()->parameter_mismatch, 1);
}

TEST(receive_freeze__counted_and_ignored)
{
	hand_start_default();
	hand_control(ND_HOMA_FREEZE, 2, 100, 0, 0, 0);
	CHECK_EQ(hand_counters()->freezes_received, 1);
}

/* The limit to the byte: so far ahead of what was granted, and one byte more. */
TEST(raise_granted__limit)
{
	struct nd_homa_config config = hand_defaults();

	config.unscheduled_max_bytes = 20000;
	hand_start(&config, false);
	hand_data(2, 100, 19000, 1000, 90000, 0);
	CHECK_EQ(hand_counters()->ungranted_dropped, 0);
	hand_data(3, 100, 19001, 1000, 90000, 0);
	CHECK_EQ(hand_counters()->ungranted_dropped, 1);
}

/* What is remembered already is not remembered twice: it would push out another one. */
TEST(receive_rpc_unknown__is_remembered_once)
{
	hand_start_default();
	hand_serve(2, 100, 50);
	hand_unknown(2, 102, ND_HOMA_NOTE_CANCEL);
	hand_unknown(2, 102, ND_HOMA_NOTE_CANCEL);
	CHECK_EQ(hand_usage().done, 1);
}

/* The paper's semantics: a response is made once more, and none of the first is expected still. */
TEST(forget_response__expects_nothing)
{
	struct nd_homa_config config = hand_defaults();

	config.at_least_once = true;
	hand_start(&config, false);
	hand_request(2, 100);
	hand_drain();
	hand_data(2, 3, 0, 1424, 50000, 10000);
	CHECK(hand_usage().incoming > 0);
	hand_unknown(2, 3, ND_HOMA_NOTE_NONE);
	CHECK_EQ(hand_usage().incoming, 0);
	hand_drain();
	hand_data(2, 3, 0, 100, 100, 100);
	CHECK_EQ(hand_event().bytes, 100);
}

/* Answers that belong to no RPC are bounded. */
TEST(nd_homa_reply__ring_is_bounded)
{
	hand_start_default();
	for (uint32_t i = 0; i < 20; i++)
		hand_control(ND_HOMA_RESEND, 2, 100 + 2 * i, 0, ND_HOMA_RESEND_ALL, 7);
	CHECK_EQ(hand_counters()->replies_dropped, 4);
	for (uint32_t i = 0; i < 16; i++)
		CHECK(hand_next()[0]);
	CHECK_STR(hand_next(), "");
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
