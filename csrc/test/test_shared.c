// SPDX-License-Identifier: Apache-2.0
/* The shared buffer: dynamic threshold, total, and that every byte comes back. */
#include "test/queue_bed.h"

static struct nd_shared shared;

static uint32_t fill(struct bed *bed)
{
	uint32_t packets = 0;

	while (bed_put(bed, bed_data(bed, 1000)) == ND_KEPT)
		packets++;
	bed_free(bed, bed->shed.dropped);
	return packets;
}

/* One queue with alpha 1 gets half of the buffer, with alpha 4 four fifths. */
TEST(nd_shared_admits__gives_one_queue_its_dynamic_share)
{
	struct nd_droptail_config config = { .shared = &shared };

	for (uint32_t alpha = 1; alpha <= 4; alpha *= 4) {
		BED(bed, &nd_droptail_ops, &config);

		nd_shared_init(&shared, &(struct nd_shared_config){ 100000, alpha * 256 });
		CHECK_EQ(fill(&bed), alpha == 1 ? 50 : 80);
		CHECK_EQ(shared.used_bytes, bed.queue->bytes);
		CHECK_EQ(shared.refused, 1);
		while (bed_get(&bed) != ND_NONE)
			;
		CHECK_EQ(shared.used_bytes, 0);
		CHECK_EQ(shared.used_max_bytes, alpha == 1 ? 50000 : 80000);
	}
}

/* A second busy queue pushes the share of each down: alpha / (1 + 2 alpha). */
TEST(nd_shared_admits__leaves_room_for_a_queue_that_wakes_up)
{
	static _Alignas(64) uint8_t memory[256];
	struct nd_droptail_config config = { .shared = &shared };
	struct nd_queue *second = (struct nd_queue *)(void *)memory;
	struct nd_queue_counters counters = { 0 };
	uint32_t packets = 0;
	BED(bed, &nd_droptail_ops, &config);

	nd_shared_init(&shared, &(struct nd_shared_config){ 90000, 256 });
	CHECK_EQ(fill(&bed), 45);
	nd_droptail_ops.init(second, &bed.pool, &config, &counters, 1);
	for (;; packets++) {
		struct nd_shed shed = ND_SHED_EMPTY;

		if (nd_queue_enqueue(second, bed_data(&bed, 1000), 0, &shed) != ND_KEPT)
			break;
	}
	CHECK_EQ(packets, 23);
	CHECK_EQ(shared.used_bytes, 68000);
	/* The first is now above its threshold and must drain before it may grow again. */
	CHECK_EQ(fill(&bed), 0);
}

/* Trimmed headers only need room, not the threshold. */
TEST(nd_shared_has_room__lets_headers_above_the_threshold)
{
	struct nd_ndp_queue_config config = nd_ndp_queue_paper(100, 1000);
	BED(bed, &nd_ndp_queue_ops, &config);

	config.victim = ND_NDP_VICTIM_ARRIVAL;
	config.shared = &shared;
	nd_shared_init(&shared, &(struct nd_shared_config){ 10000, 256 });
	for (uint32_t i = 0; i < 5; i++)
		CHECK_EQ(bed_put(&bed, bed_data(&bed, 1000)), ND_KEPT);
	for (uint32_t i = 0; i < 78; i++)
		CHECK_EQ(bed_put(&bed, bed_data(&bed, 1000)), ND_TRIMMED);
	CHECK_EQ(shared.used_bytes, 5000 + 78 * 64);
	CHECK_EQ(bed_put(&bed, bed_data(&bed, 1000)), ND_RETURNED);
	bed_audit(&bed);
}

TEST(nd_shared_check__names_field_and_limit)
{
	const char *why = NULL;

	CHECK_EQ(nd_shared_check(&(struct nd_shared_config){ 1000, 256 }, &why), 0);
	CHECK(nd_shared_check(&(struct nd_shared_config){ 0, 256 }, &why) < 0);
	CHECK(strstr(why, "total_bytes is 0"));
	CHECK(nd_shared_check(&(struct nd_shared_config){ 1000, 16385 }, &why) < 0);
	CHECK(strstr(why, "alpha_256 is 16385, but must be 1 to 16384"));
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
