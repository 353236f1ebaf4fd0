// SPDX-License-Identifier: Apache-2.0
/* A server that has no room for a request says so, and its clients wait instead of giving up. */
#include "test/homa_hand.h"
#include "test/homa_world.h"

static struct world world;

static void start_full_server(void)
{
	struct nd_homa_config config = hand_defaults();

	config.server_rpcs_max = 1;
	hand_start(&config, false);
	hand_data(2, 100, 0, 10, 100, 100);
	hand_drain();
}

/* T23: the first packet of a request is answered, the others of its burst are not. */
TEST(refuse_full__answers_the_first_packet)
{
	start_full_server();
	hand_data(2, 102, 0, 1424, 5000, 5000);
	CHECK_STR(hand_next(), "UNKNOWN 103>2 note 6");
	hand_data(2, 102, 1424, 1424, 5000, 5000);
	CHECK_STR(hand_next(), "");
	CHECK_EQ(hand_counters()->rpcs_refused, 2);
	CHECK_EQ(hand_usage().server_rpcs, 1);
}

/* A request to port 41. */
static void ask_second_server(uint32_t peer, uint64_t id)
{
	struct nd_packet packet = hand_packet(ND_HOMA_DATA, peer, id);

	packet.homa.target_port = 41;
	packet.homa.message_bytes = packet.homa.length = packet.payload_bytes = 100;
	hand_receive(&packet);
}

/* One application that answers nobody keeps no other from serving; alone it may have all places. */
TEST(nd_homa_rpc_last_room__is_for_applications_that_hold_few)
{
	struct nd_homa_config config = hand_defaults();
	struct nd_command listen = { .kind = ND_COMMAND_LISTEN, .port = 41, .app = 3 };

	config.server_rpcs_max = 16;
	hand_start(&config, false); /* app 1 listens */
	CHECK_EQ(hand_submit(listen), 0);
	for (uint64_t i = 0; i < 20; i++)
		hand_data(2, 100 + 2 * i, 0, 100, 100, 100);
	CHECK_EQ(hand_usage().server_rpcs, 14);
	CHECK_EQ(hand_counters()->rpcs_refused, 6);
	ask_second_server(3, 100);
	ask_second_server(3, 102);
	CHECK_EQ(hand_usage().server_rpcs, 16);
	ask_second_server(3, 104);
	CHECK_EQ(hand_usage().server_rpcs, 16);
	listen.kind = ND_COMMAND_UNLISTEN;
	CHECK_EQ(hand_submit(listen), 0);
	CHECK_EQ(hand_usage().server_rpcs, 14);
	for (uint64_t i = 20; i < 24; i++)
		hand_data(2, 100 + 2 * i, 0, 100, 100, 100);
	CHECK_EQ(hand_usage().server_rpcs, 16);
}

TEST(refuse_full__others_do_not_know_the_note)
{
	struct nd_packet packet = hand_packet(ND_HOMA_DATA, 2, 102);

	start_full_server();
	packet.homa.speaker = 0;
	packet.homa.message_bytes = packet.homa.length = packet.payload_bytes = 50;
	hand_receive(&packet);
	CHECK_STR(hand_next(), "");
	CHECK_EQ(hand_counters()->rpcs_refused, 1);
}

/* Where the first packet was lost the client asks; then it hears whether there is room. */
TEST(answer_unknown_resend__says_full)
{
	start_full_server();
	hand_control(ND_HOMA_RESEND, 2, 102, 0, ND_HOMA_RESEND_ALL, 7);
	CHECK_STR(hand_next(), "UNKNOWN 103>2 note 6");
	hand_unknown(2, 100, ND_HOMA_NOTE_CANCEL);
	hand_control(ND_HOMA_RESEND, 2, 102, 0, ND_HOMA_RESEND_ALL, 7);
	CHECK_STR(hand_next(), "UNKNOWN 103>2");
}

/* Too many peers are too many requests, too; responses to nobody stay unanswered. */
TEST(refuse_unknown_peer__says_full)
{
	struct nd_homa_config config = hand_defaults();

	config.peers_max = 1;
	hand_start(&config, false);
	hand_data(2, 100, 0, 10, 100, 100);
	hand_drain();
	hand_data(3, 100, 0, 10, 100, 100);
	CHECK_STR(hand_next(), "UNKNOWN 101>3 note 6");
	hand_data(3, 100, 10, 10, 100, 100);
	hand_data(3, 101, 0, 10, 100, 100);
	CHECK_STR(hand_next(), "");
	CHECK_EQ(hand_counters()->peers_refused, 3);
}

/* The client falls silent, then offers the request by an empty packet and lives on grants. */
TEST(nd_homa_put_off__offers_an_empty_packet_later)
{
	hand_start_default();
	hand_request(2, 5000);
	CHECK_STR(hand_next(), "DATA 2>2 0+1424/5000 in=5000 p6");
	hand_unknown(2, 3, ND_HOMA_NOTE_FULL);
	hand_unknown(2, 3, ND_HOMA_NOTE_FULL);
	hand_wait(hand_config.resend_ns / 8 - 1);
	CHECK_STR(hand_next(), "");
	hand_wait(hand_config.resend_ns / 8 + 1);
	CHECK_STR(hand_next(), "DATA 2>2 0+0/5000 in=0 p6");
	CHECK_STR(hand_next(), "");
	hand_control(ND_HOMA_GRANT, 2, 3, 5000, 0, 1);
	CHECK_STR(hand_next(), "DATA 2>2 0+1424/5000 in=0 p1");
	CHECK_EQ(hand_counters()->requests_put_off, 1);
	CHECK_EQ(hand_counters()->requests_restarted, 1);
}

/* A question that has not left yet when the answer comes is not asked. */
TEST(nd_homa_put_off__asks_nothing)
{
	hand_start_default();
	hand_request(2, 5000);
	hand_drain();
	hand_wait(hand_config.resend_ns);
	hand_unknown(2, 3, ND_HOMA_NOTE_FULL);
	CHECK_STR(hand_next(), "");
	CHECK_EQ(hand_counters()->resends_sent, 0);
}

/* R-H37-4: being full is a sign of life; the intervals double up to eight times resend_ns. */
TEST(put_off_interval__doubles_and_never_gives_up)
{
	nd_ns waited = 0;

	hand_start_default();
	hand_request(2, 5000);
	hand_drain();
	for (uint32_t i = 0; i < 300; i++) {
		nd_ns least = hand_config.resend_ns / 8 << nd_min_u32(i, 5);

		hand_unknown(2, 3, ND_HOMA_NOTE_FULL);
		waited = nd_homa_ops.deadline(hand) - hand_now;
		CHECK(waited >= least && waited <= 2 * least);
		hand_wait(waited);
		CHECK_STR(hand_next(), "DATA 2>2 0+0/5000 in=0 p6");
	}
	CHECK(waited <= ND_HOMA_PUT_OFF_MAX * hand_config.resend_ns);
	CHECK_EQ(hand_usage().client_rpcs, 1);
	CHECK_EQ(hand_event().kind, 255);
}

/* A later packet of the burst found room: what the server says then counts. */
TEST(nd_homa_rpc_heard__ends_the_wait)
{
	static const uint8_t signs[] = { ND_HOMA_GRANT, ND_HOMA_BUSY, ND_HOMA_RESEND };

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(signs); i++) {
		hand_start_default();
		hand_request(2, 12000);
		CHECK_STR(hand_next(), "DATA 2>2 0+1424/12000 in=10000 p6");
		hand_unknown(2, 3, ND_HOMA_NOTE_FULL);
		hand_control(signs[i], 2, 3, 0, 1424, 7);
		if (signs[i] == ND_HOMA_RESEND)
			CHECK_STR(hand_next(), "DATA 2>2 0+1424/12000 in=1424 p7 again");
		CHECK_STR(hand_next(), "DATA 2>2 1424+1424/12000 in=10000 p6");
		hand_drain();
		hand_wait(hand_config.resend_ns / 4);
		CHECK_STR(hand_next(), "");
		CHECK_EQ(hand_counters()->requests_restarted, 0);
	}
}

/* Not one that had it and may have run it: that one lost it. */
TEST(server_lost_rpc__full_after_it_may_have_run)
{
	hand_start_default();
	hand_request(2, 100);
	hand_drain();
	hand_control(ND_HOMA_BUSY, 2, 3, 0, 0, 0);
	hand_unknown(2, 3, ND_HOMA_NOTE_FULL);
	hand_wait(hand_config.resend_ns);
	CHECK_STR(hand_next(), "RESEND 2>2 0+-1");
	hand_unknown(2, 3, ND_HOMA_NOTE_FULL);
	CHECK_EQ(hand_event().error, -ECONNRESET);
}

TEST(nd_homa_put_off__deadline_and_cancel)
{
	struct nd_command command = { .kind = ND_COMMAND_REQUEST, .app = 2, .peer = 2,
				      .port = HAND_PORT, .bytes = 100 };
	uint64_t id;

	hand_start_default();
	command.deadline = hand_now + 100 * ND_USEC;
	CHECK_EQ(nd_homa_ops.submit(hand, &command, hand_now), 0);
	hand_drain();
	hand_unknown(2, 3, ND_HOMA_NOTE_FULL);
	CHECK_EQ(nd_homa_ops.deadline(hand), command.deadline);
	hand_wait(100 * ND_USEC);
	CHECK_EQ(hand_event().error, -ETIMEDOUT);
	id = hand_request(2, 100);
	hand_drain();
	hand_unknown(2, id | 1, ND_HOMA_NOTE_FULL);
	CHECK_EQ(hand_cancel(2, id), 0);
	CHECK_EQ(hand_event().error, -ECANCELED);
	CHECK_EQ(hand_homa()->rpcs.used, 0);
}

/* Eleven clients with eight requests each, a server with room for two at a time that takes its time:
 * all are answered. */
TEST(full_server__answers_everybody_in_the_end)
{
	struct nd_homa_config config = world_config();

	world_start(&world, WORLD_HOSTS, &config, true, 1);
	world.hosts[0].config.server_rpcs_max = 2;
	world.hosts[0].config.peer_rpcs_max = 1;
	world_boot(&world, 0, 5);
	CHECK_EQ(world_submit(&world, 0, &(struct nd_command){
		.kind = ND_COMMAND_LISTEN, .port = SERVICE_PORT, .app = 1 }), 0);
	for (uint32_t i = 0; i < 8 * (WORLD_HOSTS - 1); i++)
		world_request(&world, 1 + i % (WORLD_HOSTS - 1), 0, 100 + i * 997);
	world_run(&world, world.now + 20 * ND_SEC);
	world_print_failures(&world);
	CHECK_EQ(world_count(&world, ND_EVENT_RESPONSE), 8 * (WORLD_HOSTS - 1));
	CHECK(world_counters(&world, 0)->rpcs_refused > 0);
	world_check_empty(&world);
	world_stop(&world);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
