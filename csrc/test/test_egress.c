// SPDX-License-Identifier: Apache-2.0
/* The virtual link of a switch port: its rate, at any time and speed. */
#include "switch/egress.h"
#include "test/queue_bed.h"

#define PACKETS 1000u
#define BYTES 1500u

/* Time that the link takes for the packets, which all wait when it begins. */
static nd_ns busy(uint64_t rate_bps, nd_ns start)
{
	struct nd_droptail_config config = { .limit = { .packets = PACKETS } };
	BED(bed, &nd_droptail_ops, &config);
	struct nd_egress egress = { .queue = bed.queue };
	nd_ns now = start;

	CHECK_EQ(nd_egress_set_rate(&egress, rate_bps, ND_MSEC), 0);
	for (uint32_t i = 0; i < PACKETS; i++)
		CHECK_EQ(nd_egress_put(&egress, bed_data(&bed, BYTES), start, start, &bed.shed),
			 ND_KEPT);
	while (bed.queue->packets) {
		now = nd_egress_deadline(&egress);
		CHECK(nd_egress_take(&egress, now) != ND_NONE);
		CHECK(bed.queue->packets == 0 || nd_egress_take(&egress, now) == ND_NONE);
	}
	return egress.free_at - start;
}

/* Rates that make no whole number of picoseconds a byte are kept, too. */
TEST(nd_egress_set_rate__is_the_rate_that_comes_out)
{
	static const uint64_t rates[] = { ND_EGRESS_RATE_MIN_BPS, 7000000,        10000000000,
					  70000000000,            300000000000,   390000000000,
					  ND_EGRESS_RATE_MAX_BPS };

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(rates); i++) {
		nd_ns right = UINT64_C(8000000000) * PACKETS * BYTES / rates[i];
		nd_ns taken = busy(rates[i], ND_SEC);

		CHECK(taken + 1 + right / 10000 >= right && taken <= right + 1);
	}
}

/* 2^64 ps are 213 days: the clock of a machine that is up for longer is as good as any other. */
TEST(nd_egress_take__at_any_time)
{
	static const nd_ns starts[] = { 0, UINT64_MAX / 1000 - ND_MSEC, UINT64_MAX / 1000,
					UINT64_MAX / 2 };

	for (uint32_t i = 0; i < ND_ARRAY_SIZE(starts); i++)
		CHECK_EQ(busy(1000000000, starts[i]), 12000 * PACKETS);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
