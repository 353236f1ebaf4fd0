// SPDX-License-Identifier: Apache-2.0
/* At most once: ended requests never run again; at least once: they do. */
#include "test/homa_hand.h"

static void run_once(uint32_t peer, uint64_t id)
{
	struct nd_packet ack = hand_packet(ND_HOMA_ACK, peer, id);

	CHECK_EQ(hand_reply(hand_serve(peer, id, 10), 10), 0);
	hand_drain();
	hand_receive(&ack);
	CHECK_EQ(hand_event().kind, ND_EVENT_SENT);
}

/* A duplicate after the ACK is not executed again. */
TEST(nd_homa_done_has__duplicate_after_the_ack)
{
	hand_start_default();
	run_once(2, 100);
	hand_data(2, 100, 0, 10, 10, 10);
	CHECK_EQ(hand_event().kind, 255);
	CHECK_EQ(hand_counters()->duplicate_requests, 1);
	hand_data(3, 100, 0, 10, 10, 10);
	CHECK_EQ(hand_event().kind, ND_EVENT_REQUEST);
	CHECK_EQ(hand_usage().done, 1);
}

/* The client that still wants its answer is told that there will be none. */
TEST(nd_homa_done_has__resend_is_refused)
{
	hand_start_default();
	run_once(2, 100);
	hand_control(ND_HOMA_RESEND, 2, 100, 0, ND_HOMA_RESEND_ALL, 7);
	CHECK_STR(hand_next(), "UNKNOWN 101>2 note 2");
}

/* Duplicates while the request is here are dropped in every state. */
TEST(find_message__duplicate_while_open)
{
	uint64_t id;

	hand_start_default();
	id = hand_serve(2, 100, 10);
	hand_data(2, 100, 0, 10, 10, 10);
	hand_reply(id, 10);
	hand_data(2, 100, 0, 10, 10, 10);
	hand_drain();
	hand_data(2, 100, 0, 10, 10, 10);
	CHECK_EQ(hand_event().kind, 255);
	CHECK_EQ(hand_counters()->duplicate_bytes, 30);
}

/* A full memory refuses what it may have forgotten: never runs it again. */
TEST(forget_oldest__floor)
{
	struct nd_homa_config config = hand_defaults();

	config.done_max = 4;
	hand_start(&config, false);
	for (uint64_t id = 100; id < 112; id += 2)
		run_once(2, id);
	CHECK_EQ(hand_counters()->done_evicted_early, 2);
	hand_data(2, 100, 0, 10, 10, 10);
	CHECK_STR(hand_next(), "UNKNOWN 101>2 note 2");
	hand_data(2, 102, 0, 10, 10, 10);
	CHECK_EQ(hand_counters()->stale_requests, 2);
	hand_data(2, 104, 0, 10, 10, 10);
	CHECK_EQ(hand_counters()->duplicate_requests, 1);
	CHECK_EQ(hand_event().kind, 255);
	hand_data(3, 100, 0, 10, 10, 10);
	CHECK_EQ(hand_event().kind, ND_EVENT_REQUEST);
	run_once(2, 112);
}

/* Memory ends with done_ns: a rebooted client whose ids begin again is served. */
TEST(nd_homa_done_stale__expires)
{
	struct nd_homa_config config = hand_defaults();

	config.done_max = 4;
	hand_start(&config, false);
	for (uint64_t id = 2; id < 20; id += 2)
		run_once(2, id);
	hand_data(2, 2, 0, 10, 10, 10);
	CHECK_EQ(hand_counters()->stale_requests, 1);
	hand_wait(config.done_ns + 1);
	for (uint64_t id = 2; id < 20; id += 2)
		run_once(2, id);
}

/* Ids far below the floor are of another life of the client, whose ids began elsewhere. */
TEST(nd_homa_done_stale__other_lives)
{
	struct nd_homa_config config = hand_defaults();

	config.done_max = 2;
	hand_start(&config, false);
	for (uint64_t i = 0; i < 5; i++)
		run_once(2, (UINT64_C(1) << 40) + 2 * i);
	hand_data(2, (UINT64_C(1) << 40) - 2, 0, 10, 10, 10);
	CHECK_EQ(hand_counters()->stale_requests, 1);
	run_once(2, 1000);
}

/* R-H38-1: at least once: a duplicate after the state is gone runs again, and nothing is ACKed. */
TEST(at_least_once__runs_again)
{
	struct nd_homa_config config = hand_defaults();

	config.at_least_once = true;
	hand_start(&config, false);
	for (uint32_t i = 0; i < 2; i++) {
		CHECK_EQ(hand_reply(hand_serve(2, 100, 10), 10), 0);
		CHECK_STR(hand_next(), "DATA 101>2 0+10/10 in=10 p6");
		CHECK_EQ(hand_event().kind, ND_EVENT_SENT);
		CHECK_EQ(hand_homa()->rpcs.used, 0);
	}
	CHECK_EQ(hand_usage().done, 0);
	hand_request(2, 10);
	hand_drain();
	hand_data(2, 3, 0, 10, 10, 10);
	CHECK_EQ(hand_event().kind, ND_EVENT_RESPONSE);
	hand_request(2, 10);
	CHECK_STR(hand_next(), "DATA 4>2 0+10/10 in=10 p6");
}

/* R-H31-3 in the paper's words: the server is free once the last response packet is sent. */
TEST(at_least_once__long_response)
{
	struct nd_homa_config config = hand_defaults();

	config.at_least_once = true;
	hand_start(&config, false);
	CHECK_EQ(hand_reply(hand_serve(2, 100, 10), 12000), 0);
	hand_drain();
	CHECK_EQ(hand_usage().server_rpcs, 1);
	hand_control(ND_HOMA_GRANT, 2, 100, 12000, 0, 0);
	hand_drain();
	CHECK_EQ(hand_usage().server_rpcs, 0);
}

/* A server that restarts with other seeds does not mix up lives: ids differ. */
TEST(random_first_id__differs_by_seed)
{
	struct nd_homa_config config = hand_defaults();
	uint64_t ids[3];

	config.first_id = 0;
	for (uint32_t i = 0; i < 3; i++) {
		hand_start(&config, false);
		nd_homa_ops.init(hand, &(struct nd_setup){ .seed = i, .self = 1, .config = &config });
		ids[i] = hand_request(2, 1);
		CHECK(!(ids[i] & 1) && ids[i] >= 2);
	}
	CHECK(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
