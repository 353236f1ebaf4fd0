// SPDX-License-Identifier: Apache-2.0
/* Priorities: order, levels, weights, limits. */
#include "test/queue_bed.h"

static uint32_t put(struct bed *bed, uint8_t priority, enum nd_verdict expected)
{
	uint32_t index = bed_data(bed, 1000);

	bed_packet(bed, index)->priority = priority;
	CHECK_EQ(bed_put(bed, index), expected);
	return index;
}

static void put_sized(struct bed *bed, uint8_t priority, uint16_t bytes)
{
	uint32_t index = bed_data(bed, bytes);

	bed_packet(bed, index)->priority = priority;
	CHECK_EQ(bed_put(bed, index), ND_KEPT);
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

/* Serves so many packets of a backlog that never ends; how many bytes each level sent. */
static void serve(struct bed *bed, uint32_t packets, const uint16_t sizes[8], uint64_t bytes[8])
{
	for (uint32_t i = 0; i < packets; i++) {
		uint32_t index = bed_get(bed);
		const struct nd_packet *packet = bed_packet(bed, index);

		CHECK(index != ND_NONE);
		bytes[packet->priority] += packet->wire_bytes;
		put_sized(bed, packet->priority, sizes[packet->priority]);
		nd_pool_put(&bed->pool, index);
	}
}

/* U24: levels with weights share the link by bytes, whatever their packets' sizes; none starves. */
TEST(strict_dequeue__shares_by_weight)
{
	static const uint16_t sizes[8] = { 1538, 84, 400, 1538, 9038, 84, 700, 1538 };
	struct nd_strict_config config = {
		.levels = 8,
		.total = { .packets = 200 },
		.weights = { 1, 2, 4, 8, 16, 32, 64, 100 },
	};
	uint64_t bytes[8] = { 0 }, sum = 0;
	BED(bed, &nd_strict_ops, &config);

	for (uint8_t priority = 0; priority < 8; priority++)
		for (uint32_t i = 0; i < 8; i++)
			put_sized(&bed, priority, sizes[priority]);
	serve(&bed, 20000, sizes, bytes);
	for (uint32_t i = 0; i < 8; i++)
		sum += bytes[i];
	for (uint32_t i = 0; i < 8; i++) {
		double share = (double)bytes[i] / (double)sum, wanted = config.weights[i] / 227.0;

		CHECK(share > 0.9 * wanted && share < 1.1 * wanted);
	}
	bed_audit(&bed);
}

/* A level without weight goes before all that have one; one that was empty has saved nothing up. */
TEST(strict_dequeue__serves_strict_levels_before_weighted_ones)
{
	struct nd_strict_config config = {
		.levels = 8,
		.total = { .packets = 100 },
		.weights = { [0] = 1, [1] = 1 },
	};
	uint32_t low[6], other[2], high;
	BED(bed, &nd_strict_ops, &config);

	for (uint32_t i = 0; i < 6; i++)
		low[i] = put(&bed, 0, ND_KEPT);
	for (uint32_t i = 0; i < 4; i++) /* alone, it has all of the link */
		CHECK_EQ(bed_get(&bed), low[i]);
	for (uint32_t i = 0; i < 2; i++)
		other[i] = put(&bed, 1, ND_KEPT);
	high = put(&bed, 5, ND_KEPT);
	CHECK_EQ(bed_get(&bed), high);
	/* Two packets of 1000 bytes a turn, of which the second is overdrawn. */
	CHECK_EQ(bed_get(&bed), other[0]);
	CHECK_EQ(bed_get(&bed), other[1]);
	CHECK_EQ(bed_get(&bed), low[4]);
	bed.queue->blocked = 1;
	CHECK_EQ(bed_get(&bed), ND_NONE);
	bed.queue->blocked = 0;
	CHECK_EQ(bed_get(&bed), low[5]);
	CHECK_EQ(bed_get(&bed), ND_NONE);
	bed_audit(&bed);
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
	config = (struct nd_strict_config){
		.levels = 2, .total = { .packets = 1 }, .weights = { [1] = 101 } };
	CHECK(nd_strict_ops.check(&config, &why) < 0);
	CHECK(strstr(why, "weights is 101, but must be 0 to 100"));
	config.weights[1] = 100;
	CHECK_EQ(nd_strict_ops.check(&config, &why), 0);
	config.weights[2] = 1;
	CHECK(nd_strict_ops.check(&config, &why) < 0);
	CHECK(strstr(why, "levels that are not there"));
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
