// SPDX-License-Identifier: Apache-2.0
/* Strict priorities: order, levels, limits. */
#include "test/queue_bed.h"

static uint32_t put(struct bed *bed, uint8_t priority, enum nd_verdict expected)
{
	uint32_t index = bed_data(bed, 1000);

	bed_packet(bed, index)->priority = priority;
	CHECK_EQ(bed_put(bed, index), expected);
	return index;
}

/* R-H5-1: eight levels, the highest first, each first in, first out. */
TEST(strict_dequeue__serves_the_highest_level_first)
{
	struct nd_strict_config config = { .levels = 8, .total = { .packets = 100 } };
	uint32_t packets[8][2];
	BED(bed, &nd_strict_ops, &config);

	for (uint32_t n = 0; n < 2; n++) {
		for (uint8_t priority = 0; priority < 8; priority++)
			packets[priority][n] = put(&bed, priority, ND_KEPT);
	}
	for (uint32_t priority = 8; priority-- > 0;) {
		CHECK_EQ(bed_get(&bed), packets[priority][0]);
		CHECK_EQ(bed_get(&bed), packets[priority][1]);
	}
	CHECK_EQ(bed_get(&bed), ND_NONE);
}

/* R-H4-2: fewer levels than priorities collapse neighbours. */
TEST(nd_strict_level__collapses_neighbouring_priorities)
{
	static const uint32_t expected[4][8] = {
		{ 0, 0, 0, 0, 0, 0, 0, 0 },
		{ 0, 0, 0, 0, 1, 1, 1, 1 },
		{ 0, 0, 1, 1, 2, 2, 3, 3 },
		{ 0, 1, 2, 3, 4, 5, 6, 7 },
	};

	for (uint32_t i = 0; i < 4; i++) {
		for (uint8_t priority = 0; priority < 8; priority++)
			CHECK_EQ(nd_strict_level(1u << i, priority), expected[i][priority]);
	}
	CHECK_EQ(nd_strict_level(3, 7), 2);
	CHECK_EQ(nd_strict_level(3, 0), 0);
	/* A priority from the wire that is out of range is folded, never out of bounds. */
	CHECK_EQ(nd_strict_level(8, 255), 7);
}

TEST(strict_enqueue__limits_each_level_and_all_together)
{
	struct nd_strict_config config = {
		.levels = 2,
		.level = { .packets = 3 },
		.total = { .bytes = 5000 },
	};
	BED(bed, &nd_strict_ops, &config);

	for (uint32_t i = 0; i < 3; i++)
		put(&bed, 7, ND_KEPT);
	put(&bed, 7, ND_DROPPED);
	put(&bed, 0, ND_KEPT);
	put(&bed, 0, ND_KEPT);
	put(&bed, 0, ND_DROPPED);
	CHECK_EQ(bed.counters.dropped_packets, 2);
	bed_audit(&bed);
}

/* U22, U24: a blocked level waits; what is below it is served. */
TEST(strict_dequeue__passes_over_a_blocked_level)
{
	struct nd_strict_config config = { .levels = 8, .total = { .packets = 100 } };
	uint32_t high, low;
	BED(bed, &nd_strict_ops, &config);

	high = put(&bed, 7, ND_KEPT);
	low = put(&bed, 2, ND_KEPT);
	bed.queue->blocked = 1u << 7;
	CHECK_EQ(bed_get(&bed), low);
	CHECK_EQ(bed_get(&bed), ND_NONE);
	bed.queue->blocked = 0;
	CHECK_EQ(bed_get(&bed), high);
}

TEST(strict_check__names_field_and_limit)
{
	struct nd_strict_config config = { .levels = 9, .total = { .packets = 1 } };
	const char *why = NULL;

	CHECK(nd_strict_ops.check(&config, &why) < 0);
	CHECK(strstr(why, "levels is 9, but must be 1 to 8"));
	config = (struct nd_strict_config){ .levels = 8 };
	CHECK(nd_strict_ops.check(&config, &why) < 0);
	CHECK(strstr(why, "total.bytes is 0"));
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
