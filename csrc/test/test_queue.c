// SPDX-License-Identifier: Apache-2.0
/* What holds for every discipline: registry, refusals, conservation under random traffic. */
#include "test/queue_bed.h"

static struct nd_shared shared;

static const struct nd_droptail_config droptail = { .limit = { .packets = 20, .bytes = 30000 } };
static const struct nd_droptail_config droptail_shared = { .shared = &shared };
static const struct nd_ecn_config ecn = {
	.limit = { .packets = 20 },
	.threshold = { .packets = 5 },
};
static const struct nd_cut_payload_config cut_payload = {
	.threshold = { .bytes = 12000 },
	.limit = { .bytes = 14000 },
	.last_hop = true,
};
static const struct nd_strict_config strict = {
	.levels = 5,
	.level = { .bytes = 9000 },
	.total = { .bytes = 30000 },
};
static const struct nd_strict_config strict_shared = { .levels = 8, .shared = &shared };
static const struct nd_pfabric_config pfabric = { .limit = { .bytes = 20000 }, .flow_bits = 3 };
static const struct nd_ndp_queue_config ndp = {
	.data = { .bytes = 12000 },
	.headers = { .bytes = 640 },
	.header_weight = 10,
	.data_weight = 1,
	.return_to_sender = true,
	.control_reserve_bytes = 128,
};
static const struct nd_ndp_queue_config ndp_shared = {
	.data = { .packets = 30 },
	.headers = { .packets = 10 },
	.strict = true,
	.last_hop = true,
	.shared = &shared,
};
static const struct nd_fair_config fair = {
	.child = {
		{ .ops = &nd_ndp_queue_ops, .config = &ndp, .quantum_bytes = 9000 },
		{ .ops = &nd_droptail_ops, .config = &droptail, .quantum_bytes = 9000 },
	},
	.child_of = { [ND_PROTO_OTHER] = 1 },
};

static const struct {
	const struct nd_queue_ops *ops;
	const void *config;
} cases[] = {
	{ &nd_droptail_ops, &droptail },   { &nd_droptail_ops, &droptail_shared },
	{ &nd_ecn_ops, &ecn },             { &nd_cut_payload_ops, &cut_payload },
	{ &nd_strict_ops, &strict },       { &nd_strict_ops, &strict_shared },
	{ &nd_pfabric_ops, &pfabric },     { &nd_ndp_queue_ops, &ndp },
	{ &nd_ndp_queue_ops, &ndp_shared }, { &nd_fair_ops, &fair },
};

TEST(nd_queue_find__knows_every_discipline_by_name)
{
	CHECK(nd_queue_find("ndp") == &nd_ndp_queue_ops);
	CHECK(nd_queue_find("fair") == &nd_fair_ops);
	CHECK(nd_queue_find("") == NULL);
	CHECK(nd_queue_find("red") == NULL);
	for (uint32_t i = 0; nd_queue_disciplines[i]; i++)
		CHECK(nd_queue_find(nd_queue_disciplines[i]->name) == nd_queue_disciplines[i]);
}

/* One random packet of any kind. */
static uint32_t random_packet(struct bed *bed, struct nd_rng *rng)
{
	uint16_t bytes = (uint16_t)(64 + nd_rng_below(rng, 1500));
	uint32_t kind = nd_rng_below(rng, 8);
	uint32_t index = kind == 0   ? bed_control(bed)
			 : kind == 1 ? bed_header(bed)
			 : kind == 2 ? bed_other(bed, bytes)
				     : bed_data(bed, bytes);
	struct nd_packet *packet = bed_packet(bed, index);

	packet->priority = (uint8_t)nd_rng_below(rng, 8);
	packet->rank = nd_rng_below(rng, 50);
	packet->flow = (uint16_t)nd_rng_below(rng, 20);
	if (nd_rng_below(rng, 8) == 0)
		packet->marks |= ND_MARK_FLOOD;
	if (kind == 1 && nd_rng_coin(rng))
		packet->marks |= ND_MARK_BOUNCED;
	return index;
}

static void serve_one(struct bed *bed)
{
	uint32_t index = bed_get(bed);

	if (index != ND_NONE)
		nd_pool_put(&bed->pool, index);
}

/* The verdict and the lists must tell the same story. */
static void offer_one(struct bed *bed, struct nd_rng *rng)
{
	uint32_t index = random_packet(bed, rng);
	enum nd_verdict verdict = bed_put(bed, index);

	if (verdict == ND_DROPPED)
		CHECK(bed->shed.dropped != ND_NONE);
	if (verdict == ND_RETURNED)
		CHECK(bed->shed.returned == index);
	if (verdict == ND_TRIMMED)
		CHECK(bed_packet(bed, index)->marks & ND_MARK_TRIMMED);
	bed_free(bed, bed->shed.dropped);
	bed_free(bed, bed->shed.returned);
}

static void random_traffic(const struct nd_queue_ops *ops, const void *config, uint64_t seed)
{
	struct nd_rng rng = nd_rng_make(seed, 0);
	BED(bed, ops, config);

	nd_shared_init(&shared, &(struct nd_shared_config){ .total_bytes = 20000, .alpha_256 = 512 });
	for (uint32_t i = 0; i < 4000; i++) {
		/* Alternates between filling and draining. */
		if (nd_rng_below(&rng, 100) < (i % 400 < 250 ? 70u : 30u))
			offer_one(&bed, &rng);
		else
			serve_one(&bed);
		if (i % 97 == 0)
			bed.queue->blocked = nd_rng_below(&rng, 4) ? 0 : nd_rng_below(&rng, 256);
		bed_audit(&bed);
		CHECK_EQ(bed.pool.used, bed.queue->packets);
	}
	bed.queue->blocked = 0;
	while (bed.queue->packets)
		serve_one(&bed);
	bed_audit(&bed);
	CHECK_EQ(bed_get(&bed), ND_NONE);
	CHECK_EQ(bed.queue->bytes, 0);
	CHECK_EQ(shared.used_bytes, 0);
	CHECK(bed.counters.dequeued_packets > 500);
	CHECK(bed.counters.dropped_packets + bed.counters.returned_packets > 10);
}

/* R-NSW-07, S-10: conservation, limits and work conservation for each discipline. */
TEST(nd_queue__conserves_packets_and_bytes_under_random_traffic)
{
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(cases); i++) {
		for (uint64_t seed = 0; seed < 5; seed++)
			random_traffic(cases[i].ops, cases[i].config, seed);
	}
}

TEST(nd_queue_depth__classes_add_up_to_the_queue)
{
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(cases); i++) {
		struct nd_rng rng = nd_rng_make(7, i);
		uint32_t packets = 0, bytes = 0, class = 0;
		BED(bed, cases[i].ops, cases[i].config);

		nd_shared_init(&shared, &(struct nd_shared_config){ 20000, 512 });
		for (uint32_t n = 0; n < 30; n++)
			offer_one(&bed, &rng);
		for (; cases[i].ops->classes[class]; class++) {
			struct nd_queue_depth depth = cases[i].ops->depth(bed.queue, class);

			packets += depth.packets;
			bytes += depth.bytes;
		}
		CHECK(class <= ND_QUEUE_CLASSES_MAX);
		CHECK_EQ(packets, bed.queue->packets);
		CHECK_EQ(bytes, bed.queue->bytes);
	}
}

/* U22: a blocked class holds every packet back, for as long as the block lasts. */
TEST(nd_queue_blocked__serves_nothing_until_unblocked)
{
	for (uint32_t i = 0; i < ND_ARRAY_SIZE(cases); i++) {
		struct nd_rng rng = nd_rng_make(9, i);
		uint32_t packets;
		BED(bed, cases[i].ops, cases[i].config);

		nd_shared_init(&shared, &(struct nd_shared_config){ 20000, 512 });
		for (uint32_t n = 0; n < 30; n++)
			offer_one(&bed, &rng);
		bed.queue->blocked = UINT32_MAX;
		packets = bed.queue->packets;
		for (uint32_t n = 0; n < 100; n++)
			CHECK_EQ(bed_get(&bed), ND_NONE);
		bed.queue->blocked = 0;
		for (uint32_t n = 0; n < packets; n++)
			CHECK(bed_get(&bed) != ND_NONE);
		CHECK_EQ(bed_get(&bed), ND_NONE);
	}
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
