// SPDX-License-Identifier: Apache-2.0
/* CP: one FIFO, payload cut past a threshold, headers in order. */
#include "test/queue_bed.h"

static const struct nd_cut_payload_config config = {
	.threshold = { .packets = 4 },
	.limit = { .bytes = 40000 },
	.last_hop = true,
};

/* R-B-CP */
TEST(cut_payload_enqueue__cuts_past_the_threshold_and_keeps_order)
{
	uint32_t packets[10];
	BED(bed, &nd_cut_payload_ops, &config);

	for (uint32_t i = 0; i < 10; i++) {
		packets[i] = bed_data(&bed, 9000);
		CHECK_EQ(bed_put(&bed, packets[i]), i < 4 ? ND_KEPT : ND_TRIMMED);
	}
	CHECK_EQ(bed.queue->bytes, 4 * 9000 + 6 * 64);
	for (uint32_t i = 0; i < 10; i++) {
		CHECK_EQ(bed_get(&bed), packets[i]);
		CHECK_EQ(bed_packet(&bed, packets[i])->wire_bytes, i < 4 ? 9000 : 64);
		CHECK_EQ((bed_packet(&bed, packets[i])->marks & ND_MARK_LAST_HOP) != 0, i >= 4);
	}
	CHECK_EQ(bed.counters.trimmed_packets, 6);
	CHECK_EQ(bed.counters.trimmed_sent_packets, 6);
	bed_audit(&bed);
}

/* R-B-CP: headers wait behind data and are lost when even they do not fit. */
TEST(cut_payload_enqueue__drops_headers_on_a_full_queue)
{
	BED(bed, &nd_cut_payload_ops, &config);

	for (uint32_t i = 0; i < 4; i++)
		bed_put(&bed, bed_data(&bed, 9000));
	for (uint32_t i = 0; i < 62; i++)
		CHECK_EQ(bed_put(&bed, bed_data(&bed, 9000)), ND_TRIMMED);
	CHECK_EQ(bed_put(&bed, bed_data(&bed, 9000)), ND_DROPPED);
	CHECK_EQ(bed.counters.trimmed_dropped_packets, 1);
	CHECK_EQ(bed_put(&bed, bed_control(&bed)), ND_DROPPED);
	bed_audit(&bed);
}

TEST(cut_payload_enqueue__queues_whole_what_cannot_be_cut)
{
	BED(bed, &nd_cut_payload_ops, &config);

	for (uint32_t i = 0; i < 6; i++)
		CHECK_EQ(bed_put(&bed, bed_other(&bed, 1500)), ND_KEPT);
	CHECK_EQ(bed_put(&bed, bed_control(&bed)), ND_KEPT);
	CHECK_EQ(bed.counters.trimmed_packets, 0);
}

TEST(cut_payload_check__wants_a_threshold_below_the_limit)
{
	struct nd_cut_payload_config bad = config;
	const char *why = NULL;

	bad.threshold.packets = 0;
	CHECK(nd_cut_payload_ops.check(&bad, &why) < 0);
	CHECK(strstr(why, "threshold.packets is 0"));
	bad.threshold.bytes = 40000;
	CHECK(nd_cut_payload_ops.check(&bad, &why) < 0);
	CHECK(strstr(why, "threshold.bytes is 40000, but must be below limit.bytes"));
	bad = config;
	bad.limit.packets = 4;
	CHECK(nd_cut_payload_ops.check(&bad, &why) < 0);
	CHECK(strstr(why, "threshold.packets is 4"));
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
