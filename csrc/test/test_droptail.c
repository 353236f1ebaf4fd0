// SPDX-License-Identifier: Apache-2.0
/* The plain FIFO: limits to the byte and to the packet, order, shared buffer. */
#include "test/queue_bed.h"

TEST(droptail_enqueue__drops_beyond_the_packet_limit)
{
	struct nd_droptail_config config = { .limit = { .packets = 3 } };
	BED(bed, &nd_droptail_ops, &config);

	for (uint32_t i = 0; i < 3; i++)
		CHECK_EQ(bed_put(&bed, bed_data(&bed, 9000)), ND_KEPT);
	CHECK_EQ(bed_put(&bed, bed_data(&bed, 64)), ND_DROPPED);
	CHECK_EQ(bed.counters.dropped_packets, 1);
	CHECK_EQ(bed.counters.dropped_bytes, 64);
	bed_audit(&bed);
}

TEST(droptail_enqueue__fills_to_the_byte)
{
	struct nd_droptail_config config = { .limit = { .bytes = 3000 } };
	BED(bed, &nd_droptail_ops, &config);

	CHECK_EQ(bed_put(&bed, bed_data(&bed, 1500)), ND_KEPT);
	CHECK_EQ(bed_put(&bed, bed_data(&bed, 1501)), ND_DROPPED);
	CHECK_EQ(bed_put(&bed, bed_data(&bed, 1500)), ND_KEPT);
	CHECK_EQ(bed.queue->bytes, 3000);
}

TEST(droptail_dequeue__is_first_in_first_out)
{
	struct nd_droptail_config config = { .limit = { .packets = 10 } };
	uint32_t packets[10];
	BED(bed, &nd_droptail_ops, &config);

	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < 10; i++) {
			packets[i] = bed_data(&bed, 100);
			bed_put(&bed, packets[i]);
		}
		for (uint32_t i = 0; i < 10; i++)
			CHECK_EQ(bed_get(&bed), packets[i]);
		CHECK_EQ(bed_get(&bed), ND_NONE);
	}
}

TEST(droptail_check__wants_a_limit)
{
	struct nd_droptail_config config = { 0 };
	const char *why = NULL;

	CHECK(nd_droptail_ops.check(&config, &why) < 0);
	CHECK_STR(why, "limit.packets is 0, but a queue needs a limit: set limit.packets, "
		       "limit.bytes or shared");
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
