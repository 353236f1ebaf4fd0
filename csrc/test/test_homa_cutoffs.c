// SPDX-License-Identifier: Apache-2.0
/* Unscheduled priorities: bins, the split of levels, learning, telling. */
#include "test/homa_hand.h"

TEST(nd_homa_cutoffs_bin__tops_bound_their_bins)
{
	for (uint32_t bytes = 0; bytes < 70000; bytes++) {
		uint32_t bin = nd_homa_cutoffs_bin(bytes);

		CHECK(bin < ND_HOMA_BINS);
		CHECK(nd_homa_cutoffs_bin_top(bin) >= bytes);
		CHECK(bin == 0 || nd_homa_cutoffs_bin_top(bin - 1) < bytes);
	}
	CHECK_EQ(nd_homa_cutoffs_bin(UINT32_MAX), ND_HOMA_BINS - 1);
	CHECK_EQ(nd_homa_cutoffs_bin_top(ND_HOMA_BINS - 1), UINT32_MAX);
}

/* The dialect's default set: <= 200 prio 7, <= 2800 prio 6, <= 15000 prio 5, the rest prio 4. */
TEST(nd_homa_cutoffs_priority__default_set)
{
	static const uint32_t cutoffs[8] = { INT32_MAX, 0, 0, 0, 1000000, 15000, 2800, 200 };

	CHECK_EQ(nd_homa_cutoffs_priority(cutoffs, 1), 7);
	CHECK_EQ(nd_homa_cutoffs_priority(cutoffs, 200), 7);
	CHECK_EQ(nd_homa_cutoffs_priority(cutoffs, 201), 6);
	CHECK_EQ(nd_homa_cutoffs_priority(cutoffs, 2800), 6);
	CHECK_EQ(nd_homa_cutoffs_priority(cutoffs, 15000), 5);
	CHECK_EQ(nd_homa_cutoffs_priority(cutoffs, 15001), 4);
	CHECK_EQ(nd_homa_cutoffs_priority(cutoffs, 1000001), 0);
}

static void start_learning(uint8_t mode)
{
	struct nd_homa_config config = hand_defaults();

	config.cutoff_mode = mode;
	config.unscheduled_levels = 3;
	config.learn_messages = 100;
	config.learn_ns = ND_MSEC;
	hand_start(&config, false);
}

/* Messages whose unscheduled part is this share of their bytes, in 1/1000. */
static void feed_share(uint32_t permille)
{
	for (uint32_t i = 0; i < 1000; i++) {
		nd_homa_cutoffs_note(hand, 1000, permille, hand_now);
		hand_now += 10 * ND_USEC;
	}
}

/* R-H34-1, E-H16, D15: shares of W1..W5 give 7, 6, 2, 1, 1 unscheduled levels; 1/16 rounds up. */
TEST(nd_homa_cutoffs_note__share_of_bytes_is_share_of_levels)
{
	static const struct { uint32_t permille, levels; } cases[] = {
		{ 995, 7 }, { 772, 6 }, { 295, 2 }, { 27, 1 }, { 4, 1 }, { 1000, 7 }, { 500, 4 },
		{ 1, 1 }, { 437, 3 }, { 438, 4 },
	};

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(cases); i++) {
		start_learning(ND_HOMA_CUTOFFS_AUTO);
		feed_share(cases[i].permille);
		CHECK_EQ(hand_usage().unscheduled_levels, cases[i].levels);
		CHECK_EQ(hand_usage().scheduled_levels, 8 - cases[i].levels);
		CHECK_EQ(hand_usage().degree, 8 - cases[i].levels);
	}
}

/* R-H34-2: the levels get equal shares of the unscheduled bytes, to one bin. */
TEST(nd_homa_cutoffs_note__levels_get_equal_bytes)
{
	struct nd_rng rng = nd_rng_make(1, 1);
	uint64_t level_bytes[8] = { 0 };
	uint64_t total = 0;

	start_learning(ND_HOMA_CUTOFFS_FIXED);
	for (uint32_t i = 0; i < 5000; i++) {
		uint32_t bytes = 1 + nd_rng_below(&rng, 5000);

		nd_homa_cutoffs_note(hand, bytes, bytes, hand_now);
		hand_now += 2 * ND_USEC;
	}
	for (uint32_t bytes = 1; bytes <= 5000; bytes++) {
		level_bytes[nd_homa_cutoffs_priority(hand_usage().cutoffs, bytes)] += bytes;
		total += bytes;
	}
	for (uint32_t level = 5; level < 8; level++) {
		CHECK(level_bytes[level] > total * 26 / 100);
		CHECK(level_bytes[level] < total * 41 / 100);
	}
	CHECK_EQ(level_bytes[0] + level_bytes[4], 0);
}

/* R-H34-3: a new mix of traffic gives new cutoffs with a new version, old traffic fades. */
TEST(nd_homa_cutoffs_note__follows_the_traffic)
{
	uint32_t small;
	uint16_t version;

	start_learning(ND_HOMA_CUTOFFS_FIXED);
	for (uint32_t i = 0; i < 2000; i++, hand_now += 10 * ND_USEC)
		nd_homa_cutoffs_note(hand, 100, 100, hand_now);
	small = hand_usage().cutoffs[7];
	version = hand_usage().cutoff_version;
	CHECK(small >= 100 && small < 120);
	CHECK(version > 1);
	for (uint32_t i = 0; i < 20000; i++, hand_now += 10 * ND_USEC)
		nd_homa_cutoffs_note(hand, 5000, 5000, hand_now);
	CHECK(hand_usage().cutoffs[7] >= 5000);
	CHECK(hand_usage().cutoff_version != version);
}

TEST(nd_homa_cutoffs_note__static_mode_learns_nothing)
{
	start_learning(ND_HOMA_CUTOFFS_STATIC);
	feed_share(995);
	CHECK_EQ(hand_usage().unscheduled_levels, 4);
	CHECK_EQ(hand_usage().cutoffs[7], 200);
	CHECK_EQ(hand_usage().cutoff_version, 1);
}

static int set_levels(uint32_t levels, const uint32_t *cutoffs)
{
	return hand_submit((struct nd_command){ .kind = ND_COMMAND_LEVELS,
						.bytes = levels,
						.payload = (const uint8_t *)cutoffs });
}

/* The host sets cutoffs: they are told, nothing is learned, and what was learned before returns. */
TEST(nd_homa_cutoffs_set__until_taken_back)
{
	static const uint32_t given[8] = { [7] = 1000, [6] = 9000 };
	uint16_t version;

	start_learning(ND_HOMA_CUTOFFS_AUTO);
	feed_share(995);
	CHECK_EQ(hand_usage().unscheduled_levels, 7);
	version = hand_usage().cutoff_version;
	CHECK_EQ(set_levels(0, given), 0);
	CHECK_EQ(hand_usage().cutoff_version, version + 1);
	CHECK_EQ(hand_usage().unscheduled_levels, 2);
	CHECK_EQ(hand_usage().scheduled_levels, 6);
	CHECK_EQ(hand_usage().cutoffs[7], 1000);
	CHECK_EQ(hand_usage().cutoffs[0], INT32_MAX);
	feed_share(4);
	CHECK_EQ(hand_usage().cutoff_version, version + 1);
	CHECK_EQ(set_levels(0, NULL), 0);
	CHECK_EQ(hand_usage().cutoffs[7], 200);
	feed_share(995);
	CHECK_EQ(hand_usage().unscheduled_levels, 7);
}

TEST(nd_homa_cutoffs_set__refuses_what_cannot_be)
{
	static const uint32_t wrong[][8] = {
		{ 0 }, { [7] = 9000, [6] = 1000 }, { [6] = 1000 }, { [7] = 1, [5] = 2 },
		{ [7] = UINT32_C(1) << 31 },
	};
	struct nd_homa_usage before;

	hand_start_default();
	before = hand_usage();
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(wrong); i++)
		CHECK_EQ(set_levels(2, wrong[i]), -EINVAL);
	CHECK_EQ(set_levels(3, NULL), -EINVAL);
	CHECK_EQ(set_levels(64, NULL), -EINVAL);
	CHECK_EQ(set_levels(UINT32_MAX, NULL), -EINVAL);
	CHECK_EQ(hand_usage().cutoff_version, before.cutoff_version);
	hand_request(2, 100);
	CHECK_STR(hand_next(), "DATA 2>2 0+100/100 in=100 p6");
}

/* Fewer levels: adjacent ones become one, on packets that leave from now on. */
TEST(do_levels__collapses_priorities)
{
	hand_start_default();
	CHECK_EQ(set_levels(2, NULL), 0);
	hand_request(2, 100);
	CHECK_STR(hand_next(), "DATA 2>2 0+100/100 in=100 p7");
	CHECK_EQ(set_levels(0, NULL), 0);
	hand_request(2, 100);
	CHECK_STR(hand_next(), "DATA 4>2 0+100/100 in=100 p6");
}

/* R-H34-3: DATA with a stale version is answered by CUTOFFS, at most one a millisecond and peer. */
TEST(nd_homa_cutoffs_check__answers_stale_versions_rarely)
{
	struct nd_packet data = hand_packet(ND_HOMA_DATA, 2, 100);
	struct nd_packet cutoffs;

	hand_start_default();
	data.payload_bytes = 1424;
	data.homa.message_bytes = 30000;
	data.homa.cutoff_version = 0;
	hand_receive(&data);
	CHECK_STR(hand_next(), "GRANT 101>2 <11424 p0");
	CHECK(nd_homa_ops.transmit(hand, &cutoffs, ND_CLASS_CONTROL, hand_now));
	CHECK_STR(hand_text(&cutoffs), "CUTOFFS 101>2 v1");
	CHECK_EQ(cutoffs.homa.cutoffs[0], INT32_MAX);
	CHECK_EQ(cutoffs.homa.cutoffs[4], 1000000);
	CHECK_EQ(cutoffs.homa.cutoffs[7], 200);
	data.homa.offset = 1424;
	hand_receive(&data);
	CHECK_STR(hand_next(), "GRANT 101>2 <12848 p0");
	CHECK_STR(hand_next(), "");
	hand_now += ND_MSEC;
	data.homa.offset = 2848;
	hand_receive(&data);
	CHECK_STR(hand_next(), "GRANT 101>2 <14272 p0");
	CHECK_STR(hand_next(), "CUTOFFS 101>2 v1");
	data.homa.offset = 4272;
	data.homa.cutoff_version = 1;
	hand_now += ND_MSEC;
	hand_receive(&data);
	CHECK_STR(hand_next(), "GRANT 101>2 <15696 p0");
	CHECK_STR(hand_next(), "");
}

/* Before the first CUTOFFS of a peer its messages go at priority 6, then by its cutoffs. */
TEST(receive_cutoffs__sets_priorities_of_requests)
{
	struct nd_packet cutoffs = hand_packet(ND_HOMA_CUTOFFS, 2, 3);

	hand_start_default();
	hand_request(2, 100);
	CHECK_STR(hand_next(), "DATA 2>2 0+100/100 in=100 p6");
	cutoffs.homa.cutoff_version = 9;
	cutoffs.homa.cutoffs[7] = 50;
	cutoffs.homa.cutoffs[5] = 100;
	hand_receive(&cutoffs);
	hand_request(2, 50);
	CHECK_STR(hand_next(), "DATA 4>2 0+50/50 in=50 p7");
	hand_request(2, 100);
	CHECK_STR(hand_next(), "DATA 6>2 0+100/100 in=100 p5");
	hand_request(2, 101);
	CHECK_STR(hand_next(), "DATA 8>2 0+101/101 in=101 p0");
	CHECK_EQ(hand_counters()->cutoffs_received, 1);
}

static void tell_cutoff(uint32_t peer, uint16_t version, uint32_t highest)
{
	struct nd_packet packet = hand_packet(ND_HOMA_CUTOFFS, peer, 3);

	packet.homa.cutoff_version = version;
	packet.homa.cutoffs[7] = highest;
	hand_receive(&packet);
}

/* R-H34-3: a sender goes by what each receiver said last. */
TEST(receive_cutoffs__the_newest_of_each_receiver)
{
	hand_start_default();
	hand_request(2, 100);
	hand_request(3, 100);
	hand_drain();
	tell_cutoff(2, 5, 1000);
	tell_cutoff(3, 5, 10);
	hand_request(2, 1000);
	CHECK_STR(hand_next(), "DATA 6>2 0+1000/1000 in=1000 p7");
	hand_request(3, 11);
	CHECK_STR(hand_next(), "DATA 8>3 0+11/11 in=11 p0");
	tell_cutoff(2, 6, 20);
	hand_request(2, 1000);
	CHECK_STR(hand_next(), "DATA 10>2 0+1000/1000 in=1000 p0");
	hand_request(3, 10);
	CHECK_STR(hand_next(), "DATA 12>3 0+10/10 in=10 p7");
}

/* The newest version of the peer goes back in every DATA. */
TEST(receive_cutoffs__version_is_echoed)
{
	struct nd_packet packet = hand_packet(ND_HOMA_CUTOFFS, 2, 3);

	hand_start_default();
	hand_request(2, 100);
	CHECK(nd_homa_ops.transmit(hand, &packet, ND_CLASS_DATA, hand_now));
	CHECK_EQ(packet.homa.cutoff_version, 0);
	packet = hand_packet(ND_HOMA_CUTOFFS, 2, 3);
	packet.homa.cutoff_version = 77;
	hand_receive(&packet);
	hand_request(2, 100);
	CHECK(nd_homa_ops.transmit(hand, &packet, ND_CLASS_DATA, hand_now));
	CHECK_EQ(packet.homa.cutoff_version, 77);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
