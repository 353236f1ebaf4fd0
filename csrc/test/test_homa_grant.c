// SPDX-License-Identifier: Apache-2.0
/* Grants: windows, priorities, overcommitment, shares, limits. */
#include "test/homa_hand.h"

/* Four scheduled levels come with the default cutoffs. */
static void start(uint32_t window)
{
	struct nd_homa_config config = hand_defaults();

	config.window_bytes = window;
	hand_start(&config, false);
}

/* R-H32-1, R-H33-1, R-H34-4: one message is granted RTTbytes ahead, at the lowest level. */
TEST(nd_homa_grant_update__keeps_the_window_full)
{
	hand_start_default();
	hand_data(2, 100, 0, 1424, 60000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>2 <11424 p0");
	hand_data(2, 100, 1424, 1424, 60000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>2 <12848 p0");
	hand_data(2, 100, 5000, 1424, 60000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>2 <14272 p0");
	CHECK_STR(hand_next(), "");
	CHECK_EQ(hand_usage().incoming, 10000);
}

TEST(nd_homa_grant_update__ends_with_the_message)
{
	hand_start_default();
	hand_data(2, 100, 0, 1000, 10500, 10000);
	CHECK_STR(hand_next(), "GRANT 101>2 <10500 p0");
	hand_data(2, 100, 1000, 1000, 10500, 10000);
	CHECK_STR(hand_next(), "");
	CHECK_EQ(hand_usage().grantable, 0);
}

/* Several arrivals between two control packets make one GRANT with the newest offset. */
TEST(nd_homa_grant_update__grants_of_a_batch_join)
{
	hand_start_default();
	for (uint32_t offset = 0; offset < 5696; offset += 1424)
		hand_data(2, 100, offset, 1424, 60000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>2 <15696 p0");
	CHECK_STR(hand_next(), "");
}

/* R-H33-1: a fixed window grants exactly what arrived, a short packet too. */
TEST(below_window__fixed_window_is_exact)
{
	hand_start_default();
	hand_data(2, 100, 0, 1424, 60000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>2 <11424 p0");
	hand_data(2, 100, 1424, 1000, 60000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>2 <12424 p0");
}

/* A gap leaves a byte of the window: granted byte by byte, its message would never fall silent. */
TEST(below_window__fixed_window_grants_no_crumbs)
{
	hand_start_default();
	hand_data(2, 100, 0, 1424, 60000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>2 <11424 p0");
	hand_data(2, 100, 10000, 1, 60000, 10000);
	CHECK_STR(hand_next(), "");
	hand_data(2, 100, 1424, 1424, 60000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>2 <12849 p0");
}

/* The end of a message is granted, be it one byte. */
TEST(below_window__a_crumb_ends_the_message)
{
	hand_start_default();
	hand_data(2, 100, 0, 1424, 10001, 10000);
	CHECK_STR(hand_next(), "GRANT 101>2 <10001 p0");
}

/* Where the window moves, small grants would make ever smaller packets: whole packets only. */
TEST(below_window__moving_window_waits_for_a_packet)
{
	struct nd_homa_config config = hand_defaults();

	config.max_incoming_bytes = 20000;
	config.window_dynamic = true;
	hand_start(&config, false);
	hand_data(2, 100, 0, 1424, 60000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>2 <11424 p0");
	hand_data(2, 100, 1424, 500, 60000, 10000);
	CHECK_STR(hand_next(), "");
	hand_data(2, 100, 1924, 924, 60000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>2 <12848 p0");
}

TEST(fit__partial_grants_are_whole_packets)
{
	struct nd_homa_config config = hand_defaults();

	config.max_incoming_bytes = 12000;
	hand_start(&config, false);
	hand_data(2, 100, 0, 1424, 60000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>2 <11424 p0");
	hand_data(3, 100, 0, 1000, 50000, 1000);
	CHECK_STR(hand_next(), "GRANT 101>3 <2424 p0");
}

TEST(nd_homa_grant_update__unscheduled_message_needs_none)
{
	hand_start_default();
	hand_data(2, 100, 0, 1424, 9000, 9000);
	CHECK_STR(hand_next(), "");
	CHECK_EQ(hand_usage().grantable, 0);
	CHECK_EQ(hand_usage().incoming, 9000 - 1424);
}

/* A fully scheduled message announces itself with an empty DATA and is granted at once. */
TEST(nd_homa_grant_update__empty_first_packet)
{
	start(50000);
	hand_data(2, 100, 0, 0, 50000, 0);
	CHECK_STR(hand_next(), "GRANT 101>2 <50000 p0");
}

/* R-H34-4: the level of each active message by how many there are (rows) and its rank. */
TEST(level_of_rank__truth_table)
{
	static const char *const expected[5][5] = {
		{ 0 },
		{ "p0" },
		{ "p1", "p0" },
		{ "p2", "p1", "p0" },
		{ "p3", "p2", "p1", "p0" },
	};

	for (uint32_t messages = 1; messages <= 4; messages++) {
		hand_start_default();
		for (uint32_t i = 0; i < messages; i++)
			hand_data(10 + i, 100, 0, 1424, 20000 + 1000 * i, 1424);
		hand_drain();
		for (uint32_t i = 0; i < messages; i++) {
			hand_data(10 + i, 100, 1424, 1424, 20000 + 1000 * i, 1424);
			CHECK(strstr(hand_next(), expected[messages][i]));
		}
	}
}

/* R-H34-5: a shorter message that comes second gets a level above, with no packet in between. */
TEST(nd_homa_grant_run__newcomer_overtakes_at_once)
{
	hand_start_default();
	hand_data(2, 100, 0, 1424, 100000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>2 <11424 p0");
	hand_data(3, 100, 0, 1424, 50000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>3 <11424 p1");
	hand_data(2, 100, 1424, 1424, 100000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>2 <12848 p0");
	hand_data(4, 100, 0, 1424, 30000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>4 <11424 p2");
}

/* R-H35-1: only as many as there are scheduled levels are active; the others get nothing. */
TEST(balance__degree_is_the_number_of_scheduled_levels)
{
	hand_start_default();
	for (uint32_t i = 0; i < 6; i++)
		hand_data(10 + i, 100, 0, 1424, 20000 + 1000 * i, 10000);
	CHECK_EQ(hand_usage().active, 4);
	CHECK_EQ(hand_usage().grantable, 6);
	hand_drain();
	hand_data(14, 100, 1424, 1424, 24000, 10000);
	hand_data(15, 100, 1424, 1424, 25000, 10000);
	CHECK_STR(hand_next(), "");
	hand_data(13, 100, 1424, 1424, 23000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>13 <12848 p0");
}

/* ... and the best ones, also when they come last. */
TEST(balance__better_newcomer_takes_a_place)
{
	hand_start_default();
	for (uint32_t i = 0; i < 4; i++)
		hand_data(10 + i, 100, 0, 1424, 50000 + 1000 * i, 10000);
	hand_drain();
	hand_data(20, 100, 0, 1424, 30000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>20 <11424 p3");
	hand_data(13, 100, 1424, 1424, 53000, 10000);
	CHECK_STR(hand_next(), "");
	CHECK_EQ(hand_usage().active, 4);
}

/* R-H33-2: what a fully granted message frees goes to the next one, in the same instant. */
TEST(nd_homa_grant_run__fully_granted_makes_room)
{
	struct nd_homa_config config = hand_defaults();

	config.overcommit = 1;
	hand_start(&config, false);
	hand_data(2, 100, 0, 1424, 12000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>2 <11424 p0");
	hand_data(3, 100, 0, 1424, 60000, 10000);
	CHECK_STR(hand_next(), "");
	hand_data(2, 100, 1424, 1424, 12000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>2 <12000 p0");
	CHECK_STR(hand_next(), "GRANT 101>3 <11424 p0");
}

/* One message of a sender at a time: the shortest. */
TEST(nd_homa_order__one_message_a_peer)
{
	hand_start_default();
	hand_data(2, 100, 0, 1424, 40000, 10000);
	hand_data(2, 102, 0, 1424, 60000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>2 <11424 p0");
	CHECK_STR(hand_next(), "");
	hand_data(2, 104, 0, 1424, 20000, 10000);
	CHECK_STR(hand_next(), "GRANT 105>2 <11424 p0");
	CHECK_EQ(hand_usage().active, 1);
	CHECK_EQ(hand_usage().grantable, 3);
	hand_unknown(2, 104, 0);
	CHECK_STR(hand_next(), "");
	hand_data(2, 100, 1424, 1424, 40000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>2 <12848 p0");
}

/* The pairing heap against a plain search, with removals from its middle. */
TEST(nd_homa_order_remove__any_member)
{
	struct nd_rng rng = nd_rng_make(3, 3);
	struct nd_homa_peer *peer;
	uint64_t keys[64];

	hand_start_default();
	peer = nd_homa_peer_get(hand, 2, hand_now);
	memset(keys, 0xff, sizeof(keys));
	for (uint32_t i = 0; i < 64; i++)
		nd_homa_rpc_at(hand, i)->order.key = ND_NEVER;
	for (uint32_t round = 0; round < 5000; round++) {
		uint32_t pick = nd_rng_below(&rng, 64);
		uint64_t best = ND_NEVER;

		if (keys[pick] != ND_NEVER) {
			nd_homa_order_remove(hand, peer, pick);
			keys[pick] = ND_NEVER;
		} else {
			keys[pick] = (uint64_t)nd_rng_below(&rng, 1000) << 32 | pick;
			nd_homa_order_insert(hand, peer, pick, keys[pick]);
		}
		for (uint32_t i = 0; i < 64; i++)
			best = nd_min_u64(best, keys[i]);
		CHECK_EQ(peer->grantable == ND_NONE ? ND_NEVER
						    : nd_homa_rpc_at(hand, peer->grantable)->order.key,
			 best);
	}
}

/* R-H35-2, property: whatever arrives, granted - received stays within the window. */
TEST(nd_homa_grant_update__window_is_never_exceeded)
{
	static struct { uint32_t bytes, sent; } messages[12];
	struct nd_rng rng = nd_rng_make(4, 4);

	hand_start_default();
	memset(messages, 0, sizeof(messages));
	for (uint32_t i = 0; i < 12; i++)
		messages[i].bytes = 20000 + nd_rng_below(&rng, 100000);
	for (uint32_t round = 0; round < 20000; round++) {
		uint32_t i = nd_rng_below(&rng, 12);
		struct nd_homa_rpc *rpc = nd_homa_rpc_find(hand, 10 + i, 101);
		uint32_t granted = rpc ? rpc->in.granted : 10000;
		uint32_t bytes;

		if (rpc && rpc->state == ND_HOMA_INCOMING)
			CHECK(rpc->in.granted - rpc->in.received <= 10000);
		CHECK(hand_usage().active <= 4);
		bytes = nd_min_u32(nd_min_u32(1424, messages[i].bytes - messages[i].sent),
				   granted - messages[i].sent);
		if (!bytes || (rpc && rpc->state != ND_HOMA_INCOMING))
			continue;
		hand_data(10 + i, 100, messages[i].sent, bytes, messages[i].bytes, 10000);
		messages[i].sent += bytes;
		if (round % 3 == 0)
			hand_drain();
	}
	CHECK_EQ(hand_counters()->requests_received, 12);
	CHECK_EQ(hand_usage().incoming, 0);
}

/* T25, HM#5: grants stop at max_incoming, are counted as stalled, and go on when bytes arrive. */
TEST(fit__max_incoming_bytes)
{
	struct nd_homa_config config = hand_defaults();

	config.max_incoming_bytes = 15000;
	hand_start(&config, false);
	hand_data(2, 100, 0, 1424, 60000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>2 <11424 p0");
	hand_data(3, 100, 0, 1000, 50000, 5000);
	CHECK_STR(hand_next(), "");
	CHECK(hand_counters()->grant_stalled > 0);
	CHECK_EQ(hand_usage().incoming, 14000);
	hand_data(2, 100, 1424, 1424, 60000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>3 <6424 p1");
	CHECK_EQ(hand_usage().incoming, 14000);
}

/* T25: senders that died with the whole budget give it back once they have been asked. */
TEST(fit__dead_senders_do_not_stop_the_living)
{
	struct nd_homa_config config = hand_defaults();

	config.max_incoming_bytes = 12000;
	hand_start(&config, false);
	hand_data(2, 100, 0, 1424, 60000, 10000);
	hand_drain();
	hand_data(3, 100, 0, 100, 20000, 2000);
	hand_data(3, 100, 100, 1424, 20000, 2000);
	hand_drain();
	CHECK(hand_usage().incoming > 10000);
	hand_now += hand_config.resend_ns - ND_USEC;
	hand_data(3, 100, 1524, 476, 20000, 2000);
	CHECK_STR(hand_next(), "");
	hand_wait(ND_USEC);
	CHECK_STR(hand_next(), "GRANT 101>3 <12000 p0");
	CHECK_STR(hand_next(), "RESEND 101>2 1424+10000");
	CHECK_EQ(hand_usage().incoming, 10000);
}

/* ... and senders that only say that they live have none of it: BUSY, or bytes that are here. */
TEST(nd_homa_in_idle__words_do_not_stop_the_living)
{
	struct nd_homa_config config = hand_defaults();

	config.max_incoming_bytes = 12000;
	for (uint32_t busy = 0; busy < 2; busy++) {
		hand_start(&config, false);
		hand_data(2, 100, 0, 1424, 60000, 10000);
		hand_data(3, 100, 0, 2000, 20000, 2000);
		hand_drain();
		CHECK(hand_usage().incoming > 11000);
		if (busy)
			hand_control(ND_HOMA_BUSY, 2, 100, 0, 0, 0);
		else
			hand_data(2, 100, 0, 1424, 60000, 10000);
		CHECK_STR(hand_next(), "GRANT 101>3 <12000 p1");
		CHECK_EQ(hand_usage().incoming, 10000);
		hand_data(2, 100, 1424, 1424, 60000, 10000); /* it goes on: it counts again */
		CHECK(hand_usage().incoming > 18000);
	}
}

TEST(window_of__dynamic_window_shrinks_with_company)
{
	struct nd_homa_config config = hand_defaults();

	config.max_incoming_bytes = 40000;
	config.window_dynamic = true;
	hand_start(&config, false);
	hand_data(2, 100, 0, 1000, 100000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>2 <19968 p0");
	hand_data(3, 100, 0, 1000, 90000, 5000);
	CHECK_STR(hand_next(), "GRANT 101>3 <13544 p0");
}

/* U15: a peer with another round trip gets another window. */
TEST(window_of__peer_override)
{
	hand_start_default();
	CHECK_EQ(hand_submit((struct nd_command){ .kind = ND_COMMAND_WINDOW, .app = 1, .peer = 2,
						  .bytes = 30000 }), 0);
	hand_data(2, 100, 0, 1424, 60000, 30000);
	CHECK_STR(hand_next(), "GRANT 101>2 <31424 p0");
	hand_data(3, 100, 0, 1424, 60000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>3 <11424 p0");
}

/* Delivers all that the message of peer 9 may send. */
static void deliver_granted(void)
{
	const struct nd_homa_in *in = &nd_homa_rpc_find(hand, 9, 51)->in;

	while (in->end < in->granted)
		hand_data(9, 50, in->end, nd_min_u32(HAND_MSS, in->granted - in->end), 1000000, 1424);
}

/* The oldest message gets its share of the grants, though others are always shorter. */
TEST(grant_oldest__share_of_the_oldest)
{
	struct nd_homa_config config = hand_defaults();
	uint32_t before;

	config.overcommit = 1;
	config.grant_fifo_permille = 100;
	config.grant_fifo_bytes = 2000;
	hand_start(&config, false);
	hand_data(9, 50, 0, 1424, 1000000, 1424);
	hand_data(2, 100, 0, 1424, 900000, 10000);
	deliver_granted();
	before = nd_homa_rpc_find(hand, 9, 51)->in.granted;
	for (uint32_t offset = 1424; offset < 142400; offset += 1424) {
		hand_data(2, 100, offset, 1424, 900000, 10000);
		deliver_granted();
		hand_drain();
	}
	before = nd_homa_rpc_find(hand, 9, 51)->in.granted - before;
	CHECK(before >= 140976 / 10 - 2000 && before <= 140976 / 10 + 2000);
	CHECK_EQ(hand_counters()->fifo_grants, before / 2000);
}

/* By length, what was granted already does not count: the longer message waits. */
TEST(key_of__by_length)
{
	struct nd_homa_config config = hand_defaults();

	config.by_length = true;
	config.overcommit = 1;
	hand_start(&config, false);
	hand_data(9, 50, 0, 1424, 60000, 10000);
	CHECK_STR(hand_next(), "GRANT 51>9 <11424 p0");
	hand_data(2, 100, 0, 1424, 55000, 1424);
	CHECK_STR(hand_next(), "GRANT 101>2 <11424 p0");
	hand_data(9, 50, 1424, 1424, 60000, 10000);
	CHECK_STR(hand_next(), "");
}

/* R-H4-2: Basic grants everybody, at one priority. */
TEST(nd_homa_grant_update__basic_has_no_limit)
{
	struct nd_homa_config config = hand_defaults();

	config.basic = true;
	config.levels = 1;
	hand_start(&config, false);
	for (uint32_t i = 0; i < 20; i++) {
		char expected[64];

		hand_data(10 + i, 100, 0, 1424, 60000 + i, 10000);
		snprintf(expected, sizeof(expected), "GRANT 101>%u <11424 p0", 10 + i);
		CHECK_STR(hand_next(), expected);
	}
}

/* D17, W1: one scheduled level means one active message. */
TEST(set_levels__fixed_split)
{
	struct nd_homa_config config = nd_homa_config_paper(7, 1);

	config.rpcs_max = 64;
	config.server_rpcs_max = 64;
	hand_start(&config, false);
	CHECK_EQ(hand_usage().degree, 1);
	CHECK_EQ(hand_usage().unscheduled_levels, 7);
	config = nd_homa_config_paper(1, 7);
	config.rpcs_max = 64;
	config.server_rpcs_max = 64;
	hand_start(&config, false);
	CHECK_EQ(hand_usage().degree, 7);
	CHECK_EQ(hand_usage().scheduled_levels, 7);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
