// SPDX-License-Identifier: Apache-2.0
/* NDP beside TCP: byte shares, work conservation, isolation of the two buffers. */
#include "test/queue_bed.h"

static struct nd_ndp_queue_config ndp;
static struct nd_droptail_config tcp;
static struct nd_fair_config config;

static void configure(uint32_t ndp_quantum, uint32_t tcp_quantum)
{
	ndp = nd_ndp_queue_paper(8, 9000);
	tcp = (struct nd_droptail_config){ .limit = { .packets = 200 } };
	config = (struct nd_fair_config){
		.child = {
			{ .ops = &nd_ndp_queue_ops, .config = &ndp, .quantum_bytes = ndp_quantum },
			{ .ops = &nd_droptail_ops, .config = &tcp, .quantum_bytes = tcp_quantum },
		},
		.child_of = { [ND_PROTO_OTHER] = 1 },
	};
}

/* Keeps both sides backlogged and serves; returns NDP's share of the bytes in per mille. */
static uint32_t ndp_share(struct bed *bed, uint16_t ndp_bytes, uint16_t tcp_bytes)
{
	uint64_t served[2] = { 0 };

	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t index;

		while (nd_fair_ops.depth(bed->queue, 0).packets < 4)
			bed_put(bed, bed_data(bed, ndp_bytes));
		while (nd_fair_ops.depth(bed->queue, 1).packets < 4)
			bed_put(bed, bed_other(bed, tcp_bytes));
		index = bed_get(bed);
		served[bed_packet(bed, index)->protocol == ND_PROTO_NDP] +=
			bed_packet(bed, index)->wire_bytes;
		nd_pool_put(&bed->pool, index);
	}
	bed_audit(bed);
	return (uint32_t)(served[1] * 1000 / (served[0] + served[1]));
}

/* R-NSW-14: half of the bytes each, within 2 %, whatever the packet sizes. */
TEST(fair_dequeue__shares_bytes_equally)
{
	static const uint16_t sizes[][2] = {
		{ 9000, 9000 }, { 9000, 1500 }, { 1500, 9000 }, { 9000, 64 }, { 100, 1500 },
	};

	configure(9000, 9000);
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(sizes); i++) {
		uint32_t share;
		BED(bed, &nd_fair_ops, &config);

		share = ndp_share(&bed, sizes[i][0], sizes[i][1]);
		CHECK(share >= 490 && share <= 510);
	}
}

/* R-NSW-14 with quanta below the packet size. */
TEST(fair_dequeue__shares_bytes_equally_with_small_quanta)
{
	uint32_t share;

	configure(1024, 1024);
	BED(bed, &nd_fair_ops, &config);
	share = ndp_share(&bed, 9000, 1500);
	CHECK(share >= 490 && share <= 510);
}

TEST(fair_dequeue__follows_the_ratio_of_the_quanta)
{
	uint32_t share;

	configure(27000, 9000);
	BED(bed, &nd_fair_ops, &config);
	share = ndp_share(&bed, 9000, 1500);
	CHECK(share >= 740 && share <= 760);
}

/* R-NSW-07: the only side with packets has the link to itself. */
TEST(fair_dequeue__conserves_work)
{
	configure(9000, 9000);
	BED(bed, &nd_fair_ops, &config);
	for (uint32_t i = 0; i < 100; i++)
		bed_put(&bed, bed_other(&bed, 1500));
	for (uint32_t i = 0; i < 100; i++)
		CHECK(bed_get(&bed) != ND_NONE);
	CHECK_EQ(bed_get(&bed), ND_NONE);
	bed_put(&bed, bed_data(&bed, 9000));
	CHECK(bed_get(&bed) != ND_NONE);
	bed_audit(&bed);
}

/* An idle side saves nothing up: when it returns, it gets its share from then on. */
TEST(fair_dequeue__grants_no_credit_for_idleness)
{
	uint32_t share;

	configure(9000, 9000);
	BED(bed, &nd_fair_ops, &config);
	for (uint32_t i = 0; i < 1000; i++) {
		bed_put(&bed, bed_other(&bed, 1500));
		nd_pool_put(&bed.pool, bed_get(&bed));
	}
	share = ndp_share(&bed, 9000, 1500);
	CHECK(share >= 490 && share <= 510);
}

/* TCP's hundreds of packets take nothing from NDP's eight, and the other way round. */
TEST(fair_enqueue__keeps_the_two_buffers_apart)
{
	configure(9000, 9000);
	BED(bed, &nd_fair_ops, &config);
	for (uint32_t i = 0; i < 200; i++)
		CHECK_EQ(bed_put(&bed, bed_other(&bed, 1500)), ND_KEPT);
	CHECK_EQ(bed_put(&bed, bed_other(&bed, 1500)), ND_DROPPED);
	for (uint32_t i = 0; i < 8; i++)
		CHECK_EQ(bed_put(&bed, bed_data(&bed, 9000)), ND_KEPT);
	bed_put(&bed, bed_data(&bed, 9000));
	CHECK_EQ(bed.counters.trimmed_packets, 1);
	CHECK_EQ(bed.counters.enqueued_packets, 210);
	CHECK_EQ(nd_fair_ops.depth(bed.queue, 0).packets, 9);
	CHECK_EQ(nd_fair_ops.depth(bed.queue, 1).packets, 200);
	bed_audit(&bed);
}

/* U22: a blocked side saves up no credit either. */
TEST(fair_dequeue__passes_over_a_blocked_side)
{
	uint32_t share;

	configure(9000, 9000);
	BED(bed, &nd_fair_ops, &config);
	bed_put(&bed, bed_data(&bed, 9000));
	bed.queue->blocked = 1;
	for (uint32_t i = 0; i < 100; i++) {
		bed_put(&bed, bed_other(&bed, 1500));
		CHECK_EQ(bed_packet(&bed, bed_get(&bed))->protocol, ND_PROTO_OTHER);
		CHECK_EQ(bed_get(&bed), ND_NONE);
	}
	bed.queue->blocked = 0;
	share = ndp_share(&bed, 9000, 1500);
	CHECK(share >= 490 && share <= 510);
}

/* A protocol number that no table knows goes with the other traffic. */
TEST(fair_enqueue__treats_unknown_protocols_as_other)
{
	uint32_t index;

	configure(9000, 9000);
	BED(bed, &nd_fair_ops, &config);
	index = bed_other(&bed, 100);
	bed_packet(&bed, index)->protocol = 200;
	bed_put(&bed, index);
	CHECK_EQ(nd_fair_ops.depth(bed.queue, 1).packets, 1);
}

TEST(fair_check__names_field_and_limit)
{
	const char *why = NULL;

	configure(1023, 9000);
	CHECK(nd_fair_ops.check(&config, &why) < 0);
	CHECK(strstr(why, "child[0].quantum_bytes is 1023, but must be 1024 to 1048576"));
	configure(9000, 1 << 21);
	CHECK(nd_fair_ops.check(&config, &why) < 0);
	CHECK(strstr(why, "child[1].quantum_bytes is 2097152"));
	configure(9000, 9000);
	config.child[1].ops = NULL;
	CHECK(nd_fair_ops.check(&config, &why) < 0);
	CHECK(strstr(why, "child[1].ops"));
	config.child[1].ops = &nd_fair_ops;
	CHECK(nd_fair_ops.check(&config, &why) < 0);
	CHECK(strstr(why, "must not be fair itself"));
	configure(9000, 9000);
	config.child_of[0] = 2;
	CHECK(nd_fair_ops.check(&config, &why) < 0);
	CHECK(strstr(why, "child_of is 2"));
	configure(9000, 9000);
	ndp.headers.bytes = 1;
	CHECK(nd_fair_ops.check(&config, &why) < 0);
	CHECK(strstr(why, "headers.bytes is 1"));
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
