// SPDX-License-Identifier: Apache-2.0
/* Instantaneous marking: exact threshold, ECT only. */
#include "test/queue_bed.h"

static bool marked(struct bed *bed, uint32_t index)
{
	CHECK_EQ(bed_put(bed, index), ND_KEPT);
	return bed_packet(bed, index)->marks & ND_MARK_CE;
}

/* R-DCT-1: marked when more than K packets are queued, the arriving one included. */
TEST(ecn_enqueue__marks_above_the_packet_threshold)
{
	struct nd_ecn_config config = { .limit = { .packets = 100 }, .threshold = { .packets = 30 } };
	BED(bed, &nd_ecn_ops, &config);

	for (uint32_t i = 0; i < 40; i++)
		CHECK_EQ(marked(&bed, bed_other(&bed, 1500)), i >= 30);
	for (uint32_t i = 0; i < 11; i++)
		bed_get(&bed);
	CHECK_EQ(marked(&bed, bed_other(&bed, 1500)), false);
	CHECK_EQ(marked(&bed, bed_other(&bed, 1500)), true);
	CHECK_EQ(bed.counters.marked_packets, 11);
	bed_audit(&bed);
}

/* R-DCT-1: K in bytes, 30 KB at 1 Gb/s. */
TEST(ecn_enqueue__marks_above_the_byte_threshold)
{
	struct nd_ecn_config config = {
		.limit = { .bytes = 100000 },
		.threshold = { .bytes = 30000 },
	};
	BED(bed, &nd_ecn_ops, &config);

	for (uint32_t i = 0; i < 20; i++)
		CHECK_EQ(marked(&bed, bed_other(&bed, 1500)), false);
	CHECK_EQ(marked(&bed, bed_other(&bed, 64)), true);
}

/* R-PQ-5: a sender that does not understand ECN is never marked. */
TEST(ecn_enqueue__marks_only_ect)
{
	struct nd_ecn_config config = { .limit = { .packets = 9 }, .threshold = { .packets = 1 } };
	BED(bed, &nd_ecn_ops, &config);

	for (uint32_t i = 0; i < 9; i++)
		CHECK_EQ(marked(&bed, bed_data(&bed, 1500)), false);
	CHECK_EQ(bed_put(&bed, bed_data(&bed, 1500)), ND_DROPPED);
	CHECK_EQ(bed.counters.marked_packets, 0);
}

/* Packets that come marked, from a switch before or the queue that this one replaces. */
TEST(ecn_enqueue__counts_no_mark_that_was_there)
{
	struct nd_ecn_config config = { .limit = { .packets = 10 }, .threshold = { .packets = 1 } };
	BED(bed, &nd_ecn_ops, &config);

	for (uint32_t i = 0; i < 4; i++) {
		uint32_t index = bed_other(&bed, 1500);

		bed_packet(&bed, index)->marks |= i < 3 ? ND_MARK_CE : 0;
		CHECK_EQ(bed_put(&bed, index), ND_KEPT);
		CHECK(i == 3 || bed.counters.marked_packets == 0);
	}
	CHECK_EQ(bed.counters.marked_packets, 1);
}

TEST(ecn_check__wants_a_threshold_below_the_limit)
{
	struct nd_ecn_config config = { .limit = { .packets = 9, .bytes = 9000 } };
	const char *why = NULL;

	CHECK(nd_ecn_ops.check(&config, &why) < 0);
	CHECK(strstr(why, "threshold.packets is 0"));
	config.threshold.packets = 9;
	CHECK(nd_ecn_ops.check(&config, &why) < 0);
	CHECK(strstr(why, "threshold.packets is 9, but must be below limit.packets"));
	config.threshold = (struct nd_limit){ .bytes = 9001 };
	CHECK(nd_ecn_ops.check(&config, &why) < 0);
	CHECK(strstr(why, "threshold.bytes is 9001"));
	config.threshold.bytes = 1000;
	CHECK_EQ(nd_ecn_ops.check(&config, &why), 0);
	config.limit = (struct nd_limit){ 0 };
	CHECK(nd_ecn_ops.check(&config, &why) < 0);
	CHECK(strstr(why, "limit.packets is 0"));
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
