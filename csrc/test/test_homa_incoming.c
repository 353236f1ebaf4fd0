// SPDX-License-Identifier: Apache-2.0
/* Assembly of incoming messages against a bitmap, and its limits. */
#include "test/homa_hand.h"

#define MESSAGE 4000

static uint8_t pattern(uint32_t at)
{
	return (uint8_t)(at * 7 + (at >> 8));
}

static void piece(uint32_t offset, uint32_t bytes)
{
	static uint8_t data[MESSAGE];
	struct nd_packet packet = hand_packet(ND_HOMA_DATA, 2, 100);

	for (uint32_t i = 0; i < bytes; i++)
		data[i] = pattern(offset + i);
	packet.payload = data;
	packet.payload_bytes = (uint16_t)bytes;
	packet.homa.offset = offset;
	packet.homa.message_bytes = MESSAGE;
	packet.homa.length = MESSAGE;
	hand_receive(&packet);
}

static const struct nd_homa_in *message(void)
{
	return &nd_homa_rpc_find(hand, 2, 101)->in;
}

/* R-H33-3: pieces of any length in any order, overlapping in any way; the bytes come out right. */
TEST(nd_homa_in_add__matches_a_bitmap)
{
	struct nd_homa_config config = hand_defaults();

	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct nd_rng rng = nd_rng_make(seed, 0);
		uint8_t have[MESSAGE] = { 0 };
		uint32_t count = 0;

		hand_start(&config, true);
		while (count < MESSAGE) {
			uint32_t offset = nd_rng_below(&rng, MESSAGE);
			uint32_t bytes = nd_rng_below(&rng, nd_min_u32(MESSAGE - offset, 600) + 1);

			for (uint32_t i = offset; i < offset + bytes; i++) {
				count += !have[i];
				have[i] = 1;
			}
			piece(offset, bytes);
			if (count < MESSAGE)
				CHECK_EQ(message()->received, count);
		}
		CHECK_EQ(hand_event().kind, ND_EVENT_REQUEST);
		for (uint32_t i = 0; i < MESSAGE; i++)
			CHECK_EQ(hand_lent[0][i], pattern(i));
		CHECK_EQ(hand_usage().gaps, 0);
	}
}

/* A piece that only partly overlaps a hole fills its part (HomaModule would drop it). */
TEST(fill_gaps__partial_overlap)
{
	hand_start_default();
	piece(1424, 1424);
	CHECK_EQ(message()->received, 1424);
	piece(0, 1500);
	CHECK_EQ(message()->received, 2848);
	CHECK_EQ(message()->gap_count, 0);
	CHECK_EQ(hand_counters()->duplicate_bytes, 76);
}

TEST(shrink_gap__splits)
{
	uint32_t start, end;

	hand_start_default();
	piece(3000, 100);
	piece(1000, 100);
	CHECK_EQ(message()->gap_count, 2);
	nd_homa_in_missing(hand, nd_homa_rpc_find(hand, 2, 101), &start, &end);
	CHECK_EQ(start, 0);
	CHECK_EQ(end, 1000);
	piece(0, 1000);
	nd_homa_in_missing(hand, nd_homa_rpc_find(hand, 2, 101), &start, &end);
	CHECK_EQ(start, 1100);
	CHECK_EQ(end, 3000);
	piece(1100, 1900);
	nd_homa_in_missing(hand, nd_homa_rpc_find(hand, 2, 101), &start, &end);
	CHECK_EQ(start, 3100);
	CHECK_EQ(end, MESSAGE);
}

/* Holes are limited; what does not fit is dropped, counted, and asked for again. */
TEST(add_gap__limits)
{
	struct nd_homa_config config = hand_defaults();

	config.message_gaps_max = 3;
	hand_start(&config, false);
	for (uint32_t i = 0; i < 5; i++)
		piece(100 + 200 * i, 100);
	CHECK_EQ(message()->gap_count, 3);
	CHECK_EQ(message()->received, 300);
	CHECK_EQ(hand_counters()->gaps_refused, 2);
	piece(40, 10);
	CHECK_EQ(hand_counters()->gaps_refused, 3);
	CHECK_EQ(message()->received, 300);
	for (uint32_t i = 0; i < MESSAGE; i += 100)
		piece(i, 100);
	CHECK_EQ(hand_event().kind, ND_EVENT_REQUEST);
}

/* All messages together share the pool of holes. */
TEST(add_gap__pool_runs_out)
{
	struct nd_homa_config config = hand_defaults();

	config.gaps_max = 4;
	hand_start(&config, false);
	for (uint32_t i = 0; i < 6; i++)
		hand_data(10 + i, 100, 1000, 100, MESSAGE, MESSAGE);
	CHECK_EQ(hand_usage().gaps, 4);
	CHECK_EQ(hand_counters()->gaps_refused, 2);
}

/* Without a hole only the next packet is of use: it is asked for alone, then the one after it. */
TEST(go_gapless__asks_packet_by_packet)
{
	struct nd_homa_config config = hand_defaults();

	config.gaps_max = 1;
	hand_start(&config, false);
	hand_data(3, 100, 1424, 1424, 4000, 4000);
	hand_data(2, 100, 1424, 1424, 60000, 10000);
	hand_data(2, 100, 2848, 1424, 60000, 10000);
	CHECK_EQ(hand_counters()->gapless, 1);
	hand_drain();
	hand_wait(hand_config.resend_ns);
	CHECK_STR(hand_next(), "RESEND 101>3 0+1424");
	CHECK_STR(hand_next(), "RESEND 101>2 0+1424");
	for (uint32_t at = 0; at + 1424 < 10000; at += 1424) {
		char expected[40];

		CHECK_STR(hand_next(), "");
		hand_data(2, 100, at, 1424, 60000, 10000);
		snprintf(expected, sizeof(expected), "RESEND 101>2 %u+%u", at + 1424,
			 nd_min_u32(1424, 10000 - at - 1424));
		CHECK_STR(hand_next(), expected);
	}
	hand_data(2, 100, 9968, 32, 60000, 10000);
	CHECK_STR(hand_next(), "GRANT 101>2 <20000 p0");
	hand_data(2, 100, 11424, 1424, 60000, 10000);
	CHECK_EQ(hand_counters()->gapless, 2);
}

/* Receiver credit: no memory, no grant, unscheduled bytes dropped, counted; RESEND when it comes. */
TEST(nd_homa_in_begin__starved)
{
	struct nd_homa_config config = hand_defaults();

	hand_start(&config, true);
	hand_credit = 5000;
	hand_data(2, 100, 0, 1424, 5000, 5000);
	hand_data(3, 100, 0, 1424, 20000, 10000);
	hand_data(4, 100, 0, 1424, 1424, 1424);
	CHECK_STR(hand_next(), "");
	CHECK_EQ(hand_usage().starved, 2);
	CHECK_EQ(hand_counters()->memory_stalled, 2);
	CHECK_EQ(hand_counters()->memory_dropped_bytes, 2848);
	for (uint32_t offset = 1424; offset < 5000; offset += 1424)
		hand_data(2, 100, offset, nd_min_u32(1424, 5000 - offset), 5000, 5000);
	struct nd_event event = hand_event();
	CHECK_EQ(event.kind, ND_EVENT_REQUEST);
	hand_credit = 16424;
	CHECK_EQ(hand_submit((struct nd_command){ .kind = ND_COMMAND_RELEASE, .app = 1,
						  .id = event.id }), 0);
	CHECK_EQ(hand_usage().starved, 0);
	CHECK_STR(hand_next(), "RESEND 101>3 0+10000");
	CHECK_STR(hand_next(), "RESEND 101>4 0+1424");
	CHECK_STR(hand_next(), "");
}

/* What is free is for whom it is enough for, whoever waits before him for more. */
TEST(nd_homa_in_feed__goes_on_behind_one_that_is_too_long)
{
	struct nd_homa_config config = hand_defaults();
	struct nd_event event;

	hand_start(&config, true);
	hand_credit = 1000;
	hand_data(2, 100, 0, 1000, 1000, 1000);
	hand_data(3, 100, 0, 1424, 20000, 10000);
	hand_data(4, 100, 0, 1000, 1000, 1000);
	CHECK_EQ(hand_usage().starved, 2);
	event = hand_event();
	CHECK_EQ(hand_submit((struct nd_command){ .kind = ND_COMMAND_RELEASE, .app = 1,
						  .id = event.id }), 0);
	CHECK_EQ(hand_usage().starved, 1);
	CHECK_STR(hand_next(), "RESEND 101>4 0+1000");
}

/* A starved request keeps its client patient: RESEND is answered by BUSY, no RESEND is sent. */
TEST(nd_homa_in_begin__starved_is_busy)
{
	struct nd_homa_config config = hand_defaults();

	hand_start(&config, true);
	hand_credit = 0;
	hand_data(2, 100, 0, 1424, 1424, 1424);
	for (uint32_t i = 0; i < 100; i++)
		hand_wait(hand_config.resend_ns);
	CHECK_STR(hand_next(), "");
	hand_control(ND_HOMA_RESEND, 2, 100, 0, ND_HOMA_RESEND_ALL, 7);
	CHECK_STR(hand_next(), "BUSY 101>2");
	hand_credit = 1424;
	hand_wait(hand_config.resend_ns);
	CHECK_STR(hand_next(), "RESEND 101>2 0+1424");
}

/* Only the application without memory waits. */
TEST(nd_homa_in_begin__others_go_on)
{
	struct nd_homa_config config = hand_defaults();

	hand_start(&config, true);
	hand_credit = 1000;
	hand_data(2, 100, 0, 1424, 60000, 10000);
	hand_data(3, 100, 0, 1000, 1000, 1000);
	CHECK_EQ(hand_event().kind, ND_EVENT_REQUEST);
	CHECK_EQ(hand_usage().incoming, 0);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
